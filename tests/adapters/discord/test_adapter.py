"""Questions in Discord: the real discord.py against a Discord that keeps its rules, with every disturbance it is known
for."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from agent.events import Thought
from bot.errors import SettingsError, StoreError
from bot.store.engine import rows
from bot.store.schema import turns
from bot.types import Place, Post
from retrieval.i18n import Text
from tests.adapters.acting import Held, answers, until
from tests.adapters.discord.service import Service, bot
from tests.fakes.discord_fake import ANN, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_gate import Fault, error, page
from tests.fakes.discord_payloads import CONTENT_INTENT
from tests.fakes.discord_world import FORUM, PRIVATE_THREAD, VOICE, Message

EVERYONE, TEAM = {"everyone"}, {"everyone", "team"}
POST = "POST /channels/{channel}/messages"
THREAD = "POST /channels/{channel}/messages/{message}/threads"


def finals(discord: FakeDiscord, asked: str, text: str = "30 days") -> list[Message]:
    return [reply for reply in discord.replies(asked) if text in reply.shown]


def answered(discord: FakeDiscord, asked: str, text: str = "30 days") -> Callable[[], list[Message]]:
    return lambda: finals(discord, asked, text)


def scopes(here: Service, turn: int = 0) -> set[str]:
    return {scope for scope in here.player.readers[turn].scopes if not scope.startswith("thread:")}


# -- steps ------------------------------------------------------------------------------------------------------------


async def test_steps_are_behind_one_line_also_after_a_restart(tmp_path: Path) -> None:
    long = [Thought(f"Step {number}. " + "word " * 100) for number in range(9)]
    async with FakeDiscord(limits=False) as discord:
        async with bot(discord, tmp_path, answers("30 days.", *long)):
            asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
            await discord.wait_for(lambda: finals(discord, asked, "30 days."))
            await discord.wait_for_idle()
            steps, answer = discord.thread(asked)
            assert steps.shown == "-# 9 steps" and [*steps.buttons.values()] == ["Steps"]
        async with bot(discord, tmp_path):
            await discord.presses("ben", steps.id, "Steps")
            told = await discord.wait_for(lambda: discord.whispers("ben"))
            await discord.wait_for_idle()
            told = discord.whispers("ben")
            shown = "\n".join(each.shown for each in told)
            assert [f"Step {number}." in shown for number in range(9)] == [True] * 9 and len(told) > 1
            steps.content = "-# forged"
            answer.components = steps.components  # a forged button
            await discord.presses("ann", answer.id, "Steps")
            await discord.wait_for(lambda: "not kept any more" in "".join(one.shown for one in discord.whispers("ann")))


async def test_without_the_intent_it_is_said_once_that_a_follow_up_takes_a_mention(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False, intents=0) as discord, bot(discord, tmp_path) as here:
        asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, asked))
        for text in ("And from abroad?", "Hello?"):
            await discord.says("general", "ann", text, thread=asked)
            await discord.wait_for(lambda: [one for one in discord.thread(asked) if "mention me to go on" in one.shown])
            await discord.wait_for_idle()
        assert len([one for one in discord.thread(asked) if "Message Content Intent" in one.shown]) == 1
        assert len(here.player.asks) == 1


# -- where and to whom ------------------------------------------------------------------------------------------------


async def test_a_mention_is_answered_once_in_its_thread(tmp_path: Path) -> None:
    async with FakeDiscord(copies=2) as discord, bot(discord, tmp_path) as here:
        asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, asked))
        await discord.wait_for_idle()
        steps, answer = discord.thread(asked)
        assert steps.shown == "-# 1 step" and "30 days" in answer.shown
        assert discord.place(asked).name == "How long do refunds take?"
        assert [ask.question for ask in here.player.asks] == ["How long do refunds take?"]
        assert scopes(here) == TEAM and not answer.mentions and not answer.previews
        assert here.player.messages[0].link == f"https://discord.com/channels/{GUILD}/{GENERAL}/{asked}"
        assert here.adapter.who == "@kotae in Loopback" and here.adapter.connected


async def test_a_direct_message_needs_no_mention_and_goes_on_with_the_last_one(tmp_path: Path) -> None:
    async with FakeDiscord(intents=0) as discord, bot(discord, tmp_path) as here:
        for text in ("How long do refunds take?", "And abroad?"):
            asked = await discord.says(discord.dm("ann"), "ann", text)
            await discord.wait_for(answered(discord, asked))
        assert scopes(here) == TEAM | {f"place:discord:%40me:{discord.dm('ann')}"}
        assert [one.question for one in here.player.asks[1].history] == ["How long do refunds take?"]


async def test_what_is_forwarded_in_a_direct_message_is_asked(tmp_path: Path) -> None:
    """A forward has no content: what it forwards is a snapshot. In a server it can mention nobody, and asks nothing."""
    async with FakeDiscord(limits=False) as discord, bot(discord, tmp_path) as here:
        first = await discord.says("general", "ann", "@kotae And by card?")
        await discord.wait_for(answered(discord, first))
        said = await discord.says("general", "ben", f"How long do refunds take, <@{ANN}>?")
        await discord.forwards("ann", said, discord.place(first).id)
        await discord.wait_for_idle()
        asked = await discord.forwards("ann", said, discord.dm("ann"))
        await discord.wait_for(answered(discord, asked))
        assert [ask.question for ask in here.player.asks] == ["And by card?", f"How long do refunds take, @{ANN}?"]


async def test_a_thread_is_a_conversation_and_others_are_context(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord, bot(discord, tmp_path) as here:
        asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, asked))
        await discord.says("general", "ben", "Customers in Osaka ask that a lot.", thread=asked)
        await discord.says("general", "ann", "<@BOT> And abroad, <@1100000000000000022>?", thread=asked)
        await discord.wait_for(lambda: len(finals(discord, asked)) == 2)
        await discord.says("general", "ann", "@kotae And by card?", thread=asked)
        await discord.wait_for(lambda: len(finals(discord, asked)) == 3)
        second, third = here.player.asks[1:]
        assert second.question == "And abroad, @ben?" and third.overheard == second.overheard
        assert [(one.question, one.answer) for one in second.history] == [
            ("How long do refunds take?", "Refunds take 30 days.")
        ]
        assert [(one.author, one.text) for one in second.overheard] == [("ben", "Customers in Osaka ask that a lot.")]


async def test_without_the_content_intent_a_mention_is_answered_all_the_same(tmp_path: Path) -> None:
    async with FakeDiscord(intents=0) as discord, bot(discord, tmp_path) as here:
        said = await discord.says("general", "ben", "Customers in Osaka ask that a lot.")
        asked = await discord.says("general", "ann", "<@BOT> How long do refunds take?", reply=said)
        await discord.wait_for(answered(discord, asked))
        assert here.player.asks[0].overheard == ()
        assert not discord.gateway.received[0]["d"]["intents"] & CONTENT_INTENT


async def test_what_a_question_replies_to_is_context(tmp_path: Path) -> None:
    async with FakeDiscord() as discord, bot(discord, tmp_path) as here:
        said = await discord.says("general", "ben", "The VPN is down.")
        asked = await discord.says("general", "ann", "@kotae Who repairs this? refunds", reply=said)
        await discord.wait_for(answered(discord, asked))
        assert [one.text for one in here.player.asks[0].overheard] == ["The VPN is down."]


async def test_a_forum_post_and_a_thread_of_people_are_answered_there(tmp_path: Path) -> None:
    async with FakeDiscord() as discord, bot(discord, tmp_path) as here:
        discord.world.add_channel("help", kind=FORUM)
        post = await discord.posts("help", "ann", "Refunds", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, post))
        talk = await discord.starts_thread("ben", await discord.says("general", "ben", "Refunds again"), "Refunds")
        asked = await discord.says("general", "ben", "@kotae How long do refunds take?", thread=talk)
        await discord.wait_for(answered(discord, talk))
        assert {message.place.channel for message in here.player.messages} == {discord.place("help").id, GENERAL}
        assert [message.thread for message in here.player.messages] == [post, talk]
        assert asked not in discord.world.channels and not [each for each in discord.journal.errors() if "403" in each]


def elsewhere(discord: FakeDiscord, *people: str) -> str:
    """Another server, with the bot and these people; its id."""
    other = discord.world.add_guild("Elsewhere").id
    for each in (discord.bot_user, *people):
        discord.world.join(discord.person(each).id, other)
    return other


@pytest.mark.parametrize(
    "where", ["role", "everyone", "private thread", "locked voice", "other server", "two servers", "stranger"]
)
async def test_the_rights_of_a_channel_decide_what_may_be_read_there(where: str, tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        channel, chosen, expected = GENERAL, None, TEAM
        if where == "role":
            channel = discord.world.add_channel("board", only=[ANN, discord.bot_user]).id
            expected = TEAM | {f"place:discord:{GUILD}:{channel}"}
        if where == "private thread":
            kept = discord.world.add_thread(discord.place(GENERAL), "secret", ANN, kind=PRIVATE_THREAD)
            kept.people.add(discord.bot_user)
            channel, expected = kept.id, TEAM | {f"place:discord:{GUILD}:{kept.id}"}
        if where == "locked voice":
            channel = discord.world.add_channel("locked", kind=VOICE).id
            discord.world.deny(channel, "connect", who=GUILD)
            for each in (ANN, discord.bot_user):
                discord.world.allow(channel, "connect", who=each)
            expected = TEAM | {f"place:discord:{GUILD}:{channel}"}
        if where in ("other server", "two servers"):
            other = elsewhere(discord)
            chosen, expected = ((other,) if where == "other server" else None), EVERYONE
        if where == "stranger":
            discord.world.add_user("mallory", guilds=())
            elsewhere(discord, "mallory")
            channel, chosen, expected = discord.dm("mallory"), (GUILD,), EVERYONE
        async with bot(discord, tmp_path, guilds=chosen) as here:
            author = "mallory" if where == "stranger" else "ann"
            asked = await discord.says(channel, author, "@kotae How long do refunds take?")
            await discord.wait_for(
                lambda: [each for each in discord.posted(channel) if "30" in each.shown] or finals(discord, asked)
            )
            assert scopes(here) == expected
            assert here.player.asks[0].reaches_team == (expected != EVERYONE)


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_bot_put_out_of_the_teams_server_does_not_take_a_strangers_for_it(
    restarted: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with FakeDiscord(limits=False) as discord:
        discord.world.add_user("mallory", guilds=())
        other = discord.world.add_guild("Elsewhere").id
        discord.world.join(discord.person("mallory").id, other)
        theirs = discord.world.add_channel("lobby", guild=other).id

        async def asks(channel: str, author: str) -> None:
            asked = await discord.says(channel, author, "@kotae How long do refunds take?")
            await discord.wait_for(answered(discord, asked))

        async def seen(here: Service) -> list[str]:
            assert here.adapter._context is not None
            return [str(guild.id) for guild in here.adapter._context.client.guilds]

        async def loses_the_team() -> None:
            await discord.invites_the_bot(other)
            await discord.throws_out_the_bot(GUILD)

        async with bot(discord, tmp_path) as here:
            await asks(GENERAL, "ann")
            assert scopes(here) == TEAM
            await until(here.bot.homes.team)
            if not restarted:
                await loses_the_team()
                await until(lambda: seen(here), lambda found: found == [other])
                await asks(theirs, "mallory")
                await asks(discord.dm("mallory"), "mallory")
                assert scopes(here, 1) == scopes(here, 2) == EVERYONE
        if restarted:
            await loses_the_team()
            async with bot(discord, tmp_path) as here:
                await asks(theirs, "mallory")
                assert scopes(here) == EVERYONE
    assert any(f"set KOTAE_DISCORD_GUILDS={other}" in each.message for each in caplog.records)


@pytest.mark.parametrize("when", ["before", "meanwhile"])
async def test_a_guest_in_a_voice_channel_is_an_outsider_there_and_in_direct_messages(
    when: str, tmp_path: Path
) -> None:
    async with FakeDiscord() as discord:
        voice = discord.world.add_channel("voice", kind=VOICE).id
        discord.world.add_user("guest", guilds=())
        if when == "before":
            await discord.comes_as_guest("guest", voice)
        async with bot(discord, tmp_path) as here:
            if when == "meanwhile":
                await discord.comes_as_guest("guest", voice)
            for place, author in ((voice, "ann"), (voice, "guest"), (discord.dm("guest"), "guest"), (GENERAL, "ann")):
                asked = await discord.says(place, author, "@kotae How long do refunds take?")
                await discord.wait_for(answered(discord, asked))
            assert [scopes(here, turn) for turn in range(4)] == [EVERYONE, EVERYONE, EVERYONE, TEAM]


async def test_whoever_left_the_server_is_a_stranger_and_what_is_unknown_is_kept_closed(tmp_path: Path) -> None:
    async with FakeDiscord() as discord, bot(discord, tmp_path, guilds=(GUILD,)) as here:
        elsewhere(discord, "ben")
        await discord.leaves("ben")
        asked = await discord.says(discord.dm("ben"), "ben", "How long do refunds take?")
        await discord.wait_for(answered(discord, asked))
        discord.fail("GET /guilds/{guild}/members/{user}", error(50001))
        asked = await discord.says(discord.dm("ann"), "ann", "How long do refunds take?")
        await discord.wait_for(answered(discord, asked))
        assert scopes(here, 0) == EVERYONE == scopes(here, 1)
        assert [message.audience.visibility for message in here.player.messages] == ["outsiders", "unknown"]


async def test_the_role_of_the_bot_addresses_it_and_a_reply_to_an_answer_does(tmp_path: Path) -> None:
    async with FakeDiscord() as discord, bot(discord, tmp_path):
        discord.world.guilds[GUILD].roles[GUILD].permissions |= 1 << 17
        role = next(each.id for each in discord.world.guilds[GUILD].roles.values() if each.bot_id)
        asked = await discord.says("general", "ann", f"<@&{role}> How long do refunds take?")
        (answer,) = await discord.wait_for(answered(discord, asked))
        await discord.says("general", "ann", "And abroad?", reply=answer.id, thread=asked)
        await discord.wait_for(lambda: len(finals(discord, asked)) == 2)


async def test_without_the_intent_who_calls_the_bot_by_its_role_hears_that_it_was_not_read(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False, intents=0, copies=2) as discord, bot(discord, tmp_path) as here:
        discord.world.guilds[GUILD].roles[GUILD].permissions |= 1 << 17
        role = next(each.id for each in discord.world.guilds[GUILD].roles.values() if each.bot_id)
        for author in ("ann", "ben"):
            asked = await discord.says("general", author, f"<@&{role}> How long do refunds take?")
            (told,) = await discord.wait_for(lambda: [one for one in discord.replies(asked) if "role" in one.shown])  # noqa: B023
            await discord.edits(asked, f"<@&{role}> How long do refunds take, please?")
            await discord.wait_for_idle()
            assert "mention me myself" in told.shown and not told.pings
            assert discord.replies(asked) == [told] and not here.player.asks


async def test_a_reply_without_a_mention_goes_on_where_it_is_to_the_bot(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord, bot(discord, tmp_path) as here:
        asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
        (answer,) = await discord.wait_for(answered(discord, asked))
        thanks = await discord.says("general", "ann", "Thanks!", thread=asked)
        await discord.says("general", "ann", "I told you so.", reply=thanks, calls=False, thread=asked)
        await discord.wait_for_idle()
        await discord.says("general", "ann", "And abroad?", reply=answer.id, calls=False, thread=asked)
        await discord.wait_for(lambda: len(finals(discord, asked)) == 2)
        assert [ask.question for ask in here.player.asks] == ["How long do refunds take?", "And abroad?"]


async def test_a_role_that_is_called_in_front_of_a_question_is_not_what_it_asks(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        role = discord.world.add_role("HR Team").id
        async with bot(discord, tmp_path) as here:
            asked = await discord.says("general", "ann", f"<@BOT> <@&{role}> 申請フォームはどこ？")
            await discord.wait_for(answered(discord, asked))
        assert [ask.question for ask in here.player.asks] == ["申請フォームはどこ？"]


async def test_what_is_not_for_the_bot_is_left_alone(tmp_path: Path) -> None:
    async with FakeDiscord() as discord, bot(discord, tmp_path) as here:
        robot = discord.world.add_user("robot", bot=True)
        await discord.says("general", "ann", "Lunch?")
        await discord.says("general", robot.id, "@kotae I am a bot, too")
        await discord.says("general", "ann", "@everyone Lunch!")
        await discord.says("general", "ann", "Ask it so: `<@BOT> How long?`")
        asked = await discord.says("general", "ann", "@kotae How long?")
        await discord.wait_for(answered(discord, asked))
        await discord.wait_for_idle()
        assert len(here.player.asks) == 1 and len(discord.posted("general")) == 0


# -- what goes along, changes, or is taken back -----------------------------------------------------------------------


async def test_a_file_that_came_with_the_question_is_fetched_without_the_token(tmp_path: Path) -> None:
    async with FakeDiscord() as discord, bot(discord, tmp_path) as here:
        plan = discord.world.add_file("plan.txt", b"The plan.")
        away = discord.world.add_file("away.txt", b"", serves="redirect", redirect=f"{discord.url}/elsewhere/x")
        asked = await discord.says("general", "ann", "@kotae What is the plan?", files=[plan, away])
        await discord.wait_for(answered(discord, asked))
        first, second = here.player.messages[0].files
        assert (first.name, first.data) == ("plan.txt", b"The plan.")
        assert not second.data and "away from Discord" in second.problem
        fetched = [each for each in discord.journal.entries if each.route in ("GET file", "GET elsewhere")]
        assert fetched and not any(each.body["authorization"] for each in fetched)


async def test_a_file_of_a_forwarded_message_is_read_where_only_its_asker_reads(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord, bot(discord, tmp_path) as here:
        plan = discord.world.add_file("plan.txt", b"The plan.")
        said = await discord.says("general", "ben", "What is the plan?", files=[plan])
        asked = await discord.forwards("ann", said, discord.dm("ann"))
        await discord.wait_for(answered(discord, asked))
        (file,) = here.player.messages[0].files
        assert (file.name, file.data) == ("plan.txt", b"The plan.") and here.player.asks[0].question


async def test_an_edited_question_is_answered_in_its_new_words_only(tmp_path: Path) -> None:
    held = Held("Old.")
    async with FakeDiscord() as discord, bot(discord, tmp_path, held, answers()) as here:
        asked = await discord.says("general", "ann", "@kotae How long do refunds tale?")
        await asyncio.wait_for(held.begun.wait(), 30)
        await discord.unfurls(asked)  # changes nothing
        await discord.edits(asked, "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, asked))
        await discord.wait_for_idle()
        assert [ask.question[-5:] for ask in here.player.asks] == ["tale?", "take?"]
        assert not finals(discord, asked, "Old.") and len(discord.replies(asked)) == 2


@pytest.mark.parametrize("answered_before", [True, False])
async def test_a_thread_does_not_keep_the_words_that_its_question_had_before(
    answered_before: bool, tmp_path: Path
) -> None:
    held = Held("Old.")
    players = (answers("Old."), answers()) if answered_before else (held, answers())
    async with FakeDiscord() as discord, bot(discord, tmp_path, *players):
        asked = await discord.says("general", "ann", "@kotae How long do refunds of Acme take?")
        await discord.wait_for(lambda: finals(discord, asked, "Old.") if answered_before else held.begun.is_set())
        await discord.wait_for(lambda: discord.place(asked).name == "How long do refunds of Acme take?")
        await discord.edits(asked, "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, asked))
        await discord.wait_for(lambda: discord.place(asked).name == "Question")
        told = [each.content for each in discord.world.in_place(asked)]
        assert not [text for text in told if "How long" in text], "a name is told where nobody can delete it"


async def test_a_thread_keeps_its_name_where_a_slip_is_corrected_or_something_is_added(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        async with bot(discord, tmp_path, answers("Old."), answers()):
            asked = await discord.says("general", "ann", "@kotae How long do refnuds take?")
            await discord.wait_for(lambda: finals(discord, asked, "Old."))
            await discord.edits(asked, "@kotae How long do refunds to a card take?")
            await discord.wait_for(answered(discord, asked))
        assert discord.place(asked).name == "How long do refnuds take?"  # the turn is over by now


async def test_a_mention_added_by_an_edit_is_a_question(tmp_path: Path) -> None:
    async with FakeDiscord() as discord, bot(discord, tmp_path):
        asked = await discord.says("general", "ann", "How long do refunds take?")
        await discord.edits(asked, "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, asked))


@pytest.mark.parametrize("how", ["deleted", "deleted with others", "no longer for the bot"])
async def test_a_question_that_is_taken_back_is_not_answered_and_its_steps_go(how: str, tmp_path: Path) -> None:
    held = Held()
    async with FakeDiscord() as discord, bot(discord, tmp_path, held, answers()) as here:
        asked = await discord.says("general", "ann", "@kotae How long?")
        await asyncio.wait_for(held.begun.wait(), 30)
        await discord.wait_for(lambda: discord.thread(asked))
        if how == "deleted":
            await discord.deletes(asked)
        elif how == "deleted with others":
            await discord.deletes(await discord.says("general", "ben", "Tea?"), asked)
        else:
            await discord.edits(asked, "Never mind.")
        await discord.wait_for(lambda: not discord.thread(asked))
        await discord.wait_for(lambda: discord.place(asked).name == "Question")
        held.go_on.set()
        other = await discord.says("general", "ann", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, other))
        assert not finals(discord, asked, "Late.") and not await here.bot.turns.unfinished("discord")


async def test_a_question_that_was_for_the_bot_before_goes_with_its_answer(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord, bot(discord, tmp_path) as here:
        asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, asked))
        of_done = select(turns.c.id).where(turns.c.state == "done")
        await until(lambda: rows(here.data.engine, of_done))  # until then an edit takes its answer back, too
        await discord.edits(asked, "Never mind.")
        await discord.wait_for_idle()
        assert finals(discord, asked)
        await discord.deletes(asked)
        await discord.wait_for(lambda: not discord.thread(asked))


# -- what goes wrong --------------------------------------------------------------------------------------------------


async def test_events_that_come_again_after_a_resumed_session_are_one_question(tmp_path: Path) -> None:
    async with FakeDiscord() as discord, bot(discord, tmp_path) as here:
        discord.gateway.rules.overlap = 20
        asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, asked))
        discord.close(4000)
        later = await discord.says("general", "ben", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, later))
        await discord.wait_for_idle()
        assert discord.gateway.resumed == 1 and discord.gateway.identified == 1
        assert len(here.player.asks) == 2 and [len(finals(discord, each)) for each in (asked, later)] == [1, 1]
        assert here.adapter.connected


async def test_what_cannot_be_stored_is_tried_again_before_anything_is_shown(tmp_path: Path) -> None:
    async with FakeDiscord() as discord, bot(discord, tmp_path) as here:
        claim, fails, before = here.bot.turns.claim, [True], list[str]()
        since = len(discord.journal.entries)

        async def full(message: Any) -> Any:
            before.extend(each.route for each in discord.journal.entries[since:] if message.message in str(each))
            before.extend(each.route for each in discord.journal.entries[since:] if each.route.endswith("/typing"))
            if fails:
                fails.pop()
                raise StoreError(Text(en="full", ja="満杯"))
            return await claim(message)

        here.bot.turns.claim = full  # type: ignore[method-assign]
        asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, asked))
        assert not fails and not before


async def test_a_turn_left_by_a_process_that_ended_is_taken_up_and_ends_in_one_answer(tmp_path: Path) -> None:
    held = Held()
    async with FakeDiscord() as discord:
        async with bot(discord, tmp_path, held):
            asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
            await asyncio.wait_for(held.begun.wait(), 30)
            await discord.wait_for(lambda: discord.thread(asked))
            for task in asyncio.all_tasks():
                if task.get_name() == "discord-turn":
                    task.cancel()  # as a process that is shut down does in the end
        async with bot(discord, tmp_path) as here:
            await discord.wait_for(answered(discord, asked))
            await discord.wait_for_idle()
            assert scopes(here) == TEAM
        assert len(finals(discord, asked)) == 1 and len(discord.replies(asked)) == 2


async def test_without_the_right_to_threads_answers_are_replies_and_that_is_said_once(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord:
        for who in (GUILD, discord.bot_user):
            discord.world.deny(GENERAL, "create_public_threads", who=who)
        async with bot(discord, tmp_path) as here:
            asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
            (answer,) = await discord.wait_for(answered(discord, asked))
            await discord.wait_for_idle()
            again = await discord.says("general", "ann", "And abroad?", reply=answer.id)
            await discord.wait_for(answered(discord, again))
            notes = [each for each in discord.posted("general") if "Create Public Threads" in each.shown]
            assert len(notes) == 1 and len(discord.journal.calls(THREAD)) == 1 and not answer.mentions
            assert [one.question for one in here.player.asks[1].history] == ["How long do refunds take?"]


async def test_which_right_is_missing_is_said_though_the_one_who_would_was_cut_off(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord, bot(discord, tmp_path) as here:
        discord.world.deny(GENERAL, "create_public_threads", who=discord.bot_user)
        await here.bot.outbox.reserve(Post(f"rights:{GENERAL}:threads", "notice", 0, Place("discord", GUILD, GENERAL)))
        for _ in range(2):
            asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
            await discord.wait_for(answered(discord, asked))
        assert len([each for each in discord.posted("general") if "Create Public Threads" in each.shown]) == 1


async def test_without_the_right_to_read_what_was_said_an_answer_is_no_reply(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        for right in ("create_public_threads", "read_message_history"):
            for who in (GUILD, discord.bot_user):
                discord.world.deny(GENERAL, right, who=who)
        async with bot(discord, tmp_path):
            await discord.says("general", "ann", "@kotae How long do refunds take?")
            (answer,) = await discord.wait_for(
                lambda: [one for one in discord.posted("general") if "30 days" in one.shown]
            )
            assert answer.reference is None


async def test_a_thread_that_is_locked_meanwhile_leaves_its_answer_in_the_channel(tmp_path: Path) -> None:
    held = Held("30 days.")
    async with FakeDiscord() as discord, bot(discord, tmp_path, held):
        asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
        await asyncio.wait_for(held.begun.wait(), 30)
        await discord.wait_for(lambda: discord.thread(asked))
        await discord.archives(asked, locked=True)
        held.go_on.set()
        (answer,) = await discord.wait_for(answered(discord, asked))
        assert answer.channel == GENERAL


async def test_a_thread_that_is_deleted_meanwhile_leaves_the_answer_to_its_question_in_the_channel(
    tmp_path: Path,
) -> None:
    held, more = Held("30 days."), Held("60 days.")
    async with FakeDiscord() as discord, bot(discord, tmp_path, held, more) as here:
        asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
        await asyncio.wait_for(held.begun.wait(), 30)
        await discord.wait_for(lambda: discord.thread(asked))
        await discord.says(asked, "ann", "@kotae And exchanges?")
        await discord.removes(asked)
        held.go_on.set()
        (answer,) = await discord.wait_for(lambda: [one for one in discord.posted("general") if "30 days" in one.shown])
        assert answer.reference is not None and answer.reference["message_id"] == asked
        await asyncio.wait_for(more.begun.wait(), 30)
        more.go_on.set()  # that question went with the thread

        async def left() -> int:
            return len(await here.bot.turns.unfinished("discord"))

        await until(left, lambda count: count == 0)
        await discord.wait_for_idle()
        assert not [one for one in discord.posted("general") if "60 days" in one.shown]


async def test_a_channel_without_threads_and_a_thread_that_is_there_already(tmp_path: Path) -> None:
    async with FakeDiscord() as discord, bot(discord, tmp_path):
        voice = discord.world.add_channel("voice", kind=VOICE)
        discord.tell.channel(voice, "CHANNEL_CREATE")
        asked = await discord.says("voice", "ann", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, asked))
        assert finals(discord, asked)[0].channel == voice.id
        discord.fail(THREAD, error(160004), calls=[1])
        other = await discord.says("general", "ann", "@kotae How long do refunds take?")
        await discord.starts_thread("ann", other, "Mine")
        await discord.wait_for(answered(discord, other))


async def test_where_discord_opens_no_more_threads_for_now_the_answer_is_a_reply(tmp_path: Path) -> None:
    async with FakeDiscord(rates={"threads": (1, 300.0)}) as discord, bot(discord, tmp_path):
        first = await discord.says("general", "ann", "@kotae How long do refunds take?")
        await discord.wait_for(answered(discord, first))
        second = await discord.says("general", "ben", "@kotae How long do refunds take?")
        (answer,) = await discord.wait_for(answered(discord, second), timeout=30)
        assert answer.channel == GENERAL and len(discord.journal.calls(THREAD)) == 1
        assert not [each for each in discord.journal.errors() if "429" in each]


@pytest.mark.parametrize("code", [10003, 10008, 50001, 50013])
async def test_a_place_that_is_gone_or_barred_ends_its_turn_at_once(code: int, tmp_path: Path) -> None:
    async with FakeDiscord() as discord, bot(discord, tmp_path) as here:
        for route in (POST, THREAD):
            discord.fail(route, error(code))
        await discord.says("general", "ann", "@kotae How long do refunds take?")

        async def left() -> int:
            return len(await here.bot.turns.unfinished("discord")) + (not here.player.asks)

        await until(left, lambda count: count == 0)
        await discord.wait_for_idle()
        assert len(discord.journal.calls(POST)) <= 3 and len(discord.journal.calls(THREAD)) <= 2


async def test_where_the_bot_may_not_write_its_asker_is_told_alone(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        for right in ("create_public_threads", "send_messages", "send_messages_in_threads"):
            discord.world.deny(GENERAL, right, who=discord.bot_user)
        async with bot(discord, tmp_path) as here:
            for user, text, told in (
                ("ann", "How long?", "cannot answer"),
                ("ben", "何日ですか？", "許可されていない"),
            ):
                await discord.says("general", user, f"@kotae {text}")
                (note,) = await discord.wait_for(partial(discord.posted, discord.dm(user)))
                assert told in note.shown and f"<#{GENERAL}>" in note.shown and "50013" in note.shown
            await discord.wait_for_idle()
            assert not await here.bot.turns.unfinished("discord")
            assert [len(discord.posted(discord.dm(user))) for user in ("ann", "ben")] == [1, 1]
            await discord.says(discord.dm("ann"), "ann", "How long?")
            await discord.wait_for(lambda: "30 days" in discord.posted(discord.dm("ann"))[-1].shown)


@pytest.mark.parametrize("fault", [error(40333), page(403)], ids=["cloudflare", "proxy"])
async def test_a_refusal_that_is_not_discords_own_closes_no_question(fault: Fault, tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord, bot(discord, tmp_path):
        for route in (POST, THREAD):
            discord.fail(route, fault, calls=[1])
        asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
        (answer,) = await discord.wait_for(answered(discord, asked))
        assert answer.channel == asked  # in its thread


async def test_many_turns_wait_in_line_and_say_so(tmp_path: Path) -> None:
    held = Held()
    async with FakeDiscord(limits=False) as discord, bot(discord, tmp_path, held, answers(), at_once=1):
        first = await discord.says("general", "ann", "@kotae How long is it?")
        await asyncio.wait_for(held.begun.wait(), 30)
        second = await discord.says("general", "ben", "@kotae How long do refunds take?")
        await discord.wait_for(lambda: any("1 before this one" in each.shown for each in discord.thread(second)))
        held.go_on.set()
        await discord.wait_for(answered(discord, first, "Late."))
        await discord.wait_for(answered(discord, second))


async def test_a_bare_mention_is_greeted(tmp_path: Path) -> None:
    async with FakeDiscord() as discord, bot(discord, tmp_path):
        asked = await discord.says("general", "ann", "@kotae")
        await discord.wait_for(answered(discord, asked, "Ask me a question"))


# -- refusals ---------------------------------------------------------------------------------------------------------


async def test_a_refused_token_is_said_in_words(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        discord.app.revoked = True
        with pytest.raises(SettingsError, match="does not accept DISCORD_TOKEN"):
            async with bot(discord, tmp_path):
                pass


async def test_refused_intents_name_the_switch_and_where_it_is(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        flags = discord.payloads.application_flags(discord.app)
        discord.payloads.application_flags = lambda app: flags  # type: ignore[method-assign]
        discord.app.intents = 0  # switched off a moment after it was looked at
        with pytest.raises(SettingsError, match=r"Message Content Intent: https://discord\.com/developers"):
            async with bot(discord, tmp_path):
                pass


@pytest.mark.parametrize(("code", "said"), [(4004, "does not accept DISCORD_TOKEN"), (4010, "4010"), (4013, "4013")])
async def test_a_connection_that_is_ended_for_good_is_said_in_words(code: int, said: str, tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        with pytest.raises(SettingsError, match=said):
            async with bot(discord, tmp_path) as here:
                discord.close(code)
                await discord.wait_for(here.task.done)
        assert discord.gateway.identified == 1


async def test_a_token_that_is_reset_while_it_runs_stops_everything(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        with pytest.raises(SettingsError, match="DISCORD_TOKEN"):
            async with bot(discord, tmp_path) as here:
                await discord.wait_for(lambda: discord.app.commands)
                discord.app.revoked = True
                await discord.says("general", "ann", "@kotae How long do refunds take?")
                await discord.wait_for(lambda: not here.adapter.connected)
                await discord.wait_for(here.task.done)
                assert len([each for each in discord.journal.entries if each.status == 401]) <= 2


async def test_a_server_that_is_not_there_is_a_connection_error(tmp_path: Path) -> None:
    async with FakeDiscord() as discord:
        discord.api_url = "http://127.0.0.1:9/api/v10"
        with pytest.raises(ConnectionError):
            async with bot(discord, tmp_path):
                pass


async def test_the_place_of_the_digest_is_one_the_bot_can_write_to(tmp_path: Path) -> None:
    async with FakeDiscord() as discord, bot(discord, tmp_path) as here:
        assert (await here.adapter.find(GENERAL)).place == Place("discord", GUILD, GENERAL)
        await discord.denies(GENERAL, "send_messages")
        await discord.wait_for_idle()
        for channel in (GENERAL, "1", "general"):
            with pytest.raises(LookupError):
                await here.adapter.find(channel)
