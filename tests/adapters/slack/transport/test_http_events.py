"""Events over HTTP: only what Slack signed gets in, all of that is acknowledged, and what comes again does nothing twice.

Source: reliability.md R1, R2, R4 and R20; docs.slack.dev/authentication/verifying-requests-from-slack.
"""

import asyncio
import hashlib
import hmac
import json
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import aiohttp
import httpx
import pytest
from pydantic import SecretStr
from slack_bolt.app.async_app import AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_bolt.response import BoltResponse

from adapters.slack.events import POSTED_TO
from adapters.slack.transport.dispatch import NOT_STORED
from adapters.slack.transport.http_events import AGE_SECONDS, HttpEvents
from bot.store.engine import write
from tests.adapters.acting import until
from tests.adapters.service import Service
from tests.adapters.slack.service import bot, posted_to
from tests.adapters.slack.test_feedback import FEEDBACK, answer
from tests.bot.program import Process, environment
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_http import AGAIN, SIGNING_SECRET, encoded, signed
from tests.fakes.slack_socket import Timing
from tests.fakes.slack_world import TEAM

TOKEN = "a-token-for-programs"
JSON, FORM = "application/json", "application/x-www-form-urlencoded"
NOBODY = "http://127.0.0.1:9/slack/events"


@dataclass
class Ear:
    """An app that asks Slack nothing: what got in. `answers`: to the first ones, then 200."""

    answers: list[int] = field(default_factory=list)
    heard: list[Any] = field(default_factory=list)
    before: asyncio.Event | None = None
    lazily: bool = False  # a listener by its name was asked for

    def app(self) -> AsyncApp:
        async def authorize() -> AuthorizeResult:
            return AuthorizeResult(enterprise_id=None, team_id=TEAM, bot_user_id="U0BOT", bot_token="xoxb-loopback")

        async def told(req: AsyncBoltRequest, body: Any, next: Callable[[], Any]) -> BoltResponse:
            self.lazily |= req.lazy_only
            if self.before is not None:
                await self.before.wait()
            self.heard.append(body)
            return BoltResponse(status=self.answers.pop(0) if self.answers else 200)

        app = AsyncApp(name="test", authorize=authorize, request_verification_enabled=False)
        app.use(told)
        return app


@asynccontextmanager
async def listening(ear: Ear, slack: FakeSlack) -> AsyncIterator[HttpEvents]:
    events = HttpEvents(SecretStr(SIGNING_SECRET))
    task = asyncio.create_task(events.run(ear.app()))
    async with posted_to({POSTED_TO: events.take}) as slack.posts.url:
        yield events
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


# -- who gets in ------------------------------------------------------------------------------------------------------

EVENT = json.dumps({"type": "event_callback", "event": {"type": "of_the_future"}}).encode()
LONG = b'{"text": "' + b"x" * 2**20 + b'"}'


def now(seconds: float = 0) -> float:
    return time.time() + seconds


def at(stamp: str) -> dict[str, str]:
    """Signed rightly, at a moment that is none."""
    proof = hmac.new(SIGNING_SECRET.encode(), f"v0:{stamp}:".encode() + EVENT, hashlib.sha256).hexdigest()
    return {"X-Slack-Request-Timestamp": stamp, "X-Slack-Signature": f"v0={proof}"}


def with_proof(change: Callable[[str], str]) -> dict[str, str]:
    made = signed(EVENT)
    return made | {"X-Slack-Signature": change(made["X-Slack-Signature"])}


def without(name: str) -> dict[str, str]:
    return {key: value for key, value in signed(EVENT).items() if key != name}


REFUSED: dict[str, tuple[str, str, Callable[[], dict[str, str]], Any, int]] = {
    "no headers": ("POST", POSTED_TO, dict, EVENT, 401),
    "the token of programs": ("POST", POSTED_TO, lambda: {"Authorization": f"Bearer {TOKEN}"}, EVENT, 401),
    "no signature": ("POST", POSTED_TO, lambda: without("X-Slack-Signature"), EVENT, 401),
    "no time": ("POST", POSTED_TO, lambda: without("X-Slack-Request-Timestamp"), EVENT, 401),
    "another secret": ("POST", POSTED_TO, lambda: signed(EVENT, secret="0" * 32), EVENT, 401),
    "another body": ("POST", POSTED_TO, lambda: signed(b"{}"), EVENT, 401),
    "a byte more": ("POST", POSTED_TO, lambda: signed(EVENT), EVENT + b"\n", 401),
    "no body": ("POST", POSTED_TO, lambda: signed(EVENT), b"", 401),
    "another time": (
        "POST",
        POSTED_TO,
        lambda: {**signed(EVENT), "X-Slack-Request-Timestamp": str(int(now()) + 1)},
        EVENT,
        401,
    ),
    "too old": ("POST", POSTED_TO, lambda: signed(EVENT, at=now(-AGE_SECONDS - 2)), EVENT, 401),
    "of the future": ("POST", POSTED_TO, lambda: signed(EVENT, at=now(AGE_SECONDS + 2)), EVENT, 401),
    "a time in words": ("POST", POSTED_TO, lambda: at("yesterday"), EVENT, 401),
    "a time with a point": ("POST", POSTED_TO, lambda: at(f"{now():.1f}"), EVENT, 401),
    "a time with a sign": ("POST", POSTED_TO, lambda: at(f"+{now():.0f}"), EVENT, 401),
    "a time with an underscore": (
        "POST",
        POSTED_TO,
        lambda: at(f"{now():.0f}"[:1] + "_" + f"{now():.0f}"[1:]),
        EVENT,
        401,
    ),
    "an endless time": ("POST", POSTED_TO, lambda: at("9" * 5_000), EVENT, 401),
    "a time before all time": ("POST", POSTED_TO, lambda: at("0"), EVENT, 401),
    "an empty time": ("POST", POSTED_TO, lambda: at(""), EVENT, 401),
    "digits of another kind": (
        "POST",
        POSTED_TO,
        lambda: {**signed(EVENT), "X-Slack-Request-Timestamp": "²"},
        EVENT,
        401,
    ),
    "another version": ("POST", POSTED_TO, lambda: with_proof(lambda proof: proof.replace("v0=", "v1=")), EVENT, 401),
    "no version": ("POST", POSTED_TO, lambda: with_proof(lambda proof: proof[3:]), EVENT, 401),
    "in capitals": ("POST", POSTED_TO, lambda: with_proof(str.upper), EVENT, 401),
    "half a signature": ("POST", POSTED_TO, lambda: with_proof(lambda proof: proof[:20]), EVENT, 401),
    "an empty signature": ("POST", POSTED_TO, lambda: with_proof(lambda proof: ""), EVENT, 401),
    "no letters": ("POST", POSTED_TO, lambda: with_proof(lambda proof: "v0=\xe9\xff"), EVENT, 401),
    "too long": ("POST", POSTED_TO, lambda: signed(LONG), LONG, 413),
    "too long, unannounced": ("POST", POSTED_TO, lambda: signed(LONG), "chunks", 413),
    "another kind": ("POST", POSTED_TO, lambda: {**signed(EVENT), "Content-Type": "text/xml"}, EVENT, 415),
    "looked at": ("GET", POSTED_TO, lambda: signed(b""), b"", 405),
    "put": ("PUT", POSTED_TO, lambda: signed(EVENT), EVENT, 405),
    "a path beside": ("POST", "/slack", lambda: signed(EVENT), EVENT, 401),
    "a path below": ("POST", f"{POSTED_TO}/more", lambda: signed(EVENT), EVENT, 401),
    "what programs ask": ("POST", "/chat", lambda: signed(EVENT), EVENT, 401),
}


@pytest.fixture(scope="module")
def door(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, Ear]]:
    """The address of `kotae run` as others reach it, with its guard and token."""
    events, ear = HttpEvents(SecretStr(SIGNING_SECRET)), Ear()
    home, hooks = tmp_path_factory.mktemp("door") / "home", {POSTED_TO: events.take}
    with Service(home, host="0.0.0.0", token=TOKEN, webhooks=hooks) as service:

        async def begin(app: object) -> asyncio.Task[None]:
            return asyncio.create_task(events.run(ear.app()))

        running = service.do(begin)
        yield service, ear

        async def end(app: object) -> None:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)

        service.do(end)


@pytest.mark.parametrize("name", REFUSED)
def test_nobody_else_gets_in(door: tuple[Service, Ear], name: str) -> None:
    service, ear = door
    method, path, headers, body, status = REFUSED[name]
    before = len(ear.heard)
    given = {"Content-Type": JSON} | headers()
    sent = httpx.Headers([(key.encode(), value.encode("latin-1")) for key, value in given.items()])
    content = iter([LONG[:500_000], LONG[500_000:]]) if body == "chunks" else body
    with service.client() as client:
        found = client.request(method, path, content=content, headers=sent)
    assert (found.status_code, len(ear.heard) - before) == (status, 0), found.text
    assert SIGNING_SECRET not in found.text


GOOD: dict[str, tuple[bytes, str, dict[str, str]]] = {
    "an event": (EVENT, f"{JSON}; charset=utf-8", {}),
    "an hour's limit": (b'{"type": "app_rate_limited", "team_id": "T1"}', JSON, {}),
    "under another name": (EVENT, JSON, {"Host": "kotae.example.com"}),
    "from a page": (EVENT, JSON, {"Origin": "https://evil.example"}),
    "the second time": (EVENT, JSON, {"X-Slack-Retry-Num": "1", "X-Slack-Retry-Reason": "http_timeout"}),
    "no JSON": (b"{", JSON, {}),
    "a list": (b"[1]", JSON, {}),
    "nothing": (b"", JSON, {}),
    "no text": (b'{"a": "\xff\xfe"}', JSON, {}),
    "no payload": (b"payload=", FORM, {}),
    "half a payload": (b"payload=%7B", FORM, {}),
    "an unknown gesture": (b"payload=%7B%22type%22%3A%20%22of_the_future%22%7D", FORM, {}),
    "an odd event": (b'{"type": "event_callback", "event": 7, "authorizations": 3}', JSON, {}),
}


@pytest.mark.parametrize("name", GOOD)
def test_whatever_slack_signs_is_acknowledged(door: tuple[Service, Ear], name: str) -> None:
    body, kind, more = GOOD[name]
    with door[0].client() as client:
        found = client.post(POSTED_TO, content=body, headers={"Content-Type": kind, **signed(body), **more})
    assert (found.status_code, found.text) == (200, "")


def test_the_address_is_slacks_once_it_has_been_asked(door: tuple[Service, Ear]) -> None:
    body = json.dumps({"type": "url_verification", "token": "x", "challenge": "3eZbrw1aB"}).encode()
    with door[0].client() as client:
        found = client.post(POSTED_TO, content=body, headers={"Content-Type": JSON, **signed(body)})
        assert (found.status_code, found.json()) == (200, {"challenge": "3eZbrw1aB"})
        assert client.post(POSTED_TO, content=body, headers={"Content-Type": JSON}).status_code == 401


@pytest.mark.parametrize("proof", [signed, lambda body: {}], ids=["signed", "unsigned"])
def test_a_look_at_the_certificate_is_answered_and_nothing_comes_of_it(
    door: tuple[Service, Ear], proof: Callable[[bytes], dict[str, str]]
) -> None:
    """Source: docs.slack.dev/interactivity/implementing-slash-commands: `ssl_check` wants a 200; Bolt too answers it
    before it looks for a signature."""
    service, ear = door
    before, body = len(ear.heard), b"token=x&ssl_check=1&command=%2Fkotae&text=digest+post"
    with service.client() as client:
        found = client.post(POSTED_TO, content=body, headers={"Content-Type": FORM, **proof(body)})
        assert (found.status_code, found.text, len(ear.heard) - before) == (200, "", 0)
        for other in (body.replace(b"=1", b"=0"), body.replace(b"&ssl", b"&no_ssl"), b"text=\xff%26ssl_check=1"):
            assert client.post(POSTED_TO, content=other, headers={"Content-Type": FORM}).status_code == 401


async def test_headers_that_nobody_signed_choose_no_listener() -> None:
    """Bolt runs a listener by its name for who sends such headers."""
    async with FakeSlack() as slack:
        ear = Ear()
        async with listening(ear, slack), aiohttp.ClientSession() as session:
            kind, body = encoded("events_api", {"type": "event_callback", "event": {"type": "x"}})
            lazy = {"X-Slack-Bolt-Lazy-Only": "1", "X-Slack-Bolt-Lazy-Function-Name": "shutdown"}
            async with session.post(
                slack.posts.url, data=body, headers={"Content-Type": kind, **signed(body), **lazy}
            ) as said:
                assert said.status == 200 and len(ear.heard) == 1 and not ear.lazily


# -- what comes again -------------------------------------------------------------------------------------------------


async def test_what_could_not_be_stored_comes_again_at_once_then_after_a_minute_and_five() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async with FakeSlack() as slack:
        slack.posts.sleep = sleep
        ear = Ear(answers=[NOT_STORED] * 3)
        async with listening(ear, slack):
            (sent,) = slack.event({"type": "of_the_future"})
            await sent.finished.wait()
            assert (sent.acked, sent.attempts, slept, len(ear.heard)) == (True, 4, list(AGAIN), 4)
            ear.answers = [NOT_STORED] * 4
            (lost,) = slack.event({"type": "of_the_future"})
            await lost.finished.wait()
            assert lost.lost and slack.posts.statuses == [503, 503, 503, 200, 503, 503, 503, 503]
        (nobody,) = slack.event({"type": "of_the_future"})
        await nobody.finished.wait()
        assert nobody.lost and len(ear.heard) == 8


async def test_while_nobody_is_at_work_slack_is_asked_to_come_again() -> None:
    events = HttpEvents(SecretStr(SIGNING_SECRET))
    headers = {name.lower(): value for name, value in {"Content-Type": JSON, **signed(EVENT)}.items()}
    assert not events.connected and (await events.take(headers, EVENT)).status == NOT_STORED
    assert (await events.take(headers, EVENT + b" ")).status == 401


@pytest.mark.parametrize("order", ["message first", "mention first"])
async def test_a_mention_that_comes_many_times_in_any_order_is_one_question(
    tmp_path: Path, order: Literal["message first", "mention first"]
) -> None:
    async with FakeSlack(limits=False, copies=3, order=order) as slack:
        slack.posts.url = NOBODY
        async with bot(slack, tmp_path) as here:
            asked = await slack.says("C1", "U1", "@kotae How long do refunds take?")
            thread = await slack.wait_for_replies(asked, count=2)
            await slack.wait_for_idle()
            assert len(slack.replies(asked)) == len(thread) == 2 and len(here.player.asks) == 1
            assert slack.journal.acked_within(2.5) and set(slack.posts.statuses) == {200}


async def test_a_claim_that_takes_longer_than_slack_waits_is_one_question(tmp_path: Path) -> None:
    """Slack gives up, and posts it again while the first one still waits for the database."""
    async with FakeSlack(limits=False, timing=Timing(ack=0.3)) as slack:
        slack.posts.url, slack.posts.pauses = NOBODY, (0.0,) * 20
        async with bot(slack, tmp_path) as here:
            async with write(here.data.engine):  # somebody else is writing
                asked = await slack.says("C1", "U1", "@kotae How long do refunds take?")
                sent = [each for each in slack.journal.deliveries if each.body["event"]["ts"] == asked]
                await slack.wait_for(lambda: all(each.attempts > 2 for each in sent))
                assert not here.player.asks
            await slack.wait_for_replies(asked, count=2)
            await slack.wait_for_idle()
            assert len(slack.replies(asked)) == 2 and len(here.player.asks) == 1
            assert all(each.acked for each in sent)


async def test_buttons_forms_and_commands_come_the_same_way(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack:
        slack.posts.url = NOBODY
        async with bot(slack, tmp_path) as here:
            found, turn = await answer(here)
            pressed = await slack.presses("U2", found, FEEDBACK, "negative")
            await slack.wait_for(lambda: bool(slack.world.views))
            sent = await slack.submits("U2", {"reason": "outdated", "text": "it is 14 days now"})
            assert pressed.acked and sent.acked and not slack.sockets.opened

            async def votes() -> list[str | None]:
                return [vote.reason for vote in await here.data.votes.of(turn)]

            assert await until(votes, bool) == ["outdated"]
            commanded = await slack.command("/kotae", "help", "U1", "C1")
            assert commanded.acked and await slack.wait_for(lambda: bool(slack.whispers("U1")))


# -- the whole program ------------------------------------------------------------------------------------------------


async def test_kotae_run_answers_what_slack_posts_to_its_address(tmp_path: Path) -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    async with FakeSlack(limits=False) as slack:
        slack.posts.url = f"http://127.0.0.1:{port}{POSTED_TO}"
        given = {
            "SLACK_BOT_TOKEN": slack.bot_token,
            "SLACK_SIGNING_SECRET": SIGNING_SECRET,
            "SLACK_API_URL": slack.api_url,
            "KOTAE_MODEL": "extractive",
            "KOTAE_WEB_HOST": "0.0.0.0",
            "KOTAE_WEB_TOKEN": TOKEN,
            "KOTAE_WEB_PORT": str(port),
        }
        env = environment(tmp_path, **given)
        process = Process("run", env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            body = json.dumps({"type": "url_verification", "challenge": "c"}).encode()
            async with aiohttp.ClientSession() as session:

                async def verified() -> bool:
                    try:
                        headers = {"Content-Type": JSON, **signed(body)}
                        async with session.post(slack.posts.url, data=body, headers=headers) as said:
                            return said.status == 200
                    except aiohttp.ClientError:
                        return False

                await until(verified)
            asked = await slack.says("C1", "U1", "@kotae Where do ships moor?")
            assert await slack.wait_for_replies(asked)
        finally:
            process.kill()
            await asyncio.to_thread(process.wait)
