"""Documents that are taken from their readers, or from some of them, take their quotations along."""

from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, update
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import Answered, Citation, Thought, ToolCalled, ToolReturned
from agent.outcomes import unknown
from bot.access import scope_of
from bot.records import DocumentRow
from bot.store import turns as store_turns
from bot.store import withdrawal
from bot.store.conversations import Conversations
from bot.store.documents import Documents
from bot.store.engine import change, rows
from bot.store.erasure import Erasure
from bot.store.outbox import Outbox
from bot.store.schema import sources, turns
from bot.store.searches import Measured, Searches
from bot.store.traces import Traces
from bot.store.turns import Started, TurnStore
from bot.store.vector_stores import VectorStores
from bot.turns.trace import Recording
from bot.turns.withdrawal import WITHDRAWN
from bot.types import Audience, Incoming, Place, Post, Visibility
from retrieval.i18n import Language
from retrieval.types import EVERYONE, TEAM, Hit, Passage, Readers, SearchMetrics

NOW = datetime(2026, 11, 23, tzinfo=UTC)
GENERAL, LEADS, OTHERS = (Place("slack", "T1", name) for name in ("C1", "C2", "C3"))
PLAN, PIER = "a" * 32, "b" * 32


class Home:
    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.documents = Documents(engine, "e5")
        self.generation = 0
        self._rows = TurnStore(engine)

    async def begin(self) -> None:
        await VectorStores(self.engine).open("e5", 384, "t1")
        await self.added(PLAN, "plan.md", TEAM)
        await self.added(PIER, "pier.md", TEAM)

    async def added(self, id: str, name: str, scope: str, *, to: str = "docs", said_in: str | None = None) -> None:
        self.generation += 1
        row = DocumentRow(
            *(id, to, scope, name, name, None, name[:1] * 64, "m", 1, "en", "U1", self.generation, NOW, NOW)
        )
        row = replace(row, said_in=said_in)
        await self.documents.commit(row, generation=self.generation)

    async def forget(self, *ids: str, copied: bool = False) -> None:
        self.generation += 1
        await self.documents.forget(*ids, generation=self.generation, copied=copied)

    async def answered(
        self,
        turn: str,
        place: Place,
        seen: Visibility,
        *,
        posted: bool = True,
        shown: bool = True,
        answer: Answered | None = None,
    ) -> None:
        """An answer that quotes both documents."""
        message = Incoming(place, turn, turn, "U1", "When?", Audience(seen))
        held = (await self._rows.claim({turn: message}, owner="me", now=NOW, until=NOW + timedelta(1)))[turn]
        await self._rows.start(held, owner="me", now=NOW)
        cited = (
            Citation(1, "plan.md", "docs", 0, "In May.", document_id=PLAN),
            Citation(2, "pier.md", "docs", 0, "At seven.", document_id=PIER),
        )
        answer = answer or Answered("In May. [1]\n\nAt seven. [2]", cited)
        hits = tuple(
            Hit(Passage("docs", id, name, 0, "text", TEAM), {}, 0.9)
            for id, name in ((PLAN, "plan.md"), (PIER, "pier.md"))
        )
        recording = Recording()
        for event in (Thought("…"), ToolReturned("1", "search", "2", hits), Thought("In May!"), answer):
            recording.add(event)
        await self._rows.finish(held, answer, owner="me", steps=recording.steps, misses=(), now=NOW)
        if posted:
            await Outbox(self.engine).confirm(Post(turn, "answer", 0, place, turn, "1.0"))
        if shown:
            await self.shows(turn)

    async def shows(self, turn: str, *, now: datetime | None = None) -> None:
        await self._rows.shown(turn, owner="me", now=now or datetime.now(UTC))

    async def left(self) -> list[Incoming]:
        """The questions whose answers are to be shown, and that nobody shows."""
        return await self._rows.unfinished("slack", now=NOW)

    async def shows_again(self, message: Incoming) -> None:
        (held,) = (await self._rows.claim({"x": message}, owner="me", now=NOW, until=NOW + timedelta(1))).values()
        assert isinstance(await self._rows.start(held, owner="me", now=NOW), Started)
        await self.shows(held.id)

    async def text(self, turn: str) -> str:
        kept = await Conversations(self.engine).get(turn)
        assert kept is not None
        return " ".join((kept.answered.text, *(citation.quote for citation in kept.answered.citations)))

    async def states(self) -> dict[str, str]:
        return {row.id: row.state for row in await rows(self.engine, select(turns.c.id, turns.c.state))}

    async def trace(self, turn: str) -> list[bool]:
        """Of each event whether it is there."""
        return [row.event is not None for row in await Traces(self.engine).of(turn)]


@pytest.fixture
async def home(engine: AsyncEngine) -> Home:
    made = Home(engine)
    await made.begin()
    return made


@pytest.mark.parametrize("at_once", [1, 500])
async def test_a_forgotten_document_leaves_every_answer_and_those_that_were_posted_are_shown_again(
    home: Home, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(withdrawal, "AT_ONCE", at_once)
    await home.answered("1" * 32, GENERAL, "public")
    await home.answered("2" * 32, LEADS, "private", posted=False)
    await home.forget(PLAN)
    for turn in ("1" * 32, "2" * 32):
        said = await home.text(turn)
        assert "May" not in said and WITHDRAWN.en in said and "At seven. [2]" in said
        assert await home.trace(turn) == [True, True, False, False]
    assert await home.states() == {"1" * 32: "answered", "2" * 32: "done"}
    assert [one.message for one in await TurnStore(home.engine).unfinished("slack", now=NOW)] == ["1" * 32]


async def test_what_a_model_searched_for_goes_with_what_it_had_read_and_still_counts(home: Home) -> None:
    past, turn = Searches(home.engine), "1" * 32
    await home.answered(turn, GENERAL, "public")
    for query, of in (("May, by hand", None), ("When? / after In May.", turn), ("When?", turn)):
        measured = SearchMetrics(query, "docs", 5.0, 9, 3, 0.8, (0.8,), None, NOW)
        await past.add(Measured(measured, TEAM, of))
    await home.forget(PLAN)
    assert [one.query for one in await past.listed({TEAM})] == ["When?", "May, by hand"]
    assert (await past.totals()).searches == 3


async def test_the_words_of_an_edited_question_leave_the_log_of_searches(home: Home) -> None:
    past, turn = Searches(home.engine), "1" * 32
    await home.answered(turn, GENERAL, "public")
    for query in ("When does Jo leave?", "May, by hand"):
        measured = SearchMetrics(query, "docs", 5.0, 9, 3, 0.8, (0.8,), None, NOW)
        await past.add(Measured(measured, TEAM, None if "hand" in query else turn))
    edited = Incoming(GENERAL, turn, turn, "U1", "When does the ferry leave?", Audience("public"))
    assert await TurnStore(home.engine).amend(edited, now=NOW)
    assert [one.query for one in await past.listed({TEAM})] == ["May, by hand"]
    assert (await past.totals()).searches == 2


async def test_what_is_measured_after_its_question_was_taken_back_has_no_words(home: Home) -> None:
    past, turn, other = Searches(home.engine), "1" * 32, "2" * 32
    for one in (turn, other):
        await home.answered(one, GENERAL, "public")
    deleted = Incoming(GENERAL, turn, turn, "U1", "When?", Audience("public"))
    assert await TurnStore(home.engine).delete(deleted, now=NOW)
    measured = [
        Measured(SearchMetrics(id, "docs", 5.0, 9, 3, 0.8, (0.8,), None, NOW), TEAM, id) for id in (turn, other)
    ]
    await past.add(*measured)
    assert [one.query for one in await past.listed({TEAM})] == [other]
    assert (await past.totals()).searches == 2


@pytest.mark.parametrize("who", ["its asker", "an erasure"])
async def test_a_question_that_is_taken_back_leaves_the_steps_of_those_after_it_that_quote_it(
    home: Home, who: str
) -> None:
    table, first = TurnStore(home.engine), "すみません、\n結婚休暇は 何日ですか？"
    both = "結婚休暇は 何日ですか？ 契約社員だと？"
    outbox = Outbox(home.engine)
    asked = (("1", "1", "U9", first), ("2", "1", "U1", "契約社員だと？"), ("3", "3", "U1", "契約社員だと？"))
    for turn, thread, author, text in asked:
        message = Incoming(GENERAL, thread, turn, author, text, Audience("public"))
        held = (await table.claim({turn: message}, owner="me", now=NOW, until=NOW + timedelta(1)))[turn]
        await table.start(held, owner="me", now=NOW)
        recording = Recording()
        for event in (ToolCalled("1", "search", {"query": both}), Thought("7日です。"), Answered("7日です。")):
            recording.add(event)
        await table.finish(held, Answered("7日です。"), owner="me", steps=recording.steps, misses=(), now=NOW)
        await outbox.confirm(Post(turn, "steps", 0, GENERAL, turn, f"{turn}.0"))
        await home.shows(turn)
    if who == "its asker":
        await table.delete(Incoming(GENERAL, "1", "1", "U9", "", Audience("public")), now=NOW)
    else:
        await Erasure(home.engine).forget(GENERAL.platform, "U9")
    assert (await home.trace("2"), await home.trace("3")) == ([False, True, True], [True, True, True])
    assert [post.data for turn in "23" for post in await outbox.of(turn)] == [{"placeholder": True}, {}]
    assert await home.text("2") == "7日です。"
    assert (await home.states())["2"] == "answered" and (await home.states())["3"] == "done"


async def test_a_question_without_words_can_be_taken_back(home: Home) -> None:
    asked, table = Incoming(GENERAL, "1", "1", "U1", "", Audience("public")), TurnStore(home.engine)
    await table.claim({"1": asked}, owner="me", now=NOW, until=NOW + timedelta(1))
    assert await table.delete(asked, now=NOW)


async def test_a_card_that_lost_its_lines_keeps_no_document(home: Home) -> None:
    row = {"text": "Gone.", "details": [], "links": [], "actions": [], "sources": ["", PLAN]}
    await Outbox(home.engine).reserve(Post("ask:1", "card", 0, GENERAL, data={"row": row, "questions": []}))
    await home.forget(PLAN)
    assert await home.documents.get(PLAN) is None and await home.documents.get(PIER) is not None


async def test_what_is_withdrawn_while_the_end_of_its_showing_waits_for_the_database_is_shown_again(home: Home) -> None:
    begun, turn = datetime.now(UTC), "1" * 32
    await home.answered(turn, GENERAL, "public", shown=False)
    await home.forget(PLAN)
    await home.shows(turn, now=begun)
    assert await home.states() == {turn: "answered"}


async def test_of_many_answers_that_are_shown_again_a_process_has_a_few_in_hand(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store_turns, "SIDE_BY_SIDE", 2)
    unshown, *shown = (n * 32 for n in "1234")
    for turn in shown:
        await home.answered(turn, GENERAL, "public")
    await home.answered(unshown, GENERAL, "public", posted=False, shown=False)
    inbox = TurnStore(home.engine)
    await inbox.release(unshown, owner="me", now=NOW)
    await home.forget(PLAN)
    first, *again = await home.left()
    assert first.message == unshown and len(again) == 2 and {one.message for one in again} < {*shown}
    (held,) = (await inbox.claim({"x": again[0]}, owner="me", now=NOW, until=NOW + timedelta(1))).values()
    left = await inbox.unfinished("slack", now=NOW, held={held.id})
    assert [one.message for one in left if one.message != unshown] == [one.message for one in again[1:]]


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("searched", [(), ("docs", "more")])
async def test_the_page_that_came_closest_to_nothing_is_not_named_any_more(
    home: Home, language: Language, searched: tuple[str, ...]
) -> None:
    for turn, closest in (("1" * 32, "[Plan v. 2. Draft.](https://wiki.example/plan)"), ("2" * 32, "")):
        said = unknown(language, searched, closest=closest) + "\n\nThe closest page is not it."
        await home.answered(turn, GENERAL, "public", answer=Answered(said, outcome="unknown"))
    await home.forget(PLAN)
    plain = unknown(language, searched) + "\n\nThe closest page is not it."
    assert await home.text("1" * 32) == await home.text("2" * 32) == plain
    assert await home.states() == {"1" * 32: "answered", "2" * 32: "done"}


async def test_what_is_withdrawn_while_an_answer_is_being_posted_leaves_it_right_afterwards(home: Home) -> None:
    for turn, posted in (("1" * 32, True), ("2" * 32, False)):
        await home.answered(turn, GENERAL, "public", posted=posted, shown=False)
    await home.forget(PLAN)
    inbox = TurnStore(home.engine)
    await inbox.show_due(datetime.now(UTC))
    assert await home.states() == {"1" * 32: "answered", "2" * 32: "answered"}
    assert not await home.left()  # they are theirs who show them
    for turn in ("1" * 32, "2" * 32):
        await home.shows(turn)
    assert await home.states() == {"1" * 32: "answered", "2" * 32: "done"}  # nothing is posted of the other
    (left,) = await home.left()
    await home.shows_again(left)
    await inbox.show_due(datetime.now(UTC))
    assert await home.states() == {"1" * 32: "done", "2" * 32: "done"}


async def test_steps_that_are_folded_while_their_document_goes_are_emptied_once_they_stand(home: Home) -> None:
    turn = "1" * 32
    await home.answered(turn, GENERAL, "public", shown=False)
    box, steps = Outbox(home.engine), Post(turn, "steps", 0, GENERAL, turn, "2.0", {"lines": ["plan.md says May"]})
    await home.forget(PLAN)
    await box.confirm(steps)
    await home.shows(turn)
    (left,) = [post for post in await box.of(turn) if post.kind == "steps"]
    assert left.data == {"placeholder": True} and await home.states() == {turn: "answered"}


async def test_a_document_for_fewer_leaves_the_answers_of_those_who_may_not_read_it_any_more(home: Home) -> None:
    await home.answered("1" * 32, GENERAL, "public")
    await home.answered("2" * 32, LEADS, "private")
    await home.answered("3" * 32, OTHERS, "private")
    await home.added(PLAN, "plan.md", scope_of(LEADS))
    assert "May" not in await home.text("1" * 32) and "May" not in await home.text("3" * 32)
    assert "May" in await home.text("2" * 32) and all(await home.trace("2" * 32))
    assert await home.states() == {"1" * 32: "answered", "2" * 32: "done", "3" * 32: "answered"}


async def test_a_document_for_more_leaves_nothing(home: Home) -> None:
    await home.answered("1" * 32, GENERAL, "public")
    await home.added(PLAN, "plan.md", EVERYONE)
    await home.added(PIER, "pier.md", TEAM)  # a new version
    assert "May" in await home.text("1" * 32) and await home.states() == {"1" * 32: "done"}


async def test_the_twin_of_a_document_answers_for_it(home: Home) -> None:
    twin = "c" * 32
    await home.added(twin, "plan.md", TEAM, to="elsewhere")
    await home.answered("1" * 32, GENERAL, "public")
    await home.forget(PLAN, copied=True)
    assert "May" in await home.text("1" * 32)
    await home.forget(twin)
    assert "May" not in await home.text("1" * 32)


async def test_two_documents_of_one_name_are_two_in_an_answer(home: Home) -> None:
    await home.added(PIER, "plan.md", TEAM, to="faq")
    cited = [Citation(n, "plan.md", "docs", 0, "q", document_id=id) for n, id in ((1, PLAN), (2, PIER))]
    await home.answered("1" * 32, GENERAL, "public", answer=Answered("In May. [1]\n\nAt seven. [2]", tuple(cited)))
    await home.added(PLAN, "roadmap.md", TEAM)
    kept = await Conversations(home.engine).get("1" * 32)
    assert kept is not None and [one.document for one in kept.answered.citations] == ["roadmap.md", "plan.md"]
    await home.added(PLAN, "plan.md", TEAM)
    await home.forget(PLAN)
    said = await home.text("1" * 32)
    assert "May" not in said and "At seven. [2]" in said


async def test_what_was_only_found_stays_cited_by_nobody(home: Home) -> None:
    await home.answered("1" * 32, GENERAL, "public")
    uncited = update(sources).where(sources.c.document == PLAN).values(cited=False)
    await change(home.engine, lambda db: db.execute(uncited))
    await home.forget(PLAN)
    assert "May" in await home.text("1" * 32) and await home.states() == {"1" * 32: "done"}
    assert await home.trace("1" * 32) == [True, True, False, False]


async def test_what_was_said_in_a_channel_is_asked_anew_before_it_goes_on(home: Home) -> None:
    await home.answered("1" * 32, GENERAL, "public")
    await home.added(PLAN, "plan.md", TEAM, said_in="#leads")
    known, everybody, closed = Conversations(home.engine), Readers(frozenset({EVERYONE, TEAM})), set[str]()

    async def withheld(said: Collection[str], readers: Readers) -> frozenset[str]:
        assert {*said} == {PLAN} and readers == everybody
        return frozenset(closed)

    known.withheld = withheld
    (before,) = await known.history(GENERAL, "1" * 32, everybody)
    closed.add(PLAN)
    (after,) = await known.history(GENERAL, "1" * 32, everybody)
    assert "May" in before.answer and after.answer == WITHDRAWN.en


async def test_the_readers_of_today_decide_what_is_shown_again(home: Home) -> None:
    await home.answered("1" * 32, LEADS, "private")
    await home.added(PLAN, "plan.md", scope_of(LEADS))
    known = Conversations(home.engine)
    assert await known.hidden("1" * 32, Readers(frozenset({EVERYONE, TEAM, scope_of(LEADS)}))) == {}
    assert await known.hidden("1" * 32, Readers(frozenset({EVERYONE, TEAM}))) == {PLAN: "plan.md"}
    assert await known.hidden("1" * 32, Readers(frozenset({EVERYONE}))) == {PLAN: "plan.md", PIER: "pier.md"}
