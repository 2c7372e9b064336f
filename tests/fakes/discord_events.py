"""Tells bots what happened: each event with the intent it needs, to those who may look there."""

from collections.abc import Callable
from typing import Any

from tests.fakes.discord_gateway import GUILDS, MEMBERS, Gateway, Session
from tests.fakes.discord_payloads import Payloads, emoji
from tests.fakes.discord_world import Channel, Guild, Interaction, Message, World

Json = dict[str, Any]
_VOICE, _MESSAGES, _REACTIONS, _DM_MESSAGES, _DM_REACTIONS = 1 << 7, 1 << 9, 1 << 10, 1 << 12, 1 << 13


class Announcer:
    def __init__(self, world: World, payloads: Payloads, gateway: Gateway) -> None:
        self._world = world
        self._payloads = payloads
        self._gateway = gateway

    def _tell(
        self, name: str, place: Channel, make: Callable[[Session], Json | None], *, guild: int, direct: int = 0
    ) -> None:
        """In a server for those with the intent `guild`, in direct conversations with `direct`."""

        def seen(session: Session) -> Json | None:
            return make(session) if self._world.may(session.app.user, place, "view_channel") else None

        self._gateway.announce(name, guild if place.guild else direct, seen)

    def _of(self, place: Channel) -> Json:
        return {"guild_id": place.guild} if place.guild else {}

    # -- messages ---------------------------------------------------------------------------------------------------

    def posted(self, message: Message, name: str = "MESSAGE_CREATE") -> None:
        place = self._world.channels[message.channel]

        def make(session: Session) -> Json:
            return self._payloads.event(message, session.app, content=session.content)

        if message.ephemeral_to:  # only the app that sent it hears of it
            self._gateway.announce(
                name, 0, lambda session: make(session) if session.app.user == message.author else None
            )
        else:
            self._tell(name, place, make, guild=_MESSAGES, direct=_DM_MESSAGES)

    def changed(self, message: Message) -> None:
        self.posted(message, "MESSAGE_UPDATE")

    def deleted(self, *messages: Message) -> None:
        place = self._world.channels[messages[0].channel]
        ids = [message.id for message in messages]
        name, which = ("MESSAGE_DELETE", {"id": ids[0]}) if len(ids) == 1 else ("MESSAGE_DELETE_BULK", {"ids": ids})
        told = {**which, "channel_id": place.id, **self._of(place)}
        self._tell(name, place, lambda session: dict(told), guild=_MESSAGES, direct=_DM_MESSAGES)

    def reaction(self, message: Message, user: str, name: str, *, added: bool) -> None:
        place = self._world.channels[message.channel]
        told = {"user_id": user, "channel_id": place.id, "message_id": message.id, "emoji": emoji(name), "type": 0}
        told |= {"burst": False, **self._of(place)}
        if added:
            told["message_author_id"] = message.author
            guild = self._world.guilds.get(place.guild)
            if guild and user in guild.members:
                told["member"] = self._payloads.member(guild.members[user])
        event = "MESSAGE_REACTION_ADD" if added else "MESSAGE_REACTION_REMOVE"
        self._tell(event, place, lambda session: dict(told), guild=_REACTIONS, direct=_DM_REACTIONS)

    # -- places -----------------------------------------------------------------------------------------------------

    def thread(self, thread: Channel, event: str = "THREAD_UPDATE", *, to: str = "") -> None:
        """THREAD_CREATE, THREAD_UPDATE or THREAD_DELETE; `to`: only this bot, which was added to it."""

        def make(session: Session) -> Json | None:
            told = self._payloads.channel(thread, session.app.user)
            if to:
                return told if session.app.user == to else None
            if event == "THREAD_DELETE":
                return {name: told[name] for name in ("id", "guild_id", "parent_id", "type")}
            return told | ({"newly_created": True} if event == "THREAD_CREATE" else {})

        self._tell(event, thread, make, guild=GUILDS)

    def joined_thread(self, thread: Channel, user: str) -> None:
        """The bot itself hears of it always, of others only with the members' intent."""

        def make(session: Session) -> Json | None:
            here = self._world.may(session.app.user, thread, "view_channel")
            if not here or (session.app.user != user and not session.intents & MEMBERS):
                return None
            told = {"id": thread.id, "guild_id": thread.guild, "member_count": len(thread.people)}
            return told | {"added_members": [self._payloads.thread_member(thread, user)]}

        self._gateway.announce("THREAD_MEMBERS_UPDATE", GUILDS, make)

    def channel(self, channel: Channel, event: str = "CHANNEL_UPDATE") -> None:
        """CHANNEL_CREATE, CHANNEL_UPDATE or CHANNEL_DELETE; to everybody in the server, seen or not."""

        def make(session: Session) -> Json | None:
            there = session.app.user in self._world.guilds[channel.guild].members
            return self._payloads.channel(channel) if there else None

        self._gateway.announce(event, GUILDS, make)

    def member(self, guild: Guild, user: str, event: str) -> None:
        """GUILD_MEMBER_ADD, GUILD_MEMBER_UPDATE or GUILD_MEMBER_REMOVE: for the members' intent."""
        known = guild.members.get(user)
        told: Json = self._payloads.member(known) if known else {"user": self._payloads.anyone(user)}
        self._gateway.announce(event, MEMBERS, self._inside(guild, told | {"guild_id": guild.id}))

    def voice(self, guild: Guild, user: str) -> None:
        known = guild.members[user]
        told = self._payloads.voice(known) | {"guild_id": guild.id, "member": self._payloads.member(known)}
        self._gateway.announce("VOICE_STATE_UPDATE", _VOICE, self._inside(guild, told))

    def _inside(self, guild: Guild, told: Json) -> Callable[[Session], Json | None]:
        """For those who are in a server."""
        return lambda session: told if session.app.user in guild.members else None

    def role(self, guild: Guild, role: str, event: str = "GUILD_ROLE_UPDATE") -> None:
        told = {"guild_id": guild.id, "role": self._payloads.role(guild.roles[role])}
        self._gateway.announce(event, GUILDS, self._inside(guild, told))

    def guild_gone(self, guild: Guild, user: str) -> None:
        """The bot was put out of the server."""
        told = {"id": guild.id}
        self._gateway.announce("GUILD_DELETE", GUILDS, lambda session: told if session.app.user == user else None)

    def interaction(self, made: Interaction) -> None:
        """To its app alone; no intent is needed."""
        self._gateway.announce(
            "INTERACTION_CREATE", 0, lambda session: made.payload if session.app is made.app else None
        )
