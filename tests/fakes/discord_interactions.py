"""Interactions over REST: the callback within three seconds, answers by its token within fifteen minutes, commands.

Source: discord-api-docs, interactions/{receiving-and-responding,application-commands}.
"""

import time
from collections import deque
from collections.abc import Collection
from typing import Any

from tests.fakes import discord_commands as commands
from tests.fakes import discord_rules as rules
from tests.fakes.discord_events import Announcer
from tests.fakes.discord_gate import Refused, invalid
from tests.fakes.discord_messages import Messages
from tests.fakes.discord_payloads import Payloads
from tests.fakes.discord_server import Call, Route
from tests.fakes.discord_world import EPHEMERAL, LOADING, SUPPRESS_EMBEDS, V2, App, Interaction, Message, World

Json = dict[str, Any]
MESSAGE, DEFER, DEFER_UPDATE, UPDATE, CHOICES, MODAL = 4, 5, 6, 7, 8, 9
COMMAND, COMPONENT, AUTOCOMPLETE, SUBMIT = 2, 3, 4, 5
_SENDABLE = SUPPRESS_EMBEDS | EPHEMERAL | 1 << 12 | V2
_A_DAY = 200  # commands created, in each scope. Source: application-commands


class Interactions:
    def __init__(
        self, world: World, payloads: Payloads, tell: Announcer, messages: Messages, without: Collection[str]
    ) -> None:
        self._world = world
        self._payloads = payloads
        self._tell = tell
        self._messages = messages
        self._without = without
        self._created: dict[tuple[str, str], deque[float]] = {}  # by app and guild, "" for all

    def routes(self) -> list[Route]:
        hook = "/webhooks/{app}/{token}"
        one = hook + "/messages/{message}"
        mine, theirs = "/applications/{app}/commands", "/applications/{app}/guilds/{guild}/commands"
        return [
            Route("POST", "/interactions/{id}/{token}/callback", self.callback, "interactions", token=False),
            Route("POST", hook, self.follow_up, "webhooks", token=False),
            Route("GET", one, self.get, "webhooks", token=False),
            Route("PATCH", one, self.edit, "webhooks", token=False),
            Route("DELETE", one, self.delete, "webhooks", token=False),
            *(Route("GET", path, self.listed, "commands") for path in (mine, theirs)),
            *(Route("PUT", path, self.replace, "commands") for path in (mine, theirs)),
            *(Route("POST", path, self.upsert, "commands") for path in (mine, theirs)),
            *(Route("DELETE", path + "/{command}", self.forget, "commands") for path in (mine, theirs)),
        ]

    # -- the first answer -------------------------------------------------------------------------------------------

    def callback(self, call: Call) -> Json | None:
        made = self._world.interactions.get(call["token"])
        if made is None or made.id != call["id"]:
            raise Refused(10062)
        if made.answer:
            raise Refused(40060)
        if made.finished.is_set() or self._world.clock.now() - made.made > self._world.answer_seconds:
            made.finished.set()
            raise Refused(10062)
        kind, data = call.body.get("type"), call.body.get("data") or {}
        self._fits(made, kind)
        match kind:
            case 4 | 5:
                self._respond(call, made, data, deferred=kind == DEFER)
            case 7:
                source = self._world.messages[made.source]
                self._messages.rewrite(made.app, source, data, call.files, webhook=True)
                made.original = source.id
                self._tell.changed(source)
            case 6:
                made.original = made.source
            case 8:
                made.choices = data.get("choices") or []
                rules.check_choices(made.choices)
            case 9:
                rules.check_modal(data, without=self._without)
                made.modal, made.modal_open = data, True
        made.answer, made.latency = kind, time.monotonic() - made.sent
        made.finished.set()
        self._world.changed()
        if call.query.get("with_response") in ("1", "true"):
            return self._told(made)
        return None

    def _fits(self, made: Interaction, kind: Any) -> None:
        """Which answers a gesture allows. Raises Refused."""
        allowed = {MESSAGE, DEFER, MODAL}
        if made.type == SUBMIT:
            allowed = {MESSAGE, DEFER}
        elif made.type == AUTOCOMPLETE:
            allowed = {CHOICES}
        if made.source:
            allowed |= {DEFER_UPDATE, UPDATE}
        if kind not in allowed:
            raise invalid([("type", "BASE_TYPE_CHOICES", f"Value must be one of {sorted(allowed)}.")])

    def _respond(self, call: Call, made: Interaction, data: Json, *, deferred: bool) -> None:
        flags = int(data.get("flags") or 0) & _SENDABLE
        if deferred:
            made.deferred = True
            self._post(call, made, {}, flags & EPHEMERAL | LOADING)
        else:
            self._messages.check(data, flags, call.files)
            self._post(call, made, data, flags)

    def _post(self, call: Call, made: Interaction, data: Json, flags: int) -> Message:
        """A message in answer to an interaction; the first is its original."""
        place = self._world.channels[made.channel]
        if place.archived:
            raise Refused(50083)
        quiet = made.user if flags & EPHEMERAL else ""
        kind, reference = 0, None
        if not made.original and made.type == COMMAND:
            kind = 20 if made.payload["data"]["type"] == commands.SLASH else 23
        elif made.original or made.source:
            kind = 19
            reference = {"type": 0, "channel_id": place.id, "message_id": made.original or made.source}
            reference |= {"guild_id": place.guild} if place.guild else {}
        more: Json = {"webhook": True, "type": kind, "reference": reference, "interaction": made.token}
        posted = self._messages.write(made.app, place, data, flags, call.files, ephemeral_to=quiet, **more)
        if made.original:
            made.followups.append(posted.id)
        else:
            made.original = posted.id
        self._tell.posted(posted)
        return posted

    def _told(self, made: Interaction) -> Json:
        told: Json = {"id": made.id, "type": made.type}
        resource: Json = {"type": made.answer}
        shown = self._world.messages.get(made.original)
        if shown is not None and made.answer in (MESSAGE, DEFER, UPDATE):
            told |= {"response_message_id": shown.id, "response_message_loading": shown.loading}
            told["response_message_ephemeral"] = bool(shown.ephemeral_to)
            if made.answer in (MESSAGE, UPDATE):
                resource["message"] = self._payloads.message(shown, made.app)
        return {"interaction": told, "resource": resource}

    # -- by its token -----------------------------------------------------------------------------------------------

    def _by_token(self, call: Call) -> Interaction:
        """Raises 10015 where nothing was answered yet, 50027 when fifteen minutes are over."""
        made = self._world.interactions.get(call["token"])
        if made is None or made.app.id != call["app"]:
            raise Refused(50027)
        if self._world.clock.now() - made.made > self._world.token_seconds:
            raise Refused(50027)
        if not made.answer:
            raise Refused(10015)
        return made

    def _message(self, call: Call) -> tuple[Interaction, Message]:
        made = self._by_token(call)
        wanted = made.original if call["message"] == "@original" else call["message"]
        found = self._world.messages.get(wanted)
        if found is None or found.deleted or wanted not in (made.original, *made.followups):
            raise Refused(10008)
        return made, found

    def follow_up(self, call: Call) -> Json:
        """The first one after a deferral takes the place of "thinking"."""
        made = self._by_token(call)
        if made.deferred:
            return self._fill(call, made, self._world.messages[made.original])
        flags = int(call.body.get("flags") or 0) & _SENDABLE
        self._messages.check(call.body, flags, call.files)
        return self._payloads.message(self._post(call, made, call.body, flags), made.app)

    def get(self, call: Call) -> Json:
        made, found = self._message(call)
        return self._payloads.message(found, made.app)

    def edit(self, call: Call) -> Json:
        made, found = self._message(call)
        return self._fill(call, made, found)

    def _fill(self, call: Call, made: Interaction, found: Message) -> Json:
        if self._world.channels[found.channel].archived:
            raise Refused(50083)
        self._messages.rewrite(made.app, found, call.body, call.files, webhook=True)
        if found.loading and made.original == found.id:
            found.flags &= ~LOADING
            found.history.pop()  # "thinking" was nothing to read
            made.deferred = False
        self._tell.changed(found)
        return self._payloads.message(found, made.app)

    def delete(self, call: Call) -> None:
        made, found = self._message(call)
        made.deferred = made.deferred and found.id != made.original
        self._messages.remove(found)

    # -- commands ---------------------------------------------------------------------------------------------------

    def _mine(self, call: Call) -> tuple[App, str]:
        if call["app"] != call.app.id:
            raise Refused(20012)
        guild = call.params.get("guild", "")
        if guild and (guild not in self._world.guilds or guild in call.app.commandless):
            raise Refused(50001)
        return call.app, guild

    def _in(self, app: App, guild: str) -> dict[str, Json]:
        return {key: each for key, each in app.commands.items() if each.get("guild_id", "") == guild}

    def listed(self, call: Call) -> list[Json]:
        """Source: application-commands, get global application commands."""
        found = list(self._in(*self._mine(call)).values())
        full = call.query.get("with_localizations", "").lower() in ("1", "true")
        return found if full else [commands.without_localizations(each) for each in found]

    def replace(self, call: Call) -> list[Json]:
        """Overwrites all commands of the scope; those of the same name and type keep their id."""
        app, guild = self._mine(call)
        if not isinstance(call.body, list):
            raise Refused(50035)
        commands.check(call.body, without=self._without)
        before = self._in(app, guild)
        made = [self._register(app, guild, each, before) for each in call.body]
        for key in set(before) - {each["id"] for each in made}:
            del app.commands[key]
        self._world.changed()
        return made

    def upsert(self, call: Call) -> Json:
        app, guild = self._mine(call)
        commands.check([call.body], without=self._without)
        return self._register(app, guild, call.body, self._in(app, guild))

    def _register(self, app: App, guild: str, command: Json, before: dict[str, Json]) -> Json:
        sort = command.get("type", commands.SLASH), command["name"]
        known = next((each for each in before.values() if (each["type"], each["name"]) == sort), None)
        if known is None:
            now = self._world.clock.now()
            created = self._created.setdefault((app.id, guild), deque())
            while created and now - created[0] >= 86_400:
                created.popleft()
            if len(created) >= _A_DAY:
                raise Refused(30034)
            created.append(now)
        made = commands.registered(command, app, known["id"] if known else self._world.new_id(), guild, known)
        app.commands[made["id"]] = made
        return made

    def forget(self, call: Call) -> None:
        app, guild = self._mine(call)
        if call["command"] not in self._in(app, guild):
            raise Refused(10063)
        del app.commands[call["command"]]
