"""What a bot that runs takes up by itself, without being restarted: what is due to be said, and what others left undone."""

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from bot.cards import Card, Row
from bot.digest_text import offers
from bot.messages import Actor, Audience, FileRef, Incoming, Intake, Lesson, Place
from retrieval.types import TEAM
from tests.adapters.acting import Act, answers, misses, until
from tests.adapters.discord.service import Service, bot
from tests.bot.library import opened
from tests.fakes.discord_fake import ANN, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_gate import status

HERE = Place("discord", GUILD, GENERAL)
PUBLIC = Audience("public")
PIER = "They moor at pier seven."


@asynccontextmanager
async def serving(home: Path, act: Act = misses) -> AsyncIterator[Service]:
    """A bot that runs, with a knowledge that its agent does not look into."""
    async with (
        FakeDiscord(limits=False) as discord,
        opened(home / "library") as library,
        bot(discord, home, act, knowledge=library.knowledge) as here,
    ):
        yield here


async def test_an_asker_is_told_of_an_answer_that_was_given_elsewhere(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        discord = here.discord
        asked = await discord.says("general", "ann", "@kotae Where do ships moor?")
        missed = await until(lambda: here.desk.unanswered(HERE, PUBLIC), lambda some: some.shown == 1)
        discord.fail("POST /channels/{channel}/messages", status(503), where=lambda body: PIER in str(body), calls=[1])
        expert, there = Actor("slack", "T1", "U1"), Place("slack", "T1", "C1")
        taught = await here.desk.teach(Lesson(expert, there, PUBLIC, (missed.questions[0].id,), PIER))
        assert taught.told == 1
        (told,) = await discord.wait_for(lambda: [one for one in discord.replies(asked) if PIER in one.shown])
        assert told.mentions == [ANN] and "has an answer now:" in told.shown
        await discord.wait_for_idle()
        assert len([one for one in discord.replies(asked) if PIER in one.shown]) == 1


async def test_a_card_whose_questions_are_closed_elsewhere_offers_them_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.desk.SETTLED", timedelta(0))
    async with serving(tmp_path) as here:
        discord = here.discord
        await discord.says("general", "ann", "@kotae Where do ships moor?")
        await discord.says("general", "ann", "@kotae Who has the key?")
        missed = await until(lambda: here.desk.unanswered(HERE, PUBLIC), lambda some: some.shown == 2)
        rows = tuple(Row(one.question, (), (), offers((one.id,), "en")) for one in missed.questions)
        await here.adapter.announce(GENERAL, Card("Unanswered questions", (), rows, ()), about="digest:1")
        first, second = [one for one in discord.posted("general") if one.buttons]
        expert, there = Actor("slack", "T1", "U1"), Place("slack", "T1", "C1")
        assert (await here.desk.dismiss(expert, (missed.questions[0].id,), there, PUBLIC)).refusal is None
        await discord.wait_for(lambda: "Answered or dismissed elsewhere" in first.shown)
        assert not first.buttons and second.buttons


async def test_files_that_a_process_took_in_and_did_not_read_are_read(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        discord = here.discord
        intake = Intake("i1", HERE, None, ANN, "documents", TEAM, "en", (FileRef("pier.md", {"text": PIER}),))
        taken = await here.desk.take_in("a gesture", intake)
        assert taken is not None

        async def never(file: FileRef) -> bytes:
            raise AssertionError("nothing is read yet")

        async with aclosing(here.desk.work_off(taken, never)) as states:
            await anext(states)  # and there it ends
        (shown,) = await discord.wait_for(lambda: [one for one in discord.posted("general") if "Done" in one.shown])
        assert "pier.md: added to documents" in shown.shown and "Added by ann" in shown.shown
        await discord.wait_for_idle()
        assert len(discord.posted("general")) == 1 and await here.desk.intakes("discord") == []


async def test_a_question_that_was_claimed_and_given_back_is_answered(tmp_path: Path) -> None:
    async with serving(tmp_path, answers()) as here:
        asked = await here.discord.says("general", "ann", "How long do refunds take?")
        text, link = "How long do refunds take?", f"https://discord.com/channels/{GUILD}/{GENERAL}/{asked}"
        claimed = await here.desk.claim(Incoming(HERE, asked, asked, ANN, text, PUBLIC, link=link))
        assert claimed is not None
        await here.desk.release(claimed)
        await here.discord.wait_for(lambda: any("30 days" in one.shown for one in here.discord.replies(asked)))


async def test_what_was_asked_while_no_process_heard_it_is_answered_unless_it_is_long_ago(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord:
        secret = discord.world.add_channel("secret", only=[ANN]).id
        text, mention = f"<@{discord.bot_user}> How long do refunds take?", [discord.bot_user]
        long_ago = str(int(secret) - (2_000_000 << 22))  # milliseconds
        old = discord.world.post(GENERAL, ANN, id=long_ago, content=text, pings=mention).id
        talk = await discord.starts_thread("ben", await discord.says("general", "ben", "Refunds"), "Refunds")
        asked = [
            await discord.says("general", "ann", "@kotae How long do refunds take?"),
            await discord.says("general", "ben", "<@BOT> And abroad?", thread=talk),
        ]
        await discord.says("general", "ben", "Lunch?")
        await discord.says(secret, "ann", "@kotae How long?")
        for _ in range(2):  # and the second start finds all of it answered
            async with bot(discord, tmp_path, answers()) as here:
                for place in (asked[0], talk):
                    await discord.wait_for(lambda: [one for one in discord.replies(place) if "30 days" in one.shown])  # noqa: B023
                await discord.wait_for_idle()
                assert not discord.replies(old) and not discord.posted(secret) and len(here.player.asks) in (2, 0)
        assert [len(discord.posted(place)) for place in (asked[0], talk)] == [2, 2]
        assert not [each for each in discord.journal.errors() if " 403 " in each]
