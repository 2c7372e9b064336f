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

from benchmarks.material import (
    VIEW,
    Remembering,
    Scenario,
    among,
    asks,
    excerpt,
    handbooks,
    searchable,
    sets,
    translated,
)
from retrieval.centring import Means
from retrieval.embeddings.base import EmbeddingClient
from retrieval.embeddings.local import LocalEmbedder
from retrieval.i18n import Language
from retrieval.relevance import SIGNALS, Fit, RelevanceEvidence, Space, Weights
from retrieval.relevance import space as shipped
from retrieval.search import CANDIDATES
from retrieval.sparse import SparseEncoder
from retrieval.text import language_of, normalise
from retrieval.types import CONFIDENT, MIN_RELEVANCE, STRONG, Scored, Vector

Floats = NDArray[np.float64]

WEIGHTS = Path(__file__).parents[1] / "retrieval" / "relevance.json"
DEPTH = 8  # candidates of a search that are learnt from
RIDGE = 1.0
FOLDS = 5
SIZES = (5, 10, 30, 100, 300)
ASKS, COLLEAGUES, STRANGERS, EXCERPTS = 4.0, 1.5, 0.5, 0.25
"""How much questions asked in chat, the handbooks, a handbook among strange paragraphs, and an excerpt count beside a
set as it is: questions as colleagues ask them are worth more than those written with the paragraph in view, and of the
small corpora there are many."""
ACROSS = 2.0
"""How much a right passage in the other language counts: there are few, and missing them all is no calibration."""


@dataclass(frozen=True, slots=True)
class Row:
    """One candidate of one search. `label` 1: it answers; None: nobody knows (another chunk of the right page, or one
    that states none of the facts)."""

    scenario: str
    query: str
    kind: str
    foreign: bool
    evidence: Mapping[Fit, RelevanceEvidence]
    label: float | None


# -- what is learnt from ----------------------------------------------------------------------------------------------


def scenarios(data: Path) -> list[Scenario]:
    """The sets whole and in excerpts, both in one collection, the handbooks together and each alone."""
    known = sets(data)
    books = handbooks(data)
    made = [asks(data), *known.values(), books]
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
    stated = scenario.name == "asks"  # there a page is long, and the facts tell which of its passages answers
    async with searchable(scenario.corpus, embedder, sparse) as (search, _):
        for query in scenario.queries:
            seen: set[str] = set()
            for one, evidence in await search.evidence(query.text, VIEW, DEPTH):
                document = one.passage.document_id
                label: float | None = float(document in query.relevant)
                if label and (not states(one.passage.text, query.answers) if stated else document in seen):
                    label = None
                seen.add(document)
                foreign = one.reading.language != language_of(query.text)
                rows.append(Row(scenario.name, query.id, query.kind, foreign, evidence, label))
    return rows


def states(text: str, answers: Sequence[str]) -> bool:
    """Whether one of the answers stands in the text, whatever its width, case or spaces."""
    squeezed = "".join(normalise(text).split())
    return any("".join(normalise(answer).split()) in squeezed for answer in answers)


async def learn_space(known: Iterable[Scenario], embedder: EmbeddingClient, sparse: SparseEncoder) -> Space:
    """How the embedder's vectors lie: the means of questions and of passages in each language, each set weighing the
    same, and the cosines of a search's candidates once they are centred. Without weights."""
    questions: dict[Language, list[Floats]] = {"ja": [], "en": []}
    passages: dict[Language, list[Floats]] = {"ja": [], "en": []}
    stored: list[tuple[list[tuple[Language, Vector]], list[tuple[Language, Vector]]]] = []
    for one in known:
        async with searchable(one.corpus, embedder, sparse) as (_, index):
            sampled = await index.sample(VIEW.generation, 10**6)
        texts = [query.text for query in one.queries]
        asked = [*zip(map(language_of, texts), await embedder.embed_queries(texts), strict=True)]
        for found, into in ((asked, questions), (sampled, passages)):
            for language in into:
                if mine := [vector for its, vector in found if its == language]:
                    into[language].append(np.mean(mine, axis=0))
        stored.append((sampled, asked[:300]))
    means = Means(
        {language: np.mean(some, axis=0) for language, some in questions.items()},
        {language: np.mean(some, axis=0) for language, some in passages.items()},
    )
    cosines = []
    for sampled, asked in stored:
        matrix = np.array([vector for _, vector in sampled])
        for language, vector in asked:
            question = means.question(vector, language)
            raw = matrix @ np.array(question)
            listed = [Scored(str(at), float(raw[at]), its) for at, (its, _) in enumerate(sampled)]
            cosines.append([found.score for found in means.scored(question, listed)[:CANDIDATES]])
    return Space(
        {},
        centre=float(np.mean([np.mean(found) for found in cosines])),
        spread=float(np.mean([np.std(found) for found in cosines])),
        means=means,
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
    if row.scenario == "asks":
        scenario = ASKS
    elif "among" in row.scenario:
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


# -- how good it is --------------------------------------------------------------------------------------------------


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
        f"keeps {np.mean(np.array(kept) >= threshold):.1%}, refuses {shares}, "
        f"strong {np.mean(np.array(kept) >= STRONG):.1%} of the answerable, "
        f"{np.mean([value >= STRONG for values in kinds.values() for value in values]):.1%} of the others, "
        f"right {np.mean([right for _, value, right in found.values() if value >= STRONG] or [False]):.1%}"
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


# -- the command -----------------------------------------------------------------------------------------------------


async def run(data: Path, cache: Path, write: bool) -> None:
    embedder = Remembering(LocalEmbedder(Path.home() / ".cache" / "kotae"), cache)
    sparse = SparseEncoder()
    learnt = await learn_space([asks(data), handbooks(data), *sets(data).values()], embedder, sparse)
    embedder.keep()
    if write:  # the searches below use the new means
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
    names = sorted({row.scenario.split("/")[0] for row in rows} - {"together", "handbooks", "asks"})
    for name in names:
        print(f"\nfitted without {name}")
        weights = fit_all([row for row in rows if not row.scenario.startswith((name, "together"))])
        tell_each(best([row for row in rows if row.scenario == name], weights))
    for name in ("handbooks", "asks"):
        print(f"\nfitted without the {name}")
        weights = fit_all([row for row in rows if not row.scenario.startswith(name)])
        tell_each(best([row for row in rows if row.scenario.startswith(name)], weights))
    print("\nfitted on the asks about one language's pages, tested on those about the other's")
    for half in ("j", "e"):
        weights = fit_all([row for row in rows if row.scenario != "asks" or row.query.startswith(half)])
        tell_each(best([row for row in rows if row.scenario == "asks" and not row.query.startswith(half)], weights))


def tell_each(found: Mapping[tuple[str, str], tuple[str, float, bool]]) -> None:
    for name in sorted({scenario for scenario, _ in found}):
        tell(name, {key: value for key, value in found.items() if key[0] == name}, MIN_RELEVANCE)


def save(embedder: str, made: Space) -> None:
    """Write the weights of one embedder into the package; those of others stay."""
    shipped_now = json.loads(WEIGHTS.read_text("utf-8"))
    shipped_now["embedders"][embedder] = {
        "centre": round(made.centre, 4),
        "spread": round(made.spread, 4),
        "means": {
            of: {language: [round(float(at), 4) for at in mean] for language, mean in means.items()}
            for of, means in (("questions", made.means.questions), ("passages", made.means.passages))
        },
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
