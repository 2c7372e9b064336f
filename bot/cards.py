"""What the bot shows outside of a turn: a card of plain text that each platform draws in its own widgets."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Link:
    """`url` is http or https."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class Action:
    """A button on open questions. A platform keeps their ids with it; the application asks again who may read them.
    `reference`: the one that is answered."""

    text: str
    questions: tuple[int, ...]
    kind: Literal["answer", "dismiss"] = "answer"
    reference: int | None = None


@dataclass(frozen=True, slots=True)
class Row:
    text: str
    details: tuple[str, ...] = ()
    links: tuple[Link, ...] = ()
    actions: tuple[Action, ...] = ()


@dataclass(frozen=True, slots=True)
class Card:
    """A title, lines under it, rows, and lines at the foot; all plain text, each one line."""

    title: str
    lines: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    foot: tuple[str, ...] = ()
