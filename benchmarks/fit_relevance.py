"""Makes the weights of `retrieval/relevance.py`: `python -m benchmarks.fit_relevance --data FOLDER [--write]`.

Every signal comes out of the product's own search over corpora of many sizes; a logistic regression per kind of
evidence is fitted to them. What is printed is measured on questions the weights have not seen: by folds of the
questions, and by fitting on some sets and testing on another.
"""

import argparse
import asyncio
import json
import math
import random
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.material import VIEW, Remembering, Scenario, among, excerpt, handbooks, searchable, sets, translated
from retrieval.embeddings.base import EmbeddingClient
from retrieval.embeddings.local import LocalEmbedder
from retrieval.relevance import CONFIDENT, MIN_RELEVANCE, SIGNALS, Evidence, Fit, Space, Weights
from retrieval.relevance import space as shipped
from retrieval.search import CANDIDATES
from retrieval.sparse import SparseEncoder
from retrieval.text import language_of

Floats = NDArray[np.float64]

WEIGHTS = Path(__file__).parents[1] / "retrieval" / "relevance.json"
DEPTH = 8  # candidates of a search that are learnt from
SHIFTED = 0.6  # of the way between the languages' centres: more moves the question away from its subject
RIDGE = 1.0
FOLDS = 5
SIZES = (5, 10, 30, 100, 300)
COLLEAGUES, STRANGERS, EXCERPTS = 1.5, 0.5, 0.25
"""How much the handbooks, a handbook among strange paragraphs, and an excerpt count beside a set as it is: questions as
colleagues ask them are worth more than those written with the paragraph in view, and of the small corpora there are many."""
ACROSS = 2.0
"""How much a right passage in the other language counts: there are few, and missing them all is no calibration."""


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate of one search. `label` 1: it answers; None: nobody knows (another chunk of the right page)."""

    scenario: str
    query: str
    kind: str
    foreign: bool
    evidence: Mapping[Fit, Evidence]
    label: float | None


# -- what is learnt from ----------------------------------------------------------------------------------------------


def scenarios(data: Path) -> list[Scenario]:
    """The sets whole and in excerpts, both in one collection, the handbooks together and each alone."""
    known = sets(data)
    books = handbooks(data)
    made = [*known.values(), books]
    for language in ("ja", "en"):
        pages = tuple(page for page in books.corpus if page.id.startswith(language))
        ids = {page.id for page in pages}
        asked = tuple(query for query in books.queries if not query.relevant or query.relevant.keys() <= ids)
        made.append(Scenario(f"handbooks/{language}", pages, asked))
    made += [among(books, [*known.values()], 6, 40, seed) for seed in range(4)]
    made.append(among(books, [*known.values()], len(books.corpus), 200, 0))
    dice = random.Random(0)
    both = [query for one in known.values() for query in dice.sample(one.queries, min(300, len(one.queries)))]
    corpus = tuple(text for one in known.values() for text in one.corpus)
    made.append(Scenario("together", corpus, (*both, *translated(known.values()))))
    for one in known.values():
        for size in SIZES:
            made += [excerpt(one, size, 25, seed) for seed in range(max(1, min(8, 100 // size)))]
    return made


async def gather(scenario: Scenario, embedder: EmbeddingClient, sparse: SparseEncoder) -> list[Row]:
    """The evidence that a search gives for each question's candidates."""
    rows = []
    async with searchable(scenario.corpus, embedder, sparse) as (search, _):
        for query in scenario.queries:
            seen: set[str] = set()
            for one, evidence in await search.evidence(query.text, VIEW, DEPTH):
                document = one.passage.document_id
                label: float | None = float(document in query.relevant)
                if label and document in seen:
                    label = None
                seen.add(document)
                foreign = one.reading.language != language_of(query.text)
                rows.append(Row(scenario.name, query.id, query.kind, foreign, evidence, label))
    return rows


async def learn_space(known: Iterable[Scenario], embedder: EmbeddingClient) -> Space:
    """How the embedder's vectors lie: the way from the centre of the Japanese passages to that of the English ones, and
    the cosines of a search's candidates. Without weights."""
    means: dict[str, Floats] = {}
    cosines = []
    for one in known:
        passages = np.array(await embedder.embed_documents([f"{text.title}\n{text.text}" for text in one.corpus]))
        languages = np.array([language_of(text.text) for text in one.corpus])
        for language in set(languages):
            mine = passages[languages == language].mean(0)
            means[language] = (means[language] + mine) / 2 if language in means else mine
        for query in one.queries[:300]:
            cosines.append(np.sort(passages @ np.array(await embedder.embed_query(query.text)))[-CANDIDATES:])
    return Space(
        {},
        centre=float(np.mean([found.mean() for found in cosines])),
        spread=float(np.mean([found.std() for found in cosines])),
        shift=tuple(float(step) for step in SHIFTED * (means["en"] - means["ja"])),
    )


# -- the regression ---------------------------------------------------------------------------------------------------


def fit(rows: Sequence[Row], kind: Fit) -> Weights:
    """Logistic regression with a small ridge, by Newton's method."""
    x, y, weight = table(rows, kind)
    mean, spread = x.mean(0), x.std(0) + 1e-9
    design = np.column_stack([np.ones(len(x)), (x - mean) / spread])
    beta = np.zeros(design.shape[1])
    ridge = np.diag([1e-6, *[RIDGE] * x.shape[1]])
    for _ in range(100):
        p = 1 / (1 + np.exp(-design @ beta))
        gradient = design.T @ (weight * (p - y)) + ridge @ beta
        hessian = (design * (weight * p * (1 - p))[:, None]).T @ design + ridge
        step = np.linalg.solve(hessian, gradient)
        beta -= step
        if np.abs(step).max() < 1e-9:
            break
    slopes = beta[1:] / spread
    return Weights(float(beta[0] - mean @ slopes), dict(zip(SIGNALS[kind], map(float, slopes), strict=True)))


def table(rows: Sequence[Row], kind: Fit) -> tuple[Floats, Floats, Floats]:
    """Signals, labels and weights. A scenario weighs as the square root of its size, so that no large set rules."""
    chosen = [row for row in rows if row.label is not None and usable(row, kind)]
    source: Fit = "both" if kind == "words" else kind
    x = np.array([[getattr(row.evidence[source], name) for name in SIGNALS[kind]] for row in chosen])
    y = np.array([row.label for row in chosen], dtype=float)
    sizes = Counter(row.scenario for row in chosen)
    weight = np.array([importance(row, kind) / math.sqrt(sizes[row.scenario]) for row in chosen])
    return x, y, weight / weight.mean()


def importance(row: Row, kind: Fit) -> float:
    if "among" in row.scenario:
        scenario = STRANGERS
    elif row.scenario.startswith("handbooks"):
        scenario = COLLEAGUES
    else:
        scenario = EXCERPTS if "/" in row.scenario else 1.0
    return scenario * (ACROSS if kind == "meaning" and row.label else 1.0)


def usable(row: Row, kind: Fit) -> bool:
    if kind == "meaning":
        return "meaning" in row.evidence
    return "both" in row.evidence and not row.foreign


def fit_all(rows: Sequence[Row]) -> dict[Fit, Weights]:
    return {kind: fit(rows, kind) for kind in SIGNALS}


# -- how good it is -----------------------------------------------------------------------------------------------------


def best(rows: Sequence[Row], weights: Mapping[Fit, Weights]) -> dict[tuple[str, str], tuple[str, float, bool]]:
    """(scenario, question) → its kind, the best relevance, whether that candidate is right."""
    found: dict[tuple[str, str], tuple[str, float, bool]] = {}
    for row in rows:
        relevance = max((weights[kind].relevance(facts) for kind, facts in row.evidence.items()), default=0.0)
        key = row.scenario, row.query
        if key not in found or relevance > found[key][1]:
            found[key] = row.kind, relevance, row.label != 0.0
    return found


def auroc(answerable: Sequence[float], others: Sequence[float]) -> float:
    """How often an answerable question has more relevance than another; ties count half."""
    ranked = np.sort(np.array(others))
    below = np.searchsorted(ranked, answerable, "left") + np.searchsorted(ranked, answerable, "right")
    return float(below.mean() / 2 / len(ranked))


def tell(title: str, found: Mapping[tuple[str, str], tuple[str, float, bool]], threshold: float) -> None:
    kinds: dict[str, list[float]] = {}
    for kind, relevance, _ in found.values():
        kinds.setdefault(kind, []).append(relevance)
    kept = kinds.pop("answerable", [])
    if not kept or not kinds:
        return
    right = np.mean([right for kind, _, right in found.values() if kind == "answerable"])
    shares = "  ".join(f"{kind} {np.mean(np.array(v) < threshold):.1%}" for kind, v in sorted(kinds.items()))
    rank = {kind: auroc(kept, values) for kind, values in sorted(kinds.items())}
    everything = auroc(kept, [value for values in kinds.values() for value in values])
    print(
        f"{title:28} first right {right:.3f}  auroc {everything:.3f} "
        f"({', '.join(f'{kind} {value:.3f}' for kind, value in rank.items())})  "
        f"keeps {np.mean(np.array(kept) >= threshold):.1%}, refuses {shares}"
    )


def folds(rows: Sequence[Row]) -> Iterator[tuple[list[Row], list[Row]]]:
    """Train and test; a question is in one fold in whatever corpus it was asked."""
    names = sorted({row.query.removesuffix("-x") for row in rows})
    random.Random(1).shuffle(names)
    fold = {name: at % FOLDS for at, name in enumerate(names)}
    for left in range(FOLDS):
        yield (
            [row for row in rows if fold[row.query.removesuffix("-x")] != left],
            [row for row in rows if fold[row.query.removesuffix("-x")] == left],
        )


# -- the command --------------------------------------------------------------------------------------------------------


async def run(data: Path, cache: Path, write: bool) -> None:
    embedder = Remembering(LocalEmbedder(Path.home() / ".cache" / "kotae"), cache)
    sparse = SparseEncoder()
    learnt = await learn_space(sets(data).values(), embedder)
    embedder.keep()
    if write:  # the searches below use the new way across
        save(embedder.name, replace(learnt, weights=shipped(embedder.name).weights))
    rows: list[Row] = []
    for scenario in scenarios(data):
        rows += await gather(scenario, embedder, sparse)
        embedder.keep()
        print(f"{scenario.name}: {len(scenario.corpus)} documents, {len(scenario.queries)} questions", flush=True)
    weights = fit_all(rows)
    if write:
        save(embedder.name, replace(learnt, weights=weights))
    for kind, one in weights.items():
        signals = "  ".join(f"{name} {weight:+.2f}" for name, weight in one.signals.items())
        print(f"{kind}: bias {one.bias:+.2f}  {signals}")
    report(rows)


def report(rows: Sequence[Row]) -> None:
    """Everything on questions that the weights have not seen."""
    print(f"\n{FOLDS} folds of the questions, threshold {MIN_RELEVANCE}, confident from {CONFIDENT}")
    unseen: dict[tuple[str, str], tuple[str, float, bool]] = {}
    for train, test in folds(rows):
        unseen |= best(test, fit_all(train))
    tell_each(unseen)
    names = sorted({row.scenario.split("/")[0] for row in rows} - {"together", "handbooks"})
    for name in names:
        print(f"\nfitted without {name}")
        weights = fit_all([row for row in rows if not row.scenario.startswith((name, "together"))])
        tell_each(best([row for row in rows if row.scenario == name], weights))
    print("\nfitted without the handbooks")
    weights = fit_all([row for row in rows if not row.scenario.startswith("handbooks")])
    tell_each(best([row for row in rows if row.scenario.startswith("handbooks")], weights))


def tell_each(found: Mapping[tuple[str, str], tuple[str, float, bool]]) -> None:
    for name in sorted({scenario for scenario, _ in found}):
        tell(name, {key: value for key, value in found.items() if key[0] == name}, MIN_RELEVANCE)


def save(embedder: str, made: Space) -> None:
    """Write the weights of one embedder into the package; those of others stay."""
    shipped_now = json.loads(WEIGHTS.read_text("utf-8"))
    shipped_now["embedders"][embedder] = {
        "centre": round(made.centre, 4),
        "spread": round(made.spread, 4),
        "shift": [round(step, 4) for step in made.shift],
        "weights": {
            kind: {
                "bias": round(one.bias, 4),
                "signals": {name: round(weight, 4) for name, weight in one.signals.items()},
            }
            for kind, one in made.weights.items()
        },
    }
    WEIGHTS.write_text(json.dumps(shipped_now) + "\n", encoding="utf-8")
    shipped.cache_clear()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with BEIR sets and docs/{ja,en}/*.md")
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "kotae-vectors.npz")
    parser.add_argument("--write", action="store_true", help="put the new weights into the package")
    given = parser.parse_args()
    asyncio.run(run(given.data, given.cache, given.write))


if __name__ == "__main__":
    main()
