"""A question → the passages worth reading: branches asked in one batch, fused, judged one by one, repetitions dropped."""

import asyncio
import logging
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from retrieval.embeddings.base import EmbeddingClient
from retrieval.index import Index
from retrieval.relevance import MIN_RELEVANCE, Evidence, Fit, Judge, Subject, preference, space
from retrieval.sparse import SparseEncoder
from retrieval.text import Language, Said, language_of, normalise
from retrieval.types import (
    Branch,
    Candidates,
    EmbeddingError,
    Found,
    Fusion,
    Hit,
    Indexed,
    Mode,
    Passage,
    QdrantConnectionError,
    RAGToolError,
    Scored,
    SearchMetrics,
    SparseVector,
    Vector,
    View,
)

log = logging.getLogger(__name__)

CANDIDATES = 50  # of each branch
JUDGED = 8  # passages that are read for relevance, at least; more when more are asked for
WEIGHED = 64  # words of a question whose rarity is looked up; only pasted text has more
ACROSS = 4  # passages in the other language that are judged, at least
WINDOW = 2  # chunks before and after a hit that its context holds: five in all
RRF_K = 2

_OTHER: Mapping[Language, Language] = {"ja": "en", "en": "ja"}

_SHINGLE = 16  # characters
_REPEATS = 0.8  # share of a passage's text that stands in another one: then it is a repetition

_NO_ANSWER = Said(en="The search index does not answer.", ja="検索インデックスが応答しません。")


@dataclass(frozen=True, slots=True)
class Fused:
    """A candidate with its score in each branch that found it, and the fused one."""

    id: str
    score: float
    scores: Mapping[Branch, float]


def fuse(branches: Mapping[Branch, Sequence[Scored]], method: Fusion) -> list[Fused]:
    """One list out of the branches' lists, best first, ties by id: exactly what the engine's own fusion gives.

    `dbsf`: each list's scores are stretched so that mean ± 3 standard deviations become 0..1, then added.
    `rrf`: 1 / (2 + place) is added, the first place being 0.
    """
    totals: dict[str, float] = {}
    scores: dict[str, dict[Branch, float]] = {}
    for branch, ranked in branches.items():
        points = _dbsf(ranked) if method == "dbsf" else [1 / (RRF_K + place) for place in range(len(ranked))]
        for scored, score in zip(ranked, points, strict=True):
            totals[scored.id] = totals.get(scored.id, 0.0) + score
            scores.setdefault(scored.id, {})[branch] = scored.score
    order = sorted(totals, key=lambda id: (-totals[id], id))
    return [Fused(id, totals[id], scores[id]) for id in order]


def _dbsf(ranked: Sequence[Scored]) -> list[float]:
    scores = [scored.score for scored in ranked]
    if not scores:
        return []
    mean = sum(scores) / len(scores)
    deviation = math.sqrt(sum((score - mean) ** 2 for score in scores) / (len(scores) - 1)) if len(scores) > 1 else 0.0
    if deviation == 0.0:
        return [0.5] * len(scores)
    return [(score - (mean - 3 * deviation)) / (6 * deviation) for score in scores]


class Search:
    """Searches what a view shows.

    `limit` and `min_relevance` are what a call may override; a hit under `min_relevance` is rejected.
    """

    def __init__(
        self,
        index: Index,
        embedder: EmbeddingClient,
        sparse: SparseEncoder,
        *,
        fusion: Fusion = "dbsf",
        limit: int = 5,
        min_relevance: float = MIN_RELEVANCE,
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._sparse = sparse
        self._fusion: Fusion = fusion
        self._limit = limit
        self._min_relevance = min_relevance
        self._subject = Subject(sparse)
        self._space = space(embedder.name)

    async def __call__(
        self,
        query: str,
        view: View,
        *,
        mode: Mode = "hybrid",
        limit: int | None = None,
        min_relevance: float | None = None,
    ) -> Found:
        """The hits that are relevant enough, at most `limit`, best first.

        In hybrid mode the order is that of relevance, the asker's language first among about equals; dense and sparse
        keep their branches' order. A branch that
        fails leaves the others and is named in `Found.failed`. Raises RAGToolError when none of them answered.
        """
        started = time.perf_counter()
        limit = self._limit if limit is None else limit
        threshold = self._min_relevance if min_relevance is None else min_relevance
        asked = await self._ask(query, view, mode)
        judged = await self._judged(asked, mode, limit)
        good = [hit for hit in judged if hit.relevance >= threshold][:limit]
        poor = [hit for hit in judged if hit.relevance < threshold][:limit]
        scores = tuple(hit.relevance for hit in good)
        return Found(
            hits=tuple(good),
            rejected=tuple(poor),
            failed=tuple(asked.found.failed),
            metrics=SearchMetrics(
                query=query,
                collection_name=",".join(view.collections or ()),
                latency_ms=(time.perf_counter() - started) * 1000,
                total_results=len({scored.id for ranked in asked.found.branches.values() for scored in ranked}),
                filtered_results=len(good),
                top_score=max((hit.relevance for hit in judged), default=0.0),
                scores=scores,
                error=", ".join(f"{branch}: {type(e).__name__}" for branch, e in asked.found.failed.items()) or None,
                timestamp=datetime.now(UTC),
            ),
        )

    async def ranking(self, query: str, view: View, *, mode: Mode = "hybrid", limit: int = CANDIDATES) -> list[Passage]:
        """The order alone, deeper than anybody reads: the judged passages, then the rest as fused. For evaluation."""
        asked = await self._ask(query, view, mode)
        first = await self._judged(asked, mode, 0) if mode == "hybrid" else []
        judged = {one.id for one in self._candidates(asked, mode, 0)} if mode == "hybrid" else set()
        rest = [one.id for one in asked.fused if one.id not in judged][:limit]
        texts = await self._index.fetch(rest, view)
        return ([hit.passage for hit in first] + [texts[id].passage for id in rest if id in texts])[:limit]

    async def context(self, hit: Hit, view: View, *, around: int = WINDOW) -> list[Passage]:
        """The hit's chunk with up to `around` (at most 2) chunks before and after it, in order, as the view shows them."""
        around = max(0, min(around, WINDOW))
        number = hit.passage.chunk
        return await self._index.passages(
            hit.passage.document_id, range(max(0, number - around), number + around + 1), view
        )

    # -- asking -----------------------------------------------------------------------------------------------------

    async def _ask(self, query: str, view: View, mode: Mode) -> "_Asked":
        if not query.strip():
            return _Asked(query, view, Candidates({}), [])
        words, ngrams, subject = await asyncio.to_thread(self._read, query)
        vector = await self._embed(query) if mode != "sparse" else None
        dense = None if isinstance(vector, EmbeddingError) else vector
        language = language_of(query)
        moved = self._space.across(dense, language) if mode == "hybrid" and dense is not None else None
        found = await self._index.query(
            view,
            dense=dense,
            words=words if mode != "dense" else None,
            ngrams=ngrams if mode != "dense" else None,
            across=(moved, _OTHER[language]) if moved is not None else None,
            weigh=subject,
            limit=CANDIDATES,
        )
        if isinstance(vector, EmbeddingError):
            found = replace(found, failed={"dense": vector, **found.failed})
        _check(found)
        return _Asked(query, view, found, fuse(found.branches, self._fusion))

    def _read(self, query: str) -> tuple[SparseVector, SparseVector, list[int]]:
        words, ngrams = self._sparse.query(query)
        return words, ngrams, self._subject(words.indices)[:WEIGHED]

    async def _embed(self, query: str) -> Vector | EmbeddingError:
        try:
            return await self._embedder.embed_query(query)
        except EmbeddingError as error:
            log.warning("the search goes on without meaning: %s", error)
            return error

    # -- judging ----------------------------------------------------------------------------------------------------

    async def evidence(self, query: str, view: View, limit: int) -> list[tuple[Indexed, Mapping[Fit, Evidence]]]:
        """What the relevance of a hybrid search's candidates rests on: what `benchmarks.fit_relevance` learns from."""
        asked = await self._ask(query, view, "hybrid")
        judge = self._judge(asked)
        candidates = await self._texts(asked, self._candidates(asked, "hybrid", limit))
        return [(text, judge.evidence(one.id, text.reading)) for one, text in candidates]

    async def _judged(self, asked: "_Asked", mode: Mode, limit: int) -> list[Hit]:
        judge = self._judge(asked)
        language = language_of(asked.query)
        judged = [
            (
                Hit(
                    text.passage,
                    {str(branch): score for branch, score in one.scores.items()} | {"fused": one.score},
                    judge.relevance(one.id, text.reading),
                ),
                text.reading,
            )
            for one, text in await self._texts(asked, self._candidates(asked, mode, limit))
        ]
        if mode == "hybrid":
            # Stable: equal ones stay as fused, where ids break ties.
            judged.sort(key=lambda one: -preference(one[0].relevance, foreign=one[1].language != language))
        return distinct(hit for hit, _ in judged)

    async def _texts(self, asked: "_Asked", candidates: Sequence[Fused]) -> list[tuple[Fused, Indexed]]:
        """What has been hidden since the branches were asked is left out."""
        texts = await self._index.fetch([one.id for one in candidates], asked.view)
        return [(one, texts[one.id]) for one in candidates if one.id in texts]

    def _candidates(self, asked: "_Asked", mode: Mode, limit: int) -> list[Fused]:
        """Who is judged: the best of the fused list, then in hybrid mode the nearest in the other language (score 0)."""
        chosen = asked.fused[: max(limit, JUDGED)]
        known = {one.id for one in chosen}
        others = [Fused(one.id, 0.0, {"dense": one.score}) for one in asked.found.across if one.id not in known]
        return chosen + others[: max(limit, ACROSS)]

    def _judge(self, asked: "_Asked") -> Judge:
        """Relevance was fitted on places in the DBSF order, so it looks at those whatever the order is by."""
        fused = asked.fused if self._fusion == "dbsf" else fuse(asked.found.branches, "dbsf")
        return Judge(
            self._space,
            language_of(asked.query),
            asked.found.weights,
            dense=asked.found.branches.get("dense"),
            across=asked.found.across,
            fused={one.id: one.score for one in fused},
        )


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one search asked and got back."""

    query: str
    view: View
    found: Candidates
    fused: list[Fused]


def _check(found: Candidates) -> None:
    """Raise the failure when no branch answered."""
    if found.branches or not found.failed:
        return
    failure = next(iter(found.failed.values()))
    if isinstance(failure, RAGToolError):
        raise failure
    raise QdrantConnectionError(_NO_ANSWER) from failure


# -- repetitions ----------------------------------------------------------------------------------------------------


def distinct(hits: Iterable[Hit]) -> list[Hit]:
    """The hits without those whose text an earlier one repeats: the same text in another width or spacing, a part of
    it, or another window over it. Where the later one holds the earlier one whole, it takes its place."""
    kept: list[Hit] = []
    texts: list[str] = []
    for hit in hits:
        text = _squeezed(hit.passage)
        at = next((i for i, other in enumerate(texts) if _repeats(text, other) or _repeats(other, text)), None)
        if at is None:
            kept.append(hit)
            texts.append(text)
        elif len(text) > len(texts[at]) and texts[at] in text:
            kept[at] = replace(hit, relevance=max(hit.relevance, kept[at].relevance))
            texts[at] = text
    return kept


def _squeezed(passage: Passage) -> str:
    return "".join(normalise(f"{passage.question or ''}{passage.text}").split())


def _repeats(text: str, other: str) -> bool:
    """Whether four fifths of `text` stand in `other`."""
    if text in other:
        return True
    starts = range(0, len(text) - _SHINGLE + 1, _SHINGLE // 2)
    allowed = len(starts) * (1 - _REPEATS)
    strange = 0
    for at in starts:
        strange += text[at : at + _SHINGLE] not in other
        if strange > allowed:
            return False
    return bool(starts)
