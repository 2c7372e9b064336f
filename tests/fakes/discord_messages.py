"""Messages over REST: writing, reading, changing and deleting them, and reactions.

Source: discord-api-docs, resources/message; topics/threads (archived and locked threads).
"""

import unicodedata
from collections.abc import Collection
from typing import Any
from urllib.parse import unquote

from tests.fakes import discord_rules as rules
from tests.fakes.discord_events import Announcer
from tests.fakes.discord_gate import Refused, invalid
from tests.fakes.discord_payloads import CONTENT_INTENT, Payloads
from tests.fakes.discord_server import Call, Route, Upload
from tests.fakes.discord_world import (
    CATEGORY,
    DM,
    FORUM,
    PLAIN,
    SUPPRESS_EMBEDS,
    V2,
    App,
    Channel,
    Message,
    World,
)

Json = dict[str, Any]
_SENDABLE = SUPPRESS_EMBEDS | 1 << 12 | V2  # the flags a bot may set; 1 << 12: without notifications
_CHANGED = ("content", "components", "embeds", "attachments")


class Messages:
    def __init__(self, world: World, payloads: Payloads, tell: Announcer, without: Collection[str]) -> None:
        self._world = world
        self._payloads = payloads
        self._tell = tell
        self.without = without

    def routes(self) -> list[Route]:
        here = "/channels/{channel}/messages"
        one = here + "/{message}"
        emoji = one + "/reactions/{emoji}"
        return [
            Route("GET", here, self.read, "messages:read"),
            Route("POST", here, self.create, "messages:create"),
            Route("GET", one, self.get, "messages:read"),
            Route("PATCH", one, self.edit, "messages:edit"),
            Route("DELETE", one, self.delete, "messages:delete"),
            Route("POST", "/channels/{channel}/typing", self.type, "typing"),
            Route("PUT", emoji + "/@me", self.react, "reactions"),
            Route("DELETE", emoji + "/{user}", self.unreact, "reactions"),
            Route("GET", emoji, self.reacted, "reactions"),
        ]

    # -- where and whether ------------------------------------------------------------------------------------------

    def place(self, app: App, channel: str, *permissions: str) -> Channel:
        """A channel in which the bot has these permissions. Raises 10003, 50001 or 50013."""
        found = self._world.channels.get(channel)
        if found is None or (found.kind == DM and app.user not in found.people):
            raise Refused(10003)
        if not self._world.may(app.user, found, "view_channel"):
            raise Refused(50001)
        if not all(self._world.may(app.user, found, each) for each in permissions):
            raise Refused(50013)
        return found

    def message(self, channel: str, message: str) -> Message:
        found = self._world.messages.get(message)
        if found is None or found.deleted or found.channel != channel or found.ephemeral_to:
            raise Refused(10008)
        return found

    def _open(self, app: App, place: Channel) -> None:
        """Raises 50083 or 160005 where a thread lets nobody change anything."""
        if place.archived:
            raise Refused(50083)
        if place.locked and not self._world.may(app.user, place, "manage_threads"):
            raise Refused(160005)

    def _json(self, message: Message, app: App) -> Json:
        return self._payloads.message(message, app, content=bool(app.intents & CONTENT_INTENT))

    # -- writing ----------------------------------------------------------------------------------------------------

    def create(self, call: Call) -> Json:
        place = self.place(call.app, call["channel"])
        if place.kind in (CATEGORY, FORUM):
            raise Refused(50008)
        need = "send_messages_in_threads" if place.thread else "send_messages"
        place = self.place(call.app, place.id, need, *(["attach_files"] if call.files else []))
        self._lets_write(call.app, place)
        body = call.body
        flags = int(body.get("flags") or 0) & _SENDABLE
        self.check(body, flags, call.files)
        reference = self._reference(call.app, place, body)
        nonce = str(body["nonce"]) if body.get("nonce") is not None else ""
        if nonce and body.get("enforce_nonce") and "enforce_nonce" not in self.without:
            earlier = self._earlier(call.app, place, nonce)
            if earlier is not None:
                return self._json(earlier, call.app) | {"nonce": nonce}
        self._wake(place)
        made = self.write(call.app, place, body, flags, call.files, nonce=nonce, reference=reference)
        self._tell.posted(made)
        return self._json(made, call.app) | ({"nonce": nonce} if nonce else {})

    def _lets_write(self, app: App, place: Channel) -> None:
        if place.kind == DM:
            other = next(iter(place.people - {app.user}), "")
            if not self._world.users[other].takes_dms or not self._world.have_met(*place.people):
                raise Refused(50007)
        if place.locked and not self._world.may(app.user, place, "manage_threads"):
            raise Refused(50083 if place.archived else 160005)

    def _wake(self, place: Channel) -> None:
        """Source: topics/threads: sending a message unarchives a thread that is not locked."""
        if place.archived:
            place.archived, place.stirred = False, self._world.wall()
            self._tell.thread(place)

    def _earlier(self, app: App, place: Channel, nonce: str) -> Message | None:
        """What this bot posted here with the same nonce in the past few minutes."""
        for each in self._world.messages.values():
            if (each.author, each.channel, each.nonce, each.deleted) == (app.user, place.id, nonce, False):
                made = ((int(each.id) >> 22) + 1_420_070_400_000) / 1000
                if self._world.wall() - made < self._world.nonce_seconds:
                    return each
        return None

    def _reference(self, app: App, place: Channel, body: Json) -> Json | None:
        given = body.get("message_reference")
        if not given:
            return None
        if place.guild and not self._world.may(app.user, place, "read_message_history"):
            raise Refused(160002)
        found = self._world.messages.get(str(given.get("message_id")))
        if found is None or found.deleted or found.channel != place.id or found.ephemeral_to:
            if not given.get("fail_if_not_exists", True):
                return None
            raise invalid([("message_reference", "REPLIES_UNKNOWN_MESSAGE", "Unknown message")])
        if found.type not in PLAIN:
            words = "Cannot reply to a system message"
            raise invalid([("message_reference", "REPLIES_CANNOT_REPLY_TO_SYSTEM_MESSAGE", words)])
        told: Json = {"type": 0, "channel_id": place.id, "message_id": found.id}
        return told | ({"guild_id": place.guild} if place.guild else {})

    def check(self, body: Json, flags: int, files: list[Upload], *, known: Collection[str] = ()) -> None:
        """A message on its way in. `known`: attachments it may keep. Raises Refused."""
        if len(files) > 10:
            raise Refused(
                50035, message="Invalid Form Body", errors=invalid([rules.too_long("files", 10)]).body["errors"]
            )
        if any(len(each.content) > self._world.upload_limit for each in files):
            raise Refused(40005)
        rules.check_message(body, flags, without=self.without)
        numbers = {each.number for each in files}
        for at, each in enumerate(body.get("attachments") or ()):
            if str(each.get("id")) not in numbers | set(known):
                raise invalid([(f"attachments.{at}.id", "ATTACHMENT_NOT_FOUND", "Attachment not found")])
        shows = [str(body.get("content") or "").strip(), body.get("embeds"), body.get("components"), files]
        if not any(shows) and not body.get("attachments"):
            raise Refused(50006)

    def keep(self, app: App, body: Json, files: list[Upload]) -> list[str]:
        """Stores what was uploaded; the ids. Names are those given beside the file, if any."""
        given = {str(each.get("id")): each for each in body.get("attachments") or ()}
        return [
            self._world.add_file(
                str(given.get(each.number, {}).get("filename") or each.name), each.content, app.user
            ).id
            for each in files
        ]

    def write(
        self,
        app: App,
        place: Channel,
        body: Json,
        flags: int,
        files: list[Upload],
        *,
        webhook: bool = False,
        **more: Any,
    ) -> Message:
        """Stores a message that was checked; tells nobody. `webhook`: in answer to an interaction."""
        content, components = str(body.get("content") or "").strip(), numbered(body.get("components") or [])
        reference = more.get("reference")
        replied = self._world.messages[reference["message_id"]].author if reference and not webhook else ""
        allowed = body.get("allowed_mentions")
        pings = self._world.pinged(
            app.user, place, content, components, allowed=allowed, replied=replied, users_only=webhook
        )
        more.setdefault("type", 19 if reference else 0)
        return self._world.post(
            place.id,
            app.user,
            content=content,
            components=components,
            embeds=[{"type": "rich"} | each for each in body.get("embeds") or ()],
            files=self.keep(app, body, files),
            flags=flags,
            allowed_mentions=allowed,
            pings=pings,
            **more,
        )

    # -- changing ---------------------------------------------------------------------------------------------------

    def edit(self, call: Call) -> Json:
        place = self.place(call.app, call["channel"])
        found = self.message(place.id, call["message"])
        if found.author != call.app.user:
            suppressing = set(call.body) <= {"flags"} and self._world.may(call.app.user, place, "manage_messages")
            if not suppressing:
                raise Refused(50005)
        self._open(call.app, place)
        self.rewrite(call.app, found, call.body, call.files)
        self._tell.changed(found)
        return self._json(found, call.app)

    def rewrite(self, app: App, found: Message, body: Json, files: list[Upload], *, webhook: bool = False) -> None:
        """Carries out an edit that is allowed. Raises Refused."""
        place = self._world.channels[found.channel]
        flags = found.flags
        if body.get("flags") is not None:
            flags = found.flags & ~SUPPRESS_EMBEDS | int(body["flags"]) & (SUPPRESS_EMBEDS | V2)  # v2 stays
        now: Json = {"content": found.content, "components": found.components, "embeds": found.embeds}
        now["attachments"] = [{"id": each} for each in found.files]
        now |= {name: body[name] for name in _CHANGED if name in body}
        now["allowed_mentions"] = body.get("allowed_mentions")
        self.check(now, flags, files, known=found.files)
        kept = [str(each["id"]) for each in now["attachments"] or () if str(each["id"]) in found.files]
        found.history.append(found.shown)
        found.content, found.embeds = str(now["content"] or "").strip(), now["embeds"] or []
        found.components, found.flags = numbered(now["components"] or []), flags
        found.files = kept + self.keep(app, body, files)
        for each in found.files:
            self._world.files[each].channel = place.id
        if "content" in body or flags & V2:
            allowed = body.get("allowed_mentions")
            found.allowed_mentions = allowed
            found.pings = self._world.pinged(
                found.author, place, found.content, found.components, allowed=allowed, users_only=webhook
            )
        if set(body) & {*_CHANGED, "allowed_mentions"}:
            found.edited = self._world.wall()
        self._world.changed()

    def delete(self, call: Call) -> None:
        place = self.place(call.app, call["channel"])
        found = self.message(place.id, call["message"])
        if found.author != call.app.user:
            if place.kind == DM:
                raise Refused(50003)
            if not self._world.may(call.app.user, place, "manage_messages"):
                raise Refused(50013)
        if found.type in (1, 2, 3, 4, 5, 14, 15, 16, 17, 21):
            raise Refused(50021)
        if place.archived:
            raise Refused(50083)
        self.remove(found)

    def remove(self, *found: Message) -> None:
        """Several are of one channel, and told at once."""
        for one in found:
            one.deleted = True
        self._world.changed()
        self._tell.deleted(*found)

    # -- reading ----------------------------------------------------------------------------------------------------

    def read(self, call: Call) -> list[Json]:
        place = self.place(call.app, call["channel"])
        try:
            limit = int(call.query.get("limit", 50))
        except ValueError:
            limit = 0
        if not 1 <= limit <= 100:
            raise invalid([("limit", "NUMBER_TYPE_MAX", "int value should be between 1 and 100.")])
        if place.guild and not self._world.may(call.app.user, place, "read_message_history"):
            return []
        found = sorted(self._world.in_place(place.id), key=lambda each: int(each.id), reverse=True)
        if before := call.query.get("before"):
            found = [each for each in found if int(each.id) < int(before)]
        elif after := call.query.get("after"):
            found = [each for each in found if int(each.id) > int(after)][-limit:]
        elif around := call.query.get("around"):
            newer = [each for each in found if int(each.id) > int(around)][-(limit // 2) :]
            older = [each for each in found if int(each.id) <= int(around)][: limit - limit // 2]
            found = newer + older
        return [self._json(each, call.app) for each in found[:limit]]

    def get(self, call: Call) -> Json:
        place = self.place(call.app, call["channel"])
        if place.guild and not self._world.may(call.app.user, place, "read_message_history"):
            raise Refused(50001)
        return self._json(self.message(place.id, call["message"]), call.app)

    def type(self, call: Call) -> None:
        place = self.place(call.app, call["channel"])
        self.place(call.app, place.id, "send_messages_in_threads" if place.thread else "send_messages")
        self._world.typing[place.id, call.app.user] = self._world.clock.now()

    # -- reactions --------------------------------------------------------------------------------------------------

    def react(self, call: Call) -> None:
        place = self.place(call.app, call["channel"], "read_message_history")
        found, name = self.message(place.id, call["message"]), _emoji(call["emoji"])
        self._open(call.app, place)
        if name not in found.reactions:
            self.place(call.app, place.id, "add_reactions")
            if len(found.reactions) >= 20:
                raise Refused(30010)
        users = found.reactions.setdefault(name, [])
        if call.app.user not in users:
            users.append(call.app.user)
            self._tell.reaction(found, call.app.user, name, added=True)

    def unreact(self, call: Call) -> None:
        user = call.app.user if call["user"] == "@me" else call["user"]
        place = self.place(call.app, call["channel"], *(["manage_messages"] if user != call.app.user else []))
        found, name = self.message(place.id, call["message"]), _emoji(call["emoji"])
        self._open(call.app, place)
        if user in found.reactions.get(name, ()):
            found.reactions[name].remove(user)
            if not found.reactions[name]:
                del found.reactions[name]
            self._tell.reaction(found, user, name, added=False)

    def reacted(self, call: Call) -> list[Json]:
        place = self.place(call.app, call["channel"], "read_message_history")
        found = self.message(place.id, call["message"])
        users = sorted(found.reactions.get(_emoji(call["emoji"]), ()), key=int)
        users = [each for each in users if int(each) > int(call.query.get("after", 0))]
        return [self._payloads.anyone(each) for each in users[: int(call.query.get("limit", 25))]]


def _emoji(quoted: str) -> str:
    """Raises 10014 for what is neither a symbol nor `name:id`."""
    name = unquote(quoted)
    custom = name.partition(":")[2].isdigit()
    if not custom and not any(unicodedata.category(each) in ("So", "Sk", "Sm", "Me") for each in name):
        raise Refused(10014)
    return name


def numbered(components: list[Json]) -> list[Json]:
    """Every component with an id, as Discord gives out those that are missing. Source: components/reference."""
    count = 0

    def number(component: Json) -> Json:
        nonlocal count
        count += 1
        made = component | {"id": component.get("id") or count}
        if "components" in component:
            made["components"] = [number(each) for each in component["components"]]
        for name in ("accessory", "component"):
            if component.get(name):
                made[name] = number(component[name])
        return made

    return [number(each) for each in components]
