"""Checks of `kotae doctor` on this machine: the folder, the chat log, disk, memory, versions."""

import errno
import os
import shlex
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from platform import python_version

from bot.config.home import probe, readable_by_others
from bot.config.settings import Settings
from bot.doctor.findings import Check, Remark, Subject, aside, fault, fine, warning
from bot.operations.restore_marker import unfinished
from retrieval.disk import ROOM_TO_ADD
from retrieval.i18n import Text, filled, os_reason

GIB = 2**30
ENOUGH_DISK = GIB
ENOUGH_MEMORY = 2 * GIB  # 0.3 GB with the embedder loaded, 0.5 GB for a moment while its weights are made ready
ENOUGH_PROCESSORS = 2
OLDEST_SQLITE = (3, 35, 0)  # RETURNING

HOME = Subject("home", Text(en="Home folder", ja="ホームフォルダー"))
LOG = Subject("log", Text(en="Chat log", ja="チャットログ"))
MACHINE = Subject("machine", Text(en="Machine", ja="マシン"))
VERSIONS = Subject("versions", Text(en="Versions", ja="バージョン"))

START = Text(
    en="Start with kotae chat or kotae run; it is made then.",
    ja="kotae chat か kotae run で始めてください。そのとき作られます。",
)
FREE_SOME = Text(
    en="Free some space, 1 GB at least: without it no question can be stored and so none is answered.",
    ja="1 GB 以上の空きを作ってください。空きがないと質問を保存できず、回答もできません。",
)


# -- the folder -------------------------------------------------------------------------------------------------------

_NEW = Text(en="{folder} is not there yet.", ja="{folder} はまだありません。")
_NO_FOLDER = Text(en="{folder} cannot be made or used: {why}.", ja="{folder} を作成または使用できません: {why}")
_ELSEWHERE = Text(
    en="Set KOTAE_HOME to a folder that the user running Kotae may write to, or give that user this one: chown -R "
    "{user} {folder}",
    ja="Kotae を実行するユーザーが書き込めるフォルダーを KOTAE_HOME に指定するか、"
    "このフォルダーの所有者を変えてください: chown -R {user} {folder}",
)
_REMOUNT = Text(
    en="The disk is mounted read-only, which many systems do after an error of the disk: look into the system's log,"
    " mount it writable again, or set KOTAE_HOME to a folder on another.",
    ja="ディスクが読み取り専用でマウントされています。ディスクの異常が原因のことも多いため、システムのログを確認し、"
    "書き込めるようにマウントし直すか、別のディスクのフォルダーを KOTAE_HOME に指定してください。",
)
_OF_DISK = {errno.ENOSPC: FREE_SOME, errno.EDQUOT: FREE_SOME, errno.EROFS: _REMOUNT}
_OWNER = Text(
    en="{folder} belongs to another user (id {owner}); this is run by id {me}.",
    ja="{folder} の所有者は別のユーザー（ID {owner}）です。実行しているのは ID {me} です。",
)
_DISK = Text(en="Only {free} MB of disk are free at {folder}.", ja="{folder} の空き容量は {free} MB しかありません。")
_NO_ROOM = Text(en="{disk} Documents are refused.", ja="{disk}文書の追加はできません。")
_OPEN = Text(
    en="Other users of this machine can read {names}, which hold what people asked and taught.",
    ja="質問や登録内容が入っている {names} を、このマシンのほかのユーザーが読めます。",
)
_CLOSE = Text(
    en="Start Kotae once: it takes these rights away from what is its own. Where that does not help, run"
    " chmod -R go= {names} as their owner, or set KOTAE_HOME to a folder of its own on a disk that keeps rights.",
    ja="Kotae を一度起動すると、自身のファイルの権限は自動で絞られます。それでも残る場合は、所有者として chmod -R go= "
    "{names} を実行するか、権限を保存できるディスク上の専用フォルダーを KOTAE_HOME に指定してください。",
)
_HALF = Text(
    en="A restore into {folder} was cut short; nothing of it is in use.",
    ja="{folder} への復元が途中で止まっています。復元したデータはまだ使われていません。",
)
_RESTORE_AGAIN = Text(
    en="Run kotae restore with the same file again; it starts anew.",
    ja="同じファイルでもう一度 kotae restore を実行してください。最初からやり直します。",
)
_GOOD_HOME = Text(en="{folder} can be used; {free} GB are free.", ja="{folder} は使えます。空き容量は {free} GB です。")


async def home(settings: Settings) -> Sequence[Remark]:
    return await aside(lambda: _home(settings))


def _home(settings: Settings) -> list[Remark]:
    folder = settings.home
    shown = str(folder.absolute())
    remedy = filled(_ELSEWHERE, folder=shown, user=str(os.geteuid()))
    try:
        there = _writable(folder)
        free = shutil.disk_usage(there).free
        if there == folder.absolute():
            probe(folder)  # says what no bit of the mode does: a read-only disk, a full one
    except OSError as error:
        said = filled(_NO_FOLDER, folder=shown, why=os_reason(error))
        return [fault(said, _OF_DISK.get(error.errno or 0, remedy))]
    found = []
    if there != folder.absolute():
        found.append(fine(filled(_NEW, folder=shown), START))
    else:
        if (owner := folder.stat().st_uid) != os.geteuid():
            found.append(warning(filled(_OWNER, folder=shown, owner=str(owner), me=str(os.geteuid())), remedy))
        if unfinished(folder):
            found.append(fault(filled(_HALF, folder=shown), _RESTORE_AGAIN))
    found += short_of_disk(free, shown)
    if seen := readable_by_others(settings):
        todo = filled(_CLOSE, names=" ".join(shlex.quote(str(path.absolute())) for path in seen))
        found.append(warning(filled(_OPEN, names=", ".join(map(str, seen))), todo))
    return found or [fine(filled(_GOOD_HOME, folder=shown, free=str(free // GIB)))]


def _writable(folder: Path) -> Path:
    """The folder, or where it is to be made: that which is there. Raises OSError where nobody may write to it."""
    there = next((one for one in (folder.absolute(), *folder.absolute().parents) if os.path.lexists(one)), Path("/"))
    if not os.access(there, os.W_OK | os.X_OK, effective_ids=True):
        refused = errno.EROFS if os.statvfs(there).f_flag & os.ST_RDONLY else errno.EACCES
        raise OSError(refused, os.strerror(refused))
    return there


def short_of_disk(free: int, folder: str) -> list[Remark]:
    """`free` bytes; nothing to say when they are enough."""
    said = filled(_DISK, free=str(free // 2**20), folder=folder)
    if free < ROOM_TO_ADD:
        return [fault(filled(_NO_ROOM, disk=said), FREE_SOME)]
    return [warning(said, FREE_SOME)] if free < ENOUGH_DISK else []


# -- the chat log -----------------------------------------------------------------------------------------------------

_NO_LOG = Text(en="{path} cannot be written: {why}.", ja="{path} に書き込めません: {why}")
_LOG_REMEDY = Text(
    en="Make {folder} writable for the user who runs Kotae. Until then answers come, but what was said is not logged.",
    ja="Kotae を実行するユーザーが {folder} に書き込めるようにしてください。それまで回答はできますが、"
    "会話は記録されません。",
)
_GOOD_LOG = Text(en="{path} can be written.", ja="{path} に書き込めます。")


async def log(settings: Settings) -> Sequence[Remark]:
    def look() -> list[Remark]:
        path = settings.chat_log
        try:
            if _writable(path.parent) == path.parent.absolute():
                with tempfile.TemporaryFile(dir=path.parent):
                    pass
            if path.exists():
                os.close(os.open(path, os.O_WRONLY | os.O_APPEND))
        except OSError as error:
            said = filled(_NO_LOG, path=str(path), why=os_reason(error))
            return [fault(said, filled(_LOG_REMEDY, folder=str(path.parent)))]
        return [fine(filled(_GOOD_LOG, path=str(path)))]

    return await aside(look)


# -- the machine ------------------------------------------------------------------------------------------------------

_MEMORY = Text(en="There are only {memory} MB of memory.", ja="メモリーが {memory} MB しかありません。")
_MORE_MEMORY = Text(
    en="Give it 2 GB or more, or have another machine embed: KOTAE_EMBEDDER=gemini:… or openai:…",
    ja="2 GB 以上にするか、KOTAE_EMBEDDER=gemini:… や openai:… で別のマシンに埋め込みを任せてください。",
)
_PROCESSORS = Text(en="There is only {count} processor.", ja="プロセッサーが {count} 個しかありません。")
_MORE_PROCESSORS = Text(
    en="It works, but while documents are added answers take about twice as long; two are better.",
    ja="動作はしますが、文書の登録中は回答に約 2 倍の時間がかかります。2 個以上をおすすめします。",
)


async def machine(settings: Settings) -> Sequence[Remark]:
    processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return short_of_machine(await aside(_memory), processors)


def short_of_machine(memory: int, processors: int) -> list[Remark]:
    """`memory` bytes; nothing to say when both are enough."""
    found = []
    if memory < ENOUGH_MEMORY:
        found.append(warning(filled(_MEMORY, memory=str(memory // 2**20)), _MORE_MEMORY))
    if processors < ENOUGH_PROCESSORS:
        found.append(warning(filled(_PROCESSORS, count=str(processors)), _MORE_PROCESSORS))
    return found


def _memory() -> int:
    """Bytes this process may have: the machine's, or the container's where that is less (cgroup 2)."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        return min(machine, int(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # "max": no limit
        return machine


_OLD_SQLITE = Text(
    en="SQLite {version} is too old; {wanted} is needed.",
    ja="SQLite {version} は古すぎます。{wanted} 以降が必要です。",
)
_NEW_PYTHON = Text(
    en="Use a Python that brings a newer SQLite (python.org, uv or conda).",
    ja="新しい SQLite を含む Python（python.org、uv、conda など）を使ってください。",
)


async def versions(settings: Settings) -> Sequence[Remark]:
    store = {"qdrant-client": "qdrant-client"} if settings.qdrant_url else {"Qdrant (embedded)": "qdrant-edge-py"}
    shown = {"Kotae": "kotae"} | store
    found = [f"{name} {_version(package)}" for name, package in shown.items()]
    named = ", ".join((*found[:1], f"Python {python_version()}", f"SQLite {sqlite3.sqlite_version}", *found[1:]))
    old = old_sqlite(sqlite3.sqlite_version_info)
    return [*old, fine(Text(en=named, ja=named))]


def old_sqlite(version: tuple[int, ...]) -> list[Remark]:
    if version >= OLDEST_SQLITE:
        return []
    said = filled(_OLD_SQLITE, version=".".join(map(str, version)), wanted=".".join(map(str, OLDEST_SQLITE)))
    return [fault(said, _NEW_PYTHON)]


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "?"


CHECKS = (Check(HOME, home), Check(LOG, log), Check(MACHINE, machine), Check(VERSIONS, versions))
