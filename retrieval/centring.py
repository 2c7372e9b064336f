"""Vectors centred per language: what all passages (or all questions) of a language have in common is taken away before
they are compared.

Multilingual models keep the texts of one language together and questions apart from passages, so raw cosines say as
much about language and form as about the subject. Source: Libovický, Rosa and Fraser, *On the Language Neutrality of
Pre-trained Multilingual Representations* (2020); Mu and Viswanath, *All-but-the-Top* (2018).

The stored vectors stay as they are. Within a language a centred question orders passages by itself; between the
languages it takes one number each, so a search asks for both lists and puts them together here.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from retrieval.i18n import Language
from retrieval.index.base import LANGUAGES, Index
from retrieval.types import QdrantConnectionError, Scored, Vector

log = logging.getLogger(__name__)
Floats = NDArray[np.float64]

SHARE = 0.6  # of the mean that is taken away; between .5 and .7 nothing changes
SHIPPED = 32  # passages of a language that what is known beforehand counts as
_NUMBERS = 100_000  # of all sampled vectors together: 256 of the bundled model's, 8 ms
_LEAST, _MOST = 64, 256  # passages


@dataclass(frozen=True, slots=True)
class Means:
    """The mean vectors of texts by language; a language that is missing is not centred."""

    questions: Mapping[Language, Floats] = field(default_factory=dict)
    passages: Mapping[Language, Floats] = field(default_factory=dict)

    def question(self, vector: Vector, language: Language) -> Vector:
        """The question without what questions of its language have in common; a unit vector."""
        at = np.asarray(vector, dtype=np.float64)
        mean = self.questions.get(language)
        return _unit(at if mean is None else at - SHARE * mean).tolist()  # type: ignore[no-any-return]

    def scored(self, question: Vector, ranked: Sequence[Scored], limit: int | None = None) -> list[Scored]:
        """The first passages of all languages in one order, best first, ties by id: from their cosines with a centred
        question to those of centred passages, whose length before centring is taken as the average one of their
        language.
        """
        at = np.asarray(question, dtype=np.float64)
        offsets: dict[Language | None, tuple[float, float]] = {}
        for language, mean in self.passages.items():
            size = float(mean @ mean)
            length = max(1 - 2 * SHARE * size + SHARE * SHARE * size, 1e-6) ** 0.5
            offsets[language] = SHARE * float(at @ mean), length
        moved = []
        for one in ranked:
            offset, length = offsets.get(one.language, (0.0, 1.0))
            moved.append(((one.score - offset) / length, one.id, one.language))
        first = sorted(moved, key=lambda one: (-one[0], one[1]))[:limit]
        return [Scored(id, score, language) for score, id, language in first]


class Centring:
    """The means that a search uses: those of the passages that live at its generation, and `shipped` ones.

    Passages are sampled from the store, always the same ones of a generation, so that a question gets the same answer
    until something is taught or forgotten, in every process and after a restart. `shipped` means count as `SHIPPED`
    passages of each language, so an empty store begins with them. Where none are shipped for an embedder, the sampled
    passages of both languages together take their place, and questions are not centred.
    """

    def __init__(self, index: Index, dimensions: int, shipped: Means) -> None:
        self._index = index
        self._most = max(_LEAST, min(_MOST, _NUMBERS // max(1, dimensions)))
        self._shipped = shipped
        self._known: tuple[int, Means] | None = None  # the generation they are of
        self._sampling = asyncio.Lock()

    async def __call__(self, generation: int) -> Means:
        """Of the latest generation that could be asked for, when the store does not answer."""
        async with self._sampling:
            if self._known is None or self._known[0] != generation:
                try:
                    self._known = generation, self._means(await self._index.sample(generation, self._most))
                except QdrantConnectionError as error:
                    log.warning("the search goes on with what is known of the store: %s (%s)", error, error.__cause__)
            return self._known[1] if self._known else self._shipped

    def _means(self, sampled: Sequence[tuple[Language, Vector]]) -> Means:
        if not sampled:
            return self._shipped
        everything = np.mean([vector for _, vector in sampled], axis=0)
        passages: dict[Language, Floats] = {}
        for language in LANGUAGES:
            mine = np.array([vector for its, vector in sampled if its == language]).reshape(-1, len(everything))
            before = self._shipped.passages.get(language, everything)
            passages[language] = (mine.sum(axis=0) + SHIPPED * before) / (len(mine) + SHIPPED)
        return Means(self._shipped.questions, passages)


def _unit(vector: Floats) -> Floats:
    return vector / max(float(np.linalg.norm(vector)), 1e-12)
