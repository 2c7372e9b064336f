"""The guide: what it says of this installation, in both languages, and that it gives nothing away."""

from nicegui import ui

from adapters.web.visitor import Site
from tests.adapters.web.pages.conftest import Visit


async def test_the_guide_in_both_languages(visit: Visit) -> None:
    user = visit()
    await user.open("/app/guide")
    for words in (
        "How an answer comes about",
        "extractive",
        "multilingual-e5-small",
        "7 documents, 57 chunks",
        "SQLite",
    ):
        await user.should_see(words)
    hrefs = {str(one.props["href"]) for one in user.find(kind=ui.link).elements}
    assert {"../openapi.json", "../readyz", "../metrics"} <= hrefs  # by whatever name this page was reached
    user = visit(language="ja")
    await user.open("/app/guide")
    for words in ("回答ができるまで", "文書 7 件、チャンク 57 件", "Slack と Discord は未設定です"):
        await user.should_see(words)


async def test_the_navigation_leads_to_every_page(visit: Visit, site: Site) -> None:
    user = visit("ben", "ja")
    for path in (
        "/app/",
        "/app/unanswered",
        "/app/documents",
        "/app/search",
        "/app/pairs",
        "/app/datasets",
        "/app/metrics",
    ):
        await user.open(path)
        await user.should_see("ガイド")
