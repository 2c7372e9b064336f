"""The list of misses shows what its readers may see, counts the rest, and gives a file that no spreadsheet executes."""

import csv
import io
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import Answered, Cost
from bot.access import default_scope, readers
from bot.records import AuditRecord as Act
from bot.records import WantedQuestions
from bot.store.engine import connect
from bot.store.notifications import Notices, Telling
from bot.store.turns import TurnStore
from bot.store.unanswered import MissedQuestion, UnansweredQuestions, Week
from bot.turns.trace import Trace, TracedHit, TracedStep
from bot.types import Audience, Incoming, MissReason, Place, Question, Visibility
from bot.unanswered import spreadsheet
from bot.unanswered.clustering import Clustering
from bot.unanswered.questions import Remembering, Unanswered, as_csv
from bot.unanswered.spreadsheet import harmless
from retrieval.loaders.limits import ParsingLimits
from retrieval.loaders.tables import read_csv, write_rows
from retrieval.types import Found, Hit, Passage, QAPair, Readers, SearchMetrics
from tests.bot.store.closing import resolve
from tests.retrieval.test_ingest import HashEmbedder

TOKYO = ZoneInfo("Asia/Tokyo")
NOW = datetime(2026, 11, 20, 3, tzinfo=UTC)  # a Friday
GENERAL = Place("slack", "T1", "C-general")
SECRET = Place("slack", "T1", "C-secret")
MEMBERS = readers(GENERAL, Audience("public"))
INSIDERS = readers(SECRET, Audience("private"))
FAR = Hit(Passage("handbook", "d1", "a.md", 0, "Something else.", "team"), {}, 0.1)
NEAR = replace(FAR, relevance=0.7)


class Team:
    """People whose questions are missed."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.questions = UnansweredQuestions(engine)
        self.notices = Notices(engine)
        self.embedder = HashEmbedder()
        self.looked: list[str] = []
        self.found_then: tuple[tuple[TracedHit, ...], ...] = ()
        self.unanswered = Unanswered(
            self.questions,
            Clustering(Remembering(self.embedder)),
            search=self._search,
            trace=self._trace,
            timezone=TOKYO,
        )
        self._rows = TurnStore(engine)
        self._number = 0

    async def misses(
        self,
        text: str,
        reason: MissReason = "unknown",
        *,
        at: datetime = NOW,
        by: str = "U1",
        place: Place = GENERAL,
        visibility: Visibility = "public",
        searched: tuple[str, ...] = ("handbook",),
        detail: str = "",
    ) -> int:
        self._number += 1
        turn = f"{self._number:032}"
        message = Incoming(place, turn, turn, by, text, Audience(visibility), link=f"https://t.example/{self._number}")
        held = (await self._rows.claim({turn: message}, owner="me", now=at, until=at))[turn]
        scope = default_scope(place, Audience(visibility))
        miss = MissedQuestion(turn, text, reason, searched, 0.25, scope, message.link, at, detail)
        answer = Answered("?", outcome="unknown", searched=searched)
        await self._rows.finish(held, answer, owner="me", steps=[], misses=[miss], now=at)
        (asked,) = [one for one in await self.questions.of_turn(turn) if one.reason == reason]
        return asked.id

    async def closes(self, *ids: int, answer: str | None = None) -> None:
        telling = Telling(answer, "slack:U9") if answer else None
        act = Act("slack:U9", "teach", "questions", "closed")
        scopes = MEMBERS.scopes | INSIDERS.scopes
        await self.notices.close(ids, scopes, now=NOW + timedelta(hours=1), trace=act, telling=telling)

    async def listed(self, who: Readers = MEMBERS, **wanted: object) -> list[str]:
        page = await self.unanswered.page(WantedQuestions(**wanted), who)  # type: ignore[arg-type]
        assert page.shown == len(page.questions)
        return [one.question for one in page.questions]

    async def _search(self, query: str, who: Readers) -> Found:
        self.looked.append(query)
        return Found((NEAR,), SearchMetrics(query, "", 1.0, 2, 1, 0.7, (), None, NOW), rejected=(FAR,))

    async def _trace(self, turn: str, who: Readers) -> Trace | None:
        steps = tuple(TracedStep("tool_result", 1.0, 0.5, hits=hits) for hits in self.found_then)
        return Trace(
            turn, "?", GENERAL, None, NOW, None, "unknown", False, "react", "m", 1.0, 0.0, Cost(), (), 0.1, False, steps
        )


@pytest.fixture
def team(engine: AsyncEngine) -> Team:
    return Team(engine)


@pytest.fixture
async def small(sqlite_url: str) -> AsyncIterator[Team]:
    engine = connect(sqlite_url)
    yield Team(engine)
    await engine.dispose()


# -- the list -------------------------------------------------------------------------------------------------------


async def test_a_key_in_a_question_or_a_complaint_is_brought_to_nobody(team: Team) -> None:
    key = "sk-" + "a1b2c3d4e5f6g7h8"
    await team.misses(f"Why does {key} give me a 401?", "reported", detail=f"wrong: {key} is valid")
    (shown,) = (await team.unanswered.page(WantedQuestions(), MEMBERS)).questions
    assert shown.question.startswith("Why does ") and shown.question.endswith(" give me a 401?")
    assert shown.detail.endswith(" is valid") and key not in str(shown)


async def test_misses_are_found_by_what_matters(team: Team) -> None:
    old = NOW - timedelta(days=40)
    await team.misses("How much is 50% of the fee?", at=old)
    await team.misses(
        "駐車場はどこですか？", "low_confidence", searched=("総務, “規程”", "faq"), at=NOW - timedelta(days=2)
    )
    answered = await team.misses(
        "Who has the key?", "reported", detail="outdated: moved to B1", at=NOW - timedelta(days=1)
    )
    dropped = await team.misses("asdf", at=NOW)
    await team.misses("Salary of U7?", place=SECRET, visibility="private")
    await team.closes(answered, answer="Reception.")
    await team.closes(dropped)
    fee, parking, key, noise = "How much is 50% of the fee?", "駐車場はどこですか？", "Who has the key?", "asdf"
    assert await team.listed() == [parking, fee]
    assert await team.listed(state="closed") == [key]
    assert await team.listed(state="dismissed") == [noise]
    assert await team.listed(state="all") == [noise, key, parking, fee]
    assert await team.listed(reason="low_confidence") == [parking]
    assert await team.listed(collection="総務, “規程”") == [parking]
    assert await team.listed(collection="規程") == []
    assert await team.listed(state="all", text=" b1 ") == [key]
    assert await team.listed(state="all", text="ｂ１") == [key]
    assert await team.listed(text="駐車") == [parking]
    assert await team.listed(text="50%") == [fee] and await team.listed(text="5_%") == []
    assert await team.listed(since=NOW - timedelta(days=30)) == [parking]
    assert await team.listed(until=NOW - timedelta(days=30)) == [fee]
    assert await team.listed(INSIDERS, text="salary") == ["Salary of U7?"]
    await resolve(team.engine, [dropped], MEMBERS.scopes)
    assert await team.listed(state="closed") == [key]


async def test_private_ones_are_a_number_that_tells_nothing_of_their_words(small: Team) -> None:
    await small.misses("Where is the key?")
    await small.misses("Salary of U7?", place=SECRET, visibility="private", searched=("board",))
    for wanted in (
        WantedQuestions(),
        WantedQuestions(text="salary"),
        WantedQuestions(text="nothing like it"),
        WantedQuestions(collection="board"),
    ):
        page = await small.unanswered.page(wanted, MEMBERS)
        assert page.hidden == 1 and "alary" not in repr(page)
    assert (await small.unanswered.page(WantedQuestions(reason="reported"), MEMBERS)).hidden == 0
    inside = await small.unanswered.page(WantedQuestions(), INSIDERS)
    assert (len(inside.questions), inside.hidden) == (2, 0)


async def test_pages_are_whole_and_in_order(small: Team) -> None:
    for number in range(7):
        await small.misses(f"Question {number}?", at=NOW - timedelta(minutes=number // 2))
    pages = [await small.unanswered.page(WantedQuestions(), MEMBERS, page=page, size=3) for page in (1, 2, 3, 4)]
    assert [len(page.questions) for page in pages] == [3, 3, 1, 0]
    assert {(page.shown, page.pages) for page in pages} == {(7, 3)}
    ids = [one.id for page in pages for one in page.questions]
    assert len(set(ids)) == 7
    moments = [one.asked_at for page in pages for one in page.questions]
    assert moments == sorted(moments, reverse=True)


# -- together -------------------------------------------------------------------------------------------------------


async def test_alike_ones_are_together_with_what_lies_closest(small: Team) -> None:
    first = NOW - timedelta(days=3)
    await small.misses("Where do I park?", at=first, searched=("handbook",))
    await small.misses("Who has the key?", at=NOW - timedelta(days=2))
    await small.misses("where do I park", by="U2", searched=("faq",))
    await small.misses("Where do I park?", place=SECRET, visibility="private")
    found = await small.unanswered.groups(WantedQuestions(), MEMBERS, size=1)
    assert (found.pages, found.beyond, found.hidden) == (2, 0, 1)
    (parking,) = found.groups
    assert (parking.group.count, parking.group.askers) == (2, 2)
    assert [one.asked_at for one in parking.questions] == [NOW, first]
    assert parking.group.ids == tuple(sorted(one.id for one in parking.questions))
    assert [one.document for one in parking.group.documents] == ["a.md"]
    assert len(small.looked) == 1  # only for what the page shows
    embedded = len(small.embedder.batches)
    second = await small.unanswered.groups(WantedQuestions(), MEMBERS, page=2, size=1)
    assert [group.group.question for group in second.groups] == ["Who has the key?"]
    assert len(small.embedder.batches) == embedded  # the vectors are known


async def test_vectors_are_remembered_up_to_a_number() -> None:
    inner = HashEmbedder()
    embedder = Remembering(inner, most=2)
    first = await embedder.embed_documents(["a", "b", "a"])
    assert first == await inner.embed_documents(["a", "b", "a"])
    await embedder.embed_documents(["a", "c"])
    assert await embedder.embed_documents(["b"]) == [first[1]]
    assert inner.batches == [["a", "b"], ["a", "b", "a"], ["c"], ["b"]]


async def test_the_closest_passages_then_and_now(small: Team) -> None:
    gone = TracedHit("handbook", "d2", None, 3, 0.2, {}, False, "gone")
    there = replace(gone, document="a.md", chunk=4, relevance=0.3, state="shown", text="Parking costs 5 euros.")
    small.found_then = ((gone, there), (there,))
    number = await small.misses("Where do I park?", place=SECRET, visibility="private")
    assert await small.unanswered.nearest(number, MEMBERS) is None and small.looked == []
    found = await small.unanswered.nearest(number, INSIDERS)
    assert found is not None and found.now == (NEAR, FAR)
    assert found.then == (there, gone)


async def test_the_trend_goes_by_weeks_of_the_time_zone(team: Team) -> None:
    monday = datetime(2026, 11, 15, 15, tzinfo=UTC)  # in Tokyo
    await team.misses("A?", at=monday - timedelta(seconds=1))
    closed = await team.misses("B?", at=monday)
    await team.misses("C?", at=monday, place=SECRET, visibility="private")
    await team.closes(closed, answer="Yes.")
    found = await team.unanswered.trend(weeks=3, now=NOW)
    day = monday.astimezone(TOKYO).date()
    assert found == (
        Week(day - timedelta(weeks=2), 0, 0, 0),
        Week(day - timedelta(weeks=1), 1, 1, 0),
        Week(day, 2, 2, 1),
    )


# -- the file -------------------------------------------------------------------------------------------------------

FORMULAS = [
    "=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "＝1+1", "＋1", "－1", "＠SUM(1)", "−1", "‐1", "﹣1",
    " =1", "　=1", "\u200b=1", "\ufeff=1", "\x00=1", "\x1b=1", "\u202e=1", '=cmd|" /C calc"!A0',
]  # fmt: skip


@pytest.mark.parametrize("cell", FORMULAS)
def test_what_begins_like_a_formula_is_text(cell: str) -> None:
    assert harmless(cell).startswith("'")


@pytest.mark.parametrize("cell", ["", "駐車場は？", "a = b", "5-3", "1,5", "x@y.z", "'=1", '"x"', "。=1"])
def test_other_text_stays_as_it_is(cell: str) -> None:
    assert harmless(cell) == cell


@pytest.mark.parametrize("text", ['x";=1+1;"', "x;=1", "x; ＝1", "x\n=1", "x\r\n-1", "x\t@y", "x;\u200b+1"])
def test_a_program_that_cuts_at_semicolons_or_lines_finds_no_formula_either(text: str) -> None:
    data = as_csv([asked(text)], "en", TOKYO).decode("utf-8-sig")
    for line in data.splitlines():
        for cell in line.replace("\t", ";").split(";"):
            assert harmless(cell.strip('"')) == cell.strip('"')


@pytest.mark.parametrize(
    "answer",
    [
        "- 10 days\n- 20 days",
        "はい。\n\n- 本社\n\n  - 3F",
        "+81-3-1234",
        "－5度",
        "〜9時",
        "—",
        "a;=b",
        "=1+1",
        "'x'",
        "'+'とは",
        "5",
    ],
)
def test_what_is_added_from_such_a_file_is_what_was_written(answer: str) -> None:
    """A list in an answer had an apostrophe before each of its lines then."""
    data = spreadsheet.table(("question", "answer"), [("+81 or 0?", answer)], cell=spreadsheet.harmless_lines)
    for text in (data.decode("utf-8-sig"), data.decode("utf-8-sig").replace(",", ";")):
        (pair,) = write_rows(read_csv(text, None, ParsingLimits())).pairs
        assert pair == QAPair("+81 or 0?", answer)


def asked(text: str, number: int = 1, **more: object) -> Question:
    values: dict[str, object] = {
        "id": number, "turn": "t", "question": text, "reason": "unknown", "detail": "", "searched": ("handbook", "faq"),
        "confidence": 0.256, "scope": "team", "link": "https://t.example/1", "asked_at": NOW, "resolved_at": None,
    }  # fmt: skip
    return Question(**(values | more))  # type: ignore[arg-type]


def table(data: bytes) -> Sequence[Sequence[str]]:
    assert data.startswith(b"\xef\xbb\xbf") and not data.startswith(b"\xef\xbb\xbf" * 2)
    return list(csv.reader(io.StringIO(data.decode("utf-8-sig"), newline="")))


def test_a_file_opens_with_every_cell_in_its_place() -> None:
    closed = {"resolved_at": NOW, "confidence": None, "link": None}
    data = as_csv(
        [
            asked('「=」とは？ "quoted", and\r\nmore', detail="wrong: -5%"),
            asked("=HYPERLINK(\"https://evil\")", 2, reason="reported", detail="＝1", searched=("=x",), link="@x"),
            asked("a", 3, **closed, resolution="dismissed"),
            asked("b", 4, **closed, resolution="answered", reason="low_confidence"),
        ],
        "ja",
        TOKYO,
    )  # fmt: skip
    heading, *lines = table(data)
    assert heading == ["番号", "日時", "状態", "理由", "質問", "補足", "検索先", "最高関連度", "リンク", "対応日時"]
    moment = "2026-11-20 12:00"
    assert lines == [
        ["1", moment, "未回答", "情報なし", '「=」とは？ "quoted", and more', "wrong: -5%", "handbook / faq", "0.26", "https://t.example/1", ""],
        ["2", moment, "未回答", "報告あり", "'=HYPERLINK(\"https://evil\")", "'＝1", "'=x", "0.26", "'@x", ""],
        ["3", moment, "回答せずに終了", "情報なし", "a", "", "handbook / faq", "", "", moment],
        ["4", moment, "回答済み", "確信度の低い回答", "b", "", "handbook / faq", "", "", moment],
    ]  # fmt: skip
    assert data.endswith(b"\r\n") and data.count(b"\r\n") == 5


async def test_a_file_has_what_its_readers_may_see(small: Team) -> None:
    await small.misses("=cmd|'/C calc'!A0")
    await small.misses("Salary of U7?", place=SECRET, visibility="private")
    rows = table(await small.unanswered.csv(WantedQuestions(), MEMBERS, "en", TOKYO))
    assert [row[4] for row in rows] == ["question", "'=cmd|'/C calc'!A0"]
    assert len(table(await small.unanswered.csv(WantedQuestions(), INSIDERS, "en", TOKYO))) == 3
