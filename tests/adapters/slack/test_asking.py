"""A person asked from a thread in Slack: who presses is told alone, who is asked gets one card, and the answer comes
back to the thread."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import select

from adapters.runner import PeopleReach
from adapters.slack.adapter import SlackAdapter
from agent.events import Answered, Thought
from bot.app import Application
from bot.store.engine import rows
from bot.store.schema import turns
from bot.types import Upload
from retrieval.i18n import Language
from retrieval.types import TEAM
from tests.adapters.slack.service import bot, whole
from tests.adapters.slack.test_audience import share
from tests.adapters.slack.test_digest import opened as modal
from tests.bot.acting import says
from tests.bot.library import opened
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import error
from tests.fakes.slack_world import Message

ASK, CHOOSE, ANSWER = "kotae_ask", "kotae_ask_choice", "kotae_answer"
GOLDEN = Path(__file__).parents[2] / "golden" / "slack"
PAGE = "# Refunds\n\nRefunds take thirty days from the day on which the parcel arrives at our warehouse.\n"
QUESTION = "How long do customers wait for refunds after sending parcels to the warehouse abroad?"


async def asks_ben(slack: FakeSlack, app: Application, adapter: SlackAdapter) -> tuple[str, Message]:
    """A question that ben is asked in person; its thread and his card."""
    app.bot.asking.reach = PeopleReach([adapter], None)
    await add(app)
    thread, answer = await asks(slack)
    await slack.presses("U1", answer, ASK)
    await slack.wait_for(lambda: whispered(slack, "U1", "I have asked ben"))
    (card,) = slack.posted(slack.dm("U2"))
    return thread, card


def whispered(slack: FakeSlack, user: str, words: str) -> list[Message]:
    return [each for each in slack.whispers(user) if words in each.shown]


def waking() -> str:
    """A time zone in which it is noon."""
    hour = datetime.now(UTC).hour
    return f"Etc/GMT{hour - 12:+}" if hour != 12 else "UTC"  # the sign is the other way round there


@asynccontextmanager
async def awake(slack: FakeSlack, home: Path, **more: str) -> AsyncIterator[tuple[Application, SlackAdapter]]:
    """The whole application while nobody sleeps, whenever the test runs."""
    for user in slack.world.users.values():
        user.tz = waking()
    async with whole(slack, home, **more) as made:
        yield made


async def add(app: Application, author: str = "U2", scope: str = TEAM) -> None:
    await app.knowledge.add(Upload("refunds.md", PAGE.encode(), "docs", scope, author), "en")


async def asks(slack: FakeSlack, channel: str = "C1", user: str = "U1") -> tuple[str, Message]:
    """A question whose answer is not sure; its thread and the answer."""
    thread = await slack.says(channel, user, f"@kotae {QUESTION}")
    found = await slack.wait_for(lambda: [each for each in slack.replies(thread) if ASK in each.actions], timeout=60)
    await slack.wait_for_idle()
    return thread, found[0]


async def test_the_owner_of_the_closest_document_is_asked_and_the_asker_gets_the_answer(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, awake(slack, tmp_path) as (app, adapter):
        app.bot.asking.reach = PeopleReach([adapter], None)
        await add(app)
        thread, answer = await asks(slack)
        assert "I am not sure." in answer.shown
        before = [each.shown for each in slack.replies(thread)]
        await slack.presses("U1", answer, ASK)
        (said,) = await slack.wait_for(lambda: whispered(slack, "U1", "I have asked ben"))
        assert said.thread == thread and not slack.whispers("U2")
        (card,) = slack.posted(slack.dm("U2"))
        assert QUESTION in card.shown and "ann asks this" in card.shown
        assert "Refunds take thirty days" in card.shown and "/kotae asks off" in card.shown
        assert card.actions[0] == ANSWER and thread.replace(".", "") in card.urls[0]
        assert [each.shown for each in slack.replies(thread)] == before  # nobody else reads who was asked

        await slack.presses("U2", card, ANSWER)
        await modal(slack, "U2")
        await slack.submits("U2", {"answer": "From abroad it takes sixty days."})
        await slack.wait_for(lambda: [one for one in slack.replies(thread) if "sixty days" in one.shown])
        await slack.wait_for(lambda: "Answered by ben" in card.shown)
        assert not slack.journal.errors()


async def test_from_a_private_channel_the_asker_confirms_and_the_team_reads_nothing(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack:
        slack.world.add_channel("G1", "secret", kind="private", members=("U1", slack.bot_user))
        async with awake(slack, tmp_path) as (app, adapter):
            app.bot.asking.reach = PeopleReach([adapter], "C1")
            await add(app)
            thread, answer = await asks(slack, "G1")
            await slack.presses("U1", answer, ASK)
            (back,) = await slack.wait_for(lambda: whispered(slack, "U1", "would read your question"))
            assert "ben" in back.shown and "Refunds" in back.shown and not slack.posted(slack.dm("U2"))
            await slack.presses("U1", back, CHOOSE)
            await slack.wait_for(lambda: whispered(slack, "U1", "I have asked ben"))
            (card,) = slack.posted(slack.dm("U2"))
            await slack.presses("U2", card, ANSWER)
            view = await modal(slack, "U2")
            assert "Only members of the private places" in str(view.body)
            await slack.submits("U2", {"answer": "From abroad it takes sixty days."})
            await slack.wait_for(lambda: [one for one in slack.replies(thread) if "sixty days" in one.shown])
            (kept,) = await app.data.documents.listed(collection="answers")
            assert kept.scope.startswith("place:") and kept.scope.endswith(":G1")
            assert not slack.posted("C1")


async def test_who_is_no_active_member_is_not_found(tmp_path: Path) -> None:
    """A guest, somebody deactivated, a bot, nobody at all."""
    async with FakeSlack(limits=False) as slack, bot(slack, tmp_path) as here:
        slack.world.add_user("U7", "gast", kind="guest")
        slack.world.add_user("U8", "weg", kind="deleted")
        for who in ("U7", "U8", slack.bot_user, "U99", "USLACKBOT", ""):
            with pytest.raises(LookupError):
                await here.adapter.find(f"@{who}")
        found = await here.adapter.find("@U2")
        assert (found.name, found.audience.visibility, str(found.timezone)) == ("ben", "private", "Asia/Tokyo")


async def test_without_the_right_to_write_to_people_the_digests_channel_is_asked(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack:
        slack.world.add_channel("C2", "digest", members=("U2", slack.bot_user))
        async with awake(slack, tmp_path) as (app, adapter):
            app.bot.asking.reach = PeopleReach([adapter], "#digest")
            await add(app)
            slack.fail("conversations.open", error("missing_scope"))
            _, answer = await asks(slack)
            await slack.presses("U1", answer, ASK)
            await slack.wait_for(lambda: whispered(slack, "U1", "I have asked #digest"))
            (card,) = slack.posted("C2")
            assert QUESTION in card.shown and "ann asks" not in card.shown


async def test_where_outsiders_read_along_there_is_no_button(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack:
        slack.world.add_user("U7", "gast", kind="guest")
        slack.world.add_channel("C3", "shared", members=("U1", "U7", slack.bot_user))
        async with whole(slack, tmp_path) as (app, _):
            await add(app, scope="everyone")
            thread = await slack.says("C3", "U1", f"@kotae {QUESTION}")
            await slack.wait_for(
                lambda: [each for each in slack.replies(thread) if "I am not sure." in each.shown], timeout=60
            )
            await slack.wait_for_idle()
            assert not any(ASK in each.actions for each in slack.replies(thread))


async def test_an_owner_is_set_by_a_mention_and_opts_out(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, awake(slack, tmp_path, KOTAE_EDITORS="slack:U1") as (app, adapter):
        app.bot.asking.reach = PeopleReach([adapter], None)
        await add(app, author="U1")
        await slack.command("/kotae", "owner docs <@U2|ben>", "U1", "C1")
        await slack.wait_for(lambda: whispered(slack, "U1", "ben looks after “docs”"))
        await slack.command("/kotae", "owner docs <@U99|nobody>", "U1", "C1")
        await slack.wait_for(lambda: whispered(slack, "U1", "not an active member"))
        await slack.command("/kotae", "owner docs reset", "U2", "C1")
        await slack.wait_for(lambda: whispered(slack, "U2", "by an editor"))
        await slack.command("/kotae", "owner docs", "U2", "C1")
        await slack.wait_for(lambda: whispered(slack, "U2", "ben looks after “docs”"))

        await slack.command("/kotae", "asks off", "U2", "C1")
        await slack.wait_for(lambda: whispered(slack, "U2", "No questions are brought to you"))
        _, answer = await asks(slack)
        await slack.presses("U1", answer, ASK)
        await slack.wait_for(lambda: whispered(slack, "U1", "I found nobody"))
        await slack.command("/kotae", "asks on", "U2", "C1")
        await slack.wait_for(lambda: whispered(slack, "U2", "may be brought to you"))
        await slack.presses("U1", answer, ASK)
        await slack.wait_for(lambda: whispered(slack, "U1", "I have asked ben"))


WORDS: dict[Language, tuple[str, str, str]] = {
    "en": ("How long do refunds from abroad take?", "Perhaps thirty days.", "From abroad it takes sixty days."),
    "ja": ("海外からの返金は何日かかりますか？", "30日かもしれません。", "海外からは60日です。"),
}


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_what_everybody_reads_from_the_question_to_the_answer(tmp_path: Path, language: Language) -> None:
    question, doubtful, answer = WORDS[language]
    async with FakeSlack(limits=False) as slack, opened(tmp_path) as library:
        for user in slack.world.users.values():
            user.locale, user.tz = {"en": "en-US", "ja": "ja-JP"}[language], waking()
        said = says(Thought("…"), Answered(doubtful, unsure=True, seconds=2))
        serves = bot(slack, tmp_path, said, knowledge=library.knowledge, KOTAE_LANGUAGE=language)
        async with serves as here:
            here.bot.asking.reach = PeopleReach([here.adapter], None)
            await library.knowledge.add(Upload("page.md", question.encode(), "docs", TEAM, "U2"), language)
            thread = await slack.says("C1", "U1", f"@kotae {question}")
            (shown,) = await slack.wait_for(lambda: [each for each in slack.replies(thread) if ASK in each.actions])
            await slack.wait_for_idle()
            await slack.presses("U1", shown, ASK)
            await slack.wait_for(lambda: slack.whispers("U1"))
            (card,) = slack.posted(slack.dm("U2"))
            first = card.shown
            await slack.presses("U2", card, ANSWER)
            await modal(slack, "U2")
            await slack.submits("U2", {"answer": answer})
            await slack.wait_for(lambda: [each for each in slack.replies(thread) if answer in each.shown])
            await slack.wait_for(lambda: "✅" in card.shown)
            read = {
                "thread": [each.shown for each in slack.replies(thread)],
                "ann alone": [each.shown for each in slack.whispers("U1")],
                "ben": [first, card.shown],
                "ben alone": [each.shown for each in slack.whispers("U2")],
            }
    text = "\n\n".join("\n\n".join((f"== {who}", *messages)) for who, messages in read.items()) + "\n"
    assert text == (GOLDEN / f"asked.{language}.txt").read_text(encoding="utf-8")


async def test_an_answer_that_is_typed_below_the_card_is_asked_about_and_a_question_is_not(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, awake(slack, tmp_path) as (app, adapter):
        thread, card = await asks_ben(slack, app, adapter)
        for text, said in (("From abroad it takes sixty days.", "Save this reply"), ("And a form.", "Save these 2")):
            await slack.says(slack.dm("U2"), "U2", text)
            (asked,) = await slack.wait_for(lambda: [one for one in slack.replies(card.ts) if said in one.shown])  # noqa: B023
        assert f"replies together as the answer to “{QUESTION}”?" in asked.shown
        await slack.presses("U2", asked, "kotae_save")
        await slack.wait_for(lambda: [one for one in slack.replies(thread) if "sixty days" in one.shown])
        (kept,) = await app.data.documents.listed(collection="answers")
        assert kept.author == "U2"

        await slack.says(slack.dm("U2"), "U2", "Sorry, ninety days.", thread=card.ts)
        await slack.wait_for(lambda: len(slack.replies(card.ts)) == 2)
        _, anew = slack.replies(card.ts)
        await slack.presses("U2", anew, "kotae_anew")
        await slack.wait_for(lambda: [one for one in slack.replies(thread) if "ninety days" in one.shown])
        for asked_for in ("Please tell me how long refunds take", QUESTION):
            question = await slack.says(slack.dm("U2"), "U2", asked_for)
            await slack.wait_for(lambda: [one for one in slack.replies(question) if "days" in one.shown], timeout=60)  # noqa: B023
        await slack.wait_for_idle()
        assert len(slack.replies(card.ts)) == 2 and not slack.journal.errors()


async def test_an_answer_that_comes_too_late_is_no_question(tmp_path: Path) -> None:
    """Of somebody who was asked, below the card of what was answered or dismissed elsewhere meanwhile."""
    async with FakeSlack(limits=False) as slack, awake(slack, tmp_path) as (app, adapter):
        _, card = await asks_ben(slack, app, adapter)
        await slack.presses("U2", card, "kotae_dismiss")
        await slack.wait_for(lambda: "Dismissed" in card.shown)
        await slack.says(slack.dm("U2"), "U2", "From abroad it takes sixty days.", thread=card.ts)
        await slack.wait_for(lambda: whispered(slack, "U2", "answered or dismissed meanwhile"))
        asked = await slack.says(slack.dm("U2"), "U2", "How long does a refund take?", thread=card.ts)
        await slack.wait_for(lambda: slack.replies(card.ts), timeout=60)
        await slack.wait_for_idle()
        found = await rows(app.data.engine, select(turns.c.message))
        assert [row.message for row in found][1:] == [asked]


async def test_that_somebody_knows_no_answer_is_neither_one_nor_a_question(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, awake(slack, tmp_path) as (app, adapter):
        _, card = await asks_ben(slack, app, adapter)
        for at, thread in enumerate((None, card.ts), 1):
            await slack.says(slack.dm("U2"), "U2", "I don't know, sorry", thread=thread)
            await slack.wait_for(lambda: len(whispered(slack, "U2", "the question stays open")) == at)  # noqa: B023
        await slack.wait_for_idle()
        assert [one.ts for one in slack.posted(slack.dm("U2"))] == [card.ts] and not slack.replies(card.ts)


async def test_whoever_saves_a_reply_with_a_file_hears_that_the_file_is_not_kept(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, awake(slack, tmp_path) as (app, adapter):
        thread, card = await asks_ben(slack, app, adapter)
        form = slack.world.add_file("form.txt", b"Name:", "U2")
        await slack.says(slack.dm("U2"), "U2", "It takes sixty days, with this form.", files=[form])
        (asked,) = await slack.wait_for(lambda: slack.replies(card.ts))
        await slack.presses("U2", asked, "kotae_save")
        await slack.wait_for(lambda: [one for one in slack.replies(thread) if "sixty days" in one.shown])
        await slack.wait_for(lambda: whispered(slack, "U2", "Saved without the files"))


async def test_what_is_forwarded_as_the_answer_is_learnt(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, awake(slack, tmp_path) as (app, adapter):
        thread, card = await asks_ben(slack, app, adapter)
        await slack.says(slack.dm("U2"), "U2", "", attachments=[share("Ask <@U1>: it takes sixty days.")])
        (asked,) = await slack.wait_for(lambda: slack.replies(card.ts))
        await slack.presses("U2", asked, "kotae_save")
        await slack.wait_for(lambda: [one for one in slack.replies(thread) if "Ask @ann: it takes" in one.shown])


async def test_an_answer_that_was_typed_below_the_card_is_followed_and_no_question_when_it_is_edited(
    tmp_path: Path,
) -> None:
    async with FakeSlack(limits=False) as slack, awake(slack, tmp_path) as (app, adapter):
        thread, card = await asks_ben(slack, app, adapter)
        direct = slack.dm("U2")
        said = await slack.says(direct, "U2", "From abroad it takes sixty days.")
        (asked,) = await slack.wait_for(lambda: [one for one in slack.replies(card.ts) if "Save this" in one.shown])
        await slack.presses("U2", asked, "kotae_save")
        await slack.wait_for(lambda: [one for one in slack.replies(thread) if "sixty days" in one.shown])
        await slack.says(direct, "U2", QUESTION)  # so that the card is no longer the last that was said
        await slack.wait_for_idle()
        await slack.edits(said, "From abroad it takes ninety days.")
        anew = "Is this reply the answer to"
        await slack.wait_for(lambda: [one for one in slack.replies(card.ts) if one.shown.startswith(anew)])
        await slack.wait_for_idle()
        assert not slack.replies(said) and not slack.journal.errors()
        await slack.presses("U2", next(one for one in slack.replies(card.ts) if anew in one.shown), "kotae_anew")
        await slack.wait_for(lambda: [one for one in slack.replies(thread) if "ninety days" in one.shown])
        await slack.deletes(said)
        await slack.wait_for(lambda: [one for one in slack.replies(card.ts) if "Take the answer" in one.shown])
