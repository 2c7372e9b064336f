"""A list of messages on a page that stays as the room is, whatever comes while it is drawn."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from nicegui import ui

from adapters.web.channel.rooms import Room
from adapters.web.pages.channel.message import Drawing, Follow
from adapters.web.pages.shared.layout import saying
from bot.records import RoomMessage, RoomReplies

SHOWN = 50  # messages at a time
_AHEAD = 2  # of the messages: the button and the hint

Ask = Callable[[], Awaitable[None]]


@dataclass(slots=True)
class _Box:
    """`message`: as it was drawn last; None: it was not drawn to its end."""

    element: ui.element
    message: RoomMessage | None = None
    follow: Follow | None = None


class MessageList:
    """One list of messages that stays up to date: a room's, or a thread's."""

    def __init__(self, drawing: Drawing, room: Room, thread: int | None, listed: ui.column) -> None:
        self._drawing = drawing
        self._room = room
        self.thread = thread
        self._listed = listed
        self._boxes: dict[int, _Box] = {}
        self._more: ui.button | None = None
        self._empty: ui.column | None = None
        self._drawn = asyncio.Lock()  # what comes while messages are drawn is drawn after them, once

    async def fill(
        self, empty: str, earlier: str, samples: Mapping[str, Ask] = MappingProxyType({}), *, back_to: int | None = None
    ) -> None:
        """`empty`: while there is nothing, beside `samples`: questions that can be asked by a click; `back_to`: a
        message to be shown, however old it is."""
        async with self._drawn:
            found = oldest = await self._read()
            while back_to is not None and len(oldest) >= SHOWN and back_to < found[0].id:
                oldest = await self._read(found[0].id)
                found = [*oldest, *found]
            self._listed.clear()
            self._boxes.clear()
            with self._listed:
                self._more = ui.button(earlier, on_click=self._back).props("flat dense no-caps")
                self._more.set_visibility(len(oldest) >= SHOWN)
                with ui.column().classes("kotae-empty") as self._empty:
                    ui.label(empty)
                    for text, ask in samples.items():
                        ui.button(text, on_click=ask).props("outline no-caps").mark("sample")
                self._empty.set_visibility(not found)
            replies = await self._replies(found)
            for message in found:
                await self._add(message, replies)

    async def look(self, message: int) -> None:
        """A message is new, changed or gone."""
        async with self._drawn:
            if message in self._boxes:
                await self._again(message)
                return
            oldest = min(self._boxes, default=0)
            for found in await self._read():
                if found.id == message and message > oldest:
                    before = sum(known < message for known in self._boxes)  # a later one may have been known sooner
                    box = await self._add(found, await self._replies([found]))
                    box.move(target_index=before + _AHEAD)
            if self._boxes and self._empty is not None:
                self._empty.set_visibility(False)

    async def _again(self, message: int) -> None:
        """An open source and the focus stay where only a vote or a reply under it is new."""
        box = self._boxes[message]
        found = next((one for one in await self._read(message + 1, 1) if one.id == message), None)
        if found is None:
            del self._boxes[message]
            box.element.delete()
            if self._empty is not None:
                self._empty.set_visibility(not self._boxes)
            return
        replies = await self._replies([found])
        if found == box.message and box.follow is not None:
            await box.follow(replies)
        else:
            await self._draw(box, found, replies)

    async def _back(self) -> None:
        with saying(self._drawing.language):
            async with self._drawn:
                await self._earlier()

    async def _earlier(self) -> None:
        found = await self._read(min(self._boxes, default=None))
        assert self._more is not None
        self._more.set_visibility(len(found) >= SHOWN)
        replies = await self._replies(found)
        for index, message in enumerate(found):
            box = await self._add(message, replies)
            box.move(target_index=index + _AHEAD)

    async def _add(self, message: RoomMessage, replies: Mapping[int, RoomReplies] | None) -> ui.element:
        with self._listed:
            box = ui.element("div").classes("kotae-message")
            if self.thread is not None:  # where links to a message lead
                box.props(f"id=m{message.id}")
        self._boxes[message.id] = _Box(box)
        await self._draw(self._boxes[message.id], message, replies)
        return box

    async def _draw(self, box: _Box, message: RoomMessage, replies: Mapping[int, RoomReplies] | None) -> None:
        box.message = None
        box.element.clear()
        with box.element:
            box.follow = await self._drawing.draw(message, replies)
        box.message = message

    async def _replies(self, found: Sequence[RoomMessage]) -> Mapping[int, RoomReplies] | None:
        """The messages under each of a room's messages; None in a thread."""
        if self.thread is not None:
            return None
        board, member = self._drawing.site.web.board, self._drawing.who.member
        return await board.threads(self._room, member, [message.id for message in found])

    async def _read(self, before: int | None = None, limit: int = SHOWN) -> list[RoomMessage]:
        board, member = self._drawing.site.web.board, self._drawing.who.member
        return await board.messages(self._room, member, self.thread, before, limit)
