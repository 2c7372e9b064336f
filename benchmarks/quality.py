"""Search quality on question sets: `python -m benchmarks.quality --data FOLDER [--limit N]`.

For each set in BEIR's layout below FOLDER: the product's search beside each of its branches alone and beside bm25s on
the product's own terms and as it comes; then what `kotae evaluate` reports about answers that are not there.
"""

import argparse
import asyncio
import math
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import bm25s  # type: ignore[import-untyped]

from benchmarks.material import VIEW, Remembering, Scenario, searchable, sets
from bot.operations.beir import BeirQuery
from bot.operations.evaluation import DEPTH, evaluate
from retrieval.embeddings.base import EmbeddingClient
from retrieval.embeddings.local import LocalEmbedder
from retrieval.search import CANDIDATES
from retrieval.sparse import SparseEncoder
from retrieval.types import Branch, Probe

Ranking = Sequence[str]


async def one_set(folder: Path, scenario: Scenario, embedder: EmbeddingClient, limit: int | None) -> None:
    """The product's report, then the others on the same questions."""
    report = await evaluate(folder, embedder, limit=limit)
    asked = [query for query in scenario.queries[:limit] if query.relevant]
    print(f"\n{scenario.name}: {len(scenario.corpus)} documents, {len(asked)} answerable questions")
    for mode, ranking in report.rankings.items():
        if ranking:
            print(f"  {'kotae, ' + mode:34} nDCG@10 {ranking.ndcg_10:.3f}  R@1 {ranking.recall_1:.3f}")
    sparse = SparseEncoder()
    for title, tokens in (("bm25s on our terms", sparse.terms), ("bm25s as it comes", None)):
        say(title, asked, peer(scenario, asked, tokens))
    for title, rankings in (await branches(scenario, asked, embedder, sparse)).items():
        say(title, asked, rankings)
    for label, value in report.rows("en")[len(report.rankings) :]:
        print(f"  {label:34} {value}")


def peer(
    scenario: Scenario, asked: Sequence[BeirQuery], tokens: Callable[[str], Sequence[str]] | None
) -> Mapping[str, Ranking]:
    """bm25s over whole documents."""
    texts = [f"{text.title}\n{text.text}" for text in scenario.corpus]
    questions = [query.text for query in asked]
    if tokens is None:
        corpus = bm25s.tokenize(texts, show_progress=False)
        queries = bm25s.tokenize(questions, show_progress=False)
    else:
        corpus, queries = [list(tokens(text)) for text in texts], [list(tokens(question)) for question in questions]
    index = bm25s.BM25(k1=1.2, b=0.75)
    index.index(corpus, show_progress=False)
    found, _ = index.retrieve(queries, k=min(DEPTH, len(texts)), show_progress=False)
    return {
        query.id: [scenario.corpus[int(place)].id for place in places]
        for query, places in zip(asked, found, strict=True)
    }


async def branches(
    scenario: Scenario, asked: Sequence[BeirQuery], embedder: EmbeddingClient, sparse: SparseEncoder
) -> dict[str, Mapping[str, Ranking]]:
    """Each branch alone."""
    alone: dict[Branch, dict[str, Ranking]] = {"dense": {}, "words": {}, "ngrams": {}}
    async with searchable(scenario.corpus, embedder, sparse) as (_, index):
        for query in asked:
            words, ngrams = sparse.query(query.text)
            vector = await embedder.embed_query(query.text)
            (found,) = await index.query(VIEW, Probe(vector, words, ngrams), limit=CANDIDATES)
            for branch, rankings in alone.items():
                ids = [scored.id for scored in found.branches.get(branch, ())]
                texts = await index.fetch(ids, VIEW)
                ranked = [texts[id].passage.document_id for id in ids]
                rankings[query.id] = list(dict.fromkeys(ranked))[:DEPTH]
    return {f"branch {branch} alone": rankings for branch, rankings in alone.items()}


def say(title: str, asked: Sequence[BeirQuery], rankings: Mapping[str, Ranking]) -> None:
    """One right document or several, all of the same worth here."""
    gains = []
    for query in asked:
        ranked = rankings[query.id][:DEPTH]
        found = sum(1 / math.log2(place + 1) for place, id in enumerate(ranked, 1) if id in query.relevant)
        gains.append(found / sum(1 / math.log2(place + 1) for place in range(1, len(query.relevant) + 1)))
    first = sum(bool(rankings[query.id]) and rankings[query.id][0] in query.relevant for query in asked)
    print(f"  {title:34} nDCG@10 {sum(gains) / len(gains):.3f}  R@1 {first / len(asked):.3f}")


async def run(data: Path, limit: int | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        fresh = LocalEmbedder(Path.home() / ".cache" / "kotae")
        embedder = Remembering(fresh, Path(folder) / "vectors.npz")
        for name, scenario in sets(data).items():
            await one_set(data / name, scenario, embedder, limit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with BEIR sets")
    parser.add_argument("--limit", type=int, help="only the first so many questions of each set")
    given = parser.parse_args()
    asyncio.run(run(given.data, given.limit))


if __name__ == "__main__":
    main()
