"""What `/kotae …` shows, who may do what with it, and that a card holds nothing of elsewhere."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import update

from agent.extractive.model import ExtractiveModel
from bot.access import scope_of
from bot.channel_settings import Channels
from bot.config.models import Models
from bot.database import Database
from bot.errors import SettingsError
from bot.records import Period
from bot.slash_commands import ROWS, SlashCommands
from bot.sources.sources import NewSource, Sources
from bot.store.asks import Asks
from bot.store.audit import Audit
from bot.store.channel_settings import ChannelSettings
from bot.store.conversations import Conversations
from bot.store.digests import Digests
from bot.store.engine import execute
from bot.store.feedback import Votes
from bot.store.followed import FollowedSources
from bot.store.notifications import Notices
from bot.store.outbox import Outbox
from bot.store.schema import documents
from bot.store.searches import Searches
from bot.store.signals import Signals
from bot.store.unanswered import UnansweredQuestions
from bot.store.web_messages import Messages
from bot.types import Actor, AnswerGiven, Audience, Card, Command, Link, Place, Preferences, Upload, Visibility
from bot.unanswered.asking import Asking
from bot.unanswered.clustering import Clustering
from bot.unanswered.corrections import ExpertAnswers
from bot.unanswered.digest import Digest, make_digest
from bot.unanswered.expert_answers import Experts
from retrieval.i18n import Language
from retrieval.types import TEAM, Readers
from tests.bot.library import SPARSE, Library, opened
from tests.bot.sample_turns import settings
from tests.bot.store.test_outbox import MINUTE, NOW, Asked
from tests.retrieval.test_ingest import HashEmbedder

GENERAL, SECRET = Place("slack", "T1", "C1"), Place("slack", "T1", "C3")
MEMBER = Actor("slack", "T1", "U1")
EDITOR = Actor("slack", "T1", "U-editor")
GUEST = Actor("slack", "T1", "U2", "outsider")
HOSTILE = "<!here> a\u202e\n[x](https://evil.example)\x1b[31m"


@dataclass
class Office:
    """Somebody who types commands."""

    library: Library
    commands: SlashCommands
    channels: Channels
    audit: Audit
    missed: Asked
    sources: Sources

    async def __call__(
        self,
        name: str,
        text: str = "",
        *,
        who: Actor = MEMBER,
        place: Place = GENERAL,
        seen: Visibility = "public",
        language: Language = "en",
    ) -> Card:
        card = await self.commands(Command(who, place, Audience(seen), name, text, language))
        lines = [card.title, *card.lines, *card.foot]
        lines += [line for row in card.rows for line in (row.text, *row.details, *(link.text for link in row.links))]
        assert all(line and line.isprintable() for line in lines) and len(card.rows) <= ROWS, lines
        return card

    async def add(
        self, name: str, text: str, scope: str = TEAM, *, collection: str = "docs", author: str = "U1"
    ) -> str:
        upload = Upload(name, text.encode(), collection, scope, author, f"https://team.example/{len(name)}(1)")
        verdict = await self.library.knowledge.add(upload, "en")
        assert verdict.document_id
        return verdict.document_id


@pytest.fixture
async def office(tmp_path: Path) -> AsyncIterator[Office]:
    chosen = settings(tmp_path, KOTAE_EDITORS="slack:U-editor", KOTAE_TIMEZONE="Asia/Tokyo")
    async with opened(tmp_path) as library, AsyncExitStack() as stack:
        engine, knowledge, questions = library.engine, library.knowledge, UnansweredQuestions(library.engine)

        async def digest(allowed: Readers) -> Digest:
            return await make_digest(
                Period(NOW - MINUTE, NOW + MINUTE),
                allowed,
                questions=questions,
                digests=Digests(engine),
                grouping=Clustering(HashEmbedder()),
                search=knowledge.search,
            )

        async def similarity(question: str, sentences: object) -> list[float]:
            return []

        signals = Signals(engine)
        data = Database(
            *(engine, library.documents, library.collections, questions, Conversations(engine)),
            *(Searches(engine), Votes(engine), Messages(engine, signals), signals),
        )
        audit = Audit(engine)
        models = Models(chosen, ExtractiveModel(similarity, tokenise=SPARSE.terms), stack)
        channels = Channels(ChannelSettings(engine), audit, chosen, knowledge, models)
        notices = Notices(engine)
        answers = ExpertAnswers(chosen, knowledge, questions, notices, library.documents, audit)
        search = partial(knowledge.search, measured=False)
        asking = Asking(
            chosen, Asks(engine), questions, data.conversations, library.documents, search, Outbox(engine).cards
        )
        sources = Sources(chosen, FollowedSources(engine), knowledge, library.documents, owner="me")
        commands = SlashCommands(chosen, data, knowledge, channels, answers, asking, sources, audit, digest)
        yield Office(library, commands, channels, audit, Asked(engine), sources)


def said(card: Card) -> str:
    return "\n".join((*card.lines, *(line for row in card.rows for line in (row.text, *row.details)), *card.foot))


async def test_help_and_what_is_none(office: Office) -> None:
    for name in ("help", "", "HELP", "ヘルプ", "使い方"):
        assert "/kotae unanswered" in said(await office(name))
    wrong = await office("経費の締切は？", language="ja")
    assert "「経費の締切は？」というコマンドはありません。" in wrong.lines and "検索します" in said(wrong)
    assert "<!here> a [x](https://evil.example)" in said(await office(HOSTILE))
    for name in ("search", "documents", "forget", "unanswered", "answers", "digest", "settings", "collections"):
        assert (await office(name, "x", who=GUEST)).lines == ("Only members of the team can use this.",)
    assert "/kotae" in said(await office("help", who=GUEST))


async def test_a_passage_is_shown_without_markup_and_a_pair_with_its_question(office: Office) -> None:
    await office.add("hours.md", "# Hours\n\n| day | open |\n|---|---|\n| Monday | **9:00** to noon |\n")
    assert "day: Monday / open: 9:00 to noon" in said(await office("search", "Hours: day Monday, open to noon"))
    await office.add("faq.csv", "question,answer\nWho keeps the lighthouse?,Ada.\n")
    assert "1. faq.csv › Who keeps the lighthouse?\nAda." in said(await office("search", "Who keeps the lighthouse?"))


async def test_knowledge_is_shown_as_far_as_it_may_be_read(office: Office) -> None:
    harbour = await office.add("harbour.md", "# Harbour\n\nShips moor at pier seven until midnight.\n")
    canary = await office.add("canary.md", "# Canary\n\nShips of the canary moor at pier nine.\n", scope_of(SECRET))
    await office.add(f"{HOSTILE[:8]}.md", "# Else\n\nNothing of that.\n", collection="other")
    await office.library.knowledge.stored.describe("docs", HOSTILE)

    question = "Where do ships moor?"
    here, there = await office("search", question), await office("検索", question, place=SECRET, seen="private")
    assert "1. harbour.md" in said(here) and "pier seven" in said(here) and "canary" not in said(here)
    assert here.rows[0].links == (Link("open", "https://team.example/10%281%29"),)
    assert "pier nine" in said(there)
    assert "Nothing relevant" in said(await office("search", question, seen="outsiders"))
    assert "/kotae search" in said(await office("search", " \n "))

    assert [row.text for row in (await office("collections")).rows] == ["docs", "other"]
    assert (await office("collections")).rows[0].details[0] == "1 document, 1 chunk"
    assert "2 件" in said(await office("コレクション", place=SECRET, seen="private", language="ja"))
    assert (await office("collections", seen="outsiders")).lines == ("There are no collections yet.",)

    shown = await office("文書", place=SECRET, seen="private", language="ja")
    assert [row.text for row in shown.rows] == ["<!here>.md", "canary.md", "harbour.md"]
    assert "この場所のみ" in shown.rows[1].details[0] and canary[:8] in shown.rows[1].details[0]
    assert [row.text for row in (await office("documents", "docs")).rows] == ["harbour.md"]
    late = update(documents).where(documents.c.id == harbour).values(updated_at=datetime(2026, 3, 31, 18, tzinfo=UTC))
    await execute(office.library.engine, late)
    assert harbour[:8] in (line := said(await office("documents", "docs"))) and "2026-04-01" in line  # in Tokyo
    assert "There is no collection “nope”" in said(await office("documents", "nope"))


async def test_long_lists_say_how_much_more_there_is(office: Office) -> None:
    for number in range(ROWS + 2):
        await office.library.knowledge.stored.describe(f"c{number:02}", "")
    shown = await office("collections")
    assert len(shown.rows) == ROWS and shown.foot == ("and 2 more",)


async def test_a_document_is_deleted_by_its_author_or_an_editor_where_it_is_read(office: Office) -> None:
    page = "# Harbour\n\nShips moor at pier seven.\n"
    theirs = await office.add("a.md", page, author="U9")
    await office.add("b.md", page)
    canary = await office.add("canary.md", page, scope_of(SECRET))
    nobodys = await office.add("old.md", page, author="")
    assert "by whoever added it" in said(await office("forget", "a.md"))
    assert "by whoever added it" in said(await office("forget", nobodys, who=replace(MEMBER, id="")))
    assert "“b.md” is deleted" in said(await office("forget", "b.md"))
    for wanted in ("canary.md", canary, canary[:8], "b.md", canary[:4]):
        assert "There is no document" in said(await office("forget", wanted, who=EDITOR))
    assert "「canary.md」を削除しました" in said(
        await office("削除", canary[:8], place=SECRET, seen="private", language="ja")
    )
    await office.add("a.md", page, collection="other")
    several = await office("forget", "a.md", who=EDITOR)
    assert "2 documents have this name" in said(several) and len(several.rows) == 2
    assert "is deleted" in said(await office("forget", theirs, who=EDITOR))
    assert "/kotae forget" in said(await office("forget"))
    assert [row.text for row in (await office("documents")).rows] == ["a.md", "old.md"]
    traces = [(one.actor, one.result) for one in await office.audit.listed()]
    assert traces == [
        ("slack:U-editor", "forgotten"),
        ("slack:U1", "forgotten"),
        ("slack:U1", "forgotten"),
        ("slack:", "refused"),
        ("slack:U1", "refused"),
    ]


@pytest.mark.parametrize("word", [" reset", " リセット", " 元に戻す", "\u3000解除"])
async def test_nobody_looks_after_a_document_any_more(office: Office, word: str) -> None:
    document = await office.add("b.md", "# Piers\n\nPier two is open.\n")
    await office.library.documents.own(document, "slack:U5")
    assert "担当者は決まっていません" in said(await office("owner", f"b.md{word}", language="ja"))
    (row,) = await office.library.documents.listed()
    assert row.owner is None


async def test_open_questions_of_private_places_are_only_counted(office: Office) -> None:
    assert (await office("unanswered", language="ja")).lines == ("未回答の質問はありません 🎉",)
    await office.missed("Where is the canary?", place=SECRET, visibility="private")
    assert "1 asked in private places" in said(await office("unanswered", seen="outsiders"))
    await office.missed("経費の\n締切は？")
    shown = await office("未回答", language="ja")
    (mine,) = shown.rows
    assert mine.text == "経費の 締切は？" and mine.links == (Link("スレッド", "https://t/2"),)
    assert [action.kind for action in mine.actions] == ["answer", "dismiss"]
    assert shown.foot == ("ほかに非公開の場所で 1 件",)
    assert "Where is the canary?" in said(await office("unanswered", place=SECRET, seen="private"))
    asked: list[Place] = []
    outcomes: list[bool | Exception] = [True, False, LookupError("not_in_channel")]

    async def post(place: Place) -> bool:
        asked.append(place)
        if isinstance(outcome := outcomes.pop(0), Exception):
            raise outcome
        return outcome

    assert (await office("digest", "post")).lines == ("Only editors can post the digest.",)
    assert "while `kotae run` serves" in said(await office("digest", "post", who=EDITOR))
    office.commands.post_digest = post
    assert (await office("digest", "post")).lines == ("Only editors can post the digest.",) and not asked
    answers = [
        said(await office(*words, who=EDITOR))
        for words in (("digest", "POST"), ("ダイジェスト", "投稿"), ("digest", "post"))
    ]
    assert (
        answers[0] == "The digest is posted."
        and "less than a minute ago" in answers[1]
        and "KOTAE_DIGEST_CHANNEL" in answers[2]
    )
    assert asked == [GENERAL] * 3

    digest = await office("ダイジェスト", language="ja")
    assert digest.title.startswith("未回答の質問（") and any("経費の" in row.text for row in digest.rows)


async def test_settings_of_a_channel(office: Office) -> None:
    await office.add("a.md", "# Harbour\n\nShips.\n")
    await office.add("canary.md", "# Canary\n\nShips.\n", scope_of(SECRET), collection="canaries")
    before = await office("settings")
    assert before.lines == (
        "model: extractive",
        "strategy: react",
        "steps: live",
        "collections: all",
        "follow: thread",
    )
    assert "strategy: synthesis (chosen here)" in said(await office("settings", "strategy Synthesis"))
    saved = await office("設定", "途中経過 off", language="ja")
    assert saved.lines[0] == "保存しました。" and "（steps）: off（このチャンネルで指定）" in said(saved)
    assert "（follow）: mentions" in said(await office("設定", "フォロー Mentions", language="ja"))
    assert "There is no “always”" in said(await office("settings", "follow always"))
    await office("settings", "follow reset")
    await office("settings", "collections docs")
    assert await office.channels.chosen(GENERAL) == Preferences(None, "synthesis", "off", ("docs",))
    assert await office.channels.chosen(SECRET) == Preferences()
    for wrong, why in (
        ("strategy guess", "“guess”"),
        ("steps loud", "“loud”"),
        ("model gemini:gemini-3.8-flash", "GEMINI_API_KEY"),
        ("model gpt", "extractive, gemini:"),
        ("model openai:", "extractive, gemini:"),
        ("collections docs, canaries", "no collection “canaries”"),
        ("colour red", "“colour”"),
        ("steps", "/kotae settings steps"),
    ):
        assert why in said(await office("settings", wrong)), wrong
    assert (await office.channels.chosen(GENERAL)).collections == ("docs",)
    secret = await office("settings", "コレクション docs、canaries", place=SECRET, seen="private")
    assert "docs, canaries (chosen here)" in said(secret)
    assert "(chosen here)" in said(await office("settings", "model extractive"))
    await office("settings", "steps reset")
    assert (await office.channels.chosen(GENERAL)) == Preferences("extractive", "synthesis", None, ("docs",))
    assert "(chosen here)" not in said(await office("settings", "リセット"))
    traces = await office.audit.listed()
    assert traces[-1].result == "strategy=synthesis" and traces[0].result == "as everywhere"
    assert {one.subject for one in traces} == {scope_of(GENERAL), scope_of(SECRET)}
    with pytest.raises(SettingsError, match="members"):
        await office.channels.prefer(GUEST, GENERAL, Preferences(steps="off"))
    with pytest.raises(SettingsError, match="nope"):
        await office.channels.prefer(MEMBER, GENERAL, Preferences(collections=("nope",)))


# -- answers by members ---------------------------------------------------------------------------------------------


async def test_a_members_answer_is_listed_corrected_and_taken_back(office: Office) -> None:
    assert said(await office("answers", language="ja")) == "ここで読めるメンバーの回答はまだありません。"
    question = await office.missed("経費の締切は？")
    library, engine = office.library, office.library.engine
    rows = UnansweredQuestions(engine), Notices(engine), library.documents, Outbox(engine)
    experts = Experts(settings(library.folder), library.knowledge, *rows, owner="me")
    lesson = AnswerGiven(MEMBER, GENERAL, Audience("public"), (question,), f"25日です。{HOSTILE}", url="https://t/9")
    assert (await experts.answer(lesson)).closed == (question,)
    card = await office("回答", language="ja")
    (row,) = card.rows
    assert row.text == "経費の締切は？" and row.details[0].startswith("25日です。<!here>") and row.links
    id = row.details[1].rpartition(" ")[2]
    assert len(id) == 8 and "編集" not in row.details[1]

    other = replace(MEMBER, id="U8")
    for text in (f"edit {id} 31日です。", f"forget {id}"):
        assert "whoever wrote it" in said(await office("answers", text, who=other))
        assert "no such answer" in said(await office("answers", text, seen="outsiders"))
    for wrong in ("edit", f"edit {id}", "forget", "nonsense", f"nonsense {id}"):
        assert "/kotae answers edit <id> <answer>" in said(await office("answers", wrong))
    assert "修正" in said(await office("回答", f"編集\u3000{id}\u300030日です。", language="ja"))
    assert said(await office("answers", f"編集 {id} 31日です。\n\n確認済み。", language="ja")) == (
        "回答を修正しました。1 件のスレッドにお知らせします。"
    )
    (row,) = (await office("answers", language="ja")).rows
    assert row.details[0].startswith("31日です。 確認済み。") and "編集 20" in row.details[1]
    assert said(await office("answers", f"forget {id}", who=EDITOR)) == (
        "The answer is taken back. Questions that are open again: 1."
    )
    assert "経費の締切は？" in said(await office("unanswered")) and (await office("answers")).rows == ()


def made(wiki: Path) -> Path:
    wiki.mkdir()
    (wiki / "a.md").write_text("# A\n\nPier one.\n")
    return wiki


def changed(wiki: Path) -> None:
    (wiki / "a.md").unlink()
    (wiki / "b.md").write_text("# B\n\nPier two.\n")
    (wiki / "c.md").write_text("# C\n\nPier three.\n")


def emptied(wiki: Path) -> None:
    for page in wiki.iterdir():
        page.unlink()


async def test_sources_are_listed_and_an_editor_syncs_pauses_and_resumes_them(office: Office, tmp_path: Path) -> None:
    async def asked(text: str = "", who: str = "U-editor", language: Language = "en") -> str:
        return said(await office("sources", text, who=replace(MEMBER, id=who), language=language))

    assert "Nothing is followed yet" in await asked()
    wiki = made(tmp_path / "our wiki")
    terminal = Actor("terminal", "", "terminal", "editor")
    await office.sources.add(terminal, NewSource("folder", str(wiki), name="our wiki"))
    assert "not synced yet" in await asked()
    assert "our wiki: 1 page; added 1" in await asked("sync our wiki")
    assert "フォルダー · our wiki に 1 ページ · 同期中\n最終確認 たった今" in await asked(language="ja")
    assert "Only an editor can change sources." in await asked("pause our wiki", who="U1")
    assert "paused" in await asked("pause our wiki")
    changed(wiki)
    assert "followed" in await asked("再開 our wiki")
    assert "added 2, replaced 0, renamed 0, removed 1" in await asked("同期\u3000our wiki")
    emptied(wiki)
    assert "waits: 2 pages are gone at once" in await asked("sync our wiki")
    assert "followed" in await asked("再開\u3000our wiki\u3000削除")
    assert await office.library.documents.listed() == []
    assert "There is no source “nothing” here." in await asked("sync nothing")
