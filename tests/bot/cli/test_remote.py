"""Both ends of a home's socket: what the owner takes and refuses, and what a command makes of what comes back."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from adapters.terminal.channel import PASSING
from bot.cli.remote import SOCKET, Owner, OwnerRefusedError, at_home
from bot.turns.event_json import packed, unpacked
from bot.types import Audience, Incoming
from retrieval.folder import OwnedError, own
from retrieval.i18n import Language
from tests.adapters.fixed import TURNS
from tests.adapters.service import Service

ASKED = Incoming(PASSING, "t", "m", "terminal", "When?", Audience("public"))


# -- the owner's end ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("orders") / "home") as one:
        yield one


@pytest.mark.parametrize(
    ("command", "arguments", "status", "error"),
    [
        ("nope", {}, 422, "not_offered"),
        ("__init__", {}, 422, "not_offered"),
        ("ingest", {}, 415, "wrong_content_type"),
        ("documents", {"colection": "x"}, 422, "not_offered"),
        ("search", {}, 422, "not_offered"),
        ("search", {"query": "x", "mode": "nope"}, 422, "not_offered"),
        ("ask", {"question": 1}, 422, "wrong_fields"),
        ("merge", {"source": "nope", "into": "x"}, 404, "collection_not_found"),
        ("describe", {"name": "a,b", "description": "x"}, 422, "refused"),
        ("check", {"model": "nope:x"}, 422, "not_offered"),
    ],
)
def test_what_the_owner_refuses(
    service: Service, command: str, arguments: dict[str, Any], status: int, error: str
) -> None:
    with service.commands() as client:
        response = client.post(f"/commands/{command}", json=arguments)
    assert (response.status_code, response.json()["error"]) == (status, error)


def test_a_file_with_a_scope_of_no_kind_is_refused(service: Service) -> None:
    with service.commands() as client:
        about = {"name": "a.md", "scope": "all"}
        response = client.post(
            "/commands/ingest", params=about, content=b"# A", headers={"Content-Type": "application/octet-stream"}
        )
    assert (response.status_code, response.json()["error"]) == (422, "wrong_fields")


def test_only_what_is_a_folder_s_own_is_pruned(service: Service) -> None:
    kind, mine, others = {"Content-Type": "application/octet-stream"}, "0" * 32, "1" * 32
    ids = {}
    with service.commands() as client:
        for name, folder in (("mine.md", mine), ("theirs.md", others), ("by-hand.md", None)):
            about = {"name": name, "scope": "team", "collection": "pruned"} | ({"folder": folder} if folder else {})
            added = client.post("/commands/ingest", params=about, content=f"# {name}\n\nA text.".encode(), headers=kind)
            ids[name] = added.json()["id"]
        asked = {"folder": mine, "ids": [*ids.values(), "nothing"]}
        assert client.post("/commands/prune", json=asked).json() == {"forgotten": [ids["mine.md"]]}
        left = client.post("/commands/documents", json={"collection": "pruned"}).json()["documents"]
        refused = client.post("/commands/ingest", params={**about, "folder": "terminal"}, content=b"x", headers=kind)
    assert [one["name"] for one in left] == ["by-hand.md", "theirs.md"]
    assert (refused.status_code, refused.json()["error"]) == (422, "wrong_fields")


def test_events_arrive_as_they_were() -> None:
    for event in (*TURNS["ja"], *TURNS["en"]):
        again = unpacked(packed(event))
        assert again == event and type(again) is type(event) and packed(again) == packed(event)
    with pytest.raises((KeyError, ValueError)):
        unpacked({"type": "song", "event": {}})


# -- the command's end ----------------------------------------------------------------------------------------------


def owner(answer: Any, language: Language = "en") -> Owner:
    return Owner(httpx.AsyncClient(transport=httpx.MockTransport(answer), base_url="http://kotae"), language)


async def cut(request: httpx.Request) -> httpx.Response:
    raise httpx.ReadError("connection reset")


@pytest.mark.parametrize(
    ("response", "said", "usage"),
    [
        (httpx.Response(404, json={"error": "collection_not_found", "message": "It is not there."}), "It is not", True),
        (httpx.Response(503, json={"error": "database_unavailable", "message": "No space."}), "No space", False),
        (httpx.Response(500, text="<html>"), "another version", False),
        (httpx.Response(200, text="[1]"), "another version", False),
        (httpx.Response(404, json={"detail": "Not Found"}), "another version", False),
    ],
)
async def test_what_comes_back_instead_of_an_answer(response: httpx.Response, said: str, usage: bool) -> None:
    far = owner(lambda request: response)
    for work in (far("documents"), far.ingest("a.md", b"# A", None, "team")):
        with pytest.raises(OwnerRefusedError, match=said) as caught:
            await work
        assert caught.value.usage == usage


@pytest.mark.parametrize(("language", "said"), [("en", "stopped"), ("ja", "停止")])
async def test_an_owner_that_is_gone(language: Language, said: str) -> None:
    far = owner(cut, language)
    with pytest.raises(OwnerRefusedError, match=said):
        await far("documents")
    with pytest.raises(OwnerRefusedError, match=said):
        [event async for event in far.turns.reply(ASKED)]


class Home:
    """A home as a command finds it: what it was told, and which way it went."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[str] = []
        self.asked = 0

    async def go(self, when_told: Callable[[], None] = lambda: None, patience: float = 30.0) -> str:
        def tell(text: str) -> None:
            self.told.append(text)
            when_told()

        async def through(owner: Owner) -> str:
            self.asked += 1
            return str((await owner("documents"))["here"])

        async def alone(lock: int | None) -> str:
            with pytest.raises(OwnedError):
                own(self.folder)
            assert lock is not None
            os.close(lock)
            return "alone"

        async with asyncio.timeout(30):
            return await at_home(self.folder, "ja", through, alone, tell=tell, patience=patience)

    @asynccontextmanager
    async def served(self, answer: Callable[[asyncio.StreamWriter], None]) -> AsyncIterator[None]:
        """The socket of an owner that has been asked."""

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            try:
                if await reader.read(1):  # not only a look whether somebody is there
                    answer(writer)
            finally:
                writer.close()

        server = await asyncio.start_unix_server(serve, self.folder / SOCKET)
        try:
            yield
        finally:
            server.close()
            await server.wait_closed()


def through_it(writer: asyncio.StreamWriter) -> None:
    body = b'{"here": "through"}'
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))


async def test_a_command_waits_for_an_owner_that_is_starting(tmp_path: Path) -> None:
    home, lock = Home(tmp_path), own(tmp_path)
    async with AsyncExitStack() as stack:
        stack.callback(os.close, lock)

        def ready() -> None:
            starting.append(asyncio.ensure_future(stack.enter_async_context(home.served(through_it))))

        starting: list[asyncio.Future[None]] = []
        assert await home.go(ready) == "through"
    assert len(home.told) == 1 and "最大 30 秒待ちます" in home.told[0]


async def test_a_command_opens_a_home_that_its_owner_has_left(tmp_path: Path) -> None:
    home, lock = Home(tmp_path), own(tmp_path)
    assert await home.go(lambda: os.close(lock)) == "alone"
    assert len(home.told) == 1 and home.asked == 0
    assert await home.go() == "alone" and len(home.told) == 1  # nobody to wait for


async def test_a_command_that_meets_an_owner_as_it_stops_opens_the_home_afterwards(tmp_path: Path) -> None:
    home, lock = Home(tmp_path), own(tmp_path)

    def stop(writer: asyncio.StreamWriter) -> None:
        (tmp_path / SOCKET).unlink()

    async with home.served(stop):
        assert await home.go(lambda: os.close(lock)) == "alone"
    assert home.asked == 1 and len(home.told) == 1


async def test_a_command_is_not_done_twice_where_the_owner_was_killed(tmp_path: Path) -> None:
    home, lock = Home(tmp_path), own(tmp_path)
    async with home.served(lambda writer: None):
        with pytest.raises(OwnerRefusedError, match="停止"):
            await home.go()
    os.close(lock)


async def test_an_owner_that_stays_silent_is_named_in_the_end(tmp_path: Path) -> None:
    home, lock = Home(tmp_path), own(tmp_path)
    with pytest.raises(OwnerRefusedError, match="応答がありません") as refused:
        await home.go(patience=0.2)
    assert str(tmp_path) in refused.value.text and not refused.value.usage and len(home.told) == 1
    os.close(lock)


async def test_a_stream_of_another_version() -> None:
    async def lines() -> AsyncIterator[bytes]:
        yield b': working\n\ndata: {"type": "song"}\n\n'

    far = owner(lambda request: httpx.Response(200, content=lines()))
    with pytest.raises(OwnerRefusedError, match="another version"):
        [event async for event in far.turns.reply(ASKED)]


async def test_a_question_that_is_refused_is_no_stream() -> None:
    refusal = {"error": "wrong_fields", "message": "These parts are wrong."}
    far = owner(lambda request: httpx.Response(422, json=refusal))
    with pytest.raises(OwnerRefusedError, match="These parts"):
        [event async for event in far.turns.reply(ASKED)]
