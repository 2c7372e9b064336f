"""What is written in the browser's rooms, on each kind of database: kept, and gone when its time or its author is."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy.ext.asyncio import AsyncEngine

from bot.records import BOT, BotMessage, RoomMessage
from bot.store.engine import change
from bot.store.signals import Signals
from bot.store.web_messages import Messages, expire_messages, forget_author, forget_turns


async def test_a_forgotten_person_and_old_messages_leave_nothing(engine: AsyncEngine) -> None:
    messages = Messages(engine, Signals(engine))

    async def wrote(author: str, text: str, thread: int | None = None) -> RoomMessage:
        posted = await messages.post("general", author, text, thread, {"files": []})
        assert posted is not None
        return posted

    async def said(kind: Any, about: str, thread: int | None = None, **data: Any) -> RoomMessage:
        return await messages.put(BotMessage("general", thread, about, kind, f"{kind} {about}", data=data))

    async def left() -> list[tuple[str, str]]:
        found = [await messages.get(number) for number in range(1, 30)]
        return [(each.author, each.text) for each in found if each is not None]

    assert await messages.post("leads", "aki", "x", 1, {}) is None
    root, alone = await wrote("ben", "Ben's root"), await wrote("ben", "Ben alone")
    await wrote("aki", "Aki replies", root.id)
    await wrote("ben", "Ben again", root.id)
    await said("answer", "turn-1", root.id)
    await said("notice", "notice:1", root.id, who="ben")
    await said("intake", "i1", who="ben", verdicts=[])
    await said("card", "digest:1", questions=[7, 8])
    await said("card", "digest:2", questions=[9])
    await said("answer", "turn-2", root.id)

    await change(engine, lambda db: forget_turns(db, ["turn-1"], [8]))
    await change(engine, lambda db: forget_author(db, "slack", "aki"))  # somebody else
    await change(engine, lambda db: forget_author(db, "web", "ben"))
    kept = [("", ""), ("aki", "Aki replies"), (BOT, "card digest:2"), (BOT, "answer turn-2")]
    assert await left() == kept and await messages.get(alone.id) is None
    place = await messages.get(root.id)
    assert place is not None and place.deleted_at is not None and place.data == {}

    await said("steps", "turn-3", root.id)
    middle = datetime.now(UTC)
    await wrote("aki", "New", root.id)
    gone = [await change(engine, lambda db: expire_messages(db, middle, 2)) for _ in range(4)]
    assert gone == [2, 2, 0, 0] and await left() == [("", ""), ("aki", "New")]
    late = datetime.now(UTC) + timedelta(seconds=1)
    assert await change(engine, lambda db: expire_messages(db, late, 99)) == 2 and await left() == []
    assert (await wrote("aki", "Next")).id > root.id + 10  # no id is given twice
