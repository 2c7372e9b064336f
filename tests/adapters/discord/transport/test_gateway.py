"""A connection that is lost and cannot be had again is said in one line a try."""

import logging
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import discord
import pytest
from aiohttp.abc import AbstractResolver

from adapters.discord.transport.errors import reason
from tests.adapters.discord.service import Service, bot
from tests.adapters.discord.stage import TYPING
from tests.fakes.discord_client import pointed_at
from tests.fakes.discord_fake import FakeDiscord
from tests.fakes.discord_gate import status

TRY = "Discord's gateway cannot be reached ({}); next try in "


@asynccontextmanager
async def resuming_at(home: Path, address: str) -> AsyncIterator[tuple[FakeDiscord, Service]]:
    """A bot whose session is to be resumed at another address: what READY tells it."""
    async with FakeDiscord(limits=False) as discord:
        discord.gateway.address = address.format(port=discord.url.rpartition(":")[2])
        async with bot(discord, home) as here:
            yield discord, here


def lines(caplog: pytest.LogCaptureFixture) -> list[logging.LogRecord]:
    return [one for one in caplog.records if one.name.startswith("discord.client") and one.levelno >= logging.WARNING]


async def test_each_try_to_connect_again_is_one_line_and_how_it_was_lost_is_told_once(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "adapters.discord")
    async with resuming_at(tmp_path, "ws://127.0.0.1:9") as (discord, here):
        discord.close(4000)
        await discord.wait_for(lambda: len(lines(caplog)) == 2)
        assert not here.adapter.connected
    for line in lines(caplog):
        assert line.levelname == "WARNING" and not line.exc_info and "\n" not in line.getMessage()
        assert line.getMessage().startswith(TRY.format("Connection refused"))
    traces = [one for one in caplog.records if one.exc_info]
    assert len(traces) == 1 and traces[0].levelno == logging.DEBUG
    assert discord.token not in caplog.text


@pytest.mark.parametrize(
    ("address", "why"), [("wss://127.0.0.1:{port}", "TLS: "), ("ws://127.0.0.1:{port}", "HTTP 502")], ids=["tls", "5xx"]
)
async def test_why_discord_cannot_be_reached_is_said(
    address: str, why: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with resuming_at(tmp_path, address) as (discord, _):
        discord.gateway.rules.status = 502
        discord.close(4000)
        (line,) = await discord.wait_for(lambda: lines(caplog)[:1])
        assert line.getMessage().startswith(TRY.format(why).partition(")")[0]) and not line.exc_info


async def test_a_gateway_that_is_not_there_at_first_is_a_connection_error_with_its_reason(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with FakeDiscord() as discord:
        discord.gateway.rules.status = 503
        with pytest.raises(ConnectionError, match=r"^HTTP 503$"):
            async with bot(discord, tmp_path):
                pass
    assert not lines(caplog)  # whoever runs the adapter says when it is begun again


class Nowhere(AbstractResolver):
    async def resolve(self, host: str, port: int = 0, family: Any = 0) -> Any:
        raise OSError(-2, "Name or service not known")

    async def close(self) -> None:
        return


async def test_reasons_are_few_words_without_addresses() -> None:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Nowhere())) as session:
        with pytest.raises(aiohttp.ClientConnectorDNSError) as unknown:
            await session.ws_connect("wss://gateway.discord.gg/?token=secret")
    assert reason(unknown.value) == "no address for gateway.discord.gg"
    async with FakeDiscord() as fake, discord.Client(intents=discord.Intents.none()) as client:
        with pointed_at(fake):
            await client.login(fake.token)
            fake.fail(TYPING, status(503))
            with pytest.raises(discord.HTTPException) as failed:
                await client.http.send_typing(1)
            assert reason(failed.value) == "HTTP 503"
    forged = ssl.SSLCertVerificationError(1, "bad")
    key = aiohttp.client_reqrep.ConnectionKey("h", 443, True, True, None, None, None)
    assert reason(aiohttp.ClientConnectorCertificateError(key, forged)).startswith("TLS: ")
    assert reason(TimeoutError()) == "no answer in time"
