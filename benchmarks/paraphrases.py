"""How well `bot.unanswered.paraphrases.paraphrases` tells questions that say the same: `python -m
benchmarks.paraphrases`.

The pairs were written before the rule; the held-out ones after it, which it has not seen; the turned ones are near
misses that hold the same words. A pair of one meaning that is kept apart costs an expert a second answer; one of two
meanings that is not teaches a wrong one."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bot.unanswered.paraphrases.paraphrases import same

QUESTIONS = Path(__file__).parents[1] / "tests" / "golden"
PAIRS = QUESTIONS / "question_pairs.tsv"
HELD_OUT = QUESTIONS / "question_pairs_held_out.tsv"
TURNED = QUESTIONS / "question_pairs_turned.tsv"


@dataclass(frozen=True, slots=True)
class Pair:
    """`kind`: both in one language, or across."""

    same: bool
    kind: str
    first: str
    second: str


def read(file: Path) -> Iterator[Pair]:
    """Its lines: same or differ, ja, en or across, and the two questions, by tabs."""
    for line in file.read_text("utf-8").splitlines():
        relation, kind, first, second = line.split("\t")
        yield Pair(relation == "same", kind, first, second)


def main() -> None:
    for file in (PAIRS, HELD_OUT, TURNED):
        found: Counter[tuple[str, bool, bool]] = Counter()
        for pair in read(file):
            found[pair.kind, pair.same, same(pair.first, pair.second)] += 1
        print(file.name)
        for kind in ("ja", "en", "across"):
            alike, apart = (
                (found[kind, True, True], found[kind, True, False]),
                (found[kind, False, True], found[kind, False, False]),
            )
            print(
                f"  {kind:7} same: {alike[0]} of {sum(alike)} put together   differ: {apart[0]} of {sum(apart)} put together"
            )


if __name__ == "__main__":
    main()
