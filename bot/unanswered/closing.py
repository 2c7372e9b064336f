"""The questions that an answer to one of several closes: those that say the same as it, and no others. What is shown
before (card, form, page) and what is done then come from here alike. Source: product.md §4."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from agent.routing.follow_up import goes_on
from bot.types import Question
from bot.unanswered.paraphrases.paraphrases import alike, wording
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
        distinct: dict[tuple[str, str], Choice] = {}
        for one, is_same in said:
            distinct.setdefault(_key(one), Choice(one.id, one.question, is_same))
        distinct.pop(_key(self.reference), None)
        return tuple(distinct.values())

    @property
    def too(self) -> tuple[str, ...]:
        """The other wordings that are closed."""
        return _wordings(self.closes, self.reference)

    @property
    def left(self) -> tuple[str, ...]:
        """The wordings that stay open."""
        return _wordings(self.others, self.reference)


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
    keys = [_key(one) for one in questions]
    ticked = {key for key, one in zip(keys, questions, strict=True) if one.id in closes} | {_key(chosen)}
    unticked = {key for key, one in zip(keys, questions, strict=True) if one.id in leaves} - ticked
    said = _alike(chosen, questions)
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
    keys = Counter(map(_key, shared))
    return max(shared, key=lambda one: (keys[_key(one)], one.asked_at, one.id), default=None)


def stands_alone(question: Question) -> bool:
    return says_all(question.question, follows=question.follows)


def says_all(words: str, *, follows: bool) -> bool:
    """Whether a question's words alone say what is asked; not those of 「いつまで？」, which ask for something else
    after each question that it `follows` in its thread."""
    return not (follows and goes_on(words))


def _alike(chosen: Question, others: Sequence[Question]) -> list[bool]:
    """Of each, whether it says the same; what goes on from something else only says the same as itself."""
    alone = stands_alone(chosen)
    said = alike(chosen.question, [one.question for one in others])
    return [
        one.turn == chosen.turn or (same and alone and stands_alone(one))
        for one, same in zip(others, said, strict=True)
    ]


def _key(question: Question) -> tuple[str, str]:
    """Equal for questions of one wording that ask for one thing."""
    return wording(question.question), "" if stands_alone(question) else question.turn


def _wordings(questions: Sequence[Question], besides: Question) -> tuple[str, ...]:
    distinct: dict[tuple[str, str], str] = {}
    for one in questions:
        distinct.setdefault(_key(one), one.question)
    distinct.pop(_key(besides), None)
    return tuple(distinct.values())
