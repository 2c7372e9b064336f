"""Turns over HTTP that do not end as they should: the asker leaves, the server stops, parts of it are broken."""

import asyncio
import gc
import json
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from agent.conversation import Ask
from agent.events import Events, Thought
from bot.app import Application
from bot.store.engine import connect
from bot.store.feedback import Votes
from retrieval.embeddings.local import LocalEmbedder
from retrieval.i18n import Text
from retrieval.index.base import BROKEN
from retrieval.types import EmbeddingError
from tests.adapters.service import Service
from tests.bot.acting import ANSWER, fails, says

QUESTION = {"query": "経費の締切は？"}
STREAM = {"Accept": "text/event-stream"}


class Long:
    """An act that says one thing and then waits."""

    def __init__(self) -> None:
        self.begun, self.cancelled = threading.Event(), threading.Event()
        self._go = asyncio.Event()

    async def __call__(self, ask: Ask) -> Events:
        self._loop = asyncio.get_running_loop()
        yield Thought("規程を探します。")
        self.begun.set()
        try:
            await self._go.wait()
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        yield ANSWER

    def go_on(self) -> None:
        self._loop.call_soon_threadsafe(self._go.set)


def settled(service: Service) -> list[str]:
    """The states of the questions, once none of them is open."""
    for _ in range(1000):
        states = [state for _, state in service.turns()]
        if states and set(states) == {"done"}:
            return states
        threading.Event().wait(0.01)
    raise AssertionError(service.turns())


def test_who_leaves_a_stream_withdraws_the_question(tmp_path: Path) -> None:
    act = Long()
    with Service(tmp_path / "home", act, says(ANSWER)) as service, service.client() as client:
        with client.stream("POST", "/chat", json=QUESTION, headers=STREAM) as response:
            assert "規程を探します" in next(response.iter_lines())
        assert act.cancelled.wait(10)
        assert settled(service) == ["done"]
        assert service.do(lambda app: app.bot.turns.unfinished("api")) == []
        assert client.post("/chat", json=QUESTION).json()["answer"] == ANSWER.text


def test_who_leaves_before_the_answer_withdraws_the_question(tmp_path: Path) -> None:
    act = Long()
    with Service(tmp_path / "home", act) as service:
        body = json.dumps(QUESTION).encode()
        head = b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
        with socket.create_connection(("127.0.0.1", service.port)) as connection:
            connection.sendall(head % len(body) + body)
            assert act.begun.wait(10)
        assert act.cancelled.wait(10) and settled(service) == ["done"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # nor is that one ever closed
def test_what_runs_when_it_stops_is_answered(tmp_path: Path) -> None:
    act = Long()
    found: list[httpx.Response] = []
    with Service(tmp_path / "home", act) as service, service.client() as client:
        asking = threading.Thread(target=lambda: found.append(client.post("/chat", json=QUESTION)))
        asking.start()
        assert act.begun.wait(10)
        service.stop()
        while True:  # nothing new is taken in
            with suppress(httpx.TransportError), service.client() as late:
                late.get("/healthz", timeout=2)  # one that asyncio takes in while it closes is never answered
                continue
            break
        act.go_on()
        asking.join(30)
    gc.collect()  # here, not in another test
    assert found[0].json()["answer"] == ANSWER.text and not (tmp_path / "home" / "kotae.sock").exists()


def test_what_fails_is_an_answer_too(tmp_path: Path) -> None:
    with Service(tmp_path / "home", fails(RuntimeError("canary"))) as service, service.client() as client:
        response = client.post("/chat", json=QUESTION)
    assert response.status_code == 200 and response.json()["outcome"] == "failed" and "canary" not in response.text


def test_questions_of_those_who_are_gone_are_closed_at_the_next_start(tmp_path: Path) -> None:
    from adapters.terminal.channel import PASSING, PLACE
    from adapters.web.api.routes import AUDIENCE, AUTHOR
    from adapters.web.api.routes import PLACE as API
    from bot.types import Incoming

    async def leave_open(app: Application) -> None:
        for number, place in enumerate((API, PASSING, PLACE)):
            claimed = await app.bot.turns.claim(Incoming(place, "t", str(number), AUTHOR, place.channel, AUDIENCE))
            assert claimed

    with Service(tmp_path / "home") as service:
        service.do(leave_open)
    with Service(tmp_path / "home") as service:
        for _ in range(1000):
            states = dict(service.turns())
            if states[API.channel] == states[PASSING.channel] == "done":
                break
            threading.Event().wait(0.01)
        assert states[API.channel] == states[PASSING.channel] == "done" != states[PLACE.channel]


# -- readiness ------------------------------------------------------------------------------------------------------


class BrokenIndex:
    async def trouble(self) -> Text:
        return BROKEN


def without_database(app: Application) -> Application:
    nowhere = connect("sqlite+aiosqlite:////nowhere/canary/kotae.db")
    return replace(app, data=replace(app.data, engine=nowhere, votes=Votes(nowhere)))


def without_home(app: Application) -> Application:
    return replace(app, settings=app.settings.model_copy(update={"home": app.settings.home / "canary"}))


def without_room(app: Application) -> Application:
    return replace(app, free=lambda folder: 100 * 2**20)


def without_weights(app: Application) -> Application:
    embedder = LocalEmbedder(app.settings.home / "kotae.db" / "cache")  # which is a file
    with suppress(EmbeddingError):
        embedder.count_tokens("")
    return replace(app, embedder=embedder)


def without_store(app: Application) -> Application:
    return replace(app, index=BrokenIndex())  # type: ignore[arg-type]  # as much of an index as is asked


@pytest.mark.parametrize(
    ("change", "platforms", "status", "parts"),
    [
        (without_database, {}, "unready", {"database": "failed"}),
        (without_store, {}, "unready", {"store": "failed"}),
        (without_home, {}, "unready", {"home": "failed"}),
        (without_room, {}, "degraded", {"home": "low"}),
        (without_weights, {}, "degraded", {"embedder": "low"}),
        (lambda app: app, {"Slack": False}, "degraded", {"slack": "disconnected"}),
        (lambda app: app, {"Slack": True}, "ready", {"slack": "ok"}),
    ],
)
def test_readiness_names_what_does_not_work(
    tmp_path: Path,
    change: Callable[[Application], Application],
    platforms: dict[str, bool],
    status: str,
    parts: dict[str, str],
) -> None:
    serving = Service(tmp_path / "home", change=change, platforms=lambda: platforms)
    with serving as service, service.client() as client:
        response = client.get("/readyz")
        japanese = client.get("/readyz", headers={"Accept-Language": "ja"}).json()["why"]
        assert client.get("/healthz").status_code == 200
        measured = client.get("/metrics")
    assert response.status_code == (200 if status == "ready" else 503)
    found = response.json()
    wrong = {name: state for name, state in parts.items() if state in ("failed", "low")}
    assert (
        found["status"] == status
        and found["parts"] == {"database": "ok", "store": "ok", "home": "ok", "embedder": "ok"} | parts
    )
    assert found["why"].keys() == japanese.keys() == wrong.keys() and "canary" not in response.text
    assert all(found["why"][name] != japanese[name] for name in wrong)
    assert measured.status_code == 200 and "kotae_loop_lag_seconds" in measured.text
    assert ("kotae_turns" in measured.text) == (parts.get("database") != "failed")
    for name, state in found["parts"].items():
        assert f'kotae_part_up{{part="{name}"}} {float(state in ("ok", "low"))}' in measured.text


# -- a crowd --------------------------------------------------------------------------------------------------------


async def test_fifty_clients_at_once_each_get_their_own_answer(tmp_path: Path) -> None:
    """Half of them read a stream, and all of them ask before the first is answered."""
    all_here = asyncio.Barrier(50)

    async def act(ask: Ask) -> Events:
        await all_here.wait()
        yield replace(ANSWER, text=f"{ask.question} [1]")

    def serve() -> Service:
        return Service(tmp_path / "home", *[act] * 50, KOTAE_CHANNEL_PER_MINUTE=0, KOTAE_USER_PER_MINUTE=0)

    with await asyncio.to_thread(serve) as service:
        async with httpx.AsyncClient(base_url=service.url, timeout=60, trust_env=False) as client:

            async def ask(number: int) -> str:
                streamed = number % 2 == 0
                body = {"query": f"No. {number}?", "session_id": f"s{number}"}
                response = await client.post("/chat", json=body, headers=STREAM if streamed else {})
                assert response.status_code == 200, response.text
                if not streamed:
                    return str(response.json()["answer"])
                last = [line for line in response.text.splitlines() if line.startswith("data:")][-1]
                return str(json.loads(last.removeprefix("data:"))["text"])

            texts = await asyncio.gather(*(ask(number) for number in range(50)))
    assert texts == [f"No. {number}? [1]" for number in range(50)]
    assert [state for _, state in service.turns()] == ["done"] * 50
