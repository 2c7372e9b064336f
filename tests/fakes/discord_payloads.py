"""The shapes Discord sends: users, members, channels, messages, interactions, READY.

Optional fields are absent, never null: a parser of the real client ends the client over one it does not expect.
Source: discord-api-docs, resources/*, events/gateway-events; what discord.py 2.7.1 reads.
"""

import hashlib
import mimetypes
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

from tests.fakes import discord_rights as rights
from tests.fakes.discord_rights import Member, Role
from tests.fakes.discord_world import (
    DM,
    FORUM,
    STAGE,
    VOICE,
    App,
    Channel,
    File,
    Guild,
    Interaction,
    Message,
    User,
    World,
)

Json = dict[str, Any]
MEMBERS_INTENT, CONTENT_INTENT, PRESENCE_INTENT = 1 << 1, 1 << 15, 1 << 8
_FLAGS = {PRESENCE_INTENT: 1 << 13, MEMBERS_INTENT: 1 << 15, CONTENT_INTENT: 1 << 19}  # "limited": under 100 servers
LINK_SECONDS = 86_400.0  # how long a file's address can be used. Source: reference, signed attachment CDN URLs


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def emoji(name: str) -> Json:
    """`name` as reactions spell it: the character itself, or `name:id`."""
    plain, _, number = name.partition(":")
    return {"id": number or None, "name": plain}


class Payloads:
    """Makes them of one world. `base` is the address of the fake, once it is known."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.base = ""

    # -- people and places ------------------------------------------------------------------------------------------

    def user(self, user: User) -> Json:
        told: Json = {
            "id": user.id,
            "username": user.name,
            "global_name": user.display or None,
            "discriminator": "0000" if user.bot else "0",
            "avatar": None,
            "public_flags": 0,
        }
        for name, true in (("bot", user.bot), ("system", user.system)):
            if true:
                told[name] = True
        return told

    def anyone(self, user: str) -> Json:
        """Somebody who may be gone."""
        found = self.world.users.get(user)
        return self.user(found or User(user, "Deleted User"))

    def member(self, member: Member, *, with_user: bool = True, permissions: int | None = None) -> Json:
        told: Json = {
            "roles": sorted(member.roles),
            "joined_at": member.joined,
            "nick": member.nick or None,
            "avatar": None,
            "premium_since": None,
            "communication_disabled_until": None,
            "pending": member.pending,
            "deaf": False,
            "mute": False,
            "flags": 1 << 4 if member.guest else 0,
        }
        if with_user:
            told["user"] = self.user(self.world.users[member.user])
        if permissions is not None:
            told["permissions"] = str(permissions)
        return told

    def voice(self, member: Member) -> Json:
        told: Json = dict.fromkeys(("deaf", "mute", "self_deaf", "self_mute", "self_video", "suppress"), False)
        return told | {
            "user_id": member.user,
            "channel_id": member.voice or None,
            "session_id": f"voice-{member.user}",
            "request_to_speak_timestamp": None,
        }

    def role(self, role: Role) -> Json:
        told: Json = {
            "id": role.id,
            "name": role.name,
            "permissions": str(role.permissions),
            "position": role.position,
            "color": 0,
            "colors": {"primary_color": 0, "secondary_color": None, "tertiary_color": None},
            "hoist": False,
            "managed": bool(role.bot_id),
            "mentionable": role.mentionable,
            "flags": 0,
        }
        if role.bot_id:
            told["tags"] = {"bot_id": role.bot_id}
        return told

    def guild(self, guild: Guild) -> Json:
        return {
            "id": guild.id,
            "name": guild.name,
            "owner_id": guild.owner or next(iter(guild.members), "0"),
            "icon": None,
            "splash": None,
            "discovery_splash": None,
            "banner": None,
            "description": None,
            "preferred_locale": guild.locale,
            "features": [],
            "roles": [self.role(each) for each in guild.roles.values()],
            "emojis": [],
            "stickers": [],
            "afk_channel_id": None,
            "afk_timeout": 300,
            "application_id": None,
            "default_message_notifications": 0,
            "explicit_content_filter": 0,
            "mfa_level": 0,
            "nsfw_level": 0,
            "premium_progress_bar_enabled": False,
            "premium_tier": 0,
            "public_updates_channel_id": None,
            "rules_channel_id": None,
            "system_channel_flags": 0,
            "system_channel_id": None,
            "vanity_url_code": None,
            "verification_level": 0,
        }

    def guild_create(self, guild: Guild, app: App, *, members: bool) -> Json:
        """The whole server; without the members' intent, only the bot itself is listed, and who is in voice
        channels."""
        channels = [each for each in self.world.channels.values() if each.guild == guild.id]
        talking = [each for each in guild.members.values() if each.voice]
        shown = [each for each in guild.members.values() if members or each.user == app.user or each in talking]
        return self.guild(guild) | {
            "joined_at": guild.members[app.user].joined,
            "large": False,
            "unavailable": False,
            "member_count": len(guild.members),
            "members": [self.member(each) for each in shown],
            "channels": [self.channel(each) for each in channels if not each.thread],
            "threads": [
                self.channel(each, app.user)
                for each in channels
                if each.thread and not each.archived and self.world.may(app.user, each, "view_channel")
            ],
            "voice_states": [self.voice(each) for each in talking],
            "presences": [],
            "stage_instances": [],
            "guild_scheduled_events": [],
            "soundboard_sounds": [],
        }

    def channel(self, channel: Channel, viewer: str = "") -> Json:
        """`viewer`: whose thread membership is told, and who is not named among the people of a conversation."""
        messages = self.world.in_place(channel.id)
        told: Json = {"id": channel.id, "type": channel.kind, "flags": 0}
        told["last_message_id"] = messages[-1].id if messages else None
        if channel.kind == DM:
            others = sorted(channel.people - {viewer})
            return told | {"recipients": [self.anyone(each) for each in others]}
        told |= {"guild_id": channel.guild, "name": channel.name, "parent_id": channel.parent or None}
        told["rate_limit_per_user"] = channel.slowmode
        if channel.thread:
            return told | self._thread(channel, viewer, len([each for each in messages if each.id != channel.id]))
        told |= {
            "position": list(self.world.channels).index(channel.id),
            "nsfw": False,
            "topic": channel.topic or None,
            "permission_overwrites": [
                {"id": each.id, "type": each.kind, "allow": str(each.allow), "deny": str(each.deny)}
                for each in channel.overwrites.values()
            ],
        }
        if channel.kind in (VOICE, STAGE):
            told |= {"bitrate": 64_000, "user_limit": 0, "rtc_region": None}
        if channel.kind == FORUM:
            told["flags"] = 1 << 4 if channel.requires_tag else 0
            told |= {"default_reaction_emoji": None, "default_sort_order": None, "default_forum_layout": 0}
            told["available_tags"] = [
                {"id": tag, "name": name, "moderated": False, "emoji_id": None, "emoji_name": None}
                for tag, name in channel.tags.items()
            ]
        return told

    def _thread(self, thread: Channel, viewer: str, messages: int) -> Json:
        told: Json = {
            "owner_id": thread.owner,
            "message_count": messages,
            "total_message_sent": messages,
            "member_count": len(thread.people),
            "thread_metadata": {
                "archived": thread.archived,
                "auto_archive_duration": thread.auto_archive,
                "archive_timestamp": moment(thread.stirred),
                "locked": thread.locked,
                "create_timestamp": moment(thread.stirred),
            },
        }
        if thread.applied_tags:
            told["applied_tags"] = thread.applied_tags
        if viewer in thread.people:
            told["member"] = self.thread_member(thread, viewer)
        return told

    def thread_member(self, thread: Channel, user: str) -> Json:
        return {"id": thread.id, "user_id": user, "join_timestamp": moment(thread.stirred), "flags": 1}

    # -- messages ---------------------------------------------------------------------------------------------------

    def message(self, message: Message, reader: App | None = None, *, content: bool = True, deep: bool = True) -> Json:
        """As `reader` gets it. `content` False: without the message content intent, so mostly empty.

        Source: events/gateway, message content intent: own messages, direct ones and mentions of the app stay whole.
        """
        place = self.world.channels[message.channel]
        whole = (
            content
            or reader is None
            or message.author == reader.user
            or place.kind == DM
            or reader.user in message.pings
        )
        users = [each for each in message.pings if each.isdigit()]
        told: Json = {
            "id": message.id,
            "channel_id": message.channel,
            "type": message.type,
            "author": self.anyone(message.author),
            "content": message.content if whole else "",
            "timestamp": moment(((int(message.id) >> 22) + 1_420_070_400_000) / 1000),
            "edited_timestamp": moment(message.edited) if message.edited is not None else None,
            "tts": False,
            "pinned": False,
            "mention_everyone": "everyone" in message.pings or "here" in message.pings,
            "mentions": [self.anyone(each) for each in users],
            "mention_roles": [each[1:] for each in message.pings if each.startswith("&")],
            "attachments": [self.attachment(self.world.files[each]) for each in message.files] if whole else [],
            "embeds": message.embeds if whole and not message.flags & (1 << 2) else [],
            "components": message.components if whole else [],
            "flags": message.flags,
        }
        if message.reactions:
            told["reactions"] = [self._reaction(name, users, reader) for name, users in message.reactions.items()]
        if message.reference:
            told["message_reference"] = message.reference
            if message.reference.get("type") == 1:
                told["message_snapshots"] = [self._snapshot(message.reference["message_id"], whole=whole)]
            if deep and message.type in (19, 21):
                referred = self.world.messages.get(str(message.reference.get("message_id")))
                gone = referred is None or referred.deleted
                told["referenced_message"] = (
                    None if referred is None or gone else self.message(referred, reader, content=content, deep=False)
                )
        thread = self.world.channels.get(message.id)
        if thread is not None and thread.parent == message.channel:
            told["thread"] = self.channel(thread, reader.user if reader else "")
        if message.webhook:
            told["webhook_id"] = message.webhook
        if message.interaction:
            told |= self._answer(self.world.interactions[message.interaction])
        return told

    def _snapshot(self, forwarded: str, *, whole: bool) -> Json:
        """A forwarded message: without its author. Source: resources/message (message snapshot structure)."""
        told = self.message(self.world.messages[forwarded], content=whole, deep=False)
        kept = ("type", "content", "embeds", "attachments", "timestamp", "edited_timestamp", "flags", "mentions")
        return {"message": {name: told[name] for name in (*kept, "mention_roles", "components")}}

    def _reaction(self, name: str, users: list[str], reader: App | None) -> Json:
        mine = reader is not None and reader.user in users
        counts = {"burst": 0, "normal": len(users)}
        told = {"count": len(users), "count_details": counts, "me": mine, "me_burst": False}
        return told | {"emoji": emoji(name), "burst_colors": []}

    def _answer(self, interaction: Interaction) -> Json:
        """What shows that a message answers an interaction."""
        user = self.anyone(interaction.user)
        metadata: Json = {"id": interaction.id, "type": interaction.type, "user": user}
        metadata["authorizing_integration_owners"] = self._owners(interaction)
        told: Json = {"application_id": interaction.app.id, "webhook_id": interaction.app.id}
        told["interaction_metadata"] = metadata
        if interaction.type == 2:
            told["interaction"] = {"id": interaction.id, "type": 2, "name": interaction.name, "user": user}
        elif interaction.type == 3:
            metadata["interacted_message_id"] = interaction.source
        elif interaction.parent is not None:
            parent: Json = {"id": interaction.parent.id, "type": interaction.parent.type, "user": user}
            parent["authorizing_integration_owners"] = self._owners(interaction)
            if interaction.parent.type == 3:
                parent["interacted_message_id"] = interaction.parent.source
            metadata["triggering_interaction_metadata"] = parent
        return told

    def event(self, message: Message, reader: App, *, content: bool) -> Json:
        """As MESSAGE_CREATE and MESSAGE_UPDATE have it."""
        place = self.world.channels[message.channel]
        told = self.message(message, reader, content=content) | {"channel_type": place.kind}
        if message.nonce and message.author == reader.user:
            told["nonce"] = message.nonce
        guild = self.world.guilds.get(place.guild)
        if guild is None or message.ephemeral_to:  # Source: events/gateway-events, message create
            return told
        told["guild_id"] = guild.id
        if message.author in guild.members and not message.interaction and not message.webhook:
            told["member"] = self.member(guild.members[message.author], with_user=False)
        for each in told["mentions"]:
            if each["id"] in guild.members:
                each["member"] = self.member(guild.members[each["id"]], with_user=False)
        return told

    def attachment(self, file: File) -> Json:
        path = self._path(file)
        told: Json = {
            "id": file.id,
            "filename": file.name,
            "size": len(file.content) if file.claimed is None else file.claimed,
            "url": f"{self.base}{path}",
            "proxy_url": f"{self.base}/proxy{path}",
            "flags": 0,
        }
        guessed = file.mimetype or mimetypes.guess_type(file.name)[0]
        if guessed:
            told["content_type"] = guessed
        if file.ephemeral:
            told["ephemeral"] = True
        return told

    def _path(self, file: File) -> str:
        until = int(self.world.wall() + LINK_SECONDS)
        kind = "ephemeral-attachments" if file.ephemeral else "attachments"
        place = file.channel or "0"
        query = f"ex={until:x}&is={int(self.world.wall()):x}&hm={signature(file.id, until)}"
        return f"/{kind}/{place}/{file.id}/{quote(file.name)}?{query}&"

    # -- interactions and sessions ----------------------------------------------------------------------------------

    def _owners(self, interaction: Interaction) -> Json:
        return {"0": self.world.channels[interaction.channel].guild or "0"}

    def interaction(self, made: Interaction, data: Json) -> Json:
        """As INTERACTION_CREATE has it."""
        place, user = self.world.channels[made.channel], self.world.users[made.user]
        guild = self.world.guilds.get(place.guild)
        mine = self.world.permissions(made.app.user, place)
        told: Json = {
            "id": made.id,
            "application_id": made.app.id,
            "type": made.type,
            "token": made.token,
            "version": 1,
            "data": data,
            "channel_id": place.id,
            "channel": self.channel(place, made.app.user) | {"permissions": str(mine)},
            "locale": user.locale,
            "app_permissions": str(mine),
            "entitlements": [],
            "authorizing_integration_owners": self._owners(made),
            "attachment_size_limit": self.world.upload_limit,
            "context": 0 if guild else 1,
        }
        if guild is None:
            return told | {"user": self.user(user)}
        told["guild_id"], told["guild_locale"] = guild.id, guild.locale
        told["guild"] = {"id": guild.id, "locale": guild.locale, "features": []}
        permissions = self.world.permissions(user.id, place)
        return told | {"member": self.member(guild.members[user.id], permissions=permissions)}

    def application(self, app: App) -> Json:
        owner = next((each for each in self.world.users.values() if not each.bot), None)
        return {
            "id": app.id,
            "name": app.name,
            "icon": None,
            "description": "",
            "bot_public": app.public,
            "bot_require_code_grant": False,
            "verify_key": "0" * 64,
            "owner": self.user(owner) if owner else self.user(User("1", "owner")),
            "flags": self.application_flags(app),
            "team": None,
            "approximate_guild_count": len(self.world.guilds),
            "integration_types_config": {"0": {}},
        }

    def application_flags(self, app: App) -> int:
        return sum(flag for intent, flag in _FLAGS.items() if app.intents & intent)

    def ready(self, app: App, session: str, resume_url: str, guilds: list[Guild]) -> Json:
        return {
            "v": 10,
            "user": self.user(self.world.users[app.user]) | {"verified": True, "mfa_enabled": False, "flags": 0},
            "guilds": [{"id": each.id, "unavailable": True} for each in guilds],
            "private_channels": [],
            "relationships": [],
            "user_settings": {},
            "session_id": session,
            "resume_gateway_url": resume_url,
            "session_type": "normal",
            "application": {"id": app.id, "flags": self.application_flags(app)},
        }

    def partial_guild(self, guild: Guild, user: str) -> Json:
        permissions = rights.in_guild(guild.members[user], guild.roles, guild.id, owner=guild.owner == user)
        told: Json = {"id": guild.id, "name": guild.name, "icon": None, "banner": None, "features": []}
        return told | {"owner": guild.owner == user, "permissions": str(permissions)}


def signature(file: str, until: int) -> str:
    return hashlib.sha256(f"loopback {file} {until}".encode()).hexdigest()
