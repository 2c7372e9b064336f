"""Messages of the bot on platforms, written down before they are sent: each is found again after a crash, and not
said twice.

Source: reliability.md R5 and R6. A crash of the process loses nothing of it; after a power cut the platform may still
have what the last rows would have told, and is then looked at.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Connection, and_, delete, func, or_, select, true, update
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.store.engine import Store, at_place, change, columns, execute, insert, look, rows
from bot.store.leases import present
from bot.store.schema import posts
from bot.types import Place, Post

_KEY = ("about", "kind", "part")
_CONFIRMS = 50  # that are looked at, of a place
POSTING = timedelta(minutes=1)  # after which what was not posted never will be


class Outbox(Store):
    """Posts, by what they belong to, their kind and part. When they were posted goes by `bot.store.leases.present`."""

    def __init__(self, engine: AsyncEngine, *, clock: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__(engine)
        self._clock = clock

    async def reserve(self, post: Post) -> Post | None:
        """Write down that this is about to be posted. What is there already is returned, and stays as it is."""

        def add(db: Connection) -> Post | None:
            added = insert(db, posts).values(self._values(db, post)).on_conflict_do_nothing(index_elements=list(_KEY))
            if db.execute(added.returning(posts.c.about)).first() is not None:
                return None
            return _post(db.execute(select(posts).where(is_row_of(post))).one())

        return await change(self._engine, add, durable=False)

    async def confirm(self, post: Post) -> None:
        """Notes that a message was posted: its message and its data are known now."""
        await self._note(post, {"message": post.message, "data": dict(post.data)})

    async def posted(self, post: Post) -> Post:
        """Notes that a message was posted; with what is known of it by now."""
        return await self._note(post, {"message": post.message})

    async def amend(
        self, post: Post, change_data: Callable[[Mapping[str, Any]], Mapping[str, Any] | None]
    ) -> Post | None:
        """Change the data that a post has by now, before anybody else does; None: it is not there, or was left as it
        is."""

        def amend(db: Connection) -> Post | None:
            row = db.execute(select(posts).where(is_row_of(post)).with_for_update()).first()
            data = None if row is None else change_data(row.data)
            if data is None:
                return None
            anew = update(posts).where(is_row_of(post)).values(data=dict(data)).returning(posts)
            return _post(db.execute(anew).one())

        return await change(self._engine, amend, durable=False)

    async def of(self, about: str) -> list[Post]:
        """All posts about this, in the order of kind and part."""
        wanted = select(posts).where(posts.c.about == about).order_by(posts.c.kind, posts.c.part)
        return [_post(row) for row in await rows(self._engine, wanted)]

    async def find(self, place: Place, message: str) -> Post | None:
        """The post that is this message of the platform."""
        here = select(posts).where(at_place(posts, place), posts.c.message == message)
        found = await rows(self._engine, here.order_by(posts.c.about, posts.c.kind).limit(1))
        return _post(found[0]) if found else None

    async def last(self, place: Place) -> Post | None:
        """The post that came last in a place, in whichever thread."""
        there = select(posts).where(at_place(posts, place), posts.c.message.is_not(None))
        found = await rows(self._engine, there.order_by(posts.c.at.desc()).limit(1))
        return _post(found[0]) if found else None

    async def confirms(self, place: Place, thread: str | None, *, everywhere: bool = False) -> list[Post]:
        """The questions whether replies in a thread (None: in the place itself; `everywhere`: in any, too) are an
        answer, the latest first; those too that are being posted."""
        asked = and_(posts.c.kind == "confirm", at_place(posts, place))
        there = true() if everywhere else posts.c.thread.is_(None) if thread is None else posts.c.thread == thread

        def confirms(db: Connection) -> list[Post]:
            posting = or_(posts.c.message.is_not(None), posts.c.at > present(db, self._clock()) - POSTING)
            wanted = select(posts).where(asked, there, posting).order_by(posts.c.at.desc()).limit(_CONFIRMS)
            return [_post(row) for row in db.execute(wanted)]

        return await look(self._engine, confirms)

    async def channels(self, platform: str, workspace: str, *, limit: int) -> list[str]:
        """The channels of a workspace in which something was posted, where that was last first."""
        there = and_(posts.c.platform == platform, posts.c.workspace == workspace, posts.c.message.is_not(None))
        latest = select(posts.c.channel).where(there).group_by(posts.c.channel).order_by(func.max(posts.c.at).desc())
        return [row.channel for row in await rows(self._engine, latest.limit(limit))]

    async def cards(self, questions: Collection[int]) -> list[Post]:
        """The posted cards that still offer one of these questions: their data have `questions` and are not
        `closed`."""
        wanted = set(questions)
        placed = select(posts).where(posts.c.kind == "card", posts.c.message.is_not(None)).order_by(posts.c.at)
        found = [_post(row) for row in await rows(self._engine, placed)] if wanted else []
        return [post for post in found if not post.data.get("closed") and wanted & set(post.data.get("questions", ()))]

    async def open_cards(self, platform: str) -> list[Post]:
        """The posted cards of a platform that still offer something, or that are to be drawn anew in any case."""
        placed = select(posts).where(posts.c.kind == "card", posts.c.message.is_not(None), posts.c.platform == platform)
        found = [_post(row) for row in await rows(self._engine, placed.order_by(posts.c.at))]
        return [post for post in found if post.data.get("stale") or not post.data.get("closed")]

    async def forget(self, about: str) -> None:
        """Nothing was or will be posted about this."""
        await execute(self._engine, delete(posts).where(posts.c.about == about), durable=False)

    async def _note(self, post: Post, known: Mapping[str, Any]) -> Post:
        """Write down a post, or what is `known` of one that is there."""

        def note(db: Connection) -> Post:
            noted = insert(db, posts).values(self._values(db, post))
            noted = noted.on_conflict_do_update(index_elements=list(_KEY), set_=dict(known))
            return _post(db.execute(noted.returning(posts)).one())

        return await change(self._engine, note, durable=False)

    def _values(self, db: Connection, post: Post) -> dict[str, Any]:
        return columns(post) | {"data": dict(post.data), "at": present(db, self._clock())}


def without_words(card: Mapping[str, Any]) -> dict[str, Any]:
    """The data of a card until it is drawn anew: nothing is left that anybody has written."""
    row = {"text": "", "details": [], "links": [], "actions": []}
    return {**{name: card.get(name) for name in ("questions", "reference")}, "row": row, "closed": False}


def is_row_of(post: Any) -> ColumnElement[bool]:
    """The condition for the row of a post, given the post or such a row."""
    return and_(posts.c.about == post.about, posts.c.kind == post.kind, posts.c.part == post.part)


def _post(row: Any) -> Post:
    return Post(
        about=row.about,
        kind=row.kind,
        part=row.part,
        place=Place(row.platform, row.workspace, row.channel),
        thread=row.thread,
        message=row.message,
        data=row.data,
    )
