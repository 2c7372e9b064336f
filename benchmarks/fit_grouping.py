"""Makes the weights of `bot/grouping.py`: `python -m benchmarks.fit_grouping [--write]`.

The questions of `tests/golden/question_groups.jsonl` (topic, group, text; a group of one is a near miss: the same topic,
another question) are compared two by two, and a logistic regression is fitted to what the product sees of them. What is
printed first was grouped with weights and a threshold that have not seen its topics; the held-out file is only measured.
"""

import argparse
import asyncio
import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from bot.grouping import SIGNALS, Comparison, Fitted, Floats, Grouping, calibrate, components, linked, traits_of
from retrieval.embeddings.local import LocalEmbedder
from retrieval.text import language_of

ROOT = Path(__file__).parents[1]
WEIGHTS = ROOT / "bot" / "grouping.json"
GOLDEN = ROOT / "tests" / "golden" / "question_groups.jsonl"
HELD_OUT = ROOT / "tests" / "golden" / "question_groups_held_out.jsonl"
FOLDS = 5
ROUNDS = 4  # ways to deal the topics to folds
RIDGE = 3.0
UNKNOWN = 0.5  # how much a pair counts when its words are hidden, beside the same pair with them
NEAR = 1.5  # how much a pair of one topic counts beside a pair of strangers
THRESHOLDS = tuple(step / 100 for step in range(20, 81, 2))

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Question:
    topic: str
    group: str
    text: str


@dataclass(frozen=True, slots=True)
class Compared:
    """All pairs of some questions: signals (n, signals), whether they belong together, whether they share a topic."""

    questions: tuple[Question, ...]
    pairs: tuple[Pair, ...]
    signals: Floats
    together: Floats
    near: Floats


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


async def compared(questions: Sequence[Question], grouping: Grouping, fitted: Fitted) -> Compared:
    texts = [one.text for one in questions]
    comparison = Comparison([traits_of(text) for text in texts], await grouping.vectors(texts), fitted.cosines, fitted)
    pairs = list(combinations(range(len(texts)), 2))
    return Compared(
        tuple(questions),
        tuple(pairs),
        comparison.signals(pairs),
        np.array([float(questions[i].group == questions[j].group) for i, j in pairs]),
        np.array([float(questions[i].topic == questions[j].topic) for i, j in pairs]),
    )


# -- the regression -----------------------------------------------------------------------------------------------------


def fit(data: Compared, chosen: Sequence[bool], start: Fitted) -> Fitted:
    """Logistic regression with a ridge, by Newton's method, on the chosen pairs.

    Each pair is learnt from twice, once as if nobody had thought of the words for what it is about: most subjects of a
    team are in no list, and there meaning alone has to do.
    """
    rows = np.array(chosen)
    hidden = data.signals[rows] * np.array([not name.startswith(("done", "about")) for name in SIGNALS])
    x, y = np.vstack([data.signals[rows], hidden]), np.tile(data.together[rows], 2)
    near = np.where(data.near[rows] > 0, NEAR, 1.0)
    weight = np.concatenate([near, UNKNOWN * near])
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


def grouped(data: Compared, fitted: Fitted, threshold: float) -> set[Pair]:
    """The pairs that average linkage puts together."""
    probability = fitted.probabilities(data.signals)
    known = dict(zip(data.pairs, probability.tolist(), strict=True))
    found: set[Pair] = set()
    for component in components(range(len(data.questions)), known, threshold):
        table = np.zeros((len(component), len(component)))
        for i, j in combinations(range(len(component)), 2):
            table[i, j] = table[j, i] = known[component[i], component[j]]
        for group in linked(table, threshold):
            found |= set(combinations([component[at] for at in group], 2))
    return found


def score(data: Compared, found: set[Pair], topics: Iterable[str]) -> Score:
    """Counted over the pairs with a question of one of these topics."""
    asked = set(topics)
    total = Score()
    for pair, together in zip(data.pairs, data.together.tolist(), strict=True):
        if asked.isdisjoint(data.questions[at].topic for at in pair):
            continue
        is_found = pair in found
        total += Score(
            int(is_found and together == 1), int(is_found and together == 0), int(not is_found and together == 1)
        )
    return total


def with_threshold(data: Compared, fitted: Fitted, topics: Sequence[str]) -> Fitted:
    """With the middle of the thresholds that group these topics best."""
    scores = {threshold: score(data, grouped(data, fitted, threshold), topics).f1 for threshold in THRESHOLDS}
    good = [threshold for threshold, f1 in scores.items() if f1 >= max(scores.values()) - 0.005]
    return replace(fitted, threshold=good[len(good) // 2])


def cross_validated(data: Compared, start: Fitted) -> Score:
    """Every topic grouped among all questions by weights that have not seen it."""
    topics = sorted({one.topic for one in data.questions})
    total = Score()
    for round_ in range(ROUNDS):
        random.Random(round_).shuffle(topics)
        for fold in range(FOLDS):
            unseen = topics[fold::FOLDS]
            seen = [topic for topic in topics if topic not in unseen]
            known = [not {data.questions[at].topic for at in pair} & set(unseen) for pair in data.pairs]
            learnt = with_threshold(data, fit(data, known, start), seen)
            total += score(data, grouped(data, learnt, learnt.threshold), unseen)
    return total


# -- the command --------------------------------------------------------------------------------------------------------


def one_a_topic(questions: Sequence[Question]) -> tuple[str, ...]:
    """Unrelated questions: of each topic the first one in each language, in turns Japanese and English."""
    found: dict[str, dict[str, str]] = {}
    for one in questions:
        found.setdefault(one.topic, {}).setdefault(language_of(one.text), one.text)
    return tuple(texts["ja" if at % 2 else "en"] for at, texts in enumerate(found.values()))


async def run(write: bool) -> None:
    embedder = LocalEmbedder(Path.home() / ".cache" / "kotae")
    questions = read(GOLDEN)
    unrelated = one_a_topic(questions)
    blank = Fitted(embedder.name, 0.0, dict.fromkeys(SIGNALS, 0.0), 0.5, {}, unrelated)
    grouping = Grouping(embedder, blank)
    start = replace(blank, cosines=calibrate(unrelated, await grouping.vectors(unrelated)))
    data = await compared(questions, grouping, start)
    print(
        f"{len(questions)} questions, {int(data.together.sum())} pairs together, cross-validated: {cross_validated(data, start)}"
    )
    topics = sorted({one.topic for one in questions})
    fitted = rounded(with_threshold(data, fit(data, [True] * len(data.pairs), start), topics))
    tell("in sample", data, fitted)
    if HELD_OUT.exists():
        tell("held out", await compared(read(HELD_OUT), grouping, fitted), fitted)
    print(f"bias {fitted.bias:+.2f}  " + "  ".join(f"{name} {weight:+.2f}" for name, weight in fitted.signals.items()))
    print(f"threshold {fitted.threshold}")
    if write:
        save(fitted)


def tell(title: str, data: Compared, fitted: Fitted) -> None:
    found = grouped(data, fitted, fitted.threshold)
    print(f"{title}: {score(data, found, {one.topic for one in data.questions})}")
    for pair, together in zip(data.pairs, data.together.tolist(), strict=True):
        if (pair in found) != (together == 1):
            texts = " | ".join(data.questions[at].text for at in pair)
            print(f"    {'apart   ' if together else 'together'} {texts}")


def rounded(fitted: Fitted) -> Fitted:
    """As it is shipped, so that the figures are those of the file."""
    return replace(
        fitted,
        bias=round(fitted.bias, 4),
        signals={name: round(weight, 4) for name, weight in fitted.signals.items()},
        cosines={kind: (round(mean, 4), round(spread, 4)) for kind, (mean, spread) in fitted.cosines.items()},
    )


def save(fitted: Fitted) -> None:
    values = {
        "embedder": fitted.embedder,
        "bias": fitted.bias,
        "signals": dict(fitted.signals),
        "threshold": fitted.threshold,
        "cosines": {kind: list(pair) for kind, pair in fitted.cosines.items()},
        "unrelated": list(fitted.unrelated),
    }
    WEIGHTS.write_text(json.dumps(values, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put the new weights into the package")
    given = parser.parse_args()
    asyncio.run(run(given.write))


if __name__ == "__main__":
    main()
