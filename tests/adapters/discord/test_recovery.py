"""What a bot that runs takes up by itself, without being restarted: what is due to be said, and what others left
undone."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from adapters.discord.catch_up import AGAIN, DIRECT_ONES, missed
from adapters.discord.transport.api import DiscordApi
from adapters.runner import digest_target
from bot.types import Actor, AnswerGiven, Audience, Card, CardRow, FileRef, Incoming, IngestionRequest, Place, Post
from bot.unanswered.digest_card import offers
from retrieval.types import TEAM
from tests.adapters.acting import Act, answers, misses, until
from tests.adapters.discord.service import Service, bot
from tests.bot.library import opened
from tests.fakes.discord_fake import ANN, GENERAL, GUILD, OWNER, FakeDiscord
from tests.fakes.discord_gate import CUT_BEFORE, status
from tests.fakes.discord_world import STAGE, Message

HERE = Place("discord", GUILD, GENERAL)
PUBLIC = Audience("public")
PIER = "They moor at pier seven."
READ = "GET /channels/{channel}/messages"


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
        missed = await until(lambda: here.bot.experts.open(HERE, PUBLIC), lambda some: some.shown == 1)
        discord.fail("POST /channels/{channel}/messages", status(503), where=lambda body: PIER in str(body), calls=[1])
        expert, there = Actor("slack", "T1", "U1"), Place("slack", "T1", "C1")
        taught = await here.bot.experts.answer(AnswerGiven(expert, there, PUBLIC, (missed.questions[0].id,), PIER))
        assert taught.told == 1
        (told,) = await discord.wait_for(lambda: [one for one in discord.replies(asked) if PIER in one.shown])
        assert told.mentions == [ANN] and "has an answer now:" in told.shown
        await discord.wait_for_idle()
        assert len([one for one in discord.replies(asked) if PIER in one.shown]) == 1


async def test_the_digest_goes_to_a_channel_by_its_name(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        for wanted in ("general", "#General", "discord:general"):
            adapter, channel = digest_target([here.adapter], wanted)
            assert (await adapter.find(channel)).place == HERE
        assert digest_target([here.adapter], GENERAL)[1] == GENERAL
        with pytest.raises(LookupError, match="#general"):
            await here.adapter.find("genral")
        other = here.discord.world.add_guild("Pier")
        there = here.discord.world.add_channel("general", guild=other.id)
        await here.discord.invites_the_bot(other.id)
        with pytest.raises(LookupError, match=there.id):
            await until(lambda: here.adapter.find("general"), lambda found: False)


async def test_a_reply_to_a_card_that_mentions_the_bot_is_its_answer(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        discord = here.discord
        for text in ("Where do ships moor?", "Who has the key?"):
            await discord.says("general", "ann", f"@kotae {text}")
        missed = await until(lambda: here.bot.experts.open(HERE, PUBLIC), lambda some: some.shown == 2)
        rows = tuple(CardRow(one.question, (), (), offers((one.id,), one.id, "en")) for one in missed.questions)
        await here.adapter.announce(GENERAL, Card("Unanswered questions", (), rows), about="digest:now")
        cards = {row.text: next(one for one in discord.posted("general") if row.text in one.content) for row in rows}
        moor, key = cards["Where do ships moor?"], cards["Who has the key?"]

        def confirms() -> list[Message]:
            return [one for one in discord.world.messages.values() if "Save this reply" in one.content and one.buttons]

        reply = await discord.says("general", "ben", "<@BOT> At pier six.", reply=moor.id)
        await discord.wait_for(confirms)
        await discord.edits(reply, f"<@BOT> {PIER}")
        await discord.starts_thread("ben", key.id, "The key")
        first = await discord.says("general", "ben", "Anybody?", thread=key.id)
        await discord.wait_for(lambda: len(confirms()) == 2)
        await discord.says("general", "ben", "<@BOT> Under the mat.", thread=key.id, reply=first)
        await discord.wait_for(lambda: len(confirms()) == 3)
        await discord.wait_for_idle()
        assert len(here.player.asks) == 2

        await discord.presses("ben", confirms()[0].id, "Save as the answer")
        (told,) = await discord.wait_for(lambda: [one for one in discord.world.messages.values() if PIER in one.shown])
        assert "@" not in told.shown.partition(PIER)[2]
        await discord.wait_for(lambda: "✅ Answered by ben" in moor.content)
        await discord.says("general", "ben", "Thanks!", reply=moor.id)  # the card is answered
        later = await discord.says("general", "ben", "<@BOT> And the ferries?", reply=moor.id)
        await discord.wait_for(lambda: here.player.messages[-1].message == later)
        await discord.wait_for_idle()
        assert len(here.player.asks) == 3 and len(confirms()) == 2


async def test_a_card_whose_questions_are_closed_elsewhere_offers_them_no_longer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bot.unanswered.expert_answers.SETTLED", timedelta(0))
    async with serving(tmp_path) as here:
        discord = here.discord
        await discord.says("general", "ann", "@kotae Where do ships moor?")
        await discord.says("general", "ann", "@kotae Who has the key?")
        missed = await until(lambda: here.bot.experts.open(HERE, PUBLIC), lambda some: some.shown == 2)
        rows = tuple(CardRow(one.question, (), (), offers((one.id,), one.id, "en")) for one in missed.questions)
        await here.adapter.announce(GENERAL, Card("Unanswered questions", (), rows, ()), about="digest:1")
        first, second = [one for one in discord.posted("general") if one.buttons]
        expert, there = Actor("slack", "T1", "U1"), Place("slack", "T1", "C1")
        assert (await here.bot.experts.dismiss(expert, (missed.questions[0].id,), there, PUBLIC)).refusal is None
        await discord.wait_for(lambda: "Answered or dismissed elsewhere" in first.shown)
        assert not first.buttons and second.buttons


async def test_files_that_a_process_took_in_and_did_not_read_are_read(tmp_path: Path) -> None:
    async with serving(tmp_path) as here:
        discord = here.discord
        intake = IngestionRequest("i1", HERE, None, ANN, "documents", TEAM, "en", (FileRef("pier.md", {"text": PIER}),))
        taken = await here.bot.ingestion.accept("a gesture", intake)
        assert taken is not None

        async def never(file: FileRef) -> bytes:
            raise AssertionError("nothing is read yet")

        async with aclosing(here.bot.ingestion.process(taken, never)) as states:
            await anext(states)  # and there it ends
        (shown,) = await discord.wait_for(lambda: [one for one in discord.posted("general") if "Done" in one.shown])
        assert "pier.md: added to documents" in shown.shown and "Added by ann" in shown.shown
        await discord.wait_for_idle()
        assert len(discord.posted("general")) == 1 and await here.bot.ingestion.unfinished("discord") == []


async def test_a_question_that_was_claimed_and_given_back_is_answered(tmp_path: Path) -> None:
    async with serving(tmp_path, answers()) as here:
        asked = await here.discord.says("general", "ann", "How long do refunds take?")
        text, link = "How long do refunds take?", f"https://discord.com/channels/{GUILD}/{GENERAL}/{asked}"
        claimed = await here.bot.turns.claim(Incoming(HERE, asked, asked, ANN, text, PUBLIC, link=link))
        assert claimed is not None
        await here.bot.turns.release(claimed)
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
        stage = discord.world.add_channel("stage", kind=STAGE).id
        await discord.says(stage, "ann", "@kotae How long do refunds take?")
        await discord.says("general", "ben", "Lunch?")
        await discord.says(secret, "ann", "@kotae How long?")
        for _ in range(2):  # and the second start finds all of it answered
            async with bot(discord, tmp_path, answers()) as here:
                for place in (asked[0], talk):
                    await discord.wait_for(lambda: [one for one in discord.replies(place) if "30 days" in one.shown])  # noqa: B023
                await discord.wait_for(lambda: [one for one in discord.posted(stage) if "30 days" in one.shown])
                await discord.wait_for_idle()
                assert not discord.replies(old) and not discord.posted(secret) and len(here.player.asks) in (3, 0)
        assert [len(discord.posted(place)) for place in (asked[0], talk)] == [2, 2]
        assert not [each for each in discord.journal.errors() if " 403 " in each]


async def test_what_was_asked_in_direct_messages_meanwhile_is_answered_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with FakeDiscord(limits=False, copies=2) as discord:
        direct = {user: discord.dm(user) for user in ("ann", "ben", "owner")}

        def found(user: str) -> int:
            return len([one for one in discord.posted(direct[user]) if "30 days" in one.shown])

        async with bot(discord, tmp_path, answers()):
            for user, channel in direct.items():
                await discord.says(channel, user, "How long do refunds take?")
            await discord.wait_for(lambda: all(map(found, direct)))
            await discord.wait_for_idle()
        long_ago = str(int(discord.posted(direct["ann"])[-1].id) - (2_000_000 << 22))  # milliseconds
        discord.world.post(direct["ann"], ANN, id=long_ago, content="And long ago?")
        for user, channel in direct.items():
            await discord.says(channel, user, "And abroad?")
        await discord.removes(direct["ben"])
        discord.world.users[OWNER].takes_dms = False
        for asks in (2, 0):  # and the second start finds all of it answered
            caplog.clear()
            async with bot(discord, tmp_path, answers()) as here:
                await discord.wait_for(lambda: found("ann") == 2)
                await discord.wait_for_idle()
                assert len(here.player.asks) == asks and found("ann") == 2 and found("owner") == 1
            assert not [one for one in caplog.records if one.levelno > logging.INFO]


async def test_what_was_said_meanwhile_is_read_later_where_discord_gives_none_at_first(tmp_path: Path) -> None:
    waits: list[float] = []

    async def pause(seconds: float) -> None:
        waits.append(seconds)

    async def at_once(seconds: float) -> None:
        await asyncio.sleep(0)

    async with FakeDiscord(limits=False) as discord, bot(discord, tmp_path) as here:
        asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
        await discord.wait_for(lambda: discord.replies(asked))
        await discord.wait_for_idle()
        context = here.adapter._context
        assert context is not None
        context = replace(context, rest=DiscordApi(context.client, sleep=at_once))
        discord.fail(READ, CUT_BEFORE, where=lambda _: not waits)
        found = [str(one.id) async for one in missed(context, 0, sleep=pause)]
        assert asked in found and len(found) == len(set(found)) and waits == [AGAIN[0]]


async def test_direct_conversations_leave_room_for_servers_and_are_not_all_looked_into(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord, bot(discord, tmp_path) as here:
        people = [discord.world.add_user(f"p{number}").name for number in range(DIRECT_ONES + 2)]
        for number, user in enumerate(people):
            post = Post(f"t{number}", "answer", 0, Place("discord", "@me", discord.dm(user)), message=str(number))
            await here.bot.outbox.confirm(post)
        asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
        await discord.wait_for(lambda: discord.replies(asked))
        await discord.wait_for_idle()
        since = len(discord.journal.entries)
        assert here.adapter._context is not None
        assert asked in [str(one.id) async for one in missed(here.adapter._context, 0)]
        read = [each.params["channel"] for each in discord.journal.entries[since:] if each.route == READ]
        assert read == [GENERAL, *(discord.dm(user) for user in people[:1:-1]), asked]
