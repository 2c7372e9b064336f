"""Messages in the browser's rooms, by people and by the bot: nobody else keeps them. Who may see them is asked before.

Source: product.md §6; reliability.md R6 (said once) and R61 (how long, and for whom).
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, and_, delete, exists, func, or_, select, tuple_, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.records import BOT, BROWSER, BotMessage, MessageKind, RoomMessage, RoomReplies
from bot.store.engine import Store, change, insert, rows, storable
from bot.store.outbox import without_words
from bot.store.schema import documents, messages
from bot.store.signals import Signals
from retrieval.types import Readers

_CHANNEL = "rooms"

News = Callable[[tuple[str, int | None, int] | None], None]
"""Called with the room, thread and id of a message that another process changed; with None when some may have been."""


class Messages(Store):
    """All raise StoreError. What is changed here the other processes of the database hear of."""

    def __init__(self, engine: AsyncEngine, signals: Signals) -> None:
        super().__init__(engine)
        self._signals = signals

    def listen(self, news: News) -> None:
        """From now on, tell of what the other processes change."""
        self._signals.listen(_CHANNEL, lambda said: news(None if said is None else tuple(json.loads(said))))

    async def changed(self, message: RoomMessage) -> None:
        """Something about it changed that is kept elsewhere."""
        await self._signals.say_now(_CHANNEL, _news(message))

    # -- people ------------------------------------------------------------------------------------------------------

    async def post(
        self, room: str, author: str, text: str, thread: int | None, data: Mapping[str, Any]
    ) -> RoomMessage | None:
        """Keep what a person wrote. None: the room has no such thread."""
        root = and_(messages.c.room == room, messages.c.id == thread, messages.c.thread.is_(None))
        values = _values(room, thread, author, "text", text, data)

        def post(db: Connection) -> RoomMessage | None:
            if thread is not None and db.scalar(select(messages.c.id).where(root)) is None:
                return None
            return self._told(db, db.execute(insert(db, messages).values(values).returning(messages)).one())

        return await change(self._engine, post)

    async def edit(self, message: int, text: str) -> RoomMessage | None:
        """New words for what a person wrote. None: it is not there any more."""
        changed = update(messages).where(messages.c.id == message, messages.c.deleted_at.is_(None))
        return await self._one(changed.values(text=storable(text), edited_at=datetime.now(UTC)).returning(messages))

    async def delete(self, message: int) -> RoomMessage | None:
        """Only its place is left of it, for what stands in its thread. None: it is not there any more."""
        changed = update(messages).where(messages.c.id == message, messages.c.deleted_at.is_(None))
        return await self._one(changed.values(text="", data={}, deleted_at=datetime.now(UTC)).returning(messages))

    # -- the bot -----------------------------------------------------------------------------------------------------

    async def put(self, said: BotMessage) -> RoomMessage:
        """A crash of this process loses nothing of it; what a power cut takes, whoever said it says again."""
        values = _values(said.room, said.thread, BOT, said.kind, said.text, said.data)
        values |= {"about": said.about, "part": said.part}
        anew = {"text": values["text"], "data": values["data"]}

        def put(db: Connection) -> RoomMessage:
            added = insert(db, messages).values(values)
            upserted = added.on_conflict_do_update(index_elements=["about", "kind", "part"], set_=anew)
            return self._told(db, db.execute(upserted.returning(messages)).one())

        return await change(self._engine, put, durable=False)

    async def amend(
        self, message: int, change_said: Callable[[RoomMessage], tuple[str, Mapping[str, Any]] | None]
    ) -> RoomMessage | None:
        """Other words and data for what the bot said, from what they are by now, before anybody else changes them;
        None: it is not there any more, or was left as it is."""
        wanted = select(messages).where(messages.c.id == message, messages.c.author == BOT).with_for_update()

        def amend(db: Connection) -> RoomMessage | None:
            row = db.execute(wanted).first()
            now = None if row is None else change_said(_message(row))
            if now is None:
                return None
            anew = update(messages).where(messages.c.id == message).values(text=storable(now[0]), data=dict(now[1]))
            return self._told(db, db.execute(anew.returning(messages)).one())

        return await change(self._engine, amend, durable=False)

    async def drop(self, ids: Collection[int]) -> None:
        """Deletes what the bot said and nobody needs any longer."""
        gone = delete(messages).where(messages.c.id.in_(ids), messages.c.author == BOT).returning(messages)

        def drop(db: Connection) -> None:
            for row in db.execute(gone).all():
                self._told(db, row)

        await change(self._engine, drop, durable=False)

    async def of(self, about: str) -> list[RoomMessage]:
        """All that the bot said about this, by kind and part."""
        wanted = select(messages).where(messages.c.about == about).order_by(messages.c.kind, messages.c.part)
        return [_message(row) for row in await rows(self._engine, wanted)]

    # -- reading -----------------------------------------------------------------------------------------------------

    async def get(self, message: int) -> RoomMessage | None:
        found = await rows(self._engine, select(messages).where(messages.c.id == message))
        return _message(found[0]) if found else None

    async def listed(self, room: str, thread: int | None, *, before: int | None, limit: int) -> list[RoomMessage]:
        """The newest `limit` before the message `before`, oldest first: of a thread with its root, or of the room
        itself.

        Deleted ones only as the roots of threads that go on.
        """
        reply = messages.alias("reply")
        goes_on = exists().where(reply.c.thread == messages.c.id, reply.c.deleted_at.is_(None))
        whole_thread = or_(messages.c.id == thread, messages.c.thread == thread)
        here = messages.c.thread.is_(None) if thread is None else whole_thread
        shown = or_(messages.c.deleted_at.is_(None), and_(messages.c.thread.is_(None), goes_on))
        wanted = select(messages).where(messages.c.room == room, here, shown)
        if before is not None:
            wanted = wanted.where(messages.c.id < before)
        found = await rows(self._engine, wanted.order_by(messages.c.id.desc()).limit(limit))
        return [_message(row) for row in reversed(found)]

    async def replies(self, room: str, roots: Collection[int]) -> dict[int, RoomReplies]:
        """The messages under each of these roots; those without replies are not in it."""
        here = and_(messages.c.room == room, messages.c.thread.in_(roots), messages.c.deleted_at.is_(None))
        counted = (
            select(
                messages.c.thread,
                messages.c.author,
                func.count().label("written"),
                func.max(messages.c.created_at).label("last"),
            )
            .where(here)
            .group_by(messages.c.thread, messages.c.author)
            .order_by(func.min(messages.c.id))
        )
        found: dict[int, RoomReplies] = {}
        for row in await rows(self._engine, counted):
            sofar = found.get(row.thread) or RoomReplies(0, row.last, ())
            authors = (*sofar.authors, row.author)
            found[row.thread] = RoomReplies(sofar.count + row.written, max(sofar.last, row.last), authors)
        return found

    async def written_since(self, moment: datetime, limit: int) -> list[RoomMessage]:
        """The latest that people wrote since then, oldest first."""
        wanted = select(messages).where(
            messages.c.kind == "text", messages.c.created_at >= moment, messages.c.deleted_at.is_(None)
        )
        found = await rows(self._engine, wanted.order_by(messages.c.id.desc()).limit(limit))
        return [_message(row) for row in reversed(found)]

    async def documents(self, named: Collection[tuple[str, str]], readers: Readers) -> dict[tuple[str, str], str]:
        """The ids of documents by collection and name, of those that are there and that `readers` may read."""
        what = tuple_(documents.c.collection, documents.c.name)
        wanted = select(documents.c.collection, documents.c.name, documents.c.id).where(
            what.in_(list(named)), documents.c.scope.in_(readers.scopes)
        )
        found = await rows(self._engine, wanted) if named else ()
        return {(row.collection, row.name): row.id for row in found}

    async def _one(self, statement: Any) -> RoomMessage | None:
        def one(db: Connection) -> RoomMessage | None:
            row = db.execute(statement).first()
            return None if row is None else self._told(db, row)

        return await change(self._engine, one)

    def _told(self, db: Connection, row: Any) -> RoomMessage:
        message = _message(row)
        self._signals.say(db, _CHANNEL, _news(message))
        return message


# -- what is not kept any longer, inside the caller's transaction ------------------------------------------------------


def forget_turns(
    db: Connection,
    turns: Collection[str],
    questions: Collection[int],
    stays: Callable[[Mapping[str, Any]], bool] = lambda card: False,
) -> None:
    """Deletes what the bot said in these turns, and the cards and confirmations that hold the words of these misses; a
    card that `stays` (by its data) only loses its words."""
    db.execute(delete(messages).where(messages.c.about.in_(turns)))
    said = select(messages.c.id, messages.c.kind, messages.c.data).where(messages.c.kind.in_(("card", "confirm")))
    for row in db.execute(said).all() if questions else ():
        its = messages.c.id == row.id
        if {*questions}.isdisjoint(row.data.get("questions", ())):
            continue
        if row.kind == "card" and stays(row.data):
            db.execute(update(messages).where(its).values(text="", data=without_words(row.data)))
        else:
            db.execute(delete(messages).where(its))


def forget_confirms(db: Connection, questions: Collection[int]) -> None:
    """Deletes the questions whether replies are the answer to one of these misses, whose words they hold."""
    _delete_where(db, ("confirm",), lambda data: data.get("reference") in questions)


def forget_author(db: Connection, platform: str, person: str) -> None:
    """Deletes what a person wrote, and what the bot said to them by name. The root of a thread leaves its place."""
    if platform != BROWSER:
        return
    theirs = messages.c.author == person
    reply = messages.alias("reply")
    db.execute(delete(messages).where(theirs, ~exists().where(reply.c.thread == messages.c.id)))
    gone = {"author": "", "text": "", "data": {}, "deleted_at": datetime.now(UTC)}
    db.execute(update(messages).where(theirs).values(gone))
    _delete_where(db, ("notice", "intake", "confirm"), lambda data: person in (data.get("who"), data.get("by")))


def expire_messages(db: Connection, before: datetime, most: int) -> int:
    """Delete at most so many that were written before a moment; returns how many. A root stays with its last reply."""
    reply = messages.alias("reply")
    kept = exists().where(reply.c.thread == messages.c.id, reply.c.created_at >= before)
    old = select(messages.c.id).where(messages.c.created_at < before)
    over = old.where(~kept).order_by(messages.c.id).limit(most)
    deleted = db.execute(delete(messages).where(messages.c.id.in_(over))).rowcount
    emptied = old.where(kept, messages.c.deleted_at.is_(None)).limit(most)
    gone = {"author": "", "text": "", "data": {}, "deleted_at": datetime.now(UTC)}
    return deleted + db.execute(update(messages).where(messages.c.id.in_(emptied)).values(gone)).rowcount


def _delete_where(db: Connection, kinds: Sequence[MessageKind], wanted: Any) -> None:
    found = db.execute(select(messages.c.id, messages.c.data).where(messages.c.kind.in_(kinds))).all()
    gone = [row.id for row in found if wanted(row.data)]
    if gone:
        db.execute(delete(messages).where(messages.c.id.in_(gone)))


# -- parts of statements -----------------------------------------------------------------------------------------------


def _values(
    room: str, thread: int | None, author: str, kind: MessageKind, text: str, data: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        "room": room,
        "thread": thread,
        "author": author,
        "kind": kind,
        "text": storable(text),
        "data": dict(data),
        "part": 0,
        "created_at": datetime.now(UTC),
    }


def _news(message: RoomMessage) -> str:
    return json.dumps([message.room, message.thread, message.id])


def _message(row: Any) -> RoomMessage:
    return RoomMessage(**row._mapping)
