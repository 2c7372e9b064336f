"""Checks of `kotae doctor` in a home: the database, the documents' kept text, the search index."""

import os
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

from bot.config.settings import Settings
from bot.doctor.findings import Check, Remark, Subject, aside, fault, fine, warning
from bot.doctor.machine import FREE_SOME, START
from bot.errors import SettingsError, StoreError
from bot.knowledge.content_store import content_store
from bot.knowledge.identity import Identity, trouble
from bot.knowledge.reindex import complete
from bot.knowledge.snapshots import INDEX_LOST
from bot.knowledge.vector_store import EARLIER, make_stores
from bot.records import DocumentRow
from bot.store.conversations import Conversations
from bot.store.documents import Documents
from bot.store.engine import Engine, opened
from bot.store.homes import Homes
from bot.store.inspection import Condition, condition, file_of, server_condition, unbegun
from bot.store.retention_clock import STEP, RetentionClock
from bot.store.vector_stores import IndexRow, VectorStores
from migrations import way_back
from retrieval.folder import DamagedError, Made, OwnedError, own, written_in
from retrieval.i18n import Text, filled, os_reason
from retrieval.index import Index
from retrieval.index.stores import EdgeStores, ServerStores
from retrieval.sparse import TOKENIZER
from retrieval.types import EVERYONE, TEAM, EmbeddingError, QdrantConnectionError, RAGToolError, Readers, View

T = TypeVar("T")

INTEGRITY_SECONDS = 6.0
_SERVER_SECONDS = 4.0  # for one call; there are three
_NAMED = 3
_READ = 500  # passages of the index

DATABASE = Subject("database", Text(en="Database", ja="データベース"))
DOCUMENTS = Subject("documents", Text(en="Documents", ja="文書"))
CLOCK = Subject("clock", Text(en="Clock", ja="時計"))
STORE = Subject("store", Text(en="Search index", ja="検索インデックス"))


# -- the database -----------------------------------------------------------------------------------------------------

_NO_DATABASE = Text(en="There is none yet.", ja="まだありません。")
_UNREADABLE = Text(en="{what} cannot be read: {why}.", ja="{what} を読み込めません: {why}")
_PERMISSION = Text(
    en="Let the user who runs Kotae read and write it.",
    ja="Kotae を実行するユーザーが読み書きできるようにしてください。",
)
SERVER = Text(
    en="Check DATABASE_URL, and that the server runs and lets this user in.",
    ja="DATABASE_URL と、サーバーが動いていてこのユーザーで接続できるかを確認してください。",
)
_DAMAGED = Text(en="{what} is damaged.", ja="{what} は壊れています。")
_FROM_BACKUP = Text(
    en="Stop Kotae, set KOTAE_HOME to an empty folder and run kotae restore with your latest backup. "
    "A copy from the last upgrade may lie beside the database (*.backup.db).",
    ja="Kotae を止め、KOTAE_HOME に空のフォルダーを指定して、最新のバックアップで kotae restore を実行してください。"
    "前回の更新時のコピー（*.backup.db）がデータベースの隣に残っている場合もあります。",
)
_NOT_OURS = Text(en="It holds none of Kotae's tables.", ja="Kotae のテーブルがありません。")
_MIGRATE = Text(
    en="Run kotae migrate; it makes a copy first.", ja="kotae migrate を実行してください。先にコピーが作られます。"
)
_MIGRATE_SERVER = Text(
    en="Make a copy, for example with pg_dump, and run kotae migrate.",
    ja="pg_dump などでコピーを取ってから、kotae migrate を実行してください。",
)
_OLDER = Text(
    en="It is of revision {revision}; this version of Kotae needs {wanted}.",
    ja="リビジョン {revision} のものです。このバージョンの Kotae には {wanted} が必要です。",
)
_NEWER = Text(
    en="It was made by a newer version of Kotae (revision {revision}), so this one does not open it.",
    ja="より新しいバージョンの Kotae（リビジョン {revision}）で作られているため、このバージョンでは開けません。",
)
_TROUBLES = {
    "read_only": (
        Text(en="It cannot be written to.", ja="書き込めません。"),
        _PERMISSION,
    ),
    "busy": (
        Text(en="Another program keeps it locked.", ja="ほかのプログラムがロックしたままです。"),
        Text(
            en="Wait a moment and run kotae doctor again; if it stays so, stop whatever else has the file open.",
            ja="しばらくしてからもう一度 kotae doctor を実行してください。続く場合は、"
            "このファイルを開いているほかのプログラムを止めてください。",
        ),
    ),
    "full": (Text(en="There is no space left for it.", ja="空き容量がありません。"), FREE_SOME),
}
_LARGE = Text(
    en="It is too large to be checked for damage in {seconds} seconds; that part is not known.",
    ja="大きいため、{seconds} 秒では破損の確認が終わりませんでした。",
)
_CHECK_BY_HAND = Text(
    en="If you want to be sure: sqlite3 {file} 'PRAGMA integrity_check'",
    ja="確かめるには次を実行してください: sqlite3 {file} 'PRAGMA integrity_check'",
)
_GOOD_DATABASE = Text(
    en="Whole, writable, revision {revision}.", ja="破損はなく、書き込めます（リビジョン {revision}）。"
)
_SERVER_NAME = Text(en="The database on the server", ja="サーバー上のデータベース")


async def database(settings: Settings) -> Sequence[Remark]:
    if unbegun(settings.database_url):
        return [fine(_NO_DATABASE, START)]
    file = file_of(settings.database_url)
    what = Text(en=str(file), ja=str(file)) if file else _SERVER_NAME
    try:
        found = await _condition(settings, INTEGRITY_SECONDS)
    except StoreError as error:
        return [fault(error.said, SERVER)]
    except OSError as error:
        return [fault(filled(_UNREADABLE, what=what, why=os_reason(error)), _PERMISSION)]
    if found.whole == "damaged":
        return [fault(filled(_DAMAGED, what=what), _FROM_BACKUP)]
    remarks, migrate = [], _MIGRATE if file else _MIGRATE_SERVER
    if found.trouble:
        remarks.append(fault(*_TROUBLES[found.trouble]))
    if found.whole == "unknown" and not found.trouble and file:
        slow = filled(_LARGE, seconds=f"{INTEGRITY_SECONDS:g}")
        remarks.append(warning(slow, filled(_CHECK_BY_HAND, file=str(file))))
    if not found.known:
        remarks.append(fault(filled(_NEWER, revision=str(found.revision)), Text(*way_back(file))))
    elif found.revision is None and found.whole == "whole":
        remarks.append(warning(_NOT_OURS, migrate))
    elif found.revision != found.wanted and found.revision is not None:
        remarks.append(warning(filled(_OLDER, revision=found.revision, wanted=found.wanted), migrate))
    return remarks or [fine(filled(_GOOD_DATABASE, revision=found.wanted))]


async def _condition(settings: Settings, seconds: float) -> Condition:
    file = file_of(settings.database_url)
    if file is None:
        return await server_condition(settings.database_url, settings.link)
    return await aside(lambda: condition(file, seconds=seconds))


@dataclass(frozen=True, slots=True)
class _Kept:
    """The searchable documents, as the database says. `lost`: the addresses of texts that are not there as they were
    kept, where that was looked for."""

    rows: list[DocumentRow]
    index: IndexRow | None
    identity: Identity
    lost: Collection[str] = ()


async def _kept(settings: Settings, *, texts: bool = False) -> _Kept | None:
    """None when the database has to be put right first; nothing is in one that is not there. `texts`: look for lost
    ones."""
    if unbegun(settings.database_url):
        return _Kept([], None, Identity.of(settings, None, 0, []))

    async def look(engine: Engine) -> _Kept:
        rows, index = await Documents(engine, "").listed(), await VectorStores(engine).current()
        identity = Identity.of(settings, await Homes(engine).known(), index.generation if index else 0, rows)
        kept = content_store(engine, settings.home / "documents")
        return _Kept(rows, index, identity, await kept.lost({row.markdown for row in rows}) if texts else ())

    return await _looked(settings, look)


async def heard(settings: Settings, platform: str) -> datetime | None:
    """When the last question came from a platform; None when none ever did, or nobody can say."""
    if unbegun(settings.database_url):
        return None
    return await _looked(settings, lambda engine: Conversations(engine).last_asked(platform))


async def team(settings: Settings) -> str | None:
    """The `platform:workspace` whose members are the team where nobody chose; None: nobody has been yet, or can say."""
    return None if unbegun(settings.database_url) else await _looked(settings, lambda engine: Homes(engine).team())


async def _looked(settings: Settings, look: Callable[[Engine], Awaitable[T | None]]) -> T | None:
    """None when the database has to be put right first; damage is the other check's part."""
    try:
        if not (await _condition(settings, seconds=0)).current:
            return None
        async with opened(settings.database_url, settings.link) as engine:
            return await look(engine)
    except (StoreError, OSError):
        return None


_DATABASE_FIRST = Text(
    en="Not checked, since the database cannot be used as it is.",
    ja="データベースがこのままでは使えないため、確認していません。",
)
_THEN_AGAIN = Text(
    en="Put the database right first, then run kotae doctor again.",
    ja="先にデータベースを直してから、もう一度 kotae doctor を実行してください。",
)


# -- the clock that things are deleted by -----------------------------------------------------------------------------

_JUMPED = Text(
    en="It says {now}, long after it was last looked at ({was}). Until it has stood by that for {days} days nothing is "
    "deleted for its age.",
    ja="現在は {now} となっていますが、前回の確認（{was}）から離れすぎています。このまま {days} 日たつまで、"
    "古いデータは削除されません。",
)
_SET_CLOCK = Text(
    en="If that is not the date, set the clock of {where} right, by {until} at the latest. If it is, there is nothing "
    "to do.",
    ja="日付が違う場合は、遅くとも {until} までに{where}の時計を合わせてください。"
    "正しい場合は何もする必要はありません。",
)
_MACHINES_CLOCK = Text(en="this machine", ja="このマシン")
_SERVERS_CLOCK = Text(en="the database's server", ja="データベースのサーバー")


async def clock(settings: Settings) -> Sequence[Remark]:
    """Nothing but what is wrong with it."""
    if unbegun(settings.database_url):
        return []
    seen = await _looked(settings, lambda engine: RetentionClock(engine).known(datetime.now(UTC)))
    if seen is None or not seen.jumped or seen.believed_at is None or seen.doubted_at is None:
        return []
    where = _MACHINES_CLOCK if file_of(settings.database_url) else _SERVERS_CLOCK
    until = f"{seen.doubted_at + STEP:%Y-%m-%d}"
    said = filled(_JUMPED, now=f"{seen.at:%Y-%m-%d}", was=f"{seen.believed_at:%Y-%m-%d}", days=str(STEP.days))
    return [warning(said, filled(_SET_CLOCK, where=where, until=until))]


# -- the documents' Markdown ------------------------------------------------------------------------------------------

_NONE = Text(en="There are none yet.", ja="まだありません。")
_ADD = Text(en="Add some: kotae ingest PATH", ja="kotae ingest パス で登録してください。")
_LOST = Text(
    en="Of {all} document{all:|s} the kept text of {count} is missing or changed{names}. They are found as far as "
    "the index has them, but cannot be read anew, nor backed up.",
    ja="{all} 件の文書のうち {count} 件で、保存されているはずの本文がないか変わっています{names}。"
    "インデックスに残っている範囲で検索はできますが、読み直しもバックアップもできません。",
)
_ADD_AGAIN = Text(
    en="Add these documents again (kotae ingest PATH), or restore a backup.",
    ja="該当の文書を登録し直すか（kotae ingest パス）、バックアップから復元してください。",
)
_EMPTY_COLLECTIONS = Text(
    en="KOTAE_COLLECTIONS names what no document is in, so nothing is found there: {names}.",
    ja="KOTAE_COLLECTIONS に文書のないコレクションがあり、そこでは何も見つかりません: {names}",
)
_NAME_OTHERS = Text(
    en="Correct the names in .env (kotae collections has them), or add documents: kotae ingest PATH --collection NAME",
    ja=".env の名前を直すか（一覧は kotae collections）、文書を登録してください: kotae ingest パス --collection 名前",
)
_GOOD_DOCUMENTS = Text(en="{count}, and the text of each is there.", ja="{count} 件、すべての本文があります。")


async def documents(settings: Settings) -> Sequence[Remark]:
    kept = await _kept(settings, texts=True)
    if kept is None:
        return [warning(_DATABASE_FIRST, _THEN_AGAIN)]
    rows = kept.rows
    if (strange := await aside(kept.identity.trouble_with_texts)) is not None:
        return [_strange(strange)]
    if not rows:
        return [fine(_NONE, _ADD)]
    empty = sorted({*(settings.collections or ())} - {row.collection for row in rows})
    remarks = [warning(filled(_EMPTY_COLLECTIONS, names=", ".join(empty)), _NAME_OTHERS)] if empty else []
    lost = [row for row in rows if row.markdown in kept.lost]
    if not lost:
        return [*remarks, fine(filled(_GOOD_DOCUMENTS, count=str(len(rows))))]
    named = [row.name for row in lost if row.scope in (TEAM, EVERYONE)][:_NAMED]  # others are not for every terminal
    names = f" ({', '.join(named)})" if named else ""
    said = filled(_LOST, all=str(len(rows)), count=str(len(lost)), names=names)
    return [*remarks, fault(said, _ADD_AGAIN)]


async def indexed(settings: Settings) -> int:
    """How many documents there are, as far as the database can be read; it is not changed."""
    kept = await _kept(settings)
    return len(kept.rows) if kept else 0


# -- the search index -------------------------------------------------------------------------------------------------

_SAID = Text(en="The running Kotae says of {part}: {why}", ja="動いている Kotae によると（{part}）: {why}")
_AS_SAID = Text(
    en="Do what it says, or see the finding of that part; then run kotae doctor again.",
    ja="その内容か、該当の項目に従って直してから、もう一度 kotae doctor を実行してください。",
)
_RUNNING = Text(
    en="A running Kotae has it open and answers, so its contents were not counted.",
    ja="動いている Kotae が開いていて、応答もあります。中身の件数は確認していません。",
)
_STOP_FIRST = Text(
    en="For the whole check stop Kotae and run kotae doctor again.",
    ja="すべて確認するには、Kotae を止めてからもう一度 kotae doctor を実行してください。",
)
_SILENT = Text(
    en="Another process has this home open, but does not answer.",
    ja="別のプロセスがこのホームを開いていますが、応答がありません。",
)
_WAIT = Text(
    en="If Kotae has just been started, wait a few seconds; otherwise stop that process and start Kotae again.",
    ja="起動した直後なら数秒待ってください。そうでなければ、そのプロセスを止めて Kotae を起動し直してください。",
)
_NO_INDEX = Text(en="There is none yet; there are no documents either.", ja="まだありません。文書もありません。")
_INDEX_LOST = Text(
    en="It is not there, but {count} document{count:|s} should be in it.",
    ja="見つかりません。{count} 件の文書が入っているはずです。",
)
_OTHER = Text(
    en="It was made with {was}, but the settings say {wanted}, and the two cannot be mixed.",
    ja="{was} で作られていますが、現在の設定は {wanted} です。混在はできません。",
)
_ANEW = Text(
    en="Stop Kotae and have it made anew from the kept documents:"
    " kotae reindex. If it cannot be read: kotae reindex --set-aside",
    ja="Kotae を止め、保存済みの文書から作り直してください: kotae reindex（インデックスを読み込めない場合は kotae "
    "reindex --set-aside）",
)
_SET_BACK = Text(
    en="Set KOTAE_EMBEDDER and KOTAE_EMBEDDING_DIM back, or stop Kotae"
    " and have it made anew from the kept documents: kotae reindex",
    ja="KOTAE_EMBEDDER と KOTAE_EMBEDDING_DIM を元に戻すか、Kotae を止めて、保存済みの文書から作り直してください: "
    "kotae reindex",
)
_COUNTS = Text(
    en="It holds {found} chunks, but the documents have {wanted}.",
    ja="入っているチャンクは {found} 件ですが、文書には {wanted} 件あります。",
)
_QDRANT = Text(
    en="Check QDRANT_URL and QDRANT_API_KEY, and that the server runs.",
    ja="QDRANT_URL と QDRANT_API_KEY、サーバーが動いているかを確認してください。",
)
_EMBEDDER_FIRST = Text(
    en="Not checked, since the embedder does not say what vectors it makes.",
    ja="埋め込みモデルの情報が得られないため、確認していません。",
)
_EMBEDDER_THEN = Text(
    en="Put the embedder right first (see there), then run kotae doctor again.",
    ja="先に埋め込みモデル（該当の項目）を直してから、もう一度 kotae doctor を実行してください。",
)
_THAT_FIRST = Text(
    en="Put that right, then run kotae doctor again.",
    ja="それを直してから、もう一度 kotae doctor を実行してください。",
)
_GOOD_INDEX = Text(
    en="{count} chunk{count:|s}, as many as the documents have.",
    ja="{count} 件のチャンクがあり、文書と一致しています。",
)


async def store(settings: Settings) -> Sequence[Remark]:
    if not settings.qdrant_url and await aside(lambda: owned(settings.home)):
        return await _owner(settings)
    kept = await _kept(settings)
    if kept is None:
        return [warning(_DATABASE_FIRST, _THEN_AGAIN)]
    rows, row = kept.rows, kept.index
    try:
        async with AsyncExitStack() as stack:
            from bot.config.models import make_embedder

            embedder = await make_embedder(settings, stack)
            made = Made(embedder.name, embedder.dimensions, TOKENIZER)
    except (SettingsError, RAGToolError):
        return [warning(_EMBEDDER_FIRST, _EMBEDDER_THEN)]
    if rows and row is not None and (was := Made(row.embedder, row.dimensions, row.tokenizer)) != made:
        if was.same_embedder(made):
            return [fault(EARLIER, _ANEW)]
        return [fault(filled(_OTHER, was=str(was), wanted=str(made)), _SET_BACK)]

    async def known() -> Identity:
        return (await _kept(settings) or kept).identity

    try:
        index = await _open(settings, made)
    except EmbeddingError as error:
        return [fault(error.said, _SET_BACK)]
    except DamagedError as error:
        return [fault(error.said, _ANEW)]
    except QdrantConnectionError as error:
        return [fault(error.said, _QDRANT if settings.qdrant_url else _THAT_FIRST)]
    if index is None:
        return [fault(filled(_INDEX_LOST, count=str(len(rows))), _ANEW)] if rows else [fine(_NO_INDEX)]
    try:
        if (strange := await trouble(index, known)) is not None:
            return [_strange(strange)]
        view = View(Readers(frozenset(row.scope for row in rows)), row.generation if row else 0)
        found = await index.count(view)
        whole = await complete(index, rows, view.generation)
        await index.scroll(view, limit=_READ)  # what is counted may not be readable
        await index.sample(view.generation, _READ)
    except QdrantConnectionError as error:
        return [fault(error.said, _QDRANT if settings.qdrant_url else _ANEW)]
    finally:
        await index.close()
    wanted = sum(row.chunks for row in rows)
    if found != wanted or not whole:
        later = await _kept(settings)
        if (
            later is not None
            and row is not None
            and later.index is not None
            and later.index.generation != row.generation
        ):
            return await store(settings)  # other processes are at work
        counts = filled(_COUNTS, found=str(found), wanted=str(wanted))
        return [fault(counts if found != wanted else INDEX_LOST, _ANEW)]
    return [fine(filled(_GOOD_INDEX, count=str(found)))]


def _strange(error: SettingsError) -> Remark:
    """A database that does not know what is there; the way out follows in the same error."""
    what, *steps = error.problems
    return fault(what, Text(en=" ".join(one.en for one in steps), ja="".join(one.ja for one in steps)))


def owned(folder: Path) -> bool:
    """Whether some process has this home open."""
    if not (folder / "lock").exists():
        return False
    try:
        os.close(own(folder))
    except OwnedError:
        return True
    except QdrantConnectionError:
        return False
    return False


async def _owner(settings: Settings) -> list[Remark]:
    """As the running process says of itself: it may have other files open than are there now."""
    from bot.cli.remote import OwnerRefusedError, reach

    try:
        async with reach(settings.home, settings.language) as owner:
            if owner is not None:
                troubles = (await owner("troubles"))["troubles"]
                said = [filled(_SAID, part=part, why=str(why)) for part, why in troubles.items()]
                return [fault(one, _AS_SAID) for one in said] or [fine(_RUNNING, _STOP_FIRST)]
    except OwnerRefusedError:
        pass
    return [warning(_SILENT, _WAIT)]


async def _open(settings: Settings, made: Made) -> Index | None:
    """The store that is there; None where none is: a check makes nothing. Raises QdrantConnectionError,
    EmbeddingError."""
    stores = make_stores(settings)
    if isinstance(stores, ServerStores):
        from retrieval.index.server import ServerIndex, collection_of
        from retrieval.index.server_calls import Wire

        name = collection_of(made, stores.prefix)
        wire = Wire.to(stores.url, stores.api_key, timeout=_SERVER_SECONDS)
        try:
            if await wire(lambda client: client.collection_exists(name), retry=False):
                return await ServerIndex.on(wire, made, name)
        except BaseException:
            await wire.close()
            raise
        await wire.close()
        return None
    folder = settings.home / "vectors"
    place = await aside(lambda: EdgeStores(folder).place(made))
    if (place / "shard").exists():
        return await stores.open(made)
    others = [was for shard in folder.glob("*/shard") if (was := written_in(shard)) is not None]
    if others:
        raise EmbeddingError(_OTHER, was=others[0], wanted=made)
    return None


CHECKS = (
    Check(DATABASE, database),
    Check(CLOCK, clock),
    Check(DOCUMENTS, documents),
    Check(STORE, store),
)
