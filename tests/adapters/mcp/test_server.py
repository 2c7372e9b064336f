"""The tools of programs through the SDK's own client: in memory, over HTTP with a token, and over standard input and
output. Source: sources.md §5."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, TextIO

import httpx
import httpx2
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client

from adapters.mcp.server import make_server
from bot.app import Application, running
from bot.errors import StoreError
from bot.logs import Redactor
from bot.programs.programs import EXCERPT, MISSES_A_DAY, NOTE, PREFIX
from bot.records import ProgramToken
from bot.types import Actor, Upload
from retrieval.folder import own
from retrieval.types import EVERYONE, MIN_RELEVANCE, TEAM, RAGToolError
from tests.adapters.service import Service
from tests.bot.sample_turns import begun

EDITOR = Actor("terminal", "", "terminal", "editor")
PRIVATE = "place:slack:T1:C9"


@pytest.fixture
async def app(tmp_path: Path) -> AsyncIterator[Application]:
    async with running(begun(tmp_path), Redactor()) as app:
        for name, text, scope in (
            ("refunds.md", "# Refunds\n\nRefunds take 30 days.\n\n# Ferry\n\nThe ferry leaves at nine.\n", TEAM),
            ("open.md", "# Opening\n\nThe shop opens at ten.\n", EVERYONE),
            ("pay.md", "# Salaries\n\nThe captain's salary is 900 krónur.\n", PRIVATE),
        ):
            verdict = await app.knowledge.add(Upload(name, text.encode(), "handbook", scope, "U1"), "en")
            assert verdict.document_id, verdict.reason
        yield app


async def token(app: Application, name: str = "editor", **caps: Any) -> ProgramToken:
    secret = await app.programs.add(EDITOR, name, caps.pop("audience", "team"), **caps)
    found = await app.programs.known(secret)
    assert found is not None
    return found


def client_of(app: Application, who: ProgramToken | None) -> Client:
    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        return await getattr(app.programs, tool)(who, **arguments)  # type: ignore[no-any-return]

    return Client(make_server(call))


async def used(client: Client, tool: str, **arguments: Any) -> Any:
    done = await client.call_tool(tool, arguments)
    assert not done.is_error, done.content
    return done.structured_content


# -- what the tools do -------------------------------------------------------------------------------------------------


async def test_a_program_searches_reads_asks_and_reports(app: Application) -> None:
    async with client_of(app, await token(app)) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert set(tools) == {"search", "ask", "read", "report_miss"}
        hints = {name: tool.annotations.read_only_hint for name, tool in tools.items() if tool.annotations}
        assert hints == {"search": True, "read": True, "ask": False, "report_miss": False}

        found = await used(client, "search", query="How long do refunds take?")
        assert found["note"] == NOTE
        first = found["results"][0]
        assert "Refunds take 30 days." in first["text"] and first["name"] == "refunds.md"
        read = await used(client, "read", document=first["document"], around=first["chunk"])
        assert "Refunds take 30 days." in read["passages"][0]["text"] and read["document"] == "refunds.md"

        answer = await used(client, "ask", question="How long do refunds take?")
        assert answer["outcome"] == "answered" and "30 days" in answer["answer"]
        source = answer["sources"][0]
        assert source["name"] == "refunds.md"
        read = await used(client, "read", document=source["document"], around=source["chunk"])
        assert "Refunds take 30 days." in read["passages"][0]["text"]
        assert await used(client, "report_miss", question="Where is the sauna?", why="not\nin the docs") == {
            "reported": True
        }
    open_ones = (await app.data.questions.open({TEAM})).questions
    assert {one.question for one in open_ones} == {"Where is the sauna?"}
    (reported,) = [one for one in open_ones if one.reason == "reported"]
    assert reported.detail == "not in the docs"


async def test_a_program_is_shown_the_closest_passages_and_judges_for_itself(app: Application) -> None:
    async with client_of(app, None) as client:
        found = await used(client, "search", query="When may a customer send goods back?", limit=2)
    assert {one["name"] for one in found["results"]} == {"refunds.md", "open.md"}
    assert all(one["relevance"] < MIN_RELEVANCE for one in found["results"])


async def test_what_a_search_shows_a_part_of_is_read_whole(app: Application) -> None:
    long = "The harbour master walks along every pier in the morning. " * 25 + "The last lamp is put out at 05:45."
    assert EXCERPT < len(long) < 2048
    await app.knowledge.add(Upload("harbour.md", long.encode(), "handbook", TEAM, "U1"), "en")
    async with client_of(app, None) as client:
        first = (await used(client, "search", query="harbour master pier"))["results"][0]
        read = await used(client, "read", document=first["document"], around=first["chunk"])
    assert first["text"].endswith(" …") and len(first["text"]) <= EXCERPT + 2
    assert any("05:45" in one["text"] for one in read["passages"])


async def test_a_program_never_sees_a_private_place_and_an_outside_one_only_what_is_for_everyone(
    app: Application,
) -> None:
    (private,) = [row for row in await app.data.documents.listed() if row.scope == PRIVATE]
    (team,) = [row for row in await app.data.documents.listed() if row.scope == TEAM]
    for audience, seen in (("team", {"refunds.md", "open.md"}), ("everyone", {"open.md"})):
        async with client_of(app, await token(app, audience, audience=audience)) as client:
            names: set[str] = set()
            for query in ("captain salary", "refunds ferry", "shop opening", "nine ten krónur"):
                found = await used(client, "search", query=query, limit=10)
                names |= {one["name"] for one in found["results"]}
            assert names <= seen and names
            assert "900" not in (await used(client, "ask", question="What is the captain's salary?"))["answer"]
            for document in [private.id, *([team.id] if audience == "everyone" else [])]:
                done = await client.call_tool("read", {"document": document})
                assert done.is_error and "no such document" in str(done.content)


async def test_what_is_wrong_is_said_in_words(app: Application) -> None:
    async with client_of(app, None) as client:
        for tool, arguments, said in (
            ("search", {"query": "  "}, "nothing in “query”"),
            ("search", {"query": "x", "collection": "nope"}, "nope"),
            ("search", {"query": "x", "limit": 99}, "limit"),
            ("read", {"document": "nope"}, "no such document"),
            ("read", {"document": "nope", "around": 10**9}, "no such document"),
            ("report_miss", {"question": "\u200b"}, "nothing in “question”"),
        ):
            done = await client.call_tool(tool, arguments)
            assert done.is_error and said in str(done.content), (tool, done.content)


# -- caps and tokens ---------------------------------------------------------------------------------------------------


async def test_a_token_has_its_caps(app: Application) -> None:
    minute, day = await token(app, "minute", per_minute=2), await token(app, "day", per_day=1)
    for _ in range(2):
        await app.programs.search(minute, "ferry")
    with pytest.raises(RAGToolError, match="2 times a minute"):
        await app.programs.search(minute, "ferry")
    many = await token(app, "many", per_minute=2)
    calls = [app.programs.search(many, "ferry") for _ in range(5)]
    refused = [one for one in await asyncio.gather(*calls, return_exceptions=True) if isinstance(one, RAGToolError)]
    assert len(refused) == 3  # also of many at once
    await app.programs.search(day, "ferry")
    with pytest.raises(RAGToolError, match="1 calls for today"):
        await app.programs.search(day, "ferry")
    busy = await token(app, "busy", per_minute=1_000)
    for n in range(MISSES_A_DAY):
        await app.programs.report_miss(busy, f"Question {n}?")
    with pytest.raises(RAGToolError, match="reported its 20 misses"):
        await app.programs.report_miss(busy, "One more?")
    await app.programs.search(busy, "ferry")


def all_of(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_a_token_is_kept_by_its_hash_and_can_be_taken_away(app: Application, tmp_path: Path) -> None:
    secret = await app.programs.add(EDITOR, "editor", "team")
    assert secret.startswith(PREFIX) and await app.programs.known(secret) is not None
    assert secret.encode() not in all_of(tmp_path)
    assert await app.programs.known(secret[:-1]) is None and await app.programs.known("x") is None
    with pytest.raises(RAGToolError, match="already"):
        await app.programs.add(EDITOR, "editor", "team")
    with pytest.raises(RAGToolError, match="editor can give out"):
        await app.programs.add(Actor("slack", "T1", "U1"), "mine", "team")
    await app.programs.revoke(EDITOR, "editor")
    assert await app.programs.known(secret) is None
    with pytest.raises((RAGToolError, StoreError)):
        await app.programs.revoke(EDITOR, "editor")


# -- over HTTP ---------------------------------------------------------------------------------------------------------

HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with Service(tmp_path_factory.mktemp("mcp") / "home") as one:
        yield one


def made(service: Service, name: str) -> str:
    command = [sys.executable, "-m", "bot", "token", "add", name, "--json"]
    done = subprocess.run(command, env=os.environ | {"KOTAE_HOME": str(service.home)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["token"])


async def test_over_http_a_token_is_needed_and_good_for_nothing_else(service: Service) -> None:
    secret = await asyncio.to_thread(made, service, "http")
    with service.client() as client:
        post = client.post
        assert post("/mcp", json=HELLO, headers=ACCEPT).status_code == 401
        for wrong in ("Bearer nope", f"Bearer {PREFIX}nope", f"Basic {secret}"):
            refused = post("/mcp", json=HELLO, headers=ACCEPT | {"Authorization": wrong})
            assert (refused.status_code, refused.json()["error"]) == (401, "token_needed")
        shown = ACCEPT | {"Authorization": f"Bearer {secret}"}
        assert post("/mcp", json=HELLO, headers=shown).json()["result"]["serverInfo"]["name"] == "kotae"
        assert post("/mcp", json=HELLO, headers=shown | {"Origin": "https://evil.example"}).status_code == 403
        with client.stream("GET", "/mcp", headers=shown) as response:
            assert response.status_code == 405
        assert post("/mcp", json=HELLO, headers=shown | {"Host": "evil.example"}).status_code == 400
        for path in ("/documents", "/healthz", "/search?query=x"):
            refused = client.get(path, headers={"Authorization": f"Bearer {secret}"})
            assert (refused.status_code, refused.json()["error"]) == (401, "token_needed")
            assert client.get(path).status_code == 200

    headers = {"Authorization": f"Bearer {secret}"}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(f"{service.url}/mcp", http_client=http)) as program,
    ):
        assert {tool.name for tool in (await program.list_tools()).tools} >= {"search", "ask"}
        assert (await used(program, "search", query="refunds"))["note"] == NOTE


@pytest.fixture
def complaints() -> Iterator[TextIO]:
    """Not pytest's, which is another for each test."""
    with Path(os.devnull).open("w") as nowhere:
        yield nowhere


def stdio(home: Path) -> StdioServerParameters:
    env = {**os.environ, "KOTAE_HOME": str(home), "KOTAE_LANGUAGE": "en"}
    return StdioServerParameters(command=sys.executable, args=["-m", "bot", "mcp"], env=env)


async def test_over_standard_input_and_output_beside_a_running_bot(service: Service, complaints: TextIO) -> None:
    async with Client(stdio_client(stdio(service.home), errlog=complaints)) as program:
        assert await used(program, "report_miss", question="Who waters the plants?") == {"reported": True}
        refused = await program.call_tool("read", {"document": "nope"})
        assert refused.is_error and "There is no such document to read." in str(refused.content)
    async with httpx.AsyncClient(base_url=service.url) as client:
        assert "Who waters the plants?" in (await client.get("/unanswered")).text


async def test_without_a_bot_a_program_that_stays_keeps_nobody_from_the_home(
    tmp_path: Path, complaints: TextIO
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    async with (
        Client(stdio_client(stdio(home), errlog=complaints)) as one,
        Client(stdio_client(stdio(home), errlog=complaints)) as another,
    ):
        for program in (one, another, one):
            assert (await used(program, "search", query="refunds"))["results"] == []
        os.close(own(home))  # as `kotae run` does
