"""Discord's errors as ours, sorted by what is to be done about them. They hold Discord's own code and no secret.

Source: reliability.md R6, R10 and R35; discord-api-docs, topics/opcodes-and-status-codes (JSON error codes).
"""

import os

import aiohttp
import discord

from adapters.port import BarredError as PortBarredError
from adapters.port import GoneError as PortGoneError
from adapters.port import PostError


class DiscordError(PostError):
    """Discord did not do something. `code` is its number for the reason."""

    def __init__(self, what: str, code: str) -> None:
        super().__init__(f"{what}: {code}")
        self.code = code


class GoneError(DiscordError, PortGoneError):
    """The channel, thread or message is not there, or not for us, and will not be (R10)."""


class BarredError(GoneError, PortBarredError):
    """We may not do this there, though it is there. The channel is left alone for a while."""


class RefusedError(DiscordError):
    """The request is not acceptable as it is: it may be in another form."""


class TokenError(DiscordError):
    """The token is not valid any more: nothing works until somebody changes the settings."""


class UnreachableError(DiscordError):
    """No answer, or none that says whether it was done. What is safe to repeat may be tried again."""


class HeldError(UnreachableError):
    """Discord has taken so many of these that it takes no more for minutes. It was not done."""


GONE = frozenset({10003, 10004, 10007, 10008, 10013, 50001, 50003, 50005, 50007, 50008, 50013, 50021, 50083, 160005})
NO_REFERENCE = frozenset({160002, 160009, 160010})  # a 403 of the message that is replied to, not of the channel
ARCHIVED, LOCKED, THREAD_EXISTS = 50083, 160005, 160004
OLD_EDITS = 30046  # too many edits of messages older than an hour: a 429 of this kind of call alone
NOT_DISCORDS = frozenset({0, 40333})  # a 403 of what stands before it (discord-api-docs #6473), or of somebody's proxy
UNKNOWN_CHANNEL, UNKNOWN_MESSAGE = "10003", "10008"
NO_DIRECT = "50007"  # of a person who takes no direct messages from the bot


def translated(what: str, error: Exception) -> DiscordError:
    """For what a call of discord.py's client raises: HTTPException, RateLimited, and what the network does."""
    match error:
        case discord.HTTPException(status=401):
            return TokenError(what, "401")
        case discord.HTTPException(status=403, code=code) if code in NOT_DISCORDS:
            return UnreachableError(what, "403")
        case discord.HTTPException(code=code) if code in NO_REFERENCE:
            return RefusedError(what, str(code))
        case discord.HTTPException(status=403, code=code):
            return BarredError(what, str(code))
        case discord.HTTPException(code=code) if code in GONE:
            return GoneError(what, str(code))
        case discord.HTTPException(code=code) if code == OLD_EDITS:
            return HeldError(what, str(code))
        case discord.HTTPException(status=429) | discord.RateLimited():
            return UnreachableError(what, "429")
        case discord.HTTPException(status=status, code=code) if status >= 500 or (status == 404 and not code):
            return UnreachableError(what, str(status))
        case discord.HTTPException(status=status, code=code):
            return RefusedError(what, str(code or status))
        case TimeoutError():
            return UnreachableError(what, "timeout")
        case _:
            return UnreachableError(what, type(error).__name__)


NETWORK = (discord.HTTPException, discord.RateLimited, aiohttp.ClientError, OSError, TimeoutError)


def reason(error: BaseException) -> str:
    """Why Discord could not be reached, in a few words without any address but the host's name."""
    match error:
        case discord.HTTPException(status=status) | aiohttp.WSServerHandshakeError(status=status):
            return f"HTTP {status}"
        case discord.ConnectionClosed(code=code):
            return f"closed with code {code}"
        case aiohttp.ClientConnectorCertificateError(certificate_error=inner):
            return f"TLS: {getattr(inner, 'verify_message', '') or type(inner).__name__}"
        case aiohttp.ClientConnectorDNSError(host=host):
            return f"no address for {host}"
        case aiohttp.ClientSSLError():
            return f"TLS: {getattr(error.os_error, 'reason', '') or type(error).__name__}"
        case aiohttp.ClientConnectorError(os_error=OSError(errno=int(number))):
            return os.strerror(number)
        case TimeoutError():
            return "no answer in time"
        case _:
            return type(error).__name__
