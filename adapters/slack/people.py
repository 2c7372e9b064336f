"""Who is in the workspace and where, as Slack says: looked up rarely, and whole or not at all."""

from collections.abc import Awaitable, Callable
from typing import Any

from adapters.pacing import Clock
from adapters.slack.caching import Cached
from adapters.slack.errors import SlackError

Json = dict[str, Any]
Call = Callable[[str, Json], Awaitable[Json]]

USER_SECONDS, USERS_SECONDS, CHANNEL_SECONDS = 600.0, 600.0, 60.0
MEMBERS_SECONDS = 30.0  # every turn asks for them, and Slack allows 60 such calls a minute
_PAGE, _PAGES = 1_000, 30


class People:
    """`call` asks a method of Slack's. Close it."""

    def __init__(self, call: Call, *, clock: Clock) -> None:
        self._call = call
        self.user = Cached(self._user, USER_SECONDS, clock=clock)
        self.users = Cached(self._users, USERS_SECONDS, clock=clock)
        self.channel = Cached(self._channel, CHANNEL_SECONDS, clock=clock)
        self.members = Cached(self._members, MEMBERS_SECONDS, clock=clock)

    async def close(self) -> None:
        for cached in (self.user, self.users, self.channel, self.members):
            await cached.close()

    async def _members(self, channel: str) -> list[str]:
        return await self._all("conversations.members", {"channel": channel})

    async def _user(self, id: str) -> Json:
        return _part(await self._call("users.info", {"user": id, "include_locale": True}), "user")

    async def _users(self, _: str) -> list[Json]:
        return await self._all("users.list", {})

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
        raise SlackError(method, "too_many")  # some of them would be a wrong answer to who is there


def next_page(body: Json) -> str:
    """The cursor of the next page; "" on the last."""
    return str((body.get("response_metadata") or {}).get("next_cursor") or "")


def _part(body: Json, name: str) -> Json:
    part: Json = body.get(name) or {}
    return part
