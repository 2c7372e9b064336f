"""Questions with known answers → a scored report, through the product's own chunking, ingest, search and extraction."""

import asyncio
import math
import time
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from agent.extractive.excerpts import candidate_lines
from bot.operations.beir import BeirDocument, BeirQuery, read
from retrieval.embeddings.base import EmbeddingClient
from retrieval.embeddings.similarity import SentenceSimilarity
from retrieval.i18n import Language, Text
from retrieval.index import EdgeIndex
from retrieval.ingest import Entry, Ingest
from retrieval.search import SHOWN, Search
from retrieval.sparse import TOKENIZER, SparseEncoder
from retrieval.types import MIN_RELEVANCE, TEAM, Document, Found, Fusion, Mode, Passage, Readers, View

Progress = Callable[[str, int, int], None]
"""What is being done, in the interface language; done; total."""

MODES: tuple[Mode, ...] = ("hybrid", "dense", "sparse")
DEPTH = 10  # documents of a ranking that are looked at
_CHUNKS = 50  # chunks of a ranking in which those are looked for

_INDEXING = Text(en="Indexing", ja="インデックスを作成中")
_ASKING = Text(en="Asking", ja="質問中")

_VIEW = View(Readers(frozenset({TEAM})), generation=1)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Means over the answerable questions, 0..1. nDCG with the grades as gains."""

    recall_1: float
    recall_5: float
    recall_10: float
    mrr_10: float
    ndcg_10: float

    def as_json(self) -> dict[str, float]:
        return {
            "recall@1": self.recall_1,
            "recall@5": self.recall_5,
            "recall@10": self.recall_10,
            "mrr@10": self.mrr_10,
            "ndcg@10": self.ndcg_10,
        }


@dataclass(frozen=True, slots=True)
class Report:
    """How good search is on a set. None where the set has no question to measure it on.

    `auroc`: answerable against all unanswerable questions, by the best relevance. `kept` and `refused`: shares at the
    threshold. `contains_answer`: share of the questions with known answers whose quotations hold one.
    """

    rankings: Mapping[Mode, Ranking | None]
    auroc: float | None
    kept: float | None
    refused: Mapping[str, float]
    contains_answer: float | None
    chunks_per_s: float
    p50_ms: float
    p95_ms: float

    def as_json(self) -> dict[str, Any]:
        """The contract of `kotae evaluate --json`. Source: product.md §7."""
        shown: dict[str, Any] = {mode: ranking and ranking.as_json() for mode, ranking in self.rankings.items()}
        return shown | {
            "no_answer": {"auroc": self.auroc, "kept": self.kept, "refused": dict(self.refused)},
            "extractive": {"contains_answer": self.contains_answer},
            "ingest": {"chunks_per_s": self.chunks_per_s},
            "search": {"p50_ms": self.p50_ms, "p95_ms": self.p95_ms},
        }

    def rows(self, language: Language) -> list[tuple[str, str]]:
        """The figures to show people: a label and a value a line."""
        made: list[tuple[str, str]] = []
        for mode, ranking in self.rankings.items():
            if ranking:
                measures = "  ".join(f"{name} {value:.3f}" for name, value in ranking.as_json().items())
                made.append((mode, measures))
        made.append((_AUROC.to(language), "–" if self.auroc is None else f"{self.auroc:.3f}"))
        made.append((_KEPT.to(language), _share(self.kept)))
        made += [(_REFUSED.to(language, kind=kind), _share(share)) for kind, share in self.refused.items()]
        made.append((_CONTAINS.to(language), _share(self.contains_answer)))
        made.append((_SPEED.to(language), f"{self.chunks_per_s:.1f}"))
        made.append((_LATENCY.to(language), f"{self.p50_ms:.1f} / {self.p95_ms:.1f} ms"))
        return made


_AUROC = Text(en="answerable against unanswerable, AUROC", ja="答えの有無の判別 (AUROC)")
_KEPT = Text(en="answerable questions kept", ja="答えのある質問で結果を出した割合")
_REFUSED = Text(en="refused: {kind}", ja="答えのない質問を退けた割合: {kind}")
_CONTAINS = Text(en="quotations that hold the answer", ja="引用に正解が含まれる割合")
_SPEED = Text(en="chunks added a second", ja="1 秒あたりの追加チャンク数")
_LATENCY = Text(en="search, p50 / p95", ja="検索時間 p50 / p95")


async def evaluate(
    folder: Path,
    embedder: EmbeddingClient,
    *,
    limit: int | None = None,
    fusion: Fusion = "dbsf",
    hits: int = SHOWN,
    min_relevance: float = MIN_RELEVANCE,
    max_chars: int = 2048,
    language: Language = "en",
    progress: Progress | None = None,
) -> Report:
    """Index the corpus in a temporary home and ask the questions, or `limit` of them spread evenly over the file.

    `hits` is how many a search returns to the agent. Raises EvaluationError for a malformed folder, RAGToolError.
    """
    questions = await asyncio.to_thread(read, folder)
    asked = _spread(questions.queries, limit)
    sparse = SparseEncoder()
    with TemporaryDirectory(prefix="kotae-evaluate-") as home:
        index = await EdgeIndex.open(
            Path(home) / "vectors", dimensions=embedder.dimensions, embedder=embedder.name, tokenizer=TOKENIZER
        )
        try:
            ingest = Ingest(embedder, sparse, index, max_chars=max_chars)
            search = Search(index, embedder, sparse, fusion=fusion, limit=hits, min_relevance=min_relevance)
            tell = _teller(progress, language)
            speed = await _fill(ingest, embedder, questions.corpus, tell)
            similarity = SentenceSimilarity(embedder)
            answers = [
                await _ask(query, search, similarity, sparse, tell, n, len(asked)) for n, query in enumerate(asked, 1)
            ]
        finally:
            await index.close()
    return score(answers, chunks_per_s=speed)


def _spread(queries: Sequence[BeirQuery], limit: int | None) -> Sequence[BeirQuery]:
    """Files are often sorted by kind, so the first few would show one kind only."""
    if limit is None or limit >= len(queries):
        return queries
    return [queries[n * len(queries) // limit] for n in range(limit)]


Tell = Callable[[Text, int, int], None]


def _teller(progress: Progress | None, language: Language) -> Tell:
    return lambda what, done, total: progress(what.to(language), done, total) if progress else None


async def _fill(ingest: Ingest, embedder: EmbeddingClient, corpus: Sequence[BeirDocument], tell: Tell) -> float:
    """Chunks a second, without the time the model takes to load."""
    await embedder.embed_query("?")
    entries = [
        Entry(Document(text.id, text.text, text.title), Passage("set", text.id, text.id, 0, "", TEAM, text.title), "1")
        for text in corpus
    ]
    tell(_INDEXING, 0, len(entries))
    started = time.perf_counter()
    counts = await ingest.write_many(entries, born=1, progress=lambda done, total: tell(_INDEXING, done, total))
    return sum(counts) / (time.perf_counter() - started)


# -- one question -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EvaluatedAnswer:
    """The outcome of one question. `rankings` hold document ids, best first."""

    query: BeirQuery
    rankings: Mapping[Mode, Sequence[str]]
    relevance: float
    kept: bool
    quoted: str
    ms: float


async def _ask(
    query: BeirQuery,
    search: Search,
    similarity: SentenceSimilarity,
    sparse: SparseEncoder,
    tell: Tell,
    n: int,
    total: int,
) -> EvaluatedAnswer:
    found = await search([query.text], _VIEW)
    rankings: dict[Mode, Sequence[str]] = {}
    if query.relevant:
        for mode in MODES:
            passages = await search.ranking(query.text, _VIEW, mode=mode, limit=_CHUNKS)
            rankings[mode] = list(dict.fromkeys(passage.document_id for passage in passages))[:DEPTH]
    tell(_ASKING, n, total)
    return EvaluatedAnswer(
        query=query,
        rankings=rankings,
        relevance=found.metrics.top_score,
        kept=bool(found.hits),
        quoted=await _quoted(query, found, similarity, sparse) if query.answers and query.relevant else "",
        ms=found.metrics.latency_ms,
    )


async def _quoted(query: BeirQuery, found: Found, similarity: SentenceSimilarity, sparse: SparseEncoder) -> str:
    """The lines that the extractive answer would show."""
    lines = candidate_lines(query.text, found.hits, sparse.terms)
    texts = lines.undecided()
    cosines = dict(zip(texts, await similarity(query.text, texts), strict=True))
    return "\n".join(line.text for excerpt in lines.closest(cosines) for _, line in excerpt.lines)


# -- the figures ------------------------------------------------------------------------------------------------------


def score(answers: Sequence[EvaluatedAnswer], *, chunks_per_s: float) -> Report:
    """The report on what became of all questions."""
    answerable = [answer for answer in answers if answer.query.relevant]
    kinds: dict[str, list[EvaluatedAnswer]] = {}
    for answer in answers:
        if not answer.query.relevant:
            kinds.setdefault(answer.query.kind, []).append(answer)
    times = sorted(answer.ms for answer in answers)
    return Report(
        rankings={mode: _ranking([(a.rankings[mode], a.query.relevant) for a in answerable]) for mode in MODES},
        auroc=auroc(
            [answer.relevance for answer in answerable],
            [answer.relevance for group in kinds.values() for answer in group],
        ),
        kept=_mean([answer.kept for answer in answerable]),
        refused={kind: sum(not answer.kept for answer in group) / len(group) for kind, group in sorted(kinds.items())},
        contains_answer=_mean([holds(a.quoted, a.query.answers) for a in answerable if a.query.answers]),
        chunks_per_s=chunks_per_s,
        p50_ms=_percentile(times, 0.50),
        p95_ms=_percentile(times, 0.95),
    )


def auroc(answerable: Sequence[float], others: Sequence[float]) -> float | None:
    """How often an answerable question has the higher relevance; equal ones count half. None without both."""
    if not answerable or not others:
        return None
    ranked = sorted([(value, 1) for value in answerable] + [(value, 0) for value in others])
    wins = 0.0
    below = at = 0
    while at < len(ranked):
        end = at
        while end < len(ranked) and ranked[end][0] == ranked[at][0]:
            end += 1
        ours = sum(mark for _, mark in ranked[at:end])
        theirs = end - at - ours
        wins += ours * (below + theirs / 2)
        below += theirs
        at = end
    return wins / (len(answerable) * len(others))


def holds(text: str, answers: Sequence[str]) -> bool:
    """Whether one of the answers stands in `text`, both in NFKC, spacing and case apart."""
    plain = _plain(text)
    return any(wanted in plain for wanted in map(_plain, answers) if wanted)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def _ranking(judged: Sequence[tuple[Sequence[str], Mapping[str, int]]]) -> Ranking | None:
    if not judged:
        return None

    def recall(depth: int) -> float:
        return sum(len(set(ranked[:depth]) & relevant.keys()) / len(relevant) for ranked, relevant in judged) / len(
            judged
        )

    def reciprocal(ranked: Sequence[str], relevant: Mapping[str, int]) -> float:
        return next((1 / place for place, id in enumerate(ranked[:DEPTH], 1) if id in relevant), 0.0)

    def gain(grades: Sequence[int]) -> float:
        return sum(grade / math.log2(place + 1) for place, grade in enumerate(grades[:DEPTH], 1))

    def ndcg(ranked: Sequence[str], relevant: Mapping[str, int]) -> float:
        ideal = gain(sorted(relevant.values(), reverse=True))
        return gain([relevant.get(id, 0) for id in ranked]) / ideal

    return Ranking(
        recall(1),
        recall(5),
        recall(10),
        sum(reciprocal(ranked, relevant) for ranked, relevant in judged) / len(judged),
        sum(ndcg(ranked, relevant) for ranked, relevant in judged) / len(judged),
    )


def _percentile(ordered: Sequence[float], share: float) -> float:
    """Nearest rank."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else 0.0


def _mean(values: Sequence[bool]) -> float | None:
    return sum(values) / len(values) if values else None


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"
