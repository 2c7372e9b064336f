"""The connections to Discord: discord.py's client as we want it, where it is pointed, and what ends it for good.

Source: platforms.md §1; reliability.md R32-R34; discord-api-docs, topics/opcodes-and-status-codes (close codes),
events/gateway (sharding, session start limit).
"""

import asyncio
import logging
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, cast

import discord
import yarl
from discord.ext import commands

from adapters.discord.transport.errors import NETWORK, reason
from bot.config.settings import DiscordSettings
from bot.config.tokens import DISCORD_AT
from bot.errors import SettingsError
from bot.waiting import stopped
from retrieval.i18n import Text, filled

log = logging.getLogger(__name__)
discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # nobody wants to speak
logging.getLogger("discord").setLevel(logging.INFO)  # at DEBUG it logs whole events and answers
logging.getLogger("discord.http").setLevel(logging.ERROR)  # of a rate limit it logs the address, which holds tokens

RATE_SECONDS = 900.0  # of a rate limit that discord.py waits for. It refuses every call, the first too, where Discord's
# window is longer than this, and that for threads has five minutes.
HOUR = 3_600.0
IDENTIFIES = 40  # an hour, of all shards; with 1,000 a day Discord resets the token (R32)
IDENTIFY_SECONDS = 5.5  # between two, whatever `max_concurrency` is. Discord wants 5; the rest is for the way there
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
_REFUSED = Text(
    en="Discord refuses the connection for good (code {code}). `kotae doctor` names what is wrong.",
    ja="Discord に接続を拒否されました（コード {code}）。`kotae doctor` で原因を確認できます。",
)


class Identifies:
    """Sessions that were begun, so that something that fails again and again does not use up the token."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._begun: deque[float] = deque(maxlen=IDENTIFIES)

    def wait(self, shards: int = 1) -> float:
        """In how many seconds so many can begin: not more in an hour than IDENTIFIES, or than there are shards."""
        before = max(IDENTIFIES - shards, 0) + 1
        return max(0.0, self._begun[-before] + HOUR - self._clock()) if len(self._begun) >= before else 0.0

    def begin(self) -> None:
        self._begun.append(self._clock())


class _Shard:
    """A shard's connection, kept by the loop that discord.py has for a single one, `Client.connect`: here is what that
    loop knows of its connection, and all else is the client's.

    The loop of discord.py's AutoShardedClient (2.7.1) begins a new session where this one resumes the old, lets the
    other shards wait while one cannot be reached, and tries a first connection again for ever, whatever the reason."""

    ws: Any = None

    def __init__(self, client: "Client", shard_id: int) -> None:
        self.shard_id = shard_id
        self.up = False  # events arrive
        self.told = asyncio.Event()  # of which servers there are
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def dispatch(self, event: str, /, *told: Any, **more: Any) -> None:
        self._client.dispatch(event, *told, **more)
        if event == "disconnect":
            self._client.dispatch("shard_disconnect", self.shard_id)

    async def live(self, previous: "_Shard | None") -> None:
        """Until it ends for good; begun when the `previous` one is there, and has been for its time."""
        while True:
            if previous is not None:
                await previous.told.wait()
                await asyncio.sleep(IDENTIFY_SECONDS)
            try:
                return await discord.Client.connect(cast(discord.Client, self))
            except AttributeError:  # over a first connection that fails, discord.py trips
                if previous is None or self.ws is not None:
                    raise

    async def leave(self) -> None:
        self.up = False
        if self.ws is not None:
            with suppress(*NETWORK):
                await self.ws.close(code=1000)


class Client(commands.Bot, discord.AutoShardedClient):
    """Hears what is registered with it, on all of the bot's shards, of which most bots have one, and has no commands in
    texts. It knows the servers of all shards."""

    def __init__(self, identifies: Identifies, *, content: bool) -> None:
        """`content`: the application has the Message Content Intent."""
        intents = discord.Intents.default()
        intents.message_content = content
        super().__init__(
            command_prefix=commands.when_mentioned,
            help_command=None,
            intents=intents,
            allowed_mentions=discord.AllowedMentions.none(),
            member_cache_flags=discord.MemberCacheFlags(voice=True, joined=False),  # guests are in voice channels
            chunk_guilds_at_startup=False,
            max_messages=REMEMBERED,
            max_ratelimit_timeout=RATE_SECONDS,
            guild_ready_timeout=GUILD_SECONDS,
        )
        self._identifies = identifies
        self._identifying = asyncio.Lock()
        self._ours: list[_Shard] = []
        self.first = asyncio.Event()  # READY came for the first time, on each shard
        self.whole = asyncio.Event()  # not so while some shards have told of their servers and others have not
        self.whole.set()
        self.begun: asyncio.Queue[int] = asyncio.Queue()  # shards whose READY came: nothing was heard there before
        self.before: dict[int | None, list[discord.Guild]] = {}  # its servers that were known when a shard identified
        self.heard = ""  # another one with each session, as what came before it may have been missed

    @property
    def up(self) -> bool:
        """Whether events arrive, on every shard."""
        return bool(self._ours) and all(shard.up for shard in self._ours)

    async def connect(self, *, reconnect: bool = True) -> None:
        """Connect the shards that Discord proposes, one after the other, and keep them: what ends one ends all. Raises
        what discord.py raises for a single connection."""
        limits = await self._limits()
        await self.launch_shards()
        count = len(self._ours)
        used_up = limits.reset_after / 1_000 if limits and limits.remaining < count else 0.0
        await self._held_back(max(self._identifies.wait(count), used_up))
        if count > 1:
            self.whole.clear()
        lives = [
            asyncio.create_task(shard.live(previous), name=f"discord-shard-{shard.shard_id}")
            for shard, previous in zip(self._ours, [None, *self._ours], strict=False)
        ]
        try:
            done, _ = await asyncio.wait(lives, return_when=asyncio.FIRST_COMPLETED)
            done.pop().result()
        finally:
            await stopped(*lives)
            await asyncio.gather(*(shard.leave() for shard in self._ours))
            self.whole.set()

    async def _limits(self) -> discord.SessionStartLimits | None:
        """None: the server does not say, as a stand-in that knows single connections only; then there is one. Raises
        GatewayNotFound."""
        try:
            return await self.fetch_session_start_limits()
        except discord.GatewayNotFound as error:
            if not isinstance(error.__cause__, discord.NotFound):
                raise
            self.shard_count = 1
            return None

    async def launch_shard(self, gateway: yarl.URL, shard_id: int, *, initial: bool = False) -> None:
        """Called by `launch_shards` for each."""
        self._ours.append(_Shard(self, shard_id))

    async def before_identify_hook(self, shard_id: int | None, *, initial: bool = False) -> None:
        async with self._identifying:
            if not initial:
                await asyncio.sleep(IDENTIFY_SECONDS)
            await self._held_back(self._identifies.wait())
            self._identifies.begin()
        self.before[shard_id] = [guild for guild in self.guilds if guild.shard_id == shard_id]

    async def _held_back(self, seconds: float) -> None:
        if seconds > 0:
            log.error("Discord's connection fails too often; the next one is begun in %.0f s", seconds)
            await asyncio.sleep(seconds)

    async def on_message(self, message: discord.Message, /) -> None:
        return

    async def on_shard_connect(self, shard_id: int) -> None:
        self._ours[shard_id].up = True
        self._ours[shard_id].told.set()
        self.heard = uuid.uuid4().hex
        self.begun.put_nowait(shard_id)
        if all(one.told.is_set() for one in self._ours):
            self.first.set()
            self.whole.set()

    async def on_shard_resumed(self, shard_id: int) -> None:
        self._ours[shard_id].up = True

    async def on_shard_disconnect(self, shard_id: int) -> None:
        self._ours[shard_id].up = False

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
        return bool(self._client.heard)  # before the first connection it is not tried again here


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
        raise _unreached(error) from None


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
    except (AttributeError, discord.GatewayNotFound, *NETWORK) as error:
        if isinstance(error, AttributeError) and client.heard:
            raise
        inner = isinstance(error, AttributeError | discord.GatewayNotFound)  # at first discord.py trips over itself
        raise _unreached((inner and error.__context__) or error) from None
    finally:
        theirs.removeFilter(attempts)
    raise ConnectionError("closed")


def token_refused() -> SettingsError:
    return SettingsError(filled(_TOKEN, where=DISCORD_AT))


def _unreached(error: BaseException) -> Exception:
    if isinstance(error, discord.HTTPException) and error.status == 401:
        return token_refused()
    return ConnectionError(reason(error))


def _closed(code: int) -> Exception:
    match code:
        case 4004:
            return token_refused()
        case 4011:  # the bot has grown; whoever begins anew asks Discord how many
            return ConnectionError("it wants more shards: 4011")
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
