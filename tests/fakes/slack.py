"""Slack on loopback: a workspace, its Web API and Socket Mode, driven by the real clients.

People are driven from tests (`says`, `presses`, `submits`); the bot runs against `api_url`. It refuses what Slack
refuses and fails on order. `python -m tests.fakes.slack` serves it to try the bot by hand.
"""

import asyncio
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from aiohttp import web

from tests.fakes import slack_payloads as payloads
from tests.fakes.slack_gate import SCOPES, Fault, Refused
from tests.fakes.slack_http import Posts
from tests.fakes.slack_server import Entry, Journal, Server
from tests.fakes.slack_socket import Delivery, Sockets, Timing
from tests.fakes.slack_world import TEAM, App, Channel, Clock, File, Message, ResponseUrl, View, World

Json = dict[str, Any]
T = TypeVar("T")


class FakeSlack:
    """`async with FakeSlack() as slack:`; then `.api_url`, `.bot_token`, `.app_token`, `.bot_user`, `.world`.

    The world starts with the people U1 and U2, and both and the bot in the public channel C1 (#general).

    `without` names what this Slack does not have: methods (`unknown_method`), and "metadata", which is dropped.
    `limits` False: no rate limits; `rates` changes those of single methods, in calls a minute. `order` says which of
    the two events of a mention comes first; `copies` how often each event comes, with the same event id. `subscribed`
    None: to every event its scopes allow."""

    def __init__(
        self,
        *,
        without: Collection[str] = (),
        scopes: Collection[str] = SCOPES,
        limits: bool = True,
        rates: Mapping[str, int] | None = None,
        scale: float = 1.0,
        timing: Timing | None = None,
        order: Literal["message first", "mention first"] = "message first",
        copies: int = 1,
        subscribed: Collection[str] | None = None,
        port: int = 0,
    ) -> None:
        self.clock = Clock(scale)
        self.world = World(self.clock)
        self.world.changed = self._changed
        self.journal = Journal()
        self.sockets = Sockets(self.clock, timing or Timing(), self._changed)
        self.posts = Posts(self.sockets.timing, self.sockets.acks, self.sockets.deliveries, self._changed)
        self.journal.acks, self.journal.deliveries = self.sockets.acks, self.sockets.deliveries
        self.apps: list[App] = []
        self.server = Server(self.world, self.sockets, self.apps, self.journal, without)
        self.server.rates.on = limits
        self.server.rates.a_minute.update(rates or {})
        self.order = order
        self.copies = copies
        self.subscribed = subscribed
        self.api_url = self.url = ""
        self._port = port
        self._change = asyncio.Event()
        self.app = self.install("kotae", scopes=scopes, number="BOT")
        self.bot_user, self.bot_token, self.app_token = self.app.bot_user, self.app.bot_token, self.app.app_token
        self.world.add_user("U1", "ann")
        self.world.add_user("U2", "ben")
        self.world.add_channel("C1", "general", members=("U1", "U2", self.bot_user))

    def install(self, name: str, *, scopes: Collection[str] = SCOPES, number: str = "") -> App:
        """Another app beside the first, with tokens and a bot of its own."""
        number = number or f"APP{len(self.apps)}"
        bot = self.world.add_user(f"U0{number}", name, kind="bot", bot_id=f"B0{number}", app_id=f"A0{number}")
        tokens = f"xoxb-loopback-{number}", f"xapp-1-loopback-{number}"
        app = App(bot.app_id, bot.id, bot.bot_id, *tokens, set(scopes))
        self.apps.append(app)
        return app

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=100 * 2**20)
        self.server.routes(app.router)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"
        self.api_url = f"{self.url}/api/"
        self.sockets.address = self.url.replace("http", "ws", 1)
        self.tell = payloads.Announcer(self.world, self.url, self._announce)
        self.server.open(self.url, self.tell)
        self.server.methods.told_of = lambda event: self.subscribed is None or event in self.subscribed
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.server.close()
        await self.sockets.close()
        await self.posts.close()
        await self._runner.cleanup()

    # -- what goes wrong --------------------------------------------------------------------------------------------

    def fail(
        self,
        method: str,
        fault: Fault,
        *,
        calls: Iterable[int] | None = None,
        where: Callable[[Json], bool] = lambda arguments: True,
    ) -> None:
        """Arms a fault for a method ("*": any): for the calls of these numbers, counted from 1 and from now, or all."""
        self.server.faults.arm(method, fault, calls, where)

    def heal(self, method: str | None = None) -> None:
        self.server.faults.heal(method)

    # -- events -----------------------------------------------------------------------------------------------------

    def _announce(self, channel: Channel | None, event: Json) -> None:
        for app in self.apps:
            if app is not self.app and app.id not in self.sockets.known:
                continue  # nobody runs it
            if channel is None or app.bot_user in channel.members:
                for each in self._events(app, channel, event):
                    self.event(each, app=app)

    def _events(self, app: App, channel: Channel | None, event: Json) -> list[Json]:
        """The event, and the mention of this app that may come with it, as far as scopes and subscriptions allow; also
        with what somebody has edited. Source: slack-go PR 1256, PostHog PR 59517."""
        found = [event] if payloads.subscribed(app, event, channel, self.subscribed) else []
        said = event if event["type"] == "message" and not event.get("hidden") else event.get("message", {})
        mentioned = f"<@{app.bot_user}>" in said.get("text", "")
        if said is not event and said.get("text") == event.get("previous_message", {}).get("text"):
            mentioned = False
        if mentioned and channel is not None and channel.kind != "im" and said.get("user") != app.bot_user:
            message = self.world.messages[channel.id, said["ts"]]
            mention = self.tell.mention(message)
            if payloads.subscribed(app, mention, channel, self.subscribed):
                found = [*found, mention] if self.order == "message first" else [mention, *found]
        return found

    def event(self, event: Json, *, app: App | None = None, event_id: str = "", **more: Any) -> list[Delivery]:
        """Sends any event as it is, in `copies`; `more` goes into the payload around it.

        Other payloads go by `slack.sockets.send(slack.app, "events_api", {…})`.
        """
        app = app or self.app
        event_id = event_id or self.world.new_id("Ev")
        channel = self.world.channels.get(str(event.get("channel", "")))
        shared = channel is not None and channel.ext_shared
        made = payloads.callback(app, event, event_id, int(time.time()), shared=shared) | more
        return [self.wire.send(app, "events_api", made) for _ in range(self.copies)]

    @property
    def wire(self) -> Sockets | Posts:
        """The way on which this Slack brings what happens."""
        return self.posts if self.posts.url else self.sockets

    # -- people -----------------------------------------------------------------------------------------------------

    async def says(
        self, channel: str, user: str, text: str, thread: str | None = None, files: Sequence[File] = (), **more: Any
    ) -> str:
        """A message of a person, or of a bot among the users; its ts. `@kotae` and `<@BOT>` mention the bot."""
        place = self._place(channel)
        if user not in place.members or place.archived:
            raise ValueError(f"{user} cannot write in {place.id}")
        text = payloads.typed(text.replace("<@BOT>", f"<@{self.bot_user}>").replace("@kotae", f"<@{self.bot_user}>"))
        sender = self.world.users[user]
        if sender.bot_id:
            more = {"bot_id": sender.bot_id, "app_id": sender.app_id} | more
        if files:
            more = {"subtype": "file_share", "files": [each.id for each in files]} | more
        message = self.world.post(place.id, user, text=text, thread=thread or "", team=sender.team, **more)
        for file in files:
            self.tell.file_shared(file.id, user, place)
        self.tell.posted(message)
        return message.ts

    def dm(self, user: str) -> str:
        """The id of the direct conversation of this person and the bot."""
        return self.world.im(self.bot_user, user).id

    async def edits(self, ts: str, text: str) -> None:
        message = self.message(ts)
        before = self.world.as_json(message, base=self.url)
        message.history.append(message.shown)
        message.text = payloads.typed(text.replace("@kotae", f"<@{self.bot_user}>"))
        message.edited = self.world.new_ts()
        self._changed()
        self.tell.changed(message, before)

    async def unfurls(self, ts: str) -> None:
        """Slack adds a preview: a message_changed in which nobody changed anything."""
        message = self.message(ts)
        before = self.world.as_json(message, base=self.url)
        message.attachments = [{"fallback": "a preview", "from_url": "https://example.com/"}]
        self.tell.changed(message, before)

    async def deletes(self, ts: str) -> None:
        message = self.message(ts)
        before = self.world.as_json(message, base=self.url)
        message.deleted = True
        self._changed()
        self.tell.deleted(message, before)

    async def reacts(self, user: str, ts: str, name: str) -> None:
        message = self.message(ts)
        message.reactions.setdefault(name, []).append(user)
        self.tell.reaction("reaction_added", message, user, name)

    async def unreacts(self, user: str, ts: str, name: str) -> None:
        message = self.message(ts)
        message.reactions[name].remove(user)
        self.tell.reaction("reaction_removed", message, user, name)

    async def joins(self, channel: str, user: str) -> None:
        place = self._place(channel)
        place.members.add(user)
        event = {"type": "member_joined_channel", "user": user, "channel": place.id, "team": TEAM, "inviter": "U1"}
        self._announce(place, event | {"channel_type": place.id[0], "event_ts": self.world.new_ts()})
        ts = self.world.new_ts()
        told = {"type": "message", "subtype": "channel_join", "user": user, "channel": place.id, "inviter": "U1"}
        text = f"<@{user}> has joined the channel"
        self._announce(place, told | {"text": text, "ts": ts, "event_ts": ts, "channel_type": place.type})

    async def becomes(self, user: str, kind: Literal["member", "guest"]) -> None:
        """An admin makes somebody a guest, or a member again. Source: docs.slack.dev, events, user_change."""
        self.world.users[user].kind = kind
        told = self.world.users[user].as_json()
        self._announce(None, {"type": "user_change", "user": told, "event_ts": self.world.new_ts()})

    async def converts(self, channel: str, kind: Literal["public", "private"], user: str = "U1") -> None:
        """Makes a private channel public, or the other way. Source: docs.slack.dev, events, channel_convert_to_public."""
        place = self._place(channel)
        place.kind = kind
        event = {"type": "message", "subtype": f"channel_convert_to_{kind}", "user": user, "channel": place.id}
        ts = self.world.new_ts()
        text = f"made this channel *{kind}*."
        self._announce(place, event | {"text": text, "ts": ts, "event_ts": ts, "channel_type": place.type})

    async def opens_home(self, user: str, tab: Literal["home", "messages"] = "home") -> None:
        home = self.world.homes.get((self.app.id, user))
        event: Json = {"type": "app_home_opened", "user": user, "channel": self.dm(user), "tab": tab}
        if home:
            event["view"] = payloads.view_json(home, self.app)
        self._announce(None, event | {"event_ts": self.world.new_ts()})

    async def stops_stream(self, ts: str) -> None:
        """A reader stops a message that is still being written."""
        stream = self.message(ts).stream
        if stream is None or stream.ended:
            raise ValueError("nothing is being written there")
        stream.ended = "user"

    async def stops(self, user: str, thread: str) -> list[Delivery]:
        """Slack's own Stop in a thread where the app is at work: Slack stops what is being written there, and tells the
        app. Raises LookupError where there is no such button."""
        root = self.message(thread)
        place = (root.channel, root.ts)
        told = self.server.methods.told_of("agent_session_stopped") and "chat:write" in self.app.scopes
        if place not in self.world.processing or not told or user not in self.world.channels[root.channel].members:
            raise LookupError("Slack shows no Stop there")
        streams = [each for each in self.world.thread(*place) if each.app_id == self.app.id and each.streaming]
        for each in streams:
            await self.stops_stream(each.ts)
        event = self._of_session("agent_session_stopped", user, place)
        return self.event(event | {"streaming_message_ts": [each.ts for each in streams]})

    async def renames(self, user: str, thread: str, title: str) -> None:
        """A new title for a session, by anybody in its channel."""
        root = self.message(thread)
        session = self.world.sessions[root.channel, root.ts]
        event = self._of_session("agent_session_title_changed", user, (root.channel, root.ts)) | {"title": title}
        if session.title:
            event["previous_title"] = session.title
        session.title = title
        self._announce(self.world.channels[root.channel], event | {"team_id": TEAM})

    def _of_session(self, kind: str, user: str, place: tuple[str, str]) -> Json:
        now = self.world.new_ts()
        return {"type": kind, "channel": place[0], "thread_ts": place[1], "user": user, "event_ts": now}

    # -- gestures: each returns once it was acked, or was not in time ------------------------------------------------

    async def presses(
        self, user: str, target: str | Message | View, action_id: str, chosen: Any = None, *, copies: int = 1
    ) -> Delivery:
        """A button, menu or feedback button of a message (or its ts) or of a view.

        Raises:
            LookupError: it has no such thing to press.
        """
        shown = self.message(target, user) if isinstance(target, str) else target
        blocks = (
            shown.body["blocks"]
            if isinstance(shown, View)
            else [*(shown.stream.parts if shown.stream else ()), *shown.blocks]
        )
        element, block = payloads.find_action(blocks, action_id)
        payload = self._gesture("block_actions", user)
        payload["actions"] = [payloads.action(element, block, chosen, self.world.new_ts())]
        payload["state"] = {"values": {}}
        if isinstance(shown, View):
            payload |= {"view": payloads.view_json(shown, self.app), "container": {"type": "view", "view_id": shown.id}}
        else:
            payload |= self._about(shown, user)
        return await self._gestures(payload, copies)

    async def command(self, name: str, text: str, user: str, channel: str) -> Delivery:
        """A slash command. What its ack says is shown to the person, or to all with `response_type` in_channel. Raises
        LookupError where the app offers none."""
        self._offers()
        place, person = self._place(channel), self.world.users[user]
        payload = {
            "token": "unused",
            "team_id": TEAM,
            "team_domain": "loopback",
            "channel_id": place.id,
            "channel_name": {"private": "privategroup", "im": "directmessage"}.get(place.kind, place.name),
            "user_id": user,
            "user_name": person.name,
            "command": name,
            "text": text,
            "api_app_id": self.app.id,
            "is_enterprise_install": "false",
            "response_url": self._response_url(user, place.id),
            "trigger_id": self.world.new_trigger(user),
        }

        def told(answer: Json) -> None:
            try:
                self.server.respond(self.app.id, user, place.id, "", answer)
            except Refused as refused:  # the person is told that the app failed
                self.journal.entries.append(Entry("ack", answer, time.monotonic(), answer={"error": refused.error}))

        delivery = self.wire.send(self.app, "slash_commands", payload, answerable=True, told=told)
        await delivery.finished.wait()
        return delivery

    async def shortcut(self, callback_id: str, user: str, ts: str = "") -> Delivery:
        """A message shortcut (with the message's ts) or a global one. Raises LookupError where the app offers none."""
        self._offers()
        payload = self._gesture("message_action" if ts else "shortcut", user) | {
            "callback_id": callback_id,
            "action_ts": self.world.new_ts(),
        }
        if ts:
            message = self.message(ts)
            payload |= self._about(message, user) | {"message_ts": ts}
            payload.pop("container")
        return await self._gestures(payload)

    def _offers(self) -> None:
        if "commands" not in self.app.scopes:
            raise LookupError("an app without the scope commands has no commands and no shortcuts")

    async def submits(self, user: str, values: Mapping[str, Any] | None = None, view: View | None = None) -> Delivery:
        """Fills in the modal the person has open, by block id or action id, and submits it; files as `File`s.

        The answer's `response_action` is carried out: errors keep the modal, update and push show another.

        Raises:
            LookupError: there is no modal, no such field, or a required one is empty.
        """
        view = view or self.modal(user)
        given = {
            name: [self.world.file_json(each, self.url) if isinstance(each, File) else each for each in value]
            if isinstance(value, list | tuple)
            else value
            for name, value in (values or {}).items()
        }
        payload = self._gesture("view_submission", user)
        payload["view"] = payloads.view_json(view, self.app) | {"state": payloads.submitted(view, given)}
        payload["response_urls"] = []
        delivery = await self._gestures(payload)
        answer = delivery.payload or {}
        if not delivery.acked:
            return delivery
        match answer.get("response_action"):
            case "errors":
                blocks = {each["block_id"] for each in view.body["blocks"]}
                if not answer.get("errors") or not set(answer["errors"]) <= blocks:
                    raise Refused("invalid_errors")
            case "update":
                self.server.methods.replace_view(self.app, view, answer["view"])
            case "push":
                self.server.methods.push_view(self.app, user, answer["view"], view.root)
            case "clear":
                for each in self.world.views.values():
                    each.closed = each.closed or (each.user == user and each.body["type"] == "modal")
            case _:
                view.closed = True
        return delivery

    async def closes(self, user: str) -> None:
        view = self.modal(user)
        view.closed = True
        if view.body.get("notify_on_close"):
            told = {"view": payloads.view_json(view, self.app), "is_cleared": False}
            await self._gestures(self._gesture("view_closed", user) | told)

    def modal(self, user: str) -> View:
        """The modal on top of this person's screen.

        Raises:
            LookupError: there is none.
        """
        for view in reversed(self.world.views.values()):
            if view.user == user and not view.closed and view.body["type"] == "modal":
                return view
        raise LookupError(f"{user} has no modal open")

    def home(self, user: str) -> View:
        """The home tab this person sees. Raises KeyError where none was published."""
        return self.world.homes[self.app.id, user]

    async def gesture(self, payload: Json) -> Delivery:
        """Any interactive payload as it is: a forged button, a press on a message that is gone."""
        return await self._gestures(self._gesture(str(payload.get("type")), "U1") | payload)

    def _gesture(self, kind: str, user: str) -> Json:
        return payloads.gesture(kind, self.app, self.world.users[user], self.world.new_trigger(user))

    async def _gestures(self, payload: Json, copies: int = 1) -> Delivery:
        sent = [self.wire.send(self.app, "interactive", payload, answerable=True) for _ in range(copies)]
        for each in sent:
            await each.finished.wait()
        return sent[0]

    def _about(self, message: Message, user: str) -> Json:
        place = self.world.channels[message.channel]
        container: Json = {"type": "message", "message_ts": message.ts, "channel_id": place.id}
        container["is_ephemeral"] = bool(message.ephemeral_to)
        if message.thread:
            container["thread_ts"] = message.thread
        told: Json = {"container": container, "channel": {"id": place.id, "name": place.name or "directmessage"}}
        told["response_url"] = self._response_url(user, place.id, message.ts)
        if not message.ephemeral_to:
            told["message"] = self.world.as_json(message, base=self.url)
        return told

    def _response_url(self, user: str, channel: str, message: str = "") -> str:
        made = self.world.new_id("R")
        self.world.response_urls[made] = ResponseUrl(self.clock.now(), user, channel, self.app.id, message)
        return f"{self.url}/hooks/{made}"

    def _place(self, channel: str) -> Channel:
        """By id, or by name with or without `#`."""
        if channel in self.world.channels:
            return self.world.channels[channel]
        for each in self.world.channels.values():
            if each.name == channel.removeprefix("#"):
                return each
        raise LookupError(f"no channel {channel}")

    # -- looking and waiting ----------------------------------------------------------------------------------------

    def message(self, ts: str, user: str = "") -> Message:
        """By its ts, deleted ones too; those only one person sees are found for that `user`.

        Raises:
            LookupError: there never was one.
        """
        message = self.world.by_ts.get(ts)
        if message is None or message.ephemeral_to not in ("", user):
            raise LookupError(f"no message {ts}")
        self.world.age(message)
        return message

    def thread(self, channel: str, ts: str) -> list[Message]:
        """The replies everybody sees, oldest first, as they are now."""
        return self.world.thread(self._place(channel).id, ts)

    def replies(self, ts: str) -> list[Message]:
        """The bot's finished replies in the thread of this message, oldest first."""
        channel = self.message(ts).channel
        return [each for each in self.world.thread(channel, ts) if each.user == self.bot_user and not each.streaming]

    def posted(self, channel: str) -> list[Message]:
        """The bot's messages at the top level of a channel."""
        found = self.world.visible(self._place(channel).id)
        return [each for each in found if each.user == self.bot_user and not each.thread]

    def whispers(self, user: str) -> list[Message]:
        """What only this person sees, oldest first."""
        return [each for each in self.world.messages.values() if each.ephemeral_to == user and not each.deleted]

    async def connected(self, count: int = 1, timeout: float = 30.0) -> None:  # noqa: ASYNC109
        await self.sockets.connected(count, timeout)

    async def wait_for(self, look: Callable[[], T], timeout: float = 30.0) -> T:  # noqa: ASYNC109
        """Calls `look` whenever something happens, until what it returns is true, and returns that.

        Raises:
            AssertionError: it did not become true; it tells what the bot did say, and the last requests.
        """
        try:
            async with asyncio.timeout(timeout):
                while not (found := look()):
                    self._change.clear()
                    try:
                        async with asyncio.timeout(0.1):  # time alone can make it true
                            await self._change.wait()
                    except TimeoutError:
                        continue
                return found
        except TimeoutError:
            raise AssertionError(f"not within {timeout} s\n{self.told()}") from None

    async def wait_for_replies(self, ts: str, count: int = 1, timeout: float = 30.0) -> list[Message]:  # noqa: ASYNC109
        """The bot's finished replies to this message, once there are `count` of them."""
        await self.wait_for(lambda: len(self.replies(ts)) >= count, timeout)
        return self.replies(ts)

    async def wait_for_idle(self, quiet: float = 0.1, timeout: float = 30.0) -> None:  # noqa: ASYNC109
        """Returns when no request is under way and no event waits for an ack, and none was for `quiet` seconds.

        Without a connected client the events wait as long as Slack sends them again.
        """

        def idle() -> bool:
            still = time.monotonic() - self.server.last >= quiet
            return still and not self.server.busy and self.sockets.idle and self.posts.idle

        await self.wait_for(idle, timeout)

    def told(self) -> str:
        """All the bot said, and its last requests, for a failed test to show."""
        said = [f"  {each.channel} {each.ts} {each.shown!r}" for each in self.world.messages.values() if each.bot_id]
        asked = [f"  {each.method} {each.error or each.fault or each.status}" for each in self.journal.entries[-20:]]
        return "\n".join(["said:", *said, "asked:", *asked])

    def _changed(self) -> None:
        self._change.set()


if __name__ == "__main__":
    from tests.fakes.slack_demo import main

    main()
