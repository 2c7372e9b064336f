"""What nobody could answer, on its page: seen by who may, answered or closed there, saved as a file."""

import asyncio
import csv
import io
from collections.abc import Collection
from datetime import timedelta

import pytest
from nicegui import ui

from adapters.web.channel.rooms import MEMBERS, ROOMS
from adapters.web.visitor import Site
from bot.records import RoomMessage, WantedQuestions
from bot.store.unanswered import Matches, UnansweredQuestions
from bot.unanswered.questions import PAGE
from tests.adapters.acting import until
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.hands import agree, fill
from tests.adapters.web.pages.waiting import sees
from tests.adapters.web.spots import spot
from tests.bot.unanswered.test_questions import NOW, Team

AKI, BEN = MEMBERS
GENERAL, LEADS = ROOMS
SECRET = "Who gets the zebra stables of Reykjavik in 1987?"
OPEN = "What did the zoo in Reykjavik charge for a ticket in 1987?"


async def asked(site: Site, text: str, room: int = 0, member: int = 0) -> int:
    """A question that is answered by now; its message."""
    said = await site.web.say(MEMBERS[member], ROOMS[room], f"@kotae {text}")
    assert isinstance(said, RoomMessage)

    async def there() -> bool:
        thread = await site.web.board.messages(ROOMS[room], MEMBERS[member], said.id)
        return any(one.kind == "answer" for one in thread)

    await until(there)
    return said.id


async def test_a_miss_is_answered_here_and_its_asker_told(visit: Visit, site: Site) -> None:
    root = await asked(site, OPEN, member=1)
    user = visit("aki")
    await user.open("/app/unanswered")
    await user.should_see(OPEN)
    await user.should_see("times asked: 1, people: 1")
    user.find("Answer this").click()
    await sees(user, "It will be found by these words")
    (field,) = user.find(kind=ui.textarea, content="Answer").elements
    with user:
        field.set_value("The zoo charged 250 krónur in 1987.")
    user.find("Save the answer").click()
    await sees(user, "No questions match")

    async def told() -> bool:
        thread = await site.web.board.messages(GENERAL, BEN, root)
        return any(one.kind == "notice" and "250 krónur" in one.text for one in thread)

    await until(told)
    await asked(site, OPEN)
    answers = [one for one in await site.web.board.messages(GENERAL, AKI, limit=9) if one.kind == "text"]
    thread = await site.web.board.messages(GENERAL, AKI, answers[-1].id)
    assert any("250 krónur" in one.text for one in thread if one.kind == "answer")


async def test_the_questions_of_a_group_stand_under_words(visit: Visit, site: Site) -> None:
    await asked(site, OPEN)
    await asked(site, OPEN, member=1)
    for language, name in (("en", "The 2 questions"), ("ja", "2 件の質問")):
        user = visit("aki", language=language)
        await user.open("/app/unanswered")
        await user.should_see(kind=ui.expansion, content=name)


async def test_what_was_asked_in_private_is_a_number_for_others(visit: Visit, site: Site) -> None:
    await asked(site, SECRET, room=1)
    ben = visit("ben")
    await ben.open("/app/unanswered")
    await ben.should_see("and 1 in private places you are not in")
    await ben.should_not_see(SECRET)
    aki = visit("aki", language="ja")
    await aki.open("/app/unanswered")
    await aki.should_see(SECRET)
    await aki.should_see("情報なし")


async def test_a_miss_is_dismissed_after_a_question(visit: Visit, site: Site) -> None:
    await asked(site, OPEN)
    user = visit("ben")
    await user.open("/app/unanswered")
    user.find("Dismiss").click()
    await sees(user, "Close this without an answer?")
    user.find("Close it").click()
    await sees(user, "No questions match")
    missed = await site.app.bot.experts.open(*spot("general"))
    assert missed.total == 0


async def test_what_is_listed_is_narrowed(visit: Visit, site: Site) -> None:
    await asked(site, OPEN)
    user = visit("aki")
    await user.open("/app/unanswered?view=list")
    await user.should_see(OPEN)
    user.find(marker="text").type("penguins")
    await sees(user, "No questions match")
    user.find(marker="text").clear()
    await sees(user, OPEN)


@pytest.mark.parametrize("address", ["http://localhost:8080", ""])  # also where nobody else could open a link
async def test_a_question_s_closest_passages_and_its_trace(visit: Visit, site: Site) -> None:
    await asked(site, OPEN)
    user = visit("aki")
    await user.open("/app/unanswered")
    closest = next(one for one in user.find(kind=ui.expansion).elements if one.text == "Closest passages")
    with user:
        closest.set_value(True)
    await sees(user, "When it was asked")
    turn = (await site.app.bot.experts.open(*spot("general"))).questions[0].turn
    await user.open(f"/app/trace/{turn}")
    await user.should_see("🛠️ Tool call")
    await user.should_see("not found")
    (thread,) = (one for one in user.find(kind=ui.link).elements if one.text == "To the thread")
    assert str(thread.props["href"]).startswith("/?room=general&thread=")  # also where this machine has another name
    ben = visit("ben", language="ja")
    await ben.open("/app/trace/0123456789abcdef")
    await ben.should_see("該当する回答がありません")


async def test_the_file_holds_what_its_reader_may_see(visit: Visit, site: Site) -> None:
    await asked(site, '=HYPERLINK("http://evil.example") What did the zoo in Reykjavik charge in 1987?')
    await asked(site, SECRET, room=1)
    user = visit("ben")
    await user.open("/app/unanswered")
    user.find("Save as CSV").click()
    response = await user.download.next()
    rows = list(csv.DictReader(io.StringIO(response.content.decode("utf-8-sig"))))
    assert len(rows) == 1 and rows[0]["question"].startswith("'=HYPERLINK")


async def test_a_trace_of_a_private_room_is_not_for_others(visit: Visit, site: Site) -> None:
    await asked(site, SECRET, room=1)
    place, audience = spot("leads")
    turn = (await site.app.bot.experts.open(place, audience)).questions[0].turn
    ben = visit("ben")
    await ben.open(f"/app/trace/{turn}")
    await ben.should_see("There is no such answer here")
    await ben.should_not_see(SECRET)
    aki = visit("aki")
    await aki.open(f"/app/trace/{turn}")
    await aki.should_see(SECRET)


async def test_metrics_count_all_and_name_only_what_is_seen(visit: Visit, site: Site) -> None:
    user = visit("ben")
    await user.open("/app/metrics")
    await user.should_see("Nobody has asked anything in this period")
    await asked(site, SECRET, room=1)
    await user.open("/app/metrics?days=7")
    await user.should_see("private places you are not in")
    await user.should_not_see("leads")
    aki = visit("aki", language="ja")
    await aki.open("/app/metrics")
    await aki.should_see("リーダー")
    assert len(aki.find(kind=ui.echart).elements) >= 5


class Late(UnansweredQuestions):
    """What is looked for by the word “late” comes when it may."""

    asked = asyncio.Event()
    may = asyncio.Event()
    came = asyncio.Event()

    async def find(self, wanted: WantedQuestions, scopes: Collection[str], *, limit: int, offset: int = 0) -> Matches:
        found = await super().find(wanted, scopes, limit=limit, offset=offset)
        if wanted.text == "late":
            self.asked.set()
            await self.may.wait()
            self.came.set()
        return found


async def test_what_was_looked_for_last_is_shown(visit: Visit, site: Site) -> None:
    team = Team(site.app.data.engine)
    for text in ("When is the late ferry?", "When is the early ferry?"):
        await team.misses(text)
    site.app.unanswered.questions = late = Late(site.app.data.engine)
    user = visit("aki")
    await user.open("/app/unanswered?view=list")
    fill(user, "text", "late")
    await late.asked.wait()
    fill(user, "text", "early")
    await user.should_not_see("When is the late ferry?")
    late.may.set()
    await late.came.wait()  # what comes is drawn before anybody else has a turn; a look of the page's would mend it
    with pytest.raises(AssertionError):
        user.find("When is the late ferry?")
    await user.should_see("When is the early ferry?")
    await user.should_not_see("When is the late ferry?")


async def test_when_the_last_question_of_a_page_goes_the_one_before_is_shown(visit: Visit, site: Site) -> None:
    team = Team(site.app.data.engine)
    for number in range(PAGE + 1):
        await team.misses(f"Where is hut {number:02}?", at=NOW - timedelta(minutes=number))
    user = visit("aki")
    await user.open("/app/unanswered?view=list")
    await sees(user, "page 1 of 2")
    user.find("→").click()
    await sees(user, f"Where is hut {PAGE}?")
    user.find("Dismiss").click()
    agree(user, "Close it")
    await sees(user, "Where is hut 00?")
    await user.should_not_see("No questions match")
