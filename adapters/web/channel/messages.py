"""The rooms as a member sees them: what is written there, and news of it for the pages that show it.

Every look goes by a member, and who is not in a room gets LookupError, never a word of it: pages need not ask again.
Source: product.md §3 and §6; reliability.md R11.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from adapters.web.channel.rooms import Member, Room, audience, enter, place, room, rooms_of
from bot.access import readers
from bot.database import Database
from bot.knowledge.documents import KnowledgeBase
from bot.records import BotMessage, RoomMessage, RoomReplies
from retrieval.types import Hit, Passage

LONGEST = 40_000  # characters of a message
PENDING = 1_000  # changes that a page has not looked at; more are told as one

_NO_MESSAGE = "there is no such message"


@dataclass(frozen=True, slots=True)
class Change:
    """Something in a room is new, changed or gone: look at it again. `message` None: look at the whole room."""

    room: str
    thread: int | None = None  # the root of the thread it stands in; None: it stands in the room
    message: int | None = None


class Changes:
    """The changes since this was made, for one page; what changes often before it is looked at is told once."""

    def __init__(self, rooms: Collection[str]) -> None:
        self._rooms = frozenset(rooms)
        self._pending: dict[Change, None] = {}
        self._news = asyncio.Event()

    def __aiter__(self) -> AsyncIterator[Change]:
        return self

    async def __anext__(self) -> Change:
        while not self._pending:
            self._news.clear()
            await self._news.wait()
        change = next(iter(self._pending))
        del self._pending[change]
        return change

    def tell(self, change: Change) -> None:
        if change.room not in self._rooms:
            return
        if len(self._pending) >= PENDING:
            self.tell_all()
        else:
            self._pending[change] = None
            self._news.set()

    def tell_all(self) -> None:
        """Anything may have changed."""
        self._pending = dict.fromkeys(Change(name) for name in sorted(self._rooms))
        self._news.set()


class Board:
    """One for the process; pages also hear of what other processes change. All that reads or writes raises
    StoreError."""

    def __init__(self, data: Database, knowledge: KnowledgeBase) -> None:
        self._messages = data.messages
        self._knowledge = knowledge
        self._subscribed: set[Changes] = set()
        self._messages.listen(self._heard)

    @property
    def shared(self) -> bool:
        """Whether other processes may serve the rooms too."""
        return self._messages.shared

    # -- reading -----------------------------------------------------------------------------------------------------

    async def messages(
        self, room: Room, member: Member, thread: int | None = None, before: int | None = None, limit: int = 50
    ) -> list[RoomMessage]:
        """The newest `limit`, oldest first: of the room itself, or of a thread with its root. `before`: a message's id.

        A deleted root shows as long as its thread goes on. Raises LookupError.
        """
        enter(room, member)
        found = await self._messages.listed(room.id, thread, before=before, limit=max(1, limit))
        return await self._readable(room, found)

    async def threads(self, room: Room, member: Member, roots: Collection[int]) -> dict[int, RoomReplies]:
        """The messages under these messages of the room; those without replies are not in it. Raises LookupError."""
        enter(room, member)
        return await self._messages.replies(room.id, roots)

    async def get(self, member: Member, message: int) -> RoomMessage:
        """Raises LookupError, also for a deleted one."""
        found = await self._messages.get(message)
        if found is None or found.deleted_at is not None:
            raise LookupError(_NO_MESSAGE)
        where = self._entered(found, member)
        return (await self._readable(where, [found]))[0]

    async def own(self, member: Member, message: int) -> RoomMessage:
        """The messages this member wrote. Raises LookupError; PermissionError for what somebody else wrote."""
        found = await self.get(member, message)
        if found.author != member.id or found.kind != "text":
            raise PermissionError("only who wrote a message may change it")
        return found

    async def passage(self, member: Member, message: int, n: int) -> Passage | None:
        """The passage that an answer's `[n]` stands for, as it is now; None: not for the readers of this room any more.

        Raises LookupError, RAGToolError.
        """
        answer = await self.get(member, message)
        cited = next((each for each in answer.data.get("citations", ()) if each["n"] == n), None)
        if answer.kind != "answer" or cited is None:
            raise LookupError(_NO_MESSAGE)
        where = room(answer.room)
        allowed = readers(place(where), audience(where), str(answer.root))
        named = (cited["collection"], cited["document"])
        document = (await self._messages.documents({named}, allowed)).get(named)
        if document is None:
            return None
        wanted = Passage(cited["collection"], document, cited["document"], cited["chunk"], "", "")
        found = await self._knowledge.context(Hit(wanted, {}, 0.0), allowed, around=0)
        return next((one for one in found if one.chunk == cited["chunk"]), None)

    @contextmanager
    def subscribe(self, member: Member, room: Room | None = None) -> Iterator[Changes]:
        """`with board.subscribe(member) as changes: async for change in changes: …`: what changes from now on in a
        room, or in all of this member's. Raises LookupError."""
        if room is not None:
            enter(room, member)
        changes = Changes([each.id for each in (rooms_of(member) if room is None else (room,))])
        self._subscribed.add(changes)
        try:
            yield changes
        finally:
            self._subscribed.discard(changes)

    # -- people ------------------------------------------------------------------------------------------------------

    async def post(
        self, room: Room, author: Member, text: str, thread: int | None = None, *, data: Mapping[str, Any] | None = None
    ) -> RoomMessage:
        """Keep what a member writes in a room or thread. Raises LookupError; ValueError for a text that is too long."""
        enter(room, author)
        posted = await self._messages.post(room.id, author.id, _fit(text), thread, data or {})
        if posted is None:
            raise LookupError("there is no such thread")
        return self._told(posted)

    async def edit(self, member: Member, message: int, text: str) -> RoomMessage:
        """New words for one's own message. Raises as `own` and `post`."""
        await self.own(member, message)
        edited = await self._messages.edit(message, _fit(text))
        if edited is None:
            raise LookupError(_NO_MESSAGE)
        return self._told(edited)

    async def delete(self, member: Member, message: int) -> None:
        """Take one's own message back. Raises as `own`."""
        await self.own(member, message)
        deleted = await self._messages.delete(message)
        if deleted is not None:
            self._told(deleted)

    # -- the bot, which is in every room -----------------------------------------------------------------------------

    async def put(self, said: BotMessage) -> RoomMessage:
        """Say something, or say it anew."""
        return self._told(await self._messages.put(said))

    async def amend(
        self, message: int, change_said: Callable[[RoomMessage], tuple[str, Mapping[str, Any]] | None]
    ) -> RoomMessage | None:
        """As `Messages.amend`."""
        changed = await self._messages.amend(message, change_said)
        return None if changed is None else self._told(changed)

    async def drop(self, found: Collection[RoomMessage]) -> None:
        """Take back what the bot said."""
        if found:
            await self._messages.drop([each.id for each in found])
            for each in found:
                self._told(each)

    async def of(self, about: str) -> list[RoomMessage]:
        """All that the bot said about this, by kind and part."""
        return await self._messages.of(about)

    async def written(self, message: int) -> RoomMessage | None:
        """A message as it is kept, for whoever answers it; None: there is nothing left of it."""
        found = await self._messages.get(message)
        return None if found is None or found.deleted_at else found

    async def has_thread(self, room: str, root: int) -> bool:
        """Whether there is still something to answer under: a root that was deleted keeps its place."""
        found = await self._messages.get(root)
        return found is not None and found.room == room

    async def heard(self, room: str, thread: int, *, before: int | None = None, limit: int) -> Sequence[RoomMessage]:
        """The newest of a thread, oldest first."""
        return await self._messages.listed(room, thread, before=before, limit=limit)

    async def written_since(self, moment: datetime, limit: int) -> list[RoomMessage]:
        """The latest that people wrote since then, in any room, oldest first."""
        return await self._messages.written_since(moment, limit)

    async def changed(self, message: RoomMessage) -> None:
        """Something about it changed that is kept elsewhere: a vote."""
        self._told(message)
        await self._messages.changed(message)

    # -- parts -------------------------------------------------------------------------------------------------------

    def _told(self, message: RoomMessage) -> RoomMessage:
        self._tell(Change(message.room, message.thread, message.id))
        return message

    def _heard(self, news: tuple[str, int | None, int] | None) -> None:
        if news is None:
            for each in self._subscribed:
                each.tell_all()
        else:
            self._tell(Change(*news))

    def _tell(self, change: Change) -> None:
        for each in self._subscribed:
            each.tell(change)

    def _entered(self, message: RoomMessage, member: Member) -> Room:
        try:
            where = room(message.room)
            enter(where, member)
        except LookupError:
            raise LookupError(_NO_MESSAGE) from None
        return where

    async def _readable(self, where: Room, found: list[RoomMessage]) -> list[RoomMessage]:
        """Without the quotations of documents that are forgotten, or no longer for the readers of this room.

        What it has of an answer's `citations` says whether they are `gone`, and else the `document_id` under which all
        of the room may open the document: None of a file that is for one thread only."""
        named: dict[int, set[tuple[str, str]]] = {}
        for each in found:
            for one in each.data.get("citations", ()):
                named.setdefault(each.root, set()).add((one["collection"], one["document"]))
        there = {
            root: await self._messages.documents(wanted, readers(place(where), audience(where), str(root)))
            for root, wanted in named.items()
        }
        everywhere = await self._messages.documents(
            {each for its in named.values() for each in its}, readers(place(where), audience(where))
        )
        return [_shown(each, there[each.root], everywhere) if each.root in there else each for each in found]


def _shown(
    message: RoomMessage, there: Collection[tuple[str, str]], everywhere: Mapping[tuple[str, str], str]
) -> RoomMessage:
    cited = [
        {**one, "gone": False, "document_id": everywhere.get((one["collection"], one["document"]))}
        if (one["collection"], one["document"]) in there
        else {**one, "quote": "", "url": None, "date": None, "checked": None, "gone": True, "document_id": None}
        for one in message.data.get("citations", ())
    ]
    return replace(message, data={**message.data, "citations": cited}) if cited else message


def _fit(text: str) -> str:
    if len(text) > LONGEST:
        raise ValueError(f"a message has at most {LONGEST} characters")
    return text
