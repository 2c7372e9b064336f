"""The questions that an answer to one of several closes: those that say the same as it, and no others. What is shown
before (card, form, page) and what is done then come from here alike. Source: product.md §4."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from bot.types import Question
from bot.unanswered.clustering import squeezed
from bot.unanswered.paraphrases.paraphrases import alike
from retrieval.types import TEAM


@dataclass(frozen=True, slots=True)
class Closing:
    """`reference` is the question that is answered; `closes` are all that say the same, itself too, in the order given;
    `others` stay open."""

    reference: Question
    closes: tuple[Question, ...]
    others: tuple[Question, ...]

    @property
    def too(self) -> tuple[str, ...]:
        """The other wordings that are closed."""
        return _wordings(self.closes, self.reference.question)

    @property
    def left(self) -> tuple[str, ...]:
        """The wordings that stay open."""
        return _wordings(self.others, self.reference.question)


def closing(questions: Sequence[Question], reference: int | None = None) -> Closing | None:
    """The questions of these that an answer to `reference` closes; None: to the one that speaks for them. None when it
    is not there."""
    chosen = _speaker(questions) if reference is None else next((one for one in questions if one.id == reference), None)
    if chosen is None:
        return None
    said = alike(chosen.question, [one.question for one in questions])
    closes = tuple(one for one, is_same in zip(questions, said, strict=True) if is_same)
    return Closing(chosen, closes, tuple(one for one, is_same in zip(questions, said, strict=True) if not is_same))


def _speaker(questions: Sequence[Question]) -> Question | None:
    """The wording that most used, of equally many the latest; what was asked in a private place does not speak for the
    team."""
    shared = [one for one in questions if one.scope == TEAM] or questions
    keys = Counter(squeezed(one.question) for one in shared)
    return max(shared, key=lambda one: (keys[squeezed(one.question)], one.asked_at, one.id), default=None)


def _wordings(questions: Sequence[Question], besides: str) -> tuple[str, ...]:
    distinct: dict[str, str] = {}
    for one in questions:
        distinct.setdefault(squeezed(one.question), one.question)
    distinct.pop(squeezed(besides), None)
    return tuple(distinct.values())
