"""Context that a question's message does not carry: what was said around it before, and the files that came along.

Source: reliability.md R13 and R41.
"""

from dataclasses import replace

from adapters.web.channel.context import WebContext, name_of
from adapters.web.channel.events import addressed, audience_of
from agent.conversation import Overheard
from bot.records import RoomMessage
from bot.texts import reply_language
from bot.types import Attachment, Incoming
from retrieval.i18n import Language
from retrieval.types import UnreadableError

HEARD = 30  # messages of a thread that are context
LOOK = 100  # of them that are looked at for an answer


class ThreadContext:
    """Looks around a question, once a turn."""

    def __init__(self, context: WebContext) -> None:
        self._context = context

    async def __call__(self, message: Incoming, stranger: bool) -> Incoming:
        """The question with all that is known of it now. Raises StoreError."""
        board = self._context.board
        language = reply_language(message, self._context.language)
        asked = int(message.message)
        around = await board.heard(message.place.channel, int(message.thread), before=asked, limit=2 * HEARD)
        heard = [each for each in around if each.kind == "text" and not each.deleted_at and not addressed(each.text)]
        return replace(
            message,
            audience=audience_of(message.place.channel),
            overheard=tuple(Overheard(name_of(each.author, language), each.text) for each in heard[-HEARD:]),
            files=await self._files(await board.written(asked), message.link, language),
        )

    async def _files(self, asked: RoomMessage | None, link: str | None, language: Language) -> tuple[Attachment, ...]:
        refs = asked.data.get("files", ()) if asked else ()
        if asked is None or (refs and await self._answered(asked)):
            return ()  # they have been read
        found = []
        for ref in refs:
            try:
                found.append(Attachment(ref["name"], await self._context.held.read(ref), link))
            except UnreadableError as error:
                found.append(Attachment(ref["name"], b"", problem=error.text(language)))
        return tuple(found)

    async def _answered(self, asked: RoomMessage) -> bool:
        thread = await self._context.board.heard(asked.room, asked.root, limit=LOOK)
        return any(each.kind == "answer" and each.data["asked"] == asked.id for each in thread)
