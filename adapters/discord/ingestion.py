"""Additions to the knowledge, by `/ingest`, its form or the menu of a message: checked, taken in durably, fetched,
and its progress shown in one message.

Who may read it follows from where it comes from; what a form or an option brings is only a wish, and is asked about
again. Source: product.md §3 and §5; reliability.md R3, R19, R33 (of a message whose menu was used, Discord gives the
text), R34, R41 and R44."""

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import discord

from adapters.discord.context import DiscordContext
from adapters.discord.events import PLATFORM, Spot, link, name_of, readable, spot
from adapters.discord.files import ExpiredError, download
from adapters.discord.interactions import Gesture, spot_of, tell
from adapters.discord.rendering.components import File, ModalInput, ingest_modal, pieces
from adapters.discord.rendering.markdown import LIMIT, escaped
from adapters.discord.transport.errors import GoneError, UnreachableError
from adapters.discord.transport.message_links import (
    LinkTarget,
    channel_at,
    day,
    links_in,
    message_at,
    reader,
    root_of,
    said_by,
    target_of,
    thread_at,
    transcript,
)
from adapters.discord.transport.outbox import channel_of, say_once
from adapters.port import PostError
from adapters.shared import ingestion
from adapters.shared.ingestion import NotTakenError, Refusals, process
from bot.errors import StoreError
from bot.types import Audience, FileRef, IngestionRequest, Place, Post
from retrieval.i18n import Text
from retrieval.loaders.loader import ParsingLimits
from retrieval.types import RAGToolError, UnreadableError

EVERY_SECONDS = 1.5  # between two edits
_ROOM = 150  # for what stands under the verdicts

_UNREACHABLE = Text(
    en="Discord did not give the information ({code}). Try again later.",
    ja="Discord から情報を取得できませんでした（{code}）。時間をおいてもう一度お試しください。",
)

Told = Callable[[Sequence[str]], Awaitable[None]]


async def resume(context: DiscordContext, intake: IngestionRequest, told: Told | None = None) -> None:
    """Work an intake off. Where its progress cannot be shown, what became of it is `told`, if somebody can be."""
    author = await context.places.name(intake.author)

    async def post(post: Post, now: IngestionRequest) -> Post:
        return await say_once(context, post, _progress(now, author))

    async def edit(posted: Post, now: IngestionRequest) -> None:
        await context.rest.edit(channel_of(posted), posted.message or "", _progress(now, author))

    async def tell(done: IngestionRequest) -> None:
        if told is not None:
            await told((_progress(done, author),))

    fetch = partial(_fetch, context)
    await process(context.bot, intake, fetch, post, edit, tell, seconds=EVERY_SECONDS, unreachable=UnreachableError)


def _progress(intake: IngestionRequest, author: str) -> str:
    head, lines = ingestion.progress(intake)
    by = f"-# {escaped(ingestion.added_by(author, intake.language))}"
    shown = [head]
    for number, line in enumerate(map(escaped, lines)):
        if sum(map(len, shown)) + len(shown) + len(line) + len(by) + _ROOM > LIMIT:
            left = sum(file.verdict is not None for file in intake.files) - number
            shown.append(escaped(ingestion.more(left, intake.language)))
            break
        shown.append(line)
    return "\n".join((*shown, by))


# -- what is fetched ------------------------------------------------------------------------------------------------


def message_refs(message: discord.Message, workspace: str, me: int, *, thread: int | None) -> tuple[FileRef, ...]:
    """The text of a message, with the replies in its `thread`, and its files; empty: there is nothing to be read."""
    where = {"channel": str(message.channel.id), "message": str(message.id)}
    where["link"] = link(workspace, where["channel"], where["message"])
    text = readable(message, me) if message.author.id != me else ""
    refs: list[FileRef] = []
    if text or thread is not None:
        name = ingestion.message_name(
            text, where["message"], " ".join((where["channel"], where["message"])), message.created_at
        )
        own = said_by(name_of(message.author), day(message), text) if text else ""
        refs.append(FileRef(name, {**where, "text": own, **({} if thread is None else {"thread": str(thread)})}))
    refs += [FileRef(one.filename, {**where, "url": one.url, "attachment": str(one.id)}) for one in message.attachments]
    return tuple(refs)


def thread_refs(thread: discord.Thread, workspace: str) -> tuple[FileRef, ...]:
    """All that was said in a thread."""
    address = link(workspace, str(thread.id), str(thread.id))
    at = discord.utils.snowflake_time(thread.id)
    name = ingestion.message_name(thread.name, str(thread.id), str(thread.id), at)
    return (FileRef(name, {"thread": str(thread.id), "text": "", "link": address.rpartition("/")[0]}),)


async def _fetch(context: DiscordContext, file: FileRef) -> bytes:
    ref = file.ref
    if "url" in ref:
        return await _attachment(context, file)
    if ref.keys().isdisjoint({"message", "thread"}):  # it was pasted
        return ref["text"].encode()
    parts = []
    if ref["text"]:
        parts.append((f"{discord.utils.snowflake_time(int(ref['message'])):%Y-%m-%d}", ref["text"]))
    if "thread" in ref:
        parts += await _replies(context, ref["thread"], ref.get("message", ""))
    if not parts:
        raise UnreadableError(ingestion.NO_TEXT)
    return ingestion.dated(parts)


async def _attachment(context: DiscordContext, file: FileRef) -> bytes:
    """Addresses expire; of a file in a message that is still there Discord gives a new one."""
    try:
        return await download(file.ref["url"], ParsingLimits().file)
    except ExpiredError:
        if "message" not in file.ref:
            raise
        try:
            channel = await channel_at(context.rest, context.client, int(file.ref["channel"]))
            message = await message_at(context.rest, channel, int(file.ref["message"]))
        except PostError:
            message = None
        found = [one for one in message.attachments if str(one.id) == file.ref["attachment"]] if message else []
        if not found:
            raise
        return await download(found[0].url, ParsingLimits().file)


async def _replies(context: DiscordContext, thread: str, root: str) -> list[tuple[str, str]]:
    try:
        channel = await channel_at(context.rest, context.client, int(thread))
        found = await thread_at(context.rest, channel)
    except GoneError:
        raise UnreadableError(ingestion.MESSAGE_GONE) from None
    except PostError as error:
        raise UnreadableError(_UNREACHABLE, code=error.code) from None
    return transcript((message for message in found if str(message.id) != root), context.me)


log = logging.getLogger(__name__)

ADD = "add"
USED = 200  # messages whose form may still come back

_OUTSIDERS = Text(
    en="People from outside the team read this channel, so nothing can be added here. Use a channel of your team's "
    "server, or write to me directly.",
    ja="このチャンネルはチーム外の人も見ているため、ここからは追加できません。チームのサーバーのチャンネルか、私への"
    "ダイレクトメッセージをお使いください。",
)
_UNKNOWN = Text(
    en="I cannot tell who reads this channel. Let me see it (View Channel) and try again.",
    ja="このチャンネルを誰が見ているのか確認できません。私に「チャンネルを見る」権限を付けてからもう一度お試しください。",
)
_REFUSALS = Refusals(ingestion.MEMBERS, _OUTSIDERS, _UNKNOWN)
_NO_LINK = Text(en="This is not a link to a message in Discord.", ja="Discord のメッセージへのリンクではありません。")
_NO_MESSAGE = Text(
    en="That message is not there, or it is in a channel that you or I cannot read.",
    ja="そのメッセージは存在しないか、あなたか私が閲覧できないチャンネルにあります。",
)
_NO_TEXT = Text(
    en="That message has no text or file that I can read. (What I have written myself does not count. Where I lack the "
    "Message Content Intent, use “Add to knowledge” in the message's menu, or paste the text.)",
    ja="そのメッセージには、私が読めるテキストやファイルがありません（私自身の投稿は対象外です。Message Content "
    "Intent が無効な場合は、メッセージのメニューの「ナレッジに追加」を使うか、テキストを貼り付けてください）。",
)


@dataclass(frozen=True, slots=True)
class Wish:
    """The choices somebody made for what they give; empty: as is usual at the place."""

    collection: str = ""
    scope: str = ""


class DiscordIngestion:
    """Takes in what people give."""

    def __init__(self, context: DiscordContext) -> None:
        self._context = context
        self._used: OrderedDict[str, discord.Message] = OrderedDict()

    # -- what is asked for --------------------------------------------------------------------------------------------

    async def form(self, gesture: Gesture, wish: Wish, message: discord.Message | None = None) -> discord.ui.Modal:
        """The form for files or a text, or for the `message` whose menu was used. Raises NotTakenError where nothing
        can be added."""
        language = self._context.language_of(gesture.locale)
        place = spot_of(gesture).place
        scopes, audience = await self._scopes(gesture, str(gesture.user.id), place)
        collections = await self._context.bot.ingestion.collections(place, audience)
        return ingest_modal(
            language,
            f"kotae:{ADD}:{self._remember(message)}",
            collections=tuple(dict.fromkeys(filter(None, (wish.collection, *collections)))),
            scopes=tuple(dict.fromkeys((*(one for one in scopes if one == wish.scope), *scopes))),
            shown=None if message is None else _shown(message),
        )

    async def choices_of(self, gesture: Gesture, what: str) -> list[tuple[str, str]]:
        """The collections or scopes to choose from, by value and in words."""
        place = spot_of(gesture).place
        try:
            scopes, audience = await self._scopes(gesture, str(gesture.user.id), place)
        except NotTakenError:
            return []
        if what == "scope":
            language = self._context.language_of(gesture.locale)
            return [(scope, ingestion.readers_of(scope, language)) for scope in scopes]
        return [(name, name) for name in await self._context.bot.ingestion.collections(place, audience)]

    def _remember(self, message: discord.Message | None) -> str:
        """Its name in the form's id; Discord gives its text with the menu, and maybe never again."""
        if message is None:
            return ""
        name = f"{message.channel.id}:{message.id}"
        self._used[name] = message
        while len(self._used) > USED:
            self._used.popitem(last=False)
        return name

    # -- taking it in -------------------------------------------------------------------------------------------------

    async def take_typed(
        self, gesture: Gesture, wish: Wish, files: Sequence[File], text: str, link: str, title: str
    ) -> Sequence[str]:
        """The options of `/ingest`; what to say about it.

        Whether a text with links in it means a message: `adapters.shared.ingestion.link_meant`.
        """

        async def take() -> Text:
            if link and (files or text):
                raise NotTakenError(ingestion.ONE_KIND)
            only = link or ("" if files else text)
            target = _target(only, as_text=bool(title and not link))
            if target is not None:
                await self._take_message(gesture, wish, target)
                return ingestion.STARTED if target_of(only) else ingestion.MESSAGE_STARTED
            if link or (ingestion.is_address(text) and not files):
                raise NotTakenError(_NO_LINK)
            await self._take_given(gesture, wish, files, text, title)
            return ingestion.STARTED

        return await self._told(gesture, take, text)

    async def take_submitted(self, gesture: Gesture, name: str, given: ModalInput) -> Sequence[str]:
        """The fields of a submitted form; `name`: of the message it is about, or empty."""
        wish = Wish(given["new"] or given["collection"], given["scope"])

        async def take() -> Text:
            channel, _, message = name.partition(":")
            if channel.isdecimal() and message.isdecimal():
                await self._take_message(gesture, wish, LinkTarget(int(channel), int(message)), self._used.get(name))
            elif not given.files and (target := _target(given["text"], as_text=True)) is not None:
                here = target.channel == gesture.channel_id  # else the form's choice was for another channel
                await self._take_message(gesture, wish if here else replace(wish, scope=""), target)
            else:
                await self._take_given(gesture, wish, given.files, given["text"], given["title"])
            return ingestion.STARTED

        return await self._told(gesture, take)

    async def _told(self, gesture: Gesture, take: Callable[[], Awaitable[Text]], text: str = "") -> Sequence[str]:
        """`text`: what was typed, for where it is not clear what was meant."""
        language = self._context.language_of(gesture.locale)
        try:
            started = await take()
        except NotTakenError as error:
            why = escaped(error.text(language))
            return (
                pieces(f"{why}\n\n{ingestion.GIVEN.to(language)}", text)
                if error.reason is ingestion.AMBIGUOUS
                else (why,)
            )
        except GoneError:
            return (_NO_MESSAGE.to(language),)
        except (PostError, StoreError, RAGToolError, ValueError) as error:
            log.warning("what somebody gave could not be taken: %s", error)
            return (ingestion.FAILED.to(language),)
        return (started.to(language),)

    async def _take_given(self, gesture: Gesture, wish: Wish, files: Sequence[File], text: str, title: str) -> None:
        refs = [FileRef(one.name, {"url": one.url, "attachment": one.id}) for one in files]
        if text:
            refs.append(ingestion.pasted(text, title, self._context.language_of(gesture.locale)))
        if not refs:
            raise NotTakenError(ingestion.NOTHING)
        await self._take(gesture, wish, spot_of(gesture), gesture, refs)

    async def _take_message(
        self, gesture: Gesture, wish: Wish, target: LinkTarget, message: discord.Message | None = None
    ) -> None:
        """A message with its thread, or a thread, for those who read its own channel: nobody carries it out of there by
        a link. Raises PostErrors."""
        context = self._context
        channel = await channel_at(context.rest, context.client, target.channel)
        where = spot(channel)
        who: Gesture | discord.Member | None = gesture
        if target.channel != gesture.channel_id:
            who = await reader(context.rest, channel, gesture.user)
        if where is None or who is None:
            raise NotTakenError(_NO_MESSAGE)
        refs: Sequence[FileRef] = ()
        if target.message is not None:
            message = message or await message_at(context.rest, channel, target.message)
        elif isinstance(channel, discord.Thread):
            message = await root_of(context.rest, channel)
            refs = thread_refs(channel, where.place.workspace)
        else:
            raise NotTakenError(_NO_LINK)
        if message is not None:
            thread = message.id if message.flags.has_thread else None
            refs = message_refs(message, where.place.workspace, context.me, thread=thread)
            where = where if thread is None else replace(where, thread=str(thread))
        if not refs:
            raise NotTakenError(_NO_TEXT)
        await self._take(gesture, wish, where, who, refs)

    async def _take(
        self, gesture: Gesture, wish: Wish, where: Spot, who: Gesture | discord.Member, refs: Sequence[FileRef]
    ) -> None:
        """Raises StoreError."""
        context, place = self._context, where.place
        language = context.language_of(gesture.locale)
        user = str(gesture.user.id)
        scopes, audience = await self._scopes(who, user, place)
        wanted = IngestionRequest("", place, where.thread, user, wish.collection, wish.scope, language, tuple(refs))
        claim = f"{PLATFORM}:gesture:{gesture.id}"
        taken = await ingestion.accept(context.bot, claim, wanted, scopes, audience)
        if taken is not None:
            context.tasks.start(resume(context, taken, partial(tell, context, gesture)), "discord-intake")

    async def _scopes(self, who: Gesture | discord.Member, user: str, place: Place) -> tuple[tuple[str, ...], Audience]:
        """Raises NotTakenError."""
        places = self._context.places
        actor, audience = places.actor(who), places.audience(place.channel, user)
        return await ingestion.scopes(self._context.bot, place, actor, audience, _REFUSALS)


def _target(text: str, *, as_text: bool) -> LinkTarget | None:
    """The message that a text is about; None: the text itself is meant. Raises NotTakenError when nobody can tell."""
    meant = ingestion.link_meant(text, links_in(text), as_text=as_text)
    return target_of(meant) if meant else None


def _shown(message: discord.Message) -> str:
    """A message as its form shows it."""
    return "\n".join((message.clean_content, *(one.filename for one in message.attachments))).strip()
