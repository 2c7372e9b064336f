"""A base that follows its sources, deletions included, and never wrecks itself doing so. Source: sources.md §2."""

import asyncio
import base64
import hashlib
import os
import random
import shutil
import sys
import unicodedata
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from itertools import count, islice
from pathlib import Path
from typing import cast
from zoneinfo import ZoneInfo

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from sqlalchemy.ext.asyncio import AsyncEngine

from bot.errors import StoreError
from bot.knowledge.curation import NotAllowedError
from bot.records import AuditRecord
from bot.sources import git as git_module
from bot.sources import sources as sources_module
from bot.sources.addresses import public
from bot.sources.base import Fetched, Listing, PageError, PageFilter, PageRefusedError, SourceError, SourcePage
from bot.sources.channel import ChannelHistory, ChannelSource, Said, Thread
from bot.sources.folder import FolderSource
from bot.sources.git import GitAccess, GitBounds, GitSource, web_address
from bot.sources.sources import EVERY, NewSource, Sources
from bot.sources.sync import Sync, SyncReport
from bot.store.audit import Audit
from bot.store.engine import connect
from bot.store.followed import FollowedPage, FollowedSource, FollowedSources
from bot.store.signals import Signals
from bot.types import Actor, Audience, Place, Recipient, Upload
from bot.waiting import beside
from retrieval.i18n import Text
from retrieval.loaders.limits import ParsingLimits
from retrieval.loaders.loader import Loader
from retrieval.types import TEAM, EmbeddingError, RAGToolError, Readers
from tests.adapters.acting import until
from tests.bot.acting import Clock
from tests.bot.library import READERS, opened
from tests.bot.sample_turns import settings
from tests.bot.sources.conftest import EDITOR, Home, Tree

pytestmark = pytest.mark.asyncio(loop_scope="module")
BOTH = pytest.mark.parametrize("kind", ["folder", "git"])
BODY = "\n\n".join(f"Paragraph {n} about the harbour and its boats, which does not change." for n in range(20))


def pages(n: int, start: int = 0) -> dict[str, str]:
    return {f"page{at}_md": f"# Page {at}\n\nPier {at} is open.\n" for at in range(start, start + n)}


# -- what follows ------------------------------------------------------------------------------------------------------


@BOTH
async def test_pages_are_added_replaced_and_removed_with_their_source(home: Home, kind: str) -> None:
    tree = home.tree(kind)
    tree.write(
        harbour_md="# Harbour\n\nPier nine is open.\n", de__boats_md="# Boats\n\nTwelve boats.\n", logo_png=b"\x89PNG"
    )
    report = await home.follow(tree, collection="docs")
    assert (report.added, report.pages, report.refused) == (2, 2, [])
    assert await home.names() == ["de/boats.md", "harbour.md"]
    report = await home.sync()
    assert (report.added, report.replaced, report.removed) == (0, 0, 0)
    tree.write(harbour_md="# Harbour\n\nPier nine is closed.\n")
    assert (await home.sync()).replaced == 1
    assert await home.library.found("pier nine") == ["Pier nine is closed."]
    tree.write(de__boats_md=None)
    assert (await home.sync()).removed == 1
    assert await home.names() == ["harbour.md"]


async def test_what_changes_during_a_look_is_looked_at_again(home: Home, clock: Clock) -> None:
    tree = home.tree("folder")
    tree.write(**pages(2))
    await home.follow(tree)
    (source,) = await home.store.listed()
    assert source.due_at == clock.now + timedelta(seconds=source.every)
    tree.write(**pages(2, 5))
    changing: list[asyncio.Task[None]] = []

    def meanwhile(done: int, total: int) -> None:
        if not changing:
            clock.now += timedelta(seconds=1)
            changing.append(asyncio.create_task(home.store.hurry(source.id, clock.now)))
            clock.now += timedelta(seconds=1)

    await home.sources.sync(EDITOR, "wiki", READERS, meanwhile)
    await asyncio.gather(*changing)
    (source,) = await home.store.listed()
    assert source.due_at == clock.now - timedelta(seconds=1)
    await home.sync()
    (source,) = await home.store.listed()
    assert source.due_at == clock.now + timedelta(seconds=source.every)


async def test_a_folder_tells_of_what_changes_between_two_calls(home: Home) -> None:
    tree = home.tree("folder")
    source = FolderSource(tree.path, PageFilter(), home.folder / "home")
    waiting, number = asyncio.create_task(source.changed()), 0
    while not waiting.done():  # a watch takes a moment to begin
        tree.write(**pages(1, number := number + 1))
        await asyncio.wait({waiting}, timeout=0.1)
    tree.write(**pages(1, 1000))
    await asyncio.wait_for(source.changed(), 20)
    assert source._events is not None
    await source._events.aclose()


async def test_a_folder_around_the_home_has_none_of_its_texts(home: Home) -> None:
    tree = home.tree("folder")
    tree.write(**pages(1))
    await home.library.knowledge.add(Upload("secret.md", b"A secret.", "docs", "place:slack:T1:C1", "U1"), "en")
    await home.sources.add(EDITOR, NewSource("folder", str(home.folder), name="all"))
    for _ in range(2):  # what the first has added is no page of the second
        await home.sync("all")
        pages_there = [row.name for row in await home.library.documents.listed(READERS) if row.name.endswith(".md")]
        assert pages_there == ["trees/wiki/page0.md"]


async def test_a_damaged_mirror_is_made_anew(home: Home) -> None:
    tree = home.tree("git")
    tree.write(**pages(3))
    await home.follow(tree)
    (mirror,) = (home.folder / "home" / "sources").glob("*.git")
    for file in [path for path in (mirror / "objects").rglob("*") if path.is_file()]:
        file.chmod(0o600)
        file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])  # as a full disk leaves it
    tree.write(page0_md="# Page 0\n\nPier 0 is closed.\n", page1_md=None)
    with pytest.raises(SourceError):
        await home.sync()
    assert len(await home.names()) == 3
    report = await home.sync()
    assert (report.replaced, report.removed) == (1, 1)


def mirror_of(home: Home) -> Path:
    (mirror,) = home.folder.glob("home/sources/*.git")
    return mirror


async def test_what_ended_commands_have_left_in_a_mirror_holds_up_no_other(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_module, "MOST_BYTES", 2**20)
    tree = home.tree("git")
    tree.write(a_md="One.")
    await home.follow(tree)
    mirror = mirror_of(home)
    left = [
        mirror / "objects/pack/tmp_pack_a",
        mirror / "objects/pack/.tmp-1-pack-b.pack",
        mirror / "objects/tmp_obj_c",
    ]
    for path in left:
        path.write_bytes(bytes(2**20))
    left.append(mirror / "refs/heads/followed.lock")
    left[-1].touch()
    tree.write(a_md="Two.")
    assert (await home.sync()).replaced == 1
    assert not any(path.exists() for path in left)


async def test_a_repository_that_was_too_big_is_followed_again_once_it_is_small(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(git_module, "MOST_BYTES", 2**20)
    tree = home.tree("git")
    tree.write(a_md="One.", b_md="Two.")
    await home.follow(tree)
    tree.write(a_md="One, too.", big_bin=random.Random(7).randbytes(2**21))
    for _ in range(2):
        with pytest.raises(SourceError, match="more than 1 MiB"):
            await home.sync()
        assert [*home.folder.glob("home/sources/*")] == []
    assert await home.library.found("one") == ["One."] and len(await home.names()) == 2
    tree.git("reset", "--quiet", "--hard", "HEAD~1")
    tree.write(b_md="Two, too.")
    report = await home.sync()
    assert (report.added, report.replaced, report.removed) == (0, 1, 0)


async def test_only_git_itself_finds_a_mirror_damaged(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = home.tree("git")
    tree.write(a_md="One.")
    await home.follow(tree)
    mirror = mirror_of(home)
    away = GitSource("https://127.0.0.1/x", PageFilter(), branch="", mirror=mirror, access=GitAccess({}))
    with pytest.raises(SourceError, match="address of your own network"):
        await away._git.fetch("refs/heads/main")
    await away._git.drop_if_damaged()
    assert mirror.exists()
    with monkeypatch.context() as without:
        without.setenv("PATH", str(home.folder))
        await away._git.drop_if_damaged()
    assert mirror.exists()
    (mirror / "refs/heads/followed").write_text("0" * 7 + "1" * 33 + "\n")
    await away._git.drop_if_damaged()  # and asks nobody for the host's address
    assert not mirror.exists()


async def test_what_is_reached_by_ssh_is_the_address_that_was_looked_at(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As getaddrinfo(3) has it, 134744072 is 8.8.8.8."""
    program, said = home.folder / "bin" / "ssh", home.folder / "said"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >>{said}\necho "Permission denied (publickey)." >&2\nexit 255\n')
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    for location in ("git@134744072:team/wiki", "ssh://git@134744072:2222/team/wiki"):
        source = GitSource(location, PageFilter(), branch="", mirror=home.folder / "m.git", access=GitAccess({}))
        with pytest.raises(SourceError, match=r"git could not read.* Permission denied"):
            await source.look(None, {}).__aenter__()
    first, second = said.read_text().splitlines()
    assert "-o HostName=8.8.8.8 -o HostKeyAlias=134744072 " in first
    assert "-o HostName=8.8.8.8 -o HostKeyAlias=[134744072]:2222 " in second


@pytest.mark.parametrize(
    ("location", "tokens", "sent"),
    [
        ("https://134744072/team/wiki", {"134744072": "abc"}, "abc"),
        ("https://134744072:8443/team/wiki", {"134744072": "abc"}, "abc"),
        ("https://134744072:8443/team/wiki", {"134744072": "abc", "134744072:8443": "def"}, "def"),
        ("https://134744072:8443/team/wiki", {"134744072:9443": "def"}, ""),
    ],
)
async def test_a_host_is_sent_its_token_at_any_port(
    home: Home, monkeypatch: pytest.MonkeyPatch, location: str, tokens: Mapping[str, str], sent: str
) -> None:
    """What git would send there, by its own word."""
    program, said = home.folder / "bin" / "git", home.folder / "said"
    program.parent.mkdir()
    program.write_text(
        f"#!/bin/sh\n{shutil.which('git')} config --get-urlmatch http.extraHeader {location} >{said}\nexit 1"
    )
    program.chmod(0o700)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    source = GitSource(location, PageFilter(), branch="", mirror=home.folder / "m.git", access=GitAccess(tokens))
    with pytest.raises(SourceError):
        await source.look(None, {}).__aenter__()
    secret = base64.b64encode(f"x-access-token:{sent}".encode()).decode()
    assert said.read_text() == (f"Authorization: Basic {secret}\n" if sent else "")


@pytest.mark.parametrize(
    ("status", "said"), [(401, "KOTAE_GIT_TOKENS"), (403, "KOTAE_GIT_TOKENS"), (301, "new address"), (503, "503")]
)
async def test_a_host_that_refuses_or_sends_elsewhere_is_said_with_what_to_do(
    home: Home, status: int, said: str
) -> None:
    async def answer(request: web.Request) -> web.Response:
        headers = {401: {"WWW-Authenticate": "Basic"}, 301: {"Location": f"/other{request.path_qs}"}}
        return web.Response(status=status, headers=headers.get(status))

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server:
        where = GitSource(
            str(server.make_url("/team/wiki")),
            PageFilter(),
            branch="",
            mirror=home.folder / "mirror.git",
            access=GitAccess({}, private=True, local=True),
        )
        with pytest.raises(SourceError, match=said):
            await where.look(None, {}).__aenter__()


@BOTH
async def test_what_is_there_again_needs_no_word(home: Home, kind: str) -> None:
    tree = home.tree(kind)
    tree.write(**pages(3))
    await home.follow(tree)
    tree.write(page0_md=None, page1_md=None, page2_md=None)
    assert (await home.sync()).gone == 3
    tree.write(**pages(3))
    await home.sync()
    (status,) = await home.sources.listed(READERS)
    assert (status.source.state, status.source.gone) == ("on", 0)


async def test_a_page_has_its_last_commit_s_day_and_its_address_at_the_host(home: Home) -> None:
    tree = home.tree("git")
    tree.write(harbour_md="# Harbour\n\nOpen.\n", boats_md="# Boats\n\nTwelve.\n")
    tree.day = date(2026, 5, 4)
    tree.write(boats_md="# Boats\n\nThirteen.\n")
    await home.follow(tree)
    dates = {row.name: row.changed_at for row in await home.library.documents.listed()}
    assert dates == {"harbour.md": "2026-03-01", "boats.md": "2026-05-04"}
    tree.day = date(2026, 6, 1)
    tree.write(harbour_md="# Harbour\n\nClosed.\n")
    await home.sync()
    dates = {row.name: row.changed_at for row in await home.library.documents.listed()}
    assert dates == {"harbour.md": "2026-06-01", "boats.md": "2026-05-04"}


async def test_a_page_of_a_branch_that_was_pushed_back_has_the_day_of_the_commit_that_is_there(home: Home) -> None:
    tree = home.tree("git")
    tree.write(a_md="One.", b_md="Two.")
    await home.follow(tree)
    tree.day = date(2026, 6, 7)
    tree.write(a_md="One, too.")
    await home.sync()
    tree.git("reset", "--quiet", "--hard", "HEAD~1")
    assert (await home.sync()).replaced == 1
    assert {row.changed_at for row in await home.library.documents.listed()} == {"2026-03-01"}


async def test_pages_of_a_branch_with_another_name_are_looked_at_again(home: Home) -> None:
    tree = home.tree("git")
    tree.write(a_md="One.")
    source = repository(home, tree)
    async with source.look(None, {}) as listing:
        assert listing is not None
    async with source.look(listing.cursor, {}) as same:
        assert same is None
    tree.git("branch", "-m", "main", "trunk")
    async with source.look(listing.cursor, {}) as renamed:
        assert renamed is not None and renamed.cursor != listing.cursor


async def test_a_branch_that_is_pushed_anew_while_it_is_fetched_is_read_as_it_is_then(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = home.tree("git")
    tree.write(a_md="One.")
    git, wrapped = shutil.which("git"), home.folder / "bin" / "git"
    wrapped.parent.mkdir()
    anew = (
        f"{git} -C {tree.path} -c user.name=A -c user.email=a@example commit -q --amend -m anew; {git} -C {tree.path}"
    )
    wrapped.write_text(f'#!/bin/sh\ncase "$*" in *" fetch "*) {anew} gc -q --prune=now;; esac\nexec {git} "$@"\n')
    wrapped.chmod(0o700)
    tree.git("config", "gc.reflogExpire", "now")
    tree.git("config", "core.logAllRefUpdates", "false")
    monkeypatch.setenv("PATH", f"{wrapped.parent}:/usr/bin:/bin")
    async with repository(home, tree).look(None, {}) as listing:
        assert listing is not None and listing.cursor == f"{tree.git('rev-parse', 'main')} refs/heads/main"
        assert [page.name for page in listing.pages.values()] == ["a.md"]


async def test_a_repository_that_has_only_its_latest_commits_is_followed(home: Home) -> None:
    tree = home.tree("git")
    tree.write(a_md="One.")
    tree.write(b_md="Two.")
    shallow = tree.path.with_name("shallow")
    tree.git("clone", "--quiet", "--depth", "1", f"file://{tree.path}", str(shallow))
    await home.sources.add(EDITOR, NewSource("git", str(shallow), name="shallow"))
    assert (await home.sync("shallow")).added == 2
    tree.write(a_md="One, too.")
    tree.git("-C", str(shallow), "fetch", "--quiet", "--depth", "1", "origin")
    tree.git("-C", str(shallow), "reset", "--quiet", "--hard", "origin/main")
    assert (await home.sync("shallow")).replaced == 1


async def test_a_repository_whose_default_branch_is_not_there_is_followed_by_another_one(home: Home) -> None:
    tree = home.tree("git")
    tree.write(a_md="One.")
    tree.git("branch", "-m", "main", "文書/手順#2")
    tree.git("symbolic-ref", "HEAD", "refs/heads/main")
    with pytest.raises(SourceError, match="--branch"):
        await home.follow(tree)
    assert (await home.follow(tree, name="other", branch="文書/手順#2")).added == 1


async def test_an_address_that_has_changed_is_the_document_s_without_a_new_version(home: Home) -> None:
    source = await followed(home)
    memory = Memory({"a.md": "One.", "b.md": "Two."}, below="https://host.example/main/")
    await synced(home, source, memory)
    (elsewhere,) = await home.library.documents.listed(name="b.md")  # where somebody has put it
    await home.library.knowledge.move(elsewhere.id, "port", READERS)
    await home.library.knowledge.rescope(elsewhere.id, "place:slack:T:C1", READERS)
    rows = {row.name: row for row in await home.library.documents.listed()}
    memory.below = "https://host.example/trunk/"
    memory.fetched.clear()
    read = len(home.embedder.batches)
    assert (await synced(home, source, memory)).report == SyncReport(pages=2)
    for row in await home.library.documents.listed():
        before = rows[row.name]
        assert row == replace(before, url=f"https://host.example/trunk/{row.name}", born=row.born)
    assert not memory.fetched and len(home.embedder.batches) == read
    found = await home.library.knowledge.search("one", READERS, mode="sparse")
    assert {hit.passage.url for hit in found.hits} == {"https://host.example/trunk/a.md"}


@BOTH
async def test_only_what_was_asked_for_is_followed(home: Home, kind: str) -> None:
    tree = home.tree(kind)
    tree.write(docs__a_md="A.", docs__b_txt="B.", docs__deep__c_md="C.", other__d_md="D.", docs__x_py="print()")
    (tree.path / "docs" / "out.md").symlink_to("/etc/passwd")
    tree.commit()
    await home.follow(tree, folder="docs", globs=("*.md",))
    assert await home.names() == ["a.md", "deep/c.md"]


# -- rule 1: gone only after a whole look, and not many without a word -------------------------------------------------


@BOTH
async def test_many_that_are_gone_at_once_wait_for_a_word(home: Home, kind: str) -> None:
    tree = home.tree(kind)
    tree.write(**pages(30))
    await home.follow(tree)
    tree.write(**dict.fromkeys([f"page{n}_md" for n in range(12)]), **pages(1, 40))
    report = await home.sync()
    assert (report.gone, report.removed, report.added) == (12, 0, 1)
    assert len(await home.names()) == 31
    (status,) = await home.sources.listed(READERS)
    assert (status.source.state, status.source.gone) == ("asks", 12)
    await home.sources.resume(EDITOR, "wiki", READERS, "forget")
    assert len(await home.names()) == 19
    (status,) = await home.sources.listed(READERS)
    assert (status.source.state, status.source.gone) == ("on", 0)


@BOTH
async def test_an_emptied_source_waits_for_a_word_though_some_of_it_was_refused(home: Home, kind: str) -> None:
    tree = home.tree(kind)
    tree.write(**pages(3), old_doc="An old document.")
    assert len((await home.follow(tree)).refused) == 1
    tree.write(page0_md=None, page1_md=None, page2_md=None, old_doc=None)
    report = await home.sync()
    assert (report.gone, report.removed, len(await home.names())) == (3, 0, 3)


@BOTH
async def test_many_that_are_gone_can_be_kept_and_are_then_nobody_s(home: Home, kind: str) -> None:
    tree = home.tree(kind)
    tree.write(**pages(3))
    await home.follow(tree)
    tree.write(page0_md=None, page1_md=None, page2_md=None)
    assert (await home.sync()).gone == 3, "an emptied source"
    await home.sources.resume(EDITOR, "wiki", READERS, "keep")
    assert len(await home.names()) == 3
    report = await home.sync()
    assert (report.gone, report.removed) == (0, 0)


@BOTH
async def test_what_was_kept_is_no_source_s_any_more_and_is_neither_replaced_nor_removed(home: Home, kind: str) -> None:
    tree = home.tree(kind)
    tree.write(**pages(3))
    await home.follow(tree)
    tree.write(page0_md=None, page1_md=None, page2_md=None)
    await home.sync()
    await home.sources.resume(EDITOR, "wiki", READERS, "keep")
    tree.write(page0_md="# Page 0\n\nPier 0 is closed.\n", more_md="More.")
    assert [ref for ref, _ in (await home.sync()).refused] == ["page0.md"]
    assert await home.library.found("pier 0") == [f"Pier {n} is open." for n in range(3)]
    assert await home.sources.remove(EDITOR, "wiki", READERS, keep=False) == 1
    assert await home.names() == ["page0.md", "page1.md", "page2.md"]


async def test_the_source_of_a_document_is_named_to_those_who_may_read_it(home: Home) -> None:
    tree = home.tree("folder")
    tree.write(**pages(1))
    await home.follow(tree)
    (row,) = await home.library.documents.listed(READERS)

    async def named(author: str, readers: Readers) -> str:
        said = await home.sources.name_of(author, readers)
        return "" if said is None else said.en

    assert await named(row.author, READERS) == "wiki"
    assert await named(row.author, Readers(frozenset({"everyone"}))) == "a source that is shown to others"
    assert await named("U1", READERS) == ""
    await home.sources.remove(EDITOR, "wiki", READERS, keep=True)
    (kept,) = await home.library.documents.listed(READERS)
    assert kept == replace(row, author=kept.author) and kept.author != row.author
    assert await named(kept.author, READERS) == await named(row.author, READERS) == "no source any more"


async def test_a_few_that_are_gone_go(home: Home) -> None:
    tree = home.tree("folder")
    tree.write(**pages(30))
    await home.follow(tree)
    tree.write(**dict.fromkeys([f"page{n}_md" for n in range(10)]))
    assert (await home.sync()).removed == 10


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable for root")
async def test_a_folder_that_cannot_be_looked_into_is_not_gone(home: Home) -> None:
    tree = home.tree("folder")
    tree.write(a_md="A.", deep__b_md="B.")
    await home.follow(tree)
    (tree.path / "deep").chmod(0)
    with pytest.raises(SourceError, match="cannot be read whole"):
        await home.sync()
    (tree.path / "deep").chmod(0o700)
    assert await home.names() == ["a.md", "deep/b.md"]


@BOTH
async def test_a_source_that_is_away_keeps_what_it_had_and_is_tried_later_and_later(
    home: Home, kind: str, clock: Clock
) -> None:
    tree = home.tree(kind)
    tree.write(**pages(3))
    await home.follow(tree)
    tree.path.rename(home.folder / "away")
    waits = []
    for _ in range(3):
        with pytest.raises(SourceError):
            await home.sync()
        (status,) = await home.sources.listed(READERS)
        waits.append(status.source.due_at - clock())
        assert status.source.trouble is not None and status.source.trouble.ja
    assert waits == sorted(waits) and (kind == "folder" or len({*waits}) == 3)  # a folder is walked hourly anyhow
    assert len(await home.names()) == 3
    (home.folder / "away").rename(tree.path)
    await home.sync()
    (status,) = await home.sources.listed(READERS)
    assert (status.source.trouble, status.source.failures) == (None, 0)


@BOTH
async def test_documents_of_a_source_that_fails_say_when_it_was_last_checked(
    home: Home, kind: str, clock: Clock
) -> None:
    tree = home.tree(kind)
    tree.write(**pages(3))
    await home.follow(tree)
    by_hand = await home.library.add("own.md", "Ours.")
    ids = [row.id for row in await home.library.documents.listed(READERS)]
    followed = {*ids} - {by_hand.document_id}
    seen = clock()
    day = seen.astimezone(settings(home.folder).timezone).date().isoformat()
    tree.path.rename(home.folder / "away")

    async def fail(after: timedelta) -> dict[str, str]:
        clock.now = seen + after
        with pytest.raises(SourceError):
            await home.sync()
        return await home.sources.last_checked(ids)

    clock.now = seen + timedelta(days=9)
    assert await home.sources.last_checked(ids) == {}  # late, and no look at it has failed
    clock.now = seen
    assert await fail(timedelta(hours=23)) == {}
    assert await fail(timedelta(days=9)) == dict.fromkeys(followed, day)
    (home.folder / "away").rename(tree.path)
    await home.sync()
    assert await home.sources.last_checked(ids) == {}
    await home.sources.pause(EDITOR, "wiki", READERS)
    clock.now += timedelta(days=2)
    assert {*await home.sources.last_checked(ids)} == followed


# -- rule 2: only its own ----------------------------------------------------------------------------------------------


@BOTH
async def test_what_somebody_else_added_under_the_same_name_stays(home: Home, kind: str) -> None:
    await home.library.add("harbour.md", "# Harbour\n\nBy hand.\n", collection="docs")
    tree = home.tree(kind)
    tree.write(harbour_md="# Harbour\n\nBy the source.\n", boats_md="# Boats\n\nTwelve.\n")
    report = await home.follow(tree, collection="docs")
    ((ref, why),) = report.refused
    assert ref == "harbour.md" and "somebody else" in why.en and "ほかの人" in why.ja
    tree.write(harbour_md=None)
    await home.sync()
    assert "By hand." in await home.library.found("by hand")
    await home.library.add("boats.md", "# Boats\n\nCounted by hand.\n", collection="docs")  # in the source's place
    tree.write(boats_md="# Boats\n\nThirteen.\n")
    await home.sync()
    await home.sources.remove(EDITOR, "wiki", READERS, keep=False)
    assert await home.names() == ["boats.md", "harbour.md"]


@BOTH
async def test_a_source_that_is_removed_takes_its_documents_along_or_leaves_them(home: Home, kind: str) -> None:
    for keep in (True, False):
        tree = home.tree(kind, f"wiki-{keep}")
        tree.write(**pages(2))
        await home.follow(tree, name=f"wiki-{keep}")
        assert await home.sources.remove(EDITOR, f"wiki-{keep}", READERS, keep=keep) == 2
    assert {row.collection for row in await home.library.documents.listed()} == {"wiki-True"}
    assert await home.sources.listed(READERS) == []


# -- rule 3: refused once ----------------------------------------------------------------------------------------------


@dataclass
class Memory:
    """A source in memory that fails where it is told to."""

    texts: dict[str, str] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)
    half: bool = False
    ending: str = ""  # of a document's name, behind its page's
    below: str = ""  # its pages' addresses are
    fetched: list[str] = field(default_factory=list)

    @asynccontextmanager
    async def look(self, cursor: str | None, known: Mapping[str, FollowedPage]) -> AsyncIterator[Listing | None]:
        if self.half:
            raise SourceError(Text(en="Half of it.", ja="半分だけです。"))
        seen = str((self.below, sorted(self.texts.items())))
        pages = {
            ref: SourcePage(ref, str(hash(text)), ref + self.ending, self.below + ref if self.below else None)
            for ref, text in self.texts.items()
        }
        yield None if cursor == seen else Listing(pages, self.fetch, seen)

    async def fetch(self, page: SourcePage) -> Fetched:
        self.fetched.append(page.ref)
        if page.ref in self.broken:
            raise PageError(Text(en="Not now.", ja="いまは読めません。"))
        return Fetched(self.texts[page.ref].encode())


async def followed(home: Home) -> FollowedSource:
    now = datetime.now(UTC)
    source = FollowedSource("5" * 32, "m", "website", "", {}, "docs", TEAM, 60, "terminal:terminal", now, now)
    await home.store.add(source, AuditRecord("terminal:terminal", "source add", "m", "on"))
    return source


async def synced(home: Home, source: FollowedSource, memory: Memory) -> Sync:
    (source,) = [one for one in await home.store.listed() if one.id == source.id]
    sync = Sync(source, home.store, home.library.knowledge, home.library.documents)
    cursor = await sync.run(memory)
    assert await home.store.claim(source.id, owner="me", now=source.added_at, until=source.added_at)
    await home.store.leave(source.id, owner="me", cursor=cursor)
    return sync


async def test_a_mirror_of_many_small_files_is_packed(home: Home) -> None:
    """Git estimates how many there are by those whose names begin with 17: 28 are enough."""
    texts = (f"Boat {number} waits." for number in count())
    named = (text for text in texts if hashlib.sha1(f"blob {len(text)}\0{text}".encode()).hexdigest().startswith("17"))
    tree = home.tree("git")
    tree.write(**{f"boat{number}_md": text for number, text in enumerate(islice(named, 28))})
    assert (await home.follow(tree)).added == 28
    (mirror,) = home.folder.glob("home/sources/*.git")
    assert not (mirror / "objects" / "17").exists() and len([*mirror.glob("objects/pack/*.pack")]) == 1
    tree.write(more_md="One more boat waits.")
    assert (await home.sync()).added == 1


async def test_a_file_of_git_lfs_is_refused_in_words(home: Home) -> None:
    tree = home.tree("git")
    tree.write(a_md="A.", b_md="version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n")
    ((ref, why),) = (await home.follow(tree)).refused
    assert ref == "b.md" and "Git LFS" in why.en and "Git LFS" in why.ja


@BOTH
async def test_documents_of_a_kind_that_cannot_be_read_are_named_and_other_files_are_not(home: Home, kind: str) -> None:
    tree = home.tree(kind)
    tree.write(a_md="A.", rules_doc="old", talk_pages="old", server_key="secret", b_png="picture", c_py="print()")
    report = await home.follow(tree)
    assert [ref for ref, _ in report.refused] == ["rules.doc", "talk.pages"]
    assert all("Office" in why.en and "Office" in why.ja for _, why in report.refused)
    assert await home.names() == ["a.md"]
    tree.write(b_rst="Rules\n=====\n\nBoats wait.", c_mdx="# Tabs\n\nUse winget.")
    assert [ref for ref, _ in (await home.sync()).refused] == ["b.rst"]
    assert await home.names() == ["a.md", "c.mdx"]


async def test_a_refused_page_is_not_read_again_until_it_changes(home: Home) -> None:
    source = await followed(home)
    memory = Memory({"a.md": "Fine.", "b.pdf": "no pdf"})
    report = (await synced(home, source, memory)).report
    assert [ref for ref, _ in report.refused] == ["b.pdf"]
    memory.fetched.clear()
    memory.texts["c.md"] = "More."
    await synced(home, source, memory)
    assert memory.fetched == ["c.md"]
    memory.fetched.clear()
    memory.texts["b.pdf"] = "no pdf either"
    await synced(home, source, memory)
    assert memory.fetched == ["b.pdf"]


@BOTH
async def test_a_page_whose_reading_was_stopped_is_read_again_the_next_day(
    tmp_path: Path, kind: str, loader: Loader, clock: Clock
) -> None:
    """A machine that was busy, or out of memory, has not said that the page cannot be read."""
    tree = Tree(tmp_path / "wiki", kind)
    tree.write(a_md="A.")

    async def synced(reader: Loader) -> tuple[int, int]:
        async with opened(tmp_path / "home", loader=reader) as library:
            store, given = FollowedSources(library.engine), settings(tmp_path / "home")
            sources = Sources(given, store, library.knowledge, library.documents, owner="me", clock=clock)
            await sources.add(EDITOR, NewSource(tree.kind, str(tree.path), name="wiki"))  # type: ignore[arg-type]
            report = await sources.sync(EDITOR, "wiki", READERS)
            return report.added, len(report.refused)

    async with Loader(ParsingLimits(wall=0.001)) as busy:
        assert await synced(busy) == (0, 1)
        assert await synced(loader) == (0, 0)
        clock.now += timedelta(days=1)
        assert await synced(busy) == (0, 1)
    assert await synced(loader) == (0, 0)
    clock.now += timedelta(days=1)
    assert await synced(loader) == (1, 0)


async def test_a_page_that_cannot_be_read_any_more_keeps_what_it_said(home: Home) -> None:
    source = await followed(home)
    memory = Memory({"a.json": '[{"question": "Who?", "answer": "Nobody."}]'})
    await synced(home, source, memory)
    memory.texts["a.json"] = "{"
    assert (await synced(home, source, memory)).report.refused
    assert await home.library.found("nobody") == ["Nobody."]
    del memory.texts["a.json"]
    await synced(home, source, memory)
    assert await home.names() == []


# -- rule 4: renames ---------------------------------------------------------------------------------------------------


@BOTH
async def test_a_rename_keeps_the_document(home: Home, kind: str) -> None:
    tree = home.tree(kind)
    tree.write(harbour_md=f"# Harbour\n\n{BODY}\n", boats_md="# Boats\n\nTwelve.\n")
    await home.follow(tree)
    before = {row.name: row.id for row in await home.library.documents.listed()}
    read = len(home.embedder.batches)
    tree.move("harbour.md", "places/port.md")
    report = await home.sync()
    assert len(home.embedder.batches) == read  # nothing is embedded anew
    assert (report.renamed, report.added, report.removed) == (1, 0, 0)
    after = {row.name: row.id for row in await home.library.documents.listed()}
    assert after == {"places/port.md": before["harbour.md"], "boats.md": before["boats.md"]}
    found = await home.library.knowledge.search("boats paragraph 3", READERS, mode="sparse")
    assert {hit.passage.document for hit in (*found.hits, *found.rejected)} == {"places/port.md", "boats.md"}


@BOTH
async def test_pages_that_are_gone_for_a_while_and_come_back_renamed_keep_their_documents(
    home: Home, kind: str
) -> None:
    tree = home.tree(kind)
    tree.write(**pages(12))
    await home.follow(tree)
    before = {row.name: row.id for row in await home.library.documents.listed()}
    texts = {name: (tree.path / name).read_bytes() for name in before}
    tree.write(**{name.replace(".", "_"): None for name in before})
    assert (await home.sync()).gone == 12
    read = len(home.embedder.batches)
    tree.write(**{f"moved__{name.replace('.', '_')}": text for name, text in texts.items()})
    assert (await home.sync()).renamed == 12 and len(home.embedder.batches) == read
    after = {row.name: row.id for row in await home.library.documents.listed()}
    assert after == {f"moved/{name}": id for name, id in before.items()}


async def test_a_page_that_is_renamed_and_changed_in_one_commit_keeps_its_document(home: Home) -> None:
    tree = home.tree("git")
    tree.write(harbour_md=f"# Harbour\n\n{BODY}\n")
    await home.follow(tree)
    (before,) = await home.library.documents.listed()
    (tree.path / "harbour.md").write_text(f"# Harbour\n\n{BODY}\n\nPier ten is new.\n")
    tree.move("harbour.md", "port.md")
    report = await home.sync()
    assert (report.renamed, report.replaced, report.removed) == (1, 1, 0)
    (after,) = await home.library.documents.listed()
    assert (after.id, after.name) == (before.id, "port.md")


@BOTH
@pytest.mark.parametrize("noted", [True, False])
async def test_a_rename_that_was_cut_short_keeps_the_document(home: Home, kind: str, noted: bool) -> None:
    """Killed when the document had its new name, and its page too, but the old page was still noted."""
    tree = home.tree(kind)
    tree.write(harbour_md=f"# Harbour\n\n{BODY}\n", boats_md="# Boats\n\nTwelve.\n")
    await home.follow(tree)
    before = {row.name: row.id for row in await home.library.documents.listed()}
    (source,) = await home.store.listed()
    page = (await home.store.pages(source.id))["harbour.md"]
    await home.library.knowledge.rename_document(before["harbour.md"], "port.md", None, READERS)
    if noted:
        await home.store.note(source.id, "port.md", page)
    else:  # and nobody can see any more that it is the same page
        (tree.path / "harbour.md").write_text("# Port\n\nPier ten is new.\n")
    tree.move("harbour.md", "port.md")
    await home.sync()
    assert {row.name: row.id for row in await home.library.documents.listed()} == {
        "port.md": before["harbour.md"],
        "boats.md": before["boats.md"],
    }
    assert {*await home.store.pages(source.id)} == {"port.md", "boats.md"}


async def test_documents_whose_collection_is_renamed_or_merged_are_their_source_s_there(home: Home) -> None:
    tree = home.tree("folder")
    tree.write(harbour_md="# Harbour\n\nPier one is open.\n", boats_md="# Boats\n\nTwelve boats.\n")
    await home.follow(tree, collection="docs")
    before = {row.name: row.id for row in await home.library.documents.listed()}
    for change in (home.library.knowledge.stored.rename, home.library.knowledge.stored.merge):
        (source,) = await home.store.listed()
        await change(source.collection, f"{source.collection} of the port", READERS)
        tree.write(harbour_md=f"# Harbour\n\nPier one is closed, says {change.__name__}.\n")
        report = await home.sync()
        assert (report.added, report.replaced) == (0, 1)
    rows = await home.library.documents.listed()
    assert {row.name: row.id for row in rows} == before
    assert {row.collection for row in rows} == {"docs of the port of the port"}


async def test_a_document_stays_where_somebody_has_put_it_and_for_whom(home: Home) -> None:
    tree, private = home.tree("folder"), "place:slack:T:C1"
    tree.write(harbour_md="# Harbour\n\nPier one is open.\n", boats_md="# Boats\n\nTwelve boats.\n")
    await home.follow(tree, collection="docs")
    (known,) = [row for row in await home.library.documents.listed() if row.name == "harbour.md"]
    await home.library.knowledge.move(known.id, "port", READERS)
    await home.library.knowledge.rescope(known.id, private, READERS)
    tree.write(harbour_md="# Harbour\n\nPier one is closed.\n")
    assert (await home.sync()).replaced == 1
    tree.move("harbour.md", "pier.md")
    assert (await home.sync()).renamed == 1
    rows = {row.name: row for row in await home.library.documents.listed()}
    assert {*rows} == {"pier.md", "boats.md"} and rows["pier.md"].id == known.id
    assert (rows["pier.md"].collection, rows["pier.md"].scope) == ("port", private)
    tree.write(pier_md=None)
    assert (await home.sync()).removed == 1


# -- rule 5: one page, one source --------------------------------------------------------------------------------------


async def test_a_page_that_is_renamed_and_changed_while_its_source_waits_for_a_word_keeps_its_document(
    home: Home,
) -> None:
    tree = home.tree("git")
    tree.write(harbour_md=f"# Harbour\n\n{BODY}\n", **pages(12))
    await home.follow(tree)
    before = {row.name: row.id for row in await home.library.documents.listed()}
    tree.write(**dict.fromkeys(pages(12), None))
    assert (await home.sync()).gone == 12
    (tree.path / "harbour.md").rename(tree.path / "port.md")
    tree.write(port_md=f"# Port\n\n{BODY}\n\nThirteen boats.\n")
    assert (await home.sync()).renamed == 1
    after = {row.name: row.id for row in await home.library.documents.listed()}
    assert after["port.md"] == before["harbour.md"] and len(after) == 13


async def test_a_page_that_fails_does_not_stop_the_others_and_is_tried_again(home: Home) -> None:
    source = await followed(home)
    memory = Memory({"a.md": "A.", "b.md": "B.", "c.md": "C."}, broken={"b.md"})
    sync = await synced(home, source, memory)
    assert [ref for ref, _ in sync.report.failed] == ["b.md"] and sync.report.added == 2
    memory.broken.clear()
    assert (await synced(home, source, memory)).report.added == 1


async def test_half_a_listing_removes_nothing(home: Home) -> None:
    source = await followed(home)
    memory = Memory({f"{n}.md": f"Page {n}." for n in range(3)})
    await synced(home, source, memory)
    memory.half = True
    del memory.texts["1.md"]
    with pytest.raises(SourceError):
        await synced(home, source, memory)
    assert len(await home.names()) == 3


async def test_a_sync_that_is_cut_short_goes_on_where_it_was(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    source = await followed(home)

    class Cut(Memory):
        async def fetch(self, page: SourcePage) -> Fetched:
            if len(self.fetched) == 2:
                raise EmbeddingError(Text(en="The process dies.", ja="終了します。"))
            return await super().fetch(page)

    memory = Cut({f"{n}.md": f"Page {n}." for n in range(5)})
    with pytest.raises(EmbeddingError):
        await synced(home, source, memory)
    assert len(await home.names()) == 2
    rest = Memory(memory.texts)
    await synced(home, source, rest)
    assert rest.fetched == ["2.md", "3.md", "4.md"] and len(await home.names()) == 5


# -- rule 6: secrets; who may ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "location",
    [
        "https://[::1/x",
        "https://host.example:99999/x",
        "ssh://host.example:-p/x",
        "-u",
        "--upload-pack=/bin/sh",
        "ext::sh -c id",
        "https://me:secret@host/x",
        "https://token@host/x",
        "ftp://h/x",
        "a b",
    ],
)
async def test_addresses_that_do_more_than_name_a_repository_are_refused(home: Home, location: str) -> None:
    with pytest.raises(SourceError):
        await home.sources.add(EDITOR, NewSource("git", location, name="x"))
    assert await home.sources.listed(READERS) == []


def repository(home: Home, tree: Tree, **bounds: int) -> GitSource:
    mirror, access = home.folder / "mirror.git", GitAccess({}, private=True, local=True)
    return GitSource(str(tree.path), PageFilter(), branch="", mirror=mirror, access=access, bounds=GitBounds(**bounds))


async def test_a_repository_lists_no_more_than_can_be_borne(home: Home) -> None:
    tree = home.tree("git")
    tree.write(**{f"a{n}_md": "The same." for n in range(40)})
    async with repository(home, tree, output=10_000).look(None, {}) as listing:
        assert listing is not None and len(listing.pages) == 40
    with pytest.raises(SourceError, match="git lists more"):
        await repository(home, tree, output=1_000).look(None, {}).__aenter__()


def number(value: int) -> bytes:
    """As a delta has its sizes: seven bits a byte, the lowest first (git-scm.com/docs/pack-format)."""
    low, rest = value & 127, value >> 7
    return bytes([low | 128]) + number(rest) if rest else bytes([low])


def pack_of_a_long_file(times: int) -> bytes:
    """A pack with a file of 64 KiB, and one that is the same so many times over: ten bytes each time."""
    base = bytes(2**16)
    delta = number(len(base)) + number(len(base) * times) + b"\x80" * times  # copy 64 KiB from the beginning
    packed = zlib.compress(base)
    length = len(base)
    first = bytes([0x30 | length & 15 | 128]) + number(length >> 4) + packed
    length = len(delta)
    second = bytes([0x70 | length & 15 | 128]) + number(length >> 4) + hashlib.sha1(b"blob 65536\0" + base).digest()
    pack = b"PACK" + (2).to_bytes(4, "big") * 2 + first + second + zlib.compress(delta)
    return pack + hashlib.sha1(pack).digest()


async def test_git_takes_no_more_memory_than_it_may(home: Home) -> None:
    tree = home.tree("git")
    tree.write(b_md="Pier two.")
    pack = home.folder / "a.pack"
    pack.write_bytes(pack_of_a_long_file(600))
    tree.git("index-pack", str(pack), "-o", str(tree.path / ".git/objects/pack/pack-a.idx"))
    pack.rename(tree.path / ".git/objects/pack/pack-a.pack")
    blob = hashlib.sha1(b"blob %d\0" % (600 * 2**16) + bytes(600 * 2**16)).hexdigest()
    tree.git("update-index", "--add", "--cacheinfo", f"100644,{blob},a.md")
    tree.git("commit", "--quiet", "-m", "long")
    async with repository(home, tree).look(None, {}) as listing:
        assert listing is not None and len(listing.pages) == 2
    shutil.rmtree(home.folder / "mirror.git")
    with pytest.raises(SourceError, match="git could not read"):
        await repository(home, tree, memory=2**25).look(None, {}).__aenter__()


async def test_a_file_that_is_too_long_is_refused_unread_and_the_others_are_followed(home: Home) -> None:
    tree = home.tree("git")
    tree.write(a_md=bytes(ParsingLimits().file + 1), b_md="Pier two.")
    async with repository(home, tree).look(None, {}) as listing:
        assert listing is not None
        with pytest.raises(PageRefusedError, match="larger than 25 MiB"):
            await listing.fetch(listing.pages["a.md"])
        assert (await listing.fetch(listing.pages["b.md"])).data == b"Pier two."


@pytest.mark.parametrize(
    ("location", "address"),
    [
        ("git@github.com:o/r.git", "https://github.com/o/r/blob/a%232/"),
        ("https://gitlab.example/g/r", "https://gitlab.example/g/r/-/blob/a%232/"),
        ("https://gitlab.example:8443/g/r", "https://gitlab.example:8443/g/r/-/blob/a%232/"),
        ("ssh://git@gitlab.example:2222/g/r", "https://gitlab.example/g/r/-/blob/a%232/"),
        ("https://codeberg.org/o/r.git", "https://codeberg.org/o/r/src/branch/a%232/"),
        ("https://dev.azure.com/o/My%20Wiki/_git/r", "https://dev.azure.com/o/My%20Wiki/_git/r?version=GBa%232&path=/"),
    ],
)
async def test_a_page_has_the_address_at_which_its_host_shows_it(location: str, address: str) -> None:
    assert web_address(location, "a#2") == address


@pytest.mark.parametrize("branch", ["-x", "a..b", "a b", "x.lock", "@{1}"])
async def test_a_branch_is_a_name(home: Home, branch: str) -> None:
    with pytest.raises(SourceError):
        await home.sources.add(EDITOR, NewSource("git", "https://host.example/x", name="x", branch=branch))


@pytest.mark.parametrize(
    ("new", "why"),
    [
        (NewSource("folder", "/tmp", name="x"), "only be followed from the terminal"),
        (NewSource("git", "/tmp", name="x"), "only be followed from the terminal"),
        (NewSource("git", "file:///tmp", name="x"), "only be followed from the terminal"),
    ],
)
async def test_what_is_on_this_machine_is_followed_from_the_terminal_only(home: Home, new: NewSource, why: str) -> None:
    with pytest.raises(SourceError, match=why):
        await home.sources.add(Actor("web", "local", "aki", "editor"), new)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "[::ffff:127.0.0.1]"]
)
async def test_addresses_of_the_own_network_are_not_reached(home: Home, host: str) -> None:
    actor = Actor("slack", "T", "U1", "editor")
    source = await home.sources.add(actor, NewSource("git", f"https://{host}/x.git", name="x"))
    with pytest.raises(SourceError, match=r"address of your own network|not known"):
        await home.sources.sync(EDITOR, source.name, READERS)


@pytest.mark.parametrize(
    "address",
    ["64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::a00:1", "::7f00:1", "fec0::1", "2002:a00:1::1", "fd00::1", "::"],
)
async def test_no_form_of_ipv6_hides_an_address_of_the_own_network(address: str) -> None:
    assert not public(address)
    assert public("64:ff9b::808:808") and public("2606:4700::6810:84e5") and public("8.8.8.8")


@pytest.mark.parametrize("address", ["192.0.0.192", "192.88.99.1", "3fff::1", "168.63.129.16", "64:ff9b::c000:c0"])
async def test_no_address_that_only_machines_use_is_public(address: str) -> None:
    assert not public(address)


async def test_changing_sources_takes_an_editor_and_leaves_a_trace(home: Home) -> None:
    tree = home.tree("folder")
    tree.write(a_md="A.")
    member = Actor("terminal", "", "ann", "member")
    with pytest.raises(NotAllowedError):
        await home.sources.add(member, NewSource("folder", str(tree.path)))
    await home.follow(tree)
    for refused in (
        home.sources.sync(member, "wiki", READERS),
        home.sources.pause(member, "wiki", READERS),
        home.sources.resume(member, "wiki", READERS),
        home.sources.remove(member, "wiki", READERS, keep=False),
    ):
        with pytest.raises(NotAllowedError):
            await refused
    await home.sources.pause(EDITOR, "wiki", READERS)
    acts = [each.action for each in await Audit(home.library.engine).listed(limit=10)]
    assert acts == ["source pause", "source add"]


# -- rule 7: one at a time ---------------------------------------------------------------------------------------------


@asynccontextmanager
async def silent_site() -> AsyncIterator[tuple[str, asyncio.Event]]:
    """The address of one that never answers, and whether it was asked."""
    over, asked = asyncio.Event(), asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.set()
        await over.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", asked
    finally:
        over.set()
        server.close()
        await server.wait_closed()


async def test_two_processes_never_sync_one_source_at_once(home: Home, clock: Clock) -> None:
    tree = home.tree("folder")
    tree.write(a_md="A.")
    await home.follow(tree)
    library = home.library
    other = Sources(settings(home.folder), home.store, library.knowledge, library.documents, owner="other", clock=clock)
    source = (await home.store.listed())[0]
    assert await home.store.claim(source.id, owner="me", now=clock(), until=clock() + timedelta(minutes=2))
    with pytest.raises(SourceError, match="being synced already"):
        await other.sync(EDITOR, "wiki", READERS)
    clock.now += timedelta(minutes=3)  # it has died
    await other.sync(EDITOR, "wiki", READERS)


async def test_who_has_lost_a_source_to_another_process_stops(
    home: Home, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a machine that was suspended for longer than it may have a source."""
    monkeypatch.setattr(sources_module, "LEASE", timedelta(milliseconds=40))
    async with silent_site() as (site, asked):
        source = await home.sources.add(EDITOR, NewSource("website", site, name="wiki"))
        syncing = asyncio.create_task(home.sync())
        await asked.wait()
        clock.now += timedelta(minutes=3)
        assert await home.store.claim(source.id, owner="other", now=clock(), until=clock() + timedelta(minutes=2))
        with pytest.raises(SourceError, match="another process does it now"):
            await asyncio.wait_for(syncing, 30)
    assert not await home.store.claim(source.id, owner="me", now=clock(), until=clock()), "it is the other's"


@pytest.mark.parametrize("gesture", ["pause", "remove"])
async def test_a_source_is_paused_or_removed_in_the_middle_of_its_sync(home: Home, gesture: str) -> None:
    async with silent_site() as (site, asked):
        await home.sources.add(EDITOR, NewSource("website", site, name="wiki"))
        syncing = asyncio.create_task(home.sync())
        await asked.wait()
        async with asyncio.timeout(30):
            if gesture == "pause":
                await home.sources.pause(EDITOR, "wiki", READERS)
            else:
                assert await home.sources.remove(EDITOR, "wiki", READERS, keep=False) == 0
            with pytest.raises(SourceError, match="paused or removed"):
                await syncing
    found = [(one.source.state, one.source.trouble, one.syncing) for one in await home.sources.listed(READERS)]
    assert found == ([("paused", None, False)] if gesture == "pause" else [])


@asynccontextmanager
async def another(home: Home, clock: Clock, url: str, owner: str) -> AsyncIterator[Sources]:
    """The sources of one of the processes that share a server's database."""
    engine, ready = connect(url), asyncio.Event()
    signals = Signals(engine)
    signals.listen("", lambda _: ready.set())
    library, store = home.library, FollowedSources(engine)
    made = Sources(
        settings(home.folder), store, library.knowledge, library.documents, owner=owner, clock=clock, signals=signals
    )
    try:
        async with beside(signals.hear()):
            await asyncio.wait_for(ready.wait(), 30)
            yield made
    finally:
        await engine.dispose()


@pytest.mark.parametrize("gesture", ["pause", "remove"])
async def test_a_source_is_paused_or_removed_in_the_middle_of_its_sync_by_another_process(
    home: Home, clock: Clock, server_url: str, gesture: str
) -> None:
    async with (
        silent_site() as (site, asked),
        another(home, clock, server_url, "one") as one,
        another(home, clock, server_url, "other") as other,
    ):
        await one.add(EDITOR, NewSource("website", site, name="wiki"))
        syncing = asyncio.create_task(one.sync(EDITOR, "wiki", READERS))
        await asked.wait()
        async with asyncio.timeout(30):
            if gesture == "pause":
                await other.pause(EDITOR, "wiki", READERS)
            else:
                assert await other.remove(EDITOR, "wiki", READERS, keep=False) == 0
            with pytest.raises(SourceError, match="paused or removed"):
                await syncing
        found = [(status.source.state, status.source.trouble) for status in await other.listed(READERS)]
        assert found == ([("paused", None)] if gesture == "pause" else [])


@asynccontextmanager
async def overheard(engine: AsyncEngine, channel: str) -> AsyncIterator[asyncio.Queue[str | None]]:
    """All that the processes of a database say to each other on a channel."""
    signals, words = Signals(engine), asyncio.Queue[str | None]()
    signals.listen(channel, words.put_nowait)
    async with beside(signals.hear()):
        assert await asyncio.wait_for(words.get(), 30) is None  # it listens
        yield words
    await engine.dispose()


async def test_a_source_is_removed_once_another_process_has_let_it_go(
    home: Home, clock: Clock, server_url: str
) -> None:
    engine = connect(server_url)
    store = FollowedSources(engine)
    async with another(home, clock, server_url, "other") as other, overheard(engine, "source-stop") as words:
        source = await other.add(EDITOR, NewSource("folder", str(home.tree("folder").path), name="wiki"))
        assert await store.claim(source.id, owner="one", now=clock(), until=clock() + timedelta(minutes=2))
        removing = asyncio.create_task(other.remove(EDITOR, "wiki", READERS, keep=False))
        for _ in range(2):  # the second time it has found that it is another's
            async with beside(words.get()) as said:
                await asyncio.wait({removing, said}, return_when=asyncio.FIRST_COMPLETED)
                assert said.done()
        await store.leave(source.id, owner="one")
        assert await asyncio.wait_for(removing, 30) == 0


# -- by itself ---------------------------------------------------------------------------------------------------------


@BOTH
async def test_changes_are_followed_without_a_word(home: Home, kind: str, clock: Clock) -> None:
    tree = home.tree(kind)
    tree.write(a_md="Pier one.")
    await home.sources.add(EDITOR, NewSource(kind, str(tree.path), name="wiki"))  # type: ignore[arg-type]
    watching = asyncio.create_task(home.sources.watch())
    try:

        async def there(*texts: str) -> bool:
            clock.now += timedelta(seconds=EVERY["git"])
            return await home.library.found("pier") == sorted(texts)

        await until(lambda: there("Pier one."))
        tree.write(b_md="Pier two.")
        await until(lambda: there("Pier one.", "Pier two."))
        await home.sources.pause(EDITOR, "wiki", READERS)
        tree.write(a_md="Pier three.")
        await home.sources.resume(EDITOR, "wiki", READERS)
        await until(lambda: there("Pier three.", "Pier two."))
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


class Full(FollowedSources):
    """On a disk that is full for a while, which is noticed when a change is to be noted."""

    full, refused = True, 0

    async def hurry(self, id: str, now: datetime) -> None:
        if self.full:
            self.refused += 1
            raise StoreError(Text(en="No space left.", ja="空きがありません。"))
        await super().hurry(id, now)


async def test_a_clock_that_is_put_right_makes_no_source_wait_for_years(home: Home, clock: Clock) -> None:
    tree, right = home.tree("git"), clock.now
    tree.write(a_md="Pier one.")
    clock.now += timedelta(days=3650)
    await home.follow(tree)
    clock.now = right
    tree.write(b_md="Pier two.")
    watching = asyncio.create_task(home.sources.watch())
    try:

        async def there() -> bool:
            (source,) = await home.store.listed()
            return len(await home.library.found("pier")) == 2 and source.due_at <= right + timedelta(days=1)

        await until(there)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def test_a_change_that_could_not_be_noted_at_once_is_followed_all_the_same(home: Home, clock: Clock) -> None:
    tree, library = home.tree("folder"), home.library
    tree.write(a_md="Pier one.")
    store = Full(library.engine)
    sources = Sources(
        settings(home.folder / "home"), store, library.knowledge, library.documents, owner="me", clock=clock
    )
    await sources.add(EDITOR, NewSource("folder", str(tree.path), name="wiki"))
    watching = asyncio.create_task(sources.watch())
    try:
        await until(lambda: library.found("pier"), lambda found: found == ["Pier one."])
        number = count()

        async def noticed() -> bool:  # as soon as it is watched
            if not store.refused:
                tree.write(b_md=f"Pier two, {next(number)}.")
            return bool(store.refused)

        await until(noticed)
        store.full = False
        await until(lambda: library.found("pier"), lambda found: len(found) == 2)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


class Shared(FollowedSources):
    """As on a server, where several machines look."""

    shared = True


async def test_a_folder_is_looked_at_by_the_machine_that_has_it(home: Home, clock: Clock) -> None:
    folder = home.folder / "home" / "notes"
    folder.mkdir()
    await home.sources.add(EDITOR, NewSource("folder", str(folder), name="notes"))
    clock.now += timedelta(seconds=1)
    tree = home.tree("git")
    tree.write(a_md="Pier one.")
    await home.sources.add(EDITOR, NewSource("git", str(tree.path), name="wiki"))
    library, elsewhere = home.library, settings(home.folder / "elsewhere")
    other = Sources(
        elsewhere, Shared(library.engine), library.knowledge, library.documents, owner="another", clock=clock
    )
    watching = asyncio.create_task(other.watch())
    try:

        async def notes() -> FollowedSource:
            return next(one for one in await home.store.listed() if one.name == "notes")

        async def piers() -> bool:
            return await library.found("pier") == ["Pier one."]

        async def told() -> bool:
            return (await notes()).trouble is not None

        await until(piers)
        assert ((await notes()).failures, (await notes()).checked_at) == (0, None)
        clock.now += timedelta(minutes=11)
        await until(told)
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def test_a_site_that_does_not_answer_holds_up_no_other_source(home: Home, clock: Clock) -> None:
    tree = home.tree("folder")
    tree.write(a_md="Pier one.")
    async with silent_site() as (site, asked):
        await home.sources.add(EDITOR, NewSource("website", site, name="a site"))
        async with beside(home.sources.watch()):
            await asked.wait()
            await home.sources.add(EDITOR, NewSource("folder", str(tree.path), name="wiki"))

            async def there() -> bool:
                return await home.library.found("pier") == ["Pier one."]

            await until(there)


async def test_no_more_than_a_few_sources_are_synced_side_by_side(
    home: Home, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources_module, "SIDE_BY_SIDE", 2)
    over = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await over.wait()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    for name in "abc":
        await home.sources.add(EDITOR, NewSource("website", f"http://127.0.0.1:{port}/{name}/", name=name))
    syncing: dict[str, asyncio.Task[None]] = {}
    for _ in range(2):
        await home.sources._look({}, syncing)
        assert len(syncing) == 2
    first = set(syncing)
    over.set()
    await asyncio.gather(*syncing.values())
    await home.sources._look({}, syncing)
    assert len(syncing) == 1 and not first & syncing.keys()
    await asyncio.gather(*syncing.values())
    server.close()
    await server.wait_closed()


@BOTH
async def test_a_name_does_nothing_to_a_terminal_or_a_reader(home: Home, kind: str) -> None:
    tree = home.tree(kind)
    (tree.path / "a\x1b]0;title\x07\x1b[31m.md").write_text("")
    (tree.path / "b\u202efdp.md").write_text("Pier one.")
    tree.commit()
    report = await home.follow(tree)
    (status,) = await home.sources.listed(READERS)
    assert [ref for ref, _ in report.refused] == [ref for ref, _ in status.refused] == ["a]0;title.md"]
    assert await home.names() == ["bfdp.md"]
    (tree.path / "b\u202efdp.md").write_text("Pier two.")
    tree.commit()
    report = await home.sync()
    assert (report.added, report.replaced) == (0, 1)


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems have names of Unicode only")
@BOTH
async def test_names_that_are_no_utf8_are_followed_each_as_one_of_its_own(home: Home, kind: str) -> None:
    tree = home.tree(kind)
    names = (b"caf\xe9.md", b"caf\xe8.md", rb"caf\xe9.md")
    for name in names:
        (tree.path / os.fsdecode(name)).write_text(f"Pier {names.index(name)}.")
    tree.write(harbour_md="Pier nine.")
    report = await home.follow(tree)
    assert (report.added, report.replaced, report.refused, report.failed) == (4, 0, [], [])
    assert await home.library.found("pier") == ["Pier 0.", "Pier 1.", "Pier 2.", "Pier nine."]
    (source,) = await home.store.listed()
    assert {*await home.store.pages(source.id)} == {r"caf\xe9.md", r"caf\xe8.md", r"caf\\xe9.md", "harbour.md"}
    moved = {row.name: row.id for row in await home.library.documents.listed()}
    tree.move(os.fsdecode(b"caf\xe8.md"), "pier.md")
    assert (await home.sync()).renamed == 1
    assert {row.name: row.id for row in await home.library.documents.listed()}["pier.md"] == moved[r"caf\xe8.md"]


async def told(home: Home) -> dict[str, str]:
    """What the documents say, by name."""
    rows = await home.library.documents.listed()
    return {row.name: (await home.library.knowledge.markdown(row)).strip() for row in rows}


async def test_of_names_that_read_alike_each_page_keeps_its_own_document(home: Home) -> None:
    source = await followed(home)
    memory = Memory({"a.md": "One.", "\u200ba.md": "Two.", "a\u200b.md": "Three.", "b.md": "Four."})
    report = (await synced(home, source, memory)).report
    assert (report.added, report.replaced) == (4, 0)
    said = {"a.md": "One.", "a (2).md": "Two.", "a (3).md": "Three.", "b.md": "Four."}
    assert await told(home) == said
    memory.texts |= {"\u200ba.md": "Two, too.", "a\u200b.md": "Three, too."}
    await synced(home, source, memory)
    said |= {"a (2).md": "Two, too.", "a (3).md": "Three, too."}
    assert await told(home) == said
    del memory.texts["a.md"]
    memory.texts["\u200ba.md"] = "Two still."  # while the first one is going
    await synced(home, source, memory)
    del said["a.md"]
    said["a (2).md"] = "Two still."
    assert await told(home) == said
    ids = {row.name: row.id for row in await home.library.documents.listed()}
    memory.texts |= {"a\u200b.md": "Three still.", "a.md": "One again."}
    assert (await synced(home, source, memory)).report.added == 1
    del said["a (3).md"]
    assert await told(home) == said | {"a.md": "Three still.", "a (3).md": "One again."}  # a name that is free is taken
    assert {row.name: row.id for row in await home.library.documents.listed()}["a.md"] == ids["a (3).md"]
    assert (await synced(home, source, memory)).report == SyncReport(pages=4)


@BOTH
async def test_a_page_that_is_renamed_to_a_name_that_reads_alike_is_numbered(home: Home, kind: str) -> None:
    tree = home.tree(kind)
    tree.write(a_md="One.", b_md="Two.")
    await home.follow(tree)
    ids = {row.name: row.id for row in await home.library.documents.listed()}
    tree.move("b.md", "a\u200b.md")
    report = await home.sync()
    assert (report.renamed, report.added, report.removed) == (1, 0, 0)
    assert await told(home) == {"a.md": "One.", "a (2).md": "Two."}
    tree.move("a.md", "c.md")
    await home.sync()
    tree.write(**{"a\u200b_md": "Two, too."})
    await home.sync()
    assert await told(home) == {"a.md": "Two, too.", "c.md": "One."}
    assert {row.name: row.id for row in await home.library.documents.listed()} == {
        "a.md": ids["b.md"],
        "c.md": ids["a.md"],
    }


async def test_pages_that_share_a_document_get_one_each(home: Home) -> None:
    source = await followed(home)
    memory = Memory({"a.md": "One.", "b.md": "Two."})
    await synced(home, source, memory)
    pages = await home.store.pages(source.id)
    (row,) = [row for row in await home.library.documents.listed() if row.name == "b.md"]
    await home.library.knowledge.forget(row.id)
    await home.store.note(source.id, "b.md", replace(pages["b.md"], document=pages["a.md"].document))
    memory.texts["c.md"] = "Three."
    await synced(home, source, memory)
    assert await told(home) == {"a.md": "One.", "b.md": "Two.", "c.md": "Three."}


async def test_a_page_with_another_name_keeps_its_document(home: Home) -> None:
    source = await followed(home)
    await synced(home, source, Memory({"a.md": "One."}))
    (before,) = await home.library.documents.listed()
    await synced(home, source, Memory({"a.md": "Two."}, ending=".txt"))
    (row,) = await home.library.documents.listed()
    assert (row.id, row.name) == (before.id, "a.md.txt")


async def test_a_branch_that_was_pushed_anew_is_followed_to_where_it_is(home: Home) -> None:
    tree = home.tree("git")
    tree.write(a_md="One.", b_md="Two.")
    await home.follow(tree)
    tree.git("checkout", "--quiet", "--orphan", "anew")
    tree.write(b_md="Three.", a_md="One.", c_md="Four.")
    tree.git("branch", "--quiet", "-M", "anew", "main")
    report = await home.sync()
    assert (report.added, report.replaced, report.removed) == (1, 1, 0)
    assert await home.names() == ["a.md", "b.md", "c.md"]


async def test_names_and_scopes_are_checked(home: Home) -> None:
    tree = home.tree("folder")
    tree.write(a_md="A.")
    await home.follow(tree)
    first = (await home.store.listed())[0]
    assert (await home.sources.add(EDITOR, NewSource("folder", str(tree.path), name="wiki"))).id == first.id
    for wrong in (
        NewSource("folder", str(tree.path.parent), name="wiki"),
        NewSource("folder", str(tree.path), name="../x"),
        NewSource("folder", str(tree.path), name="x", scope="nobody"),
        NewSource("folder", str(tree.path), name="x", every=1),
        NewSource("folder", str(tree.path / "none"), name="x"),
    ):
        with pytest.raises(RAGToolError):
            await home.sources.add(EDITOR, wrong)
    with pytest.raises(SourceError):
        await home.sync("nothing")
    assert replace((await home.store.listed())[0], name="").collection == "wiki"


@pytest.mark.parametrize(
    ("channel", "name"), [("📢-announcements", "announcements"), ("💬│雑談・質問", "雑談-質問"), ("📢", "source")]
)
async def test_a_channel_is_a_source_whatever_signs_are_in_its_name(home: Home, channel: str, name: str) -> None:
    found = Recipient(Place("discord", "1", "2"), Audience("public"), f"#{channel}")

    class Found:
        async def find(self, recipient: str) -> Recipient:
            return found

    ready = asyncio.Event()
    ready.set()
    history = cast(ChannelHistory, Found())
    async with beside(home.sources.channels.read("discord", history, ready)) as reading:
        while not home.sources.channels.serves("discord:2"):
            await asyncio.wait({reading}, timeout=0)
        assert (await home.sources.follow(EDITOR, found.place)).name == name


async def test_what_was_said_has_the_team_s_day(home: Home) -> None:
    at = datetime(2026, 3, 2, 23, 30, tzinfo=UTC)
    people = Actor("slack", "T", "U1"), Actor("slack", "T", "U2")
    here = Recipient(Place("slack", "T", "C1"), Audience("public"), "#x")

    class Held:
        async def thread(self, place: Place, root: str) -> Thread:
            return Thread("1", tuple(Said(one.id, at, one.id, "So.", one) for one in people))

    async with beside(home.sources.channels.read("slack", cast(ChannelHistory, Held()), asyncio.Event())) as reading:
        await asyncio.wait({reading}, timeout=0)
        home.sources.channels.zone = ZoneInfo("Asia/Tokyo")
        source = ChannelSource(home.sources.channels, await followed(home), here)
        fetched = await source._fetch(SourcePage("1", "read", "x"))
    assert (fetched.changed_at, fetched.version) == ("2026-03-03", at.isoformat())


async def test_a_name_is_written_as_everybody_types_it(home: Home) -> None:
    """The file systems of a Mac write か and ゛ for が."""
    tree = home.tree("folder", unicodedata.normalize("NFD", "ガイド集"))
    tree.write(a_md="A.")
    source = await home.sources.add(EDITOR, NewSource("folder", str(tree.path)))
    assert (source.name, source.collection) == ("ガイド集", "ガイド集")
    assert (await home.sync("ガイド集")).added == 1
    await home.sources.add(EDITOR, NewSource("folder", str(tree.path), unicodedata.normalize("NFD", "ブログ")))
    assert (await home.sync("ブログ")).pages == 1


async def test_a_folder_that_cannot_be_reached_is_said_in_words(home: Home) -> None:
    """So it is below one that nobody may look into, too."""
    source = FolderSource(home.folder / ("x" * 300), PageFilter(), home.folder)
    with pytest.raises(SourceError, match=r"name too long|is not there"):
        await source.look(None, {}).__aenter__()


async def test_a_document_that_was_uploaded_into_a_source_s_place_is_not_taken_back(home: Home) -> None:
    tree = home.tree("folder")
    tree.write(a_md="By the source.")
    await home.follow(tree, collection="docs")
    await home.library.knowledge.add(Upload("a.md", b"By hand.", "docs", TEAM, "U1"), "en")
    tree.write(a_md=None, b_md="More.")
    await home.sync()
    assert await home.names() == ["a.md", "b.md"]
