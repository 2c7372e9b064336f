"""The REST API beside messages and interactions: who the bot is, servers, members, channels and threads.

Source: discord-api-docs, resources/{user,guild,channel,application}; topics/threads.
"""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any

from tests.fakes import discord_rules as rules
from tests.fakes.discord_events import Announcer
from tests.fakes.discord_gate import Refused, invalid
from tests.fakes.discord_messages import Messages
from tests.fakes.discord_payloads import MEMBERS_INTENT, Payloads
from tests.fakes.discord_server import Call, Route
from tests.fakes.discord_world import (
    ANNOUNCEMENT,
    FORUM,
    HAS_THREAD,
    PLAIN,
    PRIVATE_THREAD,
    SUPPRESS_EMBEDS,
    TEXT,
    App,
    Channel,
    Guild,
    Message,
    World,
)

Json = dict[str, Any]
_BY_MODERATORS = {"locked", "rate_limit_per_user"}


class Rest:
    """`limit`: the session start limit of an app. `older`: a thread on a message of that age in seconds is told in the channel too, by a message of type 18.

    How old is not documented ("a very small value"); 0 tells it always.
    """

    def __init__(
        self,
        world: World,
        payloads: Payloads,
        tell: Announcer,
        messages: Messages,
        without: Collection[str],
        limit: Callable[[App], Json],
    ) -> None:
        self._limit = limit
        self.older = 0.0
        self.gateway_url = ""
        self._world = world
        self._payloads = payloads
        self._tell = tell
        self._messages = messages
        self._without = without

    def routes(self) -> list[Route]:
        threads = "/channels/{channel}/threads"
        return [
            Route("GET", "/gateway", lambda call: {"url": self.gateway_url}, token=False),
            Route("GET", "/gateway/bot", self.gateway_bot),
            Route("GET", "/oauth2/applications/@me", lambda call: self._payloads.application(call.app)),
            Route("GET", "/applications/@me", lambda call: self._payloads.application(call.app)),
            Route("GET", "/users/@me", self.me),
            Route("GET", "/users/@me/guilds", self.my_guilds),
            Route("POST", "/users/@me/channels", self.open_dm),
            Route("GET", "/users/{user}", self.user),
            Route("GET", "/guilds/{guild}", lambda call: self._payloads.guild(self._guild(call))),
            Route("GET", "/guilds/{guild}/channels", self.channels),
            Route("GET", "/guilds/{guild}/roles", self.roles),
            Route("GET", "/guilds/{guild}/members", self.members),
            Route("GET", "/guilds/{guild}/members/{user}", self.member),
            Route("GET", "/guilds/{guild}/threads/active", self.active_threads),
            Route("GET", "/channels/{channel}", self.channel),
            Route("PATCH", "/channels/{channel}", self.edit_channel),
            Route("DELETE", "/channels/{channel}", self.delete_channel),
            Route("POST", "/channels/{channel}/messages/{message}/threads", self.thread_from, "threads"),
            Route("POST", threads, self.thread, "threads"),
            Route("GET", threads + "/archived/public", self.archived_threads),
            Route("GET", "/channels/{channel}/thread-members/{user}", self.thread_member),
            Route("PUT", "/channels/{channel}/thread-members/@me", self.join_thread),
            Route("DELETE", "/channels/{channel}/thread-members/@me", self.leave_thread),
        ]

    # -- who and where ----------------------------------------------------------------------------------------------

    def gateway_bot(self, call: Call) -> Json:
        limit = self._limit(call.app)
        return {"url": self.gateway_url, "shards": call.app.shards, "session_start_limit": limit}

    def me(self, call: Call) -> Json:
        return self._payloads.user(self._world.users[call.app.user]) | {"verified": True, "flags": 0}

    def user(self, call: Call) -> Json:
        found = self._world.users.get(call["user"])
        if found is None:
            raise Refused(10013)
        return self._payloads.user(found)

    def my_guilds(self, call: Call) -> list[Json]:
        """A page. Source: resources/user, get current user guilds."""
        after, most = int(call.query.get("after", 0)), int(call.query.get("limit", 200))
        if not 1 <= most <= 200:
            raise invalid([("limit", "NUMBER_TYPE_RANGE", "int value should be between 1 and 200.")])
        mine = sorted((int(each.id), each) for each in self._world.guilds.values() if call.app.user in each.members)
        page = [each for number, each in mine if number > after][:most]
        return [self._payloads.partial_guild(each, call.app.user) for each in page]

    def open_dm(self, call: Call) -> Json:
        other = self._world.users.get(str(call.body.get("recipient_id")))
        if other is None or other.id == call.app.user:
            raise Refused(50033)
        if other.bot:
            raise Refused(50007)
        return self._payloads.channel(self._world.dm(call.app.user, other.id), call.app.user)

    def _guild(self, call: Call) -> Guild:
        found = self._world.guilds.get(call["guild"])
        if found is None:
            raise Refused(10004)
        if call.app.user not in found.members:
            raise Refused(50001)
        return found

    def channels(self, call: Call) -> list[Json]:
        guild = self._guild(call)
        here = [each for each in self._world.channels.values() if each.guild == guild.id and not each.thread]
        return [self._payloads.channel(each) for each in here]

    def roles(self, call: Call) -> list[Json]:
        return [self._payloads.role(each) for each in self._guild(call).roles.values()]

    def member(self, call: Call) -> Json:
        found = self._guild(call).members.get(call["user"])
        if found is None:
            raise Refused(10007 if call["user"] in self._world.users else 10013)
        return self._payloads.member(found)

    def members(self, call: Call) -> list[Json]:
        """Source: resources/guild, list guild members: needs the members' intent."""
        guild = self._guild(call)
        if not call.app.intents & MEMBERS_INTENT:
            raise Refused(50001)
        after = int(call.query.get("after", 0))
        found = sorted((each for each in guild.members if int(each) > after), key=int)
        return [self._payloads.member(guild.members[each]) for each in found[: int(call.query.get("limit", 1))]]

    # -- channels ---------------------------------------------------------------------------------------------------

    def channel(self, call: Call) -> Json:
        return self._payloads.channel(self._messages.place(call.app, call["channel"]), call.app.user)

    def edit_channel(self, call: Call) -> Json:
        """Of threads: name, archived, locked, tags. Of channels: the name, for those who manage them."""
        place = self._messages.place(call.app, call["channel"])
        if not place.thread:
            self._messages.place(call.app, place.id, "manage_channels")
            place.name = str(call.body.get("name") or place.name)
            self._tell.channel(place)
            return self._payloads.channel(place)
        self._may_edit(call.app, place, call.body)
        rules.check_thread(call.body)
        if "applied_tags" in call.body:
            place.applied_tags = self._tags(self._world.channels[place.parent], call.body)
        if place.archived != call.body.get("archived", place.archived):
            place.archived, place.stirred = bool(call.body["archived"]), self._world.wall()
        place.locked = bool(call.body.get("locked", place.locked))
        self.rename(place, call.app.user, str(call.body.get("name") or place.name).strip())
        place.auto_archive = int(call.body.get("auto_archive_duration") or place.auto_archive)
        place.slowmode = int(call.body.get("rate_limit_per_user") or place.slowmode)
        self._world.changed()
        self._tell.thread(place)
        return self._payloads.channel(place, call.app.user)

    def rename(self, thread: Channel, user: str, name: str) -> None:
        """Told in the thread, too. Source: topics/threads, new message types (CHANNEL_NAME_CHANGE)."""
        if name != thread.name:
            thread.name = name
            self._tell.posted(self._world.post(thread.id, user, content=name, type=4))

    def _may_edit(self, app: App, thread: Channel, body: Json) -> None:
        moderator = self._world.may(app.user, thread, "manage_threads")
        if thread.archived and body.get("archived", True):
            raise Refused(50083)
        if moderator:
            return
        if thread.locked and (not body.keys() <= {"archived"} or thread.owner != app.user):
            raise Refused(50083 if thread.archived else 160005)
        if _BY_MODERATORS & body.keys():
            raise Refused(50013)
        opening = body.keys() <= {"archived"} and not body.get("archived")
        if thread.owner != app.user and not (opening and app.user in thread.people):
            raise Refused(50013)

    def delete_channel(self, call: Call) -> Json:
        place = self._messages.place(call.app, call["channel"])
        self._messages.place(call.app, place.id, "manage_threads" if place.thread else "manage_channels")
        told = self._payloads.channel(place, call.app.user)
        self.gone(place)
        return told

    def gone(self, place: Channel) -> None:
        """Deletes a channel with all its threads and messages."""
        for inside in [each for each in self._world.channels.values() if each.parent == place.id]:
            self.gone(inside)
        for each in self._world.in_place(place.id):
            each.deleted = True
        if place.thread:
            self._tell.thread(place, "THREAD_DELETE")
        else:
            self._tell.channel(place, "CHANNEL_DELETE")
        del self._world.channels[place.id]
        self._world.changed()

    # -- threads ----------------------------------------------------------------------------------------------------

    def thread_from(self, call: Call) -> Json:
        place = self._messages.place(call.app, call["channel"])
        if "threads" in self._without or place.kind not in (TEXT, ANNOUNCEMENT):
            raise Refused(50003 if not place.guild else 50024)
        message = self._messages.message(place.id, call["message"])
        if message.id in self._world.channels:
            raise Refused(160004)
        self._messages.place(call.app, place.id, "create_public_threads", "read_message_history")
        if message.type not in PLAIN:
            raise Refused(50021)
        rules.check_thread({"name": ""} | call.body)
        return self._payloads.channel(self.start(message, call.app.user, call.body), call.app.user)

    def start(self, message: Message, owner: str, body: Json) -> Channel:
        """A thread on a message, with all that is told of it."""
        place = self._world.channels[message.channel]
        more: Json = {}
        if body.get("auto_archive_duration"):
            more["auto_archive"] = body["auto_archive_duration"]
        thread = self._world.add_thread(place, str(body["name"]).strip(), owner, id=message.id, **more)
        self._tell.thread(thread, "THREAD_CREATE")
        message.flags |= HAS_THREAD
        self._tell.changed(message)
        reference: Json = {"type": 0, "guild_id": place.guild, "channel_id": thread.id}
        if self._world.wall() - ((int(message.id) >> 22) + 1_420_070_400_000) / 1000 >= self.older:
            told = self._world.post(place.id, owner, content=thread.name, type=18, reference=reference)
            self._tell.posted(told)
        begun = reference | {"channel_id": place.id, "message_id": message.id}
        self._tell.posted(self._world.post(thread.id, owner, type=21, reference=begun))
        self._tell.joined_thread(thread, owner)
        return thread

    def thread(self, call: Call) -> Json:
        """A thread without a message, or a forum's post."""
        place = self._messages.place(call.app, call["channel"])
        if "threads" in self._without or place.kind not in (TEXT, ANNOUNCEMENT, FORUM):
            raise Refused(50003 if not place.guild else 50024)
        rules.check_thread({"name": ""} | call.body)
        if place.kind == FORUM:
            return self._forum_post(call, place)
        kind = int(call.body.get("type") or PRIVATE_THREAD)
        private = kind == PRIVATE_THREAD
        self._messages.place(call.app, place.id, "create_private_threads" if private else "create_public_threads")
        thread = self._world.add_thread(place, str(call.body["name"]).strip(), call.app.user, kind=kind)
        self._tell.thread(thread, "THREAD_CREATE")
        return self._payloads.channel(thread, call.app.user)

    def _forum_post(self, call: Call, forum: Channel) -> Json:
        self._messages.place(call.app, forum.id, "send_messages", *(["attach_files"] if call.files else []))
        message = call.body.get("message")
        if not isinstance(message, dict):
            raise invalid([rules.required("message")])
        flags = int(message.get("flags") or 0) & SUPPRESS_EMBEDS
        self._messages.check(message, flags, call.files)
        tags = self._tags(forum, call.body)
        thread = self._world.add_thread(forum, str(call.body["name"]).strip(), call.app.user, applied_tags=tags)
        self._tell.thread(thread, "THREAD_CREATE")
        made = self._messages.write(call.app, thread, message, flags, call.files, id=thread.id)
        self._tell.posted(made)
        told = self._payloads.channel(thread, call.app.user)
        return told | {"message": self._payloads.message(made, call.app)}

    def _tags(self, forum: Channel, body: Json) -> list[str]:
        tags = [str(each) for each in body.get("applied_tags") or ()]
        if len(tags) > 5:
            raise invalid([rules.too_long("applied_tags", 5)])
        if forum.requires_tag and not tags:
            raise Refused(40067)
        if unknown := [each for each in tags if each not in forum.tags]:
            raise invalid([("applied_tags", "UNKNOWN_TAG", f"Unknown tag {unknown[0]}")])
        return tags

    def active_threads(self, call: Call) -> Json:
        guild = self._guild(call)
        found = [each for each in self._world.channels.values() if each.thread and not each.archived]
        found.sort(key=lambda each: int(each.id), reverse=True)
        return self._listed([each for each in found if each.guild == guild.id], call.app)

    def archived_threads(self, call: Call) -> Json:
        place = self._messages.place(call.app, call["channel"], "read_message_history")
        found = [each for each in self._world.channels.values() if each.parent == place.id and each.archived]
        found = [each for each in found if each.kind != PRIVATE_THREAD]
        if before := call.query.get("before"):
            found = [each for each in found if each.stirred < datetime.fromisoformat(before).timestamp()]
        found.sort(key=lambda each: each.stirred, reverse=True)
        limit = int(call.query.get("limit") or 50)
        if not 2 <= limit <= 100:
            raise invalid([("limit", "NUMBER_TYPE_RANGE", "int value should be between 2 and 100.")])
        return self._listed(found[:limit], call.app) | {"has_more": len(found) > limit}

    def _listed(self, threads: list[Channel], app: App) -> Json:
        seen = [each for each in threads if self._world.may(app.user, each, "view_channel")]
        members = [self._payloads.thread_member(each, app.user) for each in seen if app.user in each.people]
        return {"threads": [self._payloads.channel(each, app.user) for each in seen], "members": members}

    def thread_member(self, call: Call) -> Json:
        place = self._messages.place(call.app, call["channel"])
        if not place.thread:
            raise Refused(50024)
        if call["user"] not in place.people:
            raise Refused(10007)
        return self._payloads.thread_member(place, call["user"])

    def join_thread(self, call: Call) -> None:
        self._member(call, joins=True)

    def leave_thread(self, call: Call) -> None:
        self._member(call, joins=False)

    def _member(self, call: Call, *, joins: bool) -> None:
        place = self._messages.place(call.app, call["channel"])
        if not place.thread:
            raise Refused(50024)
        if place.archived:
            raise Refused(50083)
        if not joins:
            place.people.discard(call.app.user)
        elif call.app.user not in place.people:
            place.people.add(call.app.user)
            self._tell.joined_thread(place, call.app.user)
