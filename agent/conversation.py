"""The context of a turn when it begins, and the conversation with the model built from it, within bounds."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from typing import NamedTuple

from agent.citations import without_marks
from agent.links import visible
from agent.models.base import (
    Message,
    ModelMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolResult,
    UserMessage,
)
from agent.prompts import prompt, prose
from agent.routing.router import route
from agent.tools import described
from retrieval.i18n import Language
from retrieval.types import CollectionInfo

LANGUAGES: Mapping[Language, str] = {"ja": "Japanese", "en": "English"}

QUESTION_CHARACTERS = 8_000
REPEATED_CHARACTERS = 2_000  # of a question where it is said once more
HISTORY_CHARACTERS = 12_000
HISTORY_EXCHANGES = 12
OVERHEARD_CHARACTERS = 6_000
RESULTS_CHARACTERS = 48_000  # of all tool results in a conversation

_HEAD = re.compile(r"^Result (\d+) \(Score", re.MULTILINE)  # of a passage in a result (`agent.tools.as_result`)
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ECHO = 80  # characters of the instructions that no honest answer has in a row


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier question of the thread and its answer."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Overheard:
    """A message of somebody else in the thread. `author`: a name for people."""

    author: str
    text: str


@dataclass(frozen=True, slots=True)
class Ask:
    """One question with everything its turn may know. `deadline` is in the event loop's time; `reaches_team`: a miss of
    it is shown to people of the team, so that it may be said that somebody who knows will see it."""

    question: str
    language: Language
    history: tuple[Exchange, ...] = ()  # oldest first
    collections: tuple[CollectionInfo, ...] = ()  # those the asker may search
    deadline: float | None = None
    overheard: tuple[Overheard, ...] = ()  # oldest first
    reaches_team: bool = True

    @property
    def needs_search(self) -> bool:
        """Whether the team's documents have to be looked into."""
        return route(self.question, opens=not self.history).search


def opening(ask: Ask, *, today: date | None = None, thinks: bool = False) -> list[Message]:
    """The instructions, the thread so far (its end, if it is long) and the question.

    `today`: the date where the asker is, UTC's if it is not given. `thinks`: the model shows its thinking by itself, so
    it is not asked to write it.
    """
    system = SystemMessage(instructions("system", ask, today, thinks=thinks), ask.language)
    return [system, *thread(ask), asked(ask)]


def instructions(name: str, ask: Ask, today: date | None = None, *, thinks: bool = True, **values: str) -> str:
    """The prompt `name` for this turn."""
    today = today or datetime.now(UTC).date()
    language = LANGUAGES[ask.language]
    return prompt(
        name,
        about=prose("about"),
        answer=prose("answer"),
        language=language,
        today=f"{_WEEKDAYS[today.weekday()]}, {today.isoformat()}",
        collections=described(ask.collections, counts=False),
        thought="" if thinks else prompt("thought", language=language) + "\n",
        **values,
    )


def thread(ask: Ask) -> list[Message]:
    """Earlier questions and their answers. An answer's [n] meant passages of its own turn, so they are left out."""
    messages: list[Message] = []
    for exchange in recent(ask.history):
        messages += [UserMessage(exchange.question), ModelMessage(exchange.answer)]
    return messages


def asked(ask: Ask) -> UserMessage:
    """The question, with the latest of what others said in the thread before it as its context, marked as such."""
    question = without_middle(visible(ask.question), QUESTION_CHARACTERS)
    lines: list[str] = []
    left = OVERHEARD_CHARACTERS
    for other in reversed(ask.overheard):
        name, text = (" ".join(visible(part).split()) for part in (other.author, other.text))
        line = f"- {cut(name, 80)}: {cut(text, OVERHEARD_CHARACTERS // 4)}"
        left -= len(line)
        if left < 0:
            break
        if text:
            lines.append(line)
    return UserMessage(question, prompt("overheard", messages="\n".join(reversed(lines))) if lines else "")


def recent(history: Sequence[Exchange]) -> list[Exchange]:
    """The latest exchanges that fit; older ones are left out whole, one that is too long alone is cut."""
    kept: list[Exchange] = []
    left = HISTORY_CHARACTERS
    for exchange in reversed(history[-HISTORY_EXCHANGES:]):
        question, answer = visible(exchange.question), without_marks(visible(exchange.answer))
        most = HISTORY_CHARACTERS // 4
        short = Exchange(without_middle(question, most), cut(answer, most))
        left -= len(short.question) + len(short.answer)
        if left < 0:
            break
        if short.question.strip() and short.answer.strip():
            kept.append(short)
    return kept[::-1]


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 2] + " …"


def without_middle(question: str, limit: int) -> str:
    """A long question with its beginning and more of its end: what is asked stands behind what was pasted, or before
    it."""
    if len(question) <= limit:
        return question
    head = (limit - 3) // 3
    return f"{question[:head]} … {question[head + 3 - limit :]}"


def bounded(messages: Sequence[Message], most: int = RESULTS_CHARACTERS) -> list[Message]:
    """The conversation with tool results left out whole, as far as they have more than `most` characters: the oldest
    first, of those that came together the least relevant first. The best of the newest always stays; if it is too long
    by itself, as many of its passages as fit. The model is told what is missing.

    Only what a tool has said is ever changed, never what the model has: that goes back as it came (signatures).
    Source: reliability.md R25.
    """
    kept = list(messages)
    results = [
        _Placed(at, n, result)
        for at, message in enumerate(messages)
        if isinstance(message, ToolMessage)
        for n, (_, result) in enumerate(message.results)
    ]
    results.sort(key=_worth)
    size = characters_of_results(messages)
    for at, n, result in results:
        if size <= most:
            break
        last = (at, n) == results[-1][:2]
        room = most - (size - len(result.content))
        short = _shortened(result, room) if last else replace(result, content=_left_out(result.numbers))
        if len(short.content) < len(result.content):
            kept[at] = _with(kept[at], n, short)
            size -= len(result.content) - len(short.content)
    return kept


def characters_of_results(messages: Sequence[Message]) -> int:
    results = (result for message in messages if isinstance(message, ToolMessage) for _, result in message.results)
    return sum(len(result.content) for result in results)


class _Placed(NamedTuple):
    """The `n`-th result of the message at `at`."""

    at: int
    n: int
    result: ToolResult


def _worth(placed: _Placed) -> tuple[int, float, int]:
    best = max((hit.relevance for hit in placed.result.hits), default=0.0)
    return placed.at, best, -placed.n


def _with(message: Message, n: int, result: ToolResult) -> Message:
    if not isinstance(message, ToolMessage):
        return message
    return ToolMessage(tuple((call, result if n == k else old) for k, (call, old) in enumerate(message.results)))


def _shortened(result: ToolResult, room: int) -> ToolResult:
    """As many of the result's passages, whole and best first, as fit into `room` characters with a note on the others;
    the beginning of the first one if that is too long by itself."""
    heads = [match.start() for match in _HEAD.finditer(result.content)]
    room -= len(_left_out(result.numbers)) + 2
    fits = [end for end in (*heads[1:], len(result.content)) if end <= room]
    start = result.content[: fits[-1]].rstrip() if heads and fits else cut(result.content, max(2, room))
    return replace(result, content=f"{start}\n\n{_left_out(result.numbers[max(1, len(fits)) :])}")


def _left_out(numbers: Sequence[int]) -> str:
    """The note to the model. Passages keep their numbers."""
    if not numbers:
        return "(The rest was left out to save space.)"
    shown = ", ".join(str(n) for n in numbers)
    return f"(Results {shown} were left out to save space. Search again if they are needed.)"


def told(messages: Sequence[Message]) -> set[int]:
    """The numbers of the passages whose text stands in the conversation."""
    results = (result for message in messages if isinstance(message, ToolMessage) for _, result in message.results)
    return {int(n) for result in results for n in _HEAD.findall(result.content)}


def narrowed(messages: Sequence[Message], numbers: Collection[int], blocks: Mapping[int, str]) -> list[Message]:
    """The conversation with only these passages among its results, each told once, as `blocks` have them by number."""
    kept: list[Message] = []
    shown: set[int] = set()
    for message in messages:
        if isinstance(message, ToolMessage):
            fine: list[tuple[ToolCall, ToolResult]] = []
            for call, result in message.results:
                pairs = [(n, hit) for n, hit in zip(result.numbers, result.hits, strict=True) if n in numbers]
                new = [blocks[n] for n, _ in pairs if n not in shown]
                shown |= {n for n, _ in pairs}
                if pairs:
                    hits, known = tuple(hit for _, hit in pairs), tuple(n for n, _ in pairs)
                    content = "\n\n".join(new) or "(Shown above.)"
                    fine.append((call, replace(result, content=content, hits=hits, numbers=known)))
            if fine:
                kept += [ModelMessage(calls=tuple(call for call, _ in fine)), ToolMessage(tuple(fine))]
        elif not (isinstance(message, ModelMessage) and message.calls):
            kept.append(message)
    return kept


def neutral(messages: Sequence[Message]) -> list[Message]:
    """The calls made so far and their results, for another model: nothing of a provider's own, nothing that was said
    between."""
    kept: list[Message] = []
    pending: ModelMessage | None = None
    for message in messages:
        if isinstance(message, ModelMessage) and message.calls:
            pending = ModelMessage(calls=message.calls)
        elif isinstance(message, ToolMessage) and pending is not None:
            fine = tuple((call, result) for call, result in message.results if not result.failed)
            if fine:
                kept += [ModelMessage(calls=tuple(call for call, _ in fine)), ToolMessage(fine)]
            pending = None
    return kept


def echoes_instructions(text: str) -> bool:
    """Whether a text repeats a stretch of our instructions word for word."""
    said = _squeezed(text)
    return len(said) >= _ECHO and any(stretch in said for stretch in _stretches())


@lru_cache(maxsize=1)
def _stretches() -> tuple[str, ...]:
    """Overlapping pieces of the instructions; what a prompt is filled in with is not ours, or may be told (`about`)."""
    names = ("system", "thought", "answer", "review", "review_system", "rewrite", "draft", "synthesise", "overheard")
    passages = [_squeezed(passage) for name in names for passage in re.split(r"\$\w+", prose(name))]
    return tuple(
        passage[at : at + _ECHO] for passage in passages for at in range(0, len(passage) - _ECHO + 1, _ECHO // 4)
    )


def _squeezed(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()
