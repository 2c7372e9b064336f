"""The connection to Discord: discord.py's client as we want it, where it is pointed, and what ends it for good.

Source: platforms.md §1; reliability.md R32-R34; discord-api-docs, topics/opcodes-and-status-codes (close codes).
"""

import asyncio
import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import discord
import yarl
from discord.ext import commands

from adapters.discord.transport.errors import NETWORK, reason
from bot.config.settings import DiscordSettings, filled
from bot.config.tokens import DISCORD_AT
from bot.errors import SettingsError
from retrieval.i18n import Text

log = logging.getLogger(__name__)
discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # nobody wants to speak
logging.getLogger("discord").setLevel(logging.INFO)  # at DEBUG it logs whole events and answers
logging.getLogger("discord.http").setLevel(logging.ERROR)  # of a rate limit it logs the address, which holds tokens

RATE_SECONDS = 900.0  # of a rate limit that discord.py waits for. It refuses every call, the first too, where Discord's
# window is longer than this, and that for threads has five minutes.
HOUR = 3_600.0
IDENTIFIES = 40  # an hour; with 1,000 a day Discord resets the token (R32)
GUILD_SECONDS = 0.5  # that discord.py waits for the next server at the start
REMEMBERED = 1_000  # messages, for what an edit has changed

_TOKEN = Text(
    en="Discord does not accept DISCORD_TOKEN. Put the bot's token into DISCORD_TOKEN in .env. It is found at: {where}",
    ja="Discord が DISCORD_TOKEN を受け付けません。ボットのトークンを .env の DISCORD_TOKEN に入れてください。"
    "取得場所: {where}",
)
_INTENTS = Text(
    en="Discord refuses the bot's intents. Switch on the Message Content Intent: "
    "https://discord.com/developers/applications/{id}/bot → Privileged Gateway Intents → Message Content Intent.",
    ja="Discord がボットの Intent を拒否しました。Message Content Intent を有効にしてください: "
    "https://discord.com/developers/applications/{id}/bot → Privileged Gateway Intents → Message Content Intent",
)
_SHARDING = Text(
    en="The bot is in too many servers for one connection (Discord's code 4011): remove it from some, or make an "
    "application of its own for the team. docs/deploy.md says why there is one.",
    ja="ボットの参加サーバーが多すぎるため、1 本の接続では動作できません（Discord のコード 4011）。"
    "参加サーバーを減らすか、チーム専用のアプリケーションを作成してください。理由は docs/deploy.md にあります。",
)
_REFUSED = Text(
    en="Discord refuses the connection for good (code {code}). `kotae doctor` names what is wrong.",
    ja="Discord に接続を拒否されました（コード {code}）。`kotae doctor` で原因を確認できます。",
)


class Identifies:
    """Sessions that were begun, so that something that fails again and again does not use up the token."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: deque[float] = deque(maxlen=IDENTIFIES)

    def wait(self) -> float:
        """How many seconds the next one has to wait; it counts as begun."""
        now = self._clock()
        oldest = self._begun[0] if len(self._begun) == IDENTIFIES else now - HOUR
        self._begun.append(max(now, oldest + HOUR))
        return max(0.0, oldest + HOUR - now)


class Client(commands.Bot):
    """Hears what is registered with it, and has no commands in texts."""

    def __init__(self, identifies: Identifies, *, content: bool) -> None:
        """`content`: the application has the Message Content Intent."""
        intents = discord.Intents.default()
        intents.message_content = content
        super().__init__(
            command_prefix=commands.when_mentioned,
            help_command=None,
            intents=intents,
            allowed_mentions=discord.AllowedMentions.none(),
            member_cache_flags=discord.MemberCacheFlags.none(),
            chunk_guilds_at_startup=False,
            max_messages=REMEMBERED,
            max_ratelimit_timeout=RATE_SECONDS,
            guild_ready_timeout=GUILD_SECONDS,
        )
        self._identifies = identifies
        self.first = asyncio.Event()  # READY came for the first time
        self.begun = asyncio.Event()  # READY came: a session of which nothing was heard before
        self.up = False  # events arrive
        self.heard = ""  # another one with each session, as what came before it may have been missed

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        await super().before_identify_hook(shard_id, initial=initial)
        if (wait := self._identifies.wait()) > 0:
            log.error("Discord's connection fails too often; the next one is begun in %.0f s", wait)
            await asyncio.sleep(wait)

    async def on_message(self, message: discord.Message, /) -> None:
        return

    async def on_connect(self) -> None:
        self.up = True
        self.heard = uuid.uuid4().hex
        self.first.set()
        self.begun.set()

    async def on_resumed(self) -> None:
        self.up = True

    async def on_disconnect(self) -> None:
        self.up = False

    async def all_here(self, seconds: float) -> None:
        """Until all servers have been told, but no longer than this."""
        for _ in range(round(seconds / 0.02)):
            if not any(guild.unavailable for guild in self.guilds):
                return
            await asyncio.sleep(0.02)


class _Attempts(logging.Filter):
    """A try to connect again is one line; how the connection was lost is told once, at DEBUG. discord.py tells it with
    a traceback each time."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client
        self._told = False

    def filter(self, record: logging.LogRecord) -> bool:
        error = record.exc_info[1] if record.exc_info else None
        if error is None or not str(record.msg).startswith("Attempting a reconnect"):
            return True
        if not self._told:
            self._told = True
            log.debug("the connection to Discord was lost", exc_info=error)
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        record.msg = "Discord's gateway cannot be reached (%s); next try in %.0f s"
        record.args = (reason(error), *(record.args or ()))
        record.exc_info = record.exc_text = None
        return self._client.first.is_set()  # before the first connection it is not tried again here


async def hears_others(token: str) -> bool:
    """Whether the application has the Message Content Intent: to be known before the connection, which is refused with
    more intents than that. Raises SettingsError, ConnectionError."""
    async with discord.Client(intents=discord.Intents(guilds=True)) as client:
        await enter(client, token)
        flags = client.application.flags if client.application else discord.ApplicationFlags()
        return flags.gateway_message_content or flags.gateway_message_content_limited


async def enter(client: discord.Client, token: str) -> None:
    """Log in. Raises SettingsError when the token is not taken, ConnectionError when Discord cannot be reached."""
    try:
        await client.login(token)
    except discord.LoginFailure:
        raise token_refused() from None
    except NETWORK as error:
        if isinstance(error, discord.HTTPException) and error.status == 401:
            raise token_refused() from None
        raise ConnectionError(reason(error)) from None


async def listen(client: Client) -> None:
    """Hear events until cancelled. Raises SettingsError when Discord ends it for good, ConnectionError."""
    attempts, theirs = _Attempts(client), logging.getLogger("discord.client")
    theirs.addFilter(attempts)
    try:
        await client.connect()
    except discord.PrivilegedIntentsRequired:
        raise SettingsError(filled(_INTENTS, id=str(client.application_id or ""))) from None
    except discord.ConnectionClosed as error:
        raise _closed(error.code) from None
    except (AttributeError, *NETWORK) as error:
        if isinstance(error, AttributeError) and client.first.is_set():
            raise
        lost = error.__context__ if isinstance(error, AttributeError) else error
        raise ConnectionError(reason(lost or error)) from None  # at first discord.py trips over itself
    finally:
        theirs.removeFilter(attempts)
    raise ConnectionError("closed")


def token_refused() -> SettingsError:
    return SettingsError(filled(_TOKEN, where=DISCORD_AT))


def _closed(code: int) -> Exception:
    match code:
        case 4004:
            return token_refused()
        case 4011:
            return SettingsError(_SHARDING)
        case 4010 | 4012 | 4013:
            return SettingsError(filled(_REFUSED, code=str(code)))
        case _:
            return ConnectionError(str(code))


@contextmanager
def pointed_at(settings: DiscordSettings) -> Iterator[None]:
    """discord.py talks to the servers of the settings, and to Discord again afterwards. It can be told so for the whole
    process only."""
    route, gateway, asset = discord.http.Route, discord.gateway.DiscordWebSocket, discord.asset.Asset
    before = route.BASE, gateway.DEFAULT_GATEWAY, asset.BASE
    if settings.api_url:
        route.BASE = settings.api_url.rstrip("/")
    if settings.gateway_url:
        gateway.DEFAULT_GATEWAY = yarl.URL(settings.gateway_url)
    if settings.cdn_url:
        asset.BASE = settings.cdn_url.rstrip("/")
    try:
        yield
    finally:
        route.BASE, gateway.DEFAULT_GATEWAY, asset.BASE = before
