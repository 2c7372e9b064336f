"""Additions to the knowledge, by `/ingest`, the modal or the message shortcut: checked, taken in durably, fetched,
and its progress shown in one message.

Who may read it follows from where it comes from; what a modal brings back is only a wish, and is asked about again.
Source: product.md §3 and §5; reliability.md R3, R19, R28, R41 and R44.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from adapters.shared import ingestion
from adapters.shared.ingestion import NotTakenError, Refusals, process
from adapters.slack import files
from adapters.slack.context import SlackContext
from adapters.slack.events import readable
from adapters.slack.rendering.block_kit import (
    Json,
    ModalState,
    Shortcut,
    context_block,
    given_in,
    ingest_modal,
    kept_in,
    notice_modal,
    respond,
    say_once,
    section,
    whisper,
)
from adapters.slack.transport.acks import open_in_time
from adapters.slack.transport.api import SlackApi
from adapters.slack.transport.errors import GoneError, SlackError, UnreachableError, UnsupportedError
from adapters.slack.transport.idempotency import Mark
from bot.errors import StoreError
from bot.types import PUBLIC, Audience, FileRef, IngestionRequest, Place, Post
from retrieval.i18n import Language, Text
from retrieval.loaders.loader import ParsingLimits
from retrieval.types import RAGToolError, UnreadableError

MESSAGES = 1_000  # of a thread
EVERY_SECONDS = 2.0  # between two edits
_LINK = re.compile(
    r"https?://[\w.-]+\.slack(?:-gov)?\.com/archives/(?P<channel>[A-Z0-9]+)/p(?P<seconds>\d+)(?P<rest>\d{6})/?"
    r"(?:\?(?:[\w=&.%-]*&)?thread_ts=(?P<thread>\d+\.\d+)(?:&[\w=&.%-]*\w)?|\?[\w=&.%-]*\w)?",
    re.ASCII,
)
_FOREIGN = Text(en="it is somebody else's file", ja="ほかの人のファイルです")
_FAILED = Text(
    en="Slack did not say what this file is ({code}); try again later",
    ja="Slack からファイルの情報を取得できませんでした（{code}）。時間をおいてもう一度お試しください",
)


async def begin(context: SlackContext, intake: IngestionRequest, response_url: str) -> None:
    """Work off what was just taken in. Where its progress cannot be shown, the verdicts go to `response_url`, if there
    is one; also after a restart, for as long as Slack takes answers there. Raises StoreError."""
    if response_url:
        data = {"response_url": response_url}
        await context.bot.outbox.reserve(Post(intake.id, "notice", 0, intake.place, intake.thread, data=data))
    context.tasks.start(resume(context, intake), "slack-intake")


async def resume(context: SlackContext, intake: IngestionRequest) -> None:
    """Go on with an intake. Raises StoreError."""
    author = await context.places.name(intake.author)

    async def post(post: Post, now: IngestionRequest) -> Post:
        text, blocks = _progress(now, author)
        return await say_once(context, post, text=text, blocks=blocks)

    async def edit(posted: Post, now: IngestionRequest) -> None:
        text, blocks = _progress(now, author)
        channel, mark = posted.place.channel, Mark(now.id, "intake", 0)
        await context.slack.update(channel, posted.message or "", text=text, blocks=blocks, mark=mark, last=now.done)

    async def tell(done: IngestionRequest) -> None:
        for post in await context.bot.outbox.of(done.id):
            if post.kind == "notice":
                url = str(post.data["response_url"])
                await respond(context, url, done.place.channel, done.author, *_progress(done, author))

    fetch = partial(_fetch, context)
    await process(context.bot, intake, fetch, post, edit, tell, seconds=EVERY_SECONDS, unreachable=UnreachableError)


def _progress(intake: IngestionRequest, author: str) -> tuple[str, list[Json]]:
    """Plain text for notifications, and blocks."""
    head, lines = ingestion.progress(intake)
    return head, [*map(section, (head, *lines)), context_block(ingestion.added_by(author, intake.language))]


# -- what is fetched ------------------------------------------------------------------------------------------------


def file_refs(found: Sequence[Mapping[str, Any]], owner: str = "") -> tuple[FileRef, ...]:
    """Files as Slack describes them in a message or a modal; in a modal, only those of its `owner` are read."""
    return tuple(
        FileRef(
            str(file.get("name") or file.get("title") or file["id"]),
            {
                "file": str(file["id"]),
                **({"link": str(file["permalink"])} if file.get("permalink") else {}),
                **({"owner": owner} if owner else {}),
            },
        )
        for file in found
        if file.get("id")
    )


def link_target(text: str) -> tuple[str, str, str] | None:
    """Channel, message and its thread's root of `https://team.slack.com/archives/C1/p1234567890123456?thread_ts=…`."""
    found = _LINK.fullmatch(text.strip())
    if found is None:
        return None
    ts = f"{found['seconds']}.{found['rest']}"
    return found["channel"], ts, found["thread"] or ts


def links_in(text: str) -> list[str]:
    """The links to messages in a text, as they are written there."""
    return [found[0] for found in _LINK.finditer(text)]


async def message_at(slack: SlackApi, channel: str, ts: str, thread: str) -> Json | None:
    """One message as it is now. Raises SlackError."""
    body = await slack.call(
        "conversations.replies", channel=channel, ts=thread, oldest=ts, latest=ts, inclusive=True, limit=10
    )
    return next((one for one in body.get("messages") or () if one.get("ts") == ts and _is_said(one)), None)


async def _fetch(context: SlackContext, file: FileRef) -> bytes:
    match dict(file.ref):
        case {"text": text}:
            return text.encode()
        case {"channel": channel, "thread": thread, "message": message}:
            return await _conversation(context, channel, thread, message)
        case {"file": file_id, "owner": owner}:
            return await files.download(context.slack, await _own(context.slack, file_id, owner), ParsingLimits().file)
        case {"file": file_id}:
            return await files.download(context.slack, {"id": file_id}, ParsingLimits().file)
        case _:
            raise UnreadableError(ingestion.NO_TEXT)


async def _own(slack: SlackApi, file_id: str, owner: str) -> Json:
    """A file, which somebody has to own who names it: the bot sees more than they do."""
    try:
        file: Json = (await slack.call("files.info", file=file_id)).get("file") or {}
    except (GoneError, UnsupportedError):
        return {"id": file_id}  # the download says in words why not
    except SlackError as error:
        raise UnreadableError(_FAILED, code=error.code) from None
    if file.get("user") != owner:
        raise UnreadableError(_FOREIGN)
    return file


async def _conversation(context: SlackContext, channel: str, thread: str, message: str) -> bytes:
    """A thread as Markdown, with who wrote what and when; of a message inside of one, that message alone."""
    try:
        if message == thread:
            found = await context.slack.replies(channel, thread, limit=MESSAGES)
        else:
            one = await message_at(context.slack, channel, message, thread)
            found = [] if one is None else [one]
    except SlackError:
        raise UnreadableError(ingestion.MESSAGE_GONE) from None
    me, parts = context.slack.me, []
    for one in filter(_is_said, found):
        text = await context.places.named(readable(str(one.get("text") or ""), me.user))
        if text and one.get("user") != me.user:
            name = await context.places.name(str(one["user"])) if one.get("user") else str(one.get("username") or "bot")
            day = f"{datetime.fromtimestamp(float(one['ts']), UTC):%Y-%m-%d}"
            parts.append((day, f"**{name}** ({day}):\n\n{text}"))
    if not parts:
        raise UnreadableError(ingestion.NO_TEXT if found else ingestion.MESSAGE_GONE)
    return ingestion.dated(parts)


def _is_said(message: Mapping[str, Any]) -> bool:
    return message.get("subtype") != "tombstone"  # what is left of a deleted message that has replies


def thread_name(channel: str, ts: str, text: str) -> str:
    """The name of a message with its thread."""
    return ingestion.message_name(text, channel, f"{channel} {ts}", datetime.fromtimestamp(float(ts), UTC))


log = logging.getLogger(__name__)

_MEMBERS = Text(
    en="Only full members of the workspace can add to the knowledge.",
    ja="ナレッジに追加できるのは、ワークスペースの正式メンバーだけです。",
)
_OUTSIDERS = Text(
    en="Guests or people from outside read this channel, so nothing can be added here. Use a channel of your team's, "
    "or write to me directly.",
    ja="このチャンネルはゲストや社外の人も見ているため、ここからは追加できません。チームだけのチャンネルか、私への"
    "ダイレクトメッセージをお使いください。",
)
_UNKNOWN = Text(
    en="I cannot tell who reads this channel. If I am not in it, invite me with /invite and try again.",
    ja="このチャンネルを誰が見ているのか確認できません。私が参加していない場合は、/invite "
    "で招待してからもう一度お試しください。",
)
_REFUSALS = Refusals(_MEMBERS, _OUTSIDERS, _UNKNOWN)
_NO_LINK = Text(en="This is not a link to a message in Slack.", ja="Slack のメッセージへのリンクではありません。")
_NO_MESSAGE = Text(
    en="That message is not there, or it is in a channel that you or I am not in.",
    ja="そのメッセージは存在しないか、あなたか私が参加していないチャンネルにあります。",
)
_NOT_HERE = Text(
    en="You or I am not in that channel. Invite me there with /invite first.",
    ja="あなたか私がそのチャンネルに参加していません。先に /invite で私を招待してください。",
)


@dataclass(frozen=True, slots=True)
class _Wish:
    """An addition: its giver, the gesture (`claim`), the channel it came from, and the choices made for it."""

    user: str
    claim: str
    channel: str
    language: Language
    url: str = ""  # where the gesture can be answered
    collection: str = ""
    scope: str = ""


# -- the modal --------------------------------------------------------------------------------------------------------


async def ask(context: SlackContext, body: Json, channel: str = "", used_on: Shortcut | None = None) -> None:
    """Open the modal; where nobody adds anything, one that says why."""
    user, url = str(body.get("user_id") or body["user"]["id"]), str(body.get("response_url") or "")
    direct = "" if channel else str(body["view"]["private_metadata"])  # App Home
    message, thread = (used_on.message, used_on.thread) if used_on else ("", "")
    kept = ModalState(channel, url, message, thread, direct)
    tell = partial(_tell, context, user, kept)
    await open_in_time(context, body["trigger_id"], _view(context, user, kept, used_on), user, tell)


async def _view(context: SlackContext, user: str, kept: ModalState, used_on: Shortcut | None) -> Json:
    language = await context.language_of(user)
    place = context.place(kept.channel)
    try:
        if kept.channel:
            scopes, audience = await _scopes(context, user, place)
        else:
            actor = await context.places.actor(user)
            if actor.role == "outsider":
                raise NotTakenError(_MEMBERS)
            scopes, audience = (), PUBLIC
        collections = await context.bot.ingestion.collections(place, audience)
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


async def take_typed(context: SlackContext, body: Json, text: str) -> str:
    """`/ingest <link>` or `/ingest <text>`, with what is the default at its place; what to say about it.

    Which of both a text with links in it is: `adapters.shared.ingestion.link_meant`.
    """
    user = body["user_id"]
    language = await context.language_of(user)
    claim = f"slack:{context.slack.me.team}:command:{body['trigger_id']}"
    wish = _Wish(user, claim, body["channel_id"], language, str(body.get("response_url") or ""))
    try:
        target = _target(text)
        if target is not None:
            await _take_message(context, wish, target)
            return (ingestion.STARTED if link_target(text) else ingestion.MESSAGE_STARTED).to(language)
        if ingestion.is_address(text):
            raise NotTakenError(_NO_LINK)
        await _take(context, wish, context.place(wish.channel), None, (ingestion.pasted(text, "", language),))
    except NotTakenError as error:
        given = f"\n\n{ingestion.GIVEN.to(language)}\n{text}" if error.reason is ingestion.AMBIGUOUS else ""
        return error.text(language) + given
    except (StoreError, RAGToolError, ValueError) as error:
        log.warning("an /ingest could not be stored: %s", error)
        return ingestion.FAILED.to(language)
    return ingestion.STARTED.to(language)


async def take_submitted(context: SlackContext, user: str, view: Json) -> dict[str, str]:
    """The fields of a submitted modal; the errors by their fields, none when it is taken."""
    language = await context.language_of(user)
    kept, given = kept_in(view), given_in(view)
    claim = f"slack:{context.slack.me.team}:view:{view['id']}"
    wish = _Wish(user, claim, kept.channel, language, kept.response_url, given.collection, given.scope)
    try:
        if kept.message:
            await _take_message(context, wish, (kept.channel, kept.message, kept.thread))
        elif given.link:
            if given.files or given.text:
                raise NotTakenError(ingestion.ONE_KIND)
            if (target := _target(given.link)) is None:
                raise NotTakenError(_NO_LINK)
            await _take_message(context, wish, target)
        elif not given.files and (target := _target(given.text, as_text=True)) is not None:
            await _take_message(context, wish, target)
        else:
            refs = file_refs(given.files, user)
            if given.text:
                refs += (ingestion.pasted(given.text, given.name, language),)
            if not refs:
                raise NotTakenError(ingestion.NOTHING, "files")
            channel = kept.channel or await _chosen(context, user, given.channel)
            await _take(context, wish, context.place(channel), None, refs)
    except NotTakenError as error:
        return {_field(view, error.field): error.text(language)}
    except (StoreError, RAGToolError, ValueError) as error:
        log.warning("what a modal held could not be stored: %s", error)
        return {_field(view, ""): ingestion.FAILED.to(language)}
    return {}


def failed(context: SlackContext, view: Json) -> dict[str, str]:
    """The error of a modal that could not be worked on."""
    return {_field(view, ""): ingestion.FAILED.to(context.language)}


async def tell_late(context: SlackContext, user: str, view: Json, errors: Mapping[str, str]) -> None:
    """Tells the fault of a modal that is closed by now."""
    for text in errors.values():
        await _tell(context, user, kept_in(view), text)


async def _tell(context: SlackContext, user: str, kept: ModalState, text: str) -> None:
    """Say something about a modal that is not open, to whom it was for alone."""
    if kept.response_url:
        await respond(context, kept.response_url, kept.channel, user, text)
    else:
        await whisper(context, kept.channel or kept.direct, user, text)


def _target(text: str, *, as_text: bool = False) -> tuple[str, str, str] | None:
    """The message that a text is about; None: the text itself is meant. Raises NotTakenError when nobody can tell."""
    meant = ingestion.link_meant(text, links_in(text), as_text=as_text)
    return link_target(meant) if meant else None


async def _chosen(context: SlackContext, user: str, channel: str) -> str:
    """A channel that was chosen in the modal, if its chooser reads it and progress can be shown there."""
    if not channel or not (await context.places.is_here(channel) and await context.places.is_member(channel, user)):
        raise NotTakenError(_NOT_HERE, "channel")
    return channel


async def _take_message(context: SlackContext, wish: _Wish, target: tuple[str, str, str]) -> None:
    """A message or thread, for those who read its own channel: nobody carries it out of there by a link."""
    channel, ts, thread = target
    if channel != wish.channel:
        if not await context.places.is_member(channel, wish.user):
            raise NotTakenError(_NO_MESSAGE)
        wish = replace(wish, scope="")  # it was chosen for another channel
    try:
        message = await message_at(context.slack, channel, ts, thread)
    except SlackError as error:
        log.info("a message to be added could not be read: %s", error.code)
        message = None
    if message is None:
        raise NotTakenError(_NO_MESSAGE)
    text = readable(str(message.get("text") or ""), context.slack.me.user)
    refs = file_refs(await files.named(context.slack, message.get("files") or ()))
    if text or message.get("reply_count") or not refs:
        link = context.slack.permalink(channel, ts, thread)
        ref = {"channel": channel, "thread": thread, "message": ts, "link": link}
        refs = (FileRef(thread_name(channel, ts, text), ref), *refs)
    await _take(context, wish, context.place(channel), thread, refs)


async def _take(context: SlackContext, wish: _Wish, place: Place, thread: str | None, refs: Sequence[FileRef]) -> None:
    scopes, audience = await _scopes(context, wish.user, place)
    scope = wish.scope if wish.scope in scopes else ""
    wanted = IngestionRequest("", place, thread, wish.user, wish.collection, scope, wish.language, tuple(refs))
    taken = await ingestion.accept(context.bot, wish.claim, wanted, scopes, audience)
    if taken is not None:
        await begin(context, taken, wish.url)


async def _scopes(context: SlackContext, user: str, place: Place) -> tuple[tuple[str, ...], Audience]:
    """Raises NotTakenError."""
    actor, audience = context.places.actor(user), context.places.audience(place.channel, user)
    found = await ingestion.scopes(context.bot, place, actor, audience, _REFUSALS)
    if await context.places.is_out(place.channel, user):
        raise NotTakenError(_NOT_HERE)
    return found


def _field(view: Json, wanted: str) -> str:
    """An error can only be shown at a field that the modal has."""
    fields = view["state"]["values"]
    return wanted if wanted in fields else str(next(iter(fields)))
