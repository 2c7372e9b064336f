"""What Discord sends when somebody presses a component or submits a modal, and whether anybody could.

Source: discord-api-docs, components/reference (interaction response structures).
"""

import asyncio
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes import discord_commands as commands
from tests.fakes import discord_text as text
from tests.fakes.discord_events import Announcer
from tests.fakes.discord_interactions import AUTOCOMPLETE, COMMAND, COMPONENT, SUBMIT
from tests.fakes.discord_payloads import Payloads
from tests.fakes.discord_world import App, Channel, File, Interaction, Message, User

Json = dict[str, Any]
_USER, _ROLE, _MENTIONABLE, _CHANNEL = 5, 6, 7, 8


@dataclass
class Named:
    """What a gesture refers to, for its `resolved`."""

    ids: list[str] = field(default_factory=list)
    files: list[File] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)


def resolved(payloads: Payloads, named: Named, guild: str) -> Json:
    world = payloads.world
    home = world.guilds.get(guild)
    told: Json = {}
    for each in named.ids:
        if each in world.users:
            told.setdefault("users", {})[each] = payloads.anyone(each)
            if home and each in home.members:
                member = payloads.member(home.members[each], with_user=False)
                told.setdefault("members", {})[each] = member | {
                    "permissions": str(world.permissions(each, None, guild))
                }
        elif home and each in home.roles:
            told.setdefault("roles", {})[each] = payloads.role(home.roles[each])
        elif each in world.channels:
            told.setdefault("channels", {})[each] = payloads.channel(world.channels[each]) | {"permissions": "0"}
        else:
            raise LookupError(f"nothing has the id {each}")
    for file in named.files:
        file.ephemeral = True  # files of commands and modals are in no channel
        told.setdefault("attachments", {})[file.id] = payloads.attachment(file)
    for message in named.messages:
        told.setdefault("messages", {})[message.id] = payloads.message(message)
    return told


def pressed(message: Message, what: str, chosen: Any) -> tuple[Json, Named]:
    """The data of a press: `what` is a custom_id, or the label or emoji of it.

    Raises:
        LookupError: there is no such thing on the message, or it is disabled.
    """
    there = text.interactive(message.components)
    found = [each for each in there if each["custom_id"] == what] or [
        each for each in there if text.label(each) == what
    ]
    if not found:
        raise LookupError(f"{what!r} is not among {message.buttons}")
    if found[0].get("disabled"):
        raise LookupError(f"{what!r} is disabled")
    component, named = found[0], Named()
    data: Json = {"custom_id": component["custom_id"], "component_type": component["type"], "id": component["id"]}
    if component["type"] != 2:
        data["values"] = _selected(component, chosen, named)
    return data, named


def _selected(component: Json, chosen: Any, named: Named) -> list[str]:
    values = [
        str(each) for each in (chosen if isinstance(chosen, list | tuple) else [] if chosen is None else [chosen])
    ]
    if component["type"] in (_USER, _ROLE, _MENTIONABLE, _CHANNEL):
        named.ids += values
    elif unknown := set(values) - {each["value"] for each in component.get("options") or ()}:
        raise LookupError(f"no option {sorted(unknown)}")
    return values


def submitted(modal: Json, given: Mapping[str, Any]) -> tuple[list[Json], Named]:
    """The answer of somebody who fills in `given`, by custom_id or label; what stands there already stays.

    Raises:
        LookupError: there is no such field.
        ValueError: something required is missing, or a value does not fit.
    """
    named, used, parts = Named(), set[str](), []

    def fill(component: Json, label: str) -> Json:
        keys = [key for key in (component.get("custom_id", ""), label) if key in given]
        used.update(keys)
        return _filled(component, given[keys[0]] if keys else None, label, named)

    for number, part in enumerate(modal["components"], 1):
        if part["type"] == 1:
            [inside] = part["components"]
            parts.append({"type": 1, "id": number, "components": [fill(inside, str(inside.get("label") or ""))]})
        elif part["type"] == 18:
            parts.append({"type": 18, "id": number, "component": fill(part["component"], part["label"])})
        else:
            parts.append({"type": part["type"], "id": number})
    if unknown := set(given) - used:
        raise LookupError(f"the modal has no field {sorted(unknown)}")
    return parts, named


def _filled(component: Json, value: Any, label: str, named: Named) -> Json:
    kind = component["type"]
    told: Json = {"type": kind, "id": component.get("id") or 1, "custom_id": component["custom_id"]}
    needed = component.get("required", True)
    if kind == 4:
        words = str(component.get("value") or "") if value is None else str(value)
        low, high = component.get("min_length") or 0, component.get("max_length") or 4000
        if (needed and not words) or (words and not low <= len(words) <= high):
            raise ValueError(f"{label} takes {low} to {high} characters, not {len(words)}")
        return told | {"value": words}
    if kind == 23:
        return told | {"value": bool(component.get("default")) if value is None else bool(value)}
    if value is None:
        value = [each["value"] for each in component.get("options") or () if each.get("default")]
    if kind == 21:
        picked = value[0] if isinstance(value, list) and value else value or None
        if (needed and not picked) or (picked and picked not in [each["value"] for each in component["options"]]):
            raise ValueError(f"{label} does not take {picked!r}")
        return told | {"value": picked}
    chosen = list(value) if isinstance(value, list | tuple) else [value]
    most = component.get("max_values") or (len(component.get("options") or ()) if kind == 22 else 1)
    if len(chosen) > most or (needed and len(chosen) < (component.get("min_values") or 1)):
        raise ValueError(f"{label} takes {component.get('min_values') or 1} to {most}, not {len(chosen)}")
    if kind == 19:
        named.files += chosen
        return told | {"values": [each.id for each in chosen]}
    return told | {"values": _selected(component, chosen, named)}


class Gestures:
    """Sends them to the first app, and waits until they are answered or were not in time."""

    def __init__(self, payloads: Payloads, tell: Announcer, apps: list[App], changed: Callable[[], None]) -> None:
        self._payloads = payloads
        self._world = payloads.world
        self._tell = tell
        self._apps = apps
        self._changed = changed

    async def command(
        self, name: str, options: Mapping[str, Any], user: User, place: Channel, focused: str = ""
    ) -> Interaction:
        """A slash command, or with `focused` what is proposed for that option."""
        first, *path = name.split(" ")
        command = commands.find(self._apps[0], first, commands.SLASH, place.guild)
        self._usable(command, user, place)
        filled, ids, files = commands.filled(command, path, options, self._world, focused=focused)
        data = {"id": command["id"], "name": first, "type": commands.SLASH, "options": filled}
        kind = AUTOCOMPLETE if focused else COMMAND
        return await self._send(kind, user, place, data, Named(ids, files), name=name)

    async def menu(self, name: str, message: Message, user: User) -> Interaction:
        place = self._world.channels[message.channel]
        command = commands.find(self._apps[0], name, commands.MESSAGE_MENU, place.guild)
        self._usable(command, user, place)
        data = {"id": command["id"], "name": name, "type": commands.MESSAGE_MENU, "target_id": message.id}
        return await self._send(COMMAND, user, place, data, Named(messages=[message]), name=name)

    async def press(self, user: User, message: Message, data: Json, named: Named) -> Interaction:
        place = self._world.channels[message.channel]
        return await self._send(COMPONENT, user, place, data, named, source=message.id)

    async def submit(self, user: User, opened: Interaction, values: Mapping[str, Any]) -> Interaction:
        assert opened.modal is not None
        parts, named = submitted(opened.modal, values)
        data = {"custom_id": opened.modal["custom_id"], "components": parts}
        place = self._world.channels[opened.channel]
        made = await self._send(SUBMIT, user, place, data, named, source=opened.source, parent=opened)
        opened.modal_open = not made.answer
        return made

    def _usable(self, command: Json, user: User, place: Channel) -> None:
        """Source: application-commands, contexts and default_member_permissions. Raises ValueError."""
        if place.archived:  # Source: topics/threads
            raise ValueError("commands are not for archived threads")
        here = 0 if place.guild else 1
        if command.get("contexts") is not None and here not in command["contexts"]:
            raise ValueError(f"{command['name']} cannot be used here")
        if not place.guild and command.get("dm_permission") is False:
            raise ValueError(f"{command['name']} cannot be used in direct messages")
        needed = int(command.get("default_member_permissions") or 0)
        if place.guild and self._world.permissions(user.id, place) & needed != needed:
            raise ValueError(f"{user.name} may not use {command['name']}")

    async def _send(self, kind: int, user: User, place: Channel, data: Json, named: Named, **more: Any) -> Interaction:
        world = self._world
        if kind != SUBMIT and not world.may(user.id, place, "view_channel"):  # of an open form nobody says what happens
            raise ValueError(f"{user.name} does not see that")
        token = f"aW50ZXJhY3Rpb24{uuid.uuid4().hex}"
        made = Interaction(world.new_id(), token, kind, self._apps[0], user.id, place.id, world.clock.now(), **more)
        told = resolved(self._payloads, named, place.guild)
        made.payload = self._payloads.interaction(made, data | ({"resolved": told} if told else {}))
        if made.source:
            made.payload["message"] = self._payloads.message(world.messages[made.source], made.app)
        world.interactions[token] = made
        self._tell.interaction(made)
        try:
            async with asyncio.timeout(world.answer_seconds / world.clock.scale):
                await made.finished.wait()
        except TimeoutError:
            made.finished.set()
        self._changed()
        return made
