"""The platforms of one process, each in a task of its own, and the digest that one of them posts."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from adapters.port import Adapter
from bot.bot import Bot
from bot.errors import SettingsError
from bot.records import Period
from bot.slash_commands import PostDigest
from bot.types import UNKNOWN, Audience, Card, Place, Recipient
from bot.unanswered.digest_schedule import Announce, DigestClock
from bot.waiting import stopped
from retrieval.i18n import Text, filled

log = logging.getLogger(__name__)

AGAIN_SECONDS = 30.0  # after a platform's adapter failed

MakeCard = Callable[[Period, Place, Audience], Awaitable[Card]]
"""The digest of a period, for everyone who reads a place."""

_NOWHERE = Text(
    en="KOTAE_DIGEST_CHANNEL={channel}: no connected platform has such a channel. Use a channel's name or id, with "
    "slack: or discord: before it where both are connected; the room in the browser is web:general.",
    ja="KOTAE_DIGEST_CHANNEL={channel}: 接続中のプラットフォームに該当するチャンネルがありません。チャンネルの名前か "
    "ID を指定し、"
    "両方に接続している場合は slack: か discord: を前に付けてください。ブラウザーのチャンネルは web:general です。",
)


class Platforms:
    """The platforms that run. `refusal`: a platform does not take its settings, for good."""

    def __init__(self, adapters: Sequence[Adapter]) -> None:
        self._adapters = adapters
        self._refused = asyncio.Event()
        self.refusal: SettingsError | None = None

    @property
    def connected(self) -> Mapping[str, bool]:
        """By their names, whether messages can arrive."""
        return {_name(adapter): adapter.connected for adapter in self._adapters}

    async def until_refused(self, stopped: asyncio.Event) -> None:
        """Set `stopped` when a platform refuses its settings: better no bot than one that seems to run."""
        await self._refused.wait()
        stopped.set()

    async def keep(self, adapter: Adapter, bot: Bot) -> None:
        """Until cancelled. An adapter that fails is begun again: the other platforms go on meanwhile."""
        while True:
            try:
                await adapter.run(bot)
            except SettingsError as error:
                log.error("%s: %s", _name(adapter), error)
                self.refusal = self.refusal or error
                self._refused.set()
                return
            except ConnectionError as error:
                log.warning(
                    "%s cannot be reached (%s); trying again in %.0f seconds", _name(adapter), error, AGAIN_SECONDS
                )
            except Exception:
                log.exception("%s failed; it is begun again in %.0f seconds", _name(adapter), AGAIN_SECONDS)
            await asyncio.sleep(AGAIN_SECONDS)


@asynccontextmanager
async def connected(
    adapters: Sequence[Adapter], bot: Bot, ready: Callable[[Adapter], None] = lambda adapter: None
) -> AsyncIterator[Platforms]:
    """Serve the platforms while the block runs; at its end each takes nothing new in and lets what runs end.

    `ready` is told of each platform when messages can arrive for the first time.
    """
    platforms = Platforms(adapters)

    async def tell(adapter: Adapter) -> None:
        await adapter.ready.wait()
        ready(adapter)

    tasks = [asyncio.create_task(platforms.keep(each, bot), name=_name(each)) for each in adapters]
    tasks += [asyncio.create_task(tell(each), name=f"{_name(each)}-ready") for each in adapters]
    try:
        yield platforms
    finally:
        await stopped(*tasks)


def _name(adapter: Adapter) -> str:
    return adapter.platform.capitalize()


def digest_target(adapters: Sequence[Adapter], channel: str) -> tuple[Adapter, str]:
    """The adapter that posts the digest, and the channel's id or name there. Raises SettingsError for one that none
    has.

    `channel` is an id or a name, also with `slack:`, `discord:` or `web:` before it. Without, a number is an id of
    Discord's, and everything else Slack's, or Discord's where Slack is not set up."""
    platform, colon, rest = channel.partition(":")
    wanted = (platform,) if colon else ("discord",) if channel.isdecimal() else ("slack", "discord")
    for each in wanted:
        for adapter in adapters:
            if adapter.platform == each:
                return adapter, rest if colon else channel
    raise SettingsError(filled(_NOWHERE, channel=channel))


async def _found(adapter: Adapter, recipient: str) -> Recipient:
    """Raises what `find` raises. While the platform does not say who reads a channel, it cannot be reached: what is
    posted once would be for those who may read next to nothing."""
    to = await adapter.find(recipient)
    if to.audience == UNKNOWN:
        raise ConnectionError(f"nobody can tell who reads {to.name}")
    return to


class PeopleReach:
    """People and channels of the platforms that run, as `bot.unanswered.asking.Reach` has them."""

    def __init__(self, adapters: Sequence[Adapter], channel: str | None) -> None:
        """`channel`: where the digest is posted, as `digest_target` has it."""
        self._adapters = {adapter.platform: adapter for adapter in adapters}
        self._channel = channel

    async def find(self, recipient: str) -> Recipient:
        """`platform:id` of a person, `platform:#id` of a channel. Raises LookupError, ConnectionError."""
        platform, _, who = recipient.partition(":")
        adapter = self._adapters.get(platform)
        if adapter is None:
            raise LookupError(f"{platform} is not connected")
        return await _found(adapter, who[1:] if who.startswith("#") else f"@{who}")

    async def digest_channel(self) -> str | None:
        if self._channel is None:
            return None
        adapter, channel = digest_target(list(self._adapters.values()), self._channel)
        return f"{adapter.platform}:#{(await adapter.find(channel)).place.channel}"

    async def post(self, to: Recipient, card: Card, *, about: str) -> None:
        """Raises LookupError, ConnectionError."""
        await self._adapters[to.place.platform].announce(to.place.channel, card, about=about)


def posting(
    adapters: Sequence[Adapter], channel: str | None, make_card: MakeCard, clock: Callable[[Announce], DigestClock]
) -> PostDigest:
    """Posts the digest when somebody asks for it: in `channel` (as `digest_target` has it), else where they ask."""

    async def post(place: Place) -> bool:
        target = channel or f"{place.platform}:{place.channel}"
        return await clock(announcing(*digest_target(adapters, target), make_card)).post()

    return post


def announcing(adapter: Adapter, channel: str, make_card: MakeCard) -> Callable[[Period], Awaitable[None]]:
    """Makes the digest of a period for those who read `channel`, and posts it there. Whatever it raises: it was not
    posted whole, and is tried again without repeating what was."""

    async def announce(period: Period) -> None:
        to = await _found(adapter, channel)
        card = await make_card(period, to.place, to.audience)
        await adapter.announce(to.place.channel, card, about=f"digest:{period.until:%Y%m%dT%H%M%S}")

    return announce
