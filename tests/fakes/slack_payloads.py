"""What Slack sends an app: events of messages and reactions, and the payloads of buttons, commands and modals."""

import html
import re
import uuid
from collections.abc import Callable, Collection, Mapping
from typing import Any

from tests.fakes.slack_world import ORGANISATION, TEAM, App, Channel, Message, User, View, World

Json = dict[str, Any]
_KEPT = re.compile(r"<(?:[@#!][^>\n]+|https?://[^>\n]+|mailto:[^>\n]+)>")
_ADDRESS = re.compile(r"https?://[^\s<>|]+")


def typed(text: str) -> str:
    """What a person types, as Slack stores it: `& < >` escaped, addresses in brackets, `<@U1>` and its like kept."""
    made, at = "", 0
    for kept in _KEPT.finditer(text):
        made += _ADDRESS.sub(r"<\g<0>>", html.escape(text[at : kept.start()], quote=False)) + kept[0]
        at = kept.end()
    return made + _ADDRESS.sub(r"<\g<0>>", html.escape(text[at:], quote=False))


def rich(text: str) -> Json:
    """The rich text that comes beside what a person typed."""
    elements: list[Json] = []
    at = 0
    for found in re.finditer(r"<@(\w+)>", text):
        if text[at : found.start()]:
            elements.append({"type": "text", "text": html.unescape(text[at : found.start()])})
        elements.append({"type": "user", "user_id": found[1]})
        at = found.end()
    if text[at:]:
        elements.append({"type": "text", "text": html.unescape(text[at:])})
    section = {"type": "rich_text_section", "elements": elements}
    return {"type": "rich_text", "block_id": uuid.uuid4().hex[:5], "elements": [section]}


class Announcer:
    """Turns what happens in the world into events, and hands them to `send` with the apps that are to have them."""

    def __init__(self, world: World, base: str, send: Callable[[Channel | None, Json], None]) -> None:
        self._world = world
        self._base = base
        self._send = send
        self.files_by_id = True  # files in messages come as ids only, to be looked up; False: whole

    def as_event(self, message: Message) -> Json:
        told = self._world.as_json(message, base=self._base)
        for name in ("reply_count", "reply_users", "latest_reply", "reactions"):
            told.pop(name, None)
        if told.get("thread_ts") == message.ts:
            told.pop("thread_ts")
        if "files" in told and self.files_by_id:
            told["files"] = [{"id": each["id"], "file_access": "check_file_info"} for each in told["files"]]
        if not message.bot_id:
            told["client_msg_id"] = str(uuid.uuid5(uuid.NAMESPACE_OID, message.ts))
            if message.text:
                told["blocks"] = [rich(message.text)]
        sender = self._world.users.get(message.user)
        if sender and sender.teams:  # slack_bolt/request/internals.py: of a Grid these can be the organisation's id
            told |= {"team": ORGANISATION, "user_team": ORGANISATION}
        elif sender and sender.team != TEAM:
            told |= {"user_team": sender.team, "source_team": sender.team}
        return told

    def posted(self, message: Message) -> None:
        channel = self._world.channels[message.channel]
        event = self.as_event(message) | {"channel": channel.id, "event_ts": message.ts, "channel_type": channel.type}
        self._send(channel, event)

    def mention(self, message: Message) -> Json:
        event = self.as_event(message) | {"type": "app_mention", "channel": message.channel, "event_ts": message.ts}
        event.pop("subtype", None)
        return event

    def changed(self, message: Message, before: Json) -> None:
        self._about(
            message, {"subtype": "message_changed", "message": self.as_event(message), "previous_message": before}
        )

    def deleted(self, message: Message, before: Json) -> None:
        """A message that has replies leaves a tombstone, which is an edit."""
        if self._world.thread(message.channel, message.ts):
            tombstone = {
                "type": "message",
                "subtype": "tombstone",
                "text": "This message was deleted.",
                "user": "USLACKBOT",
                "hidden": True,
                "ts": message.ts,
                "thread_ts": message.ts,
            }
            self._about(message, {"subtype": "message_changed", "message": tombstone, "previous_message": before})
        else:
            self._about(message, {"subtype": "message_deleted", "deleted_ts": message.ts, "previous_message": before})

    def _about(self, message: Message, more: Json) -> None:
        channel, now = self._world.channels[message.channel], self._world.new_ts()
        event = {"type": "message", "hidden": True, "channel": channel.id, "channel_type": channel.type}
        self._send(channel, event | {"ts": now, "event_ts": now} | more)

    def reaction(self, kind: str, message: Message, user: str, name: str) -> None:
        item = {"type": "message", "channel": message.channel, "ts": message.ts}
        event = {"type": kind, "user": user, "reaction": name, "item_user": message.user, "item": item}
        self._send(self._world.channels[message.channel], event | {"event_ts": self._world.new_ts()})

    def file_shared(self, file: str, user: str, channel: Channel) -> None:
        event = {
            "type": "file_shared",
            "file_id": file,
            "user_id": user,
            "file": {"id": file},
            "channel_id": channel.id,
        }
        self._send(channel, event | {"event_ts": self._world.new_ts()})


def callback(app: App, event: Json, event_id: str, at: int, *, shared: bool) -> Json:
    """The payload that wraps an event."""
    who = {
        "enterprise_id": None,
        "team_id": TEAM,
        "user_id": app.bot_user,
        "is_bot": True,
        "is_enterprise_install": False,
    }
    return {
        "token": "unused",
        "team_id": TEAM,
        "api_app_id": app.id,
        "event": event,
        "type": "event_callback",
        "event_id": event_id,
        "event_time": at,
        "authorizations": [who],
        "is_ext_shared_channel": shared,
        "event_context": f"4-{event_id}",
    }


_SCOPES = {
    "app_mention": "app_mentions:read",
    "reaction_added": "reactions:read",
    "reaction_removed": "reactions:read",
    "file_shared": "files:read",
    "agent_session_stopped": "chat:write",
    "agent_session_title_changed": "chat:write",
    "member_joined_channel": "channels:read",
    "user_change": "users:read",
}


def subscribed(app: App, event: Json, channel: Channel | None, names: Collection[str] | None) -> bool:
    """Whether an app is told of an event: its scopes allow it, and it is among the `names` it subscribed to."""
    name, scope = event["type"], _SCOPES.get(event["type"], "")
    if name == "message" and channel is not None:
        family = {"public": "channels", "private": "groups", "im": "im", "mpim": "mpim"}[channel.kind]
        name, scope = f"message.{family}", f"{family}:history"
    return (not scope or scope in app.scopes) and (names is None or name in names)


# -- gestures -------------------------------------------------------------------------------------------------------


def gesture(kind: str, app: App, user: User, trigger: str) -> Json:
    return {
        "type": kind,
        "user": {"id": user.id, "username": user.name, "name": user.name, "team_id": user.team},
        "api_app_id": app.id,
        "token": "unused",
        "team": {"id": TEAM, "domain": "loopback"},
        "enterprise": None,
        "is_enterprise_install": False,
        "trigger_id": trigger,
    }


def find_action(blocks: list[Json], action_id: str) -> tuple[Json, Json]:
    """The element of this action and the block it is in.

    Raises:
        LookupError: the message or view has no such button; people cannot press it.
    """
    for block in blocks:
        inner = [*(block.get("elements") or ()), *(block.get("actions") or ())]
        inner += [each for each in (block.get("accessory"), block.get("element")) if each]
        for element in inner:
            if element.get("action_id") == action_id:
                return element, block
        for nested in (block.get("child_blocks"), [each for each in inner if each.get("type") == "card"]):
            try:
                return find_action(nested or [], action_id)
            except LookupError:
                continue
    raise LookupError(f"no {action_id!r} to press")


def action(element: Json, block: Json, chosen: Any, at: str) -> Json:
    """What one press sends. `chosen`: "positive" or "negative" for feedback buttons, the value of a select's option."""
    told = {
        "type": element["type"],
        "action_id": element["action_id"],
        "block_id": block.get("block_id", ""),
        "action_ts": at,
    }
    match element["type"]:
        case "feedback_buttons":
            button = element[f"{chosen or 'positive'}_button"]
            return told | {"text": button["text"], "value": button["value"]}
        case "button" | "icon_button":
            return told | {"text": element["text"]} | ({"value": element["value"]} if "value" in element else {})
        case _:
            return told | state_of(element, chosen)


def state_of(element: Json, given: Any) -> Json:
    """The state of one input, as view_submission and select menus carry it. None: left as it was.

    Raises:
        LookupError: a choice that is not among the options.
    """
    kind = element["type"]
    told: Json = {"type": kind}

    def option(value: Any) -> Json:
        options = element.get("options") or [each for group in element["option_groups"] for each in group["options"]]
        found = next((each for each in options if each["value"] == value), None)
        if found is None:
            raise LookupError(f"{value!r} is not among the options of {element.get('action_id')!r}")
        return dict(found)

    match kind:
        case "static_select" | "radio_buttons" | "overflow":
            chosen = element.get("initial_option") if given is None else option(given)
            return told | {"selected_option": chosen}
        case "multi_static_select" | "checkboxes":
            many = element.get("initial_options") or [] if given is None else [option(each) for each in given]
            return told | {"selected_options": many}
        case "users_select" | "channels_select" | "conversations_select":
            one = kind.removesuffix("s_select")
            return told | {f"selected_{one}": element.get(f"initial_{one}") if given is None else given}
        case "multi_users_select" | "multi_channels_select" | "multi_conversations_select":
            several = kind.removeprefix("multi_").removesuffix("_select")
            return told | {f"selected_{several}": element.get(f"initial_{several}") or [] if given is None else given}
        case "datepicker":
            return told | {"selected_date": element.get("initial_date") if given is None else given}
        case "file_input":
            return told | {"files": given or []}
        case _:
            return told | {"value": element.get("initial_value") if given is None else given}


def view_json(view: View, app: App) -> Json:
    body = dict(view.body)
    return body | {
        "id": view.id,
        "team_id": TEAM,
        "hash": view.hash,
        "app_id": app.id,
        "app_installed_team_id": TEAM,
        "bot_id": app.bot_id,
        "root_view_id": view.root,
        "previous_view_id": None,
        "state": body.get("state", {"values": {}}),
        "callback_id": body.get("callback_id", ""),
        "private_metadata": body.get("private_metadata", ""),
        "external_id": body.get("external_id", ""),
    }


def submitted(view: View, values: Mapping[str, Any]) -> Json:
    """The state of a modal once filled in, by block id or action id.

    Raises:
        LookupError: a field the modal does not have, or a required one left empty; people cannot submit that.
    """
    state: Json = {}
    used = set()
    for block in view.body["blocks"]:
        if block["type"] != "input":
            continue
        element = block["element"]
        keys = [key for key in (block.get("block_id"), element.get("action_id")) if key in values]
        used.update(keys)
        told = state_of(element, values[keys[0]] if keys else None)
        filled = any(value not in (None, "", []) for name, value in told.items() if name != "type")
        if not filled and not block.get("optional"):
            raise LookupError(f"{block.get('block_id')!r} is required")
        state[block["block_id"]] = {element["action_id"]: told}
    if unknown := set(values) - used:
        raise LookupError(f"the modal has no {sorted(unknown)}")
    return {"values": state}
