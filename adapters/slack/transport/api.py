"""Slack's Web API as the adapter calls it: the SDK's client with one retry policy, paced, and errors of ours.

Source: reliability.md R6, R7, R15, R28 and R30; docs.slack.dev/reference/methods.
"""

import asyncio
import logging
import random
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, NoReturn, Self

import aiohttp
from slack_sdk.web.async_client import AsyncWebClient
from yarl import URL

from adapters.shared.rate_limit import CallTicket, Clock, Priority
from adapters.slack.transport import idempotency
from adapters.slack.transport.api_call import CALL_SECONDS, Caller, Edits
from adapters.slack.transport.directory import ALL, FIRST, Directory
from adapters.slack.transport.errors import CredentialsError, NotSent, SlackError, UnsupportedError
from adapters.slack.transport.idempotency import Mark, post_marked
from adapters.slack.transport.rate_limits import Shared
from adapters.slack.transport.response_url import API, Addresses, Responses
from adapters.slack.transport.sessions import SESSION, Sessions
from bot.waiting import Sleep

log = logging.getLogger(__name__)
_sdk = logging.getLogger(f"{__name__}.sdk")
_sdk.setLevel(logging.INFO)  # at DEBUG it logs whole requests and answers

Json = dict[str, Any]
Blocks = Sequence[Mapping[str, Any]]

# Not safe to repeat: these have functions of their own.
_ONCE = frozenset(
    {"chat.postMessage", "chat.postEphemeral", "chat.startStream", "chat.appendStream", "chat.stopStream"}
)
_FULFILLED = {"reactions.add": "already_reacted", "reactions.remove": "no_reaction", "chat.delete": "message_not_found"}
_NO_MARKUP = {"parse": "none", "link_names": False}
_STATUS = "assistant.threads.setStatus"
CROWDED_SECONDS = 0.5  # for a session's turn at Slack's pace: no button comes so late
_NO_PREVIEW = {"unfurl_links": False, "unfurl_media": False}


@dataclass(frozen=True, slots=True)
class Me:
    """The identity of the token. `url` is the workspace's, `scopes` empty where the server does not say."""

    user: str
    bot_id: str
    team: str
    team_name: str
    url: str
    name: str
    scopes: frozenset[str] = field(default_factory=frozenset, kw_only=True)


class SlackApi:
    """One workspace's Web API: `async with Slack(token) as slack`. Everything raises SlackError.

    Repeats what failed: at most 5 tries, a random wait up to 1, 2, 4, 8 s between them, and what Slack demands with a
    429, for all calls of that kind. Messages neither mention by name, nor link what was not written as a link, nor
    unfurl.
    """

    def __init__(
        self,
        token: str,
        base_url: str | None = None,
        *,
        clock: Clock = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        chance: Callable[[], float] = random.random,
        seconds: float = CALL_SECONDS,
        shared: Shared | None = None,
    ) -> None:
        """`seconds` is what one try may take; `chance` is evenly spread over 0..1; `shared`: limits that other
        processes keep too."""
        # The SDK's client, for Bolt; what is called through it is neither repeated nor paced.
        self.web = AsyncWebClient(token=token, base_url=base_url or API, retry_handlers=[], logger=_sdk)
        self.addresses = Addresses(self.web.base_url)
        self.sleep = sleep
        self._caller = Caller(self.web, clock=clock, sleep=sleep, chance=chance, seconds=seconds, shared=shared)
        self._edits = Edits()
        self._responses = Responses(self.addresses, clock=clock, sleep=sleep, chance=chance, seconds=seconds)
        self._me: Me | None = None
        self._people = Directory(self._call, clock=clock)
        self._sessions = Sessions(self._asked_of_session)
        self._at_work: dict[tuple[str, str], set[asyncio.Event]] = {}

    async def __aenter__(self) -> Self:
        self.web.session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=CALL_SECONDS), cookie_jar=aiohttp.DummyCookieJar()
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._people.close()
        await self._session.close()

    # -- the token --------------------------------------------------------------------------------------------------

    @property
    def me(self) -> Me:
        """Known after `identify`."""
        if self._me is None:
            raise RuntimeError("call identify() first")
        return self._me

    async def identify(self) -> Me:
        """Whose token it is. Raises CredentialsError when Slack does not take it (any more)."""
        answer = await self._caller.call("auth.test", {})
        fields = ("user_id", "bot_id", "team_id", "team", "url", "user")
        self._me = Me(*(str(answer.body.get(name) or "") for name in fields), scopes=answer.scopes)
        return self._me

    async def until_refused(self) -> NoReturn:
        """Raises CredentialsError once Slack does not take the token any more: one refusal alone may be its mistake."""
        while True:
            await self._caller.refused.wait()
            self._caller.refused.clear()
            try:
                await self._caller.call("auth.test", {})
            except CredentialsError:
                raise
            except SlackError as error:
                log.info("whether Slack still takes the token could not be asked: %s", error.code)

    # -- any method -------------------------------------------------------------------------------------------------

    async def call(self, method: str, /, **arguments: Any) -> Json:
        """A method that may be repeated: reads, reactions, views … None leaves an argument out."""
        return await self._call(method, arguments)

    async def read_back(self, method: str, /, **arguments: Any) -> Json:
        """A read that nobody waits for: whatever else wants to be done goes first."""
        return await self._call(method, arguments, priority=Priority.STEP)

    def wait(self, method: str, channel: str = "", worth: Priority | CallTicket = Priority.STEP) -> float:
        """How many seconds a call would wait for its turn now, about; or the one that waits with this ticket still has
        to."""
        return self._caller.pacer.wait(method, channel, worth)

    async def _call(
        self, method: str, arguments: Json, *, priority: Priority = Priority.ORDINARY, most: int | None = None
    ) -> Json:
        if method in _ONCE:
            raise ValueError(f"{method} is not safe to repeat")
        tries = self._caller.tries() if most is None else self._caller.tries(most)
        try:
            return (await self._caller.call(method, arguments, priority=priority, tries=tries)).body
        except SlackError as error:
            if error.code == _FULFILLED.get(method):  # perhaps by the try before
                return {"ok": True}
            raise

    # -- messages ---------------------------------------------------------------------------------------------------

    async def post(
        self,
        channel: str,
        *,
        text: str,
        blocks: Blocks = (),
        thread: str | None = None,
        mark: Mark | None = None,
        maybe_sent: bool = False,
        ticket: CallTicket | None = None,
    ) -> str:
        """Post a message, once; its ts. `channel` is a conversation's id, never a person's.

        When nobody knows whether it arrived, it is looked for by its mark, and posted again only if it is not there;
        `maybe_sent` looks before the first try too. Raises UnknownOutcome when that cannot be found out, NotSent when
        the ticket with which it waits is dropped."""
        arguments: Json = {
            "channel": channel,
            "text": text,
            "blocks": (mark.on(blocks) if mark else list(blocks)) or None,
            "thread_ts": thread,
            "metadata": mark.metadata if mark else None,
            **_NO_MARKUP,
            **_NO_PREVIEW,
        }

        async def find(wanted: Mark) -> str | None:
            return await idempotency.find(self._call, channel, thread, wanted, self._me.bot_id if self._me else "")

        return await post_marked(
            self._caller, arguments, mark, maybe_sent=maybe_sent, find=find, sleep=self.sleep, ticket=ticket
        )

    async def update(
        self,
        channel: str,
        ts: str,
        *,
        text: str,
        blocks: Blocks = (),
        mark: Mark | None = None,
        last: bool = False,
        ticket: CallTicket | None = None,
    ) -> None:
        """Put text and blocks in the place of what a message showed. Edits of one message arrive in their order.

        A step's edit that has to wait is dropped when a newer one is asked for; `last` ones go first and are not.
        Raises NotSent when the ticket is dropped with which one that is not the last waits."""
        arguments = {
            "channel": channel,
            "ts": ts,
            "text": text,
            "blocks": mark.on(blocks) if mark else list(blocks),  # an empty list removes the old ones
            "metadata": mark.metadata if mark else None,
            **_NO_MARKUP,
        }
        priority = Priority.FINAL if last else ticket or Priority.STEP
        with self._edits.asked(channel, ts, last=last) as edit:
            await self._caller.call("chat.update", arguments, priority=priority, edit=edit)

    async def delete(self, channel: str, ts: str) -> None:
        """Delete a message; one that is not there is fine."""
        await self._call("chat.delete", {"channel": channel, "ts": ts})

    async def ephemeral(
        self, channel: str, user: str, text: str, blocks: Blocks = (), thread: str | None = None
    ) -> None:
        """Show something to one person. Raises UnknownOutcome: it cannot be looked for."""
        arguments = {
            "channel": channel,
            "user": user,
            "text": text,
            "blocks": list(blocks) or None,
            "thread_ts": thread,
            **_NO_MARKUP,
        }
        await self._caller.call("chat.postEphemeral", arguments, priority=Priority.FINAL, repeat=False)

    async def replies(self, channel: str, thread: str, *, limit: int) -> list[Json]:
        """A thread as conversations.replies has it, oldest first: its root, then the newest; at most `limit` in all.

        Of a thread with more than 2,000 messages the first 2,000 are looked at: Slack begins with the earliest.
        """
        return await idempotency.replies(self._call, channel, thread, limit)

    def permalink(self, channel: str, ts: str, thread: str | None = None) -> str:
        """The address under which people find a message, without asking. `thread` is its root's ts."""
        place = f"{self.me.url.rstrip('/')}/archives/{channel}/p{ts.replace('.', '')}"
        return f"{place}?thread_ts={thread}&cid={channel}" if thread and thread != ts else place

    # -- streams ----------------------------------------------------------------------------------------------------

    async def start_stream(
        self,
        channel: str,
        thread: str,
        *,
        recipient: str,
        recipient_team: str,
        chunks: Blocks = (),
        ticket: CallTicket | None = None,
    ) -> str:
        """Begin a message that grows; its ts. `recipient` is who asked.

        It carries no mark. Raises UnknownOutcome when it may have begun: `replies` shows it then, as ours, with a
        `streaming_state` of "in_progress". Raises UnsupportedError where there are no streams, NotSent when the ticket
        is dropped with which it waits."""
        arguments = {
            "channel": channel,
            "thread_ts": thread,
            "recipient_user_id": recipient,
            "recipient_team_id": recipient_team,
            "chunks": list(chunks) or None,
            "task_display_mode": "plan",
        }
        worth = ticket or Priority.ORDINARY
        answer = await self._caller.call("chat.startStream", arguments, priority=worth, repeat=False)
        return str(answer.body["ts"])

    async def append_stream(self, channel: str, ts: str, *, chunks: Blocks, ticket: CallTicket | None = None) -> None:
        """Add to a stream. Raises StreamOver when it has ended.

        Raises UnknownOutcome when it may have been added, and is not sent again: say it all with `update`. Raises
        NotSent when the ticket is dropped with which it waits."""
        arguments = {"channel": channel, "ts": ts, "chunks": list(chunks)}
        priority = ticket or Priority.STEP
        await self._caller.call("chat.appendStream", arguments, priority=priority, repeat=False)

    async def stop_stream(self, channel: str, ts: str, *, chunks: Blocks = (), mark: Mark | None = None) -> None:
        """End a stream. Raises StreamOver when it had ended, perhaps by a try that was not
        answered: `update` says it all then."""
        arguments = {
            "channel": channel,
            "ts": ts,
            "chunks": list(chunks) or None,
            "metadata": mark.metadata if mark else None,
        }
        await self._caller.call("chat.stopStream", arguments, priority=Priority.FINAL)

    # -- signs of work ----------------------------------------------------------------------------------------------

    async def begin_session(self, channel: str, thread: str, turn: str, *, title: str, asker: str) -> str:
        """Show Slack's own sign that a turn is at work for `asker`, with its button to stop it, until `end_session`;
        what the conversation is called then: `title`, if it is new. Raises UnsupportedError where there are no
        sessions, and where one had no button and a status shows as much; NotSent where many wait."""
        if self._sessions.buttonless and not self._caller.lacks(_STATUS, channel):
            raise UnsupportedError(SESSION, "no button")
        return await self._sessions.begin(channel, thread, turn, title=title, asker=asker)

    async def end_session(self, channel: str, thread: str, turn: str = "") -> None:
        """A turn is no longer at work, or none is known to be. Raises UnsupportedError where there are no sessions."""
        await self._sessions.end(channel, thread, turn)

    async def set_status(self, channel: str, thread: str, text: str) -> None:
        """Show what the bot does, for 2 minutes at most or until it posts; an empty text ends it."""
        arguments = {"channel_id": channel, "thread_ts": thread, "status": text}
        await self._call(_STATUS, arguments, most=2)

    @contextmanager
    def at_work(self, channel: str, thread: str) -> Iterator[asyncio.Event]:
        """A turn shows signs of work in a thread; set when they have ended there with those of another turn."""
        here, ended = self._at_work.setdefault((channel, thread), set()), asyncio.Event()
        here.add(ended)
        try:
            yield ended
        finally:
            here.discard(ended)
            if not here:
                self._at_work.pop((channel, thread), None)

    def signs_ended(self, channel: str, thread: str) -> None:
        """A turn has ended its signs of work: Slack has one of each for a thread."""
        for other in self._at_work.get((channel, thread), ()):
            other.set()

    async def set_title(self, channel: str, thread: str, title: str) -> None:
        """Name a conversation with the bot, as the list of them shows it: its session, and a direct one itself."""
        if channel.startswith("D"):
            arguments = {"channel_id": channel, "thread_ts": thread, "title": title}
            with suppress(UnsupportedError):
                await self._call("assistant.threads.setTitle", arguments, most=2)
        await self._sessions.rename(channel, thread, title)

    async def _asked_of_session(self, method: str, arguments: Json) -> Json:
        status = arguments.get("status")
        if status == "processing" and self.wait(method, worth=Priority.ORDINARY) > CROWDED_SECONDS:
            raise NotSent(method, "crowded")
        ends = status == "active"  # which an hour of "Working…" comes of, if it is not said
        return await self._call(method, arguments, priority=Priority.FINAL if ends else Priority.ORDINARY, most=2)

    async def suggest(self, channel: str, questions: Sequence[str]) -> None:
        """Offer 1 to 4 questions at the top of somebody's conversation with the bot."""
        prompts = [{"title": question, "message": question} for question in questions]
        await self._call("assistant.threads.setSuggestedPrompts", {"channel_id": channel, "prompts": prompts}, most=2)

    # -- views and answers to gestures ------------------------------------------------------------------------------

    async def open_view(self, trigger: str, view: Mapping[str, Any]) -> Json:
        """Open a modal, within 3 s of the gesture; the view as Slack keeps it."""
        return await self._view("views.open", {"trigger_id": trigger, "view": view}, most=2)

    async def update_view(self, view_id: str, view: Mapping[str, Any]) -> Json:
        return await self._view("views.update", {"view_id": view_id, "view": view})

    async def publish_home(self, user: str, view: Mapping[str, Any]) -> Json:
        return await self._view("views.publish", {"user_id": user, "view": view})

    async def _view(self, method: str, arguments: Json, *, most: int | None = None) -> Json:
        return (await self._call(method, arguments, priority=Priority.FINAL, most=most)).get("view") or {}

    async def respond(self, response_url: str, *, text: str = "", blocks: Blocks = ()) -> None:
        """Answer a command or a button at its response_url, to whoever made the gesture only: at most 5 times, within
        30 minutes. Raises GoneError when it cannot be used (any more), UnknownOutcome."""
        payload: Json = {
            "text": text,
            "blocks": list(blocks) or None,
            "response_type": "ephemeral",
            "replace_original": False,
            **_NO_MARKUP,
            **_NO_PREVIEW,
        }
        await self._responses.send(self._session, response_url, payload, proxy=self.web.proxy)

    # -- people and places ------------------------------------------------------------------------------------------

    async def direct(self, user: str) -> str:
        """The channel of the direct messages between somebody and the bot. Raises SlackError."""
        return str((await self.call("conversations.open", users=user))["channel"]["id"])

    async def user(self, id: str) -> Json:
        """users.info with the locale, at most 10 minutes old; anew after `changed`."""
        return await self._people.user.get(id)

    async def users(self, *, first: bool = False) -> list[Json]:
        """Everybody in the workspace, deactivated accounts too, at most 10 minutes old; nobody where they are more than
        30,000. `first`: a thousand of them in one call, which is everybody in most workspaces."""
        return await self._people.users.get(FIRST if first else ALL)

    def changed(self, account: Json) -> None:
        """Slack tells of an account as it is now: a member may have become a guest (R14)."""
        self._people.changed(account)

    async def channel(self, id: str) -> Json:
        """conversations.info, at most a minute old."""
        return await self._people.channel.get(id)

    def ask_anew(self, channel: str) -> None:
        """Believe nothing that was known of a channel."""
        self._people.channel.forget(channel)
        self._people.members.forget(channel)

    async def members(self, id: str) -> list[str]:
        """The ids of a conversation's members, at most 30 s old. Raises SlackError (`too_many`) beyond 30,000."""
        return await self._people.members.get(id)

    # -- files ------------------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def get(self, url: URL) -> AsyncIterator[aiohttp.ClientResponse]:
        """GET an address, with the token where it may go, following nothing. Raises what aiohttp raises."""
        headers = {"Accept-Encoding": "identity"}
        if self.addresses.gets_token(url):
            headers["Authorization"] = f"Bearer {self.web.token}"
        async with self._session.get(url, headers=headers, allow_redirects=False, proxy=self.web.proxy) as response:
            yield response

    @property
    def _session(self) -> aiohttp.ClientSession:
        if self.web.session is None:
            raise RuntimeError("the connection to Slack is not open")
        return self.web.session
