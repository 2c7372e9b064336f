"""Readers of a place in Slack, and the role of a person there: asked of Slack, never read from a text. Fails closed.

A place that anybody from outside the team can read counts as theirs: Slack Connect, and channels with guests in them.
Source: product.md §3; reliability.md R11 and R13; docs.slack.dev conversation and user objects.
"""

import asyncio
import logging
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from adapters.slack.events import PLATFORM
from adapters.slack.transport.api import Json, SlackApi
from adapters.slack.transport.errors import SlackError, UnsupportedError
from bot.types import OUTSIDERS, PRIVATE, PUBLIC, UNKNOWN, Actor, Audience, Place, Recipient, Role
from retrieval.i18n import Language
from retrieval.loaders.sanitize import clean_line

log = logging.getLogger(__name__)


NEW = 20  # members that are looked up one by one
_MENTION = re.compile(r"(?<![\w@])@([UW][A-Z0-9]{1,20})(?![\w])")
_SHARED = ("is_ext_shared", "is_pending_ext_shared", "is_shared", "is_org_shared")
_GUEST = ("is_restricted", "is_ultra_restricted", "is_stranger")
_ADMIN = ("is_admin", "is_owner", "is_primary_owner")
_LOOKUP = ("unknown_method",)  # a server that has no such concept; every other refusal leaves the answer open


class Places:
    """Slack's word on channels and people; `SlackApi` keeps it for as long as it may be believed."""

    def __init__(self, slack: SlackApi) -> None:
        self._slack = slack

    async def audience(self, channel: str, author: str | None = None, *, stranger: bool = False) -> Audience:
        """The readers of `channel`; with `author`, who writes there, a guest makes it the outsiders'. Never raises."""
        if stranger:
            return OUTSIDERS
        try:
            if author is not None and (await self.role(author)) == "outsider":
                return OUTSIDERS
            return await self._of(channel, author)
        except SlackError as error:
            log.warning("who reads a channel could not be looked up: %s", error.code)
            return UNKNOWN

    async def actor(self, user: str, *, stranger: bool = False) -> Actor:
        """Somebody with what they may do; an outsider once they have left, or where Slack does not say. Never
        raises."""
        role: Role = "outsider"
        if not stranger:
            try:
                role = await self._role_now(user)
            except SlackError as error:
                log.warning("who somebody is could not be looked up: %s", error.code)
        return Actor(PLATFORM, self._slack.me.team, user, role)

    async def recipient(self, user: str) -> Recipient:
        """A member of the team, to be written to alone. Raises LookupError for anybody else, SlackError."""
        found = await self._slack.user(user)
        if found.get("deleted") or found.get("is_bot") or user == "USLACKBOT" or self._is_outsider(found):
            raise LookupError(f"{user} is no active member")
        place = Place(PLATFORM, self._slack.me.team, await self._slack.direct(user))
        zone = None
        with suppress(ZoneInfoNotFoundError, ValueError):
            zone = ZoneInfo(str(found.get("tz") or ""))
        return Recipient(place, PRIVATE, await self.name(user), zone, await self.language(user))

    async def is_member(self, channel: str, user: str) -> bool:
        """Whether somebody reads a channel: anybody in the team a public one, members only any other. Never raises."""
        try:
            if await self.is_open(channel) and await self._role_now(user) != "outsider":
                return True
            if user in await self._slack.members(channel):
                return True
            self._slack.ask_anew(channel)  # they may have joined since
            return user in await self._slack.members(channel)
        except SlackError as error:
            log.info("who reads a channel could not be looked up: %s", error.code)
            return False

    async def is_out(self, channel: str, user: str) -> bool:
        """Whether somebody is in a private channel no more, or never was: a form stays open for whoever has left, and
        nobody leaves a direct message. Never raises."""
        private = not channel.startswith("D") and (await self.audience(channel)).visibility == "private"
        return private and not await self.is_member(channel, user)

    async def is_open(self, channel: str) -> bool:
        """Whether anybody in the team can read a channel, whoever else does. Never raises."""
        info = await self._known(channel)
        return info is not None and bool(info.get("is_channel")) and not info.get("is_private")

    async def is_here(self, channel: str) -> bool:
        """Whether the bot is in a channel, and may post there. Never raises."""
        info = await self._known(channel)
        return info is not None and info.get("is_member") is not False and not info.get("is_archived")

    async def _known(self, channel: str) -> Json | None:
        """A channel as Slack knows it; None where Slack does not say. Never raises."""
        try:
            return await self._slack.channel(channel)
        except SlackError as error:
            log.info("a channel could not be looked up: %s", error.code)
            return None

    async def team(self, user: str) -> str:
        """The workspace that somebody belongs to; ours where that is one of theirs, or Slack does not say. Never
        raises."""
        ours = self._slack.me.team
        try:
            teams = _teams(await self._account(user))
        except SlackError:
            return ours
        return ours if ours in teams or not teams else teams[0]

    async def is_bot(self, user: str) -> bool:
        """Whether Slack says so of somebody. Never raises."""
        try:
            return bool((await self._slack.user(user)).get("is_bot"))
        except SlackError:
            return False

    async def name(self, user: str) -> str:
        """A name for people; the id where Slack does not say. Never raises."""
        try:
            found = await self._slack.user(user)
        except SlackError:
            return user
        profile = found.get("profile") or {}
        names = (profile.get("display_name"), found.get("real_name"), profile.get("real_name"), found.get("name"))
        return next(filter(None, (clean_line(str(name or "")) for name in names)), user)

    async def named(self, text: str) -> str:
        """`@U12` of a mention as `@name`. Never raises."""
        users = list({*_MENTION.findall(text)})
        names = dict(zip(users, await asyncio.gather(*map(self.name, users)), strict=True))
        return _MENTION.sub(lambda found: f"@{names[found[1]]}", text)

    async def language(self, user: str) -> Language | None:
        """The language somebody has chosen in Slack. Never raises."""
        try:
            locale = str((await self._slack.user(user)).get("locale") or "")
        except SlackError:
            return None
        return "ja" if locale.lower().startswith("ja") else "en" if locale else None

    async def _of(self, channel: str, author: str | None) -> Audience:
        try:
            info = await self._slack.channel(channel)
        except UnsupportedError as error:
            if error.code not in _LOOKUP:
                raise
            return PRIVATE if channel.startswith("D") else PUBLIC if channel.startswith("C") else UNKNOWN
        if any(info.get(flag) for flag in _SHARED):
            return OUTSIDERS
        if info.get("is_im"):
            partner = info.get("user") or author
            return UNKNOWN if not partner else OUTSIDERS if await self.role(str(partner)) == "outsider" else PRIVATE
        if await self._has_guests(channel):
            return OUTSIDERS
        if info.get("is_mpim") or info.get("is_private") or info.get("is_group"):
            return PRIVATE
        return PUBLIC if info.get("is_channel") or info.get("is_private") is False else UNKNOWN

    async def _has_guests(self, channel: str) -> bool:
        """Accounts are known for ten minutes, members for half a minute; an account that is not known yet is looked up
        at once. All are listed for a large channel only, which takes minutes in a large workspace."""
        try:
            me = self._slack.me.user  # known to be no guest
            members = [member for member in await self._slack.members(channel) if member != me]
            known = {str(user["id"]): user for user in await self._slack.users(first=len(members) <= NEW)}
            new = [member for member in members if member not in known]
            if len(new) > NEW:
                raise SlackError("users.info", "too_many")
            known |= zip(new, await asyncio.gather(*map(self._slack.user, new)), strict=True)
        except UnsupportedError as error:
            if error.code not in _LOOKUP:
                raise
            return False
        return any(self._is_outsider(known[member]) and not known[member].get("deleted") for member in members)

    async def role(self, user: str) -> Role:
        """Of somebody who has left, the role they had. Raises SlackError."""
        return self._role_of(await self._account(user))

    async def _role_now(self, user: str) -> Role:
        """Raises SlackError."""
        found = await self._account(user)
        return "outsider" if found.get("deleted") else self._role_of(found)

    def _role_of(self, account: Mapping[str, Any]) -> Role:
        if self._is_outsider(account):
            return "outsider"
        return "editor" if any(account.get(flag) for flag in _ADMIN) else "member"

    async def _account(self, user: str) -> Mapping[str, Any]:
        """Empty where a server has no such concept. Raises SlackError."""
        try:
            return await self._slack.user(user)
        except UnsupportedError as error:
            if error.code not in _LOOKUP:
                raise
            return {}

    def _is_outsider(self, user: Mapping[str, Any]) -> bool:
        teams = _teams(user)
        elsewhere = bool(teams) and self._slack.me.team not in teams and not user.get("is_bot")
        return elsewhere or any(user.get(flag) for flag in _GUEST)


def _teams(user: Mapping[str, Any]) -> list[str]:
    """An Enterprise Grid lists the workspaces of an account, and names another of them or none as its own."""
    listed = (user.get("enterprise_user") or {}).get("teams") or ()
    return [str(team) for team in (user.get("team_id"), *listed) if team]
