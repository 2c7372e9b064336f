"""Slack's events, read as what they mean to the bot. Pure: a payload in, a value out; nothing is looked up.

Source: docs.slack.dev events `app_mention`, `message`, `reaction_added`, `agent_session_stopped`;
reliability.md R2, R3, R8 and R13.
"""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from agent.routing.router import uncalled
from bot.types import UNKNOWN, Incoming, Place

PLATFORM = "slack"
POSTED_TO = "/slack/events"  # events, gestures and commands over HTTP: one address, as Bolt has it

_SPOKEN = (None, "file_share", "thread_broadcast", "me_message")  # subtypes of what a person says
_LABELLED = re.compile(r"<([@#!]|(?:https?|mailto|tel):)([^<>|]*)(?:\|([^<>]*))?>")
_GROUP = re.compile(r"<!subteam\^[^<>]*>")
_UP = frozenset({"+1", "thumbsup"})
_DOWN = frozenset({"-1", "thumbsdown"})
CHECKS = frozenset({"white_check_mark", "heavy_check_mark", "ballot_box_with_check"})


@dataclass(frozen=True, slots=True)
class Us:
    """The bot's identity there: its user, its bot id, and the workspace it is installed in."""

    user: str
    bot_id: str
    team: str


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody addressed the bot. `stranger`: the event itself says that they belong to another workspace."""

    message: Incoming
    stranger: bool


@dataclass(frozen=True, slots=True)
class Edited:
    """A message that addresses the bot has new words; or no longer does, then `message.text` is what was left. `known`:
    it never mentioned the bot, so only a question that was taken as a follow-up is meant."""

    message: Incoming
    addressed: bool
    stranger: bool
    known: bool = False


@dataclass(frozen=True, slots=True)
class Deleted:
    message: Incoming  # its text is not known


@dataclass(frozen=True, slots=True)
class Replied:
    """Somebody wrote in a thread: perhaps an answer to one of the bot's cards, or, if it mentions nobody, what goes on
    from an answer: that as a question is `follows`."""

    place: Place
    thread: str
    message: str
    author: str
    text: str
    stranger: bool
    follows: Incoming | None = None


@dataclass(frozen=True, slots=True)
class Reacted:
    """A thumb on a message, or its end (`vote` None). `thumb`: which one was taken away."""

    place: Place
    message: str
    author: str
    vote: Literal["up", "down"] | None
    thumb: Literal["up", "down"]


@dataclass(frozen=True, slots=True)
class HomeOpened:
    """Somebody looks at the App Home; `channel` is their conversation with the bot."""

    user: str
    channel: str


@dataclass(frozen=True, slots=True)
class Welcomed:
    """Somebody looks at their conversation with the bot."""

    user: str
    channel: str


@dataclass(frozen=True, slots=True)
class StopPressed:
    """Somebody pressed Slack's own Stop in a thread. `until`: what was said later is not meant."""

    place: Place
    thread: str
    author: str
    until: str


Seen = Asked | Edited | Deleted | Replied | Reacted | HomeOpened | Welcomed | StopPressed


def seen(body: Mapping[str, Any], us: Us) -> Seen | None:
    """An event envelope's payload, read as what it asks of the bot; None: nothing. Never raises, whatever the payload
    is."""
    try:
        event = body["event"]
        match event["type"]:
            case "app_mention":
                return _said(event, us, addressed=True)
            case "message":
                return _message(event, us)
            case "reaction_added" | "reaction_removed":
                return _reaction(event, us)
            case "agent_session_stopped":
                place = Place(PLATFORM, us.team, _id(event["channel"]))
                return StopPressed(place, _id(event["thread_ts"]), _id(event["user"]), _id(event["event_ts"]))
            case "app_home_opened" if event.get("tab") == "home":
                return HomeOpened(_id(event["user"]), _id(event["channel"]))
            case "app_home_opened" if event.get("tab") == "messages":
                return Welcomed(_id(event["user"]), _id(event["channel"]))
    except (KeyError, TypeError, AttributeError, ValueError):
        return None  # not of a form that Slack documents: acknowledged and forgotten
    return None


def incoming(event: Mapping[str, Any], us: Us) -> Incoming:
    """A message as a question; of one that only forwards others, their words. Who reads its place is not in the event:
    it is looked up. Raises KeyError, TypeError, ValueError for what is not of a message's form."""
    ts = _id(event["ts"])
    return Incoming(
        place=Place(PLATFORM, us.team, _id(event["channel"])),
        thread=_id(event.get("thread_ts") or ts),
        message=ts,
        author=_id(event["user"]),
        text=uncalled(
            words(event, us.user), [readable(one)[1:] for one in _GROUP.findall(str(event.get("text") or ""))]
        ),
        audience=UNKNOWN,
    )


def words(event: Mapping[str, Any], me: str) -> str:
    """The text of a message as people read it; of one that only forwards others, theirs."""
    said = [readable(str(one.get("text") or ""), me) for one in (event, *forwarded(event))]
    return said[0] or "\n\n".join(filter(None, said))


def forwarded(event: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages that somebody forwards with a direct one, as Slack attaches them, with their files; in other places
    others read what is forwarded there, who may not read where it comes from."""
    if not _direct(event):
        return []
    shared = (one for one in event.get("attachments") or () if one.get("is_share"))
    return [one for one in shared if one.get("files") or str(one.get("text") or "").strip()]


def in_thread(message: Incoming, stranger: bool) -> Replied | None:
    """The same message as a reply in its thread; None: it begins one."""
    return None if message.thread == message.message else answering(message, message.thread, stranger)


def answering(message: Incoming, thread: str, stranger: bool) -> Replied:
    """The same message as a reply in a thread, wherever it stands."""
    return Replied(message.place, thread, message.message, message.author, message.text, stranger)


def _mentions_somebody(text: str) -> bool:
    return re.search(r"<[@!]", text) is not None


def readable(text: str, me: str | None = None, names: Mapping[str, str] | None = None) -> str:
    """Slack's text as people read it: without the mention of `me`, other mentions by name, links with their words and
    the address, which ends where it did."""
    names = names or {}

    def shown(match: re.Match[str]) -> str:
        kind, rest, label = match.groups()
        match kind:
            case "@":
                return "" if rest == me else "@" + (names.get(rest) or label or rest)
            case "#":
                return "#" + (label or rest)
            case "!":
                return "@" + (label or rest.partition("^")[0]).lstrip("@")
            case _:
                address = f"{kind}{rest}".removeprefix("mailto:").removeprefix("tel:")
                if kind.startswith("http") and label and label.strip("/") not in address:
                    return f"{label} ({address})"
                return address + (" " if match.string[match.end() : match.end() + 1].isalnum() else "")

    return html.unescape(_LABELLED.sub(shown, text)).strip()


def mentions(text: str, user: str) -> bool:
    return re.search(rf"<@{re.escape(user)}(?:\|[^<>]*)?>", text) is not None


def stirs(event: Mapping[str, Any], us: Us) -> tuple[str, str, bool] | None:
    """The channel and thread of which an event says that people said, edited or deleted something in it, or the message
    that they marked; None: nothing of that. The last: it is a message that was edited or deleted, and nobody says
    whether it has a thread. Raises what `incoming` raises."""
    if event.get("type") in ("reaction_added", "reaction_removed"):
        item = event["item"]
        marked = item.get("type") == "message" and str(event["reaction"]).partition("::")[0] in CHECKS
        return (_id(item["channel"]), _id(item["ts"]), False) if marked else None
    if event.get("type") != "message":
        return None
    about = event.get("message") or event.get("previous_message") or event
    if about is event and event.get("deleted_ts"):  # Slack does not always say what it was
        return _id(event["channel"]), _id(event["deleted_ts"]), True
    if about.get("user") == us.user or (about is event and not event.get("thread_ts")):
        return None
    return _id(event["channel"]), _id(about.get("thread_ts") or about["ts"]), not about.get("thread_ts")


# -- the kinds of message events ------------------------------------------------------------------------------------


def _message(event: Mapping[str, Any], us: Us) -> Seen | None:
    match event.get("subtype"):
        case "message_changed":
            return _changed(event, us)
        case "message_deleted":
            return _deleted(event, us, event.get("deleted_ts") or event["previous_message"]["ts"])
        case subtype if subtype in _SPOKEN:
            return _said(event, us, addressed=_direct(event) or mentions(str(event.get("text") or ""), us.user))
    return None


def _direct(event: Mapping[str, Any]) -> bool:
    """Of an edit Slack's own examples name no type of channel, and in a direct message it may be `app_home`, too."""
    return event.get("channel_type") == "im" or is_direct(_id(event["channel"]))


def is_direct(channel: str) -> bool:
    return channel.startswith("D")


def _said(event: Mapping[str, Any], us: Us, *, addressed: bool) -> Seen | None:
    if not by_a_person(event, us):
        return None
    message = incoming(event, us)
    if addressed:
        return Asked(message, from_elsewhere(event, us))
    reply = in_thread(message, from_elsewhere(event, us))
    if reply is None or _mentions_somebody(str(event.get("text") or "")):
        return reply
    return replace(reply, follows=message)


def _changed(event: Mapping[str, Any], us: Us) -> Seen | None:
    after, before = event["message"], event.get("previous_message") or {}
    if after.get("subtype") == "tombstone":  # deleted, but its thread lives on
        return _deleted(event, us, after["ts"])
    if not by_a_person(after, us) or after.get("text") == before.get("text"):
        return None  # Slack itself unfurled a link, or our reply started a thread
    after = {**after, "channel": event["channel"]}
    addressed = _direct(event) or mentions(str(after.get("text") or ""), us.user)
    was_addressed = _direct(event) or mentions(str(before.get("text") or ""), us.user)
    known = not (addressed or was_addressed)
    if known and not after.get("thread_ts"):
        return None
    return Edited(incoming(after, us), addressed or known, from_elsewhere(after, us), known)


def _deleted(event: Mapping[str, Any], us: Us, ts: Any) -> Deleted | None:
    before = event.get("previous_message") or {}
    if before and not by_a_person(before, us):
        return None
    about = {"ts": ts, "channel": event["channel"], "thread_ts": before.get("thread_ts"), "user": before.get("user")}
    return Deleted(incoming({**about, "user": about["user"] or "unknown"}, us))


def _reaction(event: Mapping[str, Any], us: Us) -> Reacted | None:
    item, name = event["item"], str(event["reaction"]).partition("::")[0]  # "+1::skin-tone-3"
    if item.get("type") != "message" or name not in _UP | _DOWN or event["user"] == us.user:
        return None
    thumb: Literal["up", "down"] = "up" if name in _UP else "down"
    place = Place(PLATFORM, us.team, _id(item["channel"]))
    added = event["type"] == "reaction_added"
    return Reacted(place, _id(item["ts"]), _id(event["user"]), thumb if added else None, thumb)


def by_a_person(event: Mapping[str, Any], us: Us) -> bool:
    """No bot's words, our own included, start anything: two bots would talk forever (R8)."""
    if event.get("bot_id") or event.get("bot_profile") or event.get("subtype") == "bot_message" or event.get("hidden"):
        return False
    return bool(event.get("user")) and event["user"] not in (us.user, "USLACKBOT")


def from_elsewhere(event: Mapping[str, Any], us: Us) -> bool:
    """Slack Connect: the author's own workspace is another one."""
    teams = (event.get("user_team"), event.get("source_team"), event.get("team"))
    return bool(event.get("is_stranger")) or any(str(team)[:1] == "T" and team != us.team for team in teams)


def _id(value: Any) -> str:
    if not isinstance(value, str) or not value or len(value) > 80:
        raise ValueError("not an id")
    return value
