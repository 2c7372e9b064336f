"""Vectors without what their language has in common: whose means they are, and when they change."""

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio

from retrieval.centring import SHARE, SHIPPED, Centring, Means
from retrieval.i18n import Language, Text
from retrieval.index import EdgeIndex
from retrieval.types import QdrantConnectionError, Scored, Vector
from tests.retrieval.index.test_index import READING, point

pytestmark = pytest.mark.asyncio(loop_scope="module")

EAST, NORTH, UP = np.eye(3)
MEANS = Means(questions={"ja": 0.5 * UP}, passages={"ja": 0.8 * NORTH, "en": 0.8 * EAST})


@pytest_asyncio.fixture(loop_scope="module")
async def index(tmp_path: Path) -> AsyncIterator[EdgeIndex]:
    made = await EdgeIndex.open(tmp_path, dimensions=3, embedder="test", tokenizer="test")
    yield made
    await made.close()


class Silent:
    """A store that does not answer, after `times` answers."""

    def __init__(self, times: int, sampled: list[tuple[Language, Vector]]) -> None:
        self.asked = 0
        self._times = times
        self._sampled = sampled

    async def sample(self, generation: int, limit: int) -> list[tuple[Language, Vector]]:
        self.asked += 1
        if self.asked > self._times:
            raise QdrantConnectionError(Text(en="gone", ja="ありません"))
        return self._sampled[:limit]


async def put(index: EdgeIndex, language: Language, *vectors: list[float], born: int = 1) -> None:
    await index.put(
        [
            replace(
                point(f"{language}{number}", born=born, dense=vector, text=str(uuid.uuid4())),
                reading=replace(READING, language=language),
            )
            for number, vector in enumerate(vectors)
        ]
    )


async def test_what_questions_of_a_language_have_in_common_is_taken_away() -> None:
    vector = [0.6, 0.0, 0.8]

    centred = MEANS.question(vector, "ja")

    left = np.array(vector) - SHARE * 0.5 * UP
    assert centred == pytest.approx(left / np.linalg.norm(left))
    assert MEANS.question(vector, "en") == pytest.approx(vector)  # no mean is known: as it is


async def test_a_language_has_no_lead_over_the_other() -> None:
    """Both passages are as far from their language's mean; raw cosines put everything in the question's language
    first."""
    question = [*(np.array([0.3, 0.9, 0.3]) / np.linalg.norm([0.3, 0.9, 0.3]))]
    own, foreign = np.array([0.0, 0.95, -0.1]), np.array([0.9, 0.1, 0.7])
    raw = [
        Scored("own", float(own @ question), "ja"),
        Scored("foreign", float(foreign @ question), "en"),
        Scored("tie", float(foreign @ question), "en"),
    ]
    assert raw[0].score > raw[1].score

    ranked = MEANS.scored(question, raw)

    assert [one.id for one in ranked] == ["foreign", "tie", "own"]
    offset = SHARE * float(0.8 * EAST @ question)
    length = (1 - 2 * SHARE * 0.64 + SHARE**2 * 0.64) ** 0.5
    assert ranked[0].score == pytest.approx((raw[1].score - offset) / length)


async def test_the_means_are_those_of_the_passages_that_live(index: EdgeIndex) -> None:
    await put(index, "ja", *([[0.0, 1.0, 0.0]] * 3))
    await put(index, "en", [1.0, 0.0, 0.0], born=2)
    centring = Centring(index, 3, MEANS)

    first, second = await centring(1), await centring(2)

    assert first.passages["ja"] == pytest.approx((3 * NORTH + SHIPPED * 0.8 * NORTH) / (3 + SHIPPED), abs=1e-3)
    assert first.passages["en"] == pytest.approx(0.8 * EAST)  # nothing lives there yet: as shipped
    assert second.passages["en"] == pytest.approx((EAST + SHIPPED * 0.8 * EAST) / (1 + SHIPPED), abs=1e-3)
    assert first.questions == MEANS.questions
    assert (await Centring(index, 3, MEANS)(1)).passages["ja"].tolist() == first.passages["ja"].tolist()


async def test_an_unknown_embedder_has_means_too(index: EdgeIndex) -> None:
    unknown = Centring(index, 3, Means())
    assert await unknown(1) == Means()  # an empty store: nothing is centred

    await put(index, "ja", [0.0, 1.0, 0.0], [0.0, 1.0, 0.0])
    await put(index, "en", [1.0, 0.0, 0.0])
    means = await unknown(2)

    both = (2 * NORTH + EAST) / 3
    assert means.passages["ja"] == pytest.approx((2 * NORTH + SHIPPED * both) / (2 + SHIPPED), abs=1e-3)
    assert means.passages["ja"] @ NORTH > means.passages["en"] @ NORTH
    assert means.question([0.6, 0.0, 0.8], "ja") == pytest.approx([0.6, 0.0, 0.8])


async def test_a_generation_is_sampled_once_however_many_search_at_once(index: EdgeIndex) -> None:
    store = Silent(9, [("ja", [0.0, 1.0, 0.0])])
    centring = Centring(store, 3, MEANS)  # type: ignore[arg-type]

    await asyncio.gather(*(centring(4) for _ in range(5)))
    assert store.asked == 1
    await centring(5)
    assert store.asked == 2


async def test_without_the_store_what_is_known_is_used() -> None:
    store = Silent(1, [("ja", [0.0, 1.0, 0.0])])
    centring = Centring(store, 3, MEANS)  # type: ignore[arg-type]
    known = await centring(1)

    assert await centring(2) is known
    assert await Centring(Silent(0, []), 3, MEANS)(1) is MEANS  # type: ignore[arg-type]
