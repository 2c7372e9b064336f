"""Pages that changed under answers: in their thread at once, on the page for those who may see the questions."""

from adapters.web.channel.rooms import MEMBERS, ROOMS, Room
from adapters.web.visitor import Site
from bot.types import Upload
from retrieval.types import TEAM
from tests.adapters.acting import until
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.test_unanswered_page import asked
from tests.adapters.web.pages.waiting import sees

QUESTION = "How much does mooring at the north pier cost a night?"
PAGE = "# Mooring\n\nMooring at the north pier costs {n} crowns a night.\n"


async def priced(site: Site, n: int) -> None:
    upload = Upload("mooring.md", PAGE.format(n=n).encode(), "docs", TEAM, "U1")
    assert (await site.app.knowledge.add(upload, "en")).document_id is not None


async def test_a_page_that_changed_is_said_in_the_thread_and_listed(visit: Visit, site: Site) -> None:
    await priced(site, 40)
    root, secret = await asked(site, QUESTION), await asked(site, QUESTION, room=1)
    user, ben = visit("aki", language="ja"), visit("ben")
    await user.open("/app/changed")
    await user.should_see("変更されたページをもとにした回答は、いまのところありません。")
    await priced(site, 55)
    assert await site.app.living.check() == 2
    for room, thread in ((ROOMS[0], root), (ROOMS[1], secret)):

        async def said(room: Room = room, thread: int = thread) -> bool:
            found = await site.web.board.messages(room, MEMBERS[0], thread)
            changed = {one.kind for one in found if "now says 55 crowns; it said 40 crowns" in one.text}
            return changed == {"answer"} and any(one.kind == "notice" for one in found)

        await until(said)
    await sees(user, "このページをもとにした回答 2 件")
    await user.should_see(QUESTION)
    await ben.open("/app/changed")  # who is not in the other room
    await ben.should_see("1 answer rests on it")
