"""The Web API beside chat.*: who and where, history, views, reactions, files, the status of a thread."""

import base64
import json
from collections.abc import Callable
from typing import Any

from tests.fakes import slack_rules as rules
from tests.fakes.slack_gate import BY_KIND, Refused
from tests.fakes.slack_payloads import Announcer, view_json
from tests.fakes.slack_world import TEAM, App, Channel, Message, Status, View, World

Json = dict[str, Any]


class Methods:
    """The methods by their name with underscores. Each takes the calling app and the arguments."""

    def __init__(self, world: World, tell: Announcer, base: str) -> None:
        self._world = world
        self._tell = tell
        self._base = base
        self._uploads: dict[str, str] = {}  # by token: the file it is for
        self.keeps_metadata = True
        self.told_of: Callable[[str], bool] = lambda event: True  # whether the app is subscribed to it
        self.whole_org = False  # whether the app is installed for all workspaces of an Enterprise Grid
        self.history_page = 1000  # 15 for apps sold outside Slack's marketplace

    # -- who --------------------------------------------------------------------------------------------------------

    def auth_test(self, app: App, arguments: Json) -> Json:
        bot = self._world.users[app.bot_user]
        told = {"url": f"{self._base}/", "team": "Loopback", "user": bot.name, "team_id": TEAM, "user_id": bot.id}
        return {"ok": True, **told, "bot_id": app.bot_id, "is_enterprise_install": self.whole_org}

    def users_info(self, app: App, arguments: Json) -> Json:
        user = self._world.users.get(str(arguments.get("user") or ""))
        if user is None:
            raise Refused("user_not_found")
        told = user.as_json()
        if not rules.flag(arguments.get("include_locale")):
            del told["locale"]
        return {"ok": True, "user": told}

    def users_list(self, app: App, arguments: Json) -> Json:
        shown, more = _page([user.as_json() for user in self._world.users.values()], arguments, 1000)
        return {"ok": True, "members": shown} | more

    def bots_info(self, app: App, arguments: Json) -> Json:
        for user in self._world.users.values():
            if user.bot_id and user.bot_id == arguments.get("bot"):
                return {
                    "ok": True,
                    "bot": {"id": user.bot_id, "app_id": user.app_id, "user_id": user.id, "name": user.name},
                }
        raise Refused("bot_not_found")

    # -- where ------------------------------------------------------------------------------------------------------

    def _seen(self, app: App, wanted: Any) -> Channel:
        channel = self._world.channels.get(str(wanted or ""))
        if channel is None or (channel.kind != "public" and app.bot_user not in channel.members):
            raise Refused("channel_not_found")
        return channel

    def _inside(self, app: App, wanted: Any) -> Channel:
        channel = self._seen(app, wanted)
        if app.bot_user not in channel.members:
            raise Refused("not_in_channel")
        return channel

    def conversations_info(self, app: App, arguments: Json) -> Json:
        channel = self._seen(app, arguments.get("channel"))
        told = channel.as_json(app.bot_user)
        if rules.flag(arguments.get("include_num_members")):
            told["num_members"] = len(channel.members)
        return {"ok": True, "channel": told}

    def conversations_members(self, app: App, arguments: Json) -> Json:
        channel = self._seen(app, arguments.get("channel"))
        shown, more = _page(sorted(channel.members), arguments, 100)
        return {"ok": True, "members": shown} | more

    def conversations_list(self, app: App, arguments: Json) -> Json:
        """Each type needs its scope. What is excluded is left out of its page, which may be empty then."""
        kinds = {"public_channel": "public", "private_channel": "private", "im": "im", "mpim": "mpim"}
        types = [each.strip() for each in str(arguments.get("types") or "public_channel").split(",")]
        if not set(types) <= set(kinds):
            raise Refused("invalid_types")
        wanted = {kinds[each] for each in types}
        needed = {f"{BY_KIND[kind]}:read" for kind in wanted}
        if not needed <= app.scopes:
            raise Refused("missing_scope", needed=",".join(sorted(needed)), provided=",".join(sorted(app.scopes)))
        if str(arguments.get("limit") or "1").isdecimal() and int(arguments.get("limit") or 1) >= 1_000:
            raise Refused("invalid_limit")  # "an integer under 1000"
        found = [
            channel
            for channel in self._world.channels.values()
            if channel.kind in wanted and (channel.kind == "public" or app.bot_user in channel.members)
        ]
        shown, more = _page(found, arguments, 100)
        excluded = rules.flag(arguments.get("exclude_archived"))
        kept = [channel.as_json(app.bot_user) for channel in shown if not (excluded and channel.archived)]
        return {"ok": True, "channels": kept} | more

    def conversations_open(self, app: App, arguments: Json) -> Json:
        people = [each for each in str(arguments.get("users") or "").split(",") if each]
        if not people:
            return {"ok": True, "channel": {"id": self._inside(app, arguments.get("channel")).id}}
        for each in people:
            user = self._world.users.get(each)
            if user is None:
                raise Refused("user_not_found")
            if user.kind == "bot":
                raise Refused("cannot_dm_bot")
            if user.kind == "deleted":
                raise Refused("user_disabled")
        return {"ok": True, "channel": {"id": self._world.im(app.bot_user, *people).id}}

    # -- history ----------------------------------------------------------------------------------------------------

    def conversations_replies(self, app: App, arguments: Json) -> Json:
        channel = self._inside(app, arguments.get("channel"))
        parent = self._world.messages.get((channel.id, str(arguments.get("ts") or "")))
        if parent is None or parent.ephemeral_to:
            raise Refused("thread_not_found")
        replies = self._world.thread(channel.id, parent.ts)
        if parent.deleted and not replies:
            raise Refused("thread_not_found")
        within = [each for each in replies if _between(each, arguments)]
        found = [self._told(each, arguments) for each in (parent, *within)]
        shown, more = _page(found, arguments, self.history_page)
        return {"ok": True, "messages": shown, "has_more": bool(more["response_metadata"]["next_cursor"])} | more

    def conversations_history(self, app: App, arguments: Json) -> Json:
        channel = self._inside(app, arguments.get("channel"))
        roots = [each for each in self._world.roots(channel.id) if _between(each, arguments)]
        newest_first = [self._told(each, arguments) for each in reversed(roots)]
        shown, more = _page(newest_first, arguments, min(100, self.history_page))
        return {"ok": True, "messages": shown, "has_more": bool(more["response_metadata"]["next_cursor"])} | more

    def _told(self, message: Message, arguments: Json) -> Json:
        metadata = self.keeps_metadata and rules.flag(arguments.get("include_all_metadata"))
        if message.deleted:  # its replies are still there
            left: Json = {
                "type": "message",
                "subtype": "tombstone",
                "text": "This message was deleted.",
                "hidden": True,
            }
            count = len(self._world.thread(message.channel, message.ts))
            return left | {"user": "USLACKBOT", "ts": message.ts, "thread_ts": message.ts, "reply_count": count}
        return self._world.as_json(message, metadata=metadata, base=self._base)

    # -- views ------------------------------------------------------------------------------------------------------

    def views_open(self, app: App, arguments: Json) -> Json:
        view = self._checked(arguments, "modal")
        user = self._redeemed(arguments)
        return self._kept(app, view, user, root="")

    def views_push(self, app: App, arguments: Json) -> Json:
        view = self._checked(arguments, "modal")
        user = self._redeemed(arguments)
        stack = [each for each in self._world.views.values() if each.user == user and not each.closed]
        if not stack:
            raise Refused("not_found")
        if len(stack) >= 3:
            raise Refused("push_limit_reached")
        return self._kept(app, view, user, root=stack[0].id)

    def views_update(self, app: App, arguments: Json) -> Json:
        wanted = arguments.get("view_id")
        named = arguments.get("external_id")
        found = self._world.views.get(str(wanted or ""))
        if named:
            found = next((each for each in self._world.views.values() if each.body.get("external_id") == named), None)
        if found is None or found.closed or found.app_id != app.id:
            raise Refused("not_found")
        body = self._checked(arguments, found.body["type"])
        if arguments.get("hash") and arguments["hash"] != found.hash:
            raise Refused("hash_conflict")
        return self._replaced(app, found, body)

    def views_publish(self, app: App, arguments: Json) -> Json:
        user = str(arguments.get("user_id") or "")
        if user not in self._world.users:
            raise Refused("user_not_found")
        body = self._checked(arguments, "home")
        found = self._world.homes.get((app.id, user))
        if found is None:
            found = View(self._world.new_id("V"), user, {}, "", app.id, "")
            self._world.homes[app.id, user] = self._world.views[found.id] = found
        if arguments.get("hash") and arguments["hash"] != found.hash:
            raise Refused("hash_conflict")
        return self._replaced(app, found, body)

    def replace_view(self, app: App, view: View, body: Any) -> None:
        """A modal changed by the answer to its submission. Raises Refused as views.update would."""
        self._replaced(app, view, self._checked({"view": body}, "modal"))

    def push_view(self, app: App, user: str, body: Any, root: str) -> None:
        self._kept(app, self._checked({"view": body}, "modal"), user, root=root)

    def _redeemed(self, arguments: Json) -> str:
        trigger = str(arguments.get("trigger_id") or "")
        made, user = self._world.triggers.get(trigger, (None, ""))
        if made is None:
            raise Refused("invalid_trigger_id")
        if self._world.clock.now() - made > self._world.trigger_seconds:
            raise Refused("expired_trigger_id")
        if trigger in self._world.redeemed:
            raise Refused("exchanged_trigger_id")
        self._world.redeemed.add(trigger)
        return user

    def _checked(self, arguments: Json, kind: str) -> Json:
        view = arguments.get("view")
        if isinstance(view, str):
            view = json.loads(view)
        if not isinstance(view, dict):
            raise Refused("invalid_arguments", response_metadata={"messages": ["[ERROR] missing required field: view"]})
        if problems := list(_wrong_view(view, kind)):
            raise Refused("invalid_arguments", response_metadata={"messages": [f"[ERROR] {each}" for each in problems]})
        named = view.get("external_id")
        taken = {each.body.get("external_id") for each in self._world.views.values() if not each.closed}
        if named and named in taken and not (arguments.get("view_id") or arguments.get("external_id")):
            raise Refused("duplicate_external_id")
        return view | {"blocks": rules.with_ids(view["blocks"])}

    def _kept(self, app: App, body: Json, user: str, *, root: str) -> Json:
        made = View(self._world.new_id("V"), user, body, self._world.new_ts(), app.id, root)
        made.root = root or made.id
        self._world.views[made.id] = made
        self._world.changed()
        return {"ok": True, "view": view_json(made, app)}

    def _replaced(self, app: App, view: View, body: Json) -> Json:
        view.body, view.hash = body, self._world.new_ts()
        self._world.changed()
        return {"ok": True, "view": view_json(view, app)}

    # -- reactions, status ------------------------------------------------------------------------------------------

    def reactions_add(self, app: App, arguments: Json) -> Json:
        message, name = self._target(app, arguments)
        users = message.reactions.setdefault(name, [])
        if app.bot_user in users:
            raise Refused("already_reacted")
        users.append(app.bot_user)
        self._world.changed()
        self._tell.reaction("reaction_added", message, app.bot_user, name)
        return {"ok": True}

    def reactions_remove(self, app: App, arguments: Json) -> Json:
        message, name = self._target(app, arguments)
        if app.bot_user not in message.reactions.get(name, ()):
            raise Refused("no_reaction")
        message.reactions[name].remove(app.bot_user)
        if not message.reactions[name]:
            del message.reactions[name]
        self._world.changed()
        self._tell.reaction("reaction_removed", message, app.bot_user, name)
        return {"ok": True}

    def _target(self, app: App, arguments: Json) -> tuple[Message, str]:
        channel = self._inside(app, arguments.get("channel"))
        message = self._world.message(channel.id, str(arguments.get("timestamp") or ""))
        if message is None:
            raise Refused("message_not_found")
        if channel.archived:
            raise Refused("is_archived")
        name = str(arguments.get("name") or "")
        if not name.replace("_", "").replace("-", "").replace("+", "").isalnum():
            raise Refused("invalid_name")
        return message, name

    def _thread(self, app: App, arguments: Json) -> tuple[str, str]:
        channel = self._inside(app, arguments.get("channel_id"))
        ts = str(arguments.get("thread_ts") or "")
        if self._world.message(channel.id, ts) is None:
            raise Refused("invalid_thread_ts")
        return channel.id, ts

    def assistant_threads_setStatus(self, app: App, arguments: Json) -> Json:
        place = self._thread(app, arguments)
        loading = arguments.get("loading_messages") or []
        if not isinstance(arguments.get("status"), str) or not isinstance(loading, list) or len(loading) > 10:
            raise Refused("invalid_arguments")
        if arguments["status"]:
            self._world.statuses[place] = Status(arguments["status"], self._world.clock.now(), tuple(loading))
        else:
            self._world.statuses.pop(place, None)
        if app.agent:
            self._world.session(*place, "processing" if arguments["status"] else "active")
        self._world.changed()
        return {"ok": True}

    # Errors beside those of the pages: not_authorized, KiroCrew issue 9822; an enum's, hermes-agent issue 110374.

    def agents_sessions_setStatus(self, app: App, arguments: Json) -> Json:
        looks = {"icon_emoji", "icon_url", "username"}
        place = self._session(app, arguments, {"status", "title", "initiator_user_id"} | looks)
        if looks & arguments.keys() and "chat:write.customize" not in app.scopes:
            raise Refused("missing_scope", needed="chat:write.customize", provided=",".join(sorted(app.scopes)))
        if arguments.get("status") not in rules.SESSION:
            raise _wrong("must be a valid enum value [json-pointer:/status]")
        title, initiator = str(arguments.get("title") or ""), str(arguments.get("initiator_user_id") or "")
        if len(title) > rules.SESSION_TITLE:
            raise _wrong("must be less than 201 characters [json-pointer:/title]")
        if initiator and initiator not in self._world.channels[place[0]].members:
            raise _wrong("must be a member of the channel [json-pointer:/initiator_user_id]")
        made = self._world.session(*place, str(arguments["status"]), title, initiator)
        told: Json = {"ok": True, "status": made.status, "agent_status": made.status, "title": made.title}
        if not self.told_of("agent_session_stopped"):
            warning = "missing_agent_session_stopped_event_subscription"
            told |= {"warning": warning, "response_metadata": {"warnings": [warning]}}
        return told

    def agents_sessions_rename(self, app: App, arguments: Json) -> Json:
        place = self._session(app, arguments, {"title"})
        title = str(arguments.get("title") or "")
        if not 1 <= len(title) <= rules.SESSION_TITLE:
            raise _wrong("must be 1 to 200 characters [json-pointer:/title]")
        if place not in self._world.sessions:
            raise Refused("session_not_found")
        self._world.sessions[place].title = title
        self._world.changed()
        return {"ok": True, "title": title}

    def _session(self, app: App, arguments: Json, known: set[str]) -> tuple[str, str]:
        """The thread of a session. Raises Refused, also for arguments that the pages do not have."""
        if not app.agent:
            raise Refused("not_authorized")
        if unknown := arguments.keys() - {"token", "channel_id", "thread_ts"} - known:
            raise _wrong(*(f"no such argument [json-pointer:/{each}]" for each in sorted(unknown)))
        channel = self._inside(app, arguments.get("channel_id"))
        root = self._world.messages.get((channel.id, str(arguments.get("thread_ts") or "")))
        if not arguments.get("thread_ts"):
            raise _wrong("missing required field: thread_ts")
        if root is None or root.thread or root.ephemeral_to:
            raise Refused("thread_not_found")
        return channel.id, root.ts

    def assistant_threads_setTitle(self, app: App, arguments: Json) -> Json:
        place = self._thread(app, arguments)
        if not str(arguments.get("title") or ""):
            raise Refused("invalid_arguments")
        self._world.titles[place] = str(arguments["title"])
        self._world.changed()
        return {"ok": True}

    def assistant_threads_setSuggestedPrompts(self, app: App, arguments: Json) -> Json:
        channel = self._inside(app, arguments.get("channel_id"))
        prompts = arguments.get("prompts")
        if not isinstance(prompts, list) or not 1 <= len(prompts) <= 4:
            raise Refused("invalid_arguments")
        if not all(each.get("title") and each.get("message") for each in prompts):
            raise Refused("invalid_arguments")
        self._world.prompts[channel.id, str(arguments.get("thread_ts") or "")] = {"prompts": prompts}
        self._world.changed()
        return {"ok": True}

    # -- files ------------------------------------------------------------------------------------------------------

    def files_info(self, app: App, arguments: Json) -> Json:
        file = self._world.files.get(str(arguments.get("file") or ""))
        if file is None or not file.uploaded:
            raise Refused("file_not_found")
        if file.deleted:
            raise Refused("file_deleted")
        places = [self._world.channels[each] for each in file.channels]
        if file.user != app.bot_user and places and not any(app.bot_user in each.members for each in places):
            raise Refused("file_not_found")
        return {"ok": True, "file": self._world.file_json(file, self._base), "comments": []}

    def files_getUploadURLExternal(self, app: App, arguments: Json) -> Json:
        if not arguments.get("filename") or not str(arguments.get("length") or "").isdigit():
            raise Refused("invalid_arguments")
        file = self._world.add_file(str(arguments["filename"]), b"", app.bot_user, uploaded=False)
        file.claimed = int(arguments["length"])
        token = base64.urlsafe_b64encode(f"{file.id}.{self._world.new_ts()}".encode()).decode().rstrip("=")
        self._uploads[token] = file.id
        return {"ok": True, "upload_url": f"{self._base}/upload/v1/{token}", "file_id": file.id}

    def upload(self, token: str, content: bytes) -> str | None:
        """Takes an upload: None, or why not. Its URL is good for one use."""
        file = self._world.files.get(self._uploads.pop(token, ""))
        if file is None:
            return "invalid_upload_url"
        if len(content) != file.claimed:
            return "length_mismatch"
        file.content, file.uploaded, file.claimed = content, True, None
        return None

    def files_completeUploadExternal(self, app: App, arguments: Json) -> Json:
        wanted = arguments.get("files")
        if not isinstance(wanted, list) or not wanted:
            raise Refused("invalid_arguments")
        files = [self._world.files.get(str(each.get("id"))) for each in wanted]
        if any(each is None or not each.uploaded for each in files):
            raise Refused("file_not_found")
        for file, each in zip(files, wanted, strict=True):
            if file is not None and each.get("title"):
                file.title = each["title"]
        if arguments.get("channel_id"):
            channel = self._inside(app, arguments["channel_id"])
            if channel.archived:
                raise Refused("is_archived")
            shared = {"text": str(arguments.get("initial_comment") or ""), "subtype": "file_share"}
            thread = str(arguments.get("thread_ts") or "")
            ids = [str(each["id"]) for each in wanted]
            owner = {"bot_id": app.bot_id, "app_id": app.id}
            self._tell.posted(self._world.post(channel.id, app.bot_user, thread=thread, files=ids, **shared, **owner))
        return {"ok": True, "files": [{"id": each["id"], "title": each.get("title", "")} for each in wanted]}

    def table(self) -> dict[str, Callable[[App, Json], Json]]:
        """The methods by the names they are called by."""
        found: dict[str, Callable[[App, Json], Json]] = {}
        for name in dir(self):
            dotted = name.replace("assistant_threads_", "assistant.threads_").replace("agents_sess", "agents.sess")
            family, _, last = dotted.rpartition("_")
            if family in (
                "auth",
                "users",
                "bots",
                "team",
                "conversations",
                "views",
                "reactions",
                "files",
                "assistant.threads",
                "agents.sessions",
            ):
                found[f"{family}.{last}"] = getattr(self, name)
        return found


def _wrong(*problems: str) -> Refused:
    return Refused("invalid_arguments", response_metadata={"messages": [f"[ERROR] {each}" for each in problems]})


def _page(found: list[Any], arguments: Json, most: int) -> tuple[list[Any], Json]:
    """One page and the cursor of the next."""
    try:
        limit = min(int(arguments.get("limit") or most), most)
        start = int(base64.b64decode(str(arguments.get("cursor") or "")).decode() or 0)
    except ValueError:
        raise Refused("invalid_cursor") from None
    if limit < 1:
        raise Refused("invalid_limit")
    following = start + limit
    cursor = base64.b64encode(str(following).encode()).decode() if following < len(found) else ""
    return found[start:following], {"response_metadata": {"next_cursor": cursor}}


def _between(message: Message, arguments: Json) -> bool:
    inclusive = rules.flag(arguments.get("inclusive"))
    oldest, latest = str(arguments.get("oldest") or "0"), str(arguments.get("latest") or "9999999999")
    after = float(message.ts) >= float(oldest) if inclusive else float(message.ts) > float(oldest)
    before = float(message.ts) <= float(latest) if inclusive else float(message.ts) < float(latest)
    return after and before


def _wrong_view(view: Json, kind: str) -> list[str]:
    """What views.* refuse. Source: docs.slack.dev/reference/views."""
    problems = list(rules.check_view_blocks(view.get("blocks")))
    if view.get("type") != kind:
        problems.append(f"must be {kind} [json-pointer:/view/type]")
    if len(json.dumps(view)) > 250_000:
        problems.append("view_too_large [json-pointer:/view]")
    for name, most in (("private_metadata", 3_000), ("callback_id", 255), ("external_id", 255)):
        if len(str(view.get(name) or "")) > most:
            problems.append(f"must be less than {most + 1} characters [json-pointer:/view/{name}]")
    for name in ("title", "submit", "close"):
        text = view.get(name)
        if kind == "home" and text and name != "title":
            problems.append(f"not allowed in a home [json-pointer:/view/{name}]")
        elif text is None and not (name == "title" and kind == "modal"):
            continue
        elif not isinstance(text, dict) or text.get("type") != "plain_text" or not text.get("text"):
            problems.append(f"must be a plain_text object [json-pointer:/view/{name}]")
        elif len(text["text"]) > 24:
            problems.append(f"must be less than 25 characters [json-pointer:/view/{name}/text]")
    has_input = any(isinstance(each, dict) and each.get("type") == "input" for each in view.get("blocks") or ())
    if kind == "modal" and has_input and not view.get("submit"):
        problems.append("a modal with inputs needs submit [json-pointer:/view/submit]")
    return problems
