"""The documents page: what is there and who sees it, what each button does in the stores, and what is refused in
words."""

import asyncio
import html
import re
from datetime import UTC
from io import BytesIO

import httpx
from nicegui import ui
from nicegui.elements.mixins.text_element import TextElement
from nicegui.elements.upload_files import SmallFileUpload
from nicegui.testing import User

from adapters.web.channel.rooms import MEMBERS, ROOMS, place
from adapters.web.pages.shared.components import in_document
from adapters.web.pages.shared.curators import person
from adapters.web.visitor import Site, Visitor
from bot.access import scope_of
from bot.knowledge.curation import FILES
from bot.records import DocumentRow
from bot.store.audit import Audit
from bot.types import Upload
from retrieval.loaders.sanitize import clean_name
from retrieval.types import EVERYONE, TEAM
from tests.adapters.acting import until
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.hands import agree, choose_new, fill, press
from tests.adapters.web.pages.waiting import sees

LEADS = scope_of(place(next(room for room in ROOMS if room.private)))
HOSTILE = '# `<script>alert(1)</script>`\n\n`<img src=x onerror="alert(2)">` **harbour** {{ 7*7 }}\n'


async def added(site: Site, name: str, text: str, *, scope: str = TEAM, author: str = "aki", to: str = "港") -> str:
    verdict = await site.app.knowledge.add(Upload(name, text.encode(), to, scope, author), "en")
    assert verdict.document_id, verdict.reason
    return verdict.document_id


async def document(site: Site, name: str) -> DocumentRow | None:
    rows = await site.app.data.documents.listed(name=name)
    return rows[0] if rows else None


async def acted(site: Site) -> list[tuple[str, str]]:
    return [(trace.action, trace.result) for trace in await Audit(site.app.data.engine).listed()]


# -- what is seen ---------------------------------------------------------------------------------------------------


async def test_a_private_rooms_documents_are_a_number_to_others(visit: Visit, site: Site) -> None:
    await added(site, "salaries.md", "# Salaries\n\nSecret figures.\n", scope=LEADS, to="secret-shelf")
    document_id = await added(site, "open.md", "# Open\n\nFor all.\n")
    aki, ben = visit("aki"), visit("ben")
    await aki.open("/app/documents")
    for words in ("salaries.md", "secret-shelf", "open.md", "Members of “leads” only"):
        await aki.should_see(words)
    await ben.open("/app/documents")
    await sees(ben, "1 more belong to places you are not in.")
    await ben.should_see("open.md")
    for words in ("salaries.md", "secret-shelf", "leads", "New collection", "Merge collections"):
        await ben.should_not_see(words, retries=1)
    row = await document(site, "salaries.md")
    assert row
    await ben.open(f"/app/documents?document={row.id}")
    await sees(ben, "That is not there, or you cannot see it.")
    await ben.should_not_see("Secret figures.", retries=1)
    await aki.open(f"/app/documents?document={row.id}")
    await sees(aki, "Secret figures.")
    await ben.open(f"/app/documents?document={document_id}")
    await sees(ben, "For all.")
    await ben.should_not_see(marker="forget")


async def test_a_documents_text_stays_text_and_the_list_is_filtered_and_paged(visit: Visit, site: Site) -> None:
    body = HOSTILE + "\n\n".join(f"## 節 {n}\n\n" + f"港の規則 {n} です。" * 40 for n in range(15))
    document_id = await added(site, "<b>規則</b>.md", body)
    user = visit("aki", "ja")
    await user.open("/app/documents")
    await sees(user, "<b>規則</b>.md")
    await user.open(f"/app/documents?document={document_id}")
    await sees(user, '<img src=x onerror="alert(2)">')
    await user.should_see("公開範囲")
    assert not user._gather_elements(ui.html, None, None, None)  # nothing is rendered
    await user.should_not_see("節 13", retries=1)
    press(user, "more")
    await sees(user, "節 13")
    fill(user, "words", "規則 １４")
    await sees(user, "港の規則 14 です。")
    await user.should_not_see("節 13", retries=2)
    await user.open(f"/app/documents?document={document_id}&chunk=9")
    await sees(user, "節 8")
    press(user, "first")
    await sees(user, "onerror")

    for number in range(22):
        await added(site, f"page-{number:02}.md", f"# Page\n\nNumber {number}.\n", to="many")
    user = visit()
    await user.open("/app/documents?collection=many")
    await sees(user, "1–20 of 22")
    await user.should_not_see("page-21.md", retries=1)
    press(user, "next")
    await sees(user, "page-21.md")
    fill(user, "filter", "PAGE-07")
    await sees(user, "page-07.md")
    await user.should_not_see("page-08.md")


async def marked(user: User, least: int = 0) -> list[str]:
    """What is marked as quoted, once there is so much."""

    async def found() -> list[str]:
        return [one.text for one in user._gather_elements(TextElement, None, None, None) if one.tag == "mark"]

    return await until(found, lambda texts: len(texts) >= least)


async def test_a_document_opens_at_the_sentence_that_is_quoted(visit: Visit, site: Site) -> None:
    rule = "潜水艦は「毎年 3 月」に\n点検します。"
    body = "\n\n".join(f"## 節 {n}\n\n" + f"港の規則 {n} です。" * 40 for n in range(14))
    document_id = await added(site, "点検.md", f"# 点検\n\n{body}\n\n## 年次\n\n前の文です。{rule}後の文です。\n")
    row = await document(site, "点検.md")
    assert row is not None and row.chunks > 12
    user = visit("aki", "ja")
    quoted = "潜水艦は「毎年3月」に点検します。"
    await user.open(f"/app{in_document(document_id, row.chunks - 1, quoted)}")
    assert await marked(user, 1) == [rule]
    pointed = [card for card in user.find(kind=ui.column).elements if "kotae-pointed" in card.classes]
    assert len(pointed) == 1 and pointed[0].props["tabindex"] == "-1"
    await user.open(f"/app{in_document(document_id, 2, quoted)}")  # it was elsewhere when it was quoted
    assert await marked(user, 1) == [rule]
    await user.open(f"/app{in_document(document_id, 999, quoted)}")
    assert await marked(user, 1) == [rule]
    await user.open(f"/app{in_document(document_id, 3, '<script>alert(1)</script>')}")
    await sees(user, "引用された文はこの文書に見つかりません。")
    assert await marked(user) == []
    await user.open(f"/app{in_document(document_id, 3)}")
    await sees(user, "港の規則 2 です。")
    await user.should_not_see("引用された文", retries=1)

    secret = await added(site, "salaries.md", "# Salaries\n\nSecret figures of `<b>all</b>`.\n", scope=LEADS)
    await user.open(f"/app{in_document(secret, 0, 'Secret figures of <b>all</b>.')}")
    assert await marked(user, 1) == ["Secret figures of `<b>all</b"]
    ben = visit("ben")
    await ben.open(f"/app{in_document(secret, 0, 'Secret figures')}")
    await sees(ben, "That is not there, or you cannot see it.")
    assert await marked(ben) == [] and "Salaries" not in str(ben.client and ben.client.title)


async def test_a_hostile_file_name_is_words_everywhere(visit: Visit, site: Site) -> None:
    """On its own page, in its title, in questions and in notices."""
    given = (
        "x\" autofocus onfocus=alert(1) <img src=x onerror=alert(2)> \u202egnp.exe\n{{ 7*7 }}</title><script>'「」"
        + "長" * 300
    )
    shown = clean_name(f"{given}.md")
    assert len(shown) == 400 or (shown.endswith(".md") and "\u202e" not in shown and "\n" not in shown)
    user = visit("aki", "ja")
    await user.open("/app/documents")
    upload = next(iter(user.find(ui.upload).elements))
    with user:
        await upload.handle_uploads([SmallFileUpload(f"{given}.md", "", b"# Pier\n\nNine.\n")])
        job = site.app.curating.jobs(person(Visitor(MEMBERS[0], "ja", "auto", UTC)))[0]
        assert job.name == shown  # also while it is read
    await sees(user, f"✅ {shown}: ")
    row = await document(site, shown)
    assert row is not None
    await user.open(f"/app/documents?document={row.id}")
    await sees(user, "Nine.")
    (heading,) = user.find(kind=ui.label, marker="title").elements
    assert heading.text == shown
    page = await user.http_client.get(f"/app/documents?document={row.id}")
    title = re.search(r"<title>(.*?)</title>", page.text)
    assert title is not None and html.unescape(title[1]) == f"{shown} – Kotae" and "<img src=x" not in page.text
    press(user, "forget")
    await sees(user, f"・{shown}")
    press(user, "yes")
    await sees(user, f"「{shown}」を削除しました。")


# -- in -------------------------------------------------------------------------------------------------------------


async def test_files_and_a_text_go_in_with_a_verdict_each(visit: Visit, site: Site) -> None:
    user = visit("ben", "ja")
    await user.open("/app/documents")
    await sees(user, "ja/onboarding.md")
    upload = next(iter(user.find(ui.upload).elements))
    files = {"手順書.md": "# 手順\n\n潜水艦の手順です。\n".encode(), "photo.png": b"\x89PNG\r\n\x1a\n" + bytes(64)}
    choose_new(user, "collection", "手順")
    with user:
        for name, data in files.items():
            await upload.handle_uploads([SmallFileUpload(name, "", data)])
    await sees(user, "手順書.md: 手順 に追加しました（1 チャンク）")
    await sees(user, "photo.png: 追加できませんでした。")
    row = await document(site, "手順書.md")
    assert row and (row.collection, row.scope, row.author) == ("手順", TEAM, "ben")
    user.find("タイトル（空欄なら 1 行目）").type("潜水艦の話")
    with user:
        next(iter(user.find(ui.textarea).elements)).value = "潜水艦は 3 隻です。"
    press(user, "paste")
    await sees(user, "潜水艦の話.md: 手順 に追加しました（1 チャンク）")
    reloaded = visit("ben", "ja")
    await reloaded.open("/app/documents")
    await sees(reloaded, "潜水艦の話.md: 手順 に追加しました（1 チャンク）")
    other = visit("aki", "ja")
    await other.open("/app/documents")
    await other.should_not_see("photo.png: 追加できませんでした。", retries=1)
    assert ("ingest", "added") in await acted(site)

    user = visit()
    await user.open("/app/documents")
    await sees(user, "ja/onboarding.md")
    upload = next(iter(user.find(ui.upload).elements))
    client: httpx.AsyncClient = user.http_client
    sent = await client.post(
        f"/app{upload.props['url']}", files={"file": ("harbour.md", BytesIO(b"# Harbour\n\nNine.\n"))}
    )
    assert sent.status_code == 200

    async def there() -> bool:
        return await document(site, "harbour.md") is not None

    await until(there)


class Endless(SmallFileUpload):
    """A file that is never read to its end."""

    async def read(self) -> bytes:
        await asyncio.Event().wait()
        return b""


async def test_of_more_files_than_can_wait_each_is_named(visit: Visit, site: Site) -> None:
    for member, language, reason in (("aki", "ja", f"すでに {FILES} 件"), ("ben", "en", f"already have {FILES} files")):
        user = visit(member, language)
        await user.open("/app/documents")
        await sees(user, "ja/onboarding.md")
        upload = next(iter(user.find(ui.upload).elements))
        with user:
            await upload.handle_uploads([Endless(f"{n}.md", "", b"") for n in range(1, FILES + 3)])
        for n in (FILES + 1, FILES + 2):
            await sees(user, f"⚠️ {n}.md: ")
        await sees(user, reason)
        assert not user.notify.messages


# -- out, and for others --------------------------------------------------------------------------------------------


async def test_an_editor_changes_readers_indexes_anew_and_forgets_and_a_member_only_their_own(
    visit: Visit, site: Site
) -> None:
    document_id = await added(site, "plan.md", "# Plan\n\nThe harbour plan.\n", author="ben")
    user = visit("aki")
    await user.open("/app/documents?collection=港")
    await sees(user, "plan.md")
    fill(user, f"tick-{document_id}", True)
    await sees(user, "1 selected:")
    press(user, "rescope")
    await sees(user, "Everyone, guests and partners too")
    fill(user, "rescope-to", EVERYONE)
    press(user, "do")
    await sees(user, "Changed: Everyone, guests and partners too")
    row = await document(site, "plan.md")
    assert row and row.scope == EVERYONE
    before = await site.app.knowledge.generation()
    press(user, "reindex")
    await sees(user, "Re-indexing: plan.md: done (1 document)")
    assert await site.app.knowledge.generation() == before + 1
    press(user, "forget")
    await sees(user, "cannot be restored")
    user.find("Cancel").click()
    await asyncio.sleep(0)
    assert await document(site, "plan.md")
    press(user, "forget")
    await sees(user, "cannot be restored")
    press(user, "yes")
    await sees(user, "“plan.md” is forgotten.")
    assert await document(site, "plan.md") is None
    assert [action for action, _ in await acted(site)][:3] == ["forget", "reindex", "rescope"]

    own = await added(site, "mine.md", "# Mine\n\nMy harbour.\n", author="ben")
    others = await added(site, "yours.md", "# Yours\n\nYour harbour.\n", author="aki")
    user = visit("ben")
    await user.open("/app/documents?collection=港")
    await sees(user, "yours.md")
    await user.should_not_see(marker=f"tick-{others}")
    fill(user, f"tick-{own}", True)
    await sees(user, "1 selected:")
    press(user, "rescope")
    await sees(user, "There is no other audience you may choose for all of these.")


# -- collections ----------------------------------------------------------------------------------------------------


async def test_collections_are_made_and_merged_and_what_cannot_be_is_said(visit: Visit, site: Site) -> None:
    await added(site, "a.md", "# A\n\nHarbour a.\n", to="one")
    await added(site, "b.md", "# B\n\nHarbour b.\n", to="two")
    user = visit("aki", "ja")
    await user.open("/app/documents")
    await sees(user, "新しいコレクション")
    user.find("新しいコレクション").click()
    await sees(user, "名前")
    user.find(kind=ui.input, content="名前").type("港湾")
    press(user, "do")
    await sees(user, "保存しました。")
    await user.should_see(kind=ui.link, content="港湾")  # the form knows what the page shows
    before = await document(site, "a.md")
    user.find("コレクションを統合").click()
    await sees(user, "統合先（新しい名前も可）")
    fill(user, "merge-from", ["one", "two"])
    fill(user, "merge-into", "港湾")
    press(user, "do")
    await sees(
        user,
        "「one」（文書 1 件）、「two」（文書 1 件）を「港湾」（文書 0 件）に統合しますか？"
        "統合元のコレクションはなくなり、元に戻せません。",
    )
    agree(user, "キャンセル")
    await user.should_not_see(marker="yes")
    assert await document(site, "a.md") == before
    press(user, "do")
    await sees(user, "元に戻せません。")
    press(user, "yes")
    await sees(user, "文書 2 件を「港湾」に統合しました。")
    infos = await site.app.knowledge.collections(site.app.readers)
    assert {info.name: info.documents for info in infos} == {"sample": 7, "港湾": 2}
    found = await site.app.knowledge.search("harbour", site.app.readers, ("港湾",), mode="sparse")
    assert len({hit.passage.document for hit in (*found.hits, *found.rejected)}) == 2

    await added(site, "same.md", "# A\n\nOne text.\n", to="one")
    await added(site, "same.md", "# A\n\nAnother text.\n", to="two")
    user = visit()
    await user.open("/app/documents")
    await sees(user, "Merge collections")
    user.find("Merge collections").click()
    await sees(user, "Merge into (an existing or a new name)")
    press(user, "do")
    await sees(user, "Choose what to merge and what to merge it into.")
    fill(user, "merge-from", ["one"])
    fill(user, "merge-into", "two")
    press(user, "do")
    await sees(user, "Merge “one” (1 document) into “two” (1 document)?")
    press(user, "yes")
    await sees(user, "“one” and “two” both have a document of these names with different contents: same.md.")
    user.find("New collection").click()
    await sees(user, "Name")
    user.find(kind=ui.input, content="Name").type("a,b")
    press(user, "do")
    await sees(user, "A collection's name must have 1 to 80 characters")
    described = await site.app.knowledge.collections(site.app.readers)
    user.find(kind=ui.input, content="Name").clear().type("sample")
    press(user, "do")
    await sees(user, "There is already a collection of this name.")
    assert await site.app.knowledge.collections(site.app.readers) == described
    assert len(described) == 4


async def test_a_collection_is_indexed_anew_and_deleted(visit: Visit, site: Site) -> None:
    document_id = await added(site, "a.md", "# A\n\nHarbour a.\n", to="one")
    kept = await site.app.knowledge.document(document_id, site.app.readers)
    user = visit("aki", "ja")
    await user.open("/app/documents")
    await sees(user, "one")
    press(user, "reindex-one")
    await sees(user, "再インデックス: one: 完了（文書 1 件）")
    assert await site.app.knowledge.document(document_id, site.app.readers) != kept
    user.find("完了分を消去").click()
    await user.should_not_see("再インデックス: one")
    press(user, "delete-one")
    await sees(user, "「one」を文書 1 件とともに削除しますか？")
    agree(user, "キャンセル")
    assert await document(site, "a.md")
    press(user, "delete-one")
    await sees(user, "元に戻せません。")
    press(user, "yes")
    await sees(user, "「one」を削除しました（文書 1 件）。")
    assert await document(site, "a.md") is None
    assert [action for action, _ in await acted(site)][:2] == ["delete", "reindex"]


async def test_a_document_and_a_collection_have_an_owner(visit: Visit, site: Site) -> None:
    document_id = await added(site, "open.md", "# Open\n\nFor all.\n", author="ben")
    user = visit("ben")
    await user.open(f"/app/documents?document={document_id}")
    await sees(user, "Owner")
    press(user, "own")
    fill(user, "owner", "nobody at all")
    user.find(content="Save", kind=ui.button).click()
    await sees(user, "I cannot bring questions to “nobody at all”")
    fill(user, "owner", "<@U0BEN|ben>")
    user.find(content="Save", kind=ui.button).click()
    await sees(user, "slack:U0BEN")
    row = await document(site, "open.md")
    assert row and row.owner == "slack:U0BEN" and ("owner", "slack:U0BEN") in await acted(site)

    aki = visit("aki")
    await aki.open("/app/documents")
    await sees(aki, "港")
    press(aki, "edit-港")
    await sees(aki, "Who looks after it")
    fill(aki, "owner", "discord:123456789012345678")
    aki.find(content="Save", kind=ui.button).click()
    await sees(aki, "Looked after by discord:123456789012345678")
    owners = await site.app.data.documents.owners([document_id])
    assert owners == {document_id: ("slack:U0BEN", "ben")}


async def test_the_address_says_what_is_listed(visit: Visit, site: Site) -> None:
    for name, scope in (("ships.md", TEAM), ("piers.md", TEAM), ("salaries.md", LEADS)):
        await added(site, name, f"# {name}\n\nText.\n", scope=scope, to="港" if name != "piers.md" else "docs")
    user = visit("aki")
    await user.open("/app/documents?words=s.md&collection=港&scope=team&order=newest")
    await sees(user, "ships.md")
    for other in ("piers.md", "salaries.md"):
        await user.should_not_see(other, retries=1)
    await user.open("/app/documents?collection=nowhere&scope=place:web:local:other&order=sideways")
    for name in ("ships.md", "piers.md", "salaries.md"):
        await sees(user, name)


async def test_a_document_that_is_not_there_leads_to_those_that_are(visit: Visit) -> None:
    user = visit()
    await user.open("/app/documents?document=gone")
    await sees(user, "That is not there, or you cannot see it.")
    await user.should_see(kind=ui.link, content="All documents")


async def test_documents_are_moved_to_another_collection(visit: Visit, site: Site) -> None:
    document_id = await added(site, "ships.md", "# Ships\n\nText.\n")
    user = visit("aki")
    await user.open(f"/app/documents?document={document_id}")
    await sees(user, "Move")
    press(user, "move")
    await sees(user, "an existing or a new one")
    fill(user, "move-to", " ")
    user.find("Move here").click()
    await sees(user, "collection")
    fill(user, "move-to", "piers")
    user.find("Move here").click()
    await sees(user, "1 document is now in “piers”.")
    row = await document(site, "ships.md")
    assert row and row.collection == "piers" and ("move", "piers") in await acted(site)

    ben = visit("ben")
    await ben.open(f"/app/documents?document={document_id}")
    await sees(ben, "piers")
    await ben.should_not_see(marker="move")


async def test_what_others_add_shows_by_itself(visit: Visit, site: Site) -> None:
    await added(site, "first.md", "# First\n\nText.\n")
    user = visit("aki")
    await user.open("/app/documents")
    await sees(user, "first.md")
    await added(site, "second.md", "# Second\n\nText.\n")
    await sees(user, "second.md")


async def test_a_document_that_changes_while_it_is_read_shows_by_itself(visit: Visit, site: Site) -> None:
    document_id = await added(site, "pier.md", "# Pier\n\nShips moor at pier nine.\n")
    user = visit("ben")
    await user.open(f"/app/documents?document={document_id}")
    await sees(user, "pier nine")
    await added(site, "pier.md", "# Pier\n\nShips moor at pier ten.\n")
    await sees(user, "pier ten")
    await user.should_not_see("pier nine")


async def test_more_of_a_document_comes_once_however_often_it_is_asked_for(visit: Visit, site: Site) -> None:
    rows = "".join(f"Which crane is at berth {number}?,Crane {number}.\n" for number in range(35))
    document_id = await added(site, "cranes.csv", f"question,answer\n{rows}", author="ben")
    user = visit("ben")
    await user.open(f"/app/documents?document={document_id}")
    await sees(user, "berth 9?")
    for _ in range(2):
        press(user, "more")
    await sees(user, "berth 29?")
    shown = [str(one.text) for one in user.find(content="berth", kind=ui.label).elements]
    assert len(shown) == len(set(shown)) == 30
