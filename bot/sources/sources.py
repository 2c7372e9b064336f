"""The sources of a home: added, listed, synced when they are due or have changed, paused and removed.

Source: sources.md §1 to §3.
"""

import asyncio
import logging
import os
import re
import shutil
import uuid
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from bot.access import default_scope, role, valid_scope
from bot.config.settings import Settings
from bot.errors import StoreError
from bot.knowledge.collections import check_name
from bot.knowledge.curation import NotAllowedError
from bot.knowledge.documents import KnowledgeBase
from bot.records import AuditRecord
from bot.sources.base import LOCAL, PageFilter, PageSource, PausedError, SourceError, shown
from bot.sources.channel import ChannelSource, FollowedChannels, location_of
from bot.sources.folder import NO_FOLDER, FolderSource
from bot.sources.git import GitAccess, GitSource, check_branch, check_location
from bot.sources.sync import KEPT, SOURCE, Progress, Sync, SyncReport, WhatIsGone, author_of
from bot.sources.website import WebsiteSource, check_address
from bot.store.documents import Documents
from bot.store.followed import FollowedSource, FollowedSources, SourceKind, SourceState
from bot.store.signals import Signals
from bot.types import Actor, Place
from bot.waiting import again_and_again, beside, sleep_unless, stopped, until_stored
from retrieval.i18n import Text, TextError
from retrieval.loaders.sanitize import clean_line
from retrieval.types import TEAM, RAGToolError, Readers

log = logging.getLogger(__name__)

EVERY: Mapping[SourceKind, int] = {"folder": 3600, "git": 30, "website": 6 * 3600, "channel": 300}  # seconds
SHORTEST, LONGEST = 10, 30 * 24 * 3600
LEASE = timedelta(minutes=2)
LET_GO = 10.0  # seconds in which another process that is told to stop has ended what it does with a source
_STALE = timedelta(days=1)
LOOK = 1.0  # seconds between two looks at what is due
NOWHERE = timedelta(minutes=10)  # that a folder waits for a machine that has it
SIDE_BY_SIDE = 8  # sources that are synced at a time, beside channels
BACKOFF, LONGEST_BACKOFF = 60, 6 * 3600  # seconds after a failure, doubled with each
_STOP = "source-stop"  # what one process says to the others, with a source's id
_NAME = re.compile(r"[\w][\w .+-]{0,79}")

_ENDED = Text(en="no source any more", ja="なし（同期を終えた文書）")
_OTHERS = Text(en="a source that is shown to others", ja="ほかの人に公開されている同期元")
_EDITORS = Text(en="Only an editor can change sources.", ja="同期元を変更できるのは編集者だけです。")
_BAD_NAME = Text(
    en="“{name}” cannot be a source's name. Begin with a letter or digit, and use only letters, digits, "
    "spaces and . _ + -, 80 at most.",
    ja="「{name}」は同期元の名前として使えません。文字か数字で始め、文字・数字・空白・「.」「_」「+」「-」"
    "だけで 80 文字以内にしてください。",
)
_THERE = Text(en="There is a source “{name}” already.", ja="同期元「{name}」はすでにあります。")
_NONE = Text(en="There is no source “{name}” here.", ja="同期元「{name}」はここにはありません。")
_SCOPE = Text(en="“{scope}” is not a scope.", ja="「{scope}」は公開範囲として使えません。")
_EVERY = Text(
    en="A source is looked at every {low} s to 30 days.", ja="間隔は {low} 秒から 30 日の間で指定してください。"
)
_BROKEN = Text(
    en="Something went wrong on my side; the log has the reason.",
    ja="こちらの問題で失敗しました。理由はログにあります。",
)
_NO_KEEP = Text(
    en="What people said in a channel cannot be kept without its source: nobody could take it back any more.",
    ja="チャンネルでの発言は、同期元なしでは残せません。発言した人が取り下げられなくなるためです。",
)
_BUSY = Text(en="“{name}” is being synced already.", ja="「{name}」はすでに同期中です。")
_STOPPED = Text(
    en="The sync of “{name}” was stopped: it was paused or removed, or another process does it now.",
    ja="「{name}」の同期は中止されました（一時停止または削除されたか、別のプロセスが引き継ぎました）。",
)


@dataclass(frozen=True, slots=True)
class NewSource:
    """A source to add. Empty or None: as the kind has it; the collection is named after the source."""

    kind: SourceKind
    location: str
    name: str = ""
    collection: str = ""
    scope: str = TEAM
    every: int | None = None
    branch: str = ""
    folder: str = ""
    globs: tuple[str, ...] = ()
    dated: bool = True  # a file's time is its page's date


@dataclass(frozen=True, slots=True)
class SourceStatus:
    """A source as people see it. `pages`: how many it has; `refused`: which of them are no documents, and why."""

    source: FollowedSource
    pages: int
    refused: tuple[tuple[str, Text], ...] = ()
    syncing: bool = False


class Sources:
    """All raise StoreError, and RAGToolError for what cannot be done. `readers` None: of whoever has the home, who may
    name any source."""

    def __init__(
        self,
        settings: Settings,
        store: FollowedSources,
        knowledge: KnowledgeBase,
        documents: Documents,
        *,
        owner: str,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        signals: Signals | None = None,
    ) -> None:
        """`owner` names this process in the leases; `signals` reach the others, where there may be any."""
        self._settings = settings
        self._store = store
        self._knowledge = knowledge
        self._documents = documents
        self._owner = owner
        self._clock = clock
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._held: dict[str, asyncio.Timeout] = {}  # by source, what ends the work on it here
        self._stirred = asyncio.Event()
        self._signals = signals
        if signals is not None:
            signals.listen(_STOP, lambda id: self._end(id) if id is not None else None)
        self.channels = FollowedChannels(settings, store, clock, self._stirred.set)

    # -- what there is ------------------------------------------------------------------------------------------------

    async def listed(self, readers: Readers) -> list[SourceStatus]:
        """The sources of documents that these readers may read, by name."""
        return [await self._status(source) for source in await self._store.listed(readers.scopes)]

    async def get(self, name: str, readers: Readers | None) -> SourceStatus:
        return await self._status(await self._named(name, readers))

    async def name_of(self, author: str, readers: Readers) -> Text | None:
        """The source that added documents under this author: its name, if these readers may read it, or that it is not
        there any more. None: no source did."""
        if not author.startswith(SOURCE):
            return None
        source = next((one for one in await self._store.listed() if author_of(one) == author), None)
        if source is None:
            return _ENDED
        return Text(en=source.name, ja=source.name) if source.scope in readers.scopes else _OTHERS

    async def last_checked(self, documents: Collection[str]) -> dict[str, str]:
        """Of documents (ids): those whose source was not seen whole for more than a day, though it ought to be, with
        the ISO day on which it last was. An answer says so: rule 5."""
        late = {}
        for document, source in (await self._store.of_documents(documents)).items():
            seen = source.checked_at or source.added_at
            stopped = source.failures or source.state != "on"
            if stopped and self._clock() - seen > _STALE:
                late[document] = seen.astimezone(self._settings.timezone).date().isoformat()
        return late

    async def _named(self, name: str, readers: Readers | None) -> FollowedSource:
        for source in await self._store.listed(None if readers is None else readers.scopes):
            if name in (source.name, source.id):
                return source
        raise SourceError(_NONE, name=name)

    async def _status(self, source: FollowedSource) -> SourceStatus:
        pages = await self._store.pages(source.id)
        refused = tuple((shown(ref), page.refusal) for ref, page in sorted(pages.items()) if page.refusal is not None)
        there = sum(page.document is not None or page.refusal is not None for page in pages.values())
        lock = self._locks.get(source.id)
        return SourceStatus(source, there, refused, lock is not None and lock.locked())

    # -- what people do -----------------------------------------------------------------------------------------------

    async def add(self, actor: Actor, new: NewSource) -> FollowedSource:
        """Follow it from now on; its first sync is due at once. Raises NotAllowedError, SourceError."""
        self._as_editor(actor)
        local, name = actor.platform == "terminal", clean_line(new.name)
        if new.kind == "channel":
            to = await self.channels.find(new.location)
            new = replace(new, location=location_of(to.place), scope=default_scope(to.place, to.audience))
            name = name or _name_of(to.name)
        location, name = self._checked(new, local=local), name or _name_of(new.location)
        if not _NAME.fullmatch(name):
            raise SourceError(_BAD_NAME, name=name[:100])
        if not valid_scope(new.scope):
            raise SourceError(_SCOPE, scope=new.scope)
        collection = new.collection.strip() or name
        check_name(collection)
        every = EVERY[new.kind] if new.every is None else new.every
        if not SHORTEST <= every <= LONGEST:
            raise SourceError(_EVERY, low=SHORTEST)
        folder, globs = new.folder.strip("/"), list(new.globs)
        options: dict[str, Any] = {"folder": folder, "globs": globs, "local": local, "dated": new.dated}
        if new.kind == "git":
            options["branch"] = check_branch(new.branch.strip())
        now = self._clock()
        source = FollowedSource(
            uuid.uuid4().hex, name, new.kind, location, options, collection, new.scope, every,
            actor.full_id, now, now,
        )  # fmt: skip
        if not await self._store.add(source, self._trace(actor, "source add", source, location)):
            there = next((one for one in await self._store.listed() if one.name == name), None)
            if there is None or _what(there) != _what(source):
                raise SourceError(_THERE, name=name)
            return there  # the same once more
        self._stirred.set()
        return source

    async def follow(self, actor: Actor, place: Place, name: str = "") -> FollowedSource:
        """Follow what is said in a channel, from the channel itself."""
        return await self.add(actor, NewSource("channel", location_of(place), name))

    async def hears(self, person: str, wanted: bool | None = None) -> bool:
        """Whether what this person (`platform:id`) says in channels may be found; `wanted`: from now on. What was found
        of it so far is forgotten at once."""
        if wanted is not None:
            change = self._store.let_in if wanted else self._store.leave_out
            await change(person, self._clock())
            await self.silence()
            self._stirred.set()
        return not await self._store.left_out([person])

    async def silence(self) -> None:
        """Forget documents in which somebody speaks who does not want to be found: their words leave what was answered,
        too. What the others said is read again."""
        for source, ref, page in await self._store.silenced():
            await self._knowledge.forget(page.document or "")
            await self._store.forgotten(source, ref, page.document or "", self._clock())

    async def pause(self, actor: Actor, name: str, readers: Readers | None) -> None:
        """Also what is under way with it, which goes on once it is resumed."""
        source = await self._turn(actor, await self._theirs(actor, name, readers), "paused", "source pause")
        await self._stop(source)

    async def resume(self, actor: Actor, name: str, readers: Readers | None, gone: WhatIsGone = "") -> None:
        """Let it go on. Of a source that asks: what is gone is forgotten, or kept and no longer the source's. Raises
        SourceError for what cannot be kept."""
        source = await self._theirs(actor, name, readers, keep=gone == "keep")
        source = await self._turn(actor, source, "on", f"source resume {gone}".strip())
        if source.state == "asks" and gone:
            await self._sync(source, gone=gone, whole=True)

    async def remove(self, actor: Actor, name: str, readers: Readers | None, *, keep: bool) -> int:
        """Follow it no more, and forget its documents, or (`keep`) let them be the collection's own; how many. Raises
        SourceError for what cannot be kept."""
        source = await self._theirs(actor, name, readers, keep=keep)
        await self._stop(source)
        async with self._alone(source, ending=True):
            theirs = await self._documents.listed(author=author_of(source))
            for row in theirs:
                if keep:
                    await self._documents.sign(row.id, KEPT)
                else:
                    await self._knowledge.forget(row.id)
            await self._store.remove(source.id, self._trace(actor, "source remove", source, "kept" if keep else ""))
            await asyncio.to_thread(shutil.rmtree, self._file(source, ".git"), ignore_errors=True)
            await asyncio.to_thread(self._file(source, ".json").unlink, missing_ok=True)
        return len(theirs)

    async def sync(
        self, actor: Actor, name: str, readers: Readers | None, progress: Progress | None = None
    ) -> SyncReport:
        """Look at it now, whatever is due. Raises SourceError when it cannot be seen whole."""
        return await self._sync(await self._theirs(actor, name, readers), whole=True, progress=progress)

    async def _turn(self, actor: Actor, source: FollowedSource, state: SourceState, action: str) -> FollowedSource:
        due = self._clock()
        await self._store.turn(source.id, state, due_at=due, trace=self._trace(actor, action, source, state))
        self._stirred.set()
        return replace(source, due_at=due, cursor=None if state == "on" else source.cursor)

    async def _theirs(self, actor: Actor, name: str, readers: Readers | None, *, keep: bool = False) -> FollowedSource:
        """The source, for an editor. A channel's words follow those who said them, and who may read it: without it they
        are not kept."""
        self._as_editor(actor)
        source = await self._named(name, readers)
        if keep and source.kind == "channel":
            raise SourceError(_NO_KEEP)
        return source

    def _as_editor(self, actor: Actor) -> None:
        if role(actor, self._settings) != "editor":
            raise NotAllowedError(_EDITORS)

    @staticmethod
    def _trace(actor: Actor, action: str, source: FollowedSource, result: str) -> AuditRecord:
        return AuditRecord(actor.full_id, action, f"source {source.name} ({source.scope})", result)

    # -- the work -----------------------------------------------------------------------------------------------------

    async def watch(self) -> None:
        """Sync what is due, and what tells of a change; until cancelled."""
        watched: dict[str, asyncio.Task[None]] = {}
        syncing: dict[str, asyncio.Task[None]] = {}
        try:
            look = partial(self._look, watched, syncing)
            await again_and_again(look, LOOK, "sources could not be looked at", sleep=self._rest)
        finally:
            await stopped(*watched.values(), *syncing.values())

    async def _look(self, watched: dict[str, asyncio.Task[None]], syncing: dict[str, asyncio.Task[None]]) -> None:
        """Each source has a task of its own: one that takes hours, or whose server means to, does not hold up the
        others. Who has waited longest is first."""
        await self.silence()
        for id in [id for id, task in syncing.items() if task.done()]:
            del syncing[id]
        found = {one.id: one for one in await self._store.listed() if one.state == "on" or one.kind == "channel"}
        waiting = await self._store.waiting(self._clock())
        for id in watched.keys() - found.keys():
            watched.pop(id).cancel()
        for source in sorted(found.values(), key=lambda one: one.due_at):
            idle = source.id not in watched or watched[source.id].done()
            if source.kind == "channel":  # a look takes minutes, and what it is about is known
                waits = source.id in waiting and source.state == "on" and not source.failures
                if idle and (waits or self._is_due(source)) and self.channels.serves(source.location):
                    watched[source.id] = asyncio.create_task(self._due(source), name="channel")
                continue
            if not await asyncio.to_thread(self._is_here, source):
                continue
            if idle and source.kind == "folder":
                watched[source.id] = asyncio.create_task(self._watch(source), name=f"source {source.name}")
            if self._is_due(source) and source.id not in syncing and len(syncing) < SIDE_BY_SIDE:
                syncing[source.id] = asyncio.create_task(self._due(source), name=f"sync {source.name}")

    def _is_due(self, source: FollowedSource) -> bool:
        """A time that is further away than any wait is that of a clock that was wrong, as of a machine that has just
        started, and has been put right since: nothing would be followed until then."""
        wait = source.due_at - self._clock()
        return wait <= timedelta() or wait > timedelta(seconds=max(source.every, LONGEST_BACKOFF))

    def _is_here(self, source: FollowedSource) -> bool:
        """Whether to look at it here: of several machines one that has the folder or repository does, unless none has
        for so long that somebody has to be told."""
        local = source.kind == "folder" or (source.kind == "git" and source.location.startswith("/"))
        if not (local and self._store.shared) or self._clock() - source.due_at > NOWHERE:
            return True
        return os.path.isdir(self._settings.home / source.location)  # noqa: PTH112 (raises nothing)

    async def _rest(self, seconds: float) -> None:
        await sleep_unless(self._stirred, seconds)
        self._stirred.clear()

    async def _watch(self, source: FollowedSource) -> None:
        """Have a folder looked at whenever something in it has changed, which nobody tells a second time."""
        with suppress(SourceError, StoreError):
            followed = await self._made(source)
            while isinstance(followed, FolderSource):
                await followed.changed()
                await until_stored(lambda: self._store.hurry(source.id, self._clock()))
                self._stirred.set()

    async def _due(self, source: FollowedSource) -> None:
        try:
            if source.state != "on":
                return await self._keep_readers(source)
            report = await self._sync(source)
        except (RAGToolError, StoreError) as error:
            log.warning("source %s could not be synced: %s", source.name, error)
        except Exception:
            log.exception("source %s could not be synced", source.name)
        else:
            done = (report.added, report.replaced, report.renamed, report.removed)
            if any(done):
                log.info("source %s: %d added, %d replaced, %d renamed, %d removed", source.name, *done)

    async def _sync(
        self, source: FollowedSource, *, gone: WhatIsGone = "", whole: bool = False, progress: Progress | None = None
    ) -> SyncReport:
        """`whole`: all that is due of a source that is otherwise read little by little."""
        async with self._alone(source):
            try:
                await self.silence()
                followed = await self._made(source)
                seen = followed.source if isinstance(followed, ChannelSource) else source  # with its readers of now
                work = Sync(
                    seen, self._store, self._knowledge, self._documents,
                    gone=gone, progress=progress, now=self._clock(),
                )  # fmt: skip
                cursor = await work.run(followed)
                while whole and isinstance(followed, ChannelSource) and followed.more and not work.report.gone:
                    cursor = await work.run(followed)
                await self.silence()  # who asked for it while their words were read
            except Exception as error:
                told = error if isinstance(error, (RAGToolError, StoreError)) else SourceError(_BROKEN)
                await self._failed(source, told)
                raise
            now, report, more = self._clock(), work.report, isinstance(followed, ChannelSource) and followed.more
            asks: Mapping[str, Any] = {}
            if report.gone or source.state == "asks":  # what was gone may be there again
                asks = {"state": "asks" if report.gone else "on", "gone": report.gone}
            await self._store.leave(
                source.id, owner=self._owner, seen=source.due_at, cursor=cursor, failures=0, trouble=None,
                checked_at=now, due_at=now if more else now + timedelta(seconds=source.every), **asks,
            )  # fmt: skip
            return report

    async def _failed(self, source: FollowedSource, error: TextError) -> None:
        """The source keeps what it had, and is tried again later and later."""
        failures = source.failures + 1
        wait = min(LONGEST_BACKOFF, max(source.every, BACKOFF * 2 ** min(failures - 1, 12)))
        due_at = self._clock() + timedelta(seconds=wait)
        paused: Mapping[str, Any] = {"state": "paused"} if isinstance(error, PausedError) else {}
        with suppress(StoreError):
            await self._store.leave(
                source.id, owner=self._owner, failures=failures, trouble=error.said, due_at=due_at, **paused
            )

    @asynccontextmanager
    async def _alone(self, source: FollowedSource, *, ending: bool = False) -> AsyncIterator[None]:
        """No two processes sync one source at once, nor one process twice. Raises SourceError where it is, unless what
        others do with it is `ending`, and once it is another's (as after this machine was suspended) or
        `_stop`ped."""
        async with self._locks.setdefault(source.id, asyncio.Lock()):
            loop = asyncio.get_running_loop()
            end = loop.time() + (LET_GO if ending else 0.0)
            while not await self._take(source):
                if loop.time() >= end:
                    raise SourceError(_BUSY, name=source.name)
                await asyncio.sleep(LOOK / 4)
                await self._stop(source)  # it may have been begun again
            every, trouble = LEASE.total_seconds() / 4, f"the lease on source {source.name} could not be renewed"

            async def renew() -> None:
                if not await self._take(source):
                    self._end(source.id)

            held = self._held[source.id] = asyncio.timeout(None)
            try:
                async with held, beside(again_and_again(renew, every, trouble, first=every), "source-lease"):
                    yield
            except TimeoutError as error:
                if not held.expired():
                    raise
                raise SourceError(_STOPPED, name=source.name) from error
            finally:
                del self._held[source.id]
                with suppress(StoreError):
                    await self._store.leave(source.id, owner=self._owner)

    async def _stop(self, source: FollowedSource) -> None:
        """Let what is done with it, here or in another process, end now; the next look goes on where it was."""
        self._end(source.id)
        if self._signals is not None:
            await self._signals.say_now(_STOP, source.id)

    def _end(self, id: str) -> None:
        if id in self._held:
            with suppress(RuntimeError):  # it ends by itself
                self._held[id].reschedule(0)

    async def _take(self, source: FollowedSource) -> bool:
        now = self._clock()
        return await self._store.claim(source.id, owner=self._owner, now=now, until=now + LEASE)

    async def _keep_readers(self, source: FollowedSource) -> None:
        """A channel that is not read now has its readers all the same, who may be fewer by now."""
        async with self._alone(source):
            with suppress(SourceError):
                await self.channels.keep_readers(source, partial(self._moved, source))
            due_at = self._clock() + timedelta(seconds=source.every)
            await self._store.leave(source.id, owner=self._owner, seen=source.due_at, due_at=due_at)

    async def _moved(self, source: FollowedSource, scope: str) -> None:
        """Let a source's documents be for those who read it now."""
        for page in (await self._store.pages(source.id)).values():
            if page.document is not None:
                await self._knowledge.rescope(page.document, scope, Readers(frozenset({source.scope})))

    async def _made(self, source: FollowedSource) -> PageSource:
        """Raises SourceError."""
        options = source.options
        local = bool(options.get("local"))
        private = local or self._settings.private_sources == "on"
        wanted = PageFilter(options.get("folder", ""), tuple(options.get("globs", ())))
        match source.kind:
            case "channel":
                return await self.channels.open(source, partial(self._moved, source))
            case "website":
                return WebsiteSource(source.location, memory=self._file(source, ".json"), private=private)
            case "folder":
                home, dated = self._settings.home, options.get("dated", True)
                return FolderSource(home / source.location, wanted, home, dated=dated)
            case "git":
                access = GitAccess(self._settings.git_tokens, private=private, local=local)
                branch, mirror = options.get("branch", ""), self._file(source, ".git")
                return GitSource(source.location, wanted, branch=branch, mirror=mirror, access=access)

    def _checked(self, new: NewSource, *, local: bool) -> str:
        """The location as it is kept; a folder of the home moves with it. Raises SourceError."""
        match new.kind:
            case "folder":
                if not local:
                    raise SourceError(LOCAL)
                path, home = Path(new.location).expanduser().absolute(), self._settings.home.absolute()
                if not path.is_dir():
                    raise SourceError(NO_FOLDER, path=str(path))
                return str(path.relative_to(home) if path.is_relative_to(home) else path)
            case "website":
                return check_address(new.location)
            case "git":
                return check_location(new.location, local=local)
            case "channel":
                return new.location

    def _file(self, source: FollowedSource, ending: str) -> Path:
        return self._settings.home / "sources" / f"{source.id}{ending}"


def _what(source: FollowedSource) -> tuple[object, ...]:
    return source.kind, source.location, dict(source.options), source.collection, source.scope


def _name_of(location: str) -> str:
    last = re.split(r"[/:]", clean_line(location, 2_000).rstrip("/"))[-1].removesuffix(".git")
    return re.sub(r"[^\w .+-]+", "-", last).strip("-. ")[:80] or "source"
