"""A message in the browser, read as what it means to the bot. Pure: what was written in, values out.

Source: product.md §1 and §5.
"""

import re
from dataclasses import dataclass

from adapters.web.channel.rooms import PLATFORM, WORKSPACE, audience, room
from adapters.web.paths import ROOT
from bot.records import RoomMessage
from bot.texts import in_words
from bot.types import UNKNOWN, Audience, Incoming, Place

_NAME = "".join(
    f"[{letter}{letter.upper()}{chr(ord(letter) + 0xFEE0)}{chr(ord(letter.upper()) + 0xFEE0)}]" for letter in "kotae"
)
_MENTION = re.compile(
    rf"(?<![A-Za-z0-9._%+\-])[@＠]{_NAME}(?![A-Za-z0-9_\-]|\.[A-Za-z])(?:さん|くん|君|ちゃん)?[ \t\u3000]*[、,，:："
    rf"]?[ \t\u3000]*"
)
_COMMAND = re.compile(  # also after the mention that stands in the field
    rf"(?:{_MENTION.pattern})?[/／](?P<what>kotae|ingest)(?![\w-])\s*(?P<rest>.*)", re.DOTALL | re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Typed:
    """`/kotae <name> <text>`; or `/ingest <text>`, then `name` is empty."""

    what: str  # kotae | ingest
    name: str
    text: str


def command(text: str) -> Typed | None:
    """The command that a message is; None: it is none."""
    found = _COMMAND.fullmatch(text.strip())
    if found is None:
        return None
    what, rest = found["what"].lower(), found["rest"].strip()
    if what == "ingest":
        return Typed(what, "", rest)
    name, *others = rest.split(maxsplit=1)[:2] or [""]
    return Typed(what, name, others[0] if others else "")


def addressed(text: str) -> bool:
    """Whether the bot is mentioned: `@kotae`, also of wide letters and right before Japanese words."""
    return _MENTION.search(text) is not None


def calls_somebody(text: str) -> bool:
    """Whether somebody is mentioned."""
    return re.search(r"(?<![A-Za-z0-9._%+\-])[@＠]\w", text) is not None


def question(text: str) -> str:
    """The question, without the mention."""
    return _MENTION.sub("", text).strip()


def incoming(message: RoomMessage, address: str) -> Incoming:
    """A message as a question, with what was chosen for it. What else is known of it is looked up later. One that says
    no word, and has no thread before it that might, is in the language of the page it was written on."""
    chosen, text = message.data.get("collections"), question(message.text)
    return Incoming(
        place=Place(PLATFORM, WORKSPACE, message.room),
        thread=str(message.root),
        message=str(message.id),
        author=message.author,
        text=text,
        audience=audience_of(message.room),
        language=None if message.thread or in_words(text) else message.data.get("language"),
        link=link(message, address),
        model=message.data.get("model"),
        strategy=message.data.get("strategy"),
        collections=None if chosen is None else tuple(chosen),
    )


def audience_of(name: str) -> Audience:
    """Of a room by its id; one that is not there any more is read by nobody knows whom."""
    try:
        return audience(room(name))
    except LookupError:
        return UNKNOWN


def link(message: RoomMessage, address: str) -> str:
    """The address under which people find a message; where the pages have none, the way within them."""
    return f"{address}{ROOT}/?room={message.room}&thread={message.root}&message={message.id}#m{message.id}"
