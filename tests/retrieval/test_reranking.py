"""The reranker, over a real ONNX session with a cross-encoder that the test builds."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from retrieval import reranking
from retrieval.reranking import (
    FastembedReranker,
    RerankingError,
    licence,
    missing_weights,
    non_commercial,
)
from tests.retrieval.cross_encoder import cross_encoder

WORDS = ("how", "long", "do", "refunds", "take", "days", "parcels", "返金", "日数")
TEXTS = ("parcels take days", "refunds take how long", "cranes", "refunds refunds", "", "long long long parcels")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return cross_encoder(tmp_path / "tiny", WORDS)


@pytest.fixture(autouse=True)
def unknown_again() -> Iterator[None]:
    yield
    reranking._open.cache_clear()


async def scores(folder: Path | str, query: str, *texts: str) -> list[float]:
    with closing(FastembedReranker(Path(folder).parent / "cache", str(folder))) as reranker:
        return await reranker.scores(query, texts)


async def test_each_text_is_read_beside_the_question(folder: Path) -> None:
    assert await scores(folder, "how long do refunds take", *TEXTS) == [1, 4, 0, 2, 0, 3]
    assert await scores(folder, "返金 日数", "返金 days", "日数 返金") == [1, 2]
    assert await scores(folder, "how long do refunds take") == []


@pytest.mark.parametrize("file", ["onnx/model.onnx", "onnx/model_int8.onnx"])
async def test_a_folder_as_the_hub_lays_it_out(tmp_path: Path, file: str) -> None:
    folder = cross_encoder(tmp_path / "hub", WORDS, file=file)
    assert await scores(folder, "refunds", "refunds", "days") == [1, 0]


async def test_several_searches_at_once_get_their_own_scores(folder: Path) -> None:
    with closing(FastembedReranker(folder.parent, str(folder))) as reranker:
        asked = [reranker.scores(query, TEXTS) for query in ("parcels", "refunds", "long")]
        assert await asyncio.gather(*asked) == [[1, 0, 0, 0, 0, 1], [0, 1, 0, 2, 0, 0], [0, 1, 0, 0, 0, 3]]


async def test_what_is_no_model_is_said_at_once(tmp_path: Path, folder: Path) -> None:
    for model, said in (
        ("nobody/nothing", "does not know: nobody/nothing"),
        (str(tmp_path / "gone"), "not there"),
        (str(tmp_path), r"lacks tokenizer\.json"),
    ):
        with pytest.raises(RerankingError, match=said) as caught:
            FastembedReranker(tmp_path, model)
        assert "KOTAE_RERANKER" in caught.value.text("ja")
    (folder / "model.onnx").unlink()
    with pytest.raises(RerankingError, match=r"lacks model\.onnx"):
        FastembedReranker(tmp_path, str(folder))


async def test_weights_that_cannot_be_read_are_tried_again_later_and_not_at_every_search(folder: Path) -> None:
    weights = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(b"not a model")
    with closing(FastembedReranker(folder.parent, str(folder))) as reranker:
        with pytest.raises(RerankingError, match="failed; the log has the reason"):
            await reranker.scores("refunds", TEXTS)
        await reranker.warm()
        (folder / "model.onnx").write_bytes(weights)
        with pytest.raises(RerankingError):
            await reranker.scores("refunds", ["refunds"])
        reranker._failed_at -= reranking.AGAIN_SECONDS
        assert await reranker.scores("refunds", ["refunds"]) == [1]


async def test_numbers_that_are_none_are_a_failure(tmp_path: Path) -> None:
    folder = cross_encoder(tmp_path / "broken", WORDS, scale=float("nan"))
    with pytest.raises(RerankingError):
        await scores(folder, "refunds", "refunds")


async def test_a_search_waits_only_so_long_for_weights(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reranking, "LOADING_SECONDS", 0.0)
    busy = threading.Event()
    with closing(FastembedReranker(folder.parent, str(folder))) as reranker:
        for _ in range(2):  # all its threads
            reranker._threads.submit(busy.wait)
        with pytest.raises(RerankingError, match="still being loaded"):
            await reranker.scores("refunds", ["refunds"])
        busy.set()
        monkeypatch.undo()
        assert await reranker.scores("refunds", ["refunds"]) == [1]


async def test_a_model_that_is_not_here_and_cannot_be_had(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model = "jinaai/jina-reranker-v1-tiny-en"
    assert missing_weights(tmp_path, model) > 0
    with pytest.raises(RerankingError, match="could not be downloaded"):
        await scores(model, "refunds", "refunds")


def test_the_licence_is_known(tmp_path: Path, folder: Path) -> None:
    assert non_commercial(licence("jinaai/jina-reranker-v2-base-multilingual"))
    assert not non_commercial(licence("BAAI/bge-reranker-v2-m3"))
    assert licence(str(folder)) == "" and missing_weights(tmp_path, str(folder)) == 0
    assert licence(str(cross_encoder(tmp_path / "carded", WORDS, licence="cc-by-nc-4.0"))) == "cc-by-nc-4.0"
