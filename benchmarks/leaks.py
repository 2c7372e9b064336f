"""Who learns what, at random, on the whole bot: `python -m benchmarks.leaks [--platform discord] [--steps 400]
[--seed 7]`.

Slack's fake with public and private channels, direct messages, a guest and a stranger, or Discord's with private
channels, threads and forums, roles, overwrites and categories, and another server; the HTTP API, `/mcp` with a token
for the team and one for everybody, and the pages as either member; the model quotes all it is shown. Documents come,
change, move and go, their readers and the people of channels change, questions are asked, edited and deleted, and
whatever can be pressed is. Each part of a document (name, title, heading, text, address, collection) and each text of a
person holds a word of its own. Such a word may leave the bot only for readers who may all read one of the documents, or
are in one of the places, that say it (product.md §3): in a message, its earlier states, its blocks, a whisper, a form,
the App Home, a page, an answer of the API, a prompt; in a log for nobody. What stands in a channel is held against the
readers of the documents as they are now. Status 1: something was told, with the step before and the seed to see it
again.
"""

import argparse
import asyncio
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import httpx

from adapters.port import Adapter
from adapters.runner import PeopleReach, posting
from adapters.web.channel.adapter import web_adapter
from adapters.web.server.server import serving as served
from adapters.web.server.sockets import listen
from benchmarks.leak_acts import AUDIENCES, HOME, Acts
from benchmarks.leak_discord import on_discord
from benchmarks.leak_slack import on_slack
from bot.app import running
from bot.logs import OURS, Redactor
from tests.adapters.acting import serving
from tests.adapters.staging import Skipping
from tests.bot.sample_turns import begun
from tests.hostile.servant import EMBEDDER, MODEL, Servant

Begun = Callable[[Skipping], AbstractAsyncContextManager[tuple[Adapter, Acts]]]
PLATFORMS: Mapping[str, Begun] = {"slack": on_slack, "discord": on_discord}
MODELS = (
    {"KOTAE_MODEL": f"openai:{MODEL}"},
    {"KOTAE_MODEL": f"openai:{MODEL}", "KOTAE_STRATEGY": "synthesis"},
    {"KOTAE_MODEL": "extractive"},
)


class Listening(logging.Handler):
    """All that our loggers say from INFO on."""

    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__(logging.INFO)
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        if record.name.split(".")[0] in OURS:
            self._records.append(record)


@asynccontextmanager
async def living(platform: str, seed: int, home: Path) -> AsyncIterator[Acts]:
    async with AsyncExitStack() as stack:
        clock = Skipping()
        adapter, world = await stack.enter_async_context(PLATFORMS[platform](clock))
        servant = await stack.enter_async_context(Servant())
        digest = f"{platform}:{world.digest}"
        given = {
            **{"OPENAI_BASE_URL": servant.url, "OPENAI_API_KEY": servant.key, "KOTAE_EMBEDDER": f"openai:{EMBEDDER}"},
            **{"KOTAE_MIN_RELEVANCE": 0, "KOTAE_SEARCH_LIMIT": 30, "KOTAE_LANGUAGE": "en", "KOTAE_MAX_TURNS": 4},
            **{"KOTAE_USER_PER_MINUTE": 0, "KOTAE_CHANNEL_PER_MINUTE": 0, "KOTAE_DIGEST_CHANNEL": digest},
            "KOTAE_TIMEZONE": f"Etc/GMT{datetime.now(UTC).hour - 12:+}",  # noon: nobody waits for a morning
            **MODELS[seed % len(MODELS)],
        }
        app = await stack.enter_async_context(running(begun(home, **given), Redactor()))
        address = listen("127.0.0.1", 0, token=None)
        web = web_adapter(app, address.url)
        for each in (web, adapter):
            await stack.enter_async_context(serving(each, app.bot))
        await stack.enter_async_context(served(app, address, web=web))
        app.bot.commands.post_digest = posting([adapter, web], digest, app.digest_card, app.clock)
        app.bot.asking.reach = PeopleReach([adapter, web], digest)
        acts = await world.begin(app, servant, random.Random(seed))
        client = httpx.AsyncClient(base_url=address.url, timeout=60, trust_env=False, verify=False)
        acts.http = await stack.enter_async_context(client)
        acts.tokens = {name: await app.programs.add(HOME, name, name, 10**6, 10**6) for name in AUDIENCES}
        logging.basicConfig(handlers=[Listening(acts.records)], level=logging.INFO, force=True)
        yield acts


async def measure(platform: str, steps: int, seed: int) -> Counter[str]:
    """What happened, and how often; AssertionError for what somebody was told who may not know it."""
    met = Counter[str]()
    with tempfile.TemporaryDirectory() as home:
        async with living(platform, seed, Path(home)) as acts:
            chosen = acts.dice.choices([*acts.acts], [*acts.acts.values()], k=steps)
            for number, act in enumerate([Acts.add] * 6 + chosen):
                oracle = acts.oracle
                oracle.step = f"step {number}: {act.__name__}"
                oracle.earlier = {word: oracle.homes(word) for word in oracle.words}
                acts.calls, met[act.__name__] = len(acts.servant.journal), met[act.__name__] + 1
                with suppress(LookupError, ValueError):  # what cannot be done there
                    await act(acts)
                await acts.quiet()
                await acts.look()
                assert not oracle.told, f"{platform}, seed {seed}, " + "\n".join(oracle.told)
    return met


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--platform", choices=sorted(PLATFORMS), help="one of them; by default each in its turn")
    given.add_argument("--steps", type=int, default=400)
    given.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    options = given.parse_args()
    for platform in [options.platform] if options.platform else PLATFORMS:
        print(f"{platform}, seed {options.seed}, {options.steps} steps", flush=True)
        started = time.monotonic()
        try:
            met = asyncio.run(measure(platform, options.steps, options.seed))
        except AssertionError as told:
            print(told, file=sys.stderr)
            sys.exit(1)
        print("\n".join(f"{name:14} {times:5}" for name, times in met.most_common()))
        print(f"\nnobody was told what is not theirs to read\n{time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
