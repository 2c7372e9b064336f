import asyncio
import hashlib
import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import onnx
import pytest

from retrieval.embeddings import bundled_e5
from retrieval.embeddings.base import EmbeddingClient
from retrieval.embeddings.local import LocalEmbedder
from retrieval.embeddings.onnx import MeanOfStates
from retrieval.types import EmbeddingError, Vector
from tests.retrieval.test_memory import resident

ROOT = Path(__file__).parents[3]
CACHE = Path.home() / ".cache" / "kotae"  # where the product keeps it; made once per machine

bundled_only = pytest.mark.skipif(
    not bundled_e5.available(), reason="the bundled weights exist for Linux on x86-64 only"
)

REFUNDS = "Refunds are paid within 30 days of the request, to the card that was charged."
EXPENSES = "経費の精算書は翌月の五営業日までに、領収書を添えて経理部へ提出してください。"
MAINTENANCE = "サーバーの定期メンテナンスは毎週日曜日の午前２時から４時まで行われます。"
PASSAGES = [REFUNDS, EXPENSES, MAINTENANCE]


@pytest.fixture(scope="module")
def embedder() -> EmbeddingClient:
    return LocalEmbedder(CACHE)


def cosine(one: Vector, other: Vector) -> float:
    return float(np.dot(one, other))


def run(code: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`code` in a fresh interpreter."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


# -- embedding ------------------------------------------------------------------------------------------------------


async def test_vectors_have_unit_length_and_keep_the_order_of_the_texts(embedder: EmbeddingClient) -> None:
    texts = [EXPENSES * 8, REFUNDS, MAINTENANCE, "短い", EXPENSES, REFUNDS * 4]
    together = await embedder.embed_documents(texts)
    for text, vector in zip(texts, together, strict=True):
        assert len(vector) == embedder.dimensions == 384
        assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)
        assert cosine(vector, (await embedder.embed_documents([text]))[0]) > 0.995
    assert await embedder.embed_documents([]) == []


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("経費の精算はいつまで？", EXPENSES),
        ("When must expense reports be handed in?", EXPENSES),
        ("クレジットカードへの返金は何日以内ですか", REFUNDS),
        ("How long do refunds take?", REFUNDS),
        ("Is the server down on Sundays?", MAINTENANCE),
    ],
)
async def test_a_question_is_closest_to_its_answer_also_across_languages(
    embedder: EmbeddingClient, question: str, answer: str
) -> None:
    asked = await embedder.embed_query(question)
    scores = [cosine(asked, vector) for vector in await embedder.embed_documents(PASSAGES)]
    assert PASSAGES[int(np.argmax(scores))] == answer


async def test_a_question_is_not_embedded_as_a_document(embedder: EmbeddingClient) -> None:
    assert 0.5 < cosine(await embedder.embed_query(REFUNDS), (await embedder.embed_documents([REFUNDS]))[0]) < 0.999


async def test_a_repeated_question_gets_an_equal_vector_of_its_own(embedder: EmbeddingClient) -> None:
    first = await embedder.embed_query("same question")
    kept = list(first)
    first.clear()
    assert await embedder.embed_query("same question") == kept


async def test_a_question_does_not_wait_for_documents(embedder: EmbeddingClient) -> None:
    documents = asyncio.create_task(embedder.embed_documents([EXPENSES * 8] * 40))
    await asyncio.to_thread(embedder.count_tokens, "")
    await embedder.embed_query("asked while documents are read")
    assert not documents.done()
    documents.cancel()
    with pytest.raises(asyncio.CancelledError):
        await documents
    assert len(await embedder.embed_documents(PASSAGES)) == 3


def test_tokens_are_counted_uncut_with_prefix_and_ends(embedder: EmbeddingClient) -> None:
    assert embedder.count_tokens("") < embedder.count_tokens("返金") < 10
    assert embedder.count_tokens(EXPENSES * 100) > 4 * embedder.max_tokens
    alone = embedder.count_tokens(EXPENSES)
    with ThreadPoolExecutor(4) as threads:
        assert set(threads.map(embedder.count_tokens, [EXPENSES] * 200)) == {alone}


async def test_a_text_too_long_is_reported_without_its_words(
    embedder: EmbeddingClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        await embedder.embed_documents([REFUNDS, EXPENSES * 30])
    assert "1 of 2 texts are longer than the 512 tokens" in caplog.text
    assert "経費" not in caplog.text


def test_nothing_heavy_is_loaded_before_the_first_text(tmp_path: Path) -> None:
    done = run(
        "import sys; from pathlib import Path; from retrieval.embeddings.local import LocalEmbedder;"
        "embedder = LocalEmbedder(Path(sys.argv[1]));"
        "print(embedder.name, embedder.dimensions, embedder.max_tokens);"
        "print(sorted({'fastembed', 'onnxruntime', 'onnx', 'tokenizers'} & set(sys.modules)))",
        str(tmp_path),
    )
    assert done.stdout.splitlines() == ["multilingual-e5-small 384 512", "[]"], done.stderr
    assert list(tmp_path.iterdir()) == []


# -- the bundled weights --------------------------------------------------------------------------------------------


@pytest.mark.long
@bundled_only
def test_a_damaged_folder_is_made_anew_by_two_processes_at_once(tmp_path: Path) -> None:
    good = bundled_e5.prepare(CACHE)
    damaged = tmp_path / good.name
    shutil.copytree(good, damaged)
    with (damaged / "weights.bin").open("r+b") as model:
        model.seek(1_000_000)
        model.write(b"damage")
    earlier = tmp_path / good.name.replace(f"-v{bundled_e5.CONVERTER}", "-v1")
    shutil.copytree(good, earlier)
    with ThreadPoolExecutor(2) as threads:  # each converts in a process of its own
        made = set(threads.map(bundled_e5.prepare, [tmp_path] * 2))
    assert made == {damaged}
    assert [path.name for path in tmp_path.iterdir()] == [good.name]  # no scraps, nor what an earlier version made
    for name in (
        "model.onnx",
        "weights.bin",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "config.json",
    ):
        assert (damaged / name).read_bytes() == (good / name).read_bytes(), name


@bundled_only
def test_a_processor_that_computes_whole_numbers_badly_gets_the_weights_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = bundled_e5.source()
    assert source is not None
    tokens = [0, 41, 1294, 2804, 18, 2]
    vectors = []
    for enough, form in ((bundled_e5.CLOSE_ENOUGH, "i7"), (2.0, "q4")):
        monkeypatch.setattr(bundled_e5, "CLOSE_ENOUGH", enough)
        assert bundled_e5.make(source, tmp_path)[0] == form
        vectors.append(MeanOfStates(tmp_path / "model.onnx").vector(tokens))
    fast, exact = (vector / np.linalg.norm(vector) for vector in vectors)
    assert 0.995 < float(fast @ exact) < 0.99999


@bundled_only
def test_a_whole_folder_is_left_as_it_is() -> None:
    folder = bundled_e5.prepare(CACHE)
    before = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert bundled_e5.prepare(CACHE) == folder
    assert {path.name: path.stat().st_mtime_ns for path in folder.iterdir()} == before


@bundled_only
async def test_the_weights_are_mapped_and_let_go_of_behind_many_documents() -> None:
    embedder = LocalEmbedder(CACHE, threads=1)
    weights = bundled_e5.folder_in(CACHE) / "weights.bin"
    await embedder.embed_queries(["loaded now", "and read"])
    assert await asyncio.to_thread(resident, weights, "p") > 0
    few = await embedder.embed_documents([REFUNDS, EXPENSES] * 32)
    assert await asyncio.to_thread(resident, weights, "p") == 0
    assert await embedder.embed_documents([REFUNDS, EXPENSES]) == few[:2]


@bundled_only
def test_a_cache_that_cannot_be_written_is_said_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EmbeddingError, match="Not a directory") as raised:
        bundled_e5.prepare(tmp_path / "file" / "cache")
    assert str(tmp_path) in raised.value.text("ja") and "準備できませんでした" in raised.value.text("ja")


@bundled_only
async def test_weights_that_cannot_be_had_are_a_trouble_until_they_can(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.write_text("in the way")
    embedder = LocalEmbedder(cache)
    assert embedder.trouble is None
    with pytest.raises(EmbeddingError):
        await embedder.warm()
    assert embedder.trouble is not None and "could not be prepared" in embedder.trouble.text("en")
    cache.unlink()
    cache.symlink_to(CACHE)
    await embedder.warm()
    assert embedder.trouble is None


@bundled_only
def test_a_full_disk_is_said_in_words_and_leaves_no_scraps(tmp_path: Path) -> None:
    done = run(
        "import resource, sys; from pathlib import Path; from retrieval.embeddings import bundled_e5;"
        "from retrieval.types import EmbeddingError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))\n"  # inherited by the child that writes
        "try: bundled_e5.prepare(Path(sys.argv[1]))\n"
        "except EmbeddingError as problem: print(problem.text('en'))",
        str(tmp_path),
    )
    assert "could not be prepared" in done.stdout and "File too large" in done.stdout, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_other_weights_than_the_known_ones_are_refused(tmp_path: Path) -> None:
    source = tmp_path / "e5-small-q4.bin"
    source.write_bytes(b"E5S1" + bytes(100))
    with pytest.raises(ValueError, match="not the file"):
        bundled_e5.make(source, tmp_path)


# -- models from the hub --------------------------------------------------------------------------------------------

EMBED = (
    "import asyncio, json, sys; from pathlib import Path\n"
    "from retrieval.embeddings import bundled_e5\n"
    "if len(sys.argv) < 3: bundled_e5.source = lambda: None\n"  # as if the weights were not installed
    "from retrieval.embeddings.local import LocalEmbedder; from retrieval.types import EmbeddingError\n"
    "try:\n"
    "    embedder = LocalEmbedder(Path(sys.argv[1]), 2, *sys.argv[2:])\n"
    "    print(json.dumps([embedder.name, embedder.dimensions, asyncio.run(embedder.embed_query('hello'))]))\n"
    "except EmbeddingError as problem:\n"
    "    print(problem.text('en')); print(problem.text('ja'))\n"
)


class Hub(BaseHTTPRequestHandler):
    """The part of the Hugging Face hub's HTTP interface that a download needs, for any repository name."""

    files: dict[str, bytes]
    digests: dict[str, str]
    asked: list[str]

    def log_message(self, format: str, *args: object) -> None: ...

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = self.path.split("?")[0]
        self.asked.append(path)
        if path.startswith("/api/models/") and "/tree/" in path:
            self.answer(json.dumps([self.described(name) for name in self.files]).encode(), "application/json")
        elif path.startswith("/api/models/"):
            siblings = [{"rfilename": name} for name in self.files]
            repository = "/".join(path.split("/")[3:5])
            self.answer(
                json.dumps({"id": repository, "sha": "c0ffee", "siblings": siblings}).encode(), "application/json"
            )
        elif (name := path.partition("/resolve/c0ffee/")[2]) in self.files:
            self.answer(self.files[name], "application/octet-stream", self.digests[name])
        else:
            self.send_error(404)

    def described(self, name: str) -> dict[str, object]:
        return {"type": "file", "path": name, "size": len(self.files[name]), "oid": self.digests[name]}

    def answer(self, content: bytes, kind: str, digest: str = "list") -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{digest}"')
        self.send_header("X-Repo-Commit", "c0ffee")
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)


@pytest.fixture(scope="module")
def hub() -> Iterator[tuple[str, type[Hub]]]:
    """A hub on loopback whose every repository holds multilingual-e5-small; its address, and what it was asked."""
    folder = bundled_e5.prepare(CACHE)
    files = {path.name: path.read_bytes() for path in folder.glob("*.json") if path.name != "contents.json"}
    model = onnx.load(folder / "model.onnx").SerializeToString()  # with its weights
    files |= {"onnx/model.onnx": model, "model_optimized.onnx": model}
    digests = {name: hashlib.sha1(content).hexdigest() for name, content in files.items()}
    handler = type("ThisHub", (Hub,), {"files": files, "digests": digests, "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        yield f"http://127.0.0.1:{server.server_port}", handler
        server.shutdown()
        serving.join()


@bundled_only
@pytest.mark.long
def test_without_the_bundled_weights_the_same_model_comes_from_the_hub(
    tmp_path: Path, hub: tuple[str, type[Hub]]
) -> None:
    address, handler = hub
    handler.asked.clear()
    done = run(EMBED, str(tmp_path), HF_ENDPOINT=address)
    name, dimensions, vector = json.loads(done.stdout.splitlines()[-1])
    assert (name, dimensions, len(vector)) == ("multilingual-e5-small", 384, 384), done.stderr
    assert "/api/models/intfloat/multilingual-e5-small" in handler.asked
    here = asyncio.run(LocalEmbedder(CACHE).embed_query("hello"))
    assert cosine(vector, here) > 0.999

    again = run(EMBED, str(tmp_path), HF_ENDPOINT="http://127.0.0.1:9")  # now it is here, and the hub is not needed
    assert json.loads(again.stdout.splitlines()[-1])[2] == vector, again.stderr


@bundled_only
def test_any_model_of_fastembed_works_by_its_name(tmp_path: Path, hub: tuple[str, type[Hub]]) -> None:
    done = run(EMBED, str(tmp_path), "BAAI/bge-small-en-v1.5", HF_ENDPOINT=hub[0])
    name, dimensions, vector = json.loads(done.stdout.splitlines()[-1])
    assert (name, dimensions, len(vector)) == ("BAAI/bge-small-en-v1.5", 384, 384), done.stderr
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


@bundled_only
@pytest.mark.parametrize("code", [EMBED, "import retrieval.loaders.formats.pages, onnxruntime; print(384)"])
def test_the_machine_is_not_reported_to_anybody(tmp_path: Path, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ORT_DISABLE_TELEMETRY")  # this process has set it for itself
    done = run(code, str(CACHE), "multilingual-e5-small", HOME=str(tmp_path))  # where onnxruntime keeps what it sends
    assert done.returncode == 0 and "384" in done.stdout, done.stderr
    assert not [each for each in tmp_path.rglob("*") if "onnxruntime" in each.name]


def test_a_hub_out_of_reach_is_said_in_words(tmp_path: Path) -> None:
    done = run(EMBED, str(tmp_path), "BAAI/bge-small-en-v1.5", HF_HUB_OFFLINE="1")
    assert "could not be downloaded" in done.stdout and "ダウンロードできませんでした" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr and "ERROR" not in done.stderr


def test_a_model_that_fastembed_does_not_know_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(EmbeddingError, match="no-such/model") as raised:
        LocalEmbedder(tmp_path, model="no-such/model")
    assert "list_supported_models" in raised.value.text("ja")
