"""Whose the documents of a home are. The database, the search index and the folder of kept Markdown carry one identity,
so that nothing is deleted on the word of a database that does not know it: an empty one, another home's, an old copy.
A database on a server holds the kept Markdown itself.

It is written into the database first, then into the index, then into the folder. A home from before there were
identities is known by its documents: its database has seen changes, every passage alive in its index is of a document
it has, and the kept texts are those of its documents. Then the index and the folder get the database's identity; a copy
of a database from before that is put back gets theirs. An index or a folder that holds nothing published goes with any
database, except on a server, where another home may be at work in it.

A crash leaves the index at most one generation ahead (architecture.md "One visible step"); what is further ahead was
committed in a newer database. Source: reliability.md R42, R48.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from bot.config.settings import Settings
from bot.errors import SettingsError
from bot.records import DocumentRow
from bot.store.engine import Engine
from bot.store.homes import Homes
from bot.store.inspection import name_of
from retrieval.folder import home_in, sign
from retrieval.i18n import Text, filled
from retrieval.types import Readers, View

if TYPE_CHECKING:  # commands that only look at the database read this, too
    from retrieval.index import Index

_SHOWN = 8  # characters of an identity are enough to tell two apart

_INDEX = Text(en="the search index {place}", ja="検索インデックス {place}")
_TEXTS = Text(en="the kept documents in {place}", ja="{place} に保存してある文書")
_HOME = Text(en="home {id}", ja="ホーム {id}")
_NO_NAME = Text(en="a home that has no identity yet", ja="識別情報がまだないホーム")
_FOREIGN = Text(
    en="The database {database} ({ours}) does not know {what} ({theirs}), so nothing was opened, changed or deleted."
    " Most likely DATABASE_URL or KOTAE_HOME is not what it was, or the database was lost.",
    ja="データベース {database}（{ours}）に、{what}（{theirs}）の記録がありません。何も開かず、"
    "変更も削除もしていません。DATABASE_URL か KOTAE_HOME が以前と違うか、"
    "データベースが失われた可能性があります。",
)
_OLDER = Text(
    en="The database {database} ({ours}) is older than {what}: changes that it does not know were made after it. "
    "Nothing was"
    " changed or deleted. Most likely it is an old copy.",
    ja="データベース {database}（{ours}）は {what} より古く、その後の変更が記録されていません。"
    "何も変更も削除もしていません。古いコピーである可能性があります。",
)
_BACK = Text(
    en="Set DATABASE_URL and KOTAE_HOME back, or restore a backup into an empty KOTAE_HOME (kotae restore).",
    ja="DATABASE_URL と KOTAE_HOME を元に戻すか、空の KOTAE_HOME にバックアップを復元してください（kotae restore）。",
)
_MOVING = Text(
    en="To move a home to PostgreSQL, run kotae backup with the old DATABASE_URL, then kotae restore with the new one"
    " and an empty KOTAE_HOME.",
    ja="ホームを PostgreSQL に移すには、元の DATABASE_URL で kotae backup を実行し、新しい DATABASE_URL と空の"
    " KOTAE_HOME で kotae restore を実行してください。",
)
_PREFIX = Text(
    en="If you can do neither, first set KOTAE_QDRANT_PREFIX to another name; the old collection stays as it is. Then:",
    ja="どちらもできない場合は、まず KOTAE_QDRANT_PREFIX "
    "を別の名前にしてください（元のコレクションはそのまま残ります）。そのうえで:",
)
_NEITHER = Text(en="If you can do neither:", ja="どちらもできない場合:")
_ASIDE = Text(
    en="{before} `kotae reindex --set-aside` goes on with this database. What it does not know is moved into a folder "
    "of the"
    " home, not deleted, and is found again only when somebody adds it again: its names and readers were in the other"
    " database.",
    ja="{before} `kotae reindex --set-aside` を実行すると、このデータベースで続けます。"
    "データベースに記録のない文書は削除せずにホーム内の別のフォルダーに移します。"
    "名前と公開範囲は元のデータベースにしかないため、登録し直すまで検索されません。",
)


@dataclass(frozen=True, slots=True)
class Identity:
    """A home's identity as its database has it. `home` None: it has no identity yet; `database` and `texts`: where it
    and the kept Markdown are (None: in the database); `server`: the index is on one, where other homes may be too."""

    home: str | None
    generation: int
    rows: Sequence[DocumentRow]
    database: str
    texts: Path | None
    server: bool

    @classmethod
    def of(cls, settings: Settings, home: str | None, generation: int, rows: Sequence[DocumentRow]) -> "Identity":
        server = settings.qdrant_url is not None
        texts = None if settings.shared else settings.home / "documents"
        return cls(home, generation, rows, name_of(settings.database_url), texts, server)

    # -- the index --------------------------------------------------------------------------------------------------

    async def trouble(self, index: "Index") -> SettingsError | None:
        """Why this database must not be used with the index; None: it may. Raises QdrantConnectionError."""
        what = filled(_INDEX, place=index.place)
        if index.home is not None and index.home == self.home:
            return self._error(_OLDER, what) if await index.after(self.generation + 1) else None
        if index.home is not None:
            mine = not self.server and not await index.after(0)
        else:
            mine = not await index.after(0) or await self.knows(index)
        return None if mine else self._foreign(what, index.home)

    async def knows(self, index: "Index") -> bool:
        """Whether what was published in the index is of this database's documents, as far as one can tell without
        identities."""
        if await index.after(self.generation + 1):
            return False
        if await index.strangers(self.generation, {row.id for row in self.rows}):
            return False
        everyone = Readers(frozenset(row.scope for row in self.rows))
        alive = await index.count(View(everyone, self.generation))
        return bool(alive) or not await index.after(self.generation)

    # -- the kept Markdown ------------------------------------------------------------------------------------------

    def trouble_with_texts(self) -> SettingsError | None:
        """Why the kept Markdown must not be cleaned up by this database; None: it may be. Blocks. Raises OSError."""
        if self.texts is None:
            return None
        mark = home_in(self.texts)
        if mark is not None and mark == self.home:
            return None
        there = {path.stem for path in self.texts.glob("??/*.md")}
        if not there or (mark is None and self._knows_texts(there)):
            return None
        return self._foreign(filled(_TEXTS, place=str(self.texts)), mark)

    def _knows_texts(self, there: set[str]) -> bool:
        """Whether texts without an identity are this database's. One of them alone says little, since two homes may
        have the same document; but of several machines with one database each has only some."""
        known = {row.markdown for row in self.rows}
        return bool(there & known) and (known <= there or len(there - known) <= 1)  # one: of a commit that was cut off

    def own_texts(self) -> None:
        """Write down whose the kept Markdown is. Blocks. Raises OSError."""
        if self.texts is not None and self.home is not None and home_in(self.texts) != self.home:
            self.texts.mkdir(parents=True, exist_ok=True, mode=0o700)
            sign(self.texts, self.home)

    # -- in words ---------------------------------------------------------------------------------------------------

    def _foreign(self, what: Text, theirs: str | None) -> SettingsError:
        return self._error(_FOREIGN, what, theirs=_name(theirs))

    def _error(self, reason: Text, what: Text, **more: Text) -> SettingsError:
        said = filled(reason, database=self.database, ours=_name(self.home), what=what, **more)
        aside = filled(_ASIDE, before=_PREFIX if self.server else _NEITHER)
        return SettingsError(said, _BACK, *([_MOVING] if self.texts is None else []), aside)


Known = Callable[[], Awaitable[Identity]]
"""What the database says now. Raises StoreError."""


async def trouble(index: "Index", known: Known) -> SettingsError | None:
    """As `Identity.trouble`, where other processes may commit meanwhile."""
    identity = await known()
    while (found := await identity.trouble(index)) is not None:
        now = await known()
        if now.generation == identity.generation:
            break
        identity = now
    return found


async def own(index: "Index", known: Known, *, noted: bool = False) -> None:
    """See that the index is this home's, and write that down where it does not say so. `noted`: a note of this home
    names the store. Raises SettingsError, QdrantConnectionError, StoreError."""
    if not (noted and index.home is None) and (found := await trouble(index, known)) is not None:
        raise found
    home = (await known()).home
    if home is not None and index.home != home:
        await index.claim(home)


async def refuse_strange(settings: Settings, engine: Engine) -> None:
    """For what looks at the database alone, which would say that there are no documents. Raises SettingsError for a
    database that the kept Markdown does not name, StoreError, OSError."""
    texts = settings.home / "documents"
    identity = replace(Identity.of(settings, await Homes(engine).known(), 0, ()), texts=texts)
    named = await asyncio.to_thread(home_in, texts) is not None  # by a home's first start
    if named and (found := await asyncio.to_thread(identity.trouble_with_texts)) is not None:
        raise found


def _name(home: str | None) -> Text:
    return _NO_NAME if home is None else filled(_HOME, id=home[:_SHOWN])
