"""Makes the weights of `bot/unanswered/clustering.py`: `python -m benchmarks.fit_grouping [--write]`.

The questions of the golden file and of one on further subjects (topic, group, text; a group of one is a near miss: the
same topic, another question) are compared two by two, file by file, and a logistic regression is fitted to what the
product sees of them. What is printed first was grouped with weights and a threshold that have not seen its topics. The
held-out and the unseen file are only measured; of the unseen one no single error is shown, so that nobody fits to it.
"""

import argparse
import asyncio
import json
import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bot.unanswered.clustering import SIGNALS, Clustering, Fitted, Floats, components, linked
from retrieval.embeddings.local import LocalEmbedder

ROOT = Path(__file__).parents[1]
WEIGHTS = ROOT / "bot" / "unanswered" / "clustering.json"
QUESTIONS = ROOT / "tests" / "golden"
GOLDEN = QUESTIONS / "question_groups.jsonl"
MORE = QUESTIONS / "question_groups_more.jsonl"
HELD_OUT = QUESTIONS / "question_groups_held_out.jsonl"
UNSEEN = QUESTIONS / "question_groups_unseen.jsonl"
REFERENCE = QUESTIONS / "question_groups_reference.jsonl"
FOLDS = 5
ROUNDS = 4  # ways to deal the topics to folds
RIDGE = 3.0
NEAR = 1.5  # how much a pair of one topic counts beside a pair of strangers
THRESHOLDS = tuple(step / 100 for step in range(20, 81, 4))

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Question:
    topic: str
    group: str
    text: str


@dataclass(frozen=True, slots=True)
class Compared:
    """All pairs of a file's questions: their places, signals (n, signals), whether they belong together and whether
    they share a topic."""

    name: str
    questions: tuple[Question, ...]
    left: NDArray[np.int_]
    right: NDArray[np.int_]
    signals: Floats
    together: Mask
    near: Mask

    def of(self, topics: Collection[tuple[str, str]]) -> Mask:
        """The pairs with a question of one of these topics (file, topic)."""
        chosen = np.array([(self.name, one.topic) in topics for one in self.questions])
        return np.asarray(chosen[self.left] | chosen[self.right])


@dataclass(frozen=True, slots=True)
class Score:
    """Pairs that were rightly, wrongly and not put together."""

    right: int = 0
    wrong: int = 0
    missed: int = 0

    def __add__(self, other: "Score") -> "Score":
        return Score(self.right + other.right, self.wrong + other.wrong, self.missed + other.missed)

    @property
    def f1(self) -> float:
        return 2 * self.right / max(1, 2 * self.right + self.wrong + self.missed)

    def __str__(self) -> str:
        precision = self.right / max(1, self.right + self.wrong)
        recall = self.right / max(1, self.right + self.missed)
        return f"F1 {self.f1:.3f}  precision {precision:.3f}  recall {recall:.3f}"


def read(file: Path) -> tuple[Question, ...]:
    return tuple(Question(**json.loads(line)) for line in file.read_text("utf-8").splitlines())


async def compared(file: Path, grouping: Clustering) -> Compared:
    questions = read(file)
    pairs = list(combinations(range(len(questions)), 2))
    comparison = await grouping.compared([one.text for one in questions])
    left, right = np.array(pairs).T
    return Compared(
        file.stem,
        questions,
        left,
        right,
        comparison.signals(pairs),
        np.array([questions[i].group == questions[j].group for i, j in pairs]),
        np.array([questions[i].topic == questions[j].topic for i, j in pairs]),
    )


# -- the regression --------------------------------------------------------------------------------------------------


def fit(files: Sequence[Compared], chosen: Sequence[Mask], start: Fitted) -> Fitted:
    """Logistic regression with a ridge, by Newton's method, on the chosen pairs of each file."""
    x = np.vstack([data.signals[rows] for data, rows in zip(files, chosen, strict=True)])
    y = np.concatenate([data.together[rows] for data, rows in zip(files, chosen, strict=True)]).astype(float)
    near = np.concatenate([data.near[rows] for data, rows in zip(files, chosen, strict=True)])
    weight = np.where(near, NEAR, 1.0)
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
    signals = dict(zip(SIGNALS, map(float, slopes), strict=True))
    return replace(start, bias=float(beta[0] - mean @ slopes), signals=signals)


def grouped(data: Compared, probability: Floats, threshold: float) -> Mask:
    """The pairs that average linkage puts together."""
    count = len(data.questions)
    table = np.zeros((count, count))
    table[data.left, data.right] = table[data.right, data.left] = probability
    likely = probability >= threshold
    pairs = zip(data.left[likely].tolist(), data.right[likely].tolist(), strict=True)
    found = np.zeros((count, count), dtype=bool)
    for component in components(range(count), dict.fromkeys(pairs, 1.0), threshold):
        for group in linked(table[np.ix_(component, component)], threshold):
            members = [component[at] for at in group]
            found[np.ix_(members, members)] = True
    return np.asarray(found[data.left, data.right])


def score(data: Compared, found: Mask, counted: Mask | None = None) -> Score:
    """Over the counted pairs, all by default."""
    rows = np.ones_like(found) if counted is None else counted
    return Score(
        int((found & data.together & rows).sum()),
        int((found & ~data.together & rows).sum()),
        int((~found & data.together & rows).sum()),
    )


def with_threshold(files: Sequence[Compared], fitted: Fitted, counted: Sequence[Mask]) -> Fitted:
    """With the middle of the thresholds that group the counted pairs best."""
    probabilities = [fitted.probabilities(data.signals) for data in files]
    scores = {}
    for threshold in THRESHOLDS:
        each = zip(files, probabilities, counted, strict=True)
        scores[threshold] = sum(
            (score(data, grouped(data, probability, threshold), rows) for data, probability, rows in each), Score()
        ).f1
    good = [threshold for threshold, f1 in scores.items() if f1 >= max(scores.values()) - 0.005]
    return replace(fitted, threshold=good[len(good) // 2])


def cross_validated(files: Sequence[Compared], start: Fitted) -> list[Score]:
    """Every topic grouped among all questions of its file by weights that have not seen it; a score for each file."""
    topics = sorted({(data.name, one.topic) for data in files for one in data.questions})
    totals = [Score()] * len(files)
    for round_ in range(ROUNDS):
        random.Random(round_).shuffle(topics)
        for fold in range(FOLDS):
            unseen = [data.of(set(topics[fold::FOLDS])) for data in files]
            seen = [~rows for rows in unseen]
            learnt = with_threshold(files, fit(files, seen, start), seen)
            totals = [
                total + score(data, grouped(data, learnt.probabilities(data.signals), learnt.threshold), rows)
                for total, data, rows in zip(totals, files, unseen, strict=True)
            ]
    return totals


# -- the command -----------------------------------------------------------------------------------------------------


async def run(write: bool) -> None:
    rows = [json.loads(line) for line in REFERENCE.read_text("utf-8").splitlines()]
    start = Fitted(0.0, dict.fromkeys(SIGNALS, 0.0), 0.5, tuple((row["ja"], row["en"]) for row in rows))
    grouping = Clustering(LocalEmbedder(Path.home() / ".cache" / "kotae"), start)
    files = [await compared(file, grouping) for file in (GOLDEN, MORE)]
    for data, total in zip(files, cross_validated(files, start), strict=True):
        print(f"{data.name}, {len(data.questions)} questions, cross-validated: {total}")
    every = [np.ones_like(data.together) for data in files]
    fitted = rounded(with_threshold(files, fit(files, every, start), every))
    for data in files:
        tell(data, fitted, "in sample")
    tell(await compared(HELD_OUT, grouping), fitted, "only measured")
    tell(await compared(UNSEEN, grouping), fitted, "only measured", errors=False)
    print(f"bias {fitted.bias:+.2f}  " + "  ".join(f"{name} {weight:+.2f}" for name, weight in fitted.signals.items()))
    print(f"threshold {fitted.threshold}")
    if write:
        save(fitted)


def tell(data: Compared, fitted: Fitted, how: str, errors: bool = True) -> None:
    found = grouped(data, fitted.probabilities(data.signals), fitted.threshold)
    print(f"{data.name}, {how}: {score(data, found)}")
    for at in np.flatnonzero(found != data.together) if errors else ():
        one, other = data.questions[data.left[at]], data.questions[data.right[at]]
        print(f"    {'together' if found[at] else 'apart   '} {one.text} | {other.text}")


def rounded(fitted: Fitted) -> Fitted:
    """As it is shipped, so that the figures are those of the file."""
    signals = {name: round(weight, 3) for name, weight in fitted.signals.items()}
    return replace(fitted, bias=round(fitted.bias, 3), signals=signals)


def save(fitted: Fitted) -> None:
    values = {
        "bias": fitted.bias,
        "signals": dict(fitted.signals),
        "threshold": fitted.threshold,
        "reference": [list(pair) for pair in fitted.reference],
    }
    WEIGHTS.write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the new weights into the package")
    given = parser.parse_args()
    asyncio.run(run(given.write))


if __name__ == "__main__":
    main()
