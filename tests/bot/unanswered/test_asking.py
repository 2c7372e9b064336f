"""Who is asked what, and what everybody reads of it. Source: product.md §4."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import Answered
from bot.access import person, readers, scope_of
from bot.store.asks import Asks
from bot.store.conversations import Conversations
from bot.store.documents import Documents
from bot.store.engine import change
from bot.store.feedback import Votes
from bot.store.outbox import Outbox
from bot.store.schema import asks as asks_table
from bot.store.schema import collections as collection_table
from bot.store.schema import documents as document_table
from bot.store.schema import questions as question_table
from bot.store.turns import TurnStore
from bot.store.unanswered import MissedQuestion, UnansweredQuestions
from bot.types import Actor, Audience, Card, Feedback, Incoming, Place, Post, Recipient, Visibility
from bot.unanswered.asking import A_DAY, NOW, Asking, AskReply
from retrieval.i18n import Text
from retrieval.types import EVERYONE, TEAM, Found, Hit, Passage, RAGToolError, Readers, SearchMetrics
from tests.bot.sample_turns import settings
from tests.bot.store.closing import resolve

NOON = datetime(2026, 11, 23, 3, tzinfo=UTC)  # in Tokyo
GENERAL, SECRET = Place("slack", "T1", "C1"), Place("slack", "T1", "C3")
DIGEST = Place("slack", "T1", "C9")
TOKYO = ZoneInfo("Asia/Tokyo")
MISS = Answered("Nothing was found.", outcome="unknown")
UNSURE = Answered("Perhaps 30 days.", outcome="answered", unsure=True, model="extractive")


class Town:
    """The people and channels that can be asked; and a search that finds what it is told."""

    def __init__(self, engine: AsyncEngine, folder: Path) -> None:
        self.engine = engine
        self.now = NOON
        self.people = {f"U{n}": f"Person {n}" for n in range(1, 30)}
        self.zones: dict[str, ZoneInfo] = {}
        self.gone: set[str] = set()  # who is found and cannot be written to
        self.lost = False  # nothing that is posted arrives
        self.channel: Recipient | None = None
        self.posted: list[tuple[str, Card]] = []
        self.abouts: list[str] = []  # what they are said to be about, by which one is posted once
        self.near: list[Hit] = []
        self.searched: list[str] = []
        self.far: list[Hit] = []
        self.questions = UnansweredQuestions(engine)
        self._turns = TurnStore(engine)
        self._count = 0
        self.asking = Asking(
            settings(folder, KOTAE_TIMEZONE="Europe/Berlin"),
            Asks(engine),
            self.questions,
            Conversations(engine),
            Documents(engine, "e"),
            self.search,
            Outbox(engine).cards,
            clock=lambda: self.now,
        )
        self.asking.reach = self

    # -- what `Reach` has ---------------------------------------------------------------------------------------------

    async def find(self, recipient: str) -> Recipient:
        platform, _, who = recipient.partition(":")
        if who.startswith("#") and self.channel:
            return self.channel
        if platform != "slack" or who not in self.people:
            raise LookupError(recipient)
        place = Place("slack", "T1", f"D{who}")
        return Recipient(place, Audience("private"), self.people[who], self.zones.get(who, TOKYO), "en")

    async def digest_channel(self) -> str | None:
        return f"slack:#{self.channel.place.channel}" if self.channel else None

    async def post(self, to: Recipient, card: Card, *, about: str) -> None:
        if self.lost:
            raise ConnectionError("away")
        if to.place.channel.removeprefix("D") in self.gone:
            raise LookupError("blocked")
        self.posted.append((to.place.channel, card))
        self.abouts.append(about)

    # -- what happens ------------------------------------------------------------------------------------------------

    async def search(self, query: str, allowed: Readers) -> Found:
        def seen(hits: Sequence[Hit]) -> tuple[Hit, ...]:
            return tuple(hit for hit in hits if hit.passage.scope in allowed.scopes)

        self.searched.append(query)
        metrics = SearchMetrics(query, "", 1.0, 0, 0, 0.0, (), None, NOON)
        return Found(seen(self.near), metrics, rejected=seen(self.far))

    async def document(
        self,
        name: str,
        author: str,
        *,
        owner: str | None = None,
        collection: str = "handbook",
        keeper: str | None = None,
        scope: str = TEAM,
        near: bool = True,
    ) -> None:
        """Add one that the search finds; `keeper` looks after its collection."""
        id = name.ljust(32, "0")
        row = {
            **{"id": id, "collection": collection, "scope": scope, "name": name, "title": name, "hash": "0" * 64},
            **{"markdown": "0" * 64, "chunks": 1, "language": "en", "author": author, "born": 1, "owner": owner},
            **{"added_at": NOON, "updated_at": NOON},
        }
        shelf = {"name": collection, "description": "", "created_at": NOON, "owner": keeper}
        if not await self._has(collection):
            await change(self.engine, lambda db: db.execute(collection_table.insert().values(shelf)))
        await change(self.engine, lambda db: db.execute(document_table.insert().values(row)))
        hit = Hit(Passage(collection, id, name, 0, f"The text of {name}.", scope, name), {}, 0.8)
        (self.near if near else self.far).append(hit)

    async def _has(self, collection: str) -> bool:
        wanted = collection_table.select().where(collection_table.c.name == collection)
        return await change(self.engine, lambda db: db.execute(wanted).first() is not None)

    async def asked(
        self,
        answer: Answered = UNSURE,
        *,
        place: Place = GENERAL,
        seen: Visibility = "public",
        author: str = "U1",
        text: str = "How long do refunds take?",
        thread: str = "",
    ) -> str:
        self._count += 1
        turn = f"{self._count:032}"
        message = Incoming(
            place, thread or turn, turn, author, text, Audience(seen), link=f"https://team.example/{self._count}"
        )
        until = self.now + timedelta(days=1)
        claimed = (await self._turns.claim({turn: message}, owner="me", now=self.now, until=until))[turn]
        await self._turns.start(claimed, owner="me", now=self.now)
        await self._turns.finish(claimed, answer, owner="me", steps=[], misses=(), now=self.now)
        await self._turns.shown(turn, owner="me", now=self.now)
        return turn

    async def press(
        self,
        turn: str,
        *,
        who: str = "U1",
        place: Place = GENERAL,
        seen: Visibility = "public",
        choice: str = "",
        outsider: bool = False,
    ) -> AskReply:
        actor = Actor("slack", "T1", who, "outsider" if outsider else "member")
        return await self.asking.ask(turn, actor, place, Audience(seen), choice)

    @property
    def cards(self) -> list[str]:
        """Where cards are, in their order."""
        return [channel for channel, _ in self.posted]


@pytest.fixture
def town(engine: AsyncEngine, tmp_path: Path) -> Town:
    return Town(engine, tmp_path)


def said(card: Card) -> str:
    return "\n".join((*card.lines, *(line for row in card.rows for line in (row.text, *row.details))))


# -- who it is --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("owner", "keeper", "author", "whom"),
    [
        ("slack:U5", "slack:U6", "U7", "DU5"),  # whoever looks after the document
        (None, "slack:U6", "U7", "DU6"),  # … or after its collection
        (None, None, "U7", "DU7"),  # … or has added it
        (None, None, "terminal", "C9"),
        (None, None, "aki", "C9"),
        ("discord:123456789012345678", None, "U7", "C9"),  # nowhere connected
        ("slack:U99", None, "U7", "C9"),  # has left
        ("slack:U1", None, "U7", "C9"),  # who has asked it
    ],
)
async def test_whoever_looks_after_what_lies_closest_is_asked(
    town: Town, owner: str | None, keeper: str | None, author: str, whom: str
) -> None:
    town.channel = Recipient(DIGEST, Audience("public"), "#digest")
    await town.document("refunds.md", author, owner=owner, keeper=keeper)
    turn = await town.asked()
    assert (await town.press(turn)).offer is None
    assert town.cards == [whom]


async def test_else_whoever_answered_most_like_it_then_the_digests_channel(town: Town) -> None:
    town.channel = Recipient(DIGEST, Audience("public"), "#digest")
    await town.document("page.md", "kotae")
    await town.document("Q&A: refunds.json", "U4", collection="answers")
    turn = await town.asked()
    assert "Person 4" in (await town.press(turn)).text.en
    assert town.cards == ["DU4"] and "You are asked because you have answered" in said(town.posted[0][1])

    town.near.clear()
    turn = await town.asked(MISS)
    assert "#digest" in (await town.press(turn)).text.en
    assert town.cards == ["DU4", "C9"] and "You are asked" not in said(town.posted[1][1])


async def test_who_is_only_a_little_close_or_has_opted_out_is_not_asked(town: Town) -> None:
    await town.document("far.md", "U5", near=False)
    turn = await town.asked()
    assert "I found nobody" in (await town.press(turn)).text.en

    await town.document("near.md", "U6")
    await town.asking.opt_out("slack:U6")
    assert "I found nobody" in (await town.press(turn)).text.en and not town.posted
    assert (await town.questions.of_turn(turn))[0].resolved_at is None  # it stays among the unanswered ones

    await town.asking.opt_in("slack:U6")
    await town.press(turn)
    assert town.cards == ["DU6"]


async def test_who_takes_no_messages_gives_way_to_the_next(town: Town) -> None:
    await town.document("a.md", "U5")
    await town.document("b.md", "U6")
    town.gone = {"U5"}
    assert "Person 6" in (await town.press(await town.asked())).text.en
    assert town.cards == ["DU6"]


async def test_nobody_is_asked_more_than_a_few_questions_a_day(town: Town) -> None:
    await town.document("a.md", "U5")
    await town.document("b.md", "U6")
    for n in range(A_DAY + 1):
        await town.press(await town.asked(author=f"U{10 + n}"), who=f"U{10 + n}")
    assert town.cards == ["DU5"] * A_DAY + ["DU6"]
    town.now += timedelta(days=1, minutes=1)
    await town.press(await town.asked(author="U20"), who="U20")
    assert town.cards[-1] == "DU5"


async def test_nobody_has_more_than_a_few_people_asked_a_day(town: Town) -> None:
    for n in range(A_DAY + 1):
        await town.document(f"{n}.md", f"U{10 + n}")
    for _ in range(A_DAY):
        await town.press(await town.asked())
    assert len(town.cards) == A_DAY
    assert "since yesterday" in (await town.press(await town.asked())).text.en
    assert len(town.cards) == A_DAY


# -- once, and readable -----------------------------------------------------------------------------------------------


async def test_a_question_is_brought_to_one_person_once(town: Town) -> None:
    await town.document("refunds.md", "U5")
    turn = await town.asked()
    first = await town.press(turn)
    assert first.text.en == "I have asked Person 5. You will read the answer in this thread."
    assert "Person 5 has been asked this already" in (await town.press(turn, who="U2")).text.en
    assert town.cards == ["DU5"]

    card = town.posted[0][1]
    (row,) = card.rows
    assert not card.title and row.text == "How long do refunds take?"
    assert row.details[:2] == (
        "Person 1 asks this, and I was not sure of an answer.",
        "“The text of refunds.md.” — refunds.md (handbook)",
    )
    assert "you look after the closest documents" in row.details[2] and "/kotae asks off" in row.details[3]
    assert [link.url for link in row.links] == ["https://team.example/1"]
    (question,) = await town.questions.of_turn(turn)
    assert {action.questions for action in row.actions} == {(question.id,)}


async def test_a_card_says_whether_nothing_was_found_or_the_answer_is_doubted(town: Town) -> None:
    await town.document("refunds.md", "U5")
    await town.press(await town.asked())
    turn = await town.asked(MISS)
    miss = MissedQuestion(turn, "Where is the key?", "unknown", (), None, TEAM, None, town.now)
    await town.questions.add(miss)
    await town.press(turn)
    doubted, unknown = (card.rows[0].details[0] for _, card in town.posted)
    assert doubted == "Person 1 asks this, and I was not sure of an answer."
    assert unknown == "Person 1 asks this, and I found nothing about it."


async def test_what_goes_on_from_another_question_is_searched_and_shown_with_it(town: Town) -> None:
    await town.document("refunds.md", "U5")
    first = await town.asked()
    await town.press(await town.asked(text="And for contractors?", thread=first))
    assert set(town.searched) == {"How long do refunds take? → And for contractors?"}
    ((_, card),) = town.posted
    row = card.rows[0]
    assert row.text == "And for contractors?"
    assert row.details[1] == "It goes on from: “How long do refunds take?”"
    assert row.sources[1] == first and "refunds.md" in row.details[2] and row.sources[2] not in ("", first)


async def test_of_what_a_private_question_goes_on_from_nobody_elsewhere_is_told(town: Town) -> None:
    await town.document("refunds.md", "U5")
    first = await town.asked(place=SECRET, seen="private", text="How long does the merger take?")
    turn = await town.asked(place=SECRET, seen="private", text="And for contractors?", thread=first)
    offered = await town.press(turn, place=SECRET, seen="private")
    assert "merger" not in offered.text.en and offered.offer is not None
    await town.press(turn, place=SECRET, seen="private", choice=offered.choice)
    ((channel, card),) = town.posted
    assert card.rows[0].text == "And for contractors?" and "merger" not in str(card)
    (question,) = await town.questions.of_turn(turn)
    there = Place("slack", "T1", channel)
    (brought,) = await town.questions.get([question.id], [], place=there)
    assert (question.before, brought.before) == ("How long does the merger take?", "")


async def test_what_was_brought_to_a_person_late_is_in_the_digest_after(town: Town) -> None:
    await town.document("refunds.md", "U5")
    turn = await town.asked()
    town.now += timedelta(days=4)
    await town.press(turn)
    found, _, _ = await town.questions.asked_between([TEAM], town.now, town.now + timedelta(days=7), limit=9)
    assert [one.question.turn for one in found] == [turn]


async def test_what_is_settled_already_is_not_asked(town: Town) -> None:
    await town.document("refunds.md", "U5")
    turn = await town.asked()
    town.people.pop("U5")
    await town.press(turn)
    (question,) = await town.questions.of_turn(turn)
    await resolve(town.engine, [question.id], [TEAM])
    town.people["U5"] = "Person 5"
    assert "already" in (await town.press(turn)).text.en and not town.posted


@pytest.mark.parametrize("how", ["taken back", "reported"])
async def test_what_was_answered_and_is_open_again_is_asked_again(town: Town, how: str) -> None:
    """The card of the first time is closed, so its question would wait there for ever."""
    await town.document("refunds.md", "U5")
    turn = await town.asked()
    await town.press(turn)
    (question,) = await town.questions.of_turn(turn)
    await resolve(town.engine, [question.id], [TEAM])
    assert "answered or dismissed already" in (await town.press(turn)).text.en
    town.now += timedelta(minutes=1)
    if how == "taken back":
        open_again = {"resolved_at": None, "resolution": None, "reopened_at": town.now}
        await change(town.engine, lambda db: db.execute(question_table.update().values(open_again)))
    else:
        await Votes(town.engine).put(Feedback(turn, "U1", "down"), TEAM)
    assert "I have asked Person 5" in (await town.press(turn)).text.en
    assert "has been asked this already" in (await town.press(turn)).text.en
    assert town.cards == ["DU5", "DU5"] and len(set(town.abouts)) == 2


async def test_what_could_not_be_sent_is_sent_later(town: Town) -> None:
    await town.document("refunds.md", "U5")
    town.lost = True
    turn = await town.asked()
    assert "I have asked Person 5" in (await town.press(turn)).text.en and not town.posted
    await town.asking.deliver()
    town.lost = False
    await town.asking.deliver()
    await town.asking.deliver()
    assert town.cards == ["DU5"]

    town.lost = True
    await town.press(turn := await town.asked())
    town.now += timedelta(days=1, minutes=1)
    await town.asking.deliver()
    town.lost = False
    await town.asking.deliver()
    assert town.cards == ["DU5"]  # nobody is surprised by it days later; it can be asked anew
    await town.press(turn)
    assert town.cards == ["DU5", "DU5"]


# -- at night ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("zone", "local", "until"),
    [
        (TOKYO, datetime(2026, 11, 23, 20, 59, tzinfo=TOKYO), None),
        (TOKYO, datetime(2026, 11, 23, 21, 0, tzinfo=TOKYO), datetime(2026, 11, 24, 8, 0, tzinfo=TOKYO)),
        (TOKYO, datetime(2026, 11, 24, 7, 59, tzinfo=TOKYO), datetime(2026, 11, 24, 8, 0, tzinfo=TOKYO)),
        (TOKYO, datetime(2026, 11, 24, 8, 0, tzinfo=TOKYO), None),
        # nobody's own zone is known: KOTAE_TIMEZONE; and clocks are put forward in that night
        (
            None,
            datetime(2026, 3, 28, 23, 0, tzinfo=ZoneInfo("Europe/Berlin")),
            datetime(2026, 3, 29, 8, 0, tzinfo=ZoneInfo("Europe/Berlin")),
        ),
    ],
)
async def test_nobody_is_asked_in_their_night(
    town: Town, zone: ZoneInfo | None, local: datetime, until: datetime | None
) -> None:
    town.zones["U5"] = zone  # type: ignore[assignment]
    town.now = local.astimezone(UTC)
    await town.document("refunds.md", "U5")
    reply = await town.press(turn := await town.asked())
    if until is None:
        assert town.cards == ["DU5"] and reply.offer is None
        return
    assert not town.posted and "until 08:00" in reply.text.en and reply.choice == NOW
    assert (await town.press(turn)).choice == NOW  # whoever presses again is told the same
    town.now = until.astimezone(UTC) - timedelta(seconds=1)
    await town.asking.deliver()
    assert not town.posted
    town.now = until.astimezone(UTC)
    await town.asking.deliver()
    assert town.cards == ["DU5"]
    assert "already" in (await town.press(turn, choice=NOW)).text.en


async def test_the_asker_need_not_wait_for_the_morning(town: Town) -> None:
    town.now = datetime(2026, 11, 23, 23, tzinfo=TOKYO).astimezone(UTC)
    await town.document("refunds.md", "U5")
    turn = await town.asked()
    await town.press(turn)
    assert "I have asked Person 5" in (await town.press(turn, choice=NOW)).text.en
    assert town.cards == ["DU5"]


async def test_whoever_is_gone_in_the_morning_gives_way_to_the_next(town: Town) -> None:
    town.now = datetime(2026, 11, 23, 23, tzinfo=TOKYO).astimezone(UTC)
    await town.document("a.md", "U5")
    await town.document("b.md", "U6")
    await town.press(await town.asked())
    town.now += timedelta(hours=10)
    town.people.pop("U5")
    await town.asking.deliver()
    assert town.cards == ["DU6"]


async def test_whoever_does_not_want_to_be_asked_by_the_morning_gives_way_to_the_next(town: Town) -> None:
    town.now = datetime(2026, 11, 23, 23, tzinfo=TOKYO).astimezone(UTC)
    await town.document("a.md", "U5")
    await town.document("b.md", "U6")
    await town.press(await town.asked())
    await town.asking.opt_out("slack:U5")
    town.now += timedelta(hours=10)
    await town.asking.deliver()
    assert town.cards == ["DU6"]


@pytest.mark.parametrize("hour", [10, 23])
async def test_what_a_day_did_not_bring_waits_for_the_next_morning(town: Town, hour: int) -> None:
    """Nothing could be sent before it is night again, by day or where it waited for the morning."""
    town.now = datetime(2026, 11, 23, hour, tzinfo=TOKYO).astimezone(UTC)
    await town.document("refunds.md", "U5")
    town.lost = True
    await town.press(turn := await town.asked())
    town.lost, night = False, datetime(2026, 11, 24, 21, tzinfo=TOKYO) - timedelta(days=hour < 21)
    town.now = night.astimezone(UTC)
    await town.asking.deliver()
    assert not town.posted and (await town.press(turn)).choice == NOW
    town.now += timedelta(hours=11)
    await town.asking.deliver()
    assert town.cards == ["DU5"]


async def test_what_was_answered_or_deleted_by_the_morning_is_not_sent(town: Town) -> None:
    town.now = datetime(2026, 11, 23, 23, tzinfo=TOKYO).astimezone(UTC)
    await town.document("a.md", "U5")
    turns = [await town.asked() for _ in range(2)]
    for turn in turns:
        assert (await town.press(turn)).choice == NOW
    (question,) = await town.questions.of_turn(turns[0])
    await resolve(town.engine, [question.id], [TEAM])
    (other,) = await town.questions.of_turn(turns[1])
    await change(town.engine, lambda db: db.exec_driver_sql(f"DELETE FROM questions WHERE id = {other.id}"))
    town.now += timedelta(hours=10)
    await town.asking.deliver()
    assert not town.posted


# -- who may read it --------------------------------------------------------------------------------------------------


async def test_from_a_private_place_its_asker_sees_first_who_gets_what(town: Town) -> None:
    await town.document("team.md", "U5")
    await town.document("secret.md", "U6", scope=scope_of(SECRET))
    turn = await town.asked(place=SECRET, seen="private", text="When do we merge?")
    reply = await town.press(turn, place=SECRET, seen="private")
    assert not town.posted and reply.choice == "slack:U5"
    assert "Person 5" in reply.text.en and "“When do we merge?”" in reply.text.en
    assert "team.md" in reply.text.en and "secret.md" not in reply.text.en

    assert "only whoever asked" in (await town.press(turn, who="U2", place=SECRET, seen="private")).text.en
    wrong = await town.press(turn, place=SECRET, seen="private", choice="slack:U6")
    assert wrong.choice == "slack:U5" and not town.posted  # not the one who was shown

    reply = await town.press(turn, place=SECRET, seen="private", choice="slack:U5")
    assert reply.offer is None and town.cards == ["DU5"]
    assert "team.md" in said(town.posted[0][1]) and "secret" not in said(town.posted[0][1])

    (question,) = await town.questions.of_turn(turn)
    direct, elsewhere = Place("slack", "T1", "DU5"), Place("slack", "T1", "DU6")
    for place, seen in ((direct, True), (elsewhere, False), (GENERAL, False)):
        scopes = readers(place, Audience("private")).scopes
        assert bool(await town.questions.get([question.id], scopes, place=place)) is seen


async def test_who_asks_is_not_told_what_only_the_one_who_is_asked_may_read(town: Town) -> None:
    """Its existence neither: what they see first says the same without it."""
    await town.document("team.md", "U5")
    turn = await town.asked(place=SECRET, seen="private", text="When do we merge?")
    before = await town.press(turn, place=SECRET, seen="private")
    theirs = scope_of(Place("slack", "T1", "DU5"))
    await town.document("diary.md", "U5", scope=theirs)
    assert await town.press(turn, place=SECRET, seen="private") == before
    await town.press(turn, place=SECRET, seen="private", choice="slack:U5")
    assert "diary.md" in said(town.posted[0][1])


async def test_what_is_private_goes_to_no_channel_with_more_readers(town: Town) -> None:
    turn = await town.asked(MISS, place=SECRET, seen="private")
    for place, seen in ((DIGEST, "public"), (DIGEST, "private")):
        town.channel = Recipient(place, Audience(seen), "#digest")  # type: ignore[arg-type]
        assert "I found nobody" in (await town.press(turn, place=SECRET, seen="private")).text.en
    town.channel = Recipient(SECRET, Audience("private"), "#secret")
    reply = await town.press(turn, place=SECRET, seen="private")
    assert reply.offer and "Everyone in #secret" in reply.text.en
    await town.press(turn, place=SECRET, seen="private", choice=reply.choice)
    assert town.cards == ["C3"]


async def test_what_the_team_asks_goes_to_no_channel_that_outsiders_read(town: Town) -> None:
    town.channel = Recipient(DIGEST, Audience("outsiders"), "#shared")
    assert "I found nobody" in (await town.press(await town.asked(MISS))).text.en and not town.posted


async def test_what_is_sent_later_goes_to_no_channel_that_outsiders_read_by_then(town: Town) -> None:
    town.channel, town.lost = Recipient(DIGEST, Audience("public"), "#digest"), True
    assert "I have asked #digest" in (await town.press(await town.asked(MISS))).text.en and not town.posted
    town.channel, town.lost = Recipient(DIGEST, Audience("outsiders"), "#digest"), False
    await town.asking.deliver()
    assert not town.posted


async def test_outsiders_have_nobody_asked_and_read_no_names(town: Town) -> None:
    await town.document("refunds.md", "U5", scope=EVERYONE)
    turn = await town.asked()
    for reply in (await town.press(turn, outsider=True), await town.press(turn, seen="outsiders")):
        assert "Person" not in reply.text.en and "Person" not in reply.text.ja
    assert not town.posted


async def test_a_turn_of_another_place_is_not_known(town: Town) -> None:
    await town.document("refunds.md", "U5")
    turn = await town.asked(place=SECRET, seen="private")
    assert "no longer know" in (await town.press(turn)).text.en
    assert "no longer know" in (await town.press("0" * 32)).text.en and not town.posted


async def test_who_cannot_be_asked_any_more_gives_way_once_the_next_can_be_looked_for(town: Town) -> None:
    await town.document("refunds.md", "U5")
    await town.document("returns.md", "U6")
    town.now = NOON + timedelta(hours=12)  # night in Tokyo
    turn, search = await town.asked(), town.search
    await town.press(turn)

    async def broken(query: str, allowed: Readers) -> Found:
        raise RAGToolError(Text(en="away", ja="停止中"))

    del town.people["U5"]
    town.now, town.asking.search = NOON + timedelta(days=1), broken
    await town.asking.deliver()
    assert not town.posted
    town.asking.search = search
    await town.asking.deliver()
    assert town.cards == ["DU6"]


async def test_a_question_on_an_open_card_of_the_digest_gets_no_second_one_there(town: Town) -> None:
    here = Place("slack", "T1", "C9")
    town.channel = Recipient(here, Audience("public"), "#help", None, "en")
    turn = await town.asked()
    await town.press(turn)
    (question,) = await town.questions.of_turn(turn)
    assert town.cards == ["C9"]
    await change(town.engine, lambda db: db.execute(asks_table.delete()))
    data = {"questions": [question.id], "closed": False, "row": {"sources": []}}
    card = Post("digest:1", "card", 0, here, message="7.0", data=data)
    await Outbox(town.engine).confirm(card)
    reply = await town.press(turn)
    assert "has been asked this already" in reply.text.en and town.cards == ["C9"]
    await Outbox(town.engine).confirm(replace(card, data=data | {"closed": True}))
    await town.press(turn)
    assert town.cards == ["C9", "C9"]


async def test_a_card_whose_passages_cannot_be_looked_up_goes_without(town: Town) -> None:
    await town.document("refunds.md", "U5")
    turn, search = await town.asked(), town.search

    async def broken(query: str, allowed: Readers) -> Found:
        if TEAM in allowed.scopes and scope_of(Place("slack", "T1", "DU5")) in allowed.scopes:
            raise RAGToolError(Text(en="away", ja="停止中"))
        return await search(query, allowed)

    town.asking.search = broken
    await town.press(turn)
    assert town.cards == ["DU5"] and "The text" not in said(town.posted[0][1])


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("slack:U1", "slack:U1"),
        ("<@U12|ann>", "slack:U12"),
        ("<@!123456789012345678>", "discord:123456789012345678"),
        ("123456789012345678", "discord:123456789012345678"),
        ("W1", "slack:W1"),
        ("terminal", None),
        ("web:aki", None),
        ("discord:U1", None),
        ("", None),
    ],
)
def test_people_are_known_by_their_platforms_ids(text: str, who: str | None) -> None:
    assert person(text) == who
