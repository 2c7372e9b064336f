"""Every page in a real browser: in both languages, light and dark, on a desk and on a phone."""

import pytest

from tests.browser.conftest import OpenPage, shoot, wide

PAGES = {
    "channel": ("/", "Channel", "チャンネル"),
    "unanswered": ("/unanswered", "Unanswered", "未回答"),
    "documents": ("/documents", "Documents", "文書"),
    "search": ("/search", "Search", "検索"),
    "pairs": ("/pairs", "Q/A pairs", "Q/A ペア"),
    "datasets": ("/datasets", "Datasets", "データセット"),
    "metrics": ("/metrics", "Metrics", "計測"),
    "guide": ("/guide", "Guide", "ガイド"),
}


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_on_a_desk(visit: OpenPage, name: str) -> None:
    path, english, japanese = PAGES[name]
    page = await visit(path)
    assert await page.title() == f"{english} – Kotae"
    assert await page.locator(".kotae-problem").count() == 0
    assert await wide(page) <= 0
    await shoot(page, f"{name}-en-light")
    page = await visit(path, language="ja", dark=True)
    assert await page.title() == f"{japanese} – Kotae"
    assert await page.evaluate("document.documentElement.lang") == "ja"
    assert await page.evaluate("document.body.classList.contains('body--dark')")
    await shoot(page, f"{name}-ja-dark")


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_on_a_phone(visit: OpenPage, name: str) -> None:
    page = await visit(PAGES[name][0], language="ja", width=390)
    assert await wide(page) <= 0
    await shoot(page, f"{name}-ja-phone")
