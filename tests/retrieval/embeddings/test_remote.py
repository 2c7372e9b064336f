"""Embedders behind a network, against Gemini and an OpenAI-compatible server on loopback."""

import logging
import math
import socket
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from retrieval.embeddings.base import EmbeddingClient, prefixes
from retrieval.embeddings.gemini import GeminiEmbedder
from retrieval.embeddings.openai import OpenAIEmbedder
from retrieval.embeddings.remote import FOR_A_QUERY, FOR_DOCUMENTS, RetryLimits, estimated_tokens
from retrieval.providers.openai_http import endpoint
from retrieval.types import EmbeddingError, Vector
from tests.fakes import gemini, openai
from tests.fakes.gemini import FakeGemini
from tests.fakes.openai import FakeOpenAI

Embedder = GeminiEmbedder | OpenAIEmbedder

GEMINI = "gemini-embedding-001"
SMALL = "text-embedding-3-small"


class Pauses:
    """Waits that are counted and not waited for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


@asynccontextmanager
async def gemini_embedder(server: FakeGemini, model: str = GEMINI, **changed: Any) -> AsyncIterator[GeminiEmbedder]:
    given: dict[str, Any] = {"key": server.key, "base_url": server.url, "pause": Pauses()} | changed
    made = await GeminiEmbedder.open(model, **given)
    try:
        yield made
    finally:
        await made.close()


@asynccontextmanager
async def openai_embedder(server: FakeOpenAI, model: str = SMALL, **changed: Any) -> AsyncIterator[OpenAIEmbedder]:
    given: dict[str, Any] = {"key": server.key, "base_url": server.url, "pause": Pauses()} | changed
    made = await OpenAIEmbedder.open(model, **given)
    try:
        yield made
    finally:
        await made.close()


def length(vector: Vector) -> float:
    return math.sqrt(sum(value * value for value in vector))


def cosine(one: Vector, other: Vector) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


async def refusal(embedder: Embedder, texts: tuple[str, ...] = ("返金",)) -> EmbeddingError:
    with pytest.raises(EmbeddingError) as caught:
        await embedder.embed_documents(texts)
    return caught.value


# -- Gemini ---------------------------------------------------------------------------------------------------------


async def test_gemini_001_is_told_the_task_and_the_size_and_its_vectors_get_length_one() -> None:
    async with FakeGemini() as server, gemini_embedder(server, dimensions=768) as embedder:
        client: EmbeddingClient = embedder
        assert (client.name, client.dimensions, client.max_tokens) == (f"gemini:{GEMINI}@768", 768, 2048)
        assert server.journal == []
        near, far = await client.embed_documents(["返金は30日です。", "駐車場は地下です。"])
        query = await client.embed_query("返金は何日？")
    assert [len(near), len(query)] == [768, 768] and length(near) == pytest.approx(1, abs=1e-5)
    assert cosine(query, near) > cosine(query, far)
    sent = [call.body["requests"][0] for call in server.journal]
    assert [one["taskType"] for one in sent] == ["RETRIEVAL_DOCUMENT", "RETRIEVAL_QUERY"]
    assert all(one["outputDimensionality"] == 768 for one in sent)
    assert sent[0]["content"]["parts"] == [{"text": "返金は30日です。"}]


async def test_gemini_2_is_told_by_what_stands_before_the_text_and_each_text_has_its_own_vector() -> None:
    async with FakeGemini() as server, gemini_embedder(server, "models/gemini-embedding-2") as embedder:
        assert (embedder.name, embedder.max_tokens) == ("gemini:gemini-embedding-2@3072", 8192)
        assert len(await embedder.embed_documents(["a", "b"])) == 2
        await embedder.embed_query("q")
    documents, query = (call.body["requests"] for call in server.journal)
    assert [one["content"]["parts"] for one in documents + query] == [
        [{"text": "title: none | text: a"}],
        [{"text": "title: none | text: b"}],
        [{"text": "task: search result | query: q"}],
    ]
    assert not any({"taskType", "outputDimensionality"} & one.keys() for one in documents + query)


async def test_the_version_and_the_key_are_those_that_were_given() -> None:
    async with FakeGemini() as server, gemini_embedder(server, api_version="v1beta") as embedder:
        await embedder.embed_query("q")
    assert server.journal[0].version == "v1beta" and server.journal[0].headers["x-goog-api-key"] == server.key
    with pytest.raises(ValueError, match="key"):
        GeminiEmbedder(GEMINI, 3072, key=" ")


async def test_gemini_takes_a_hundred_texts_at_a_time() -> None:
    async with FakeGemini() as server, gemini_embedder(server, dimensions=128) as embedder:
        texts = [f"text {number}" for number in range(205)]
        vectors = await embedder.embed_documents(texts)
        assert vectors[150] == pytest.approx(await embedder.embed_query(texts[150]), abs=1e-6)
        assert await embedder.embed_documents([]) == []
    assert [len(call.body["requests"]) for call in server.journal[:3]] == [100, 100, 5]
    assert server.refused == []


async def test_an_unknown_gemini_model_is_asked_for_its_size_once() -> None:
    async with FakeGemini(embedders=("gemini-embedding-9",)) as server:
        async with gemini_embedder(server, "gemini-embedding-9") as embedder:
            assert (embedder.dimensions, embedder.name) == (3072, "gemini:gemini-embedding-9@3072")
        assert len(server.journal) == 1
        with pytest.raises(EmbeddingError, match="does not offer"):
            await GeminiEmbedder.open("gemini-embedding-8", key=server.key, base_url=server.url)


async def test_gemini_waits_as_long_as_it_is_asked_to() -> None:
    pause = Pauses()
    async with FakeGemini() as server, gemini_embedder(server, pause=pause) as embedder:
        server.order_embedding(gemini.busy("7s"), gemini.busy("1s", **{"Retry-After": "9"}))
        assert len(await embedder.embed_documents(["a"])) == 1
    assert pause.seconds == [7.0, 9.0] and server.finished


async def test_a_quota_of_the_day_is_not_waited_for_nor_does_a_query_wait_long() -> None:
    pause = Pauses()
    day = gemini.Refuse(429, "Quota.", details=({"violations": [{"quotaId": "EmbedRequestsPerDayPerProject"}]},))
    async with FakeGemini() as server, gemini_embedder(server, pause=pause) as embedder:
        server.order_embedding(day, gemini.busy("30s"))
        with pytest.raises(EmbeddingError, match="over its quota"):
            await embedder.embed_documents(["a"])
        with pytest.raises(EmbeddingError, match="over its quota"):
            await embedder.embed_query("who asks does not wait 30 seconds")
    assert pause.seconds == [] and server.finished


async def test_a_gemini_model_that_only_the_beta_version_has_is_asked_for_there() -> None:
    async with FakeGemini(versions=["v1beta"]) as server, gemini_embedder(server) as embedder:
        assert len(await embedder.embed_documents(["返金"])) == len(await embedder.embed_documents(["駐車場"])) == 1
    assert [call.version for call in server.journal] == ["v1", "v1beta", "v1beta"]
    async with FakeGemini(embedders=[]) as server, gemini_embedder(server) as embedder:
        assert "does not offer" in (await refusal(embedder)).text("en")
    assert [call.version for call in server.journal] == ["v1", "v1beta", "v1"]


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (gemini.Refuse(400, "Invalid argument."), "refused the request"),
        (gemini.Refuse(400, "Bad.", details=({"reason": "API_KEY_INVALID"},)), "was not accepted"),
        (gemini.Refuse(403, "Forbidden.", "PERMISSION_DENIED"), "was not accepted"),
        (gemini.Vectors({"embeddings": []}), "not the vectors"),
        (gemini.Vectors({"embeddings": [{"values": [1.0]}, {"values": [1.0]}]}), "not the vectors"),
        (gemini.Vectors({"embeddings": [{}]}), "not the vectors"),
        (gemini.Vectors({"embeddings": [{"values": [0.0] * 3072}]}), "not the vectors"),
        (gemini.Vectors({"embeddings": [{"values": ["x"]}]}), "not the vectors"),
        (gemini.Vectors({"embeddings": [{"values": [1.0] * 768}]}), "KOTAE_EMBEDDING_DIM=768"),
    ],
)
async def test_what_gemini_may_answer_instead(order: Any, said: str) -> None:
    async with FakeGemini() as server, gemini_embedder(server) as embedder:
        server.order_embedding(order)
        error = await refusal(embedder)
    assert said in error.text("en") and GEMINI in error.text("en")
    assert (
        GEMINI in error.text("ja") and "ください" in error.text("ja") + "ください" and error.text("ja").endswith("。")
    )
    assert len(server.journal) == 1


@pytest.mark.parametrize(
    "order",
    [
        gemini.Refuse(503, "Overloaded.", "UNAVAILABLE"),
        gemini.Refuse(502, page="<html>Bad gateway</html>"),
        gemini.Refuse(200, page="<html>Sign in</html>"),
        gemini.Refuse(504, "Deadline exceeded.", "DEADLINE_EXCEEDED"),
    ],
)
async def test_gemini_out_of_order_is_tried_again_and_then_given_up(order: gemini.Refuse) -> None:
    pause = Pauses()
    async with FakeGemini() as server, gemini_embedder(server, pause=pause) as embedder:
        server.order_embedding(order)
        assert len(await embedder.embed_documents(["a"])) == 1
        server.order_embedding(*[order] * FOR_DOCUMENTS.tries)
        assert "later" in (await refusal(embedder)).text("en")
        assert server.finished
        server.order_embedding(*[order] * FOR_A_QUERY.tries)
        with pytest.raises(EmbeddingError):
            await embedder.embed_query("q")
    assert server.finished
    assert all(seconds <= 2.0**tried for seconds, tried in zip(pause.seconds[1:5], range(4), strict=True))


# -- OpenAI-compatible servers --------------------------------------------------------------------------------------


async def test_a_known_model_is_not_asked_for_its_size_nor_told_one() -> None:
    async with FakeOpenAI() as server, openai_embedder(server, dimensions=1536) as embedder:
        client: EmbeddingClient = embedder
        assert (client.name, client.dimensions, client.max_tokens) == (f"openai:{SMALL}@1536", 1536, 8191)
        assert server.journal == []
        near, far = await client.embed_documents(["返金は30日です。", "駐車場は地下です。"])
        query = await client.embed_query("返金は何日？")
    assert cosine(query, near) > cosine(query, far) and length(near) == pytest.approx(1, abs=1e-5)
    assert server.journal[0].path == "/v1/embeddings" and "dimensions" not in server.journal[0].body
    assert server.journal[0].headers["Authorization"] == f"Bearer {server.key}"


async def test_another_size_is_asked_for() -> None:
    async with FakeOpenAI() as server, openai_embedder(server, dimensions=256) as embedder:
        assert len((await embedder.embed_documents(["a"]))[0]) == 256 and embedder.name == f"openai:{SMALL}@256"
    assert server.journal[0].body["dimensions"] == 256


async def test_a_local_model_is_asked_once_without_a_key_and_gets_its_prefixes() -> None:
    name = "nomic-embed-text:latest"
    async with (
        FakeOpenAI(key=None, embedders={name: 768}) as server,
        openai_embedder(server, name, key=None) as embedder,
    ):
        assert (embedder.dimensions, embedder.max_tokens) == (768, 2048)
        await embedder.embed_documents(["a", " "])
        await embedder.embed_query("q")
    assert [call.body["input"] for call in server.journal[1:]] == [
        ["search_document: a", "search_document:  "],
        ["search_query: q"],
    ]
    assert all("Authorization" not in call.headers for call in server.journal)


async def test_an_empty_text_gets_a_vector_too() -> None:
    async with FakeOpenAI() as server, openai_embedder(server) as embedder:
        assert len(await embedder.embed_documents(["", "a"])) == 2
    assert server.refused == []


async def test_a_server_that_refuses_a_wish_for_the_models_own_size_is_asked_without() -> None:
    async with FakeOpenAI(resizes="refuses") as server, openai_embedder(server, "bge-m3", dimensions=1024) as embedder:
        await embedder.embed_query("a")
        await embedder.embed_query("b")
    assert ["dimensions" in call.body for call in server.journal] == [True, False, False]


@pytest.mark.parametrize("resizes", ["refuses", "ignores"])
async def test_a_size_that_the_server_does_not_make_is_refused(resizes: Any) -> None:
    async with FakeOpenAI(resizes=resizes) as server, openai_embedder(server, "bge-m3", dimensions=256) as embedder:
        for _ in range(2):
            error = await refusal(embedder)
            assert "KOTAE_EMBEDDING_DIM=1024" in error.text("en") and "256 次元ではありません" in error.text("ja")


async def test_openai_batches_are_small_enough_for_every_server_and_keep_their_order() -> None:
    async with FakeOpenAI() as server, openai_embedder(server, dimensions=64) as embedder:
        texts = [f"text number {number * 7919}" for number in range(70)]
        vectors = await embedder.embed_documents(texts)
        assert vectors[40] == pytest.approx(await embedder.embed_query(texts[40]), abs=1e-6)
    assert [len(call.body["input"]) for call in server.journal] == [32, 32, 6, 1] and server.refused == []


async def test_a_server_that_takes_fewer_texts_at_once_gets_fewer() -> None:
    async with FakeOpenAI(at_once=10) as server, openai_embedder(server, dimensions=64) as embedder:
        texts = [f"text number {number * 7919}" for number in range(33)]
        vectors = await embedder.embed_documents(texts)
        alone = [await embedder.embed_query(text) for text in texts]
    assert vectors == [pytest.approx(each, abs=1e-6) for each in alone]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (400, "the input length exceeds the context length"),
        (400, "Invalid 'input[1]': maximum input length is 8192 tokens."),
        (400, "This model's maximum context length is 512 tokens. However, you requested 1451 tokens in the input."),
        (413, "Input validation error: `inputs` must have less than 512 tokens. Given: 534"),
        (500, "input (992 tokens) is too large to process. increase the physical batch size (current batch size: 512)"),
    ],
    ids=["Ollama", "OpenAI", "vLLM", "text-embeddings-inference", "llama.cpp"],
)
async def test_of_a_text_longer_than_the_server_reads_the_beginning_counts(
    code: int, words: str, caplog: pytest.LogCaptureFixture
) -> None:
    long, pause = "返金は30日以内です。" * 30, Pauses()
    async with (
        FakeOpenAI(reads=100, overlong=openai.Refuse(code, words)) as server,
        openai_embedder(server, pause=pause) as embedder,
    ):
        short, cut, other = await embedder.embed_documents(["返金", long, "駐車場"])
        assert cosine(cut, await embedder.embed_query(long[:80])) > 0.99
        assert [short, other] == [pytest.approx(await embedder.embed_query(text)) for text in ("返金", "駐車場")]
        assert await embedder.embed_query(long) == pytest.approx(cut)
    assert "1 of 3 texts" in caplog.text and "返金" not in caplog.text and pause.seconds == []


async def test_a_server_that_takes_no_text_at_all_is_given_up_soon() -> None:
    for reads, at_once, requests in ((0, 32, 7), (20_000, 0, 6)):
        async with FakeOpenAI(reads=reads, at_once=at_once) as server, openai_embedder(server) as embedder:
            assert "refused the request" in (await refusal(embedder, ("返金は30日以内です。",) * 32)).text("en")
        assert len(server.journal) == requests


async def test_openai_waits_as_long_as_it_is_asked_to_and_not_for_money() -> None:
    pause = Pauses()
    async with FakeOpenAI() as server, openai_embedder(server, pause=pause) as embedder:
        server.order_embedding(openai.busy(**{"Retry-After": "6"}))
        await embedder.embed_documents(["a"])
        server.order_embedding(openai.Refuse(429, "You exceeded your quota.", word="insufficient_quota"))
        assert "quota" in (await refusal(embedder)).text("en")
    assert pause.seconds == [6.0] and server.finished


@pytest.mark.parametrize(
    ("order", "said"),
    [
        (openai.Refuse(400, "Too long."), "refused the request"),
        (openai.Refuse(422, body={"detail": "wrong"}), "refused the request"),
        (openai.Refuse(401, "Incorrect API key provided."), "was not accepted"),
        (openai.Refuse(404, page="<html>404 page not found</html>"), "does not offer"),
        (openai.Refuse(400, "No such model.", word="model_not_found"), "does not offer"),
        (openai.Vectors({"error": {"message": "no such model", "code": 404}}), "does not offer"),
        (openai.Vectors({"data": []}), "not the vectors"),
        (openai.Vectors({"data": "x"}), "not the vectors"),
        (openai.Vectors([]), "not the vectors"),
        (openai.Vectors({"data": [{"index": 1, "embedding": [1.0]}]}), "not the vectors"),
        (openai.Vectors({"data": [{"index": 0, "embedding": "AACAPw=="}]}), "not the vectors"),
        (openai.Vectors({"data": [{"index": 0, "embedding": [None] * 1536}]}), "not the vectors"),
        (openai.Vectors({"data": [{"index": 0, "embedding": [float("nan")] * 1536}]}), "not the vectors"),
        (openai.Vectors({"data": [{"index": 0, "embedding": []}]}), "not the vectors"),
    ],
)
async def test_what_an_openai_server_may_answer_instead(order: Any, said: str) -> None:
    async with FakeOpenAI() as server, openai_embedder(server) as embedder:
        server.order_embedding(order)
        error = await refusal(embedder)
    assert said in error.text("en") and SMALL in error.text("ja")
    assert len(server.journal) == 1


async def test_an_openai_server_out_of_order_is_tried_again() -> None:
    async with FakeOpenAI() as server, openai_embedder(server) as embedder:
        for order in (
            openai.Refuse(503, body={"error": {"message": "Loading model"}}),
            openai.Refuse(200, page="<html>Sign in</html>"),
            openai.Refuse(302, page="<html></html>", headers={"Location": "http://127.0.0.1:1/"}),
        ):
            server.order_embedding(order)
            assert len(await embedder.embed_documents(["a"])) == 1
    assert len(server.journal) == 6


# -- both -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [GeminiEmbedder, OpenAIEmbedder])
async def test_nobody_listens(make: Callable[..., Embedder], caplog: pytest.LogCaptureFixture) -> None:
    pause = Pauses()
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        embedder = make("m", 8, key="k", base_url=f"http://127.0.0.1:{held.getsockname()[1]}", pause=pause)
        error = await refusal(embedder)
        await embedder.close()
    assert "cannot be reached" in error.text("en") and "接続できません" in error.text("ja")
    assert len(pause.seconds) == FOR_DOCUMENTS.tries - 1
    assert "embedding with" in caplog.text and "返金" not in caplog.text


async def test_silence_ends_when_patience_does() -> None:
    async with FakeOpenAI() as server, openai_embedder(server) as embedder:
        server.order_embedding(openai.Vectors(None))
        with pytest.raises(EmbeddingError, match="too long"):
            await embedder._embed(["a"], "query", RetryLimits(3, 0.2))


async def test_half_a_surrogate_pair_is_no_matter() -> None:
    async with (
        FakeGemini() as one,
        FakeOpenAI() as other,
        gemini_embedder(one) as first,
        openai_embedder(other) as second,
    ):
        for embedder in (first, second):
            assert len(await embedder.embed_query("broken \ud83d here")) == embedder.dimensions
    assert other.journal[0].body["input"] == ["broken ? here"]


@pytest.mark.parametrize("key", ["sk-Wrong-abcdefghijklmnopqrstuvwxyz", "sk\nbroken", "鍵sk-Wrong"])
async def test_the_key_is_in_no_error_log_or_representation(key: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with FakeGemini() as one, FakeOpenAI() as other:
        for embedder in (
            GeminiEmbedder(GEMINI, 3072, key=SecretStr(key), base_url=one.url),
            OpenAIEmbedder(SMALL, 1536, key=SecretStr(key), base_url=other.url),
        ):
            error = await refusal(embedder)
            await embedder.close()
            assert "was not accepted" in error.text("en") and "API キー" in error.text("ja")
            logging.getLogger("test").error("failed", exc_info=error)
            shown = "".join(traceback.format_exception(error)) + repr(embedder) + str(vars(embedder)) + caplog.text
            assert key not in shown and repr(key)[1:-1] not in shown


# -- small facts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("base", "address"),
    [
        (None, "https://api.openai.com/v1/embeddings"),
        ("http://localhost:11434", "http://localhost:11434/v1/embeddings"),
        ("http://localhost:8000/v1/", "http://localhost:8000/v1/embeddings"),
        ("http://localhost:8000/v1/embeddings", "http://localhost:8000/v1/embeddings"),
        ("https://openrouter.ai/api", "https://openrouter.ai/api/v1/embeddings"),
        ("https://x.test/v1beta/openai/", "https://x.test/v1beta/openai/embeddings"),
        ("https://x.test/openai?api-version=2", "https://x.test/openai/v1/embeddings?api-version=2"),
    ],
)
def test_addresses(base: str | None, address: str) -> None:
    assert str(endpoint(base, "embeddings")) == address


@pytest.mark.parametrize(
    ("model", "document", "query"),
    [
        ("intfloat/multilingual-e5-large", "passage: ", "query: "),
        ("multilingual-e5-large-instruct", "", "Instruct: "),
        ("nomic-embed-text:v1.5", "search_document: ", "search_query: "),
        ("Qwen/Qwen3-Embedding-0.6B", "", "Instruct: "),
        ("bge-m3", "", ""),
        ("bge-large-en-v1.5", "", "Represent"),
        ("gemini-embedding-001", "", ""),
        ("gemini-embedding-2-preview", "title: none | text: ", "task: search result | query: "),
        ("text-embedding-3-small", "", ""),
    ],
)
def test_what_stands_before_a_text(model: str, document: str, query: str) -> None:
    before = prefixes(model)
    assert before[0] == document and before[1].startswith(query) and bool(before[1]) == bool(query)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 2),
        ("refunds take days", 2 + 2 + 1 + 1),
        ("2026-11-22", 2 + 10),
        ("返金は30日", 2 + 6),
        ("🛠", 2 + 3),
        ("a" * 40, 2 + 20),
    ],
)
def test_the_estimate_of_tokens(text: str, tokens: int) -> None:
    assert estimated_tokens(text) == tokens
