"""A channel of Slack as it is read back, thread by thread, behind everything that somebody waits for.

Source: docs.slack.dev/reference/methods, conversations.history and conversations.replies; sources.md §1.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from adapters.port import Adapter
from adapters.shared.channel_history import PlatformHistory
from adapters.slack.context import SlackContext
from adapters.slack.events import CHECKS, PLATFORM, Us, by_a_person, from_elsewhere, readable
from adapters.slack.transport.api import Json
from adapters.slack.transport.directory import next_page
from bot.sources.channel import Said, Thread
from bot.types import OUTSIDERS, UNKNOWN, Actor, Audience, Place, Recipient, Role

PAGE = 200  # messages a call
MOST = 1_000  # messages of a thread


class SlackHistory(PlatformHistory):
    gone = ("thread_not_found", "message_not_found")

    def __init__(self, adapter: Adapter, context: SlackContext, us: Us, heard: Callable[[], str]) -> None:
        super().__init__(adapter, heard)
        self._context = context
        self._us = us

    async def find(self, recipient: str) -> Recipient:
        self._context.slack.ask_anew(recipient)
        return await super().find(recipient)

    async def readers(self, channel: str) -> tuple[Place, Audience]:
        self._context.slack.ask_anew(channel)
        audience = await self._context.places.audience(channel)
        if audience == OUTSIDERS and not await self._context.places.is_open(channel):
            audience = UNKNOWN
        return self._context.place(channel), audience

    def link(self, place: Place, root: str) -> str:
        return self._context.slack.permalink(place.channel, root)

    async def _listed(self, channel: str, since: datetime | None, at: str | None) -> tuple[Sequence[str], str | None]:
        oldest = f"{since.timestamp():.6f}" if since is not None else None
        asked = {"channel": channel, "limit": PAGE, "latest": at, "oldest": oldest}
        body = await self._context.slack.read_back("conversations.history", **asked)
        found = body.get("messages") or []
        roots = [str(one["ts"]) for one in found if one.get("reply_count")]
        return roots, str(found[-1]["ts"]) if found and body.get("has_more") else None

    async def _thread(self, place: Place, root: str) -> Thread | None:
        found: list[Json] = []
        asked: Json = {"channel": place.channel, "ts": root, "limit": PAGE}
        while True:
            body = await self._context.slack.read_back("conversations.replies", **asked)
            found += body.get("messages") or []
            asked["cursor"] = next_page(body)
            if not asked["cursor"] or len(found) >= MOST:
                break
        if not found:
            raise ConnectionError("no messages")
        first = str(found[0].get("thread_ts") or root)
        said = [await self._said(one) for one in found] if first == root else []
        return Thread(first, tuple(said))

    async def _said(self, one: Mapping[str, Any]) -> Said:
        places, text = self._context.places, readable(str(one.get("text") or ""), self._us.user)
        user = str(one.get("user") or "")
        at = datetime.fromtimestamp(float(one["ts"]), UTC)
        reactions = [each for each in one.get("reactions") or () if each.get("name") in CHECKS]
        checks = {str(who): None for each in reactions for who in each.get("users") or ()}
        marked = tuple([await self._actor(who) for who in checks if who != self._us.user])
        if not by_a_person(one, self._us) or one.get("subtype") == "tombstone":
            return Said(str(one["ts"]), at, user, "", None, marked)
        author = await self._actor(user, stranger=from_elsewhere(one, self._us))
        return Said(str(one["ts"]), at, await places.name(user), await places.named(text), author, marked)

    async def _actor(self, user: str, *, stranger: bool = False) -> Actor:
        """Never taken for an outsider only because nobody could be asked: what they said would seem to be gone."""
        role: Role = "outsider" if stranger else await self._context.places.role(user)
        return Actor(PLATFORM, self._us.team, user, role)
