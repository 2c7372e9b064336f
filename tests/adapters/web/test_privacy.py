"""What Ben can learn of a room he is not in: by each page, each address and each id. Source: product.md §3;
reliability.md R11."""

import re
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC
from html import unescape
from pathlib import Path

import httpx
import pytest

from adapters.runner import connected
from adapters.web.channel.adapter import web_adapter
from adapters.web.channel.rooms import MEMBERS, ROOMS, readers_of
from adapters.web.server.browser import Browser
from adapters.web.visitor import AS, LANGUAGE, Site
from bot.app import running
from bot.logs import Redactor
from bot.records import RoomMessage, WantedQuestions
from tests.adapters.acting import until
from tests.adapters.web.fresh import fresh_nicegui
from tests.bot.sample_turns import begun

AKI, BEN = MEMBERS
GENERAL, LEADS = ROOMS

NAME, SHELF, TEXT, ASKED, MISSED, REPORT = "nameqqq", "shelfqqq", "textqqq", "askedqqq", "missedqqq", "reportqqq"
DOCUMENT = f"# {NAME}\n\nThe {TEXT} parking garage opens at seven in the morning."
CANARY = re.compile(r"[a-z]+qqq")
TIMES = re.compile(r'"\d+\.\d\d s"|"\d{4}-\d\d-\d\d \d\d:\d\d"')  # of the turns of one place


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    """In `leads` Aki has added a document, asked what it answers and what it does not, and reported an answer."""
    async with running(begun(tmp_path / "home"), Redactor()) as app:
        web = web_adapter(app, "http://localhost")
        async with connected([web], app.bot) as platforms:
            await until(lambda: _soon(web.ready.is_set()))
            site = Site(app, web, lambda: platforms.connected)
            await web.add_files(AKI, LEADS, [(f"{NAME}.md", DOCUMENT.encode())], SHELF)
            await until(lambda: app.knowledge.documents(readers_of(AKI)))
            for question in (f"When does the {TEXT} parking garage open? {ASKED}", f"{MISSED} zebra giraffe?"):
                asked = await web.say(AKI, LEADS, f"@kotae {question}")
                assert isinstance(asked, RoomMessage)
                answer = await until(lambda root=asked.id: _answer(site, root))  # type: ignore[misc]
                assert answer is not None
                await web.vote(AKI, answer.id, "down", "wrong", REPORT)
            yield site


async def _soon(true: bool) -> bool:
    return true


async def _answer(site: Site, root: int) -> RoomMessage | None:
    found = await site.web.board.messages(LEADS, AKI, root)
    return next((each for each in found if each.kind == "answer"), None)


async def _written(site: Site) -> list[RoomMessage]:
    """All that is in the room."""
    roots = await site.web.board.messages(LEADS, AKI)
    return [each for root in roots for each in await site.web.board.messages(LEADS, AKI, root.id)]


async def test_no_page_shows_ben_a_word_of_it(site: Site) -> None:
    document = (await site.app.knowledge.documents(readers_of(AKI)))[0]
    written = await _written(site)
    turns = [each.data["turn"] for each in written if each.kind == "answer"]
    assert len(turns) == 2
    addresses = [
        *(
            "/",
            "/?room=leads",
            "/unanswered",
            "/documents",
            "/search",
            "/pairs",
            "/datasets",
            "/metrics?days=7",
            "/guide",
        ),
        *(f"/?room={room}&thread={each.id}" for room in ("leads", "general") for each in written),
        *(f"/trace/{turn}" for turn in turns),
        f"/documents?document={document.id}&chunk=0",
        f"/documents?collection={SHELF}",
        "/search?q=parking+garage",
    ]
    seen: dict[str, set[str]] = {AKI.id: set(), BEN.id: set()}
    with fresh_nicegui():
        browser = Browser(site)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(browser), base_url="http://localhost/app") as client:
            for member in (AKI, BEN):
                for address in addresses:
                    page = await client.get(address, headers={"Cookie": f"{AS}={member.id}; {LANGUAGE}=en"})
                    assert page.status_code == 200
                    shown = unescape(page.text).replace(f"collection%3D{SHELF}", "")  # the way back here
                    seen[member.id] |= set(CANARY.findall(shown))
                    if address.startswith("/metrics"):
                        assert bool(TIMES.search(shown)) == (member is AKI)
        await browser.close()
    assert seen == {AKI.id: {NAME, SHELF, TEXT, ASKED, MISSED, REPORT}, BEN.id: set()}


async def test_no_id_helps_ben(site: Site) -> None:
    web, app = site.web, site.app
    for each in await _written(site):
        tries: list[Callable[[int], Awaitable[object]]] = [
            lambda message: web.board.get(BEN, message),
            lambda message: web.board.passage(BEN, message, 1),
            lambda message: web.vote(BEN, message, "up"),
            lambda message: web.votes(BEN, [message]),
            lambda message: web.edit(BEN, message, "x"),
            lambda message: web.delete(BEN, message),
            lambda message: web.opened(BEN, message),
            lambda message: web.teach(BEN, message, "x"),
            lambda message: web.dismiss(BEN, message),
            lambda message: web.save(BEN, message),
            lambda message: web.discard(BEN, message),
            lambda message: web.say(BEN, GENERAL, "x", message),
            lambda message: web.add_text(BEN, GENERAL, "x", thread=message),
        ]
        for attempt in tries:
            with pytest.raises(LookupError):
                await attempt(each.id)
        assert await web.board.messages(GENERAL, BEN, each.id) == []
        assert await web.board.threads(GENERAL, BEN, [each.id]) == {}
    theirs, his = readers_of(AKI), readers_of(BEN)
    missed = await app.unanswered.page(WantedQuestions(state="all"), theirs)
    assert missed.shown and MISSED.encode() in await app.unanswered.csv(WantedQuestions(state="all"), theirs, "en", UTC)
    assert not CANARY.search((await app.unanswered.csv(WantedQuestions(state="all"), his, "en", UTC)).decode())
    for question in missed.questions:
        assert await app.unanswered.nearest(question.id, his) is None
        assert await app.trace(question.turn, his) is None and await app.trace(question.turn, theirs) is not None
    found = await app.unanswered.page(WantedQuestions(state="all", text=MISSED), his)
    other = await app.unanswered.page(WantedQuestions(state="all", text="no such words"), his)
    assert (found.shown, found.hidden) == (other.shown, other.hidden)  # a guess at the words tells nothing


async def test_a_document_that_is_forgotten_while_an_answer_shows_it(site: Site) -> None:
    answer = next(each for each in await _written(site) if each.kind == "answer" and each.data["citations"])
    number = answer.data["citations"][0]["n"]
    passage = await site.web.board.passage(AKI, answer.id, number)
    assert passage is not None and TEXT in passage.text
    await site.app.knowledge.forget((await site.app.knowledge.documents(readers_of(AKI)))[0].id)
    assert await site.web.board.passage(AKI, answer.id, number) is None
    again = await site.web.board.get(AKI, answer.id)
    assert again.data["citations"][0]["gone"] and not again.data["citations"][0]["quote"]
