"""Which questions ask for the same thing, whatever their words and language: what people asked for most, counted.

The cosines of short questions are all high, so none of them decides alone: how far a cosine stands out from those of
unrelated questions and what `grouping_words` tells of two questions — the thing asked about, what is done to it, the kind
of answer wanted, names and numbers that differ — go through a logistic with a handful of weights, which
`benchmarks/fit_grouping.py` makes. Words in common are no signal: cosines know them already.
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
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from agent.numerals import arabic
from bot.grouping_words import FAMILIES, named, opposite
from retrieval.embeddings.base import EmbeddingClient
from retrieval.relevance import space
from retrieval.text import language_of, normalise
from retrieval.types import EmbeddingError

log = logging.getLogger(__name__)

Floats = NDArray[np.float64]
Kind = Literal["ja", "en", "across"]
"""Of a pair: both questions in one language, or one in each."""

SIGNALS = (
    "meaning", "across", "asked_same", "asked_other", "done_same", "done_other", "about_same", "about_other", "apart"
)  # fmt: skip
NEIGHBOURS = 30  # of each question that are compared with it in full
LARGE = 250  # questions that average linkage takes on at once
READ = 500  # characters of a question that are compared; more is pasted text
_ROWS = 512  # of the matrix of cosines at once
_LOOSE = frozenset({"way", "permission"})
_NONE: frozenset[str] = frozenset()

_LETTERS = re.compile(r"[\W_]+")
_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_CODE = re.compile(r"(?<![a-z0-9])[a-z]+[-_]?\d[a-z0-9._-]*")
_FISCAL = re.compile(r"(?<![a-z])fy\s?'?(?:20)?(\d\d)(?!\d)")
_LATIN = re.compile(r"[A-Za-z][A-Za-z0-9+#.-]*[A-Za-z0-9+#]|[A-Z]")
_OPENING = re.compile(r"(?:^|[.!?\n]\s*)[\"'(]*[A-Za-z]+")
_COMMON = frozenset("i i'm i'd i've ok pc id it hr faq url wifi wi-fi".split())  # noqa: SIM905


@dataclass(frozen=True, slots=True)
class Traits:
    """What there is to see of one question without its meaning. `latin`: all its Latin words, `names`: those that name."""

    kind: Literal["ja", "en"]
    latin: frozenset[str]
    names: frozenset[str]
    numbers: frozenset[str]
    families: Mapping[str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class Fitted:
    """The shipped weights: probability = σ(bias + Σ weight · signal); two groups join from `threshold` on.

    `cosines` holds mean and standard deviation of the cosines of unrelated questions by kind of pair; `unrelated` are
    questions from which those are found for another embedder than `embedder`.
    """

    embedder: str
    bias: float
    signals: Mapping[str, float]
    threshold: float
    cosines: Mapping[Kind, tuple[float, float]]
    unrelated: tuple[str, ...]

    def probabilities(self, signals: Floats) -> Floats:
        """(n, signals) → (n,)."""
        weights = np.array([self.signals[name] for name in SIGNALS])
        return np.asarray(1 / (1 + np.exp(-np.clip(self.bias + signals @ weights, -30, 30))))


@lru_cache(maxsize=1)
def shipped() -> Fitted:
    """The weights that come with the package."""
    found = json.loads(resources.files("bot").joinpath("grouping.json").read_text("utf-8"))
    cosines = {kind: (mean, spread) for kind, (mean, spread) in found["cosines"].items()}
    return Fitted(**(found | {"cosines": cosines, "unrelated": tuple(found["unrelated"])}))


class Grouping:
    """Sorts questions into groups of one meaning. For one event loop; the arithmetic runs in a thread."""

    def __init__(self, embedder: EmbeddingClient, fitted: Fitted | None = None) -> None:
        self._embedder = embedder
        self._fitted = fitted or shipped()
        self._cosines: Mapping[Kind, tuple[float, float]] | None = None
        if embedder.name == self._fitted.embedder:
            self._cosines = self._fitted.cosines

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
            vectors = await self.vectors(distinct)
            cosines = await self._calibrated()
        except EmbeddingError as error:
            log.warning("only equal questions are grouped: %s", error)
            groups: list[list[int]] = [[number] for number in range(len(keys))]
        else:
            groups = await asyncio.to_thread(self._grouped, distinct, vectors, cosines)
        places = [tuple(sorted(at for number in group for at in same[keys[number]])) for group in groups]
        return sorted(places, key=lambda group: (-len(group), group))

    async def vectors(self, texts: Sequence[str]) -> Floats:
        """(n, dimensions) unit vectors; Japanese ones are moved to the English side where the way is known."""
        known = space(self._embedder.name)
        found = []
        for text, vector in zip(texts, await self._embedder.embed_documents(list(texts)), strict=True):
            moved = known.across(vector, "ja") if language_of(text) == "ja" else None
            found.append(vector if moved is None else moved)
        matrix = np.array(found).reshape(len(found), self._embedder.dimensions)
        return np.asarray(matrix / (np.linalg.norm(matrix, axis=1, keepdims=True) + 1e-12))

    # -- in a thread --------------------------------------------------------------------------------------------------

    def _grouped(
        self, texts: Sequence[str], vectors: Floats, cosines: Mapping[Kind, tuple[float, float]]
    ) -> list[list[int]]:
        comparison = Comparison([traits_of(text) for text in texts], vectors, cosines, self._fitted)
        known = dict(comparison.likely())
        return [
            group
            for component in components(range(len(texts)), known, self._fitted.threshold)
            for group in _split(component, comparison)
        ]

    async def _calibrated(self) -> Mapping[Kind, tuple[float, float]]:
        if self._cosines is None:
            unrelated = self._fitted.unrelated
            self._cosines = calibrate(unrelated, await self.vectors(unrelated))
        return self._cosines


class Comparison:
    """The questions of one time, to be compared two by two."""

    def __init__(
        self, traits: Sequence[Traits], vectors: Floats, cosines: Mapping[Kind, tuple[float, float]], fitted: Fitted
    ) -> None:
        self._traits = traits
        self._vectors = vectors
        self._cosines = cosines
        self._fitted = fitted
        self.threshold = fitted.threshold
        self._japanese = np.array([one.kind == "ja" for one in traits], dtype=bool)

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
        table = np.array([self._apart(i, j) for i, j in pairs], dtype=float)
        return np.column_stack([self._meaning(left, right, cosines), table])

    def _meaning(self, left: NDArray[np.int_], right: NDArray[np.int_], cosines: Floats) -> Floats:
        """How many standard deviations the cosines are above those of unrelated questions of that kind."""
        ja, also = self._japanese[left], self._japanese[right]
        which = np.where(ja != also, 2, np.where(ja, 0, 1))
        means, spreads = np.array([self._cosines[kind] for kind in ("ja", "en", "across")]).T
        return np.asarray((cosines - means[which]) / spreads[which])

    def _apart(self, i: int, j: int) -> tuple[float, ...]:
        """The signals after the first."""
        a, b = self._traits[i], self._traits[j]
        asked, done, about = (_agreement(a.families, b.families, family) for family in FAMILIES[:3])
        return (
            float(a.kind != b.kind),
            *asked,
            *done,
            *about,
            _conflicts(a, b),
        )


def traits_of(text: str) -> Traits:
    """What keeps it together with or apart from others, of one question."""
    counted = _FISCAL.sub(r"20\1 ", normalise(arabic(normalise(text), claim=False)))
    codes = frozenset(_CODE.findall(counted))
    opening = {match.end() for match in _OPENING.finditer(text)}
    kind = language_of(text)
    latin = [match for match in _LATIN.finditer(text) if normalise(match.group()) not in _COMMON]
    names = (
        match.group()
        for match in latin
        if match.group() != match.group().lower() and (kind == "ja" or _stands_out(match, opening))
    )
    return Traits(
        kind=kind,
        latin=frozenset(normalise(match.group()) for match in latin),
        names=frozenset(name for name in map(normalise, names) if not _FISCAL.fullmatch(name)) - codes,
        numbers=frozenset(_NUMBER.findall(_CODE.sub(" ", counted))) | codes,
        families=named(text),
    )


def squeezed(text: str) -> str:
    """The letters and digits alone: equal for questions that differ in width, case, spacing and punctuation."""
    return _LETTERS.sub("", normalise(text)) or text


def calibrate(texts: Sequence[str], vectors: Floats) -> dict[Kind, tuple[float, float]]:
    """Mean and standard deviation of the cosines of unrelated questions, by kind of pair."""
    japanese = np.array([language_of(text) == "ja" for text in texts])
    cosines = vectors @ vectors.T
    both = np.triu(np.ones_like(cosines, dtype=bool), 1)
    one, other = japanese[:, None], japanese[None, :]
    chosen: dict[Kind, NDArray[np.bool_]] = {"ja": one & other, "en": ~one & ~other, "across": one ^ other}
    return {
        kind: (float(cosines[both & mask].mean()), float(cosines[both & mask].std()) or 1.0)
        for kind, mask in chosen.items()
    }


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


def _split(component: list[int], comparison: Comparison) -> list[list[int]]:
    """A component's groups. One too large for average linkage, which is cubic, is taken in parts: what a crowd asks may
    then be several groups, each still a large one."""
    if len(component) > LARGE:
        parts = (component[start : start + LARGE] for start in range(0, len(component), LARGE))
        return [group for part in parts for group in _split(part, comparison)]
    if len(component) < 3:
        return [component]
    pairs = list(combinations(range(len(component)), 2))
    table = np.zeros((len(component), len(component)))
    for (i, j), value in zip(
        pairs, comparison.probabilities([(component[i], component[j]) for i, j in pairs]), strict=True
    ):
        table[i, j] = table[j, i] = value
    return [[component[at] for at in group] for group in linked(table, comparison.threshold)]


def _stands_out(match: re.Match[str], opening: set[int]) -> bool:
    """Whether an English word with a capital is a name, and not only the first of its sentence."""
    word = match.group()
    return match.end() not in opening or any(letter.isupper() or letter.isdigit() for letter in word[1:])


def _agreement(a: Mapping[str, frozenset[str]], b: Mapping[str, frozenset[str]], family: str) -> tuple[float, float]:
    """How much two questions name the same and other members of a family, 0..1; nothing when one names none."""
    ours, theirs = a.get(family), b.get(family)
    if not ours or not theirs:
        return 0.0, 0.0
    if family == "asked" and ours | theirs == _LOOSE:  # "where do I" and "can I" are said of one wish
        return 0.0, 0.0
    same = len(ours & theirs) / len(ours | theirs)
    return same, 1 - same


def _conflicts(a: Traits, b: Traits) -> float:
    """How many things say that two questions are not the same, however near their words are."""
    return (
        bool(a.names - b.latin and b.names - a.latin)
        + bool(a.numbers - b.numbers and b.numbers - a.numbers)
        + opposite(a.families.get("done", _NONE), b.families.get("done", _NONE))
        + sum(_agreement(a.families, b.families, family)[1] for family in FAMILIES[3:])
    )
