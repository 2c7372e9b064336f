"""Files and texts from the browser into the knowledge: taken in durably, worked off, and their progress in one message.

Source: product.md §3 and §5; reliability.md R19 and R44.
"""

import uuid
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

from adapters.shared import ingestion
from adapters.web.channel.context import WebContext, name_of
from adapters.web.channel.rooms import PLATFORM, Member, Room, actor, audience, place
from adapters.web.channel.uploads import NotTakenError
from bot.records import BotMessage, RoomMessage
from bot.types import FileRef, IngestionRequest
from retrieval.i18n import Language, Text

_NOBODY = Text(
    en="Only members of the team can add to the knowledge.", ja="ナレッジに追加できるのは、チームのメンバーだけです。"
)
_NO_SCOPE = Text(
    en="You cannot choose this for “Who may find it” here. Possible: {scopes}.",
    ja="ここでは「公開範囲」にその値を選べません。選べるのは {scopes} です。",
)


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
        raise NotTakenError(_NOBODY)
    if scope and scope not in scopes:
        raise NotTakenError(_NO_SCOPE, scopes="、".join(scopes) if language == "ja" else ", ".join(scopes))
    collection = collection or (await context.bot.ingestion.collections(where, seen))[0]
    intake = IngestionRequest(
        uuid.uuid4().hex,
        where,
        None if thread is None else str(thread),
        member.id,
        collection,
        scope or scopes[0],
        language,
        tuple(refs),
    )
    taken = await context.bot.ingestion.accept(f"{PLATFORM}:gesture:{intake.id}", intake)
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
    shown = [head, *lines[: ingestion.LINES]]
    if len(lines) > ingestion.LINES:
        shown.append(ingestion.more(len(lines) - ingestion.LINES, intake.language))
    shown.append(ingestion.added_by(name_of(intake.author, intake.language), intake.language))
    verdicts: list[Mapping[str, Any]] = [file.verdict.as_json() for file in intake.files if file.verdict is not None]
    data = {"who": intake.author, "done": len(verdicts), "total": len(intake.files), "verdicts": verdicts}
    thread = None if intake.thread is None else int(intake.thread)
    said = BotMessage(intake.place.channel, thread, intake.id, "intake", "\n".join(shown), data=data)
    return await context.board.put(said)
