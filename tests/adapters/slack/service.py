"""The Slack adapter at work in a test: the real client against Slack's fake, a real database, and an agent that
plays."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from pydantic import SecretStr

from adapters.port import Webhook
from adapters.shared.recovery import EVERY_SECONDS
from adapters.slack.adapter import SlackAdapter
from adapters.slack.transport.api import SlackApi
from bot.app import Application, running
from bot.bot import Bot
from bot.config.settings import SlackSettings
from bot.database import Database
from bot.knowledge.documents import KnowledgeBase
from bot.logs import Redactor
from bot.turns.admission import AT_ONCE
from retrieval.i18n import Language
from tests.adapters.acting import Act, Player, process, serving, settings
from tests.bot.library import opened
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_http import SIGNING_SECRET


@dataclass
class Service:
    slack: FakeSlack
    player: Player
    bot: Bot
    data: Database
    adapter: SlackAdapter
    task: asyncio.Task[None]  # the adapter's run


@asynccontextmanager
async def bot(
    slack: FakeSlack,
    home: Path,
    *acts: Act,
    at_once: int = AT_ONCE,
    look_every: float = EVERY_SECONDS,
    api: Callable[..., SlackApi] = SlackApi,
    knowledge: KnowledgeBase | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    **more: Any,
) -> AsyncIterator[Service]:
    """One process that serves the workspace, connected."""
    player, given = Player(*acts), settings(home, **more)
    async with (
        process(given, player.make, knowledge, at_once=at_once, clock=clock) as (data, bot),
        _connected(slack, bot, given.language, look_every, api) as (adapter, task),
    ):
        yield Service(slack, player, bot, data, adapter, task)


@asynccontextmanager
async def _connected(
    slack: FakeSlack,
    bot: Bot,
    language: Language,
    look_every: float = EVERY_SECONDS,
    api: Callable[..., SlackApi] = SlackApi,
) -> AsyncIterator[tuple[SlackAdapter, asyncio.Task[None]]]:
    """Over HTTP where this Slack posts somewhere, else over Socket Mode."""
    over_http = bool(slack.posts.url)
    app_token, secret = SecretStr(slack.app_token), SecretStr(SIGNING_SECRET)
    way_in = {"app_token": None if over_http else app_token, "signing_secret": secret if over_http else None}
    tokens = SlackSettings(bot_token=SecretStr(slack.bot_token), api_url=slack.api_url, **way_in)
    adapter = SlackAdapter(tokens, language=language, look_every=look_every, api=api)
    async with serving(adapter, bot) as task:
        if over_http:
            async with posted_to(adapter.webhooks) as slack.posts.url:
                yield adapter, task
        else:
            await slack.connected(2)
            yield adapter, task


@asynccontextmanager
async def posted_to(webhooks: Mapping[str, Webhook]) -> AsyncIterator[str]:
    """A server for one webhook, without the guard that stands before it in `kotae run`: its address."""
    ((path, webhook),) = webhooks.items()

    async def answer(request: web.Request) -> web.Response:
        told = await webhook({name.lower(): value for name, value in request.headers.items()}, await request.read())
        return web.Response(status=told.status, body=told.body.encode(), headers={"Content-Type": told.kind})

    app = web.Application()
    app.router.add_post(path, answer)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}{path}"
    finally:
        await runner.cleanup()


@asynccontextmanager
async def taught(slack: FakeSlack, home: Path, *acts: Act, **more: Any) -> AsyncIterator[Service]:
    """The same with a real knowledge, whose embedder only counts: what is added is in its documents."""
    async with opened(home) as library, bot(slack, home, *acts, knowledge=library.knowledge, **more) as here:
        yield here


@asynccontextmanager
async def whole(slack: FakeSlack, home: Path, **more: Any) -> AsyncIterator[tuple[Application, SlackAdapter]]:
    """The whole application behind the adapter, with its own model and embedder; the first search takes seconds."""
    given = settings(home, **more)
    async with running(given, Redactor()) as app, _connected(slack, app.bot, given.language) as (adapter, _):
        yield app, adapter
