"""People and channels of the workspace, as Slack says: looked up rarely, and whole or not at all. What was looked up
lately is kept for a while: one look-up at a time for one key, and failures are not kept."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

from adapters.shared.rate_limit import Clock
from adapters.slack.transport.errors import SlackError, UnreachableError
from bot.waiting import stopped

V = TypeVar("V")

MOST = 5_000
PATIENCE = 45.0  # seconds that somebody waits for a look-up: a minute and more goes into five tries that hang


class Cached(Generic[V]):
    """Values by key, for `seconds`; the oldest go when there are more than `MOST`. Close it."""

    def __init__(
        self,
        look_up: Callable[[str], Awaitable[V]],
        seconds: float,
        *,
        clock: Clock,
        patience: float | None = PATIENCE,
    ) -> None:
        """`patience`: seconds that each caller waits, while the look-up goes on for the next one."""
        self._look_up = look_up
        self._seconds = seconds
        self._clock = clock
        self._patience = patience
        self._known: dict[str, tuple[float, V]] = {}
        self._under_way: dict[str, asyncio.Task[V]] = {}
        self._old: set[asyncio.Task[V]] = set()  # for those who waited already

    async def get(self, key: str) -> V:
        """Raises what the look-up raises, to all who waited for it, UnreachableError to whoever has waited enough."""
        until, value = self._known.get(key, (0.0, None))
        if value is not None and self._clock() < until:
            return value
        task = self._under_way.get(key)
        if task is None:
            task = self._under_way[key] = asyncio.create_task(self._fetch(key))
            task.add_done_callback(_seen)
        # Whoever gives up waiting does not take the value away from the others.
        waiting = asyncio.timeout(self._patience)
        try:
            async with waiting:
                return await asyncio.shield(task)
        except TimeoutError:
            if not waiting.expired():
                raise
            raise UnreachableError("look-up", "timeout") from None

    def forget(self, key: str) -> None:
        """Whoever asks next wants to know how it is now: what is looked up already may be older."""
        self._known.pop(key, None)
        if (old := self._under_way.pop(key, None)) is not None:
            self._old.add(old)
            old.add_done_callback(self._old.discard)

    @property
    def values(self) -> list[V]:
        return [value for _, value in self._known.values()]

    async def close(self) -> None:
        await stopped(*self._under_way.values(), *self._old)

    async def _fetch(self, key: str) -> V:
        try:
            value = await self._look_up(key)
        finally:
            now = self._under_way.get(key) is asyncio.current_task()
            if now:
                del self._under_way[key]
        if not now:
            return value
        self._known.pop(key, None)
        if len(self._known) >= MOST:
            del self._known[next(iter(self._known))]
        self._known[key] = (self._clock() + self._seconds, value)
        return value


def _seen(task: "asyncio.Task[V]") -> None:
    """A failure that nobody waits for any longer is no news."""
    if not task.cancelled():
        task.exception()


Json = dict[str, Any]
Call = Callable[[str, Json], Awaitable[Json]]

USER_SECONDS, USERS_SECONDS, CHANNEL_SECONDS = 600.0, 600.0, 60.0
MEMBERS_SECONDS = 30.0  # every turn asks for them, and Slack allows 60 such calls a minute
_PAGE, _PAGES = 1_000, 30
TOO_MANY = "too_many"  # beyond them
ALL, FIRST = "all", "first"  # accounts, and a page of them


class Directory:
    """`call` asks a method of Slack's. Close it."""

    def __init__(self, call: Call, *, clock: Clock) -> None:
        self._call = call
        self.user = Cached(self._user, USER_SECONDS, clock=clock)
        self.users = Cached(self._users, USERS_SECONDS, clock=clock, patience=None)  # minutes, of many
        self.channel = Cached(self._channel, CHANNEL_SECONDS, clock=clock)
        self.members = Cached(self._members, MEMBERS_SECONDS, clock=clock)

    async def close(self) -> None:
        for cached in (self.user, self.users, self.channel, self.members):
            await cached.close()

    def changed(self, account: Json) -> None:
        """Slack tells of an account as it is now."""
        self.user.forget(str(account["id"]))
        for listed in self.users.values:
            listed[:] = [account if one["id"] == account["id"] else one for one in listed]

    async def _members(self, channel: str) -> list[str]:
        return await self._all("conversations.members", {"channel": channel})

    async def _user(self, id: str) -> Json:
        return _part(await self._call("users.info", {"user": id, "include_locale": True}), "user")

    async def _users(self, which: str) -> list[Json]:
        if which == FIRST:
            page: list[Json] = (await self._call("users.list", {"limit": _PAGE})).get("members") or []
            return page
        try:
            return await self._all("users.list", {})
        except SlackError as error:
            if error.code != TOO_MANY:
                raise
            return []  # to be kept, too: it took minutes

    async def _channel(self, id: str) -> Json:
        return _part(await self._call("conversations.info", {"channel": id}), "channel")

    async def _all(self, method: str, arguments: Json) -> list[Any]:
        found: list[Any] = []
        arguments = {**arguments, "limit": _PAGE}
        for _ in range(_PAGES):
            body = await self._call(method, arguments)
            found += body.get("members") or []
            cursor = next_page(body)
            if not cursor:
                return found
            arguments["cursor"] = cursor
        raise SlackError(method, TOO_MANY)  # some of them would be a wrong answer to who is there


def next_page(body: Json) -> str:
    """The cursor of the next page; "" on the last."""
    return str((body.get("response_metadata") or {}).get("next_cursor") or "")


def _part(body: Json, name: str) -> Json:
    part: Json = body.get(name) or {}
    return part
