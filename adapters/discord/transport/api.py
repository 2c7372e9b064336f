"""Discord's REST API as the adapter calls it: every message once, previews and pings off, and errors of ours.

discord.py waits for rate limits, as the headers tell them, and repeats what was answered with a 5xx; here is what it
leaves open: the global limit, which no header tells, a call without an answer, channels and tokens that are barred.
Source: reliability.md R6, R10, R15 and R35.
"""

import asyncio
import hashlib
import logging
import math
import random
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import discord
from discord.http import MultipartParameters

from adapters.discord.transport.errors import (
    ARCHIVED,
    LOCKED,
    NETWORK,
    NO_DIRECT,
    OLD_EDITS,
    THREAD_EXISTS,
    BarredError,
    DiscordError,
    GoneError,
    HeldError,
    RefusedError,
    TokenError,
    UnreachableError,
    translated,
)
from adapters.shared.rate_limit import Bucket, Limit, Priority
from bot.types import PostKind
from bot.waiting import Sleep, stopped

log = logging.getLogger(__name__)

Json = dict[str, Any]
T = TypeVar("T")
Buttons = Sequence[discord.ui.Button[Any]]

CALL_SECONDS = 20.0  # for one call, with its wait for the rate limit
PATIENCE = 45.0  # seconds that somebody waits for what is looked up: two tries that hang, of five
NONCE_SECONDS = 120.0  # in which a nonce surely counts: "the past few minutes"
THREAD_SECONDS = 4.0  # that a thread is waited for where Discord holds it back
TYPING_SECONDS = 7.5  # after which it is shown anew; Discord shows it for ten
BUSY_SECONDS = 0.2
EVERYTHING = Limit(burst=10, a_minute=2_400)  # of the 50 calls a second that Discord takes. Source: topics/rate-limits
PRIORITIES = {**dict.fromkeys(("post", "thread", "sign"), Priority.FINAL), "edit": Priority.STEP}
EDIT_SECONDS = 1.0  # between two edits of a message. Source: field.md #11
BARRED_SECONDS = 300.0  # for which a channel that answered 403 is left alone
BANNED_SECONDS = 60.0  # after a 429 of Cloudflare's, for everything
WAITS = (0.5, 1.0, 2.0, 4.0)  # between tries, spread evenly up to that
SUPPRESS_EMBEDS = 1 << 2
_LOOK = 100  # messages that are looked at for one of ours
_REMEMBERED = 1_000


class Mark(NamedTuple):
    """The identity of a message, and the only message that has it: as `bot.types.Post`."""

    about: str
    kind: PostKind
    part: int

    @property
    def nonce(self) -> str:
        """By which Discord knows the same message again; 24 of the 25 characters it takes."""
        return hashlib.sha256(f"{self.about}:{self.kind}:{self.part}".encode()).hexdigest()[:24]


class Sent(NamedTuple):
    """A message as Discord has it: after a crash that may be an older form of it."""

    id: str
    content: str


class DiscordApi:
    """`client` is logged in. Everything raises DiscordError; a channel is named by its id, threads are channels."""

    def __init__(
        self,
        client: discord.Client,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Sleep = asyncio.sleep,
        seconds: float = CALL_SECONDS,
        patience: float = PATIENCE,
    ) -> None:
        self._client = client
        self._http = client.http
        self._clock = clock
        self._sleep = sleep
        self._seconds = seconds
        self._patience = patience
        self._pace = Bucket(EVERYTHING, clock, sleep)
        self._typing: dict[str, float] = {}
        self._barred: dict[tuple[str, str], tuple[float, str]] = {}
        self._quiet_until = 0.0
        self._edited: OrderedDict[str, float] = OrderedDict()
        self._left: set[asyncio.Future[Any]] = set()
        self.refused = asyncio.Event()  # the token is not taken any more

    # -- messages ---------------------------------------------------------------------------------------------------

    @property
    def me(self) -> int:
        """The bot's own id; 0 until it is logged in."""
        return self._client.user.id if self._client.user else 0

    async def post(
        self,
        channel: str,
        content: str,
        *,
        mark: Mark,
        buttons: Buttons = (),
        reply_to: str | None = None,
        ping: str | None = None,
        maybe_sent: bool = False,
        is_other: Callable[[str], Awaitable[bool]] | None = None,
    ) -> Sent:
        """Post a message, once. `reply_to`: a message there; `ping`: the one person who may be called by it.

        When nobody knows whether it arrived, the same nonce goes again while Discord remembers it, then it is looked
        for: among our newest messages by what it says, or by its buttons, without those that are known to be another
        (`is_other`). `maybe_sent` looks before the first try too. Raises UnreachableError when it cannot be found out.
        """

        async def find() -> Sent | None:
            return await self._find(channel, content, buttons, is_other)

        if maybe_sent and (found := await find()):
            return found
        body = _body(content, buttons) | {"nonce": mark.nonce, "enforce_nonce": True, "tts": False}
        if ping:
            body["allowed_mentions"] = {"parse": [], "users": [ping], "replied_user": False}
        if reply_to:
            body["message_reference"] = {"message_id": reply_to, "channel_id": channel, "fail_if_not_exists": False}
        try:
            return await self._post(channel, body, find)
        except RefusedError:
            if "message_reference" not in body:
                raise
            del body["message_reference"]  # replying takes a right of its own, and some messages cannot be replied to
            return await self._post(channel, body, find)

    async def _post(self, channel: str, body: Json, find: Callable[[], Awaitable[Sent | None]]) -> Sent:
        self._typing.pop(channel, None)  # a message ends it
        begun = self._clock()
        waits = iter(WAITS)
        while True:
            try:
                made = await self._call("post", channel, lambda: self._send(channel, body))
                return Sent(str(made["id"]), str(made.get("content") or ""))
            except UnreachableError as error:
                lost = error
            wait = next(waits, None)
            if wait is None or self._clock() - begun > NONCE_SECONDS:
                if found := await find():
                    return found
                raise lost
            await self._pause(wait)

    async def _send(self, channel: str, body: Json) -> Any:
        # Not `send(nonce=…)`: a post and an edit have one body, and PartialMessage.edit takes no flags, without which
        # an edit shows previews (R15).
        return await self._http.send_message(int(channel), params=MultipartParameters(body, None, None))

    def room(self, channel: str) -> float:
        """How many messages the channel takes at once now, as Discord's headers have told it; unlimited before they
        have."""
        bucket = self._bucket(discord.http.Route("POST", "/channels/{channel_id}/messages", channel_id=channel))
        if bucket is None or bucket.expires is None:
            return math.inf
        return bucket.limit if bucket.is_expired() else max(0, bucket.remaining)

    async def edit(self, channel: str, message: str, content: str, *, buttons: Buttons = ()) -> None:
        """Put this in the place of what a message of ours showed; at most once a second, so it may have to wait."""
        last = self._edited.get(message)
        if last is not None and (wait := last + EDIT_SECONDS - self._clock()) > 0:
            await self._sleep(wait)
        self._edited[message] = self._clock()
        self._edited.move_to_end(message)
        if len(self._edited) > _REMEMBERED:
            self._edited.popitem(last=False)
        params = MultipartParameters(_body(content, buttons), None, None)
        await self._open("edit", channel, lambda: self._http.edit_message(int(channel), int(message), params=params))

    async def delete(self, channel: str, message: str) -> None:
        """Delete a message of ours; one that is not there is fine."""
        try:
            await self._open("delete", channel, lambda: self._http.delete_message(int(channel), int(message)))
        except GoneError as error:
            if isinstance(error, BarredError) or error.code == str(ARCHIVED):
                raise

    async def typing(self, channel: str, *, first: bool = False) -> None:
        """Show for ten seconds, or until the next message there, that an answer is being written; one call is enough
        for many who want that. `first`: nothing else shows so far."""
        now = self._clock()
        if now < self._typing.get(channel, now):
            return
        if len(self._typing) >= _REMEMBERED:
            self._typing.clear()
        self._typing[channel] = now + TYPING_SECONDS
        try:
            what = "sign" if first else "typing"
            await self._call(what, channel, lambda: self._http.send_typing(int(channel)))
        except DiscordError:
            self._typing.pop(channel, None)
            raise

    @property
    def busy(self) -> bool:
        """Whether calls wait for their turn."""
        return self._pace.wait() > BUSY_SECONDS

    # -- threads ------------------------------------------------------------------------------------------------------

    async def start_thread(self, channel: str, message: str, name: str) -> str:
        """A thread on a message, or the one that it has; its id. Raises BarredError without the right to, HeldError
        when the channel has had its threads for now: Discord's limit opens after minutes only."""
        route = discord.http.Route(
            "POST", "/channels/{channel_id}/messages/{message_id}/threads", channel_id=channel, message_id=message
        )

        async def start() -> Any:
            wanted = {"name": name, "auto_archive_duration": 1440}
            if self._held(route) > THREAD_SECONDS:
                raise HeldError("thread", "429")
            try:
                return await self._in_time(self._http.request(route, json=wanted), THREAD_SECONDS)
            except TimeoutError:
                if self._held(route) > 0:  # it waited for that, behind others that came at the same time
                    raise HeldError("thread", "429") from None
                raise

        try:
            made = await self._again("thread", channel, start)
        except RefusedError as error:
            if error.code == str(THREAD_EXISTS):
                return message
            raise
        return str(made["id"])

    def _held(self, route: discord.http.Route) -> float:
        """Seconds until discord.py lets such a call through, as Discord's headers have told it."""
        bucket = self._bucket(route)
        if bucket is None or bucket.remaining > 0 or bucket.expires is None:
            return 0.0
        return max(0.0, bucket.expires - asyncio.get_running_loop().time())

    def _bucket(self, route: discord.http.Route) -> discord.http.Ratelimit | None:
        known = self._http._bucket_hashes.get(route.key, route.key)
        return self._http._buckets.get(f"{known}:{route.major_parameters}")

    async def rename(self, thread: str, name: str) -> None:
        """Give a thread of ours another name."""
        await self._open("rename", thread, lambda: self._http.edit_channel(int(thread), name=name))

    async def _open(self, what: str, channel: str, change: Callable[[], Awaitable[Any]]) -> None:
        """Change something in a thread that may be archived."""
        try:
            await self._again(what, channel, change)
        except GoneError as error:
            if error.code != str(ARCHIVED):
                raise
            await self.unarchive(channel)
            await self._again(what, channel, change)

    async def unarchive(self, thread: str) -> None:
        await self._again("unarchive", thread, lambda: self._http.edit_channel(int(thread), archived=False))

    # -- looking -----------------------------------------------------------------------------------------------------

    async def exists(self, channel: str, message: str) -> None:
        """Raises GoneError for a message that is not there."""
        await self._again("read", channel, lambda: self._http.get_message(int(channel), int(message)))

    async def direct(self, user: str) -> str:
        """The channel of the direct messages between somebody and the bot."""
        person = discord.Object(int(user))
        return str((await self.call("direct", user, lambda: self._client.create_dm(person))).id)

    async def call(self, what: str, channel: str, make: Callable[[], Awaitable[T]]) -> T:
        """Anything else that is safe to repeat, for as long as somebody waits for it."""
        try:
            async with asyncio.timeout(self._patience):
                return await self._again(what, channel, make)
        except TimeoutError:
            raise UnreachableError(what, "timeout") from None

    async def _find(
        self,
        channel: str,
        content: str,
        buttons: Buttons,
        is_other: Callable[[str], Awaitable[bool]] | None,
    ) -> Sent | None:
        """Our message that says this, or has these buttons. Which nonce a message had cannot be asked."""
        wanted = {each.custom_id for each in buttons if each.custom_id}
        newest = await self._again("read", channel, lambda: self._http.logs_from(int(channel), _LOOK))
        for message in newest:
            ours = str(message["author"]["id"]) == str(self.me) and "interaction_metadata" not in message
            same = str(message.get("content") or "").strip() == content.strip() != ""
            if not ours or not ((same and not wanted) or wanted & custom_ids(message.get("components") or ())):
                continue
            if is_other is None or not await is_other(str(message["id"])):
                return Sent(str(message["id"]), str(message.get("content") or ""))
        return None

    # -- what is not tried -------------------------------------------------------------------------------------------

    def forgive(self) -> None:
        """Rights have changed: channels that were barred are tried again."""
        self._barred.clear()

    def _check(self, what: str, channel: str) -> None:
        if self.refused.is_set():
            raise TokenError(what, "401")
        now = self._clock()
        if now < self._quiet_until:
            raise UnreachableError(what, "429")
        until, code = self._barred.get((what, channel), (0.0, ""))
        if now < until:
            raise BarredError(what, code)

    def _remember(self, what: str, channel: str, error: DiscordError, cause: Exception) -> None:
        now = self._clock()
        if isinstance(error, TokenError):
            self.refused.set()
        elif isinstance(error, BarredError) and error.code not in (str(ARCHIVED), str(LOCKED)):
            if len(self._barred) >= _REMEMBERED:
                self._barred = {key: kept for key, kept in self._barred.items() if kept[0] > now}
            self._barred[what, channel] = (now + BARRED_SECONDS, error.code)
            level = logging.INFO if error.code == NO_DIRECT else logging.WARNING  # theirs to decide, no missing right
            log.log(level, "Discord bars us in channel %s (%s); it is left alone for a while", channel, error)
        elif isinstance(cause, discord.HTTPException) and cause.status == 429 and cause.code != OLD_EDITS:
            self._quiet_until = now + BANNED_SECONDS  # discord.py waits by itself for every 429 but Cloudflare's
            log.error("Discord refuses everything from this address for now; silent for %.0f s", BANNED_SECONDS)

    # -- calls -------------------------------------------------------------------------------------------------------

    async def _again(self, what: str, channel: str, make: Callable[[], Awaitable[T]]) -> T:
        """Calls that are safe to repeat."""
        for wait in WAITS:
            try:
                return await self._call(what, channel, make)
            except HeldError:
                raise
            except UnreachableError as error:
                log.debug("trying again: %s", error)
            await self._pause(wait)
        return await self._call(what, channel, make)

    async def _call(self, what: str, channel: str, make: Callable[[], Awaitable[T]]) -> T:
        self._check(what, channel)
        await self._pace.take(PRIORITIES.get(what, Priority.ORDINARY))
        self._check(what, channel)
        try:
            return await self._in_time(make(), self._seconds)
        except NETWORK as error:
            ours = translated(what, error)
            self._remember(what, channel, ours, error)
            raise ours from None  # its text holds what was said

    async def _in_time(self, call: Awaitable[T], seconds: float) -> T:
        """Raises TimeoutError. A call that waits for the global rate limit is never cancelled: discord.py would leave
        its gate shut for ever."""
        task = asyncio.ensure_future(call)
        try:
            await asyncio.wait({task}, timeout=seconds)
            if not task.done():
                raise TimeoutError
            return task.result()
        finally:
            if not task.done():
                self._left.add(task)
                task.add_done_callback(self._over)
                if self._http._global_over.is_set():
                    task.cancel()

    def _over(self, task: "asyncio.Future[Any]") -> None:
        self._left.discard(task)
        if not task.cancelled():
            task.exception()  # nobody waits for it any longer

    async def close(self) -> None:
        """End what nobody waits for. The client is closed next."""
        await stopped(*self._left)

    async def _pause(self, seconds: float) -> None:
        await self._sleep(seconds * (0.5 + random.random() / 2))


def _body(content: str, buttons: Buttons) -> Json:
    """Neither pings nor previews, in a post as in an edit (R15). Buttons stand five to a row, in five rows."""
    rows = [discord.ui.ActionRow[Any](*buttons[at : at + 5]) for at in range(0, min(len(buttons), 25), 5)]
    return {
        "content": content,
        "components": [row.to_component_dict() for row in rows],
        "flags": SUPPRESS_EMBEDS,
        "allowed_mentions": {"parse": [], "replied_user": False},
    }


def custom_ids(components: Sequence[Mapping[str, Any]]) -> set[str]:
    """Of all that can be pressed in a message."""
    inside = [custom_ids(each.get("components") or ()) for each in components]
    return {str(each["custom_id"]) for each in components if each.get("custom_id")}.union(*inside)
