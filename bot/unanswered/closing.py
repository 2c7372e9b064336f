"""The questions that an answer to one of several closes: those that say the same as it, and no others. What is shown
before (card, form, page) and what is done then come from here alike. Source: product.md §4."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from bot.types import Question
from bot.unanswered.clustering import squeezed
from bot.unanswered.paraphrases.paraphrases import alike
from retrieval.types import TEAM


@dataclass(frozen=True, slots=True)
class Choice:
    """A wording beside the one that is answered, by one of its questions; `same`: it is closed unless somebody says
    otherwise."""

    id: int
    question: str
    same: bool


@dataclass(frozen=True, slots=True)
class Closing:
    """`reference` is the question that is answered; `closes` are all that say the same, itself too, in the order given;
    `others` stay open."""

    reference: Question
    closes: tuple[Question, ...]
    others: tuple[Question, ...]

    @property
    def choices(self) -> tuple[Choice, ...]:
        """The other wordings that an answer may close, first those that it does. One that the team does not get closes
        none of the team's: it would be theirs."""
        team = any(one.scope == TEAM for one in self.closes)
        others = [one for one in self.others if team or one.scope != TEAM]
        said = [(one, True) for one in self.closes] + [(one, False) for one in others]
        distinct: dict[str, Choice] = {}
        for one, is_same in said:
            distinct.setdefault(squeezed(one.question), Choice(one.id, one.question, is_same))
        distinct.pop(squeezed(self.reference.question), None)
        return tuple(distinct.values())

    @property
    def too(self) -> tuple[str, ...]:
        """The other wordings that are closed."""
        return _wordings(self.closes, self.reference.question)

    @property
    def left(self) -> tuple[str, ...]:
        """The wordings that stay open."""
        return _wordings(self.others, self.reference.question)


def closing(
    questions: Sequence[Question],
    reference: int | None = None,
    *,
    closes: Collection[int] = (),
    leaves: Collection[int] = (),
) -> Closing | None:
    """The questions of these that an answer to `reference` closes; None: to the one that speaks for them. Those that
    say the same, but for the wordings chosen by hand, each by one of its questions: `closes` too, and not `leaves`.
    None when the reference is not there."""
    chosen = _speaker(questions) if reference is None else next((one for one in questions if one.id == reference), None)
    if chosen is None:
        return None
    keys = [squeezed(one.question) for one in questions]
    ticked = {key for key, one in zip(keys, questions, strict=True) if one.id in closes} | {squeezed(chosen.question)}
    unticked = {key for key, one in zip(keys, questions, strict=True) if one.id in leaves} - ticked
    said = alike(chosen.question, [one.question for one in questions])
    if not any(is_same and one.scope == TEAM for one, is_same in zip(questions, said, strict=True)):
        ticked -= {key for key, one in zip(keys, questions, strict=True) if one.scope == TEAM}
    closed = [key in ticked or (same and key not in unticked) for key, same in zip(keys, said, strict=True)]
    return Closing(
        chosen,
        tuple(one for one, is_closed in zip(questions, closed, strict=True) if is_closed),
        tuple(one for one, is_closed in zip(questions, closed, strict=True) if not is_closed),
    )


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
