"""Files and texts from the browser into the knowledge: taken in durably, worked off, and their progress in one message.

Source: product.md §3 and §5; reliability.md R19 and R44.
"""

import uuid
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

from adapters.shared import ingestion
from adapters.shared.ingestion import NotTakenError
from adapters.web.channel.context import WebContext, name_of
from adapters.web.channel.rooms import PLATFORM, Member, Room, actor, audience, place
from bot.records import BotMessage, RoomMessage
from bot.types import FileRef, IngestionRequest
from retrieval.i18n import Language


async def take(
    context: WebContext,
    member: Member,
    room: Room,
    refs: Sequence[FileRef],
    *,
    collection: str = "",
    scope: str = "",
    thread: int | None = None,
    language: Language,
) -> RoomMessage:
    """Take what a member gives for a room, and begin to read it: the message in which that shows. Empty `collection`
    and `scope`: as is usual there. Raises NotTakenError, StoreError."""
    where, seen = place(room), audience(room)
    if not refs:
        raise NotTakenError(ingestion.NOTHING)
    scopes = context.bot.ingestion.scopes(actor(member), where, seen)
    if not scopes:
        raise NotTakenError(ingestion.MEMBERS)
    claim, thread_id = uuid.uuid4().hex, None if thread is None else str(thread)
    wanted = IngestionRequest(claim, where, thread_id, member.id, collection, scope, language, tuple(refs))
    taken = await ingestion.accept(context.bot, f"{PLATFORM}:gesture:{claim}", wanted, scopes, seen)
    assert taken is not None  # its claim is its own
    shown = await _show(context, taken)
    context.tasks.start(resume(context, taken), "web-intake")
    return shown


async def resume(context: WebContext, intake: IngestionRequest) -> None:
    """Work an intake off, also after a restart. What was read is not kept any longer. Raises StoreError: it goes on
    later."""

    async def fetch(file: FileRef) -> bytes:
        return file.ref["text"].encode() if "text" in file.ref else await context.held.read(file.ref)

    done = False
    async with aclosing(context.bot.ingestion.process(intake, fetch)) as states:
        async for state in states:
            await _show(context, state)
            done = state.done
    if done:
        await context.held.drop(file.ref for file in intake.files)


async def _show(context: WebContext, intake: IngestionRequest) -> RoomMessage:
    """`data`: `who` added it, `done` and `total` files, and of each that was read its `verdicts`. Raises StoreError."""
    head, lines = ingestion.progress(intake)
    by = ingestion.added_by(name_of(intake.author, intake.language), intake.language)
    verdicts: list[Mapping[str, Any]] = [file.verdict.as_json() for file in intake.files if file.verdict is not None]
    data = {"who": intake.author, "done": len(verdicts), "total": len(intake.files), "verdicts": verdicts}
    thread = None if intake.thread is None else int(intake.thread)
    said = BotMessage(intake.place.channel, thread, intake.id, "intake", "\n".join((head, *lines, by)), data=data)
    return await context.board.put(said)
