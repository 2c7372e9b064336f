"""`kotae reindex --set-aside`: what the database does not know (`bot/knowledge/identity.py`), or nobody can read, is
moved out of the way. Nothing is deleted, and nothing is moved that the database needs and has nowhere else."""

import asyncio
import logging
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from bot.errors import SettingsError
from bot.knowledge.content_store import ContentStore
from bot.knowledge.identity import Identity, Known, trouble
from retrieval.folder import MARK, DamagedError, Made, home_in
from retrieval.i18n import Text, filled
from retrieval.index import Index
from retrieval.index.stores import EdgeStores, Stores
from retrieval.types import RAGToolError

log = logging.getLogger(__name__)

_NEEDED = Text(
    en="Nothing was moved: of the {all} documents that the database {database} knows, the text of {count} is not in "
    "{texts}."
    " It is the database of another home. Set DATABASE_URL or KOTAE_HOME back, or restore a backup into an empty"
    " KOTAE_HOME (kotae restore).",
    ja="何も移していません。データベース {database} にある {all} 件の文書のうち、{count} 件の本文が {texts} "
    "にありません。"
    "別のホームのデータベースです。DATABASE_URL か KOTAE_HOME を元に戻すか、空の KOTAE_HOME "
    "にバックアップを復元してください"
    "（kotae restore）。",
)


async def set_aside(
    home: Path, stores: Stores, used: Collection[Made], known: Known, kept: ContentStore
) -> Path | None:
    """Move what does not belong to the database into a new folder of the home; returns it, None when all belongs.

    `used`: the stores that the database and the settings name. The order is such that a start after a crash in between
    is refused still. Raises SettingsError when the database is another home's, or the index on a server is;
    RAGToolError, StoreError, OSError."""
    identity = await known()
    strange = None
    for made in used:
        strange = strange or await _strange(stores, made, known)
    if strange is None and await asyncio.to_thread(identity.trouble_with_texts) is None:
        return None
    if strange is not None and identity.server:
        raise strange
    lost = await kept.lost({row.markdown for row in identity.rows})
    if lost:
        counts = {"all": str(len(identity.rows)), "count": str(sum(row.markdown in lost for row in identity.rows))}
        where = str(identity.texts or identity.database)
        raise SettingsError(filled(_NEEDED, database=identity.database, texts=where, **counts))
    folder = home / f"aside-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}"
    await asyncio.to_thread(_move, identity, home / "vectors" if strange else None, folder)
    return folder


async def _strange(stores: Stores, made: Made, known: Known) -> SettingsError | DamagedError | None:
    """The fault of the store that is there. Raises RAGToolError for what moving would not cure."""
    if not await stores.there(made):
        return None
    try:
        index = await stores.open(made)
    except DamagedError as error:
        return error
    try:
        return await trouble(index, known)
    finally:
        await index.close()


def _move(identity: Identity, vectors: Path | None, folder: Path) -> None:
    """The index last: as long as it is there, and the mark of the texts before it, no start takes the rest for its
    own."""
    folder.mkdir(mode=0o700)
    if identity.texts is not None:
        _move_texts(identity.texts, folder / "documents", {row.markdown for row in identity.rows})
        if home_in(identity.texts) not in (None, identity.home):
            _move_to(identity.texts / MARK, folder / "documents")
    if vectors is not None and vectors.exists():
        vectors.replace(folder / "vectors")


def _move_texts(texts: Path, to: Path, needed: Collection[str]) -> None:
    for path in [*texts.glob("??/*")]:
        if path.suffix != ".md" or path.stem not in needed:
            _move_to(path, to / path.parent.name)


def _move_to(path: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.replace(folder / path.name)


@asynccontextmanager
async def was_here(folder: Path | None, made: Made) -> AsyncIterator[Index | None]:
    """The index that was set aside, for what only it has: the pairs of questions and answers; None where none can be
    read."""
    stores = EdgeStores(folder / "vectors") if folder is not None else None
    if stores is None or not await stores.there(made):
        yield None
        return
    try:
        index = await stores.open(made)
    except RAGToolError:
        log.warning("the old index cannot be read; pairs of questions and answers become text", exc_info=True)
        yield None
        return
    try:
        yield index
    finally:
        await index.close()
