"""Both ends of a home's socket: what the owner takes and refuses, and what a command makes of what comes back."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from adapters.console import PASSING
from bot.client import Owner, RefusedError
from bot.messages import Audience, Incoming
from bot.wire import packed, unpacked
from retrieval.text import Language
from tests.adapters.desk import TURNS
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
        with pytest.raises(RefusedError, match=said) as caught:
            await work
        assert caught.value.usage == usage


@pytest.mark.parametrize(("language", "said"), [("en", "stopped"), ("ja", "停止")])
async def test_an_owner_that_is_gone(language: Language, said: str) -> None:
    far = owner(cut, language)
    with pytest.raises(RefusedError, match=said):
        await far("documents")
    with pytest.raises(RefusedError, match=said):
        [event async for event in far.desk.reply(ASKED)]


async def test_a_stream_of_another_version() -> None:
    async def lines() -> AsyncIterator[bytes]:
        yield b': working\n\ndata: {"type": "song"}\n\n'

    far = owner(lambda request: httpx.Response(200, content=lines()))
    with pytest.raises(RefusedError, match="another version"):
        [event async for event in far.desk.reply(ASKED)]


async def test_a_question_that_is_refused_is_no_stream() -> None:
    refusal = {"error": "wrong_fields", "message": "These parts are wrong."}
    far = owner(lambda request: httpx.Response(422, json=refusal))
    with pytest.raises(RefusedError, match="These parts"):
        [event async for event in far.desk.reply(ASKED)]
