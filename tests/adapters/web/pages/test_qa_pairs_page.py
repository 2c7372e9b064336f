"""The pairs page: said first what it takes, written by a model on loopback, reviewed, and seen only by who reads the
document."""

import json
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Any

import pytest
from nicegui import ui
from nicegui.testing import User

from adapters.web.channel.rooms import MEMBERS, ROOMS, actor, audience, place, readers_of
from adapters.web.visitor import Site
from agent.events import Cost
from bot.access import scope_of
from bot.qa_pairs.pairs import Pair, QaJob, Reviewer
from bot.store.usage import Usage
from bot.types import Upload
from retrieval.types import EVERYONE, TEAM
from tests.adapters.acting import until
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.hands import agree, fill, newest, press
from tests.adapters.web.pages.waiting import sees
from tests.fakes.openai import FakeOpenAI, Refuse, Reply, text

AKI = readers_of(MEMBERS[0])
LEADS = scope_of(place(next(room for room in ROOMS if room.private)))
HOSTILE = "<img src=x onerror=alert(1)>"
HARBOUR = (
    f"# Harbour {HOSTILE}\n\nThe harbour opens at 6:40 in the morning. The ferry leaves from pier 17 every two hours. "
    "A berth costs 45 euros a night, and is booked at the harbour office. The office is closed on Mondays. "
    + "Ships wait outside until the pilot comes aboard, and the pilot speaks with the harbour office first. "
    * 6
)
ASKED = [
    {"question": "When does the harbour open?", "answer": "The harbour opens at 6:40 in the morning."},
    {"question": "What does a berth cost?", "answer": "A berth costs 45 euros a night."},
    {"question": "What does a crane cost?", "answer": "A crane costs 99 euros."},  # which the passage does not say
]


def written(*pairs: dict[str, str]) -> Reply:
    return Reply(text(json.dumps({"pairs": pairs or ASKED})))


@pytest.fixture
async def model() -> AsyncIterator[FakeOpenAI]:
    async with FakeOpenAI() as server:
        yield server


@pytest.fixture
def options(request: pytest.FixtureRequest, model: FakeOpenAI) -> dict[str, Any]:
    given = {"KOTAE_MODEL": "openai:qwen3:8b", "OPENAI_API_KEY": model.key, "OPENAI_BASE_URL": model.url}
    return given | getattr(request, "param", {})


@pytest.fixture
async def site(site: Site) -> AsyncIterator[Site]:
    async with site.app.pairs.working():
        yield site


async def added(site: Site, name: str, words: str, *, scope: str = TEAM) -> str:
    verdict = await site.app.knowledge.add(Upload(name, words.encode(), "docks", scope, "aki"), "en")
    assert verdict.document_id, verdict.reason
    return verdict.document_id


async def jobs(site: Site) -> list[QaJob]:
    return await site.app.pairs.jobs(AKI)


async def pairs(site: Site, state: str = "") -> list[Pair]:
    return [pair for pair in (await site.app.pairs.rows.listed(AKI)).pairs if state in ("", pair.state)]


async def ended(site: Site, state: str = "done") -> None:
    async def over() -> bool:
        return all(job.state == state and not job.working for job in await jobs(site))

    await until(over)


async def offered(user: User, document: str) -> None:
    """The form offers it."""

    async def there() -> bool:
        return any(document in name for name in newest(user, "document").options.values())  # type: ignore[attr-defined]

    await until(there)


async def shows(user: User, words: str, *, shown: bool = True) -> None:
    """As text, not in a field; or not any more."""

    async def so() -> bool:
        return any(words in str(one.text) for one in user.find(kind=ui.label).elements) is shown

    await until(so)


async def have_written(user: User) -> None:
    """What is chosen on an open page."""
    press(user, "estimate")
    await sees(user, "Model calls")
    press(user, "start")
    await sees(user, "You can leave this page")


async def test_a_document_is_counted_then_written_from_and_its_pairs_reviewed(
    visit: Visit, site: Site, model: FakeOpenAI
) -> None:
    document = await added(site, f"harbour {HOSTILE}.md", HARBOUR)
    user, other = visit("aki"), visit("ben", language="ja")
    await user.open(f"/app/pairs?document={document}")
    await other.open("/app/pairs")
    await other.should_see("ジョブはまだありません")
    press(user, "estimate")
    await sees(user, "1 call to openai:qwen3:8b")
    assert not model.journal and not await jobs(site)
    model.order(written())
    press(user, "start")
    await sees(user, "You can leave this page")
    await ended(site)
    await sees(user, "1 of 1 passages · 2 pairs, 2 of them to review · 1 call")
    await sees(user, "1 pair left out: its passage does not say it")
    await user.should_see("When does the harbour open?")
    await user.should_see(f"harbour {HOSTILE}.md (docks)")
    await user.should_see("who may find it: Everyone in the team")

    press(user, "source")
    await sees(user, "pilot comes aboard")
    assert not any("<img" in one.content for one in user.find(kind=ui.html).elements if "pilot" in one.content)
    press(user, "edit")
    fill(user, "answer", "A berth costs 45 euros, booked at the harbour office.")
    press(user, "save")
    await sees(user, "Saved.")
    await shows(user, "A berth costs 45 euros, booked at the harbour office.")
    press(user, "reject")
    await sees(user, "Rejected: 1.")
    await shows(user, "booked at the harbour office", shown=False)
    fill(user, "state", "rejected")
    await shows(user, "booked at the harbour office")
    press(user, "back")
    await sees(user, "Back to review: 1.")
    fill(user, "state", "pending")
    fill(user, "words", "WHEN does")
    await sees(user, "When does the harbour open?")
    await shows(user, "booked at the harbour office", shown=False)
    fill(user, "words", "")
    await sees(user, "Approve all shown (2)")
    press(user, "approve-all")
    await sees(user, "Approve these 2 pairs? From then on they are found by: Everyone in the team.")
    assert not await pairs(site, "approved")
    agree(user, "Approve")
    await sees(user, "Approved: 2. They are found from now on.")
    assert [pair.edited for pair in await pairs(site, "approved")] == [False, True]
    found = await site.app.knowledge.search("when does the harbour open", AKI)
    assert any(hit.passage.question == "When does the harbour open?" for hit in found.hits)
    await sees(other, "承認済み 2")
    await sees(other, "完了しました。")
    press(user, "estimate")
    await sees(user, "Q/A pairs have already been written from all of this")


async def test_a_job_pauses_resumes_and_is_cancelled(visit: Visit, site: Site, model: FakeOpenAI) -> None:
    await added(site, "harbour.md", HARBOUR)
    model.order(Refuse(429, headers={"Retry-After": "300"}))
    user = visit("aki")
    await user.open("/app/pairs")
    fill(user, "collection", "docks")
    await have_written(user)

    async def asked() -> bool:
        return bool(model.journal)

    await until(asked)
    press(user, "pause")
    await ended(site, "paused")
    again = visit("aki")
    await again.open("/app/pairs")  # as after a reload
    await again.should_see("0 of 1 passages")
    await again.should_see("Paused.")
    model.order(Refuse(429, headers={"Retry-After": "300"}))
    press(again, "resume")

    async def asked_again() -> bool:
        return len(model.journal) == 2

    await until(asked_again)
    press(again, "cancel")
    await sees(again, "Cancel this job?")
    assert (await jobs(site))[0].state == "running"
    agree(again, "Cancel the job")
    await ended(site, "cancelled")
    await sees(again, "Cancelled.")
    with pytest.raises(AssertionError):
        again.find(marker="resume")


@pytest.mark.parametrize("options", [{"KOTAE_DAILY_CALLS": 1}], indirect=True)
async def test_what_the_budget_stops_says_so(visit: Visit, site: Site, model: FakeOpenAI) -> None:
    await added(site, "harbour.md", HARBOUR)
    today = datetime.now(site.app.settings.timezone).date()
    await Usage(site.app.data.engine).add({(today, "openai:qwen3:8b"): Cost(1, 10, 10)})
    user = visit("ben")
    await user.open("/app/pairs")
    fill(user, "collection", "docks")
    press(user, "estimate")
    await sees(user, "That is not enough for all of it")
    press(user, "start")
    await sees(user, "today’s budget for the model (KOTAE_DAILY_CALLS, KOTAE_DAILY_TOKENS) is used up")
    assert newest(user, "resume").visible and not model.journal


async def test_pairs_of_a_private_room_are_not_for_others(visit: Visit, site: Site, model: FakeOpenAI) -> None:
    secret = await added(site, "salaries.md", HARBOUR, scope=LEADS)
    await added(site, "guests.md", HARBOUR.replace("6:40", "7:50"), scope=EVERYONE)
    aki, ben = visit("aki"), visit("ben")
    await aki.open("/app/pairs")
    fill(aki, "readers", 1)  # also what only leads reads
    fill(aki, "collection", "docks")
    await offered(aki, "salaries.md")
    fill(aki, "document", secret)
    model.order(written())
    await have_written(aki)
    await ended(site)
    await sees(aki, "When does the harbour open?")
    await aki.should_see("Members of “leads” only")
    for address in ("/app/pairs", f"/app/pairs?document={secret}"):
        await ben.open(address)
        await ben.should_see("There are no jobs yet.")
        await ben.should_see("There are no pairs yet.")
        for words in ("salaries", "When does the harbour open?", "leads"):
            await ben.should_not_see(words, retries=1)
    press(aki, "approve")
    await sees(aki, "Approved: 1.")
    assert {pair.scope for pair in await pairs(site, "approved")} == {LEADS}

    fill(ben, "collection", "docks")
    await offered(ben, "guests.md")
    model.order(written({"question": "When does it open?", "answer": "The harbour opens at 7:50 in the morning."}))
    await have_written(ben)
    await sees(ben, "When does it open?")
    await ben.should_see("Only editors may decide about pairs for these readers.")
    with pytest.raises(AssertionError):
        ben.find(marker="approve")


@pytest.mark.parametrize("options", [{"KOTAE_MODEL": "extractive"}], indirect=True)
async def test_without_a_language_model_it_says_what_to_set(visit: Visit, site: Site) -> None:
    for language, words in (("en", "Set GEMINI_API_KEY"), ("ja", "GEMINI_API_KEY を設定するか")):
        user = visit("aki", language=language)
        await user.open("/app/pairs")
        await user.should_see(words)
        with pytest.raises(AssertionError):
            user.find(marker="estimate")


async def test_an_approved_pair_is_edited_and_taken_out_in_the_list_of_all(
    visit: Visit, site: Site, model: FakeOpenAI
) -> None:
    document = await added(site, "harbour.md", HARBOUR)
    user = visit("aki")
    await user.open(f"/app/pairs?document={document}")
    model.order(written())
    await have_written(user)
    await ended(site)
    who = Reviewer(actor(MEMBERS[0]), place(ROOMS[0]), audience(ROOMS[0]))
    await site.app.pairs.approve([one.id for one in await pairs(site)], who)
    (one,), total = await site.app.all_pairs.listed(AKI, kind="model", containing="berth")
    assert total == 1 and one.pair.answer == "A berth costs 45 euros a night."
    await user.open("/app/answers?words=berth")
    await user.should_see("45 euros a night")
    user.find("Edit").click()
    await sees(user, "Cancel")
    fill(user, "answer", "A berth costs 50 euros a night.")
    user.find(marker="save").click()
    await shows(user, "50 euros a night")
    (edited,) = [pair for pair in await pairs(site, "approved") if "berth" in pair.question]
    assert edited.edited and edited.marked, "its passage says something else"
    user.find("Remove").click()
    await sees(user, "It is not found any more")
    user.find(marker="yes").click()
    await sees(user, "No pairs match.")
    assert [pair.answer for pair in await pairs(site, "rejected")] == ["A berth costs 50 euros a night."]
