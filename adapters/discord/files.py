"""Files that people put into Discord: fetched from its own hosts, without a token, never more than wanted.

Their addresses are good for a day at most. Source: reliability.md R41; discord.com/developers/docs/reference (signed
attachment CDN URLs).
"""

import asyncio
from collections.abc import Mapping

import aiohttp
import discord
from yarl import URL

from adapters.shared.attachments import FAILED, FOREIGN, SLOW, limited_body
from retrieval.i18n import Text
from retrieval.types import UnreadableError

SECONDS = 60.0  # for a file, with all its tries
TRIES, PAUSE = 3, 1.0
HOSTS = frozenset({"cdn.discordapp.com", "media.discordapp.net"})

_EXPIRED = Text(
    en="Discord does not give the file any more: it was deleted, or its address has expired. Please add it again.",
    ja="ファイルが削除されたか、アドレスの有効期限が切れたため、Discord から取得できません。もう一度追加してください。",
)


class ExpiredError(UnreadableError):
    """Nothing is at the address any more."""


class _Again(Exception):
    """A failure that may pass."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


async def download(url: str, limit: int, *, pause: float = PAUSE) -> bytes:
    """The bytes of an attachment, at most `limit`; `pause`: seconds between two tries. Raises ExpiredError, or
    UnreadableError with the reason in words."""
    address = _address(url)
    try:
        async with asyncio.timeout(SECONDS), aiohttp.ClientSession() as session:
            for left in reversed(range(TRIES)):
                try:
                    return await _once(session, address, limit)
                except _Again as again:
                    if not left:
                        raise UnreadableError(FAILED, platform="Discord", code=again.code) from None
                await asyncio.sleep(pause)
    except TimeoutError:
        raise UnreadableError(SLOW, platform="Discord", seconds=round(SECONDS)) from None
    raise AssertionError("the last try returns or raises")


def _address(url: str) -> URL:
    try:
        address = URL(url)
        own = address.scheme == "https" and address.host in HOSTS
        if own or address.origin() == URL(discord.asset.Asset.BASE).origin():  # of a stand-in server
            return address
    except ValueError:
        pass
    raise UnreadableError(FOREIGN, platform="Discord")


async def _once(session: aiohttp.ClientSession, url: URL, limit: int) -> bytes:
    try:
        async with session.get(url, allow_redirects=False) as response:
            _check(response.status, response.headers)
            return await limited_body(response, limit)
    except (aiohttp.ClientError, OSError) as error:
        raise _Again(type(error).__name__) from None


def _check(status: int, headers: Mapping[str, str]) -> None:
    if status in (301, 302, 303, 307, 308):
        raise UnreadableError(FOREIGN, platform="Discord")
    if status in (401, 403, 404, 410):
        raise ExpiredError(_EXPIRED)
    if status == 429 or status >= 500:
        raise _Again(str(status))
    if status != 200:
        raise UnreadableError(FAILED, platform="Discord", code=str(status))
