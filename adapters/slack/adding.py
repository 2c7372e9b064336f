"""What somebody gives to the knowledge, by `/ingest`, the modal or the message shortcut: checked, and taken in durably.

Who may read it follows from where it comes from; what a modal brings back is only a wish, and is asked about again.
Source: product.md §3 and §5; reliability.md R3 and R19.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from adapters import adding as said
from adapters.slack.acks import open_in_time
from adapters.slack.client import SlackError
from adapters.slack.events import readable
from adapters.slack.intake import begin, file_refs, link_target, links_in, message_at, thread_name
from adapters.slack.modals import Kept, Shortcut, given_in, ingest_modal, kept_in
from adapters.slack.office import Office
from adapters.slack.widgets import Json, notice_modal, respond, whisper
from bot.errors import StoreError
from bot.types import Actor, Audience, FileRef, Intake, Place
from retrieval.text import Language, Said
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

TEAM_AUDIENCE = Audience("public")  # of what is shown to a member outside of any channel

_MEMBERS = Said(
    en="Only full members of the workspace can add to the knowledge.",
    ja="ナレッジに追加できるのは、ワークスペースの正式メンバーだけです。",
)
_OUTSIDERS = Said(
    en="Guests or people from outside read this channel, so nothing can be added here. Use a channel of your team's, or "
    "write to me directly.",
    ja="このチャンネルはゲストや社外の人も見ているため、ここからは追加できません。チームだけのチャンネルか、私への"
    "ダイレクトメッセージをお使いください。",
)
_UNKNOWN = Said(
    en="I cannot tell who reads this channel. If I am not in it, invite me with /invite and try again.",
    ja="このチャンネルを誰が見ているのか確認できません。私が参加していない場合は、/invite で招待してからもう一度お試しください。",
)
_NO_LINK = Said(en="This is no link to a message in Slack.", ja="Slack のメッセージへのリンクではありません。")
_NO_MESSAGE = Said(
    en="That message is not there, or it is in a channel that you or I am not in.",
    ja="そのメッセージは存在しないか、あなたか私が参加していないチャンネルにあります。",
)
_NOT_HERE = Said(
    en="You or I am not in that channel. Invite me there with /invite first.",
    ja="あなたか私がそのチャンネルに参加していません。先に /invite で私を招待してください。",
)


class _NotTaken(Exception):
    """What was given is not taken; says why in words. `field` of the modal is the one to mend."""

    def __init__(self, why: Said, field: str = "link") -> None:
        super().__init__(why.en)
        self.why = why
        self.field = field


@dataclass(frozen=True, slots=True)
class _Wish:
    """Who gives something, by what gesture (`claim`), from which channel, and what they chose for it."""

    user: str
    claim: str
    channel: str
    language: Language
    url: str = ""  # where the gesture can be answered
    collection: str = ""
    scope: str = ""


# -- the modal --------------------------------------------------------------------------------------------------------


async def ask(office: Office, body: Json, channel: str = "", used_on: Shortcut | None = None) -> None:
    """Open the modal; where nobody adds anything, one that says why."""
    user, url = str(body.get("user_id") or body["user"]["id"]), str(body.get("response_url") or "")
    kept = Kept(channel, url, used_on.message, used_on.thread) if used_on else Kept(channel, url)
    await open_in_time(office, body["trigger_id"], _view(office, user, kept, used_on))


async def _view(office: Office, user: str, kept: Kept, used_on: Shortcut | None) -> Json:
    language = await office.language_of(user)
    place = office.place(kept.channel)
    try:
        if kept.channel:
            scopes, audience = await _scopes(office, user, place)
        else:
            actor = await office.places.actor(user)
            if actor.role == "outsider":
                raise _NotTaken(_MEMBERS)
            scopes, audience = (), TEAM_AUDIENCE
        collections = await office.bot.ingestion.collections(place, audience)
    except _NotTaken as error:
        return notice_modal(error.why.to(language), language)
    except (StoreError, RAGToolError) as error:
        return notice_modal(error.text(language), language)
    return ingest_modal(language, kept, collections=collections, scopes=scopes, shortcut=used_on)


def used_on(message: Mapping[str, Any], me: str) -> Shortcut:
    """The message of a shortcut."""
    ts, thread = str(message["ts"]), str(message.get("thread_ts") or message["ts"])
    names = tuple(str(file.get("name") or file["id"]) for file in message.get("files") or ())
    text = readable(str(message.get("text") or ""), me)
    return Shortcut(ts, thread, text, names[:10], replies=thread == ts and bool(message.get("reply_count")))


# -- taking it in -----------------------------------------------------------------------------------------------------


async def take_typed(office: Office, body: Json, text: str) -> str:
    """`/ingest <link>` or `/ingest <text>`, with what is the default at its place; what to say about it.

    Which of both a text with links in it is: `adapters.adding.link_meant`.
    """
    user = body["user_id"]
    language = await office.language_of(user)
    claim = f"slack:{office.slack.me.team}:command:{body['trigger_id']}"
    wish = _Wish(user, claim, body["channel_id"], language, str(body.get("response_url") or ""))
    try:
        target = _target(text)
        if target is not None:
            await _take_message(office, wish, target)
            return (said.STARTED if link_target(text) else said.MESSAGE_STARTED).to(language)
        if said.is_address(text):
            raise _NotTaken(_NO_LINK)
        await _take(office, wish, office.place(wish.channel), None, (said.pasted(text, "", language),))
    except _NotTaken as error:
        given = f"\n\n{said.GIVEN.to(language)}\n{text}" if error.why is said.AMBIGUOUS else ""
        return error.why.to(language) + given
    except (StoreError, RAGToolError, ValueError) as error:
        log.warning("an /ingest could not be stored: %s", error)
        return said.FAILED.to(language)
    return said.STARTED.to(language)


async def take_submitted(office: Office, user: str, view: Json) -> dict[str, str]:
    """What a modal holds; the errors by their fields, none when it is taken."""
    language = await office.language_of(user)
    kept, given = kept_in(view), given_in(view)
    claim = f"slack:{office.slack.me.team}:view:{view['id']}"
    wish = _Wish(user, claim, kept.channel, language, kept.response_url, given.collection, given.scope)
    try:
        if kept.message:
            await _take_message(office, wish, (kept.channel, kept.message, kept.thread))
        elif given.link:
            if given.files or given.text:
                raise _NotTaken(said.ONE_KIND)
            if (target := _target(given.link)) is None:
                raise _NotTaken(_NO_LINK)
            await _take_message(office, wish, target)
        elif not given.files and (target := _target(given.text, as_text=True)) is not None:
            await _take_message(office, wish, target)
        else:
            refs = file_refs(given.files, user)
            if given.text:
                refs += (said.pasted(given.text, given.name, language),)
            if not refs:
                raise _NotTaken(said.NOTHING, "files")
            channel = kept.channel or await _chosen(office, user, given.channel)
            await _take(office, wish, office.place(channel), None, refs)
    except _NotTaken as error:
        return {_field(view, error.field): error.why.to(language)}
    except (StoreError, RAGToolError, ValueError) as error:
        log.warning("what a modal held could not be stored: %s", error)
        return {_field(view, ""): said.FAILED.to(language)}
    return {}


def failed(office: Office, view: Json) -> dict[str, str]:
    """The error of a modal that could not be worked on."""
    return {_field(view, ""): said.FAILED.to(office.language)}


async def tell_late(office: Office, user: str, view: Json, errors: Mapping[str, str]) -> None:
    """What is wrong with what a modal held that is closed by now."""
    kept = kept_in(view)
    for text in errors.values():
        if kept.response_url:
            await respond(office, kept.response_url, text)
        elif kept.channel:
            await whisper(office, kept.channel, user, text)


def _target(text: str, *, as_text: bool = False) -> tuple[str, str, str] | None:
    """The message that a text is about; None: the text itself is meant. Raises _NotTaken when nobody can tell."""
    meant = said.link_meant(text, links_in(text), as_text=as_text)
    if isinstance(meant, Said):
        raise _NotTaken(meant)
    return link_target(meant) if meant else None


async def _chosen(office: Office, user: str, channel: str) -> str:
    """A channel that was chosen in the modal, if its chooser reads it and progress can be shown there."""
    if not channel or not (await office.places.is_here(channel) and await office.places.is_member(channel, user)):
        raise _NotTaken(_NOT_HERE, "channel")
    return channel


async def _take_message(office: Office, wish: _Wish, target: tuple[str, str, str]) -> None:
    """A message or thread, for those who read its own channel: nobody carries it out of there by a link."""
    channel, ts, thread = target
    if channel != wish.channel:
        if not await office.places.is_member(channel, wish.user):
            raise _NotTaken(_NO_MESSAGE)
        wish = replace(wish, scope="")  # it was chosen for another channel
    try:
        message = await message_at(office.slack, channel, ts, thread)
    except SlackError as error:
        log.info("a message to be added could not be read: %s", error.code)
        message = None
    if message is None:
        raise _NotTaken(_NO_MESSAGE)
    text = readable(str(message.get("text") or ""), office.slack.me.user)
    refs = file_refs(message.get("files") or ())
    if text or message.get("reply_count") or not refs:
        link = office.slack.permalink(channel, ts, thread)
        ref = {"channel": channel, "thread": thread, "message": ts, "link": link}
        refs = (FileRef(thread_name(channel, ts, text), ref), *refs)
    await _take(office, wish, office.place(channel), thread, refs)


async def _take(office: Office, wish: _Wish, place: Place, thread: str | None, refs: Sequence[FileRef]) -> None:
    scopes, audience = await _scopes(office, wish.user, place)
    scope = wish.scope if wish.scope in scopes else scopes[0]
    collection = wish.collection or (await office.bot.ingestion.collections(place, audience))[0]
    intake = Intake("", place, thread, wish.user, collection, scope, wish.language, tuple(refs))
    taken = await office.bot.ingestion.accept(wish.claim, intake)
    if taken is not None:
        await begin(office, taken, wish.url)


async def _scopes(office: Office, user: str, place: Place) -> tuple[tuple[str, ...], Audience]:
    """Who may be allowed to read what they add at a place, the default first. Raises _NotTaken when nobody."""
    actor, audience = await asyncio.gather(office.places.actor(user), office.places.audience(place.channel, user))
    scopes = office.bot.ingestion.scopes(actor, place, audience)
    if not scopes:
        raise _NotTaken(_why_not(actor, audience), "collection")
    return scopes, audience


def _why_not(actor: Actor, audience: Audience) -> Said:
    if actor.role == "outsider":
        return _MEMBERS
    return _UNKNOWN if audience.visibility == "unknown" else _OUTSIDERS


def _field(view: Json, wanted: str) -> str:
    """An error can only be shown at a field that the modal has."""
    fields = view["state"]["values"]
    return wanted if wanted in fields else str(next(iter(fields)))
