"""Sixty questions in twelve threads while everything goes wrong that Slack is known for, by a seed that is printed.

Source: reliability.md §5 point 2, R2, R5, R6, R7, R9 and R31. `python -m benchmarks.slack --chaos 20` runs other seeds.
"""

import asyncio
import logging
import random
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapters.slack.transport.api import SlackApi
from agent.conversation import Ask
from agent.events import Answered, Events, Thought, ToolCalled, ToolReturned
from bot.store.channel_settings import ChannelSettings
from bot.types import Claimed, Incoming, Place, Preferences
from tests.adapters.acting import answers
from tests.adapters.slack.service import Service, bot
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import CUT_AFTER, CUT_BEFORE, Fault, error, page, ratelimited, slow, status
from tests.fakes.slack_socket import Delivery, Timing
from tests.fakes.slack_world import TEAM, Message

Json = dict[str, Any]

FAST = 20
THREADS, QUESTIONS, WITH_STEPS = 12, 5, 3
LATE_SECONDS = 0.3
SOON = Timing(ack=0.5, retries=(0.1,) * 60)
CANARY, GRATING = "canary-in-thread-{n}", "What is the rule about harbour {n}-{m}?"
FAULTS: Sequence[Fault] = (CUT_AFTER, CUT_BEFORE, ratelimited(1), status(500), status(503), page(502), slow(0.3))
LOOKUPS = ("conversations.replies", "conversations.info", "conversations.members", "users.info", "users.list")
WRITES = ("chat.postMessage", "chat.update", "chat.delete", "assistant.threads.setStatus", "agents.sessions.setStatus")
STREAMS = ("chat.startStream", "chat.appendStream", "chat.stopStream")


class FastSlack(SlackApi):
    """The client, whose waits and limits take a twentieth of their time; as do those of the server."""

    def __init__(self, token: str, base_url: str | None = None, **more: Any) -> None:
        super().__init__(token, base_url, clock=lambda: time.monotonic() * FAST, sleep=_sleep, **more)


async def _sleep(seconds: float) -> None:
    await asyncio.sleep(seconds / FAST)


class LateSlack(FakeSlack):
    """Sends each event twice, each after a while of its own, so that they come in any order."""

    def __init__(self, chance: random.Random, **more: Any) -> None:
        order: Literal["message first", "mention first"] = chance.choice(_ORDERS)
        super().__init__(order=order, timing=SOON, scale=FAST, **more)
        self.under_way = 0
        self._chance = chance

    def event(self, event: Json, **more: Any) -> list[Delivery]:
        event_id = more.pop("event_id", "") or self.world.new_id("Ev")

        def send() -> None:
            self.under_way -= 1
            super(LateSlack, self).event(event, event_id=event_id, **more)

        for _ in range(2):
            self.under_way += 1
            asyncio.get_running_loop().call_later(self._chance.uniform(0, LATE_SECONDS), send)
        return []


def acts(chance: random.Random) -> Any:
    async def act(ask: Ask) -> Events:
        yield Thought("Looking it up.")
        yield ToolCalled("1", "search_rag_knowledge_base", {"query": "harbour"})
        await asyncio.sleep(chance.uniform(0, 0.05))
        yield ToolReturned("1", "search_rag_knowledge_base", "1 passage")
        heard = " ".join(one.text for one in ask.overheard)
        yield Answered(f"The answer to: {ask.question} ({heard})", confidence=0.9, searched=("handbook",))

    return act


def break_calls(slack: FakeSlack, chance: random.Random) -> None:
    """Of every method one call is done and not answered, and another one fails in any of the ways."""
    for method in (*LOOKUPS, *WRITES, *STREAMS):
        done, failed = chance.sample(range(1, 9), 2)
        slack.fail(method, CUT_AFTER, calls=[done])
        slack.fail(method, chance.choice(FAULTS), calls=[failed])
    for call in chance.sample(range(9, 60), 3):
        slack.fail("chat.postMessage", chance.choice([CUT_AFTER, status(503), ratelimited(1)]), calls=[call])
    slack.fail("apps.connections.open", ratelimited(1), calls=[3])
    slack.fail("apps.connections.open", error("internal_error"), calls=[4])


async def disturb(slack: FakeSlack, home: Path, chance: random.Random) -> None:
    """Connections are rotated, cut and go deaf, and the database is locked, one after another."""

    async def mute() -> None:
        """One is cut, and the next in its place never says hello."""
        slack.sockets.hello, opened = False, slack.sockets.opened
        cut(1)
        await slack.wait_for(lambda: slack.sockets.opened > opened)
        slack.sockets.hello = True

    async def freeze() -> None:
        for each in slack.sockets.of(slack.app)[:1]:
            each.frozen = True

    def cut(count: int) -> None:
        for each in slack.sockets.of(slack.app)[:count]:
            if each.request.transport is not None:
                each.request.transport.abort()

    async def lock() -> None:
        connected = sqlite3.connect(home / "kotae.db", isolation_level=None, check_same_thread=False)
        with closing(connected) as db:
            await asyncio.to_thread(db.execute, "BEGIN IMMEDIATE")
            await asyncio.sleep(chance.uniform(0.2, 0.6))
            db.execute("ROLLBACK")

    async def warned() -> None:
        await slack.sockets.disconnect(chance.choice(["warning", "refresh_requested"]))

    async def cut_both() -> None:
        cut(2)

    troubles = [warned, lock, cut_both, lock]
    chance.shuffle(troubles)
    for trouble in (*troubles, chance.choice([mute, freeze])):  # the last of which holds for long
        await asyncio.sleep(chance.uniform(0.1, 0.4))
        if trouble in (mute, freeze):
            await slack.connected(2)
        await trouble()


async def chatter(slack: FakeSlack, roots: Sequence[tuple[str, str]], chance: random.Random) -> None:
    """What is none of the bot's business: of people it is said by one who asks nothing, as what an asker goes on with is a
    question without a mention, too."""
    slack.world.add_user("U9", "robot", kind="bot", bot_id="B9")
    slack.world.add_user("U3", "cho")
    for channel, root in roots:
        slack.world.channels[channel].members |= {"U3", "U9"}
        said = await slack.says(channel, "U3", f"Lunch? {CANARY.format(n=channel)}", thread=chance.choice([root, None]))
        await slack.says(channel, "U9", "@kotae I am a bot, too", thread=root)
        await slack.reacts("U1", said, "tada")
        await slack.unfurls(said)
        await (slack.deletes(said) if chance.random() < 0.3 else slack.edits(said, "Dinner?"))
    slack.event({"type": "app_rate_limited"})
    slack.event({"type": "of_the_future", "channel": "C1"})


def check(slack: FakeSlack, home: Path, asked: dict[str, tuple[str, str]]) -> None:
    """One answer for each question, in the order of their claims in each thread, and nothing else."""
    ours = [each for each in slack.world.messages.values() if each.user == slack.bot_user and not each.deleted]
    final = [each for each in ours if "The answer to" in each.shown]
    counts = Counter(question for each in final for question in asked if question in each.shown)
    assert counts == dict.fromkeys(asked, 1), (counts, slack.told())
    assert all(each.thread == asked[_question(each)][1] for each in final)
    assert {_kind(each) for each in ours} <= {"answer", "steps"} and not any(each.mentions for each in ours)
    with closing(sqlite3.connect(home / "kotae.db")) as db:
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        turns = db.execute(
            "SELECT t.thread, t.text, t.state, count(a.turn) FROM turns t LEFT JOIN answers a ON a.turn = t.id "
            "GROUP BY t.id ORDER BY t.sequence"
        ).fetchall()
    assert {(state, count) for _, _, state, count in turns} == {("done", 1)} and len(turns) == len(asked)
    for thread in {thread for thread, *_ in turns}:
        claimed = [text for there, text, *_ in turns if there == thread]
        assert [_question(each) for each in final if each.thread == thread] == claimed
    for each in ours:  # what is said in one thread is said in no other
        for channel in {channel for channel, _ in asked.values()} - {each.channel}:
            assert CANARY.format(n=channel) not in each.shown
        assert "Traceback" not in each.shown and "xoxb-" not in each.shown


def _question(message: Message) -> str:
    return message.shown.partition("The answer to: ")[2].partition("?")[0] + "?"


def _kind(message: Message) -> str:
    if message.metadata is not None:
        return str(message.metadata["event_payload"]["kind"])
    return "steps" if message.stream is not None else "unknown"


async def chaos(seed: int, home: Path) -> None:
    """Raises AssertionError."""
    chance = random.Random(seed)
    async with (
        LateSlack(chance) as slack,
        bot(slack, home, acts(chance), api=FastSlack, KOTAE_STEPS="off") as here,
    ):
        for n in range(THREADS):
            slack.world.add_channel(f"C{n + 10}", members=("U1", "U2", slack.bot_user), kind=chance.choice(_KINDS))
        for n in range(WITH_STEPS):
            await ChannelSettings(here.data.engine).put(Place("slack", TEAM, f"C{n + 10}"), Preferences(steps="live"))
        break_calls(slack, chance)
        trouble = asyncio.create_task(disturb(slack, home, chance))
        roots: list[tuple[str, str]] = []
        asked: dict[str, tuple[str, str]] = {}
        for m in range(QUESTIONS):
            for n in range(THREADS):
                channel, thread = f"C{n + 10}", roots[n][1] if m else None
                text = GRATING.format(n=n, m=m)
                ts = await slack.says(channel, chance.choice(["U1", "U2"]), f"@kotae {text}", thread=thread)
                if not m:
                    roots.append((channel, ts))
                asked[text] = (channel, thread or ts)
                await asyncio.sleep(chance.uniform(0, 0.02))
            if m == 1:
                await chatter(slack, roots, chance)
        await trouble
        await _ended(slack, here, len(asked))
        check(slack, home, asked)
        assert len(here.player.asks) <= len(asked) + 5  # a turn that lost its database is begun again


_KINDS: Sequence[Literal["public", "private"]] = ("public", "private")
_ORDERS: Sequence[Literal["message first", "mention first"]] = ("message first", "mention first")


async def _ended(slack: LateSlack, here: Service, count: int) -> None:
    async with asyncio.timeout(120):
        while True:
            await slack.wait_for(lambda: not slack.under_way and slack.sockets.idle, timeout=120)
            if (await here.data.conversations.totals()).turns == count and all(
                each.acked for each in slack.journal.deliveries
            ):
                break
            await asyncio.sleep(0.05)
    await slack.wait_for_idle(timeout=120)


async def test_everything_at_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    seed = 32
    print(f"seed {seed}")
    with caplog.at_level(logging.INFO):
        await chaos(seed, tmp_path)
    assert not any(word in caplog.text for word in ("harbour", "canary", "xoxb-", "xapp-"))


async def test_nothing_is_acknowledged_before_it_is_kept(tmp_path: Path) -> None:
    async with FakeSlack() as slack, bot(slack, tmp_path) as here:
        claim, arrived, go_on = here.bot.turns.claim, asyncio.Event(), asyncio.Event()

        async def slowly(message: Incoming) -> Claimed | None:
            arrived.set()
            await go_on.wait()
            return await claim(message)

        here.bot.turns.claim = slowly  # type: ignore[method-assign]
        await slack.says("C1", "U1", "@kotae How long do refunds take?")
        question = [*slack.journal.deliveries]
        await arrived.wait()
        for _ in range(4):  # over both connections
            await slack.says("C1", "U2", "Lunch?")
        await slack.wait_for(lambda: all(each.acked for each in slack.journal.deliveries[len(question) :]))
        early = [each for each in question if each.acked]
        go_on.set()
        assert len(question) == 2 and not early
        await slack.wait_for(lambda: all(each.acked for each in question))


# -- one question, delivered in every way ---------------------------------------------------------------------------

_DELIVERIES = st.lists(st.tuples(st.sampled_from(["message", "app_mention"]), st.booleans()), min_size=2, max_size=6)


@settings(max_examples=4)
@given(deliveries=_DELIVERIES, restart=st.integers(0, 6))
def test_however_a_question_is_delivered_it_is_one_turn(deliveries: list[tuple[str, bool]], restart: int) -> None:
    """Both of its events, each any number of times in any order, at once or later (True), over two connections, with a
    restart in between."""
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_deliver(deliveries, restart, Path(folder)))


async def _deliver(deliveries: list[tuple[str, bool]], restart: int, home: Path) -> None:
    async with FakeSlack(timing=SOON, limits=False) as slack:
        asked = slack.world.post("C1", "U1", text=f"<@{slack.bot_user}> How long do refunds take?")
        message = slack.tell.as_event(asked) | {"channel": "C1", "event_ts": asked.ts, "channel_type": "channel"}
        events = {"message": message, "app_mention": slack.tell.mention(asked)}
        runs = 0
        for part in (deliveries[:restart], deliveries[restart:]):
            if part:
                async with bot(slack, home, answers()) as here:
                    for kind, later in part:
                        if later:
                            await slack.wait_for_idle(quiet=0.02)
                        slack.event(events[kind], event_id=f"Ev{kind}")
                    await slack.wait_for(lambda: slack.replies(asked.ts))
                    await slack.wait_for_idle()
                    runs += len(here.player.asks)
        assert runs == 1
        assert [("30 days" in each.shown) for each in slack.replies(asked.ts)] == [False, True]
        assert all(each.acked for each in slack.journal.deliveries)
    with closing(sqlite3.connect(home / "kotae.db")) as db:
        assert db.execute("SELECT state FROM turns").fetchall() == [("done",)]
