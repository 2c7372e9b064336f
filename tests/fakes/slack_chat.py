"""chat.*: what may be posted, streamed, edited and deleted, by whom and where."""

from typing import Any

from tests.fakes import slack_rules as rules
from tests.fakes.slack_gate import Refused
from tests.fakes.slack_payloads import Announcer
from tests.fakes.slack_world import App, Channel, Message, Stream, World

Json = dict[str, Any]


class Chat:
    """The methods by their last name. Each takes the calling app and the arguments, and answers or raises `Refused`.

    `rewrites_streams` False: a message that was streamed refuses chat.update, as some have met it (`block_mismatch`).
    `dm_streams_ask`: a stream in a direct message needs its recipient too, as some have met it.
    """

    def __init__(self, world: World, tell: Announcer, base: str) -> None:
        self._world = world
        self._tell = tell
        self._base = base
        self.rewrites_streams = True
        self.dm_streams_ask = True
        self.keeps_metadata = True

    # -- where one may write ----------------------------------------------------------------------------------------

    def _place(self, app: App, arguments: Json) -> Channel:
        wanted = str(arguments.get("channel") or "")
        if wanted in self._world.users:  # a person's id is their direct conversation
            return self._world.im(app.bot_user, wanted)
        channel = self._world.channels.get(wanted)
        inside = channel is not None and app.bot_user in channel.members
        if channel is None or (channel.kind != "public" and not inside):
            raise Refused("channel_not_found")
        if channel.archived:
            raise Refused("is_archived")
        if not inside and "chat:write.public" not in app.scopes:
            raise Refused("not_in_channel")
        return channel

    def _parent(self, channel: Channel, arguments: Json) -> str:
        ts = str(arguments.get("thread_ts") or "")
        if not ts:
            return ""
        parent = self._world.messages.get((channel.id, ts))
        if parent is None or parent.ephemeral_to or (parent.deleted and not self._world.thread(channel.id, ts)):
            raise Refused("thread_not_found")
        if parent.thread:
            raise Refused("cannot_reply_to_message")
        return ts

    def _own(self, app: App, arguments: Json, foreign: str) -> Message:
        channel = self._world.channels.get(str(arguments.get("channel") or ""))
        if channel is None or (channel.kind != "public" and app.bot_user not in channel.members):
            raise Refused("channel_not_found")
        message = self._world.message(channel.id, str(arguments.get("ts") or ""))
        if message is None:
            raise Refused("message_not_found")
        if message.app_id != app.id:
            raise Refused(foreign)
        return message

    def _content(self, arguments: Json, *, longest: int) -> Json:
        """Text, blocks, attachments and the rest, checked; an absent one stays absent."""
        text, markdown, blocks = (arguments.get(name) for name in ("text", "markdown_text", "blocks"))
        if markdown is not None and (text or blocks):
            raise Refused("markdown_text_conflict")
        if not (text or blocks or markdown or arguments.get("attachments")):
            raise Refused("no_text")
        if len(str(text or "")) > longest or len(str(markdown or "")) > rules.MARKDOWN:
            raise Refused("msg_too_long")
        rules.check_message(blocks, markdown or "")
        rules.check_attachments(arguments.get("attachments"))
        rules.check_metadata(arguments.get("metadata"))
        made: Json = {"text": str(text or ""), "blocks": rules.with_ids(blocks or []), "markdown": str(markdown or "")}
        made["attachments"] = arguments.get("attachments") or []
        made["parse"] = str(arguments.get("parse") or "")
        made["link_names"] = rules.flag(arguments.get("link_names"))
        if self.keeps_metadata and isinstance(arguments.get("metadata"), dict):
            made["metadata"] = arguments["metadata"] or None
        return made

    # -- messages ---------------------------------------------------------------------------------------------------

    def post_message(self, app: App, arguments: Json) -> Json:
        channel = self._place(app, arguments)
        thread = self._parent(channel, arguments)
        made = self._content(arguments, longest=40_000)
        unfurls = {
            name: rules.flag(arguments[name]) if name in arguments else None
            for name in ("unfurl_links", "unfurl_media")
        }
        message = self._world.post(
            channel.id, app.bot_user, thread=thread, bot_id=app.bot_id, app_id=app.id, **made, **unfurls
        )
        self._tell.posted(message)
        return self._written(message)

    def post_ephemeral(self, app: App, arguments: Json) -> Json:
        channel = self._place(app, arguments)
        user = str(arguments.get("user") or "")
        if user not in channel.members:
            raise Refused("user_not_in_channel")
        thread = self._parent(channel, arguments)
        made = self._content(arguments, longest=40_000)
        message = self._world.post(
            channel.id, app.bot_user, thread=thread, bot_id=app.bot_id, app_id=app.id, ephemeral_to=user, **made
        )
        return {"ok": True, "message_ts": message.ts}

    def update(self, app: App, arguments: Json) -> Json:
        message = self._own(app, arguments, "cant_update_message")
        if self._world.channels[message.channel].archived:
            raise Refused("is_inactive")
        if message.streaming:
            raise Refused("streaming_state_conflict")
        if message.stream and not self.rewrites_streams:
            raise Refused("block_mismatch")
        made = self._content(arguments, longest=4_000)
        before = self._world.as_json(message, base=self._base)
        message.history.append(message.shown)
        # Without `text` the old blocks stay; with it and without `blocks` they go.
        if arguments.get("blocks") is None and not (arguments.get("text") or arguments.get("markdown_text")):
            del made["blocks"]
        if message.stream and "blocks" in made:
            message.stream.parts.clear()
            message.stream.plan = ""
        made |= {name: rules.flag(arguments[name]) for name in ("unfurl_links", "unfurl_media") if name in arguments}
        for name, value in made.items():
            setattr(message, name, value)
        message.edited = self._world.new_ts()
        self._world.changed()
        self._tell.changed(message, before)
        return {**self._written(message), "text": message.text}

    def delete(self, app: App, arguments: Json) -> Json:
        message = self._own(app, arguments, "cant_delete_message")
        if message.streaming:
            raise Refused("cant_delete_message")
        before = self._world.as_json(message, base=self._base)
        message.deleted = True
        self._world.changed()
        self._tell.deleted(message, before)
        return {"ok": True, "channel": message.channel, "ts": message.ts}

    def get_permalink(self, app: App, arguments: Json) -> Json:
        channel = self._world.channels.get(str(arguments.get("channel") or ""))
        if channel is None or (channel.kind != "public" and app.bot_user not in channel.members):
            raise Refused("channel_not_found")
        ts = str(arguments.get("message_ts") or "")
        message = self._world.message(channel.id, ts)
        if message is None:
            raise Refused("message_not_found")
        place = f"{self._base}/archives/{channel.id}/p{ts.replace('.', '')}"
        inside = f"?thread_ts={message.thread}&cid={channel.id}" if message.thread else ""
        return {"ok": True, "channel": channel.id, "permalink": place + inside}

    def _written(self, message: Message) -> Json:
        told = self._world.as_json(message, metadata=True, base=self._base)
        return {"ok": True, "channel": message.channel, "ts": message.ts, "message": told}

    # -- streams ----------------------------------------------------------------------------------------------------

    def start_stream(self, app: App, arguments: Json) -> Json:
        channel = self._place(app, arguments)
        if not arguments.get("thread_ts"):
            raise Refused(
                "invalid_arguments", response_metadata={"messages": ["[ERROR] missing required field: thread_ts"]}
            )
        thread = self._parent(channel, arguments)
        if self.dm_streams_ask or channel.kind != "im":
            if not arguments.get("recipient_team_id"):
                raise Refused("missing_recipient_team_id")
            if not arguments.get("recipient_user_id"):
                raise Refused("missing_recipient_user_id")
            recipient = self._world.users.get(str(arguments["recipient_user_id"]))
            if recipient is None:
                raise Refused("user_not_found")
            if arguments["recipient_team_id"] not in (recipient.team, *recipient.teams):  # KiroCrew issue 4268
                raise Refused("team_access_not_granted")
        display = str(arguments.get("task_display_mode") or "timeline")
        if display not in ("timeline", "plan", "dense"):
            raise Refused("invalid_arguments")
        stream = Stream(self._world.clock.now(), display)
        self._feed(stream, arguments)
        message = self._world.post(
            channel.id, app.bot_user, thread=thread, bot_id=app.bot_id, app_id=app.id, stream=stream
        )
        if app.agent:
            author = self._world.messages[channel.id, thread].user
            self._world.session(channel.id, thread, "processing", initiator=author)
        self._tell.posted(message)
        return {"ok": True, "channel": channel.id, "ts": message.ts}

    def append_stream(self, app: App, arguments: Json) -> Json:
        message, stream = self._open(app, arguments)
        if not arguments.get("markdown_text") and not arguments.get("chunks"):
            raise Refused("no_text")
        self._feed(stream, arguments)
        self._world.changed()
        return {"ok": True, "channel": message.channel, "ts": message.ts}

    def stop_stream(self, app: App, arguments: Json) -> Json:
        message, stream = self._open(app, arguments)
        blocks, status = arguments.get("blocks"), str(arguments.get("session_status") or "active")
        rules.check_metadata(arguments.get("metadata"))
        rules.check_message(blocks, "")
        if status not in rules.SESSION:
            raise Refused("invalid_arguments")
        self._feed(stream, arguments, blocks or [])
        before = self._world.as_json(message, base=self._base)
        message.blocks = rules.with_ids(blocks or [])
        if self.keeps_metadata and arguments.get("metadata"):
            message.metadata = arguments["metadata"]
        stream.ended = "stopped"
        if app.agent:
            self._world.session(message.channel, message.thread, status)
        message.edited = ""
        self._world.changed()
        self._tell.changed(message, before)
        return self._written(message)

    def _open(self, app: App, arguments: Json) -> tuple[Message, Stream]:
        message = self._own(app, arguments, "message_not_owned_by_app")
        if message.stream is None or message.stream.ended in ("stopped", "expired"):
            raise Refused("message_not_in_streaming_state")
        if message.stream.ended == "user":
            raise Refused("stopped_by_user")
        return message, message.stream

    def _feed(self, stream: Stream, arguments: Json, bottom: list[Json] | None = None) -> None:
        """Adds text or chunks. A stream is locked to the kind that came first; a refusal leaves it as it was."""
        text, chunks = arguments.get("markdown_text"), arguments.get("chunks")
        if text and chunks:
            raise Refused("invalid_arguments")
        mode = "text" if text else "chunks" if chunks else ""
        if mode and stream.mode and mode != stream.mode:
            raise Refused("streaming_mode_mismatch")
        if len(str(text or "")) > rules.MARKDOWN:
            raise Refused("msg_too_long")
        given: list[Json] = [{"type": "markdown_text", "text": text}] if text else chunks or []
        rules.check_chunks(given)
        parts, plan = _merged(stream.parts, given), stream.plan
        for each in given:
            if each["type"] == "plan_update":
                plan = each["title"]
        rules.check_stream(parts, plan, bottom or [])
        stream.mode = stream.mode or mode
        stream.parts, stream.plan = parts, plan


def _merged(parts: list[Json], chunks: list[Json]) -> list[Json]:
    """Text joins text; a task's title and status are replaced, its details and output are added to."""
    made = [dict(each) for each in parts]
    for chunk in chunks:
        match chunk["type"]:
            case "markdown_text":
                if made and made[-1]["type"] == "markdown_text":
                    made[-1]["text"] += chunk["text"]
                else:
                    made.append(dict(chunk))
            case "task_update":
                held = next((each for each in made if each.get("id") == chunk["id"]), None)
                if held is None:
                    made.append(dict(chunk))
                    continue
                held |= {"title": chunk["title"], "status": chunk["status"]}
                for name in ("details", "output"):
                    if chunk.get(name):
                        held[name] = (held.get(name) or "") + chunk[name]
                if chunk.get("sources"):
                    held["sources"] = [*(held.get("sources") or ()), *chunk["sources"]]
            case "blocks":
                made += rules.with_ids(chunk["blocks"])
    return made
