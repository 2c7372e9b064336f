"""Sources on their page: an editor adds, pauses and removes them, what is gone is asked about, and others only look."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from nicegui import ui

from adapters.web.channel.rooms import MEMBERS, readers_of
from adapters.web.visitor import Site
from bot.records import AuditRecord
from bot.sources.sources import NewSource
from bot.store.followed import FollowedSource, FollowedSources
from bot.types import Actor
from retrieval.types import TEAM
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.hands import fill, press
from tests.adapters.web.pages.waiting import sees

AKI = readers_of(MEMBERS[0])
EDITOR = Actor("terminal", "", "terminal", "editor")


def written(folder: Path, pages: int) -> Path:
    folder.mkdir()
    for n in range(pages):
        (folder / f"page{n}.md").write_text(f"# Page {n}\n\nPier {n}.\n")
    return folder


async def follow(site: Site, folder: Path) -> None:
    await site.app.sources.remove(EDITOR, "sample", AKI, keep=True)
    await site.app.sources.add(EDITOR, NewSource("folder", str(folder), name="wiki"))
    await site.app.sources.sync(EDITOR, "wiki", AKI)


async def test_a_source_is_paused_resumed_synced_and_removed(visit: Visit, site: Site, tmp_path: Path) -> None:
    await follow(site, written(tmp_path / "wiki", 2))
    user = visit("aki")
    await user.open("/app/sources")
    await user.should_see("folder · 2 pages in wiki · followed")
    press(user, "pause")
    await sees(user, "· paused")
    press(user, "resume")
    await sees(user, "followed")
    (tmp_path / "wiki" / "more.md").write_text("# More\n\nMore.\n")
    press(user, "sync")
    await sees(user, "wiki: 3 pages; added 1, replaced 0")
    await sees(user, "folder · 3 pages in wiki · followed")  # its buttons are drawn anew
    press(user, "remove")
    await sees(user, "forget its 3 documents?")
    user.find(marker="yes").click()
    await sees(user, "Nothing is followed yet.")
    assert await site.app.data.documents.listed(AKI, collection="wiki") == []


async def test_a_document_of_a_removed_source_says_so_in_words(visit: Visit, site: Site, tmp_path: Path) -> None:
    await follow(site, written(tmp_path / "wiki", 1))
    (row,) = await site.app.data.documents.listed(AKI, collection="wiki")
    user = visit("aki")
    await user.open(f"/app/documents?document={row.id}")
    await user.should_see("Follows")
    await user.should_see("wiki")
    await site.app.sources.remove(EDITOR, "wiki", AKI, keep=True)
    for language, said in (("en", "no source any more"), ("ja", "同期を終えた文書")):
        user = visit("aki", language=language)
        await user.open(f"/app/documents?document={row.id}")
        await user.should_see(said)
        await user.should_not_see("source:")


async def test_what_is_gone_is_asked_about(visit: Visit, site: Site, tmp_path: Path) -> None:
    await follow(site, written(tmp_path / "wiki", 3))
    for page in (tmp_path / "wiki").iterdir():
        page.unlink()
    await site.app.sources.sync(EDITOR, "wiki", AKI)
    user = visit("aki", language="ja")
    await user.open("/app/sources")
    await user.should_see("3 ページが一度になくなりました")
    press(user, "keep")
    await sees(user, "同期中")
    assert len(await site.app.data.documents.listed(AKI, collection="wiki")) == 3


async def test_of_a_channel_what_is_gone_is_not_offered_to_be_kept(visit: Visit, site: Site) -> None:
    now = datetime.now(UTC)
    talk = FollowedSource("5" * 32, "talk", "channel", "slack:C1", {}, "talk", TEAM, 300, "slack:U1", now, now)
    store = FollowedSources(site.app.data.engine)
    await store.add(replace(talk, state="asks", gone=3), AuditRecord("slack:U1", "source add", "talk", "on"))
    for language, said in (("en", "3 threads are gone at once. Forget them?"), ("ja", "3 件のスレッドが一度に")):
        user = visit("aki", language=language)
        await user.open("/app/sources")
        await user.should_see(said)
        await user.should_see(marker="forget")
        await user.should_not_see(marker="keep")


async def test_a_repository_is_added_and_what_is_wrong_with_it_said(visit: Visit, site: Site) -> None:
    user = visit("aki")
    await user.open("/app/sources")
    press(user, "add")
    await sees(user, "such as https://github.com/team/handbook")
    user.find("Follow it").click()
    await sees(user, "“” is not an address of a repository that I follow")
    fill(user, "address", "/etc")
    user.find("Follow it").click()
    await sees(user, "can only be followed from the terminal")
    fill(user, "address", "https://127.0.0.1/handbook.git")
    user.find("Follow it").click()
    await sees(user, "git repository · 0 pages in handbook")
    source = await site.app.sources.get("handbook", AKI)
    assert (source.source.kind, source.source.added_by) == ("git", "web:aki")


async def test_only_a_repository_has_a_branch_and_a_folder(visit: Visit) -> None:
    user = visit("aki")
    await user.open("/app/sources")
    press(user, "add")
    await user.should_see(marker="branch")
    fill(user, "kind", "website")
    await user.should_see(marker="address")
    await user.should_not_see(marker="branch")
    await user.should_not_see(marker="folder")


async def test_who_is_no_editor_only_looks(visit: Visit, site: Site, tmp_path: Path) -> None:
    await follow(site, written(tmp_path / "wiki", 1))
    ben = visit("ben")
    await ben.open("/app/sources")
    await ben.should_see("folder · 1 page in wiki")
    assert not [one for one in ben.find(kind=ui.button).elements if one.text in ("Pause", "Remove", "Sync now")]


async def test_a_document_names_the_source_that_it_follows(visit: Visit, site: Site, tmp_path: Path) -> None:
    await follow(site, written(tmp_path / "handbook", 1))
    (page,) = await site.app.data.documents.listed(AKI, collection="wiki")
    user = visit("ben", language="ja")
    await user.open(f"/app/documents?document={page.id}")
    await sees(user, "wiki")
    assert len(user.find(content="wiki", kind=ui.label).elements) == 2  # also the collection
    await user.should_not_see(page.author)
