"""The search playground: three kinds of search side by side, an answer from what was ticked, and past searches."""

import csv
import io
from typing import Any

import pytest
from nicegui import ui

from adapters.web.channel.rooms import ROOMS, place
from adapters.web.visitor import Site
from bot.access import scope_of
from bot.types import Upload
from retrieval.types import TEAM
from tests.adapters.acting import until
from tests.adapters.web.pages.conftest import Visit
from tests.adapters.web.pages.hands import fill, press
from tests.adapters.web.pages.waiting import sees

LEADS = scope_of(place(next(room for room in ROOMS if room.private)))
ALLOWANCE = "/app/search?q=出張の日当はいくらですか？&limit=3"


@pytest.fixture
def options() -> dict[str, Any]:
    return {"KOTAE_MIN_RELEVANCE": None}  # as it comes: the page shows it


async def added(site: Site, name: str, text: str, *, scope: str = TEAM) -> str:
    verdict = await site.app.knowledge.add(Upload(name, text.encode(), "港", scope, "aki"), "en")
    assert verdict.document_id, verdict.reason
    return verdict.document_id


async def test_three_columns_and_an_answer_from_what_is_ticked_alone(visit: Visit, site: Site) -> None:
    user = visit("ben", "ja")
    await user.open(ALLOWANCE)
    for mode in ("dense", "sparse", "hybrid"):
        with user.scope(marker=f"column-{mode}"):
            await user.should_see("ja/keihi-shuccho.md")
            await user.should_see("しきい値 0.25")
            await user.should_see("しきい値未満")
            await user.should_see("候補")
    with user.scope(marker="column-sparse"):
        await user.should_see("words ")
        await user.should_not_see("dense 0.", retries=1)
    press(user, "around-hybrid-1")
    await sees(user, "前後のチャンクを隠す")
    press(user, "around-hybrid-1")
    await sees(user, "前後のチャンク")

    user = visit("aki", "ja")
    await user.open(ALLOWANCE)
    await sees(user, "選択した 2 か所から回答")
    press(user, "answer")
    await sees(user, "出典")
    await user.should_see(marker="answer-answered")
    await user.should_see("[1] 経費精算と出張（sample）")
    document = await added(site, "harbour.md", "# Harbour\n\nThe harbour opens at nine o'clock.\n")
    cats = await added(site, "cats.md", "# Garden\n\nCats sleep in the garden all day.\n")
    await user.open("/app/search?q=When does the harbour open?&collection=港")
    for rank in (1, 2):
        fill(user, f"choose-hybrid-{rank}", False)
    await sees(user, "選択した 0 か所から回答")
    fill(user, "choose-hybrid-2", True)
    await sees(user, "選択した 1 か所から回答")
    press(user, "answer")
    await sees(user, "選択した箇所には、この質問の答えがありません。")
    assert (await site.app.data.conversations.totals()).turns == 0
    assert (await site.app.data.questions.open(site.app.readers.scopes)).shown == 0

    await site.app.knowledge.forget(cats)
    user = visit()
    await user.open("/app/search?q=When does the harbour open?&collection=港")
    await sees(user, "Answer from the chosen passages (1)")
    await site.app.knowledge.forget(document)
    press(user, "answer")
    await sees(user, "1 of the chosen passages are no longer there or have changed.")


async def test_private_and_hostile_documents(visit: Visit, site: Site) -> None:
    await added(site, "<i>x</i>.md", '# Harbour\n\nThe harbour `<img src=x onerror="alert(1)">` opens at nine.\n')
    await added(site, "secret.md", "# Harbour\n\nThe secret harbour opens at ten.\n", scope=LEADS)
    aki, ben = visit("aki"), visit("ben")
    for user in (aki, ben):
        await user.open("/app/search?q=When does the harbour open?&collection=港")
        await user.should_see("<i>x</i>.md")
        await user.should_see('onerror="alert(1)"')
        assert not user._gather_elements(ui.html, None, None, None)
    await aki.should_see("secret.md")
    await ben.should_not_see("secret", retries=1)
    await aki.open("/app/search?q=What is secret about the leads?")
    await ben.open("/app/search")
    await sees(ben, "When does the harbour open?")
    await ben.should_not_see("What is secret about the leads?", retries=1)  # Aki's searches may quote the private room
    press(ben, "search")
    await sees(ben, "Enter something to search for first.")
    await ben.should_not_see(marker="clear")


async def test_past_searches_as_a_file_and_cleared(visit: Visit, site: Site) -> None:
    user = visit("ben")
    await user.open("/app/search?q==1%2B1&limit=3")
    for words in ("Past searches", "=1+1"):
        await user.should_see(words)

    async def measured() -> bool:
        return (await site.app.data.searches.totals()).searches == 3

    await until(measured)
    press(user, "export")
    data = (await user.download.next(timeout=30)).content
    assert data.startswith(b"\xef\xbb\xbf")
    rows = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    assert rows[0][:3] == ["time", "query", "collection"] and [row[1] for row in rows[1:]] == ["'=1+1"] * 3
    editor = visit("aki")
    await editor.open("/app/search")
    await sees(editor, "3 searches by everyone")
    press(editor, "clear")
    await sees(editor, "Figures made from them go too.")
    press(editor, "yes")
    await sees(editor, "3 records cleared.")
    await editor.should_see("Nothing has been searched yet.")
    assert (await site.app.data.searches.totals()).searches == 0
