"""The messages of one turn, and where they go: in the thread of its question, else as replies in the channel; each
message once.

Source: product.md §1; reliability.md R6, R10 and R35; discord-api-docs, topics/threads.
"""

import asyncio
import logging
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Any

import discord

from adapters.discord.events import DIRECT, written_in
from adapters.discord.transport.api import Buttons, DiscordApi, Mark
from adapters.discord.transport.errors import (
    ARCHIVED,
    LOCKED,
    UNKNOWN_CHANNEL,
    UNKNOWN_MESSAGE,
    BarredError,
    GoneError,
    HeldError,
    RefusedError,
)
from adapters.discord.transport.message_links import place_at
from adapters.markdown.events import harmless, shortened, without_pings
from adapters.port import PostError
from bot.bot import Bot
from bot.errors import StoreError
from bot.types import Claimed, Post, PostKind
from retrieval.i18n import Language, Text

log = logging.getLogger(__name__)

NAME = 90  # characters of a thread's name, which takes 100
_SLIP = 2  # characters in a row that a correction takes away
_SHUT = frozenset({str(ARCHIVED), str(LOCKED), "50001", "50013"})  # nothing may be posted in the thread

_UNNAMED = Text(en="Question", ja="質問")
_NO_THREADS = Text(
    en="I answer in the channel itself, since I may not open or write in threads here. To change that, allow me Create "
    "Public Threads and Send Messages in Threads (Edit Channel → Permissions).",
    ja="このチャンネルではスレッドの作成または書き込みの権限がないため、チャンネルに直接お答えします。スレッドでお答えできるようにするには、"
    "「チャンネルの編集 → 権限」で「公開スレッドの作成」と「スレッドでメッセージを送る」を許可してください。",
)


@dataclass(frozen=True, slots=True)
class TurnTarget:
    """`channel` takes the messages; `thread` when it is one; else they reply to `reply_to`."""

    channel: str
    thread: str | None
    reply_to: str | None = None


@dataclass(slots=True)
class _Said:
    post: Post
    content: str | None = None  # as it is there, if that is known

    @property
    def channel(self) -> str:
        return str(self.post.data.get("at") or self.post.thread or self.post.place.channel)


class TurnMessages:
    """The messages of a turn, by kind and part. Raises DiscordError, StoreError."""

    def __init__(
        self, client: discord.Client, rest: DiscordApi, bot: Bot, claimed: Claimed, language: Language
    ) -> None:
        self._client = client
        self._rest = rest
        self._bot = bot
        self._turn = claimed.id
        self._message = claimed.message
        self._edited = claimed.edits > 0
        self._language = language
        self._known: dict[tuple[PostKind, int], _Said] = {}
        self._refused: set[tuple[PostKind, int]] = set()  # surely not posted
        self._target: TurnTarget | None = None
        self._gone: GoneError | None = None
        self._choosing = asyncio.Lock()

    def resume(self, posts: Iterable[Post]) -> None:
        """The messages that an earlier attempt at this turn has posted."""
        for post in posts:
            if post.message:
                self._known[post.kind, post.part] = said = _Said(post)
                if self._target is None:
                    self._target = (
                        self._in_channel() if said.channel == self.parent else TurnTarget(said.channel, said.channel)
                    )

    @property
    def parent(self) -> str:
        """The channel of the place, where a sign of life shows before there is a thread."""
        return self._message.place.channel

    def parts(self, kind: PostKind) -> list[Post]:
        """The parts that are there, in their order."""
        return [self._known[key].post for key in sorted(self._known) if key[0] == kind]

    def has(self, kind: PostKind, part: int) -> bool:
        """Whether this part is there."""
        return (kind, part) in self._known

    def room(self) -> float:
        """How many new messages Discord takes at once where the turn's messages go, as far as it has said."""
        return math.inf if self._target is None else self._rest.room(self._target.channel)

    # -- where -------------------------------------------------------------------------------------------------------

    async def target(self) -> TurnTarget:
        """The channel of the turn's messages; the first time that may open a thread."""
        async with self._choosing:
            if self._gone is not None:
                raise self._gone
            if self._target is None:
                try:
                    self._target = await self._choose()
                except GoneError as error:
                    self._gone = error
                    raise
            return self._target

    async def _choose(self) -> TurnTarget:
        message = self._message
        asked_in = written_in(message)
        if message.place.workspace == DIRECT:
            return self._in_channel()
        if asked_in != self.parent or message.thread == self.parent:  # in a thread already
            return TurnTarget(asked_in, asked_in)
        if isinstance(self._client.get_channel(int(message.thread)), discord.Thread):
            return TurnTarget(message.thread, message.thread)
        try:
            thread = await self._rest.start_thread(self.parent, message.thread, self._name())
        except BarredError as error:
            if error.code in ("50001", "50013"):
                await self._tell_once()
            return self._in_channel()
        except GoneError:
            if message.thread == message.message:
                raise
            return self._in_channel()  # a conversation by replies, whose first message was deleted
        except (RefusedError, HeldError) as error:  # a channel without threads, such as a voice channel's; or one with
            # so many new ones that Discord opens no more for minutes
            log.info("no thread in channel %s (%s): the answer goes into the channel", self.parent, error.code)
            return self._in_channel()
        return TurnTarget(thread, thread)

    def _in_channel(self) -> TurnTarget:
        message = self._message
        root = message.message if written_in(message) == self.parent else message.thread
        return TurnTarget(self.parent, None, root)

    def _name(self) -> str:
        """Of a thread: the question, as far as it has room."""
        words = shortened(harmless(self._message.text), NAME)
        return without_pings(words) or _UNNAMED.to(self._language)

    async def _fall_back(self, tried: TurnTarget, error: GoneError) -> bool:
        """Whether the channel can take what its thread does not: one that was locked, or in which we may not write, or
        that was deleted while the question stands in the channel."""
        deleted = error.code == UNKNOWN_CHANNEL and written_in(self._message) == self.parent
        shut = tried.thread is not None and (error.code in _SHUT or deleted)
        parent = self._client.get_channel(int(self.parent))
        if not shut or tried.channel == self.parent or isinstance(parent, discord.ForumChannel):
            return False
        if isinstance(error, BarredError) and error.code in ("50001", "50013"):
            await self._tell_once()
        self._target = self._in_channel()
        return True

    async def _tell_once(self) -> None:
        """Which right is missing: once a channel, and for good."""
        about = f"rights:{self.parent}:threads"
        post = Post(about, "notice", 0, self._message.place)
        try:
            before = await self._bot.outbox.reserve(post)
            if before is not None and before.message is not None:
                return
            text, mark = f"-# {_NO_THREADS.to(self._language)}", Mark(about, "notice", 0)
            sent = await self._rest.post(self.parent, text, mark=mark, maybe_sent=before is not None)
            await self._bot.outbox.confirm(replace(post, message=sent.id))
        except (PostError, StoreError) as error:
            log.info("a missing right could not be told: %s", error)

    # -- messages ----------------------------------------------------------------------------------------------------

    async def put(
        self,
        kind: PostKind,
        part: int,
        content: str,
        *,
        buttons: Buttons = (),
        data: Mapping[str, Any] | None = None,
    ) -> None:
        """Post it, or put it in the place of what is there; without buttons where those are not accepted."""
        try:
            await self._put((kind, part), content, buttons, data or {})
        except RefusedError as error:
            self._refused.add((kind, part))
            if not buttons:
                raise
            log.warning("buttons are refused in the thread of turn %s: %s", self._turn, error)
            await self._put((kind, part), content, (), data or {})

    async def _put(
        self,
        key: tuple[PostKind, int],
        content: str,
        buttons: Buttons,
        data: Mapping[str, Any],
    ) -> None:
        said = self._known.get(key)
        if said is None:
            said = await self._new(key, content, buttons, data)
        if said.content != content:
            message = said.post.message or ""
            try:
                await self._rest.edit(said.channel, message, content, buttons=buttons)
            except GoneError as error:
                if not (self._edited and key[0] == "answer" and error.code == UNKNOWN_MESSAGE):
                    raise
                said = await self._anew(said.post, content, buttons, data)
            said.content = content
        wanted = {**self._data(said.channel), **data}
        if said.post.data != wanted:
            said.post = replace(said.post, data=wanted)
            await self._bot.outbox.confirm(said.post)

    async def _new(
        self,
        key: tuple[PostKind, int],
        content: str,
        buttons: Buttons,
        data: Mapping[str, Any],
    ) -> _Said:
        while True:
            target = await self.target()
            where = self._data(target.channel)
            post = Post(self._turn, *key, self._message.place, target.thread, data={**where, **data})
            before = await self._bot.outbox.reserve(post)
            if before is not None and before.message:
                self._known[key] = said = _Said(before)
                return said
            try:
                sent = await self._rest.post(
                    target.channel,
                    content,
                    mark=Mark(self._turn, *key),
                    buttons=buttons,
                    reply_to=target.reply_to if key[1] == 0 else None,
                    maybe_sent=before is not None and key not in self._refused,
                    is_other=self._is_other,
                )
            except GoneError as error:
                self._refused.add(key)
                if await self._fall_back(target, error):
                    continue
                raise
            self._known[key] = said = _Said(replace(post, message=sent.id), content)
            if sent.content.strip() != content.strip():  # an earlier attempt posted it, in older words
                said.content = None
            await self._bot.outbox.confirm(said.post)
            return said

    async def _anew(self, lost: Post, content: str, buttons: Buttons, data: Mapping[str, Any]) -> _Said:
        """The answer to what the question was before was deleted by somebody."""
        key = (lost.kind, lost.part)
        del self._known[key]
        await self._bot.outbox.confirm(replace(lost, message=None))
        self._refused.add(key)  # nothing of it is there
        return await self._new(key, content, buttons, data)

    def _data(self, channel: str) -> dict[str, Any]:
        """The state to be stored; in the channel itself also of which conversation it is: replies to it go on with
        that."""
        return {"at": channel} | ({"root": self._message.thread} if channel == self.parent else {})

    async def _is_other(self, message: str) -> bool:
        """Whether a message of ours cannot be one of this turn whose id was lost: it is older, or known."""
        if int(message) <= int(self._message.message):
            return True
        return await self._bot.outbox.find(self._message.place, message) is not None

    async def delete(self, post: Post) -> None:
        said = self._known.pop((post.kind, post.part), None) or _Said(post)
        if post.message:
            await self._rest.delete(said.channel, post.message)

    async def unname(self, *, unless_asked: bool = False) -> None:
        """Take a question's words from the name of the thread that was opened for it; `unless_asked`: where the
        question has lost some of them, not only a slip. New ones do not take their place: each name is told in the
        thread, by a message that nobody can delete. Raises DiscordError."""
        message, name = self._message, _UNNAMED.to(self._language)
        if message.place.workspace == DIRECT or message.thread != message.message or written_in(message) != self.parent:
            return
        try:
            thread = await place_at(self._rest, self._client, int(message.thread))
        except GoneError:  # there never was one
            return
        if not isinstance(thread, discord.Thread) or thread.owner_id != self._rest.me or thread.name == name:
            return
        if not (unless_asked and _keeps(thread.name, self._name())):
            await self._rest.rename(message.thread, name)

    async def typing(self) -> None:
        await self._rest.typing((await self.target()).channel)


def _keeps(before: str, now: str) -> bool:
    """Whether nothing but slips of a question's words is gone."""
    changes = SequenceMatcher(None, before, now, autojunk=False).get_opcodes()
    return all(end - begin <= _SLIP for kind, begin, end, *_ in changes if kind != "equal")
