"""👍 and 👎 under an answer: a vote each, changeable; what was wrong goes to those who can answer it."""

from pathlib import Path

import pytest

from tests.adapters.acting import until
from tests.adapters.slack.service import Service, bot
from tests.bot.broken import without
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import HANG, error
from tests.fakes.slack_world import Message

FEEDBACK, UP, DOWN = "kotae_vote", "kotae_vote:up", "kotae_vote:down"


async def answer(here: Service, channel: str = "C1", user: str = "U1") -> tuple[Message, str]:
    """An answer, and its turn."""
    slack = here.slack
    asked = await slack.says(channel, user, "@kotae How long do refunds take?")
    (found,) = await slack.wait_for(lambda: [reply for reply in slack.replies(asked) if "30 days" in reply.shown])
    place = here.player.messages[-1].place
    await until(lambda: here.bot.outbox.find(place, found.ts), lambda post: post is not None)
    return found, str((found.metadata or {})["event_payload"]["about"])


async def test_each_person_has_one_vote_and_may_change_it_with_either_form_of_the_buttons(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, bot(slack, tmp_path) as here:

        async def votes() -> list[tuple[str, str | None]]:
            return sorted((one.author, one.vote) for one in await here.data.votes.of(turn))

        first, turn = await answer(here)
        await slack.presses("U1", first, FEEDBACK, "positive", copies=2)
        await slack.presses("U2", first, FEEDBACK, "positive")
        await until(votes, lambda found: found == [("U1", "up"), ("U2", "up")])
        await slack.wait_for_idle()
        assert [message.shown for message in slack.whispers("U1")] == ["Thank you, noted."]
        await slack.presses("U2", first, FEEDBACK, "negative")
        await until(votes, lambda found: found == [("U1", "up"), ("U2", "down")])
        open_ones = await here.bot.experts.open(here.player.messages[0].place, here.player.messages[0].audience)
        assert [one.reason for one in open_ones.questions] == ["reported"]
        await slack.presses("U2", first, FEEDBACK, "positive")
        await until(votes, lambda found: found == [("U1", "up"), ("U2", "up")])

        slack.fail(
            "chat.postMessage", error("invalid_blocks"), calls=[1], where=lambda sent: "feedback_buttons" in str(sent)
        )
        second, turn = await answer(here)
        assert second.actions == [UP, DOWN]
        await slack.presses("U1", second, DOWN)
        await until(votes, lambda found: found == [("U1", "down")])
        await slack.presses("U1", second, UP)
        await until(votes, lambda found: found == [("U1", "up")])
        await slack.wait_for_idle()
        assert slack.journal.acked_within(2.5)


async def test_what_was_wrong_is_kept_with_the_question(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, bot(slack, tmp_path) as here:
        slack.world.users["U2"].locale = "ja-JP"
        found, turn = await answer(here)
        await slack.presses("U2", found, FEEDBACK, "negative")
        view = await slack.wait_for(lambda: next(iter(slack.world.views.values()), None))
        assert view is not None and view.body["title"]["text"] == "どこが問題でしたか？"
        await slack.submits("U2", {"reason": "outdated", "text": "<!channel> it is 14 days now"})
        (missed,) = (
            await here.bot.experts.open(here.player.messages[0].place, here.player.messages[0].audience)
        ).questions
        assert (missed.reason, missed.detail) == ("reported", "outdated: <!channel> it is 14 days now")
        (vote,) = await here.data.votes.of(turn)
        assert (vote.author, vote.vote, vote.reason) == ("U2", "down", "outdated")
        thanks = await slack.wait_for(lambda: slack.whispers("U2"))
        assert thanks[0].thread == found.thread and "答えられる人に伝えます" in thanks[0].shown


async def test_a_vote_is_for_the_answer_it_is_pressed_on_whatever_the_button_says(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, bot(slack, tmp_path) as here:
        slack.world.add_channel("C2", "others", members=("U1", slack.bot_user))
        mine, turn = await answer(here)
        _, other = await answer(here, "C2")

        async def press(channel: str, message: str, value: str) -> None:
            before = len(slack.whispers("U1"))
            button = {"type": "button", "action_id": UP, "block_id": "b", "value": value, "action_ts": "1.0"}
            container = {"type": "message", "message_ts": message, "channel_id": channel}
            press = {"type": "block_actions", "channel": {"id": channel}, "container": container, "actions": [button]}
            await slack.gesture(press)
            said = await slack.wait_for(lambda: slack.whispers("U1")[before:])
            assert "no longer know which answer" in said[0].shown

        await press("C1", mine.ts, f"{other}:up")  # another turn's
        await press("C2", mine.ts, f"{turn}:up")  # another channel's message
        await press("C1", mine.thread, f"{turn}:up")  # the question
        await press("C1", slack.replies(mine.thread)[0].ts, f"{turn}:up")  # its steps
        await press("C1", mine.ts, f"{turn}:sideways")
        await press("C1", mine.ts, "")
        assert not await here.data.votes.of(turn) and not await here.data.votes.of(other)


async def test_a_vote_counts_also_when_nothing_more_can_be_said_about_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with FakeSlack(limits=False) as slack, bot(slack, tmp_path) as here:
        slack.fail("views.open", error("expired_trigger_id"))
        slack.fail("chat.postEphemeral", error("user_not_in_channel"))
        found, turn = await answer(here)
        await slack.presses("U2", found, FEEDBACK, "negative")
        await until(lambda: here.data.votes.of(turn))
        await slack.wait_for_idle()
        assert "Traceback" not in caplog.text


async def test_whoever_wants_to_say_why_is_told_when_slack_opens_no_form(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, bot(slack, tmp_path) as here:
        found, _ = await answer(here)
        slack.fail("views.open", error("expired_trigger_id"))
        await slack.presses("U2", found, FEEDBACK, "negative")
        said = await slack.wait_for(lambda: slack.whispers("U2")[1:] and slack.whispers("U2"))
        assert ["did not open" in one.shown for one in said] == [True, False]
        await slack.reacts("U1", found.ts, "-1")
        (offer,) = await slack.wait_for(lambda: slack.whispers("U1"))
        await slack.presses("U1", offer, "kotae_tell_why")
        (_, told) = await slack.wait_for(lambda: slack.whispers("U1")[1:] and slack.whispers("U1"))
        assert "did not open" in told.shown and told.thread == found.thread


async def test_a_form_opens_in_time_though_slack_does_not_say_who_somebody_is(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, bot(slack, tmp_path) as here:
        found, _ = await answer(here)
        slack.fail("users.info", HANG, where=lambda sent: sent["user"] == "U2")
        await slack.presses("U2", found, FEEDBACK, "negative")
        view = await slack.wait_for(lambda: next(iter(slack.world.views.values()), None))
        assert view is not None and "moment" in str(view.body["blocks"])


async def test_a_vote_that_cannot_be_stored_is_said(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, bot(slack, tmp_path) as here:
        found, _ = await answer(here)
        async with without(here.data.engine, "feedback"):
            await slack.presses("U1", found, FEEDBACK, "negative")
            (said,) = await slack.wait_for(lambda: slack.whispers("U1"))
        assert "database" in said.shown and not slack.world.views


async def test_whoever_reacts_with_a_thumb_down_is_offered_alone_and_once_to_say_why(tmp_path: Path) -> None:
    async with FakeSlack(limits=False, copies=2) as slack, bot(slack, tmp_path) as here:
        slack.world.users["U2"].locale = "ja-JP"
        found, turn = await answer(here)
        await slack.reacts("U2", found.ts, "thumbsdown")
        (offer,) = await slack.wait_for(lambda: slack.whispers("U2"))
        assert (offer.thread, offer.actions) == (found.thread, ["kotae_tell_why"])
        assert "理由を伝える" in str(offer.blocks)
        await slack.wait_for_idle()
        assert slack.whispers("U2") == [offer] and not slack.whispers("U1")
        await slack.presses("U2", offer, "kotae_tell_why")
        await slack.wait_for(lambda: slack.world.views)
        await slack.submits("U2", {"reason": "outdated", "text": "今は14日です"})

        async def votes() -> list[tuple[str, str | None, str | None, str]]:
            return [(one.author, one.vote, one.reason, one.text) for one in await here.data.votes.of(turn)]

        await until(votes, lambda said: said == [("U2", "down", "outdated", "今は14日です")])
        await slack.reacts("U1", found.ts, "thumbsup")
        await until(votes, lambda said: len(said) == 2)
        await slack.wait_for_idle()
        assert not slack.whispers("U1")
