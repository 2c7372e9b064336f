"""What happens in a room while its page is being drawn, or when its reader is quicker than the page or gives it too
much."""

import asyncio
from collections.abc import Collection

import httpx
from nicegui import ElementFilter, ui
from nicegui.elements.upload_files import SmallFileUpload
from nicegui.testing.user_interaction import UserInteraction

from adapters.web.channel.messages import Board
from adapters.web.channel.rooms import MEMBERS, ROOMS, Member, Room
from adapters.web.server.guard import UPLOAD_BYTES
from adapters.web.visitor import Site
from bot.records import RoomMessage, RoomReplies
from tests.adapters.acting import until
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.hands import agree
from tests.adapters.web.pages.waiting import sees

AKI = MEMBERS[0]
GENERAL = ROOMS[0]


class Busy(Board):
    """Whenever a page draws a message of the room, somebody writes another one, five times."""

    left = 5

    async def threads(self, room: Room, member: Member, roots: Collection[int]) -> dict[int, RoomReplies]:
        if self.left:
            self.left -= 1
            await self.post(GENERAL, AKI, f"meanwhile {5 - self.left}")
        return await super().threads(room, member, roots)


def shown() -> list[str]:
    """What is written, in the order in which it stands."""
    return [one.content.strip() for one in ElementFilter(kind=ui.html)]


async def test_what_is_said_while_a_page_is_drawn_is_shown_once_and_in_order(visit: Visit, site: Site) -> None:
    site.web.board = board = Busy(site.app.data, site.app.knowledge)
    user = visit()
    for number in range(1, 6):
        await board.post(GENERAL, AKI, f"before {number}")
    await user.open("/app/")

    async def all_there() -> bool:
        with user:
            return len(shown()) >= 10

    await until(all_there)
    with user:
        assert shown() == [f"<p>{when} {number}</p>" for when in ("before", "meanwhile") for number in range(1, 6)]


class Late(Board):
    """What another process writes shows later than what was written after it, as with a server's transactions."""

    hidden = 0

    async def messages(
        self, room: Room, member: Member, thread: int | None = None, before: int | None = None, limit: int = 50
    ) -> list[RoomMessage]:
        found = await super().messages(room, member, thread, before, limit)
        return [one for one in found if one.id != self.hidden]


async def test_what_comes_late_stands_in_its_place(visit: Visit, site: Site) -> None:
    site.web.board = board = Late(site.app.data, site.app.knowledge)
    user = visit()
    first = await board.post(GENERAL, AKI, "first")
    await user.open("/app/")
    await sees(user, "first")
    board.hidden = first.id + 1
    second = await board.post(GENERAL, AKI, "second")
    assert second.id == board.hidden
    await board.post(GENERAL, AKI, "third")
    await sees(user, "third")
    board.hidden = 0
    await board.changed(second)  # the news of it come now
    await sees(user, "second")
    (listed,) = [
        one for one in user.find(kind=ui.column).elements if "kotae-list" in one.classes and one.default_slot.children
    ]
    with user:
        written = [next(iter(ElementFilter(kind=ui.html).within(instance=box)), None) for box in listed]
    assert [one.content for one in written if one is not None] == [
        "<p>first</p>\n",
        "<p>second</p>\n",
        "<p>third</p>\n",
    ]


async def test_who_opens_two_threads_at_once_has_one_that_goes_on(visit: Visit, site: Site) -> None:
    board, user = site.web.board, visit()
    roots = [await board.post(GENERAL, AKI, f"root {number}") for number in (1, 2)]
    for root in roots:
        await board.post(GENERAL, AKI, f"reply in {root.id}", root.id)
    await user.open("/app/")
    for button in user.find("1 reply").elements:
        UserInteraction(user, {button}, None).click()

    async def opened() -> bool:
        with user:
            return any(text.startswith("<p>reply") for text in shown())

    await until(opened)
    for root in roots:
        await board.post(GENERAL, AKI, f"later in {root.id}", root.id)

    async def goes_on() -> bool:
        with user:
            return any(text.startswith("<p>later") for text in shown())

    await until(goes_on)
    with user:
        assert len([text for text in shown() if text.startswith("<p>reply")]) == 1
        assert len(list(ElementFilter(kind=ui.textarea))) == 2  # the room's and the thread's


async def test_two_readers_at_once_each_have_their_language(visit: Visit) -> None:
    first, second = visit(language="ja").http_client, visit(language="en").http_client
    pages: list[httpx.Response] = await asyncio.gather(*(one.get("/app/") for one in (first, second, first, second)))
    assert [one.text.split('<html lang="')[1][:2] for one in pages] == ["ja", "en", "ja", "en"]


async def test_files_that_would_not_fit_into_one_form_are_not_sent(visit: Visit) -> None:
    user = visit()
    await user.open("/app/")
    upload = next(iter(user.find(kind=ui.upload).elements))
    assert upload.props["max-total-size"] < UPLOAD_BYTES
    UserInteraction(user, {upload}, None).trigger("rejected")
    assert any("MiB" in message for message in user.notify.messages)


async def test_files_of_a_double_click_are_added_once(visit: Visit, site: Site) -> None:
    user = visit()
    await user.open("/app/")
    (field, *_) = sorted(user.find(kind=ui.upload).elements, key=lambda field: field.id)
    with user:
        await field.handle_uploads([SmallFileUpload("once.md", "text/markdown", b"# Once\n\nOne is enough.\n")])
    await sees(user, "Files: once.md")
    for _ in range(2):
        agree(user, "Add to knowledge")
    await sees(user, "added to")
    board = await site.web.board.messages(GENERAL, AKI)
    assert [one.kind for one in board] == ["intake"]


async def test_a_reply_leaves_what_it_stands_under_as_it_is(visit: Visit, site: Site) -> None:
    board, user = site.web.board, visit()
    root = await board.post(GENERAL, AKI, "root")
    await user.open("/app/")
    (under,) = user.find(content="Reply", kind=ui.button).elements
    await board.post(GENERAL, AKI, "a reply", root.id)
    await sees(user, "1 reply")
    assert not under.is_deleted
