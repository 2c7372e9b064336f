"""The digest holds what its readers may see and counts the rest; what people wrote is shown as data."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import Answered
from bot.access import default_scope, readers
from bot.records import Period
from bot.store.digests import Digests, Totals
from bot.store.feedback import Votes
from bot.store.turns import TurnStore
from bot.store.unanswered import MissedQuestion, UnansweredQuestions
from bot.types import Action, Audience, Feedback, Incoming, Link, MissReason, Place, Visibility
from bot.unanswered.clustering import Clustering
from bot.unanswered.digest import CLOSEST, LINKS, Closest, Digest, Group, MostAsked, make_digest
from bot.unanswered.digest_card import as_json, card, plain
from retrieval.i18n import Text
from retrieval.types import EVERYONE, Found, Hit, Passage, RAGToolError, Readers, SearchMetrics
from tests.bot.store.closing import resolve
from tests.retrieval.test_ingest import HashEmbedder

MONDAY = datetime(2026, 11, 23, tzinfo=UTC)
WEEK = Period(MONDAY - timedelta(days=7), MONDAY)
TOKYO = ZoneInfo("Asia/Tokyo")
GENERAL = Place("slack", "T1", "C-general")
SECRET = Place("slack", "T1", "C-secret")
TEAM = readers(GENERAL, Audience("public"))


class Team:
    """People who ask; every question is answered or missed at a moment."""

    def __init__(self, engine: AsyncEngine) -> None:
        self.engine = engine
        self.questions = UnansweredQuestions(engine)
        self.digests = Digests(engine)
        self.searched: list[tuple[str, Readers]] = []
        self._rows = TurnStore(engine)
        self._number = 0

    async def asks(
        self,
        text: str,
        author: str = "U1",
        *,
        place: Place = GENERAL,
        visibility: Visibility = "public",
        missed: bool = True,
        reason: MissReason | None = None,
        at: datetime = MONDAY - timedelta(days=1),
        link: str | None = None,
        searched: tuple[str, ...] = ("handbook",),
        thread: str = "",
    ) -> str:
        self._number += 1
        turn = f"{self._number:032}"
        link = link or f"https://team.example/{self._number}"
        message = Incoming(place, thread or turn, turn, author, text, Audience(visibility), link=link)
        claimed = (await self._rows.claim({turn: message}, owner="me", now=at, until=at + timedelta(1)))[turn]
        await self._rows.start(claimed, owner="me", now=at)
        scope = default_scope(place, message.audience)
        miss = MissedQuestion(turn, text, reason or "unknown", ("handbook",), 0.1, scope, link, at)
        answer = Answered("…", outcome="unknown" if missed else "answered", searched=searched)
        misses = (miss,) if missed or reason else ()
        await self._rows.finish(claimed, answer, owner="me", steps=[], misses=misses, now=at)
        await self._rows.shown(turn, owner="me", now=at)
        return turn

    async def search(self, query: str, readers: Readers) -> Found:
        self.searched.append((query, readers))
        if "broken" in query:
            raise RAGToolError(Text(en="away", ja="停止中"))
        metrics = SearchMetrics(query, "", 1.0, 0, 0, 0.0, (), None, MONDAY)
        names = ("a.md", "a.md", "b.md", "c.md", "d.md")
        hits = [
            Hit(Passage("handbook", name, name, at, "text", "team"), {}, 0.2 - at / 100)
            for at, name in enumerate(names)
        ]
        return Found(tuple(hits[:1]), metrics, rejected=tuple(hits[1:]))

    async def digest(self, who: Readers = TEAM, **more: int) -> Digest:
        return await make_digest(
            WEEK,
            who,
            questions=self.questions,
            digests=self.digests,
            grouping=Clustering(HashEmbedder(fail_at=1)),  # equal questions only
            search=self.search,
            **more,
        )


@pytest.fixture
def team(engine: AsyncEngine) -> Team:
    return Team(engine)


# -- what is in it --------------------------------------------------------------------------------------------------


async def test_similar_questions_are_one_group_with_its_counts(team: Team) -> None:
    first = await team.asks("経費の締切は？", "U1")
    await team.asks("経費の締切は", "U1")
    await team.asks("経費の締切は？", "U2")
    await team.asks("Where is the key?", "U3")
    await Votes(team.engine).put(Feedback(first, "U9", "down", at=MONDAY - timedelta(hours=1)), "team")
    digest = await team.digest()
    group, other = digest.groups
    assert (group.question, group.count, group.askers) == ("経費の締切は？", 3, 2)
    assert group.reasons == (("reported", 1), ("unknown", 3))
    assert group.links == tuple(f"https://team.example/{n}" for n in (1, 3, 2))
    assert len(group.ids) == 4
    assert [(one.document, one.relevance) for one in group.documents] == [("a.md", 0.2), ("b.md", 0.18), ("c.md", 0.17)]
    assert (other.question, other.count) == ("Where is the key?", 1)
    assert (digest.more_groups, digest.more_questions, digest.hidden) == (0, 0, 0)
    assert {who for _, who in team.searched} == {TEAM}


async def test_the_digest_begins_with_what_somebody_complained_of(team: Team) -> None:
    """Then comes what was not found, however often, then what was doubted."""
    for _ in range(3):
        await team.asks("doubted", missed=False, reason="low_confidence")
    for _ in range(2):
        await team.asks("unknown")
    turn = await team.asks("wrong", missed=False)
    await Votes(team.engine).put(Feedback(turn, "U9", "down", at=MONDAY - timedelta(hours=1)), "team")
    assert [group.question for group in (await team.digest()).groups] == ["wrong", "unknown", "doubted"]


async def test_what_goes_on_from_another_question_is_read_and_searched_with_it(team: Team) -> None:
    first = await team.asks("有給休暇は何日ですか？", missed=False)
    await team.asks("課長は秘密です", "U2", missed=False, visibility="private", thread=first)
    await team.asks("契約社員だとどうなりますか", "U2", thread=first)
    (group,) = (await team.digest()).groups
    assert (group.question, group.before) == ("契約社員だとどうなりますか", "有給休暇は何日ですか？")
    assert team.searched[-1][0] == "有給休暇は何日ですか？ → 契約社員だとどうなりますか"
    shown = card(await team.digest(), "ja", UTC).rows[0]
    assert shown.text == "1. 契約社員だとどうなりますか"
    assert shown.details[1] == "前の質問: 「有給休暇は何日ですか？」"
    assert shown.sources[1] == first and len(shown.sources) == len(shown.details)
    assert "秘密" not in str(shown)
    await TurnStore(team.engine).delete(Incoming(GENERAL, first, first, "U1", "", Audience("public")), now=MONDAY)
    (group,) = (await team.digest()).groups
    assert group.before == "" and team.searched[-1][0] == "契約社員だとどうなりますか"


async def test_totals_are_compared_with_the_week_before(team: Team) -> None:
    await team.asks("one")
    await team.asks("fine", missed=False)
    for number in range(3):
        await team.asks(f"old {number}", at=MONDAY - timedelta(days=9))
    await team.asks("at the end", at=MONDAY)
    await team.asks("at the beginning", at=WEEK.since)
    digest = await team.digest()
    assert digest.totals == Totals(3, 1, 2, 0, {"unknown": 2}, sure=1)
    assert digest.before == Totals(3, 0, 3, 0, {"unknown": 3})
    assert {group.question for group in digest.groups} == {"one", "at the beginning"}


async def test_what_was_resolved_is_counted_and_left_out(team: Team) -> None:
    await team.asks("open")
    await team.asks("closed")
    closed = [one.id for one in (await team.questions.open(TEAM.scopes)).questions if one.question == "closed"]
    await resolve(team.engine, closed, TEAM.scopes)
    digest = await team.digest()
    assert [group.question for group in digest.groups] == ["open"]
    assert (digest.totals.missed, digest.totals.resolved) == (2, 1)


async def test_only_the_top_is_shown_and_the_rest_counted(team: Team) -> None:
    for number in range(4):
        for _ in range(number + 1):
            await team.asks(f"question {number}")
    digest = await team.digest(top=2)
    assert [group.question for group in digest.groups] == ["question 3", "question 2"]
    assert (digest.more_groups, digest.more_questions) == (2, 3)
    assert len(team.searched) == 2
    await team.asks("question 3")
    await team.asks("question 3")
    assert len((await team.digest()).groups[0].links) == LINKS


async def test_a_search_that_fails_costs_the_documents_only(team: Team) -> None:
    await team.asks("broken")
    assert (await team.digest()).groups[0].documents == ()


async def test_an_empty_week(team: Team) -> None:
    digest = await team.digest()
    assert digest.groups == () and digest.totals == Totals(0, 0, 0, 0, {})
    assert "🎉" in plain(card(digest, "ja", TOKYO))


# -- who sees what --------------------------------------------------------------------------------------------------


async def test_a_private_question_is_only_a_number_elsewhere(team: Team) -> None:
    await team.asks("public one", "U1")
    await team.asks("canary layoffs", "U-canary", place=SECRET, visibility="private", link="https://canary.example/1")
    await team.asks(
        "canary layoffs", "U-canary", place=GENERAL, visibility="outsiders", link="https://canary.example/2"
    )
    everywhere = [await team.digest(), await team.digest(readers(GENERAL, Audience("outsiders")))]
    for digest in everywhere:
        shown = card(digest, "en", TOKYO)
        for text in (repr(digest), json.dumps(as_json(digest)), plain(shown), repr(shown)):
            assert "canary" not in text
    assert not any("canary" in query for query, _ in team.searched)
    assert [digest.hidden for digest in everywhere] == [2, 3]
    assert everywhere[1].groups == ()
    assert "and 2 asked in private places" in plain(card(everywhere[0], "en", TOKYO))
    assert "非公開の場所で 2 件" in plain(card(everywhere[0], "ja", TOKYO))


async def test_a_private_place_sees_its_own(team: Team) -> None:
    await team.asks("layoffs", place=SECRET, visibility="private")
    digest = await team.digest(readers(SECRET, Audience("private")))
    assert [group.question for group in digest.groups] == ["layoffs"]
    assert digest.hidden == 0


async def test_nobody_is_named(team: Team) -> None:
    await team.asks("question", "U-hanako")
    digest = await team.digest()
    assert "hanako" not in repr(digest) + json.dumps(as_json(digest))
    assert digest.groups[0].askers == 1


async def test_what_was_asked_most_is_said_whether_it_was_answered_or_not(team: Team) -> None:
    """Only of what everyone in the team may read, and with what the bot has spared people."""
    wordings = ("How long do refunds take?", "How long do refunds take?", "how long do refunds take")
    turns = []
    for hours, said in enumerate(wordings):
        at = MONDAY - timedelta(days=2) + timedelta(hours=hours)
        turns.append(await team.asks(said, f"U{hours}", missed=False, at=at))
    newest = turns[-1]
    await team.asks("Where is the key?", missed=False)
    elsewhere: list[tuple[Place, Visibility]] = [(SECRET, "private"), (GENERAL, "outsiders")]
    for place, seen in elsewhere * 4:
        await team.asks("When does the whale start?", place=place, visibility=seen, missed=False)
    await team.asks("Who pays?")
    await team.asks("Who pays?", at=MONDAY - timedelta(days=8), missed=False)
    digest = await team.digest()
    (most,) = digest.most
    assert most == replace(most, question=wordings[0], count=3, link=f"https://team.example/{int(newest)}")
    assert {*most.turns} == {*turns[:2]}
    assert digest.totals.sure == 12
    await Votes(team.engine).put(Feedback(newest, "U9", "down", at=MONDAY - timedelta(hours=1)), "team")
    assert (await team.digest()).totals.sure == 11
    assert not (await team.digest(Readers(frozenset({EVERYONE})))).most  # where outsiders read along


async def test_what_goes_on_from_other_questions_is_not_what_was_asked_most(team: Team) -> None:
    for first in ("有給休暇は何日ですか？", "出張の日当はいくらですか？"):
        thread = await team.asks(first, missed=False)
        await team.asks("契約社員だとどうなりますか", missed=False, thread=thread)
    assert (await team.digest()).most == ()


async def test_thanks_and_greetings_are_not_what_was_asked_most(team: Team) -> None:
    """Nor did they spare anybody a question."""
    for _ in range(3):
        await team.asks("Thank you!", missed=False, searched=())
    digest = await team.digest()
    assert (digest.most, digest.totals.answered, digest.totals.sure) == ((), 3, 0)


async def test_misses_of_programs_stand_apart_and_after_those_of_people(team: Team) -> None:
    for author in ("program:editor", "program:editor", "program:ci"):
        await team.asks("Which port does staging use?", author)
    await team.asks("Who pays?", "U1")
    await team.asks("Who pays?", "program:ci")
    digest = await team.digest()
    found = [(group.question, group.count, group.askers, group.programs) for group in digest.groups]
    assert found == [("Who pays?", 2, 1, 1), ("Which port does staging use?", 3, 0, 2)]
    english, japanese = (plain(card(digest, language, TOKYO)) for language in ("en", "ja"))
    assert "asked 2 times by 1 person, 1 program, not found 2" in english
    assert "asked 3 times by 2 programs, not found 3" in english
    assert "2 回、1 人、プログラム 1 件" in japanese and "3 回、プログラム 2 件" in japanese
    assert [one["programs"] for one in as_json(digest)["groups"]] == [1, 2]


# -- in words -------------------------------------------------------------------------------------------------------

GROUP = Group(
    "経費の締切は？",
    3,
    2,
    (("unknown", 2), ("reported", 1)),
    (Closest("経費.md", "handbook", None, 0.21, "a" * 32), Closest("faq.md", "faq", "https://x.y", 0.1, "b" * 32)),
    ("https://team.example/1", "https://team.example/2"),
    (7, 9),
    7,
)
DIGEST = Digest(
    WEEK,
    Totals(20, 15, 5, 1, {"unknown": 3, "reported": 2}, sure=13),
    Totals(18, 15, 3, 0, {"unknown": 3}),
    (GROUP,),
    more_groups=2,
    more_questions=4,
    hidden=6,
    most=(
        MostAsked("有給は何日？", 4, "https://team.example/7", ("c" * 32, "d" * 32)),
        MostAsked("Where is the key?", 2, None, ("e" * 32,)),
    ),
)


def test_a_row_knows_the_documents_that_it_names() -> None:
    """So that their names go when they are forgotten, or fewer people may read them."""
    row = card(DIGEST, "en", TOKYO).rows[0]
    (at,) = [at for at, line in enumerate(row.details) if "faq.md" in line]
    assert row.sources == (*[""] * at, f"{'a' * 32} {'b' * 32}")


def test_a_row_of_what_is_asked_most_knows_whose_words_it_has() -> None:
    row = card(DIGEST, "en", TOKYO).rows[-1]
    assert row.sources == (f"{'c' * 32} {'d' * 32}", "e" * 32)


def test_a_digest_as_text_in_english() -> None:
    assert plain(card(DIGEST, "en", TOKYO)) == (
        "Unanswered questions, 2026-11-16 – 2026-11-23\n"
        "20 asked, 15 answered, 5 missed (2 more than the week before)\n"
        "reported 2, not found 3, resolved meanwhile 1\n"
        "The week before: 18 asked, 15 answered, 3 missed\n"
        "About 2.2 hours of asking saved: 13 answers that nobody doubted, 10 minutes each\n"
        "\n"
        "1. 経費の締切は？\n"
        "   asked 3 times by 2 people, not found 2, reported 1\n"
        "   Closest: 経費.md (handbook, 0.21), faq.md (faq, 0.10)\n"
        "   https://team.example/1\n"
        "   https://team.example/2\n"
        "\n"
        "Asked most\n"
        "   “有給は何日？”: 4 times\n"
        "   “Where is the key?”: 2 times\n"
        "   https://team.example/7\n"
        "\n"
        "and 4 more questions in 2 more groups\n"
        "and 6 asked in private places"
    )


def test_a_digest_in_a_japanese_terminal() -> None:
    assert plain(card(replace(DIGEST, before=DIGEST.totals), "ja", UTC)) == (
        "未回答の質問（2026-11-16 ～ 2026-11-22）\n"
        "質問 20 件、回答 15 件、未解決 5 件（前週と同数）\n"
        "報告あり 2 件、情報なし 3 件、その後解決 1 件\n"
        "前週: 質問 20 件、回答 15 件、未解決 5 件\n"
        "問い合わせ約 2.2 時間分を削減（疑問の出なかった回答 13 件 × 10 分）\n"
        "\n"
        "1. 経費の締切は？\n"
        "   3 回、2 人、情報なし 2 件、報告あり 1 件\n"
        "   近い文書: 経費.md（handbook、0.21）、faq.md（faq、0.10）\n"
        "   https://team.example/1\n"
        "   https://team.example/2\n"
        "\n"
        "よく聞かれた質問\n"
        "   「有給は何日？」 4 回\n"
        "   「Where is the key?」 2 回\n"
        "   https://team.example/7\n"
        "\n"
        "ほかに 2 グループ、4 件\n"
        "ほかに非公開の場所で 6 件"
    )


def test_a_card_offers_to_answer_and_to_dismiss() -> None:
    row = card(DIGEST, "ja", UTC).rows[0]
    assert row.actions == (Action("回答する", (7, 9), reference=7), Action("回答せずに閉じる", (7, 9), "dismiss"))
    assert row.links[0] == Link("スレッド 1", "https://team.example/1")


def test_a_card_says_what_was_complained_of_and_by_nobody() -> None:
    complaints = (
        "outdated: It is 12 days since April.\nwrong",
        "wrong",
        "incomplete: <!here>\nwrong_source",
        "Just no.",
    )
    shown = card(replace(DIGEST, groups=(replace(GROUP, details=complaints),)), "en", UTC).rows[0].details
    assert shown[1:5] == ("👎 It is outdated: It is 12 days since April.", "👎 It is wrong",
                          "👎 Something is missing: <!here>", "and 2 more")  # fmt: skip
    row = card(replace(DIGEST, groups=(replace(GROUP, details=complaints[:1]),)), "ja", UTC).rows[0]
    assert "👎 情報が古い: It is 12 days since April." in row.details
    assert as_json(replace(DIGEST, groups=(replace(GROUP, details=complaints[:2]),)))["groups"][0]["complaints"] == [
        "outdated: It is 12 days since April.", "wrong", "wrong"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("missed", "days", "said"),
    [
        (5, 7, "as many as the week before"),
        (9, 7, "4 fewer than the week before"),
        (3, 14, "2 more than the time before"),
    ],
)
def test_the_trend_in_words(missed: int, days: int, said: str) -> None:
    period = Period(MONDAY - timedelta(days=days), MONDAY)
    digest = replace(DIGEST, period=period, before=replace(DIGEST.before, missed=missed))
    assert said in card(digest, "en", UTC).lines[0]


HOSTILE: Sequence[str] = (
    "<!here> @everyone <@U123> look",
    "[click](https://evil.example) ![x](https://evil.example/x.png)",
    "one\n\n# two\r\n```three```",
    "**bold** _it_ ~~gone~~ `code`",
    "a\u202egpj.exe\x1b[31m\u200b",
    "<script>alert(1)</script> &amp;",
)


def test_a_link_that_leads_there_from_our_pages_only_is_on_the_card_and_in_no_terminal() -> None:
    ours = "/app/?room=general&thread=1&message=1#m1"
    shown = card(replace(DIGEST, groups=(replace(GROUP, links=(ours, "/choose?as=ben", "//evil.example")),)), "en", UTC)
    assert [link.url for link in shown.rows[0].links] == [ours] and shown.rows[0].web_links == ()
    assert "/app/" not in plain(shown)


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_data(text: str) -> None:
    group = replace(
        GROUP,
        question=text,
        documents=(Closest(text, text, None, 0.2, "d1"),),
        links=("javascript:alert(1)", "https://a b"),
        details=(f"wrong: {text.splitlines()[0]}",),
    )
    most = (MostAsked(text, 3, "javascript:alert(1)", ()), MostAsked("?", 2, None, ()))
    shown = card(replace(DIGEST, groups=(group,), most=most), "en", UTC)
    row = shown.rows[0]
    assert row.links == () and shown.rows[1].links == ()
    assert not any(character in row.text + "".join(row.details) for character in "\n\r\x1b\u202e\u200b")
    # three links fewer, and a complaint
    assert len(plain(shown).splitlines()) == len(plain(card(DIGEST, "en", UTC)).splitlines()) - 2


def test_long_questions_are_cut() -> None:
    group = replace(GROUP, question="長い" * 500, documents=(Closest("n" * 500, "c", None, 0.2, "d1"),) * CLOSEST)
    row = card(replace(DIGEST, groups=(group,)), "ja", UTC).rows[0]
    assert len(row.text) < 210 and row.text.endswith("…")
    assert len(row.details[1]) < 400


def test_json_has_everything() -> None:
    shown = as_json(DIGEST)
    assert shown["totals"] == {
        "asked": 20, "answered": 15, "missed": 5, "resolved": 1, "reasons": {"unknown": 3, "reported": 2}
    }  # fmt: skip
    assert shown["groups"][0]["documents"][1] == {
        "document": "faq.md", "collection": "faq", "url": "https://x.y", "relevance": 0.1, "id": "b" * 32
    }  # fmt: skip
    assert (shown["since"], shown["hidden"], shown["more_groups"]) == ("2026-11-16T00:00:00+00:00", 6, 2)
    assert json.loads(json.dumps(shown)) == shown
