"""What a turn knows when it begins, and the conversation with the model built from it, within bounds."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agent.models.base import Message, ModelMessage, SystemMessage, ToolMessage, ToolResult, UserMessage
from agent.prompts import prompt, prose
from agent.tools import described
from retrieval.text import Language
from retrieval.types import CollectionInfo

LANGUAGES: Mapping[Language, str] = {"ja": "Japanese", "en": "English"}

QUESTION_CHARACTERS = 8_000
HISTORY_CHARACTERS = 12_000
HISTORY_EXCHANGES = 12
RESULTS_CHARACTERS = 48_000  # of all tool results in a conversation

_ECHO = 80  # characters of the instructions that no honest answer has in a row


@dataclass(frozen=True, slots=True)
class Exchange:
    """An earlier question of the thread and its answer."""

    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Ask:
    """One question with everything its turn may know. `deadline` is in the event loop's time."""

    question: str
    language: Language
    history: tuple[Exchange, ...] = ()  # oldest first
    collections: tuple[CollectionInfo, ...] = ()  # those the asker may search
    deadline: float | None = None


def opening(ask: Ask) -> list[Message]:
    """The instructions, the thread so far (its end, if it is long) and the question."""
    text = prompt(
        "system",
        language=LANGUAGES[ask.language],
        collections=described(ask.collections, counts=False),
    )
    messages: list[Message] = [SystemMessage(text, ask.language, ask.collections)]
    for exchange in recent(ask.history):
        messages += [UserMessage(exchange.question), ModelMessage(exchange.answer)]
    return [*messages, UserMessage(cut(ask.question, QUESTION_CHARACTERS))]


def recent(history: Sequence[Exchange]) -> list[Exchange]:
    """The latest exchanges that fit; older ones are left out whole, one that is too long alone is cut."""
    kept: list[Exchange] = []
    left = HISTORY_CHARACTERS
    for exchange in reversed(history[-HISTORY_EXCHANGES:]):
        short = Exchange(cut(exchange.question, HISTORY_CHARACTERS // 4), cut(exchange.answer, HISTORY_CHARACTERS // 4))
        left -= len(short.question) + len(short.answer)
        if left < 0:
            break
        if short.question.strip() and short.answer.strip():
            kept.append(short)
    return kept[::-1]


def cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 2] + " …"


def bounded(messages: Sequence[Message]) -> list[Message]:
    """The conversation with its oldest tool results left out as far as they are over the bound; the last always stay."""
    places = [at for at, message in enumerate(messages) if isinstance(message, ToolMessage)]
    kept = list(messages)
    size = sum(_size(messages[at]) for at in places)
    for at in places[:-1]:
        if size <= RESULTS_CHARACTERS:
            break
        message = messages[at]
        if isinstance(message, ToolMessage):
            size -= _size(message)
            kept[at] = ToolMessage(tuple((call, _forgotten(result)) for call, result in message.results))
    return kept


def _size(message: Message) -> int:
    return sum(len(result.content) for _, result in message.results) if isinstance(message, ToolMessage) else 0


def _forgotten(result: ToolResult) -> ToolResult:
    if not result.numbers:
        return result
    shown = ", ".join(str(n) for n in result.numbers)
    return replace(result, content=f"(Results {shown} were left out to save space. Search again if they are needed.)")


def neutral(ask: Ask, messages: Sequence[Message]) -> list[Message]:
    """The same turn for another model: its opening, the calls made so far and their results; nothing of a provider's
    own, nothing that was said between."""
    kept = opening(ask)
    pending: ModelMessage | None = None
    for message in messages[len(kept) :]:
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
    for name in ("system", "review"):
        for passage in re.split(r"\$\w+", prose(name)):
            whole = _squeezed(passage)
            if any(whole[at : at + _ECHO] in said for at in range(0, len(whole) - _ECHO + 1, _ECHO // 4)):
                return True
    return False


def _squeezed(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()
