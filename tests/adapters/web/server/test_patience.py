"""Requests that are begun and not finished are given up after some seconds, and do not keep others waiting."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from adapters.web.server.patience import Patience
from adapters.web.server.server import _Server
from adapters.web.server.sockets import listen
from retrieval.i18n import Language
from tests.adapters.acting import until
from tests.adapters.service import Service
from tests.adapters.web.server.test_guard import let_in

HALF = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Half"
HALF_BODY = b"POST /chat HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{"


@asynccontextmanager
async def opened(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield reader, writer
    finally:
        writer.close()


@asynccontextmanager
async def serving(patience: Patience) -> AsyncIterator[int]:
    """A server that says “in” to everybody, and its port."""
    address = listen("127.0.0.1", 0, token=None)
    server = _Server(let_in, list(address.sockets), patience)
    await server.begin()
    try:
        yield address.port
    finally:
        await server.end()
        assert not patience.waiting


async def answer(reader: asyncio.StreamReader) -> bytes:
    async with asyncio.timeout(20):
        return await reader.read()


@pytest.mark.parametrize(("language", "said"), [("en", "within 1 seconds"), ("ja", "1 秒以内")])
async def test_a_head_that_does_not_end_is_answered_with_a_408(language: Language, said: str) -> None:
    async with serving(Patience(language, head_seconds=0.6)) as port, opened(port) as (reader, writer):
        writer.write(HALF)
        head, _, body = (await answer(reader)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 408 ") and said in json.loads(body)["message"]


async def test_a_head_that_comes_byte_by_byte_gets_no_more_time() -> None:
    async with serving(Patience("en", head_seconds=0.3)) as port, opened(port) as (reader, writer):
        read = asyncio.create_task(answer(reader))
        while not read.done():
            writer.write(b"G")
            await asyncio.wait({read}, timeout=0.02)
        assert (await read).startswith(b"HTTP/1.1 408 ")


async def test_who_says_nothing_is_told_nothing_and_let_go() -> None:
    async with serving(Patience("en", head_seconds=0.05)) as port, opened(port) as (reader, _):
        assert await answer(reader) == b""


async def test_a_second_request_on_a_connection_is_timed_for_itself() -> None:
    patience = Patience("en", head_seconds=0.3)
    async with serving(patience) as port, opened(port) as (reader, writer):
        for _ in range(2):
            writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\nin")).startswith(b"HTTP/1.1 200 ")
            assert not patience.waiting  # between two requests nothing is waited for
        writer.write(HALF)
        assert (await answer(reader)).startswith(b"HTTP/1.1 408 ")


async def test_what_is_left_of_a_body_after_its_answer_is_not_waited_for_long() -> None:
    async with serving(Patience("en", head_seconds=0.3)) as port, opened(port) as (reader, writer):
        writer.write(HALF_BODY.replace(b": 9", b": 900000"))
        read = asyncio.create_task(answer(reader))
        while not read.done():
            writer.write(b" ")  # each of which keeps uvicorn's own patience
            await asyncio.wait({read}, timeout=0.02)
        assert read.exception() or (await read).startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("half", [HALF, HALF_BODY], ids=["head", "body"])
async def test_hundreds_of_half_requests_keep_nobody_waiting(tmp_path: Path, half: bytes) -> None:
    patience = Patience("en", head_seconds=600.0, unfinished=50)
    with Service(tmp_path / "home", patience=patience) as service:
        async with httpx.AsyncClient(base_url=service.url, trust_env=False, timeout=10) as client:
            connections = [await asyncio.open_connection("127.0.0.1", service.port) for _ in range(200)]
            try:
                for _, writer in connections:
                    writer.write(half)
                    await writer.drain()
                for _ in range(3):
                    assert (await client.get("/healthz")).status_code == 200
                assert (await client.get("/search", params={"query": "x"})).status_code == 200
                gone = [asyncio.create_task(answer(reader)) for reader, _ in connections]

                async def given_up() -> int:
                    return sum(task.done() for task in gone)

                assert await until(given_up, lambda count: count >= 150) <= 160  # the client's own connections count
                assert len(patience.waiting) <= 50
            finally:
                for task in gone:
                    task.cancel()
                await asyncio.gather(*gone, return_exceptions=True)
                for _, writer in connections:
                    writer.close()


async def test_who_sends_goes_on_and_who_stands_still_longest_goes() -> None:
    patience = Patience("en", head_seconds=600.0, unfinished=2)

    async def waiting() -> list[object]:
        return list(patience.waiting)

    async with serving(patience) as port, opened(port) as (kept, busy):
        busy.write(HALF)
        (first,) = await until(waiting, lambda some: len(some) == 1)
        async with opened(port) as (lost, still):
            still.write(HALF)
            await until(waiting, lambda some: len(some) == 2 and some[0] is first)
            busy.write(b": yes\r\n")
            await until(waiting, lambda some: some[1] is first)
            async with opened(port) as (_, another):
                another.write(HALF)
                assert await answer(lost) == b""
        busy.write(b"Connection: close\r\n\r\n")
        assert (await answer(kept)).startswith(b"HTTP/1.1 200 ")
