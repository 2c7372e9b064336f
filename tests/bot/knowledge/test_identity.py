"""Nothing is deleted on the word of a database that does not know it: an empty one, another home's, an old copy. As a
program it opens homes and is killed before a chosen file gets its name: `python -m
tests.bot.knowledge.test_identity`."""

import asyncio
import json
import os
import pickle
import shutil
import signal
import sqlite3
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from subprocess import PIPE
from typing import Any

import pytest

from bot.app import Application, running
from bot.config.settings import Settings
from bot.errors import SettingsError
from bot.knowledge.identity import Identity, trouble
from bot.knowledge.vector_store import make_stores
from bot.logs import Redactor
from bot.operations.backup import BackupError, back_up
from bot.operations.restore import restore
from bot.records import DocumentRow
from bot.types import Upload
from retrieval.embeddings.openai import OpenAIEmbedder
from retrieval.folder import Made, home_in
from retrieval.index import Index
from retrieval.index.payload import STAGED
from retrieval.sparse import TOKENIZER
from retrieval.types import TEAM, Point, QdrantConnectionError, Readers, View
from tests.bot.program import Process, Warm, environment
from tests.bot.sample_turns import settings
from tests.copies import copy_folder
from tests.fakes.openai import KEY, FakeOpenAI
from tests.fakes.qdrant import KEY as QDRANT_KEY
from tests.fakes.qdrant import FakeQdrant
from tests.retrieval.index.test_index import point

PRIVATE = "place:slack:T:C"
TEXTS = {
    "plan.md": "# Plan\n\nThe harbour plan of spring.\n",
    "faq.csv": "question,answer\nWhere is the harbour?,In the north.\nWhen?,At nine.\n",
    "秘密.md": "# 秘密\n\n港の秘密。\n",
}
MADE = Made("openai:hash@32", 32, TOKENIZER)
SMALLER = Made("openai:hash@16", 16, TOKENIZER)


@dataclass(frozen=True)
class Place:
    """Where homes are made: folders below one folder, their indexes embedded or all on one server."""

    folder: Path
    made: Path
    embedder: FakeOpenAI
    server: FakeQdrant | None

    def home(self, name: str = "home", **more: Any) -> Settings:
        given = {
            "KOTAE_EMBEDDER": "openai:hash",
            "KOTAE_EMBEDDING_DIM": 32,
            "OPENAI_BASE_URL": self.embedder.url,
            "OPENAI_API_KEY": KEY,
        }
        if self.server:
            given |= {"QDRANT_URL": self.server.url, "QDRANT_API_KEY": QDRANT_KEY}
        return settings(self.folder / name, **given | more)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("made")


@pytest.fixture
async def embedded(tmp_path: Path, made: Path) -> AsyncIterator[Place]:
    async with FakeOpenAI(embedders={"hash": 32}) as embedder:
        yield Place(tmp_path, made, embedder, None)


@pytest.fixture
async def served(embedded: Place) -> AsyncIterator[Place]:
    async with FakeQdrant() as server:
        yield replace(embedded, server=server)


@pytest.fixture(params=["embedded", "served"])
def place(request: pytest.FixtureRequest) -> Place:
    chosen: Place = request.getfixturevalue(request.param)
    return chosen


async def add(app: Application, name: str, text: str) -> None:
    scope = PRIVATE if name == "秘密.md" else TEAM
    verdict = await app.knowledge.add(Upload(name, text.encode(), "docs", scope, "U1"), "en")
    assert verdict.status in ("added", "replaced"), verdict


async def filled(home: Settings) -> None:
    async with running(home, Redactor()) as app:
        for name, text in TEXTS.items():
            await add(app, name, text)


async def fill(place: Place) -> Settings:
    """The place's own home, filled: made once, since the parser's process costs most of a test's time, and copied."""
    home, server = place.home(), place.server
    made = place.made / ("server" if server else "embedded")
    if not made.exists():
        await filled(home)
        copy_folder(home.home, made)
        if server:
            (place.made / "collections").write_bytes(pickle.dumps(server.snapshot()))
    else:
        copy_folder(made, home.home)
        if server:
            server.recover(pickle.loads((place.made / "collections").read_bytes()))
    return home


def kept(home: Settings) -> set[str]:
    return {path.name for path in (home.home / "documents").glob("??/*")}


async def found(home: Settings) -> list[tuple[str, str | None]]:
    """Each passage of a home that starts: its document and, of a pair, the question."""
    everyone = Readers(frozenset({TEAM, PRIVATE}))
    async with running(home, Redactor()) as app:
        passages, _ = await app.index.scroll(View(everyone, await app.knowledge.generation()))
        assert await app.index.count(View(everyone, STAGED)) == len(passages)  # and nothing that nobody sees
    return sorted((one.document, one.question) for one in passages)


ALL = [("faq.csv", "When?"), ("faq.csv", "Where is the harbour?"), ("plan.md", None), ("秘密.md", None)]


def without_identity(home: Settings) -> None:
    """Its database, as a version without identities left it."""
    with closing(sqlite3.connect(home.home / "kotae.db")) as db:
        db.execute("DELETE FROM home")
        db.commit()


def of_before(home: Settings, server: FakeQdrant | None) -> None:
    """As a version without identities left it."""
    without_identity(home)
    (home.home / "documents" / "home").unlink()
    for mark in (home.home / "vectors").glob("*/shard/home"):
        mark.unlink()
    if server:
        server.forget_metadata("home")


def staged(document_id: str) -> Point:
    return point(document_id, born=STAGED, dense=[0.1] * 32)


async def index_of(home: Settings, made: Made = MADE) -> Index:
    return await make_stores(home).open(made)


# -- a database that does not know the home --------------------------------------------------------------------------


async def mistyped(place: Place) -> Settings:
    return place.home(DATABASE_URL=f"sqlite+aiosqlite:///{place.folder}/typo.db")


async def deleted(place: Place) -> Settings:
    (place.home().home / "kotae.db").unlink()
    return place.home()


async def of_another_home(place: Place) -> Settings:
    other = place.home("other", KOTAE_QDRANT_PREFIX="other")
    async with running(other, Redactor()) as app:
        for number in range(4):  # as far as the home itself
            await add(app, f"{number}.md", f"# Page\n\nPage {number}.\n")
    return place.home(DATABASE_URL=f"sqlite+aiosqlite:///{other.home}/kotae.db")


async def restored_by_hand(place: Place) -> Settings:
    """An old copy of the home's own database."""
    old = place.folder / "old.db"
    with closing(sqlite3.connect(place.home().home / "kotae.db")) as db, closing(sqlite3.connect(old)) as copied:
        db.backup(copied)
    async with running(place.home(), Redactor()) as app:
        for number in range(2):
            await add(app, f"later-{number}.md", f"# Later\n\nPage {number}.\n")
    return place.home(DATABASE_URL=f"sqlite+aiosqlite:///{old}")


@pytest.mark.parametrize("before", [False, pytest.param(True, marks=pytest.mark.long)], ids=["", "of-before"])
@pytest.mark.parametrize("wrong", [mistyped, deleted, of_another_home, restored_by_hand])
async def test_a_database_that_does_not_know_the_home_is_refused_and_nothing_is_lost(
    place: Place, wrong: Callable[[Place], Any], before: bool
) -> None:
    right = await fill(place)
    if before:
        of_before(right, place.server)
    shutil.copyfile(right.home / "kotae.db", place.folder / "right.db")
    strange = await wrong(place)
    if wrong is restored_by_hand:
        shutil.copyfile(right.home / "kotae.db", place.folder / "right.db")
    texts = kept(right)
    for _ in range(2):  # the first try leaves nothing that lets the second one pass
        with pytest.raises(SettingsError) as refused:
            await found(strange)
    english, japanese = refused.value.text("en"), refused.value.text("ja")
    for said in (english, japanese):
        assert "kotae restore" in said and "kotae reindex --set-aside" in said and "DATABASE_URL" in said
        assert str(strange.database_url.removeprefix("sqlite+aiosqlite:///")) in said
        assert ("KOTAE_QDRANT_PREFIX" in said) == (place.server is not None)
        assert QDRANT_KEY not in said
    assert ("older than" in english) == (wrong is restored_by_hand and not before) or before
    assert kept(right) == texts
    shutil.copyfile(place.folder / "right.db", right.home / "kotae.db")
    later = [(f"later-{number}.md", None) for number in range(2)] if wrong is restored_by_hand else []
    assert await found(right) == sorted([*ALL, *later])
    assert kept(right) == texts


async def test_the_refusal_names_both_homes(place: Place) -> None:
    await fill(place)
    with pytest.raises(SettingsError) as refused:
        await found(await mistyped(place))
    theirs = home_in(place.home().home / "documents")
    assert theirs is not None
    for language in ("en", "ja"):
        assert theirs[:8] in refused.value.text(language) and "typo.db" in refused.value.text(language)


async def test_an_empty_database_on_a_server_is_refused(
    place: Place, postgresql: str, postgresql_template: str
) -> None:
    from tests.bot.postgresql import execute

    name = f"identity_{'server' if place.server else 'embedded'}"
    execute(postgresql.format(name="postgres"), f"CREATE DATABASE {name} TEMPLATE {postgresql_template}")
    right, strange = await fill(place), place.home(DATABASE_URL=postgresql.format(name=name))
    with pytest.raises(SettingsError, match=f"/{name}"):
        await found(strange)
    assert await found(right) == ALL and len(kept(right)) == 3
    new = place.home("new", DATABASE_URL=postgresql.format(name=name), KOTAE_QDRANT_PREFIX="new")
    await filled(new)  # and it may have a home of its own
    assert await found(new) == ALL


async def test_two_homes_do_not_share_a_collection(served: Place) -> None:
    await fill(served)
    for other in (served.home("other"), served.home("third")):
        with pytest.raises(SettingsError, match="KOTAE_QDRANT_PREFIX"):
            await found(other)
    empty = served.home("empty", KOTAE_QDRANT_PREFIX="empty")
    assert await found(empty) == []
    with pytest.raises(SettingsError, match="KOTAE_QDRANT_PREFIX"):  # its home may be at work
        await found(served.home("other", KOTAE_QDRANT_PREFIX="empty"))


async def test_a_collection_from_before_is_not_taken_over_by_another_home(served: Place) -> None:
    """Neither where it is searched nor where it is in the way of a new index; the other home knows documents too."""
    home = await fill(served)
    of_before(home, served.server)
    await of_another_home(served)
    with pytest.raises(SettingsError, match="no identity yet"):
        await found(served.home("other"))
    index = await index_of(served.home(KOTAE_QDRANT_PREFIX="small"), SMALLER)
    await index.put([point("theirs", born=1, dense=[0.1] * 16)])
    await index.close()
    changed = served.home("other", KOTAE_QDRANT_PREFIX="small", KOTAE_EMBEDDING_DIM=16)
    with pytest.raises(SettingsError, match="no identity yet"):
        async with running(changed, Redactor(), lambda done, total: None):
            pass
    index = await index_of(served.home(KOTAE_QDRANT_PREFIX="small"), SMALLER)
    assert index.home is None and await index.after(0) == 1
    await index.close()
    assert await found(home) == ALL


async def test_the_kept_documents_are_not_deleted_where_the_index_is_gone_too(embedded: Place) -> None:
    """Each of them by itself: nothing is left but them that would know better."""
    right = await fill(embedded)
    for before in (False, True):
        if before:
            (right.home / "documents" / "home").unlink()
        shutil.rmtree(right.home / "vectors", ignore_errors=True)
        (right.home / "kotae.db").unlink()
        with pytest.raises(SettingsError, match="kept documents"):
            await found(right)
        assert len(kept(right)) == 3


async def test_a_home_that_has_nothing_yet_goes_with_any_database(embedded: Place) -> None:
    assert await found(embedded.home()) == []
    other = embedded.home(DATABASE_URL=f"sqlite+aiosqlite:///{embedded.folder}/other.db")
    await filled(other)
    assert await found(other) == ALL
    with pytest.raises(SettingsError):
        await found(embedded.home())


# -- the identity -----------------------------------------------------------------------------------------------------


async def identities(home: Settings) -> set[str | None]:
    index = await index_of(home)
    await index.close()
    with closing(sqlite3.connect(home.home / "kotae.db")) as db:
        (in_database,) = db.execute("SELECT id FROM home").fetchone()
    return {in_database, index.home, home_in(home.home / "documents")}


async def test_a_home_from_before_gets_an_identity_at_its_first_start(place: Place) -> None:
    home = await fill(place)
    (first,) = await identities(home)
    of_before(home, place.server)
    assert await found(home) == ALL
    (second,) = await identities(home)
    assert first and second and first != second and len(second) == 32
    assert await found(home) == ALL


async def test_a_copy_of_the_database_from_before_is_put_back(place: Place) -> None:
    home = await fill(place)
    (first,) = await identities(home)
    without_identity(home)
    assert await found(home) == ALL
    assert await identities(home) == {first}
    shutil.copyfile(home.home / "kotae.db", place.folder / "copy.db")
    async with running(home, Redactor()) as app:
        for number in range(2):
            await add(app, f"later-{number}.md", f"# Later\n\nPage {number}.\n")
    shutil.copyfile(place.folder / "copy.db", home.home / "kotae.db")
    without_identity(home)
    with pytest.raises(SettingsError, match="set-aside"):
        await found(home)
    assert len(kept(home)) == 5


def test_texts_without_an_identity_are_known_by_those_of_the_documents(tmp_path: Path) -> None:
    """The sample handbook is in many homes, and of several machines with one database each keeps what it has read."""
    home = settings(tmp_path)
    rows = [_row(letter) for letter in "abc"]
    for there, belongs in (
        ("abc", True),
        ("abcdef", True),
        ("ab", True),
        ("abd", True),
        ("abde", False),
        ("de", False),
    ):
        shutil.rmtree(tmp_path / "documents", ignore_errors=True)
        for letter in there:
            path = tmp_path / "documents" / (letter * 2) / f"{letter * 64}.md"
            path.parent.mkdir(parents=True)
            path.touch()
        assert (Identity.of(home, "h" * 32, 3, rows).trouble_with_texts() is None) == belongs, there


def _row(letter: str) -> DocumentRow:
    moment = datetime(2026, 1, 1, tzinfo=UTC)
    return DocumentRow(
        id=letter,
        collection="docs",
        scope=TEAM,
        name=letter,
        title="",
        url=None,
        hash=letter * 64,
        markdown=letter * 64,
        chunks=1,
        language="en",
        author="U1",
        born=1,
        added_at=moment,
        updated_at=moment,
    )


async def test_a_home_from_before_may_have_been_killed_in_a_commit(place: Place) -> None:
    home = await fill(place)
    of_before(home, place.server)
    index = await index_of(home)
    await index.put([staged("new"), staged("other")])
    await index.publish("new", at=4)  # the database is at 3
    await index.close()
    assert await found(home) == ALL


async def test_a_home_from_before_whose_documents_are_all_forgotten_starts(place: Place) -> None:
    home = place.home()
    async with running(home, Redactor()) as app:
        await add(app, "plan.md", TEXTS["plan.md"])
        (row,) = await app.data.documents.listed()
        await app.knowledge.forget(row.id)
    of_before(home, place.server)
    assert await found(home) == []


@pytest.mark.parametrize("before", [False, True], ids=["", "of-before"])
async def test_a_first_document_killed_at_once_is_swept(place: Place, before: bool) -> None:
    home = place.home()
    assert await found(home) == []
    if before:
        of_before(home, place.server)
    index = await index_of(home)
    await index.put([staged("first")])
    if not before:
        await index.publish("first", at=1)  # killed between the index and the database
        (home.home / "documents" / "aa").mkdir()
        (home.home / "documents" / "aa" / f"{'a' * 64}.md").write_text("text")
    await index.close()
    assert await found(home) == [] and kept(home) == set()


@dataclass(frozen=True)
class Life:
    """A start that is killed before a file or folder gets this name."""

    home: str
    before: str


def main() -> None:
    """Opens the home of each life (JSON lines) in a process of its own, and says how that ended."""
    for line in sys.stdin:
        life = Life(**json.loads(line))
        if (child := os.fork()) == 0:

            def watch(event: str, arguments: tuple[Any, ...], life: Life = life) -> None:
                if event == "os.rename" and str(arguments[1]).endswith(life.before):
                    os.kill(os.getpid(), signal.SIGKILL)

            sys.addaudithook(watch)
            given = {"KOTAE_EMBEDDER": "openai:hash", "KOTAE_EMBEDDING_DIM": 32, "OPENAI_API_KEY": KEY}
            asyncio.run(_opened(settings(Path(life.home), **given)))  # a start embeds nothing
            os._exit(0)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


async def _opened(home: Settings) -> None:
    async with running(home, Redactor()):
        pass


async def killed(*lives: Life) -> list[int]:
    lines = "".join(json.dumps(vars(life)) + "\n" for life in lives)
    with Process(env=environment(None), stdin=PIPE, stdout=PIPE, module="tests.bot.knowledge.test_identity") as program:
        out, _ = await asyncio.to_thread(program.communicate, lines.encode())
    return [int(line) for line in out.split()]


async def test_killed_while_the_identity_is_written_a_home_starts_whole(embedded: Place) -> None:
    old = await fill(embedded)
    of_before(old, None)
    lives = [Life(str(embedded.folder / f"new-{at.replace('/', '-')}"), f"/{at}") for at in ("documents/home", "shard")]
    for at in ("documents/home", "shard/home"):
        copied = copy_folder(old.home, embedded.folder / f"old-{at.replace('/', '-')}")
        lives.append(Life(str(copied), f"/{at}"))
    assert await killed(*lives) == [-signal.SIGKILL] * len(lives)
    for life in lives:
        home = embedded.home(Path(life.home).name)
        with closing(sqlite3.connect(home.home / "kotae.db")) as db:
            (first,) = db.execute("SELECT id FROM home").fetchone()  # the database has it before anything else
        assert await found(home) == (ALL if "old-" in life.home else [])
        assert await identities(home) == {first}


async def test_a_commit_of_another_process_meanwhile_is_no_reason_to_refuse(embedded: Place) -> None:
    home = await fill(embedded)
    index = await index_of(home)
    async with running(embedded.home("none"), Redactor()) as app:
        rows = await app.data.documents.listed()
    now = Identity.of(home, index.home, 3, rows)
    told = [replace(now, generation=0), replace(now, generation=1), now, now]

    async def known() -> Identity:
        return told.pop(0)

    assert await trouble(index, known) is None and len(told) == 1

    async def behind() -> Identity:
        return replace(now, generation=1)

    assert await trouble(index, behind) is not None
    await index.close()


# -- who cleans up ---------------------------------------------------------------------------------------------------


async def test_what_only_looks_cleans_nothing_up(place: Place) -> None:
    home = await fill(place)
    index = await index_of(home)
    await index.put([staged("new")])
    await index.close()
    orphan = home.home / "documents" / "aa" / f"{'a' * 64}.md"
    orphan.parent.mkdir(exist_ok=True)
    orphan.write_text("text")
    abandoned = Made("other", 8, TOKENIZER)
    await (await make_stores(home, home_in(home.home / "documents")).open(abandoned)).close()
    note = home.home / "vectors" / "reindex.jsonl"
    note.parent.mkdir(exist_ok=True)
    note.write_text(json.dumps({"store": {"embedder": "other", "dimensions": 8, "tokenizer": TOKENIZER}}) + "\n")
    view = View(Readers(frozenset({TEAM})), STAGED)
    async with running(home, Redactor(), tidy=False) as app:
        assert (await app.knowledge.search("harbour", app.readers, mode="sparse")).hits is not None
        with_staged = await app.index.count(view)
    assert orphan.exists() and note.exists() and await make_stores(home).there(abandoned)
    async with running(home, Redactor()) as app:
        assert await app.index.count(view) == with_staged - 1
    assert not orphan.exists() and not note.exists() and not await make_stores(home).there(abandoned)


def test_commands_that_look_clean_nothing_up(tmp_path: Path, warm: Warm) -> None:
    orphan = tmp_path / "home" / "documents" / "aa" / f"{'a' * 64}.md"
    home = tmp_path / "home"
    assert warm("collections", "describe", "docs", "Ours.", home=home).returncode == 0
    orphan.parent.mkdir()
    orphan.write_text("text")
    for command in (["search", "harbour"], ["ask", "Where is the harbour?"], ["digest"], ["documents"], ["doctor"]):
        warm(*command, home=home)
        assert orphan.exists(), command
    assert warm("collections", "describe", "docs", "Ours.", home=home).returncode == 0
    assert not orphan.exists()


@pytest.mark.parametrize("language", ["en", "ja"])
def test_the_command_says_what_to_do(tmp_path: Path, warm: Warm, language: str) -> None:
    home, page = tmp_path / "home", tmp_path / "plan.md"
    page.write_text(TEXTS["plan.md"])
    assert warm("ingest", page, home=home).returncode == 0
    typo = f"sqlite:///{tmp_path}/typo.db"
    commands: list[list[str]] = [["search", "harbour"], ["documents"], ["ingest", str(page)], ["reindex"]]
    for command in commands[: 1 if language == "ja" else 4]:
        said = warm(*command, home=home, DATABASE_URL=typo, KOTAE_LANGUAGE=language).complaint(2)
        assert "kotae reindex --set-aside" in said and "typo.db" in said
        assert ("削除もしていません" if language == "ja" else "nothing was opened") in said
    assert "plan.md" in warm("search", "harbour", home=home).stdout
    (home / "kotae.db").unlink()
    done = warm("reindex", "--set-aside", home=home, KOTAE_LANGUAGE=language)
    (folder,) = home.glob("aside-*")
    assert done.returncode == 0 and str(folder) in done.stdout and len(list(folder.glob("documents/??/*.md"))) == 1
    assert warm("documents", "--json", home=home).document == {"documents": []}


@pytest.mark.parametrize("language", ["en", "ja"])
def test_of_what_is_lost_altogether_the_command_says_what_to_do_and_it_can_be_done(
    tmp_path: Path, warm: Warm, language: str
) -> None:
    home, page = tmp_path / "home", tmp_path / "plan.md"
    page.write_text(TEXTS["plan.md"])
    assert warm("ingest", page, home=home).returncode == 0
    shutil.rmtree(home / "vectors")
    for kept in home.glob("documents/??/*.md"):
        kept.unlink()
    said = warm("reindex", home=home, KOTAE_LANGUAGE=language).stderr
    assert "kotae forget" in said and "kotae ingest" in said and "plan.md" in said
    assert ("失われた" if language == "ja" else "Nothing is left of 1 document,") in said
    done = warm("forget", "plan.md", home=home) if language == "ja" else warm("ingest", page, home=home)
    assert done.returncode == 0 and not warm("reindex", home=home).stderr


# -- the ways out ----------------------------------------------------------------------------------------------------


async def set_aside(home: Settings) -> Path:
    told: list[Path] = []
    async with running(home, Redactor(), lambda done, total: None, aside=told.append):
        pass
    (folder,) = told
    return folder


async def test_without_its_database_a_home_starts_anew_and_all_it_had_is_set_aside(embedded: Place) -> None:
    home = await fill(embedded)
    texts = kept(home)
    await deleted(embedded)
    folder = await set_aside(home)
    assert folder.parent == home.home and folder.stat().st_mode & 0o777 == 0o700
    assert {path.name for path in folder.glob("documents/??/*")} == texts and kept(home) == set()
    assert home_in(folder / "vectors" / "openai--hash--32" / "shard") == home_in(folder / "documents")
    assert await found(home) == []  # readers and names are gone: nothing is shown to anybody again
    await filled(home)
    assert await found(home) == ALL
    told: list[Path] = []
    async with running(home, Redactor(), lambda done, total: None, aside=told.append):
        assert told == []  # all of it belongs
    assert await found(home) == ALL


@pytest.mark.parametrize("moved", ["documents", "mark"])
async def test_killed_while_it_is_set_aside_a_start_is_still_refused(embedded: Place, moved: str) -> None:
    home = await fill(embedded)
    await deleted(embedded)
    for path in (home.home / "documents").glob("??"):
        shutil.move(path, embedded.folder)
    if moved == "mark":
        (home.home / "documents" / "home").unlink()
    with pytest.raises(SettingsError, match="set-aside"):
        await found(home)
    await set_aside(home)
    assert await found(home) == []


async def test_an_old_copy_of_the_database_gets_back_what_it_knows(embedded: Place) -> None:
    home = await fill(embedded)
    await restored_by_hand(embedded)
    shutil.copyfile(embedded.folder / "old.db", home.home / "kotae.db")
    texts = kept(home)
    folder = await set_aside(home)
    assert len(kept(home)) == 3 and kept(home) | {path.name for path in folder.glob("documents/??/*")} == texts
    assert await found(home) == ALL  # pairs too, which only the old index has


async def test_the_database_of_another_home_moves_nothing(embedded: Place) -> None:
    await fill(embedded)
    strange, texts = await of_another_home(embedded), kept(embedded.home())
    with pytest.raises(SettingsError) as refused:
        await set_aside(strange)
    assert "Nothing was moved" in refused.value.text("en") and "何も移していません" in refused.value.text("ja")
    assert not list(embedded.home().home.glob("aside-*")) and kept(embedded.home()) == texts
    assert await found(embedded.home()) == ALL


async def test_a_collection_of_another_home_stays_where_it_is(served: Place) -> None:
    right, strange = await fill(served), await mistyped(served)
    with pytest.raises(SettingsError, match="KOTAE_QDRANT_PREFIX"):
        await set_aside(strange)
    assert len(kept(right)) == 3
    other = served.home(DATABASE_URL=strange.database_url, KOTAE_QDRANT_PREFIX="other")
    folder = await set_aside(other)
    assert len(list(folder.glob("documents/??/*"))) == 3 and await found(other) == []
    index = await index_of(right)
    assert await index.count(View(Readers(frozenset({TEAM, PRIVATE})), 3)) == 4
    await index.close()


@pytest.mark.parametrize("victim", ["kotae.json", "edge_config.json"])
async def test_an_index_that_cannot_be_read_is_built_anew_as_the_message_says(embedded: Place, victim: str) -> None:
    home = await fill(embedded)
    (damaged,) = (home.home / "vectors").rglob(victim)
    damaged.write_text("{")
    for rebuild in (None, lambda done, total: None):
        with pytest.raises(QdrantConnectionError) as refused:
            async with running(home, Redactor(), rebuild):
                pass
        assert "kotae reindex --set-aside" in refused.value.text("en")
        assert "kotae reindex --set-aside" in refused.value.text("ja")
    folder = await set_aside(home)
    assert (folder / "vectors").is_dir()
    assert {name for name, _ in await found(home)} == {*TEXTS} and len(kept(home)) == 3


@pytest.mark.parametrize("where", ["vectors", "documents"])
async def test_a_mark_that_is_no_text_any_more_is_a_strange_one(embedded: Place, where: str) -> None:
    home = await fill(embedded)
    (mark,) = (home.home / where).rglob("home")
    mark.write_bytes(b"\xff\xfe\x80")
    with pytest.raises(SettingsError) as refused:
        async with running(home, Redactor()):
            pass
    assert "does not know" in refused.value.text("en") and "kotae reindex --set-aside" in refused.value.text("en")


async def test_beside_a_database_on_a_server_the_index_alone_is_set_aside(embedded: Place, server_url: str) -> None:
    home = embedded.home(DATABASE_URL=server_url)
    await filled(home)
    (damaged,) = (home.home / "vectors").rglob("kotae.json")
    damaged.write_text("{")
    folder = await set_aside(home)
    assert [path.name for path in folder.iterdir()] == ["vectors"] and kept(home) == set()
    assert {name for name, _ in await found(home)} == {*TEXTS}


# -- backups and re-indexing carry it --------------------------------------------------------------------------------


async def restored(file: Path, home: Settings, embedder: FakeOpenAI) -> None:
    client = await OpenAIEmbedder.open("hash", key=KEY, base_url=embedder.url, dimensions=32)
    try:
        await restore(file, home, client)
    finally:
        await client.close()


async def test_a_backup_becomes_a_home_of_its_own(place: Place) -> None:
    home = await fill(place)
    (identity,) = await identities(home)
    file = (await back_up(home, place.folder / "copy")).file
    new = place.home("new", KOTAE_QDRANT_PREFIX="new")
    await restored(file, new, place.embedder)
    (other,) = await identities(new)
    assert other != identity and await identities(home) == {identity}
    assert {name for name, _ in await found(new)} == {name for name, _ in await found(home)} == {*TEXTS}


@pytest.mark.parametrize("before", [False, True], ids=["", "of-before"])
async def test_a_backup_is_restored_into_no_collection_that_is_in_use(served: Place, before: bool) -> None:
    """Not of the home that was backed up either: what was forgotten since would be found there again."""
    home = await fill(served)
    file = (await back_up(home, served.folder / "copy")).file
    async with running(home, Redactor()) as app:
        await add(app, "later.md", "# Later\n\nA page.\n")
        (plan,) = [row for row in await app.data.documents.listed() if row.name == "plan.md"]
        await app.knowledge.forget(plan.id)
    now = await found(home)
    if before:
        of_before(home, served.server)
    with pytest.raises(BackupError) as refused:
        await restored(file, served.home("new"), served.embedder)
    assert "KOTAE_QDRANT_PREFIX" in refused.value.text("en") and "何も復元していません" in refused.value.text("ja")
    assert await found(home) == now and ("later.md", None) in now and ("plan.md", None) not in now
    assert not (served.folder / "new" / "kotae.db").exists()


async def test_a_restore_goes_on_in_the_collection_that_it_began(served: Place) -> None:
    file = (await back_up(await fill(served), served.folder / "copy")).file
    new = served.home("new", KOTAE_QDRANT_PREFIX="new")
    await restored(file, new, served.embedder)
    (identity,) = await identities(new)
    async with running(new, Redactor()) as app:
        for number in range(2):
            await add(app, f"later-{number}.md", f"# Later\n\nPage {number}.\n")
    for left in new.home.iterdir():
        shutil.rmtree(left) if left.is_dir() else left.unlink()
    await restored(file, new, served.embedder)
    assert await identities(new) == {identity}
    assert {name for name, _ in await found(new)} == {*TEXTS}
    with pytest.raises(BackupError, match="KOTAE_QDRANT_PREFIX"):
        await restored(file, served.home("newer", KOTAE_QDRANT_PREFIX="new"), served.embedder)
    new.home.rename(served.folder / "there")  # what follows is on another machine, where the place is called the same
    with pytest.raises(BackupError, match="KOTAE_QDRANT_PREFIX"):
        await restored(file, new, served.embedder)


async def test_an_index_built_anew_carries_the_identity_and_leaves_other_homes_alone(place: Place) -> None:
    home = await fill(place)
    (identity,) = await identities(home)
    theirs = await make_stores(home, "b" * 32).open(SMALLER)
    await theirs.put([point("theirs", born=1, dense=[0.1] * 16)])
    await theirs.close()
    changed = place.home(KOTAE_EMBEDDING_DIM=16)
    with pytest.raises(SettingsError, match="bbbbbbbb"):
        async with running(changed, Redactor(), lambda done, total: None):
            pass
    for stores in (make_stores(home, identity), make_stores(home)):
        with pytest.raises(QdrantConnectionError, match="another home"):
            await stores.remove(SMALLER)
    await make_stores(home, "b" * 32).remove(SMALLER)
    async with running(changed, Redactor(), lambda done, total: None):
        pass
    index = await index_of(changed, SMALLER)
    assert index.home == identity
    await index.close()
    assert await found(changed) == ALL


if __name__ == "__main__":
    main()


async def test_a_home_moves_to_servers_where_any_machine_has_it_all_and_back(served: Place, server_url: str) -> None:
    alone = replace(served, server=None)
    await filled(alone.home("alone"))
    made = (await back_up(alone.home("alone"), served.folder / "one.tar.gz")).file
    one, other = (served.home(name, DATABASE_URL=server_url) for name in ("one", "other"))
    await restored(made, one, served.embedder)
    assert await found(one) == ALL and await found(other) == ALL
    async with running(other, Redactor()) as app:
        await add(app, "more.md", "# More\n\nThe new page.\n")
    back = await back_up(other, served.folder / "two.tar.gz")  # nobody runs, so it asks the index itself
    assert (back.documents, back.pairs_as_text) == (4, False)
    await restored(back.file, alone.home("back"), served.embedder)
    assert await found(alone.home("back")) == sorted([*ALL, ("more.md", None)])
