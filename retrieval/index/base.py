"""The promise of every store of passages, whatever engine is under it."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol, get_args

from retrieval.i18n import Language, Text
from retrieval.types import Branch, Candidates, Indexed, Passage, Point, Probe, Scored, SparseVector, Vector, View

USING: Mapping[Branch, str] = {"dense": "default", "words": "text-sparse", "ngrams": "text-ngram"}

KEYWORDS = ("collection", "document_id", "scope", "language")
NUMBERS = ("born", "died", "chunk")

LANGUAGES: tuple[Language, ...] = get_args(Language)

BROKEN = Text(en="The search index does not answer.", ja="検索インデックスが応答しません。")
CLOSED = Text(en="The search index is closed.", ja="検索インデックスは閉じられています。")


class Index(Protocol):
    """Passages with their vectors, seen through a `View`: the readers' scopes, a generation, optionally collections.

    A point is seen by generations `born` ≤ G < `died`. The view's filter is part of whatever is asked, so there is no
    way to ask without it. Raises `QdrantConnectionError`, nothing else of an engine's.
    """

    place: str
    """Where it is, for people."""
    home: str | None
    """The identity of the home that its passages belong to; None: it was made before homes had one."""

    async def claim(self, home: str) -> None:
        """Write down, durably, whose it is."""

    async def after(self, generation: int) -> int:
        """How many points were published or died after `generation`; staged ones are not counted."""

    async def strangers(self, generation: int, document_ids: Collection[str]) -> int:
        """How many points live at `generation`, whoever may read them, that are of none of these documents."""

    async def drop_strangers(self, generation: int, document_ids: Collection[str]) -> None:
        """Delete the points that `strangers` counts."""

    async def put(self, points: Sequence[Point]) -> None:
        """Write points, durably. Nobody sees them before generation `born`; before `publish` when that is `STAGED`."""

    async def publish(self, document_id: str, *, at: int) -> int:
        """The document's points that this process staged are born at `at`, and those they replace die then; how many
        are born."""

    async def retire(self, document_id: str, *, died: int) -> None:
        """The document's points that were born before `died` and are alive die at `died`."""

    async def undo(self, document_id: str, *, at: int, revive: bool = True) -> None:
        """Take back what was not committed: delete the document's points of this process that are born at `at`, and
        let live those that died then (`revive`)."""

    async def roll_back(self, generation: int) -> None:
        """Delete every point published after `generation`, and let live whatever died after it."""

    async def unstage(self, living: Collection[str] = ()) -> None:
        """Delete every staged point but those of these processes."""

    async def discard(self, document_id: str) -> None:
        """Delete every point of a document, whatever its generations: for a store that nobody searches yet."""

    async def sweep(self, generation: int) -> int:
        """Delete the points that died at or before `generation`; returns how many."""

    async def query(self, view: View, *probes: Probe, limit: int = 50) -> list[Candidates]:
        """All that one search asks, in one batch; for each probe, in their order, the best `limit` points of each
        branch (cosines for dense, of each language so many; BM25 for the sparse) and the idf of the terms to weigh.

        A branch that fails lands in `failed`; the others still answer. Ties are broken by id. A term without a readable
        passage has the highest idf.
        """

    async def sample(self, generation: int, limit: int) -> list[tuple[Language, Vector]]:
        """Language and dense vector of up to `limit` passages that live at `generation`, whoever may read them: the
        same ones whenever it is asked, and as good as drawn by lot (the first by id, which says nothing about a
        passage)."""

    async def fetch(self, ids: Sequence[str], view: View) -> Mapping[str, Indexed]:
        """Id → passage, of those points that the view (still) shows."""

    async def passages(self, document_id: str, numbers: range, view: View) -> list[Passage]:
        """The document's chunks with these numbers, in order, as far as the view shows them."""

    def vectors(self, document_id: str) -> AsyncIterator[tuple[Passage, Vector]]:
        """The document's living passages, whoever may read them, with their dense vectors, in the store's own order."""

    async def scroll(
        self, view: View, *, offset: str | None = None, limit: int = 50
    ) -> tuple[list[Passage], str | None]:
        """Browse in the store's own order: up to `limit` passages from the point `offset` on, and the next offset."""

    async def move(self, collection: str, into: str) -> None:
        """Every point of `collection`, but for staged ones, belongs to `into` from now on; one update."""

    async def copy(self, document_id: str, **about: str | None) -> int:
        """Stage the document's living points again, as they are but for these fields of `Passage`: `publish` then lets
        them take the place of the old ones. How many there are."""

    async def count(self, view: View) -> int:
        """How many points the view shows."""

    async def trouble(self) -> Text | None:
        """Why the store does not work now; None: it does. Never raises."""

    async def close(self) -> None:
        """Wait for what is under way, save, let go of the store."""


def blind(view: View) -> bool:
    """Whether the view shows nothing, whatever there is: then no engine needs to be asked."""
    return not view.readers.scopes or view.collections == ()


Part = tuple[int, Branch, Language | None]
"""One list that a batch asks an engine for: of the probe with this number, by meaning in one language."""


def parts(probes: Sequence[Probe]) -> dict[Part | int, Vector | SparseVector]:
    """All that the probes ask for: their lists, and by its number each term to weigh, once however many weigh it."""
    asked: dict[Part | int, Vector | SparseVector] = {}
    for number, probe in enumerate(probes):
        if probe.dense is not None:
            asked |= {(number, "dense", language): probe.dense for language in LANGUAGES}
        if probe.words and probe.words.indices:
            asked[number, "words", None] = probe.words
        if probe.ngrams and probe.ngrams.indices:
            asked[number, "ngrams", None] = probe.ngrams
    return asked | {term: SparseVector((term,), (1.0,)) for probe in probes for term in probe.weigh}


def gathered(
    probes: Sequence[Probe],
    lists: Mapping[Part, Sequence[Scored]],
    failed: Mapping[Part, Exception] = MappingProxyType({}),
    weights: Mapping[int, float] = MappingProxyType({}),
) -> list[Candidates]:
    """Each probe's lists and failures, the languages' lists as one; a branch has failed where none of them answered."""
    found: list[Candidates] = []
    for number, probe in enumerate(probes):
        branches: dict[Branch, list[Scored]] = {}
        for (of, branch, _), ranked in lists.items():
            if of == number:
                branches.setdefault(branch, []).extend(ranked)
        found.append(
            Candidates(
                {branch: sorted(ranked, key=lambda hit: (-hit.score, hit.id)) for branch, ranked in branches.items()},
                {branch: error for (of, branch, _), error in failed.items() if of == number and branch not in branches},
                {term: weights[term] for term in probe.weigh if term in weights},
            )
        )
    return found
