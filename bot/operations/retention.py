"""How long things are kept, and how a person is forgotten: in the database and in the chat log.

What is kept: questions with their answers, traces, votes and misses, and the words of searches, for `keep` (90 days by
default); a claim without an answer for 7 days, as long as a platform may deliver it again; the chat log's lines for
`keep`; what was posted on platforms, and files that came with a question, which only its thread can search, for `keep`
too; copies of the database from before upgrades for `keep`; who changed what everybody reads for at least a year. A
miss that is still open stays until it is closed, and its cards with it, since the digest and the list of unanswered
questions live on it, but its turn is emptied of the person and the answer.

Where several machines share a database on a server, each has a chat log of its own. There an erasure is also a row, as
long as chat logs may have lines from before it; every machine that runs applies it within a minute, one that does not
when it starts. Nothing is deleted by a clock that has made a leap (`bot/store/retention_clock.py`).
Source: reliability.md R61; machines.md §2."""

import asyncio
import fcntl
import json
import logging
import os
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

from bot.logs import CHAT_LOG_FILES
from bot.store.engine import Engine, on_server
from bot.store.erased_people import ErasedPeople
from bot.store.erasure import FORGOTTEN, Erased, Erasure, Expired, is_distinct
from bot.store.inspection import file_of
from bot.store.retention_clock import STEP, RetentionClock
from bot.waiting import Sleep, again_and_again
from migrations import copies
from retrieval.durable import make_folder, replacing
from retrieval.i18n import Language, Text

log = logging.getLogger(__name__)

CLAIMS = timedelta(days=7)  # a claim keeps a question from being answered twice (R3)
TRACES = timedelta(days=365)  # of privileged acts, at least
FIRST_AFTER = timedelta(minutes=5)  # a start has more urgent things to do
EVERY = timedelta(days=1)
LOOK_EVERY = timedelta(minutes=1)  # for erasures on other machines
_APPLIED = "erased"  # beside the chat log: which of them it knows

ForgetDocument = Callable[[str], Awaitable[object]]
"""`KnowledgeBase.forget`: the index has an owner, so retention asks for it."""
ExpireFiles = Callable[[datetime], Awaitable[None]]
"""`HeldFiles.expire`: files that nobody has come back for."""

_WHO = Text(
    en="Name the person as PLATFORM:ID, such as slack:U012AB3CD or discord:80351110224678912.",
    ja="対象者は slack:U012AB3CD や discord:80351110224678912 のように プラットフォーム:ID で指定してください。",
)
_DONE = Text(
    en="{who} is forgotten: {questions} question{questions:|s} with {questions:its answer|their answers}, "
    "{votes} vote{votes:|s}, {searches} search{searches:|es} and {lines} line{lines:|s} of the chat "
    "log were deleted; {documents} document{documents: stays|s stay} without {documents:its|their} "
    "author, and the id is gone from {mentions} text{mentions:|s} of others.",
    ja="{who} のデータを削除しました。質問と回答 {questions} 件、評価 {votes} 件、検索 {searches} 件、チャットログ "
    "{lines} 行を"
    "削除しました。文書 {documents} 件は登録者名を消して残し、ほかの人の文章 {mentions} 件から ID を消しました。",
)
_THREADS = Text(
    en="Documents of channels' threads that go because they speak there: {n}. What others said there is read again.",
    ja="本人の発言を含むチャンネルのスレッドの文書 {n} 件を削除します。ほかの人の発言は読み直します。",
)
_STAYS = Text(
    en="What others wrote or documents say about the person stays. Messages in Slack or Discord are deleted there.",
    ja="ほかの人が書いた内容や、文書に書かれた内容は残ります。Slack や Discord "
    "上のメッセージは各サービスで削除してください。",
)
_BACKUPS = Text(
    en="Backups still have it all: delete those made with kotae backup{copies}, or forget the person again after a "
    "restore.",
    ja="バックアップには残っています。kotae backup で作ったもの{copies}を削除するか、"
    "復元後にもう一度実行してください。",
)
_MACHINES = Text(
    en="The chat logs of other machines follow within a minute, or when they are started.",
    ja="ほかのマシンのチャットログからは、1 分以内（停止中のマシンでは次の起動時）に削除されます。",
)
_COPIES = Text(en=", and these copies from before upgrades: {files}", ja="と、更新前のコピー（{files}）")
_NOT_COMPACT = Text(
    en="The database could not be rewritten (it is too busy, or its disk too full), so traces may be left in its "
    "files. Run the same command again.",
    ja="データベースを書き直せなかったため（使用中か、ディスクの空き不足）、ファイルに痕跡が残っている可能性があります。"
    "同じコマンドをもう一度実行してください。",
)


class WhoError(ValueError):
    """Not the name of a person on a platform."""

    def text(self, language: Language) -> str:
        return _WHO.to(language)


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody on a platform, by the platform's own id."""

    platform: str
    id: str

    @classmethod
    def named(cls, text: str) -> "Person":
        """The person of `slack:U012AB3CD`. Raises WhoError."""
        platform, colon, person = text.strip().partition(":")
        if not (platform and colon and person.strip()):
            raise WhoError(text)
        return cls(platform.lower(), person.strip())

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"


@dataclass(frozen=True, slots=True)
class Forgotten:
    """The records of a person that are gone; `copies` of the database from before upgrades still have it. `machines`:
    others may share it."""

    who: Person
    erased: Erased
    lines: int
    copies: tuple[Path, ...]
    machines: bool = False

    def as_json(self) -> dict[str, Any]:
        """How much of what is gone, and the copies that still have it."""
        return {
            "user": str(self.who),
            "questions": len(self.erased.turns),
            "votes": self.erased.votes,
            "searches": self.erased.searches,
            "log_lines": self.lines,
            "documents_without_author": self.erased.documents,
            "mentions": self.erased.mentions,
            "threads": self.erased.threads,
            "compacted": self.erased.compacted,
            "copies": [str(file) for file in self.copies],
        }

    def text(self, language: Language) -> str:
        done = _DONE.to(
            language,
            who=self.who,
            questions=len(self.erased.turns),
            votes=self.erased.votes,
            searches=self.erased.searches,
            lines=self.lines,
            documents=self.erased.documents,
            mentions=self.erased.mentions,
        )
        copies = _COPIES.to(language, files=", ".join(map(str, self.copies))) if self.copies else ""
        others = [_MACHINES.to(language)] if self.machines else []
        threads = [_THREADS.to(language, n=self.erased.threads)] if self.erased.threads else []
        said = [done, *threads, *others, _STAYS.to(language), _BACKUPS.to(language, copies=copies)]
        return "\n".join(said if self.erased.compacted else [*said, _NOT_COMPACT.to(language)])


async def forget(engine: Engine, chat_log: Path, who: Person) -> Forgotten:
    """Erase a person from the database and the chat log. May run beside the bot. Raises StoreError, OSError."""
    erased = await Erasure(engine).forget(who.platform, who.id)
    if on_server(engine):
        await ErasedPeople(engine).add(who.platform, who.id, erased.turns)
        return Forgotten(who, erased, await apply_erasures(engine, chat_log), (), machines=True)
    lines = await asyncio.to_thread(_forget_in_log, chat_log, who, frozenset(erased.turns))
    return Forgotten(who, erased, lines, tuple(sorted(_copies(engine))))


def _copies(engine: Engine) -> list[Path]:
    """Of an SQLite file, from before upgrades; one that was cut off, too."""
    file = file_of(str(engine.url))
    return copies(file) if file else []


async def apply_erasures(engine: Engine, chat_log: Path) -> int:
    """Take out of this machine's chat log whom it does not know yet to be erased, each once, since a person may come
    back; returns how many lines went. Raises StoreError, OSError."""
    note = chat_log.with_name(_APPLIED)
    known = await asyncio.to_thread(_applied, note)
    lines = 0
    for one in await ErasedPeople(engine).listed(known):
        who = Person(one.platform, one.person)
        lines += await asyncio.to_thread(_forget_in_log, chat_log, who, frozenset(one.turns))
        await asyncio.to_thread(_note_applied, note, one.id)
    return lines


async def follow_erasures(engine: Engine, chat_log: Path, *, sleep: Sleep = asyncio.sleep) -> None:
    """`apply_erasures` at once and every minute, until cancelled."""
    work = partial(apply_erasures, engine, chat_log)
    trouble = "people who were forgotten could not be looked up"
    await again_and_again(work, LOOK_EVERY.total_seconds(), trouble, sleep=sleep)


async def retain(
    engine: Engine,
    chat_log: Path,
    *,
    keep: timedelta,
    now: datetime,
    forget_document: ForgetDocument | None = None,
    expire_files: ExpireFiles | None = None,
) -> Expired:
    """Delete what is older than `keep` (at least the 7 days of a claim); documents only with `forget_document`, files
    that wait only with `expire_files`.

    Raises StoreError, OSError, RAGToolError.
    """
    if keep < CLAIMS:
        raise ValueError(f"claims are kept for {CLAIMS.days} days")
    before = now - keep
    erasure = Erasure(engine)
    expired = await erasure.expire(before=before, inbox_before=now - CLAIMS, audit_before=now - max(keep, TRACES))
    lines = await asyncio.to_thread(_drop_old_lines, chat_log, before)
    copies = await asyncio.to_thread(_drop_old_files, _copies(engine), before)
    await ErasedPeople(engine).expire(before)
    if expire_files is not None:
        await expire_files(now - CLAIMS)
    files = 0
    if forget_document is not None:
        for document in await erasure.thread_documents(before=before):
            await forget_document(document)
            files += 1
    if expired or lines or files or copies:
        log.info(
            "retention: %d questions deleted, %d emptied, %d searches, %d files of threads, %d posts, intakes and "
            "traces, %d log lines and %d copies from before upgrades deleted",
            *(expired.deleted, expired.emptied, expired.searches, files, expired.others, lines, copies),
        )
    return expired


async def daily(
    engine: Engine,
    chat_log: Path,
    *,
    keep: timedelta,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    sleep: Sleep = asyncio.sleep,
    forget_document: ForgetDocument | None = None,
    expire_files: ExpireFiles | None = None,
) -> None:
    """`retain` soon after the start and every day, until cancelled, unless the clock is doubted. What fails is tried
    again the next day."""

    async def work() -> None:
        seen = await RetentionClock(engine).judge(clock())
        if seen.doubted_at is None:
            await retain(
                engine, chat_log, keep=keep, now=seen.at, forget_document=forget_document, expire_files=expire_files
            )
        elif seen.jumped:
            log.warning(
                "retention: the clock says %s, long after it was last looked at (%s); nothing is deleted until it has "
                "stood by that for %d days",
                *(f"{seen.at:%Y-%m-%d}", f"{seen.believed_at:%Y-%m-%d}", STEP.days),
            )

    every, first = EVERY.total_seconds(), FIRST_AFTER.total_seconds()
    await again_and_again(work, every, "what is too old could not be deleted", first=first, sleep=sleep)


def _drop_old_files(files: Collection[Path], before: datetime) -> int:
    """Returns how many went."""
    old = [file for file in files if file.stat().st_mtime < before.timestamp()]
    for file in old:
        file.unlink(missing_ok=True)
    return len(old)


# -- the chat log ---------------------------------------------------------------------------------------------------


def _applied(note: Path) -> set[str]:
    return set(note.read_text(encoding="utf-8").split()) if note.exists() else set()


def _note_applied(note: Path, erasure: str) -> None:
    known = _applied(note) | {erasure}
    make_folder(note.parent)
    with replacing(note) as file:
        file.write("\n".join(sorted(known)).encode())


def _forget_in_log(path: Path, who: Person, known: Collection[str]) -> int:
    """Delete the lines of the person's turns, and the id from the others; returns how many lines went.

    The log may know turns that the database no longer has, so their questions are looked for first.
    """
    theirs = set(known)
    for file in _files(path):
        for line in file.read_bytes().splitlines():
            entry = _entry(line)
            if (entry.get("author"), entry.get("platform")) == (who.id, who.platform):
                theirs.add(str(entry.get("turn")))
    nameless = FORGOTTEN.encode() if is_distinct(who.id) else who.id.encode()

    def kept(line: bytes) -> bytes | None:
        entry = _entry(line)  # one that was cut off may be of anybody
        return line.replace(who.id.encode(), nameless) if entry and entry.get("turn") not in theirs else None

    return sum(_rewrite(file, kept) for file in _files(path))


def _drop_old_lines(path: Path, before: datetime) -> int:
    oldest = before.astimezone(UTC).isoformat(timespec="milliseconds")

    def kept(line: bytes) -> bytes | None:
        at = _entry(line).get("at")
        return line if isinstance(at, str) and at >= oldest else None

    return sum(_rewrite(file, kept) for file in _files(path))


def _files(path: Path) -> list[Path]:
    """The log and its older files, newest first: one that is renamed meanwhile is met again, not missed."""
    names = (path, *(path.with_name(f"{path.name}.{number}") for number in range(1, CHAT_LOG_FILES + 1)))
    return [name for name in names if name.exists()]


def _entry(line: bytes) -> dict[str, object]:
    try:
        entry = json.loads(line)
    except ValueError:  # a line cut by a full disk or a kill
        return {}
    return entry if isinstance(entry, dict) else {}


def _rewrite(file: Path, kept: Callable[[bytes], bytes | None]) -> int:
    """Keep some of a log's lines, changed or not; returns how many went. An older file without lines goes itself.

    In place and under the lock that writers take: one that waits for it then appends to this file, and what is cut
    off is off the disk's file too.
    """
    try:
        opened = os.open(file, os.O_RDWR)
    except FileNotFoundError:
        return 0
    with os.fdopen(opened, "r+b") as log_file:
        fcntl.flock(log_file, fcntl.LOCK_EX)
        lines = log_file.read().splitlines(keepends=True)
        left = [new for line in lines if (new := kept(line)) is not None]
        if left != lines:
            log_file.seek(0)
            log_file.write(b"".join(left))
            log_file.truncate()
            log_file.flush()
            os.fsync(log_file.fileno())
        if not left and file.suffix != ".log":
            file.unlink(missing_ok=True)
    return len(lines) - len(left)
