"""Queries → the passages worth reading: all branches asked in one batch, fused, the queries merged, repetitions
dropped, and of each passage how likely it answers. Relevance is for the reader and for thresholds; it never orders."""

import asyncio
import logging
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal

from retrieval.centring import Centring
from retrieval.embeddings.base import EmbeddingClient
from retrieval.i18n import Text
from retrieval.index import Index
from retrieval.relevance import Fit, Judge, QuestionSubject, RelevanceEvidence, space
from retrieval.reranking import Reranker, RerankingError
from retrieval.sparse import SparseEncoder
from retrieval.text import language_of, normalise
from retrieval.types import (
    MIN_RELEVANCE,
    Branch,
    Candidates,
    EmbeddingError,
    Found,
    Fusion,
    Hit,
    Indexed,
    Mode,
    Passage,
    Probe,
    QdrantConnectionError,
    RAGToolError,
    Scored,
    SearchMetrics,
    Vector,
    View,
)

log = logging.getLogger(__name__)

CANDIDATES = 50  # of each branch
QUERIES = 4  # asked at once, at most
SHOWN = 8
SPARE = 4  # candidates beyond those that are shown, for those that repeat another
REREAD = 20  # candidates that a reranker reads
WEIGHED = 64  # words of a query whose rarity is looked up; only pasted text has more
WINDOW = 2  # chunks before and after a hit that its context holds: five in all
RRF_K = 2
MERGED_K = 3  # of the lists of several queries

ASKED = 0.3
"""What the sparse branches count at least beside meaning where the asker wrote the query: colleagues ask in words of
their own (155 of 350 questions share none with the sentence that answers them). A model writes what a document would
say: 1."""

WrittenBy = Literal["asker", "model"]

_SHINGLE = 16  # characters
_SAMPLES = 32  # shingles
_REPEATS = 0.8  # share of a passage's text that stands in another one: then it is a repetition

_NO_ANSWER = Text(en="The search index does not answer.", ja="検索インデックスが応答しません。")


@dataclass(frozen=True, slots=True)
class Fused:
    """A candidate with its score in each branch that found it, and the fused one."""

    id: str
    score: float
    scores: Mapping[Branch, float]


def fuse(
    branches: Mapping[Branch, Sequence[Scored]], method: Fusion, weights: Mapping[Branch, float] | None = None
) -> list[Fused]:
    """One list out of the branches' lists, best first, ties by id; without `weights` as the engine's own fusion does
    it.

    `dbsf`: each list's scores are stretched so that mean ± 3 standard deviations become 0..1, then added.
    `rrf`: 1 / (2 + place) is added, the first place being 0.
    """
    totals = _totals(branches, method, weights)
    scores: dict[str, dict[Branch, float]] = {id: {} for id in totals}
    for branch, ranked in branches.items():
        for scored in ranked:
            scores[scored.id][branch] = scored.score
    order = sorted(totals, key=lambda id: (-totals[id], id))
    return [Fused(id, totals[id], scores[id]) for id in order]


def _totals(
    branches: Mapping[Branch, Sequence[Scored]], method: Fusion, weights: Mapping[Branch, float] | None
) -> dict[str, float]:
    totals: dict[str, float] = {}
    for branch, ranked in branches.items():
        points = _dbsf(ranked) if method == "dbsf" else [1 / (RRF_K + place) for place in range(len(ranked))]
        weight = (weights or {}).get(branch, 1.0)
        for scored, score in zip(ranked, points, strict=True):
            totals[scored.id] = totals.get(scored.id, 0.0) + weight * score
    return totals


def merge(lists: Sequence[Sequence[Fused]]) -> list[Fused]:
    """The lists of several queries as one, by reciprocal ranks; a candidate's scores are those of its best place.

    Source: Cormack, Clarke and Büttcher, *Reciprocal Rank Fusion Outperforms Condorcet* (2009), with k = 3 instead of
    60: what one query alone puts first should be seen (the right page first for 315 of 370 questions; with k = 10 for
    310, with 60 for 285)."""
    if len(lists) == 1:
        return [*lists[0]]
    totals: dict[str, float] = {}
    best: dict[str, tuple[int, Fused]] = {}
    for ranked in lists:
        for place, one in enumerate(ranked):
            totals[one.id] = totals.get(one.id, 0.0) + 1 / (MERGED_K + place)
            if one.id not in best or place < best[one.id][0]:
                best[one.id] = place, one
    return [
        replace(best[id][1], score=totals[id]) for id in sorted(totals, key=lambda id: (-totals[id], best[id][0], id))
    ]


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

    `limit` and `min_relevance` are what a call may override; a hit under `min_relevance` is rejected. A `reranker` puts
    the best of a hybrid search in its own order, and leaves them as they are when it fails.
    """

    def __init__(
        self,
        index: Index,
        embedder: EmbeddingClient,
        sparse: SparseEncoder,
        *,
        fusion: Fusion = "dbsf",
        limit: int = SHOWN,
        min_relevance: float = MIN_RELEVANCE,
        reranker: Reranker | None = None,
    ) -> None:
        self._index = index
        self._embedder = embedder
        self._sparse = sparse
        self._fusion: Fusion = fusion
        self._limit = limit
        self._min_relevance = min_relevance
        self._reranker = reranker
        self._subject = QuestionSubject(sparse)
        self._space = space(embedder.name)
        self._means = Centring(index, embedder.dimensions, self._space.means)

    async def __call__(
        self,
        queries: Sequence[str],
        view: View,
        *,
        written_by: WrittenBy = "asker",
        mode: Mode = "hybrid",
        limit: int | None = None,
        min_relevance: float | None = None,
    ) -> Found:
        """The hits that are relevant enough, at most `limit`, in the order that the branches (and a reranker, which
        reads with the first query) give them. `queries`: one to four wordings of one question; of a model's the first
        of each language are asked by meaning too.

        A branch that fails leaves the others and is named in `Found.failed`. Raises RAGToolError when none answered.
        """
        started = time.perf_counter()
        limit = self._limit if limit is None else limit
        threshold = self._min_relevance if min_relevance is None else min_relevance
        asked = await self._ask(queries, view, mode, written_by)
        rereads = self._reranker is not None and mode == "hybrid"
        judged = await self._judged(asked, max(limit + SPARE, REREAD if rereads else 0))
        if rereads:
            judged = await self._reread(asked.queries[0], judged)
        judged = distinct(judged)
        good = [hit for hit in judged if hit.relevance >= threshold][:limit]
        good.sort(key=lambda hit: bool(hit.passage.said_in))  # documents first, whatever was said in channels
        poor = [hit for hit in judged if hit.relevance < threshold][:limit]
        return Found(
            hits=tuple(good),
            rejected=tuple(poor),
            failed=tuple(asked.failed),
            metrics=SearchMetrics(
                query=" / ".join(asked.queries),
                collection_name=",".join(view.collections or ()),
                latency_ms=(time.perf_counter() - started) * 1000,
                total_results=len(asked.fused),
                filtered_results=len(good),
                top_score=max((hit.relevance for hit in judged), default=0.0),
                scores=tuple(hit.relevance for hit in good),
                error=", ".join(f"{branch}: {type(e).__name__}" for branch, e in asked.failed.items()) or None,
                timestamp=datetime.now(UTC),
            ),
        )

    async def ranking(self, query: str, view: View, *, mode: Mode, limit: int) -> list[Passage]:
        """The order alone, deeper than anybody reads, repetitions included."""
        asked = await self._ask([query], view, mode, "asker")
        return [text.passage for _, text in await self._texts(asked, limit)]

    async def context(self, hit: Hit, view: View, *, around: int = WINDOW) -> list[Passage]:
        """The hit's chunk with up to `around` (at most 2) chunks before and after it, in order, as the view shows
        them."""
        around = max(0, min(around, WINDOW))
        number = hit.passage.chunk
        return await self._index.passages(
            hit.passage.document_id, range(max(0, number - around), number + around + 1), view
        )

    async def evidence(
        self, query: str, view: View, limit: int
    ) -> list[tuple[Indexed, Mapping[Fit, RelevanceEvidence]]]:
        """The evidence for the relevance of a hybrid search's candidates: what `benchmarks.fit_relevance` learns
        from."""
        asked = await self._ask([query], view, "hybrid", "asker")
        return [(text, asked.judges[0].evidence(one.id, text.reading)) for one, text in await self._texts(asked, limit)]

    # -- asking -----------------------------------------------------------------------------------------------------

    async def _ask(self, queries: Sequence[str], view: View, mode: Mode, written_by: WrittenBy) -> "_Asked":
        assert not isinstance(queries, str), "several queries, not the letters of one"
        wanted = [query for query in dict.fromkeys(queries) if query.strip()][:QUERIES]
        if not wanted:
            return _Asked(["".join(queries[:1])], view, [], [], {})
        leading = wanted if written_by == "asker" else _first_of_each_language(wanted)
        read = await asyncio.to_thread(lambda: [self._probe(query, mode) for query in wanted])
        vectors = await self._embed(leading) if mode != "sparse" else None
        means = await self._means(view.generation)
        if isinstance(vectors, list):
            for query, vector in zip(leading, vectors, strict=True):
                at = wanted.index(query)
                read[at] = replace(read[at], dense=means.question(vector, language_of(query)))
        found = await self._index.query(view, *read, limit=CANDIDATES)
        for at, (probe, one) in enumerate(zip(read, found, strict=True)):
            if probe.dense is not None and "dense" in one.branches:
                dense = means.scored(probe.dense, one.branches["dense"], CANDIDATES)
                found[at] = replace(one, branches={**one.branches, "dense": dense})
        failed: dict[Branch, Exception] = {"dense": vectors} if isinstance(vectors, EmbeddingError) else {}
        failed |= {branch: error for one in found for branch, error in one.failed.items()}
        if failed and not any(one.branches for one in found):
            raise _no_answer(failed)
        weights = [_words_weight(one) if written_by == "asker" and mode == "hybrid" else 1.0 for one in found]
        fused = merge(
            [
                fuse(one.branches, self._fusion, {"words": weight, "ngrams": weight})
                for one, weight in zip(found, weights, strict=True)
            ]
        )
        judges = [self._judge(query, one) for query, one in zip(wanted, found, strict=True)]
        return _Asked(wanted, view, fused, judges, failed)

    def _probe(self, query: str, mode: Mode) -> Probe:
        words, ngrams = self._sparse.query(query)
        subject = self._subject(words.indices)[:WEIGHED]
        return Probe(weigh=subject) if mode == "dense" else Probe(words=words, ngrams=ngrams, weigh=subject)

    async def _embed(self, queries: Sequence[str]) -> list[Vector] | EmbeddingError:
        try:
            return await self._embedder.embed_queries(queries)
        except EmbeddingError as error:
            log.warning("the search goes on without meaning: %s", error)
            return error

    def _judge(self, query: str, found: Candidates) -> Judge:
        """Relevance was fitted on places in the order of an asker's query, so it looks at those whoever wrote this
        one."""
        return Judge(
            self._space,
            language_of(query),
            found.weights,
            dense=found.branches.get("dense"),
            fused=_totals(found.branches, "dbsf", {"words": ASKED, "ngrams": ASKED}),
        )

    # -- reading ----------------------------------------------------------------------------------------------------

    async def _judged(self, asked: "_Asked", limit: int) -> list[Hit]:
        """The best candidates with their relevance: to the query that they answer best."""
        return [
            Hit(
                text.passage,
                {str(branch): score for branch, score in one.scores.items()} | {"fused": one.score},
                max(judge.relevance(one.id, text.reading) for judge in asked.judges),
                max(judge.held(text.reading) for judge in asked.judges),
            )
            for one, text in await self._texts(asked, limit)
        ]

    async def _texts(self, asked: "_Asked", limit: int) -> list[tuple[Fused, Indexed]]:
        """The texts, without those hidden since the branches were asked."""
        candidates = asked.fused[:limit]
        texts = await self._index.fetch([one.id for one in candidates], asked.view)
        return [(one, texts[one.id]) for one in candidates if one.id in texts]

    async def _reread(self, query: str, hits: Sequence[Hit]) -> list[Hit]:
        """The hits as the reranker orders them."""
        assert self._reranker is not None
        texts = [
            "\n".join(filter(None, (one.title, *one.headings, one.question, one.text)))
            for one in (hit.passage for hit in hits)
        ]
        try:
            scores = await self._reranker.scores(query, texts)
        except RerankingError as error:
            log.warning("the passages were not read again: %s", error, exc_info=error.__cause__)
            return [*hits]
        return [hits[at] for at in sorted(range(len(hits)), key=lambda at: -scores[at])]


@dataclass(frozen=True, slots=True)
class _Asked:
    """One search's questions and answers, in the order that it shows."""

    queries: Sequence[str]
    view: View
    fused: Sequence[Fused]
    judges: Sequence[Judge]  # one a query
    failed: Mapping[Branch, Exception]


def _first_of_each_language(queries: Sequence[str]) -> list[str]:
    """Those of a model's wordings that are asked by meaning: they all mean one thing, so a further one brings other
    words only (the fact is among eight passages for 351 of 370 questions either way, the right page first for 315 and
    not for 318), and embedding one costs as much as all else in a search."""
    return list({language_of(query): query for query in reversed(queries)}.values())


def _words_weight(found: Candidates) -> float:
    """`ASKED`, and up to 1 as far as one passage holds more than half of what the query is about, by rarity: an asker
    who uses the documents' words is taken at them (JaQuAD's nDCG@10 is .951 and not .941; of 350 questions in chat 3
    lose)."""
    subject = sum(found.weights.values())
    best = max((scored.score for scored in found.branches.get("words", ())), default=0.0)
    share = min(1.0, best / subject) if subject else 0.0
    return ASKED + (1 - ASKED) * max(0.0, 2 * share - 1)


def _no_answer(failed: Mapping[Branch, Exception]) -> RAGToolError:
    failure = next(iter(failed.values()))
    if isinstance(failure, RAGToolError):
        return failure
    error = QdrantConnectionError(_NO_ANSWER)
    error.__cause__ = failure
    return error


# -- repetitions ----------------------------------------------------------------------------------------------------


def distinct(hits: Iterable[Hit]) -> list[Hit]:
    """The hits without those whose text an earlier one repeats: the same text in another width or spacing, a part of
    it, or another window over it. Where the later one holds the earlier one whole, it takes its place; a document takes
    that of what was said in a channel, never the other way."""
    kept: list[Hit] = []
    texts: list[str] = []
    for hit in hits:
        text = "".join(normalise(f"{hit.passage.question or ''}{hit.passage.text}").split())
        at = next((i for i, other in enumerate(texts) if _repeats(text, other) or _repeats(other, text)), None)
        if at is None:
            kept.append(hit)
            texts.append(text)
        elif _takes_place(hit, kept[at], longer=len(text) > len(texts[at]) and texts[at] in text):
            kept[at] = replace(hit, relevance=max(hit.relevance, kept[at].relevance))
            texts[at] = text
    return kept


def _takes_place(hit: Hit, before: Hit, *, longer: bool) -> bool:
    talk, was_talk = bool(hit.passage.said_in), bool(before.passage.said_in)
    return longer if talk == was_talk else was_talk


def _repeats(text: str, other: str) -> bool:
    """Whether four fifths of `text` stand in `other`, by `_SAMPLES` pieces of it at most."""
    if text in other:
        return True
    starts = range(0, len(text) - _SHINGLE + 1, max(_SHINGLE // 2, len(text) // _SAMPLES))
    allowed = len(starts) * (1 - _REPEATS)
    strange = 0
    for at in starts:
        strange += text[at : at + _SHINGLE] not in other
        if strange > allowed:
            return False
    return bool(starts)
