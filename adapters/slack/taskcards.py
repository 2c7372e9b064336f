"""A turn's steps as Slack's task cards and as lines of text. Pure: an event in, the cards so far out.

Source: docs.slack.dev task_update chunk and rich_text block.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from adapters.markdown import shortened, step_text
from agent.events import Drafted, Step, Thought, ToolCalled, ToolReturned
from retrieval.text import Language

Status = Literal["in_progress", "complete", "error"]

TITLE = 250  # characters; the documents say 256
STEP = 1_000  # characters of one step: nobody reads more of a thought in a thread

_BREAK = re.compile(r"[\s、。，．,.]")


@dataclass(frozen=True, slots=True)
class TaskCard:
    """One step. `call`: the tool call that is at work or has returned."""

    text: str
    status: Status = "complete"
    call: str = ""


TaskCards = tuple[TaskCard, ...]


def after(cards: TaskCards, event: Step, language: Language) -> TaskCards:
    """The cards once `event` has happened. The newest is at work until the next event; a tool until it returns."""
    cards = tuple(
        replace(card, status="complete") if card.status == "in_progress" and not card.call else card for card in cards
    )
    text = shortened(step_text(event, language), STEP)
    match event:
        case Drafted():
            return cards
        case Thought():
            return (*cards, TaskCard(text, "in_progress"))
        case ToolCalled(id=call):
            return (*cards, TaskCard(text, "in_progress", call))
        case ToolReturned(id=call, failed=failed):
            status: Status = "error" if failed else "complete"
            at_work = [card.call == call and card.status == "in_progress" for card in cards]
            done = tuple(
                replace(card, status=status) if its else card for card, its in zip(cards, at_work, strict=True)
            )
            return (*done, TaskCard(text, status))
        case _:
            return (*cards, TaskCard(text))


def closed(cards: Sequence[TaskCard]) -> TaskCards:
    """Slack marks a card as broken that is still at work when its message ends. Source: vercel/chat PR 917."""
    return tuple(replace(card, status="complete") if card.status == "in_progress" else card for card in cards)


def chunk(id: str, card: TaskCard, known: TaskCard | None) -> dict[str, Any] | None:
    """What turns `known` into `card` in a stream; None: nothing. To send it again changes nothing further.

    A title and a status are replaced by the next ones; details are added to, so they are sent once. No card links what was
    found: only what an answer cites is linked, and that by the answer (R16).
    Source: openclaw PR 125168.
    """
    if known is not None and (known.text, known.status) == (card.text, card.status):
        return None
    title, details = _title(card.text)
    made: dict[str, Any] = {"type": "task_update", "id": id, "title": title, "status": card.status}
    if details and (known is None or known.text != card.text):
        made["details"] = details
    return made


def weight(card: TaskCard) -> int:
    """Bytes of its text as Slack counts them against a message: details twice. Source: openclaw PR 143882."""
    title, details = _title(card.text)
    return len(title.encode()) + 2 * len(details.encode())


def rich(lines: Sequence[str]) -> dict[str, Any]:
    """Lines as a block in which nothing is markup and nobody is called; each line's label stands out."""
    sections = []
    for line in lines:
        label, colon, words = line.partition(": ")
        elements: list[Mapping[str, Any]] = [{"type": "text", "text": label + colon.rstrip(), "style": {"bold": True}}]
        if words:
            elements.append({"type": "text", "text": f" {words}"})
        sections.append(
            {"type": "rich_text_section", "elements": elements if words else [{"type": "text", "text": line}]}
        )
    return {"type": "rich_text", "elements": sections}


def _title(text: str) -> tuple[str, str]:
    """A card's one line, and what has no room on it."""
    if len(text) <= TITLE:
        return text, ""
    breaks = [found.end() for found in _BREAK.finditer(text, TITLE - 60, TITLE - 1)]
    at = breaks[-1] if breaks else TITLE - 1
    return text[:at].rstrip() + "…", "…" + text[at:]
