"""A turn's messages: each once, whatever is lost on the way; signs of life; what is left alone."""

import asyncio
from dataclasses import replace

import pytest

from adapters.discord.audience import Places
from adapters.discord.transport.api import EVERYTHING, PRIORITIES, Mark
from adapters.discord.transport.errors import BarredError, GoneError, HeldError, TokenError, UnreachableError
from adapters.discord.transport.gateway import HOUR, IDENTIFIES, Client, Identifies
from adapters.discord.transport.servers import Servers
from adapters.discord.turn_view import answer_texts
from adapters.port import GoneError as PortGoneError
from adapters.shared.rate_limit import Bucket, Priority
from agent.events import Answered, Event, Thought
from bot.types import UNKNOWN, StepsShown
from tests.adapters.discord.stage import EDIT, POST, THREAD, TYPING, staged
from tests.adapters.staging import Skipping
from tests.fakes.discord_fake import ANN, GENERAL, GUILD
from tests.fakes.discord_gate import CUT_AFTER, CUT_BEFORE, HANG, Fault, error, old_edits, ratelimited, status

ANSWER = Answered("Refunds take 30 days.", turn="turn-1")
TURN: tuple[Event, ...] = (Thought("Looking it up."), ANSWER)
LONG = Answered("\n\n".join(f"Paragraph {n}. " + "Refunds take 30 days. " * 40 for n in range(6)), turn="turn-1")
TWO = Answered("\n\n".join("Refunds take 30 days. " * 40 for _ in range(3)), turn="turn-1")
SHOWN = ["-# 🧠 Thought: Looking it up.", "Refunds take 30 days."]


@pytest.mark.parametrize("fault", [CUT_AFTER, CUT_BEFORE, status(503), ratelimited(0.01)])
async def test_what_nobody_knows_to_have_arrived_is_there_once(fault: Fault) -> None:
    async with staged() as stage:
        stage.fake.fail(POST, fault, calls=[1, 3])
        stage.fake.fail(THREAD, fault, calls=[1])
        await stage.play(TURN)
        assert stage.texts == SHOWN


async def test_an_answer_that_never_was_acknowledged_is_looked_for() -> None:
    async with staged() as stage:
        stage.fake.fail(POST, CUT_AFTER, where=lambda body: "30 days" in str(body.get("content")))
        await stage.play(TURN)
        assert stage.texts == SHOWN
        assert stage.rows.kept["turn-1", "answer", 0].message == stage.replies[1].id


async def test_a_call_that_hangs_is_given_up_and_made_again() -> None:
    async with staged(seconds=1.5) as stage:
        stage.fake.fail(POST, HANG, calls=[1])
        await stage.play(TURN)
        assert stage.texts == SHOWN


async def test_nobody_waits_long_for_who_somebody_is_where_discord_does_not_say() -> None:
    async with staged(seconds=20.0, patience=0.5) as stage:
        await Servers(stage.client, stage.rest, (GUILD,)).add(int(GUILD))
        whole = asyncio.Event()
        whole.set()
        places = Places(stage.client, stage.rest, (GUILD,), whole)
        stage.fake.fail("GET /guilds/{guild}/members/{user}", HANG)
        async with asyncio.timeout(10):
            assert await places.audience(stage.fake.dm("ann"), ANN) == UNKNOWN


async def test_the_global_rate_limit_is_waited_for_also_past_the_time_of_a_call() -> None:
    async with staged(seconds=1.0) as stage:
        stage.fake.fail(TYPING, ratelimited(1.5, everywhere=True), calls=[1])
        with pytest.raises(UnreachableError):
            await stage.rest.typing(GENERAL)
        await asyncio.sleep(1.6)  # discord.py itself sleeps for as long as it was told
        await stage.rest.typing(GENERAL)


@pytest.mark.parametrize("later", [0.0, 3_600.0])
@pytest.mark.parametrize("answer", [ANSWER, LONG])
async def test_a_crash_between_the_post_and_its_row_says_nothing_twice(answer: Answered, later: float) -> None:
    async with staged() as stage:
        await stage.play((Thought("Looking it up."), answer))
        before = [reply.id for reply in stage.replies]
        stage.rows.forget_ids("answer")
        stage.fake.clock.advance(later)  # past the time in which Discord remembers a nonce
        await stage.play((answer,))
        assert [reply.id for reply in stage.replies] == before


async def test_an_edit_of_an_old_answer_that_is_refused_is_not_posted_elsewhere_and_nothing_else_waits() -> None:
    async with staged() as stage:
        await stage.play(TURN)
        stage.fake.fail(EDIT, old_edits(0.01))
        with pytest.raises(HeldError):
            await stage.play((replace(ANSWER, text="Refunds take 14 days."),))
        assert stage.texts == SHOWN
        await stage.rest.typing(GENERAL)


async def test_an_answer_in_other_words_takes_the_place_of_the_first() -> None:
    async with staged() as stage:
        await stage.play((Thought("Looking it up."), LONG))
        await stage.play((Thought("Looking again."), ANSWER))
        assert stage.texts == ["-# 🧠 Thought: Looking again.", "Refunds take 30 days."]


async def test_an_earlier_turns_words_are_not_taken_for_this_ones() -> None:
    """Both could not be answered, in the same words; of the second nobody knows whether it was posted."""
    sorry = Answered("Sorry, I could not answer.", outcome="failed")
    async with staged() as stage:
        await stage.play((sorry,))
        stage.turn = "turn-2"
        stage.fake.fail(POST, CUT_BEFORE, calls=[1, 2, 3, 4, 5])
        with pytest.raises(UnreachableError):
            await stage.play((sorry,))
        await stage.play((sorry,))
        assert stage.texts == ["Sorry, I could not answer."] * 2


async def test_steps_grow_in_one_message_and_are_edited_at_most_once_a_second() -> None:
    async with staged() as stage:
        thoughts = [Thought(f"Step {n}.") for n in range(200)]
        await stage.play((*thoughts, ANSWER))
        *steps, answer = stage.texts
        assert "\n".join(steps).split("\n") == [f"-# 🧠 Thought: Step {n}." for n in range(200)]
        assert answer == SHOWN[1] and len(steps) <= 5 and len(stage.calls(EDIT)) <= len(steps) + 1


async def test_edits_of_a_message_wait_for_their_second_and_the_last_one_comes() -> None:
    async with staged() as stage:
        sent = await stage.rest.post(GENERAL, "one", mark=Mark("a", "steps", 0))
        for text in ("two", "three"):
            await stage.rest.edit(GENERAL, sent.id, text)
        assert stage.fake.message(sent.id).content == "three" and stage.time.waits == [1.0]
        for body in (*stage.calls(POST), *stage.calls(EDIT)):
            assert body["flags"] == 4 and body["allowed_mentions"]["parse"] == []
        assert stage.calls(POST)[0]["enforce_nonce"] and len(stage.calls(POST)[0]["nonce"]) <= 25


async def test_a_step_a_message_or_none() -> None:
    async with staged() as stage:
        await stage.play((Thought("One."), Thought("Two."), ANSWER), "verbose")
        assert stage.texts == ["-# 🧠 Thought: One.", "-# 🧠 Thought: Two.", SHOWN[1]]
    async with staged() as stage:
        await stage.play(TURN, "off")
        assert stage.texts == SHOWN[1:]


def rows(texts: list[str]) -> list[str]:
    return "\n".join(texts).split("\n")


@pytest.mark.parametrize("answer", [ANSWER, TWO], ids=["one message", "two messages"])
@pytest.mark.parametrize(("steps", "own"), [("verbose", 3), ("live", 1)])
async def test_steps_leave_the_answer_its_place_in_the_rate_limit(
    steps: StepsShown, own: int, answer: Answered
) -> None:
    """A window that no test outlives: what has to wait for the next one never comes."""
    thoughts = [Thought(f"Step {n}.") for n in range(12)]
    rates = {"messages:create": (5, 800.0), "messages:edit": (50, 1.0)}
    async with staged(limits=True, rates=rates) as stage:
        view = stage.view(steps)
        await view.begin()
        for number, thought in enumerate(thoughts):
            await view.step(thought)
            if number < 8:  # as they come while a model is at work
                await stage.fake.wait_for(lambda: f"Step {number}." in "\n".join(stage.texts))  # noqa: B023
        said = answer_texts(answer, "en")
        answering = asyncio.create_task(view.answer(answer))
        await stage.fake.wait_for(lambda: stage.texts[-len(said) :] == said)
        posts = stage.fake.journal.calls(POST)
        assert [each.left for each in posts] == list(range(5))[::-1][: own + len(said)]
        assert [each.body["content"] for each in posts[own:]] == said
        assert not [each for each in stage.fake.journal.entries if each.status == 429]
        await stage.fake.wait_for(lambda: "Step 11." in stage.texts[own - 1])
        answering.cancel()  # discord.py hands on what was said to the last message of a window when the next one opens
        await asyncio.gather(answering, view.close(), return_exceptions=True)
        assert rows(stage.texts[:own]) == [f"-# 🧠 Thought: {each.text}" for each in thoughts]


async def test_an_edit_that_hangs_does_not_keep_the_answer_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.discord.turn_view.IN_VIEW_SECONDS", 600.0)
    async with staged(limits=True, seconds=600.0, rates={"messages:create": (4, 800.0)}) as stage:
        stage.fake.fail(EDIT, HANG)
        view = stage.view("verbose")
        await view.begin()
        for thought in (Thought("One."), Thought("Two."), Thought("Three.")):
            await view.step(thought)
            await stage.fake.wait_for(lambda: thought.text in str(stage.calls(POST) + stage.calls(EDIT)))  # noqa: B023
        await stage.fake.wait_for(lambda: stage.calls(EDIT))
        await view.step(Thought("Four."))
        answering = asyncio.create_task(view.answer(ANSWER))
        await stage.fake.wait_for(lambda: stage.texts[-1:] == SHOWN[1:], timeout=8)
        answering.cancel()
        await asyncio.gather(answering, view.close(), return_exceptions=True)


async def test_steps_get_messages_of_their_own_again_once_there_is_room() -> None:
    async with staged(limits=True, rates={"messages:create": (4, 1.0)}) as stage:
        view = stage.view("verbose")
        await view.begin()
        for text in ("a", "b", "c" * 590, "d" * 590, "e" * 590, "f" * 590, "g" * 590):
            await view.step(Thought(text))
        await stage.fake.wait_for(lambda: "ggg" in "\n".join(stage.texts))  # nothing else comes: it is looked again
        await view.answer(ANSWER)
        await view.close()
        assert [line[14] for line in rows(stage.texts[:-1])] == list("abcdefg") and stage.texts[-1] == SHOWN[1]


async def test_what_has_no_room_above_the_answer_is_left_out_and_that_is_shown() -> None:
    async with staged(limits=True, rates={"messages:create": (3, 800.0)}) as stage:
        await stage.play((*(Thought(letter * 590) for letter in "abcdef"), ANSWER), "verbose")
        steps, answer = stage.texts
        assert [line[14:16] for line in rows([steps])] == ["aa", "bb", "cc", ""] and steps.endswith("\n-# …")
        assert answer == SHOWN[1]


async def test_steps_that_come_after_the_answer_do_not_stay_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.discord.turn_view.IN_VIEW_SECONDS", 0.1)
    async with staged(seconds=0.5) as stage:
        stage.fake.fail(POST, HANG, where=lambda body: "Two." in str(body.get("content")), calls=[1])
        await stage.play((Thought("One."), Thought("Two."), ANSWER), "verbose")
        assert stage.texts == ["-# 🧠 Thought: One.\n-# 🧠 Thought: Two.", SHOWN[1]]


async def test_a_turn_that_is_taken_up_again_shows_no_steps_below_the_answer_that_is_there() -> None:
    async with staged() as stage:
        await stage.play(TURN, "verbose")
        await stage.play((Thought("Looking again."), Thought("And again."), ANSWER), "verbose")
        assert stage.texts == ["-# 🧠 Thought: Looking again.\n-# 🧠 Thought: And again.", SHOWN[1]]


async def test_a_sign_of_life_comes_at_once_and_comes_again() -> None:
    async with staged() as stage:
        view = stage.view()
        await view.begin()
        await stage.fake.wait_for(lambda: stage.fake.world.is_typing(stage.asked, stage.fake.bot_user), timeout=4)
        await stage.rest.typing(stage.asked)  # for somebody else: it shows already
        stage.time.now += 8
        await stage.hours.advance(8)
        await stage.fake.wait_for(lambda: len(stage.calls(TYPING)) == 2)
        await view.close()
        assert not stage.texts and len(stage.calls(TYPING)) == 2


async def test_a_thread_that_takes_its_time_shows_typing_in_the_channel() -> None:
    async with staged(seconds=5) as stage:
        stage.fake.fail(THREAD, HANG, calls=[1])
        view = stage.view()
        await view.begin()
        await stage.fake.wait_for(lambda: stage.fake.world.is_typing(GENERAL, stage.fake.bot_user), timeout=4)
        await view.close()


async def test_where_no_typing_shows_words_do_and_go_when_there_were_no_steps() -> None:
    async with staged() as stage:
        stage.fake.fail(TYPING, error(50013))
        view = stage.view()
        await view.begin()
        await stage.fake.wait_for(lambda: stage.texts == ["-# 🧠 Thinking…"])
        for _ in range(2):
            await stage.hours.advance(8)
        await stage.fake.wait_for(lambda: stage.texts == ["-# 🧠 Thinking… (16 s)"])
        await view.answer(ANSWER)
        await view.close()
        assert stage.texts == SHOWN[1:] and len(stage.calls(TYPING)) == 1


async def test_steps_that_cannot_be_shown_do_not_keep_the_answer_back() -> None:
    async with staged() as stage:
        stage.fake.fail(POST, status(503), where=lambda body: "Refunds" not in str(body.get("content")))
        await stage.play(TURN)
        assert stage.texts == SHOWN[1:]


async def test_buttons_that_are_refused_are_left_out() -> None:
    async with staged() as stage:
        stage.fake.fail(POST, error(50035), where=lambda body: bool(body.get("components")))
        await stage.play(TURN)
        assert stage.texts == SHOWN and not stage.replies[1].buttons


async def test_an_answer_whose_words_a_server_refuses_is_not_silence() -> None:
    async with staged() as stage:
        stage.fake.fail(POST, error(200000, 400), where=lambda body: "30 days" in str(body.get("content")))
        await stage.play(TURN)
        assert stage.texts[0] == SHOWN[0] and "does not accept its words" in stage.texts[1] and len(stage.texts) == 2


async def test_a_thread_that_was_archived_is_opened_for_the_last_edit() -> None:
    async with staged() as stage:
        sent = await stage.rest.start_thread(GENERAL, stage.asked, "Refunds")
        message = await stage.rest.post(sent, "one", mark=Mark("a", "steps", 0))
        await stage.fake.archives(sent)
        await stage.rest.edit(sent, message.id, "two")
        assert stage.fake.message(message.id).content == "two" and not stage.fake.place(sent).archived
        await stage.fake.archives(sent, locked=True)
        with pytest.raises(PortGoneError, match=r"50083|160005"):
            await stage.rest.edit(sent, message.id, "three")


async def test_a_thread_that_was_archived_is_opened_for_what_is_taken_away() -> None:
    async with staged() as stage:
        await stage.play(TURN)
        steps, answer = stage.replies
        await stage.fake.archives(steps.channel)
        await stage.view().remove()
        assert stage.fake.message(steps.id).deleted and stage.fake.message(answer.id).deleted


async def test_a_deleted_answer_stays_deleted() -> None:
    async with staged() as stage:
        await stage.play(TURN)
        await stage.fake.deletes(stage.replies[1].id)
        with pytest.raises(PortGoneError, match="10008"):
            await stage.play((Answered("Refunds take 60 days.", turn="turn-1"),))


async def test_after_the_first_401_nothing_is_asked_any_more() -> None:
    async with staged() as stage:
        stage.fake.app.revoked = True
        for _ in range(3):
            with pytest.raises(TokenError):
                await stage.rest.typing(GENERAL)
        assert len(stage.calls(TYPING)) == 1 and stage.rest.refused.is_set()


async def test_a_channel_that_bars_the_bot_is_left_alone_for_a_while(caplog: pytest.LogCaptureFixture) -> None:
    async with staged() as stage:
        stage.fake.fail(POST, error(50013))
        for _ in range(3):
            with pytest.raises(BarredError, match="50013"):
                await stage.rest.post(GENERAL, "Hello", mark=Mark("a", "notice", 0))
        assert len(stage.calls(POST)) == 1 and len([each for each in caplog.messages if "left alone" in each]) == 1
        stage.fake.heal()
        stage.rest.forgive()
        await stage.rest.post(GENERAL, "Hello", mark=Mark("a", "notice", 0))


async def test_a_ban_of_the_address_silences_everything_for_a_minute() -> None:
    async with staged() as stage:
        stage.fake.fail(POST, ratelimited(banned=True))
        with pytest.raises(UnreachableError):
            await stage.rest.post(GENERAL, "Hello", mark=Mark("a", "notice", 0))
        assert len(stage.calls(POST)) == 1
        stage.fake.heal()
        stage.time.now += 61
        await stage.rest.post(GENERAL, "Hello", mark=Mark("a", "notice", 0))


async def test_a_burst_keeps_to_what_discord_takes_of_one_bot() -> None:
    async with staged() as stage:
        channels = [stage.fake.world.add_channel(f"c{number}").id for number in range(60)]
        await asyncio.gather(*(stage.rest.typing(channel) for channel in channels))
        assert len(stage.calls(TYPING)) == 60 and stage.time.now >= 1.25  # 10 at once, then 40 a second

        time = Skipping()
        bucket, order = Bucket(EVERYTHING, time, time.sleep), list[tuple[float, Priority]]()

        async def call(priority: Priority) -> None:
            await bucket.take(priority)
            order.append((time.now, priority))

        await asyncio.gather(*(call(priority) for _ in range(50) for priority in reversed(Priority)))
        moments = [at for at, _ in order]
        assert max(sum(at <= other < at + 1 for other in moments) for at in moments) <= 50
        waited = [priority for _, priority in order[10:]]
        assert waited == sorted(waited)
        assert PRIORITIES["post"] < PRIORITIES["edit"]  # an answer goes before steps


async def test_what_is_gone_is_not_tried_again() -> None:
    async with staged() as stage:
        with pytest.raises(GoneError, match="10003"):
            await stage.rest.post("1", "Hello", mark=Mark("a", "notice", 0))
        assert len(stage.calls(POST)) == 1


def test_sessions_that_begin_again_and_again_are_held_back_before_the_token_is_reset() -> None:
    time = Skipping()
    identifies = Identifies(time)
    for _ in range(IDENTIFIES):
        assert identifies.wait() == 0.0
        identifies.begin()
    time.now = 600.0
    assert identifies.wait() == identifies.wait() == 3_000.0, "who waits has not begun"
    time.now = 3_601.0
    assert identifies.wait() == identifies.wait(IDENTIFIES) == 0.0
    identifies.begin()
    assert identifies.wait() == identifies.wait(IDENTIFIES - 1) == 0.0
    assert identifies.wait(IDENTIFIES) == identifies.wait(2 * IDENTIFIES) == HOUR


async def test_a_session_that_is_held_back_is_not_begun() -> None:
    identifies = Identifies(Skipping())
    for _ in range(IDENTIFIES):
        identifies.begin()
    async with Client(identifies, content=False) as client:
        begins = asyncio.create_task(client.before_identify_hook(None, initial=True))
        done, _ = await asyncio.wait({begins}, timeout=0.05)
        assert not done
        begins.cancel()
        await asyncio.gather(begins, return_exceptions=True)
