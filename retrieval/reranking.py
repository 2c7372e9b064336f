"""The best passages of a search read once more: a cross-encoder takes question and passage together, which tells a
near-miss from an answer where vectors and words of their own cannot.

Source: answers.md §3 (“Better parts where people have them”); Nogueira and Cho, *Passage Re-ranking with BERT* (2019).
"""

import asyncio
import functools
import logging
import math
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from retrieval.i18n import Text
from retrieval.memory import give_back
from retrieval.types import RAGToolError

if TYPE_CHECKING:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

log = logging.getLogger(__name__)

LOADING_SECONDS = 10.0  # a search waits no longer for weights that are being loaded or downloaded
AGAIN_SECONDS = 300.0  # after loading has failed

_NAMES = (
    'python -c "from fastembed.rerank.cross_encoder import TextCrossEncoder as T;'
    " print(*(m['model'] for m in T.list_supported_models()), sep='\\n')\""
)
_UNKNOWN = Text(
    en="KOTAE_RERANKER names a model that fastembed does not know: {name}. This prints the names it knows: {names}",
    ja="KOTAE_RERANKER のモデル {name} は fastembed にありません。使える名前は次のコマンドで表示できます: {names}",
)
_NO_FOLDER = Text(
    en="KOTAE_RERANKER names a folder that is not there: {name}",
    ja="KOTAE_RERANKER のフォルダー {name} がありません。",
)
_NOT_IN_IT = Text(
    en="The folder {name} of KOTAE_RERANKER lacks {missing}: it should hold a cross-encoder in ONNX form with its"
    " tokenizer.",
    ja="KOTAE_RERANKER のフォルダー {name} に {missing} がありません。"
    "ONNX 形式のクロスエンコーダーとトークナイザーを置いてください。",
)
_UNREACHABLE = Text(
    en="The reranker {name} is not on this machine yet and could not be downloaded from the Hugging Face hub. Check the"
    " connection to huggingface.co (or set HF_ENDPOINT to a mirror), or take KOTAE_RERANKER away.",
    ja="リランカー {name} がまだこのマシンになく、Hugging Face Hub からダウンロードできませんでした。huggingface.co "
    "への接続"
    "（またはミラーを指す HF_ENDPOINT）を確認するか、KOTAE_RERANKER を外してください。",
)
_NOT_YET = Text(
    en="The reranker {name} is still being loaded or downloaded.",
    ja="リランカー {name} を読み込み中、またはダウンロード中です。",
)
_FAILED = Text(
    en="The reranker {name} failed; the log has the reason. If it happens again, take KOTAE_RERANKER away.",
    ja="リランカー {name} の処理に失敗しました。理由はログに記録されています。繰り返す場合は KOTAE_RERANKER "
    "を外してください。",
)


class RerankingError(RAGToolError):
    """The reranker cannot be had, or has failed; the order of the search is as good as without one."""


class Reranker(Protocol):
    """Reads passages again, with the question beside them."""

    name: str

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One number a text, in their order: the better it answers, the higher. They compare within one call only.
        Raises RerankingError."""


class FastembedReranker:
    """A cross-encoder on this machine. `model` is a name of fastembed's registry or a folder with an ONNX file, its
    `tokenizer.json` and `tokenizer_config.json`; `cache` is the folder that weights are downloaded to, at first use.

    Threads of its own do the work, each a text at a time, so that a search that was given up stops soon. An unknown
    name and a folder without a model raise RerankingError at once. For one event loop; `close` it when done.
    """

    def __init__(self, cache: Path, model: str, threads: int = 2) -> None:
        self.name = f"fastembed:{model}"
        known = _known(model)
        self._open = partial(_open, known["model"], known["folder"], cache)
        self._threads = ThreadPoolExecutor(threads, "reranker")
        self._loading: asyncio.Future[TextCrossEncoder] | None = None
        self._failed_at = 0.0  # in loop time; 0: it has not

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def warm(self) -> None:
        """Begin to load or download; a failure is in the log and said by the searches that it concerns."""
        try:
            await self._loaded()
        except RerankingError as error:
            log.warning("%s", error, exc_info=error.__cause__)

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        loop = asyncio.get_running_loop()
        model = await self._loaded()
        reading = [loop.run_in_executor(self._threads, self._read, model, query, text) for text in texts]
        return await asyncio.gather(*reading)

    async def _loaded(self) -> "TextCrossEncoder":
        loop = asyncio.get_running_loop()
        if self._loading is None or (self._failed_at and loop.time() > self._failed_at + AGAIN_SECONDS):
            self._failed_at = 0.0
            self._loading = loop.run_in_executor(self._threads, self._open)
            self._loading.add_done_callback(self._settled)
        done, _ = await asyncio.wait({self._loading}, timeout=LOADING_SECONDS)
        if not done:
            raise RerankingError(_NOT_YET, name=self.name)
        return self._loading.result()

    def _settled(self, loading: "asyncio.Future[TextCrossEncoder]") -> None:
        if not loading.cancelled() and loading.exception() is not None:
            self._failed_at = loading.get_loop().time()

    def _read(self, model: "TextCrossEncoder", query: str, text: str) -> float:
        try:
            (score,) = model.rerank(query, [text])
            if not math.isfinite(score):
                raise ValueError("not a number")
        except Exception as problem:
            raise RerankingError(_FAILED, name=self.name) from problem
        return float(score)


def licence(model: str) -> str:
    """The licence of the weights, as their makers name it; empty where nobody says. Raises RerankingError for what is
    no model."""
    return str(_known(model)["license"])


def non_commercial(name: str) -> bool:
    """Whether a licence of this name forbids commercial use: `cc-by-nc-4.0` and its like."""
    return re.search(r"(?i)\bnc\b|non-?commercial", name) is not None


def missing_weights(cache: Path, model: str) -> float:
    """How many GB the first use would download; 0: they are here. Raises RerankingError for what is no model."""
    known = _known(model)
    if known["folder"]:
        return 0.0
    repository = str(known["sources"]["hf"]).replace("/", "--")
    return 0.0 if any((cache / "fastembed").glob(f"models--{repository}/snapshots/*")) else float(known["size_in_GB"])


# -- fastembed's side -----------------------------------------------------------------------------------------------


def _known(model: str) -> dict[str, Any]:
    """The entry of fastembed's registry for a model; of a folder, registered now, the same."""
    from fastembed.common.model_description import ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    folder = Path(model).expanduser()
    if not folder.is_dir():
        if model.startswith(("/", ".", "~")):
            raise RerankingError(_NO_FOLDER, name=model)
        known = next((one for one in _registry() if one["model"].lower() == model.lower()), None)
        if known is None:
            raise RerankingError(_UNKNOWN, name=model, names=_NAMES)
        return {**known, "folder": None}
    folder = folder.resolve()
    for name in ("tokenizer.json", "tokenizer_config.json"):
        if not (folder / name).is_file():
            raise RerankingError(_NOT_IN_IT, name=model, missing=name)
    files = [file for file in (folder / "model.onnx", folder / "onnx/model.onnx") if file.is_file()]
    files = files or sorted(folder.rglob("*.onnx"))
    if not files:
        raise RerankingError(_NOT_IN_IT, name=model, missing="model.onnx")
    if all(one["model"].lower() != str(folder).lower() for one in _registry()):
        TextCrossEncoder.add_custom_model(
            str(folder),
            ModelSource(url=folder.as_uri()),  # never asked: the folder itself is given
            model_file=str(files[0].relative_to(folder)),
            license=_in_the_card(folder),
        )
    return {"model": str(folder), "folder": folder, "license": _in_the_card(folder)}


def _registry() -> list[dict[str, Any]]:
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    return TextCrossEncoder.list_supported_models()


def _in_the_card(folder: Path) -> str:
    """The licence in the front matter of a model card. Source: huggingface.co/docs/hub/model-cards."""
    try:
        card = (folder / "README.md").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(r"(?m)\A---\n(?:.*\n)*?license:[ \t]*(\S+)", card)
    return found[1] if found else ""


@functools.cache
def _open(name: str, folder: Path | None, cache: Path) -> "TextCrossEncoder":
    """Once a process: what one reranker has loaded is there for the next one. A download is tried once."""
    from fastembed.common.model_description import BaseModelDescription, ModelSource
    from fastembed.rerank.cross_encoder import TextCrossEncoder
    from fastembed.rerank.cross_encoder.onnx_text_cross_encoder import OnnxTextCrossEncoder
    from loguru import logger

    logger.disable("fastembed")  # it would print to standard error; what goes wrong is raised
    if folder is None:
        known = next(one for one in _registry() if one["model"] == name)
        described = BaseModelDescription(**{**known, "sources": ModelSource(hf=known["sources"]["hf"])})
        try:
            folder = OnnxTextCrossEncoder.download_model(described, str(cache / "fastembed"), retries=1)
        except Exception as problem:
            raise RerankingError(_UNREACHABLE, name=name) from problem
    try:
        model = TextCrossEncoder(name, str(cache / "fastembed"), threads=1, specific_model_path=str(folder))
    except Exception as problem:
        raise RerankingError(_FAILED, name=name) from problem
    give_back()
    return model
