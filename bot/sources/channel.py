"""Channels of a platform: each settled thread is a document, which follows what is said, edited and deleted there.

Common to all platforms: when a thread is settled, who counts in it, how it reads, and which threads are to be read. A
platform brings `ChannelHistory`. A look reads a few threads, so that whatever ends it, the next one goes on. Source:
sources.md §1 (channel).
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Protocol

from bot.access import default_scope, role, scope_of
from bot.config.settings import Settings
from bot.logs import Redactor
from bot.sources.base import (
    GONE,
    NOT_NOW,
    Fetched,
    Listing,
    PageError,
    PageGoneError,
    PausedError,
    SourceError,
    SourcePage,
)
from bot.store.followed import FollowedPage, FollowedSource, FollowedSources
from bot.types import Actor, Audience, Card, Place, Recipient
from bot.unanswered.digest_card import shortened
from retrieval.i18n import Language, Text
from retrieval.types import TEAM, Readers

QUIET = timedelta(hours=24)  # after which a thread is settled
PEOPLE = 2  # that speak in one, at least
LATELY, WHOLE = timedelta(days=30), timedelta(days=7)  # compared after an outage; how often all of it is
BURST = timedelta(seconds=3)  # in which several changes of a thread are one
AGAIN = timedelta(minutes=2)  # until a thread that could not be read is tried again
AT_ONCE = 40  # threads that a look reads
HEARD = 32  # times without a gap, of all processes, that are remembered
ASKED = 5.0  # seconds for a platform to say who reads a channel, before an answer
BELIEVED = timedelta(seconds=5)  # for which that holds
_TITLE = 80

_AWAY = Text(
    en="{platform} is not connected: channels are followed while `kotae run` serves it.",
    ja="{platform} に接続していません。チャンネルの同期は `kotae run` の実行中に行います。",
)
_WHICH = Text(
    en="Name the channel with its platform, such as slack:C0123456789.",
    ja="チャンネルは slack:C0123456789 のように、プラットフォーム名を付けて指定してください。",
)
_NOT_IN = Text(
    en="I am not in {channel} (any more), or it is archived. Invite me and resume this source, or remove it.",
    ja="{channel} に参加していないか、アーカイブされています。私を招待して同期を再開するか、同期元を削除してください。",
)
_OUTSIDERS = Text(
    en="People from outside the team read {channel}. Resume this source once they do not, or remove it.",
    ja="{channel} を社外の人も読めます。社外の人が読めないようにしてから同期を再開するか、同期元を削除してください。",
)
_READERS = Text(en="Nobody can tell who reads {channel} now.", ja="{channel} を誰が読めるか、いまは確認できません。")
_GONE = Text(en="The thread is not there any more.", ja="スレッドがありません。")
_TITLES = Text(en="This channel is a source of answers now", ja="このチャンネルの会話が回答に使われるようになりました")
_FOUND_BY = Text(
    en="Threads in which at least two people speak are found by {who} once whoever asked marks them with ✅, or they "
    "have been quiet for a day. What is edited or deleted here changes there, too.",
    ja="2 人以上が話したスレッドは、質問した人が ✅ を付けるか、1 日発言がなければ、"
    "{who}の質問の検索対象になります。ここでの編集や削除は、検索結果にも反映されます。",
)
_TEAM = Text(en="everyone in the team", ja="チーム全員")
_HERE = Text(en="the members of this channel", ja="このチャンネルのメンバー")
_LEAVE_OUT = Text(
    en="If you do not want what you say to be found: {command}", ja="自分の発言を検索対象にしたくない場合: {command}"
)
_OFF = {"slack": "/kotae history off", "discord": "/history"}


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a thread. `author` None: no person's, such as a bot's. `checks`: who marked it with ✅."""

    id: str
    at: datetime
    name: str
    text: str
    author: Actor | None
    checks: tuple[Actor, ...] = ()


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread as it is now, oldest first. `root`: by which it is known; of what is no thread's first message, the
    thread that it stands in. `title`: in the words of whoever began it."""

    root: str
    said: tuple[Said, ...]
    title: str = ""


class ChannelHistory(Protocol):
    """The channels of a platform that can be reached, by their ids there. All raise ConnectionError for what passes,
    and SourceError for what the platform does not let us read."""

    @property
    def heard(self) -> str:
        """A name of the time in which every change was told of: another one after each gap; "": here none is."""
        ...

    async def find(self, recipient: str) -> Recipient:
        """A channel that the bot is in. Raises LookupError."""
        ...

    async def readers(self, channel: str) -> tuple[Place, Audience]:
        """The place of a channel and its readers, whether the bot is in it or not; unknown where the platform does not
        say, and where outsiders read a channel that the team as a whole does not."""
        ...

    async def announce(self, channel: str, card: Card, *, about: str) -> None:
        """Post a card once. Raises LookupError."""
        ...

    async def listed(self, channel: str, since: datetime | None, at: str | None) -> tuple[Sequence[str], str | None]:
        """A page of the roots of all threads (with `since`: of those begun from then on), and where the next page
        begins; None: that was the last. Raises LookupError."""
        ...

    async def thread(self, place: Place, root: str) -> Thread | None:
        """All of a thread; None: it is not there."""
        ...

    def link(self, place: Place, root: str) -> str: ...


# -- a thread as a document -------------------------------------------------------------------------------------------


def settled(
    thread: Thread, left_out: Collection[str], now: datetime, is_editor: Callable[[Actor], bool]
) -> tuple[list[Said], datetime | None]:
    """The part of a thread that becomes a document, and when more of it may: all up to where nobody spoke for a day, or
    all of it once whoever asked, or an editor, has marked it. Nothing, unless two people speak. Without what outsiders
    and bots say, and people who want to be `left_out` (`platform:id`)."""
    root = next((one.author for one in thread.said if one.id == thread.root), None)
    people = [one for one in thread.said if _counts(one, left_out) and one.text]
    marked = any(
        check.role != "outsider" and (is_editor(check) or (root is not None and check.id == root.id))
        for one in thread.said
        for check in one.checks
    )
    part, again = people if marked else [], None
    for end in range(len(people), 0, -1) if not marked else ():
        after = people[end].at if end < len(people) else now
        if after - people[end - 1].at >= QUIET:
            part = people[:end]
            break
    if len(part) < len(people):
        again = people[-1].at + QUIET
    return (part if len({one.author for one in part}) >= PEOPLE else []), again


def _counts(one: Said, left_out: Collection[str]) -> bool:
    return one.author is not None and one.author.role != "outsider" and one.author.full_id not in left_out


def written(thread: Thread, said: Sequence[Said], channel: str, hidden: Redactor, zone: tzinfo) -> bytes:
    """A thread in Markdown: its title, or the first message's where it has none or whoever gave it is left out; then
    who `said` what and on which day of the team's, without secrets."""
    given = thread.title if said[0].id == thread.root else ""
    title = shortened(" ".join(hidden(given or said[0].text).split()).lstrip("#>*- "), _TITLE) or channel
    parts = [f"**{one.name}** ({one.at.astimezone(zone):%Y-%m-%d}):\n\n{hidden(one.text)}" for one in said]
    return "\n\n".join((f"# {title}", *parts)).encode()


# -- which threads are read -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Pass:
    """How far a comparison is: where its listing goes `on` (None: it is over), of what (`since`), and what was `heard`
    when it and those before it began (by several processes, the latest last); and when the last `whole` one began."""

    heard: tuple[str, ...]
    whole: datetime
    on: str | None = None
    since: datetime | None = None

    @classmethod
    def of(cls, cursor: str | None) -> "_Pass | None":
        if cursor is None:
            return None
        heard, whole, on, since = json.loads(cursor)
        return cls(tuple(heard), datetime.fromisoformat(whole), on, datetime.fromisoformat(since) if since else None)

    def __str__(self) -> str:
        return json.dumps([self.heard, self.whole.isoformat(), self.on, self.since and self.since.isoformat()])

    def begun(self, heard: str, *, whole: datetime | None = None, since: datetime | None = None) -> "_Pass":
        """Another comparison, after this one."""
        names = tuple(name for name in self.heard if name != heard)
        return _Pass((*names, heard)[-HEARD:], whole or self.whole, "", since)


class ChannelSource:
    """A channel, a few threads a look. `more`: another look is due at once."""

    def __init__(self, channels: "FollowedChannels", source: FollowedSource, here: Recipient) -> None:
        self._channels = channels
        self.source = source
        self._here = here
        self._history = channels.history(here.place.platform)
        self._pass = _Pass.of(source.cursor)
        self.more = False

    @asynccontextmanager
    async def look(self, cursor: str | None, known: Mapping[str, FollowedPage]) -> AsyncIterator[Listing | None]:
        now = self._channels.clock()
        await self._list(now)
        known = await self._channels.store.pages(self.source.id)
        due = [ref for ref, page in known.items() if page.due_at is not None and page.due_at <= now]
        due.sort(key=lambda ref: (known[ref].due_at or now, ref), reverse=True)  # first what people just did
        chosen = frozenset(due[: self._channels.at_once])
        lost = {ref for ref, page in known.items() if page.version == GONE and ref not in due}
        self.more = self._listing or len(due) > len(chosen) or bool(due and lost)
        if self._listing or due:  # all that may be gone is looked at together
            lost = set()
        pages = {}
        for ref, page in known.items():
            if ref not in lost:
                version = "read" if ref in chosen else page.version
                link = self._history.link(self._here.place, ref)
                pages[ref] = SourcePage(ref, version, f"{self.source.name} {ref}.md", link)
        yield Listing(pages, self._fetch, str(self._pass))

    @property
    def _listing(self) -> bool:
        return self._pass is not None and self._pass.on is not None

    async def _list(self, now: datetime) -> None:
        """A page of the listing, if one is under way or due: at first, weekly, and after an outage."""
        known, since, heard = self._pass, None, self._history.heard
        if known is None or (not self._listing and now - known.whole >= WHOLE):
            known, since = (known or _Pass((), now)).begun(heard, whole=now), ""
        elif not self._listing and heard not in ("", *known.heard):
            known = known.begun(heard, since=now - LATELY)
            since = (now - LATELY).isoformat()
        if known.on is None:
            return
        try:
            roots, on = await self._history.listed(self._here.place.channel, known.since, known.on or None)
        except LookupError as error:
            raise PausedError(_NOT_IN, channel=self._here.name) from error
        except ConnectionError as error:
            raise SourceError(NOT_NOW, why=str(error)) from error
        self._pass = replace(known, on=on)
        store = self._channels.store
        await store.enqueue(self.source.id, roots, now, cursor=str(self._pass), since=since)

    async def _fetch(self, page: SourcePage) -> Fetched:
        try:
            thread = await self._history.thread(self._here.place, page.ref)
        except ConnectionError as error:
            raise PageError(NOT_NOW, again=self._channels.clock() + AGAIN, why=str(error)) from error
        if thread is None:
            self.more = True
            raise PageGoneError(_GONE)
        if thread.root != page.ref:
            await self._channels.store.enqueue(self.source.id, [thread.root], self._channels.clock())
            self.more = True
            return Fetched(None, version="")
        people = {one.author.full_id for one in thread.said if one.author is not None}
        left_out = await self._channels.store.left_out(people)
        part, again = settled(thread, left_out, self._channels.clock(), self._channels.is_editor)
        if not part:
            return Fetched(None, version="", again=again)
        last, zone = part[-1].at.astimezone(UTC), self._channels.zone
        return Fetched(
            written(thread, part, self._here.name, self._channels.hidden, zone),
            last.astimezone(zone).date().isoformat(),
            said_in=self._here.name,
            people=tuple(sorted({one.author.full_id for one in part if one.author is not None})),
            version=last.isoformat(),
            again=again,
        )


# -- all channels that are followed -----------------------------------------------------------------------------------


class FollowedChannels:
    """Channels that are sources, and what platforms and people do to them. All raise StoreError."""

    def __init__(
        self, settings: Settings, store: FollowedSources, clock: Callable[[], datetime], stirred: Callable[[], None]
    ) -> None:
        """`stirred` is called when there is something to read."""
        self.store = store
        self.clock = clock
        self.at_once = AT_ONCE
        self.hidden = Redactor(settings.secrets())
        self.zone = settings.timezone
        self._settings = settings
        self._stirred = stirred
        self._histories: dict[str, tuple[ChannelHistory, asyncio.Event]] = {}
        self._scopes: dict[str, tuple[datetime, str | None]] = {}  # by location, and until when

    async def read(self, platform: str, history: ChannelHistory, ready: asyncio.Event) -> None:
        """Let a platform's channels be looked up, and be followed while it is ready, until cancelled: of several
        processes that can look them up, the one that is told of changes follows them."""
        self._histories[platform] = history, ready
        try:
            await ready.wait()
            self._stirred()
            await asyncio.Event().wait()
        finally:
            del self._histories[platform]

    def history(self, platform: str) -> ChannelHistory:
        """Raises SourceError."""
        if platform not in self._histories:
            raise SourceError(_AWAY, platform=platform.capitalize())
        return self._histories[platform][0]

    def serves(self, location: str) -> bool:
        """Whether it is followed here."""
        platform = location.partition(":")[0]
        return platform in self._histories and self._histories[platform][1].is_set()

    def is_editor(self, actor: Actor) -> bool:
        return role(actor, self._settings) == "editor"

    async def stir(self, place: Place, root: str, *, known: bool = False) -> None:
        """A message in this thread, or the one with this id, is new, changed, marked or gone; `known`: of a message
        that may have no thread."""
        if await self.store.stir(location_of(place), root, self.clock() + BURST, known=known):
            self._stirred()

    async def look_again(self, platform: str, channel: str = "") -> None:
        """Others may read a channel now, or some of a platform's."""
        for source in await self.store.listed():
            its, _, where = source.location.partition(":")
            if source.kind == "channel" and its == platform and channel in ("", where):
                await self.store.hurry(source.id, self.clock())
                self._stirred()

    async def find(self, location: str) -> Recipient:
        """A channel (`slack:C1`) that may be followed now. Raises SourceError."""
        platform, colon, channel = location.strip().partition(":")
        if not (colon and channel):
            raise SourceError(_WHICH)
        try:
            to = await self.history(platform).find(channel.lstrip("#"))
        except LookupError as error:
            raise PausedError(_NOT_IN, channel=channel) from error
        except ConnectionError as error:
            raise SourceError(_AWAY, platform=platform.capitalize()) from error
        match to.audience.visibility:
            case "outsiders":
                raise PausedError(_OUTSIDERS, channel=to.name)
            case "unknown":
                raise SourceError(_READERS, channel=to.name)
        return to

    async def open(self, source: FollowedSource, move: Callable[[str], Awaitable[None]]) -> ChannelSource:
        """A source to look at: its readers are who reads the channel now (else `move` its documents), and the channel
        knows of it. Raises SourceError, as `keep_readers` does."""
        here = await self.keep_readers(source, move)
        scope = default_scope(here.place, here.audience)
        if source.checked_at is None:
            try:
                await self.history(here.place.platform).announce(
                    here.place.channel, self._announcement(here, scope), about=f"history:{source.id}"
                )
            except (LookupError, ConnectionError) as error:
                raise SourceError(NOT_NOW, why=str(error)) from error
        return ChannelSource(self, replace(source, scope=scope), here)

    async def keep_readers(self, source: FollowedSource, move: Callable[[str], Awaitable[None]]) -> Recipient:
        """Let a source's documents be for those who read its channel now, which is returned. Raises SourceError, once
        that holds where the bot is not in the channel any more, too."""
        try:
            here = await self.find(source.location)
        except PausedError:
            await self._narrow(source, move)
            raise
        await self._rescope(source, default_scope(here.place, here.audience), move)
        return here

    async def _narrow(self, source: FollowedSource, move: Callable[[str], Awaitable[None]]) -> None:
        """Let what was for the team be for those who read a channel that is not public any more, or that the platform
        does not tell of: it may have become private, or be gone."""
        platform, _, channel = source.location.partition(":")
        with suppress(ConnectionError):
            place, audience = await self.history(platform).readers(channel)
            if audience.visibility not in ("public", "outsiders"):
                await self._rescope(source, scope_of(place), move)

    async def _rescope(self, source: FollowedSource, scope: str, move: Callable[[str], Awaitable[None]]) -> None:
        if scope != source.scope:
            await move(scope)
            await self.store.rescope(source.id, scope)

    def _announcement(self, here: Recipient, scope: str) -> Card:
        language: Language = self._settings.language
        who = (_TEAM if scope == TEAM else _HERE).to(language)
        off = _OFF.get(here.place.platform, "/kotae history off")
        lines = (_FOUND_BY.to(language, who=who), _LEAVE_OUT.to(language, command=off))
        return Card(_TITLES.to(language), lines)

    async def withheld(self, documents: Collection[str], allowed: Readers) -> frozenset[str]:
        """Of documents those that were said where these readers do not read any more, as the platform says now: before
        the source itself has noticed."""
        found = await self.store.of_documents(documents)
        scopes = {one.id: await self._scope(one.location) for one in found.values() if one.kind == "channel"}
        narrowed = {id for id, scope in scopes.items() if scope is not None and scope not in allowed.scopes}
        for id in narrowed:
            await self.store.hurry(id, self.clock())
        return frozenset(document for document, source in found.items() if source.id in narrowed)

    async def _scope(self, location: str) -> str | None:
        """The scope of a channel now; None: as it was last seen, since nobody can be asked. One that the platform does
        not tell of while it is connected is nobody's."""
        until, scope = self._scopes.get(location, (self.clock(), None))
        if self.clock() >= until:
            scope = await self._asked(location)
            self._scopes[location] = self.clock() + BELIEVED, scope
        return scope

    async def _asked(self, location: str) -> str | None:
        platform, _, channel = location.partition(":")
        if not self.serves(location):
            return None
        try:
            async with asyncio.timeout(ASKED):
                place, audience = await self.history(platform).readers(channel)
        except (ConnectionError, TimeoutError, SourceError):
            return ""
        match audience.visibility:
            case "outsiders":  # who read nothing of the team's
                return None
            case "unknown":
                return ""
        return default_scope(place, audience)


def location_of(place: Place) -> str:
    return f"{place.platform}:{place.channel}"
