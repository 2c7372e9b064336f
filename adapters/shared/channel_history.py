"""Channels as they are read back, as far as that is the same on all platforms. See `ChannelHistory`."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from adapters.port import Adapter, as_lookup
from bot.sources.channel import Thread
from bot.types import Audience, Card, Place, Recipient


class PlatformHistory(ABC):
    """A `ChannelHistory` over a platform's own calls, whose refusals it turns into what that raises."""

    gone: Collection[str] = ()  # its codes for a thread that is not there

    def __init__(self, adapter: Adapter, heard: Callable[[], str]) -> None:
        """`heard`: see `ChannelHistory.heard`."""
        self._adapter = adapter
        self._heard = heard

    @property
    def heard(self) -> str:
        return self._heard()

    async def find(self, recipient: str) -> Recipient:
        return await self._adapter.find(recipient)

    async def announce(self, channel: str, card: Card, *, about: str) -> None:
        await self._adapter.announce(channel, card, about=about)

    async def listed(self, channel: str, since: datetime | None, at: str | None) -> tuple[Sequence[str], str | None]:
        with as_lookup():
            return await self._listed(channel, since, at)

    async def thread(self, place: Place, root: str) -> Thread | None:
        try:
            with as_lookup():
                return await self._thread(place, root)
        except LookupError as error:
            if str(error) in self.gone:
                return None
            raise ConnectionError(str(error)) from None

    @abstractmethod
    async def readers(self, channel: str) -> tuple[Place, Audience]: ...

    @abstractmethod
    def link(self, place: Place, root: str) -> str: ...

    @abstractmethod
    async def _listed(self, channel: str, since: datetime | None, at: str | None) -> tuple[Sequence[str], str | None]:
        """Raises PostError."""

    @abstractmethod
    async def _thread(self, place: Place, root: str) -> Thread | None:
        """Raises PostError."""
