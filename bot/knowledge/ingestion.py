"""Files from platforms into the knowledge, one by one: taken in durably, read once, each with a verdict in words, and
gone on with after a crash. Source: product.md §5; reliability.md R5, R19, R38 and R44."""

import hashlib
import logging
import uuid
from collections.abc import AsyncGenerator, Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import PurePath

from bot.access import readers, scope_of, scopes
from bot.config.settings import Settings
from bot.errors import LostError, StoreError
from bot.knowledge.documents import KnowledgeBase
from bot.records import AuditRecord
from bot.store.ingestions import IngestionStore
from bot.types import Actor, Audience, Fetch, FileRef, IngestionRequest, Place, Upload, Verdict
from bot.waiting import again_and_again, beside, finished
from retrieval.i18n import Text
from retrieval.loaders.sanitize import clean_name
from retrieval.types import EVERYONE, TEAM, RAGToolError

log = logging.getLogger(__name__)

FILES = 25  # of one intake
WAITING = 3  # of one person, in intakes that were taken in before
TRIES = 3  # a file that ended so many processes is not begun again
LEASE = timedelta(seconds=15)
NAME = 200  # characters of a file's name


_WAITING = Text(
    en="You already have {n} files waiting to be read. Please add this one when they are done.",
    ja="読み込み待ちのファイルがすでに {n} 件あります。終わってから、もう一度追加してください。",
)
_MANY = Text(
    en="I take at most {n} files at once. Please add this one again on its own.",
    ja="一度に追加できるファイルは {n} 件までです。このファイルは改めて追加してください。",
)
_INTERRUPTED = Text(
    en="I was interrupted {n} time{n:|s} while reading this file and have stopped trying. Please add it again.",
    ja="このファイルの読み込みが {n} 回中断されたため、中止しました。もう一度追加してください。",
)
_BROKEN = Text(
    en="Something went wrong on my side while reading this file. Please try again.",
    ja="こちらの問題でファイルを読み込めませんでした。もう一度お試しください。",
)


@dataclass
class Ingestion:
    """The files given to this process, and those another one left behind.

    An intake is held while it is worked off, by a lease that a heartbeat keeps; `owner` names this process in it.
    """

    rows: IngestionStore
    knowledge: KnowledgeBase
    settings: Settings
    _: KW_ONLY
    owner: str
    clock: Callable[[], datetime] = lambda: datetime.now(UTC)
    _working: set[str] = field(init=False, default_factory=set)

    async def accept(self, claim: str, intake: IngestionRequest) -> IngestionRequest | None:
        """Take files durably, once for what a person did (`claim`); None: taken already. What is taken may have
        verdicts at once: a file too much is refused. `FileRef.ref` may have a `link` to the file, for people.

        Who may add what for whom was asked before (`bot.access.scopes`); ValueError for a scope that nobody may choose
        at this place. Raises StoreError; then nothing was taken."""
        if intake.scope not in (TEAM, EVERYONE, scope_of(intake.place)):
            raise ValueError(f"not a scope of this place: {intake.scope}")
        now = self.clock()
        intake = replace(intake, id=intake.id or uuid.uuid4().hex, files=_named(intake.files))
        return await self.rows.take(claim, intake, owner=self.owner, now=now, until=now + LEASE, admit=_within_limits)

    async def add(self, upload: Upload) -> Verdict:
        """Add a document at once. A refusal is a verdict with its reason in the interface language, not an error."""
        return await self.knowledge.add(upload, self.settings.language)

    def scopes(self, actor: Actor, place: Place, audience: Audience) -> tuple[str, ...]:
        """Those who may be allowed to read what this person adds at this place, the default first; empty: nobody adds
        here."""
        return scopes(actor, place, audience, self.settings)

    async def collections(self, place: Place, audience: Audience) -> tuple[str, ...]:
        """The collections to choose from when something is added, the default first. Raises StoreError."""
        infos = await self.knowledge.collections(readers(place, audience))
        return tuple(dict.fromkeys((self.settings.default_collection, *(info.name for info in infos))))

    async def unfinished(self, platform: str) -> list[IngestionRequest]:
        """Intakes whose files have no verdicts, or whose verdicts were not shown, since a process ended. Raises
        StoreError."""
        found = await self.rows.unfinished(platform, now=self.clock())
        return [intake for intake in found if intake.id not in self._working]

    async def process(self, intake: IngestionRequest, fetch: Fetch) -> AsyncGenerator[IngestionRequest]:
        """Read the files one by one: the intake as it stands, first and after each. Nothing when another has it.

        Exhaust it: the verdicts count as shown when the next value after the last file's is asked for. Raises
        StoreError; what is not done then, or when it is closed early, is found by `unfinished`."""
        if intake.id in self._working:
            return
        self._working.add(intake.id)
        held: IngestionRequest | None = None
        try:
            now = self.clock()
            held = await self.rows.claim_again(intake.id, owner=self.owner, now=now, until=now + LEASE)
            if held is None:
                return
            async with beside(self._beat(held.id), "intake-lease"):
                yield held
                for index, file in enumerate(held.files):
                    if file.verdict is None:
                        held = await self._read(held, index, fetch)
                        yield held
                await finished(self.rows.done(held.id, owner=self.owner))
                held = None
        except LostError:
            log.warning("another process has taken over an intake", extra={"intake": intake.id})
            held = None
        finally:
            self._working.discard(intake.id)
            if held is not None:
                await finished(self._release(held.id))

    async def _release(self, intake: str) -> None:
        try:
            await self.rows.release(intake, owner=self.owner, now=self.clock())
        except StoreError:
            log.warning("an intake could not be given back; its lease passes soon", extra={"intake": intake})

    # -- one file ---------------------------------------------------------------------------------------------------

    async def _read(self, intake: IngestionRequest, index: int, fetch: Fetch) -> IngestionRequest:
        """Raises LostError, StoreError."""
        file = intake.files[index]
        begun = await self.rows.begin(intake.id, index, owner=self.owner)
        digest = ""
        if begun < TRIES:
            verdict, digest = await self._add(intake, file, fetch, last=begun == TRIES - 1)
        else:
            verdict = _refused(intake, file, _INTERRUPTED.to(intake.language, n=begun))
        trace = AuditRecord(
            f"{intake.place.platform}:{intake.author}",
            "ingest",
            f"{intake.collection}/{file.name} ({intake.scope}){f' sha256:{digest}' if digest else ''}",
            f"{verdict.status}: {verdict.reason}" if verdict.reason else verdict.status,
        )
        await finished(self.rows.verdict(intake.id, index, verdict, owner=self.owner, trace=trace))
        return _with_verdict(intake, index, verdict)

    async def _add(self, intake: IngestionRequest, file: FileRef, fetch: Fetch, *, last: bool) -> tuple[Verdict, str]:
        """The verdict, and the SHA-256 of what came. A bug costs its file, not the others; a database that fails for a
        moment does not, unless it is the `last` try. Raises StoreError."""
        digest = ""
        try:
            data = await fetch(file)
            digest = hashlib.sha256(data).hexdigest()
            link = file.ref.get("link")
            upload = Upload(file.name, data, intake.collection, intake.scope, intake.author, link, over=file.over)
            return await self.knowledge.take(upload), digest
        except RAGToolError as refusal:
            reason = refusal.text(intake.language)
        except StoreError as error:
            if not last:
                raise  # the file is there still
            reason = error.text(intake.language)
        except Exception:
            log.exception("a file could not be read", extra={"intake": intake.id})
            reason = _BROKEN.to(intake.language)
        return _refused(intake, file, reason), digest

    # -- the lease --------------------------------------------------------------------------------------------------

    async def _beat(self, intake: str) -> None:
        async def renew() -> None:
            now = self.clock()
            await self.rows.renew(intake, owner=self.owner, now=now, until=now + LEASE)

        every = LEASE.total_seconds() / 3
        await again_and_again(renew, every, f"the lease of intake {intake} could not be renewed", first=every)


def _within_limits(intake: IngestionRequest, waiting: int) -> IngestionRequest:
    """With a refusal for each file that is too much."""
    if waiting >= WAITING:
        reason, first = _WAITING.to(intake.language, n=waiting), 0
    else:
        reason, first = _MANY.to(intake.language, n=FILES), FILES
    for index, file in enumerate(intake.files[first:], start=first):
        intake = _with_verdict(intake, index, _refused(intake, file, reason))
    return intake


def _refused(intake: IngestionRequest, file: FileRef, reason: str) -> Verdict:
    return Verdict(file.name, "refused", intake.collection, reason=reason)


def _with_verdict(intake: IngestionRequest, index: int, verdict: Verdict) -> IngestionRequest:
    files = list(intake.files)
    files[index] = replace(files[index], verdict=verdict)
    return replace(intake, files=tuple(files))


def _named(files: tuple[FileRef, ...]) -> tuple[FileRef, ...]:
    """With names of one clean line, each once: two files of one name would be two versions of one document."""
    seen: set[str] = set()
    named = []
    for file in files:
        name = clean = clean_name(file.name, NAME)
        suffix = PurePath(clean).suffix
        for number in count(2):
            if name not in seen:
                break
            name = f"{clean.removesuffix(suffix)} ({number}){suffix}"
        seen.add(name)
        named.append(replace(file, name=name))
    return tuple(named)
