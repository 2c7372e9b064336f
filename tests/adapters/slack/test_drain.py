"""`kotae run` as a process of its own, told to stop while it answers in Slack, then told again. reliability.md R57."""

import asyncio
import signal
import subprocess
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from aiohttp import web

from tests.bot.cli.test_commands import open_turns
from tests.bot.program import Process, environment
from tests.fakes.openai import KEY, FakeOpenAI
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_socket import Timing
from tests.fakes.slack_world import Message

DRAIN_SECONDS, AT_ONCE_SECONDS = 20.0, 2.0
WAITING = Timing(ack=0.3, retries=(0.1,) * 100)


class SlowModel(FakeOpenAI):
    """Answers a question once its gate is open."""

    def __init__(self, *words: str) -> None:
        super().__init__(obedient=True, embedders={"hash": 32})
        self.gates = {word: asyncio.Event() for word in words}
        self.asked: set[str] = set()

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        for word, gate in self.gates.items():
            if word in text:
                self.asked.add(word)
                await gate.wait()
        return await super()._chat(request)


class Run:
    """`kotae run`, connected to Slack."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)

    async def ended(self, within: float) -> int:
        return await asyncio.to_thread(self._process.wait, within)


@asynccontextmanager
async def kotae_run(home: Path, slack: FakeSlack, model: SlowModel) -> AsyncIterator[Run]:
    process = Process(
        "run",
        env=environment(
            home,
            SLACK_BOT_TOKEN=slack.bot_token,
            SLACK_APP_TOKEN=slack.app_token,
            SLACK_API_URL=slack.api_url,
            KOTAE_MODEL="openai:qwen3:8b",
            KOTAE_EMBEDDER="openai:hash",
            OPENAI_BASE_URL=model.url,
            OPENAI_API_KEY=KEY,
            KOTAE_WEB_PORT="0",
        ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    try:
        await slack.connected(2, timeout=60)
        yield Run(process)
    finally:
        process.kill()
        await asyncio.to_thread(process.wait)


def answers(slack: FakeSlack, ts: str) -> list[Message]:
    """The finished ones, by their mark."""
    marks = [(each, (each.metadata or {}).get("event_payload", {})) for each in slack.replies(ts)]
    return [each for each, mark in marks if mark.get("kind") == "answer"]


async def test_what_runs_ends_what_comes_waits_and_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    async with FakeSlack(timing=WAITING, limits=False) as slack, SlowModel("quay", "pier", "dock") as model:

        async def ask(word: str) -> str:
            return await slack.says("C1", "U1", f"@kotae Who owns the {word} in Osaka?")

        async with kotae_run(tmp_path, slack, model) as bot:
            quay, pier = await ask("quay"), await ask("pier")
            await slack.wait_for(lambda: model.asked == {"quay", "pier"})
            bot.stop()
            await slack.wait_for(lambda: not slack.sockets.of(slack.app))
            berth = await ask("berth")  # Slack keeps it
            model.gates["quay"].set()
            await slack.wait_for(lambda: answers(slack, quay))
            assert bot.running and not answers(slack, pier)
            bot.stop()
            assert await bot.ended(AT_ONCE_SECONDS) == -signal.SIGTERM
        assert [text for text in open_turns(tmp_path) if "quay" not in text] == ["Who owns the pier in Osaka?"]

        model.gates["pier"].set()
        async with kotae_run(tmp_path, slack, model) as bot:
            await slack.wait_for(lambda: answers(slack, pier) and answers(slack, berth))
            dock = await ask("dock")
            await slack.wait_for(lambda: "dock" in model.asked)
            told = time.monotonic()
            bot.stop()
            await slack.wait_for(lambda: not slack.sockets.of(slack.app))
            model.gates["dock"].set()
            assert await bot.ended(DRAIN_SECONDS) == 0
            assert time.monotonic() - told < DRAIN_SECONDS
        assert [len(answers(slack, ts)) for ts in (quay, pier, berth, dock)] == [1, 1, 1, 1]
    assert open_turns(tmp_path) == []
