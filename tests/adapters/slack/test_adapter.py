"""Questions in Slack: the real slack-bolt against a Slack that keeps its rules, with every disturbance it is known
for."""

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from adapters.shared.rate_limit import Limit
from adapters.slack.adapter import shared_limit
from tests.adapters.acting import Held, answers, misses, until
from tests.adapters.slack.service import bot
from tests.bot.broken import without
from tests.fakes import slack_world
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import error
from tests.fakes.slack_socket import Timing
from tests.fakes.slack_world import OTHER_TEAM, Message

EVERYONE, TEAM = {"everyone"}, {"everyone", "team"}


def finals(slack: FakeSlack, ts: str, text: str = "30 days") -> list[Message]:
    return [reply for reply in slack.replies(ts) if text in reply.shown]


def answered(slack: FakeSlack, ts: str, text: str = "30 days") -> Callable[[], list[Message]]:
    return lambda: finals(slack, ts, text)


@pytest.mark.parametrize("order", ["message first", "mention first"])
async def test_a_mention_is_answered_once_in_its_thread(order: str, tmp_path: Path) -> None:
    async with FakeSlack(order=order, copies=2) as slack, bot(slack, tmp_path) as here:  # type: ignore[arg-type]
        asked = await slack.says("C1", "U1", "@kotae How long do refunds take?")
        await slack.wait_for(answered(slack, asked))
        await slack.wait_for_idle()
        steps, answer = slack.replies(asked)
        assert "🧠 Thought: Looking it up." in steps.shown and "30 days" in answer.shown
        assert [ask.question for ask in here.player.asks] == ["How long do refunds take?"]
        assert here.player.readers[0].scopes >= TEAM
        assert slack.journal.acked_within(2.5) and not answer.mentions


async def test_a_direct_message_needs_no_mention_and_reads_its_own_place(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        asked = await slack.says(slack.dm("U1"), "U1", "How long do refunds take?")
        await slack.wait_for(answered(slack, asked))
        assert (
            f"place:slack:{here.player.messages[0].place.workspace}:{slack.dm('U1')}" in here.player.readers[0].scopes
        )


async def test_a_channel_that_is_opened_or_closed_is_read_by_others_at_once(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        for kind, its in (
            ("public", TEAM),
            ("private", TEAM | {f"place:slack:{slack_world.TEAM}:C1"}),
            ("public", TEAM),
        ):
            await slack.converts("C1", kind)  # type: ignore[arg-type]
            asked = await slack.says("C1", "U1", "@kotae How long do refunds take?")
            await slack.wait_for(answered(slack, asked))
            assert {one for one in here.player.readers[-1].scopes if not one.startswith("thread:")} == its


async def test_a_thread_is_a_conversation_and_others_are_context(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        asked = await slack.says("C1", "U1", "@kotae How long do refunds take?")
        await slack.wait_for(answered(slack, asked))
        await slack.says("C1", "U2", "Customers in Osaka ask that a lot.", thread=asked)
        await slack.says("C1", "U1", "@kotae And abroad?", thread=asked)
        await slack.wait_for(lambda: len(finals(slack, asked)) == 2)
        second = here.player.asks[1]
        assert [(one.question, one.answer) for one in second.history] == [
            ("How long do refunds take?", "Refunds take 30 days.")
        ]
        assert [(one.author, one.text) for one in second.overheard] == [("ben", "Customers in Osaka ask that a lot.")]


async def test_direct_messages_are_one_conversation_also_outside_of_threads(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        for text in ("How long do refunds take?", "And abroad?"):
            asked = await slack.says(slack.dm("U1"), "U1", text)
            await slack.wait_for(answered(slack, asked))
        assert [one.question for one in here.player.asks[1].history] == ["How long do refunds take?"]


async def test_what_is_not_for_the_bot_is_acknowledged_and_left_alone(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        slack.world.add_user("U9", "robot", kind="bot", bot_id="B9")
        slack.world.channels["C1"].members.add("U9")
        await slack.says("C1", "U1", "Lunch?")
        await slack.says("C1", "U9", "@kotae I am a bot, too")
        slack.event({"type": "app_rate_limited"})
        slack.event({"type": "message", "subtype": "message_changed"})
        slack.event({"type": "of_the_future", "channel": "C1"})
        await slack.wait_for_idle()
        assert all(delivery.acked for delivery in slack.journal.deliveries) and not here.player.asks


async def test_processes_count_calls_together_and_each_alone_where_the_database_is_away(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        limit = Limit(burst=2, a_minute=1)
        waits = [await shared_limit(here.bot, "chat.postMessage", limit) for _ in range(3)]
        assert waits[:2] == [0.0, 0.0] and 0.0 < waits[2] <= 60.0
        assert await shared_limit(here.bot, "chat.update", limit) == 0.0
        async with without(here.data.engine, "rates"):
            assert await shared_limit(here.bot, "chat.postMessage", limit) == 0.0


async def test_two_bots_do_not_talk_to_each_other(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        asked = await slack.says("C1", "U1", "@kotae How long?")
        await slack.wait_for(answered(slack, asked))
        await slack.wait_for_idle()
        assert len(here.player.asks) == 1  # its own posts came back to it


@pytest.mark.parametrize("who", ["guest", "nobody is looked up", "a bot beside"])
async def test_outsiders_mention_it_in_its_own_threads_too(tmp_path: Path, who: str) -> None:
    async with FakeSlack(limits=False) as slack, bot(slack, tmp_path) as here:
        author = "U7" if who == "guest" else "U1"
        slack.world.add_user("U7", "gast", kind="guest")
        slack.world.channels["C1"].members.add("U7")
        asked = await slack.says("C1", author, "@kotae How long do refunds take?")
        await slack.wait_for(answered(slack, asked))
        if who == "nobody is looked up":
            slack.fail("conversations.replies", error("fatal_error"))
        if who == "a bot beside":
            other = slack.install("deploys")
            slack.world.channels["C1"].members.add(other.bot_user)
            await slack.says("C1", other.bot_user, "Deployed.", thread=asked)
        await slack.says("C1", author, "And from abroad?", thread=asked)
        if who == "a bot beside":  # which is nobody's talk
            await slack.wait_for(lambda: len(here.player.asks) == 2)
        await slack.wait_for_idle()
        assert len(here.player.asks) == 1 + (who == "a bot beside")


@pytest.mark.parametrize("who", ["guest", "stranger", "shared", "guest reads", "unknown"])
async def test_outsiders_and_unknown_places_are_held_to_what_everyone_may_read(who: str, tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        world, author = slack.world, "U1"
        if who in ("guest", "guest reads"):
            world.add_user("U7", "gast", kind="guest")
            world.channels["C1"].members.add("U7")
            author = "U7" if who == "guest" else "U1"
        if who == "stranger":
            world.add_user("U7", "fremd", kind="stranger", team=OTHER_TEAM)
            world.channels["C1"].members.add("U7")
            world.channels["C1"].ext_shared = True
            author = "U7"
        if who == "shared":
            world.channels["C1"].ext_shared = True
        if who == "unknown":
            slack.fail("conversations.info", error("fatal_error"))
        asked = await slack.says("C1", author, "@kotae How long do refunds take?")
        await slack.wait_for(answered(slack, asked), timeout=30)
        assert {scope for scope in here.player.readers[0].scopes if not scope.startswith("thread:")} == EVERYONE


async def test_steps_are_streamed_to_an_asker_from_another_organisation(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path):
        slack.world.add_user("U7", "fremd", kind="stranger", team=OTHER_TEAM)
        slack.world.channels["C1"].members.add("U7")
        slack.world.channels["C1"].ext_shared = True
        asked = await slack.says("C1", "U7", "@kotae How long do refunds take?")
        await slack.wait_for(answered(slack, asked))
        assert slack.replies(asked)[0].stream and not slack.journal.errors()


@pytest.mark.parametrize("channel", ["C1", "D1"])
async def test_a_member_who_is_made_a_guest_is_one_at_once(channel: str, tmp_path: Path) -> None:
    """Also for those who read along, whose accounts are known from before."""
    async with FakeSlack(limits=False) as slack, bot(slack, tmp_path) as here:
        slack.world.add_user("U7", "kim")
        slack.world.channels["C1"].members.add("U7")
        place, author = (slack.dm("U7"), "U7") if channel == "D1" else ("C1", "U1")

        async def read(turn: int) -> set[str]:
            asked = await slack.says(place, author, "@kotae How long do refunds take?")
            await slack.wait_for(answered(slack, asked))
            return {scope for scope in here.player.readers[turn].scopes if not scope.startswith(("thread:", "place:"))}

        assert await read(0) == TEAM
        await slack.becomes("U7", "guest")
        await slack.wait_for_idle()
        assert await read(1) == EVERYONE
        await slack.becomes("U7", "member")
        await slack.wait_for_idle()
        assert await read(2) == TEAM


async def test_a_colleague_whom_an_organisation_lists_reads_what_the_team_may(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        slack.world.add_user("W1", "kim", team="", teams=(OTHER_TEAM, slack_world.TEAM))
        slack.world.channels["C1"].members.add("W1")
        asked = await slack.says("C1", "W1", "@kotae How long do refunds take?")
        await slack.wait_for(answered(slack, asked))
        assert here.player.readers[0].scopes >= TEAM


async def test_a_file_that_came_with_the_question_is_fetched(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        file = slack.world.add_file("plan.txt", b"The plan.", "U1")
        asked = await slack.says("C1", "U1", "@kotae What is the plan?", files=[file])
        await slack.wait_for(answered(slack, asked))
        (attached,) = here.player.messages[0].files
        assert (attached.name, attached.data) == ("plan.txt", b"The plan.")


async def test_an_edited_question_is_answered_in_its_new_words_only(tmp_path: Path) -> None:
    held = Held("Old.")
    async with FakeSlack() as slack, bot(slack, tmp_path, held, answers()) as here:
        asked = await slack.says("C1", "U1", "@kotae How long do refunds tale?")
        await asyncio.wait_for(held.begun.wait(), 30)
        await slack.unfurls(asked)  # changes nothing
        await slack.edits(asked, "@kotae How long do refunds take?")
        await slack.wait_for(answered(slack, asked))
        await slack.wait_for_idle()
        assert [ask.question[-5:] for ask in here.player.asks] == ["tale?", "take?"]
        assert not finals(slack, asked, "Old.") and len(slack.replies(asked)) == 2


async def test_a_mention_added_by_an_edit_is_a_question(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path):
        asked = await slack.says("C1", "U1", "How long do refunds take?")
        await slack.edits(asked, "@kotae How long do refunds take?")
        await slack.wait_for(answered(slack, asked))


async def test_a_deleted_question_is_not_answered_and_its_steps_go(tmp_path: Path) -> None:
    held = Held()
    async with FakeSlack() as slack, bot(slack, tmp_path, held, answers()) as here:
        asked = await slack.says("C1", "U1", "@kotae How long?")
        await asyncio.wait_for(held.begun.wait(), 30)
        await slack.wait_for(lambda: slack.thread("C1", asked))
        await slack.deletes(asked)
        await slack.wait_for(lambda: not [each for each in slack.thread("C1", asked) if not each.deleted])
        held.go_on.set()
        other = await slack.says("C1", "U1", "@kotae How long do refunds take?")
        await slack.wait_for(answered(slack, other))
        assert not finals(slack, asked, "Late.") and not await here.bot.turns.unfinished("slack")


@pytest.mark.parametrize(("name", "vote"), [("-1::skin-tone-4", "down"), ("thumbsup", "up")])
async def test_a_thumb_of_any_colour_on_the_answer_is_a_vote(name: str, vote: str, tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        asked = await slack.says("C1", "U1", "@kotae How long do refunds take?")
        (answer,) = await slack.wait_for(answered(slack, asked))
        assert answer.metadata is not None
        turn = answer.metadata["event_payload"]["about"]

        async def votes() -> list[str]:
            return [str(one.vote) for one in await here.data.votes.of(turn)]

        async def kept() -> bool:
            return await here.bot.outbox.find(here.player.messages[0].place, answer.ts) is not None

        await until(kept)
        slack.world.add_user("U8", "robot", kind="bot")
        await slack.reacts("U8", answer.ts, name)  # and no vote
        await slack.reacts("U2", answer.ts, name)
        await until(votes, lambda found: found == [vote])
        await slack.unreacts("U2", answer.ts, name)
        await until(votes, lambda found: not found)


async def test_what_cannot_be_stored_is_not_acknowledged_and_comes_again(tmp_path: Path) -> None:
    async with FakeSlack(scale=20.0) as slack, bot(slack, tmp_path) as here:
        claim, fails = here.bot.turns.claim, [True]

        class Full:
            """The disk, full for a moment."""

            async def __call__(self, message: object) -> object:
                if fails:
                    from bot.errors import StoreError
                    from retrieval.i18n import Text

                    fails.pop()
                    raise StoreError(Text(en="full", ja="満杯"))
                return await claim(message)  # type: ignore[arg-type]

        here.bot.turns.claim = Full()  # type: ignore[method-assign, assignment]
        asked = await slack.says("C1", "U1", "@kotae How long do refunds take?")
        await slack.wait_for(answered(slack, asked))
        assert [delivery.acked for delivery in slack.journal.deliveries].count(False) >= 1


async def test_what_slack_sends_for_the_last_time_is_tried_until_the_database_takes_it(tmp_path: Path) -> None:
    soon = Timing(ack=0.5, retries=(0.1,) * 3)
    async with FakeSlack(timing=soon, limits=False) as slack, bot(slack, tmp_path) as here:
        asked = await slack.says("C1", "U1", "@kotae How long do refunds take?")
        await slack.wait_for(answered(slack, asked))
        await slack.wait_for_idle()
        async with without(here.data.engine, "turns"):
            await slack.deletes(asked)
            await slack.wait_for(lambda: slack.journal.deliveries[-1].lost)
        await slack.wait_for(lambda: all(each.deleted for each in slack.thread("C1", asked)))


async def test_a_turn_left_by_a_process_that_ended_is_taken_up_and_ends_in_one_answer(tmp_path: Path) -> None:
    held = Held()
    async with FakeSlack() as slack:
        async with bot(slack, tmp_path, held):
            asked = await slack.says("C1", "U1", "@kotae How long do refunds take?")
            await asyncio.wait_for(held.begun.wait(), 30)
            await slack.wait_for(lambda: slack.thread("C1", asked))
            for task in asyncio.all_tasks():
                if task.get_name() == "slack-turn":
                    task.cancel()  # as a process that is shut down does in the end
        async with bot(slack, tmp_path):
            await slack.wait_for(answered(slack, asked))
            await slack.wait_for_idle()
        assert len(finals(slack, asked)) == 1 and len(slack.replies(asked)) == 2


@pytest.mark.parametrize("code", ["channel_not_found", "not_in_channel", "is_archived"])
async def test_a_thread_that_is_gone_ends_its_turn_at_once(code: str, tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        for method in ("chat.postMessage", "chat.startStream"):
            slack.fail(method, error(code), where=lambda sent: sent["channel"] == "C1")
        await slack.says("C1", "U1", "@kotae How long do refunds take?")

        async def left() -> int:
            return len(await here.bot.turns.unfinished("slack")) + (not here.player.asks)

        await until(left, lambda count: count == 0)
        await slack.wait_for_idle()
        assert sum(sent.arguments["channel"] == "C1" for sent in slack.journal.calls("chat.postMessage")) <= 2


async def test_where_the_bot_may_not_write_its_asker_is_told_alone(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        for method in ("chat.postMessage", "chat.startStream", "chat.postEphemeral"):
            slack.fail(method, error("restricted_action"), where=lambda sent: sent["channel"] == "C1")
        for user, text, told in (("U1", "How long?", "cannot answer"), ("U2", "何日ですか？", "許可されていない")):
            await slack.says("C1", user, f"@kotae {text}")
            (note,) = await slack.wait_for(partial(slack.posted, slack.dm(user)))
            assert told in note.shown and "<#C1>" in note.text and "restricted_action" in note.shown
        await slack.wait_for_idle()
        assert not await here.bot.turns.unfinished("slack")
        assert [len(slack.posted(slack.dm(user))) for user in ("U1", "U2")] == [1, 1]


@pytest.mark.parametrize("text", ["", "   "])
async def test_a_bare_mention_is_greeted(text: str, tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path):
        asked = await slack.says("C1", "U1", f"@kotae{text}")
        await slack.wait_for(answered(slack, asked, "Ask me a question"))


async def test_many_turns_wait_in_line_and_say_so(tmp_path: Path) -> None:
    held = Held()
    async with FakeSlack(limits=False) as slack, bot(slack, tmp_path, held, answers(), at_once=1):
        first = await slack.says("C1", "U1", "@kotae How long is it?")
        await asyncio.wait_for(held.begun.wait(), 30)
        second = await slack.says("C1", "U2", "@kotae How long do refunds take?")
        await slack.wait_for(lambda: any("1 before this one" in reply.shown for reply in slack.thread("C1", second)))
        held.go_on.set()
        await slack.wait_for(answered(slack, first, "Late."))
        await slack.wait_for(answered(slack, second))


async def test_a_refused_token_is_said_once_and_in_words(tmp_path: Path) -> None:
    from bot.errors import SettingsError

    async with FakeSlack() as slack:
        slack.app.bot_token = "xoxb-another"
        with pytest.raises(SettingsError, match="invalid_auth"):
            async with bot(slack, tmp_path):
                pass


async def test_a_token_that_is_revoked_while_it_runs_ends_it_and_a_single_refusal_does_not(tmp_path: Path) -> None:
    from bot.errors import SettingsError

    async with FakeSlack(limits=False) as slack:
        with pytest.raises(SettingsError, match="token_revoked"):
            async with bot(slack, tmp_path) as here:
                slack.fail("chat.postMessage", error("invalid_auth"), calls=[1])
                asked = await slack.says("C1", "U1", "@kotae How long do refunds take?")
                await slack.wait_for(answered(slack, asked))
                assert here.adapter.connected
                slack.app.revoked = True
                await slack.says("C1", "U1", "@kotae And now?")
                await slack.wait_for(here.task.done)


async def test_where_slack_does_not_say_who_reads_along_it_is_asked_once(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, bot(slack, tmp_path, misses):
        slack.fail("conversations.info", error("access_denied"))
        asked = await slack.says("C1", "U1", "@kotae Where is the archive?")
        await slack.wait_for(lambda: [reply for reply in slack.replies(asked) if "Nothing" in reply.shown])
        assert len(slack.journal.calls("conversations.info")) == 1  # nobody may read less than they do
