"""The parts that `bot.unanswered.paraphrases.paraphrases` reads a question into."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bot.unanswered.paraphrases.lexicon import PEOPLE, PLACES
from retrieval.i18n import Language

_DATED = frozenset({"?when", "?date", "?time", "?weekday"})
_WAYS = _DATED | {"?where", "?how"}
_COUNTED = frozenset({"?number", "?amount", "?long", "?often"})
_DATES = frozenset({"deadline", "payday", "payment due date", "expiry date"})  # "when is the deadline", "the deadline?"
_NAMED = {  # what is asked for by a noun: the way, the place …
    "+way": ("?how", {"?how"}),
    "+period": ("?long", {"?long", "?number"}),
    "+frequency": ("?often", {"?often", "?number"}),
    "+day": ("?when", _DATED),
    "+place": ("?where", {"?where"}),
}
_MEASURES = frozenset({"limit", "minimum", "fee", "amount", "per diem", "hotel rate", "rate limit"})


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that a question says.

    `bound`: what stands at it (before, from …); `role`: its part in the sentence (subject, object, to, of …), and
    `phrase` whether a preposition says so; `place`: among the parts, in reading order; `name`: a word of no table;
    `case`: of the clause that says in which case; `passive`: a verb that is done to what stands before it."""

    meaning: str
    bound: str = ""
    role: str = ""
    place: int = 0
    phrase: bool = False
    verb: bool = False
    name: bool = False
    case: bool = False
    passive: bool = False

    @property
    def key(self) -> tuple[str, str]:
        return self.meaning, self.bound

    @property
    def person(self) -> bool:
        return self.meaning in PEOPLE

    @property
    def swappable(self) -> bool:
        """Whether another of its kind may stand in its place: people, places, names, numbers with what they count."""
        return self.name or self.person or self.meaning in PLACES or self.meaning[0].isdigit()


@dataclass(frozen=True, slots=True)
class ParsedQuestion:
    """`asked`: what is wanted (`?who`, `?when`, yes or no …), nothing where it is a matter as such (“the deadline?”).
    `modifies`: pairs of places of parts, of which the first says which one the second is."""

    language: Language
    asked: frozenset[str]
    parts: tuple[Part, ...]
    modifies: frozenset[tuple[int, int]]

    @property
    def main(self) -> str:
        """The verb of what is asked: the first in English, the last in Japanese."""
        verbs = [part.meaning for part in self.parts if part.verb and not part.case]
        return verbs[0 if self.language == "en" else -1] if verbs else ""


def settled(
    language: Language, asked: Iterable[str], parts: Sequence[Part], modifies: Iterable[tuple[int, int]]
) -> ParsedQuestion:
    """A reading in which what is said in several ways stands in one: "until when may it be handed in" asks for its
    deadline, and "may" adds nothing to "where"."""
    wanted, parts, idle = set(asked), list(parts), set[str]()
    if "?deadline" in wanted:
        wanted.discard("?deadline")
        parts.append(Part("deadline", place=len(parts)))
    said = {part.meaning for part in parts}
    for noun, (question, questions) in _NAMED.items():
        if noun in said and (not wanted or wanted & questions):
            wanted |= set() if wanted else {question}
            idle.add(noun)
    if said & _DATES and not wanted - _DATED - {"?number", "?which"}:
        if "?number" in wanted and "day" in said:
            idle.add("day")
        wanted = set()
        idle |= {"+must", "+exist", "+may", "+should"}
        idle |= {"submit"} if "deadline" in said else set()
    if said & _MEASURES and wanted <= {"?amount", "?number"}:
        wanted -= {"?amount"} if "rate limit" not in said else {"?amount", "?number"}
    if wanted & (_WAYS | _COUNTED):
        idle |= {"+may", "+exist", "+should"}
    if wanted & _WAYS:
        idle |= {"+must", "hold"}
    if wanted & _COUNTED:
        idle |= {"get", "hold", "掛かる"}
    if "yes or no" in wanted and "get" in said:
        idle.add("+may")
    if "?amount" in wanted:
        idle.add("amount")
    if "?number" in wanted:
        wanted.discard("?long")
    if any(one.startswith("?who") for one in wanted):
        idle.add("+should")
    if "?who" in wanted and parts:
        at = -1 if language == "ja" else 0  # 承認者は誰ですか; who is the approver
        if parts[at].meaning == "approver" and parts[at].role in ("subject", "topic"):
            parts[at] = replace(parts[at], meaning="approve")
        idle |= {"+er"} if parts[at].meaning == "+er" else set()
    wanted -= {"?which", "?what"}
    kept = {part.key: part for part in reversed(parts) if part.meaning not in idle and part.meaning != "-not"}
    denied = [part for part in parts if part.meaning == "-not"]
    whole = sorted((*kept.values(), *denied), key=lambda part: part.place)
    return ParsedQuestion(language, frozenset(wanted), tuple(whole), frozenset(modifies))
