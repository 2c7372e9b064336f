"""Sentences are embedded once, and their cosines are those of their own vectors."""

import asyncio
from collections.abc import Sequence

import pytest

from retrieval.embeddings import similarity
from retrieval.embeddings.similarity import SentenceSimilarity
from retrieval.types import Vector, Vectors


class Counting:
    """A sentence's vector points where its first letter says."""

    name = "counting"
    dimensions = 3
    max_tokens = 100

    def __init__(self) -> None:
        self.embedded: list[str] = []

    def count_tokens(self, text: str) -> int:
        return len(text)

    async def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return [self._vector(text) for text in texts]

    async def embed_query(self, text: str) -> Vector:
        return self._vector(text)

    async def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return [self._vector(text) for text in texts]

    def _vector(self, text: str) -> Vector:
        return {"a": [1.0, 0.0, 0.0], "b": [0.6, 0.8, 0.0], "c": [0.0, 0.0, 1.0]}[text[0]]


async def test_a_sentence_is_embedded_once_and_measured_each_time() -> None:
    embedder = Counting()
    similar = SentenceSimilarity(embedder)
    assert await similar("a?", ["a1", "b1", "a1"]) == pytest.approx([1.0, 0.6, 1.0])
    assert await similar("b?", ["c1", "b1"]) == pytest.approx([0.0, 1.0])
    assert embedder.embedded == ["a1", "b1", "c1"]


async def test_of_those_who_ask_at_once_one_has_a_sentence_embedded() -> None:
    embedder = Counting()
    similar = SentenceSimilarity(embedder)
    one, other = await asyncio.gather(similar("a?", ["a1", "b1"]), similar("c?", ["b1", "c1"]))
    assert one == pytest.approx([1.0, 0.6])
    assert other == pytest.approx([0.0, 1.0])
    assert embedder.embedded == ["a1", "b1", "c1"]


async def test_the_sentences_asked_for_longest_ago_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similarity, "_NUMBERS", 6)  # two vectors
    embedder = Counting()
    similar = SentenceSimilarity(embedder)
    await similar("a?", ["a1", "b1"])
    await similar("a?", ["a1", "c1"])
    await similar("a?", ["a1", "b1"])
    assert embedder.embedded == ["a1", "b1", "c1", "b1"]


async def test_what_is_known_does_not_wait_for_what_is_being_embedded() -> None:
    asked, goes_on = asyncio.Event(), asyncio.Event()

    class Slow(Counting):
        async def embed_documents(self, texts: Sequence[str]) -> Vectors:
            if "b1" in texts:
                asked.set()
                await goes_on.wait()
            return await super().embed_documents(texts)

    similar = SentenceSimilarity(Slow())
    await similar("a?", ["a1"])
    waiting = asyncio.create_task(similar("a?", ["a1", "b1"]))
    await asked.wait()
    assert await similar("a?", ["a1"]) == pytest.approx([1.0])
    goes_on.set()
    assert await waiting == pytest.approx([1.0, 0.6])
