"""Which questions ask for the same thing, whatever their words and language: what people asked for most, counted.

The cosines of short questions are all high, so none of them decides alone: how far a cosine stands out from those of
unrelated questions and what `grouping_traits` tells of two questions go through a logistic with a handful of weights,
which `benchmarks/fit_grouping.py` makes.
"""

import asyncio
import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from itertools import combinations
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from bot.unanswered import clustering_traits
from bot.unanswered.clustering_traits import Traits, traits_of
from retrieval.sparse import SparseEncoder
from retrieval.text import language_of, normalise
from retrieval.types import EmbeddingError, Vectors

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Kind = Literal["ja", "en", "across"]
"""Of a pair: both questions in one language, or one in each."""

SIGNALS = ("meaning", *clustering_traits.SIGNALS)
NEIGHBOURS = 30  # of each question that are compared with it in full
LARGE = 250  # questions that average linkage takes on at once
READ = 500  # characters of a question that are compared; more is pasted text
_ROWS = 512  # of the matrix of cosines at once
_LETTERS = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Fitted:
    """The shipped weights: probability = σ(bias + Σ weight · signal); two groups join from `threshold` on.

    `reference` are unrelated questions, each in Japanese and in English: what an embedder makes of them shows where it
    keeps either language and which cosines mean nothing.
    """

    bias: float
    signals: Mapping[str, float]
    threshold: float
    reference: tuple[tuple[str, str], ...]

    def probabilities(self, signals: Floats) -> Floats:
        """(n, signals) → (n,)."""
        weights = np.array([self.signals[name] for name in SIGNALS])
        return np.asarray(1 / (1 + np.exp(-np.clip(self.bias + signals @ weights, -30, 30))))


@lru_cache(maxsize=1)
def shipped() -> Fitted:
    """The weights that come with the package."""
    found = json.loads(resources.files("bot.unanswered").joinpath("clustering.json").read_text("utf-8"))
    return Fitted(**(found | {"reference": tuple((ja, en) for ja, en in found["reference"])}))


@dataclass(frozen=True, slots=True)
class QuestionSpace:
    """Of an embedder's vectors: the means of its Japanese and its English questions, and mean and standard deviation of
    the cosines of unrelated questions, taken from those means, by kind of pair."""

    means: Mapping[Literal["ja", "en"], Floats]
    cosines: Mapping[Kind, tuple[float, float]]

    def centred(self, texts: Sequence[str], vectors: Floats) -> Floats:
        """Unit vectors from the mean of each one's language: multilingual models keep a language's texts together, and
        all questions too, which hides what a question is about."""
        return _unit(vectors - np.array([self.means[language_of(text)] for text in texts]).reshape(vectors.shape))


class DocumentEmbedder(Protocol):
    """The part of an `EmbeddingClient` that grouping uses."""

    @property
    def dimensions(self) -> int: ...
    async def embed_documents(self, texts: Sequence[str]) -> Vectors: ...


class Clustering:
    """Sorts questions into groups of one meaning. For one event loop; the arithmetic runs in a thread."""

    def __init__(self, embedder: DocumentEmbedder, fitted: Fitted | None = None) -> None:
        self._embedder = embedder
        self._fitted = fitted or shipped()
        self._encoder = SparseEncoder()
        self._space: QuestionSpace | None = None

    async def __call__(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The places of `texts`, each in one group; the largest group first, then the one that begins first.

        Whatever order the questions come in, the same ones end up together. Without an embedder that works, only
        questions of the same letters do.
        """
        same: dict[str, list[int]] = {}
        for at, text in enumerate(texts):
            same.setdefault(squeezed(text), []).append(at)
        keys = sorted(same)
        distinct = [min(texts[at] for at in same[key])[:READ] for key in keys]
        try:
            comparison = await self.compared(distinct)
        except EmbeddingError as error:
            log.warning("only equal questions are grouped: %s", error)
            groups: list[list[int]] = [[number] for number in range(len(keys))]
        else:
            groups = await asyncio.to_thread(comparison.groups)
        places = [tuple(sorted(at for number in group for at in same[keys[number]])) for group in groups]
        return sorted(places, key=lambda group: (-len(group), group))

    async def compared(self, texts: Sequence[str]) -> "Comparison":
        """These questions, to be compared two by two. Raises EmbeddingError."""
        space = await self.space()
        vectors = space.centred(texts, await self._vectors(texts))
        return await asyncio.to_thread(self._comparison, texts, vectors, space)

    async def space(self) -> QuestionSpace:
        """The embedder's vectors of the reference, asked once. Raises EmbeddingError."""
        if self._space is None:
            japanese, english = zip(*self._fitted.reference, strict=True)
            self._space = spanned(await self._vectors(japanese), await self._vectors(english))
        return self._space

    async def _vectors(self, texts: Sequence[str]) -> Floats:
        found = await self._embedder.embed_documents(list(texts))
        return np.array(found, dtype=float).reshape(len(found), self._embedder.dimensions)

    def _comparison(self, texts: Sequence[str], vectors: Floats, space: QuestionSpace) -> "Comparison":
        traits = [traits_of(text, self._encoder) for text in texts]
        return Comparison(traits, vectors, space.cosines, self._fitted)


class Comparison:
    """The questions of one time, to be compared two by two."""

    def __init__(
        self, traits: Sequence[Traits], vectors: Floats, cosines: Mapping[Kind, tuple[float, float]], fitted: Fitted
    ) -> None:
        self._traits = traits
        self._vectors = vectors
        self._cosines = cosines
        self._fitted = fitted
        self._japanese = np.array([one.kind == "ja" for one in traits], dtype=bool)

    def groups(self) -> list[list[int]]:
        """The places of the questions, in groups of one meaning."""
        threshold = self._fitted.threshold
        known = dict(self.likely())
        return [
            group
            for component in components(range(len(self._traits)), known, threshold)
            for group in self._split(component, threshold)
        ]

    def likely(self) -> list[tuple[tuple[int, int], float]]:
        """Each question's nearest ones, as pairs with their probability."""
        pairs: set[tuple[int, int]] = set()
        count = len(self._traits)
        for start in range(0, count, _ROWS):
            rows = np.arange(start, min(start + _ROWS, count))
            meaning = self._meaning(rows[:, None], np.arange(count)[None, :], self._vectors[rows] @ self._vectors.T)
            meaning[np.arange(len(rows)), rows] = -np.inf
            nearest = np.argsort(-meaning, axis=1, kind="stable")[:, : min(NEIGHBOURS, count - 1)]
            pairs |= {
                (min(i, j), max(i, j)) for i, near in zip(rows.tolist(), nearest.tolist(), strict=True) for j in near
            }
        ordered = sorted(pairs)
        return list(zip(ordered, self.probabilities(ordered), strict=True))

    def probabilities(self, pairs: Sequence[tuple[int, int]]) -> list[float]:
        """How likely each pair asks for the same thing, 0..1."""
        return self._fitted.probabilities(self.signals(pairs)).tolist() if pairs else []

    def signals(self, pairs: Sequence[tuple[int, int]]) -> Floats:
        """(n, signals): what the weights are fitted on."""
        left, right = np.array(pairs).T
        cosines = np.einsum("ij,ij->i", self._vectors[left], self._vectors[right])
        table = [clustering_traits.signals(self._traits[i], self._traits[j]) for i, j in pairs]
        return np.column_stack([self._meaning(left, right, cosines), np.array(table, dtype=float)])

    def _split(self, component: list[int], threshold: float) -> list[list[int]]:
        """A component's groups. One too large for average linkage, which is cubic, is taken in parts: what a crowd asks
        may then be several groups, each still a large one."""
        if len(component) > LARGE:
            parts = (component[start : start + LARGE] for start in range(0, len(component), LARGE))
            return [group for part in parts for group in self._split(part, threshold)]
        if len(component) < 3:
            return [component]
        pairs = list(combinations(range(len(component)), 2))
        table = np.zeros((len(component), len(component)))
        left, right = np.array(pairs).T
        table[left, right] = table[right, left] = self.probabilities([(component[i], component[j]) for i, j in pairs])
        return [[component[at] for at in group] for group in linked(table, threshold)]

    def _meaning(self, left: NDArray[np.int_], right: NDArray[np.int_], cosines: Floats) -> Floats:
        """How many standard deviations the cosines are above those of unrelated questions of that kind."""
        ja, also = self._japanese[left], self._japanese[right]
        which = np.where(ja != also, 2, np.where(ja, 0, 1))
        means, spreads = np.array([self._cosines[kind] for kind in ("ja", "en", "across")]).T
        return np.asarray((cosines - means[which]) / spreads[which])


def squeezed(text: str) -> str:
    """The letters and digits alone: equal for questions that differ in width, case, spacing and punctuation."""
    return _LETTERS.sub("", normalise(text)) or text


def spanned(japanese: Floats, english: Floats) -> QuestionSpace:
    """The space of an embedder's vectors of the reference: as many Japanese as English ones, of the same meanings."""
    ja, en = japanese.mean(axis=0), english.mean(axis=0)
    ours, theirs = _unit(japanese - ja), _unit(english - en)
    unrelated = ~np.eye(len(ours), dtype=bool)
    found = {"ja": ours @ ours.T, "en": theirs @ theirs.T, "across": ours @ theirs.T}
    kinds: tuple[Kind, ...] = ("ja", "en", "across")
    return QuestionSpace(
        {"ja": ja, "en": en},
        {kind: (float(found[kind][unrelated].mean()), float(found[kind][unrelated].std()) or 1.0) for kind in kinds},
    )


def components(members: Iterable[int], known: Mapping[tuple[int, int], float], threshold: float) -> list[list[int]]:
    """The members that pairs of at least `threshold` hold together, in ascending order."""
    above = {member: member for member in members}

    def root(member: int) -> int:
        while above[member] != member:
            above[member] = above[above[member]]
            member = above[member]
        return member

    for (i, j), probability in known.items():
        if probability >= threshold and i in above and j in above:
            low, high = sorted((root(i), root(j)))
            above[high] = low
    found: dict[int, list[int]] = {}
    for member in sorted(above):
        found.setdefault(root(member), []).append(member)
    return list(found.values())


def linked(probability: Floats, threshold: float) -> list[list[int]]:
    """Average linkage of (n, n) probabilities: the two nearest groups join while their mean is at least `threshold`."""
    groups: dict[int, list[int]] = {at: [at] for at in range(len(probability))}
    sums = probability.copy()
    sizes = np.ones(len(sums))
    np.fill_diagonal(sums, -np.inf)
    while len(groups) > 1:
        means = sums / np.outer(sizes, sizes)
        first, second = sorted(divmod(int(means.argmax()), len(sums)))
        if means[first, second] < threshold:
            break
        groups[first] += groups.pop(second)
        sums[first] += sums[second]
        sums[:, first] += sums[:, second]
        sizes[first] += sizes[second]
        sums[second], sums[:, second], sums[first, first] = -np.inf, -np.inf, -np.inf
    return [sorted(group) for group in groups.values()]


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / (np.linalg.norm(vectors, axis=1, keepdims=True) + 1e-12))
