"""Markup, scripts, templates and tricks of writing in everything people write or add: shown as the words they are."""

import asyncio
import json
import urllib.error
import urllib.request
from typing import Any

import pytest
from playwright.async_api import Page, expect

from adapters.shared import expert_answers, feedback
from tests.browser.acts import MESSAGES, ROOM, THREAD, TRACE, ask, confirm, drop, look_into, write
from tests.browser.conftest import Visit, ready, shoot, too_wide

pytestmark = pytest.mark.asyncio(loop_scope="module")

EVIL = (
    "</script><script>window.__pwned=1</script>"
    "<img src=x onerror=window.__pwned=2><svg onload=window.__pwned=3>"
    '<iframe srcdoc="<script>parent.__pwned=4</script>"></iframe>'
    "{{ window.__pwned=5 }} {{constructor.constructor('window.__pwned=6')()}}"
    "${window.__pwned=7} `;window.__pwned=8;` \\`${window.__pwned=9}\\` \\u003cimg src=x onerror=window.__pwned=10\\u003e"
    " [link](javascript:window.__pwned=11) ![picture](http://203.0.113.9/leak.png) <a href='javascript:window.__pwned=12'>a</a>"
    " <http://203.0.113.9/> <style>@import 'http://203.0.113.9/leak.css';body{display:none}</style>"
    ' <v-html v-html="\'x\'" @click="window.__pwned=13"> &lt;b&gt; <!-- --> \' " \u202e\u2066txt.exe\u2028\u2029'
)
DOCUMENT = f"# Pelican {EVIL}\n\nThe pelican ferry leaves at seven. {EVIL}\n\n```\n{EVIL}\n```\n\n| a | {EVIL} |\n|---|---|\n| b | {EVIL} |\n"
NAME = "pelican <img src=x onerror=window.__pwned=20> ${window.__pwned=21} `{{ window.__pwned=22 }}` \u202egpj.md"
COLLECTION = "ferries <img src=x onerror=window.__pwned=23> ${x}`{{ y }}"
PAGES = ("/", "/unanswered", "/documents", "/search", "/pairs", "/datasets", "/metrics", "/guide")


def post(address: str, path: str, value: dict[str, Any]) -> int:
    """Through the API, as a program does; its status."""
    request = urllib.request.Request(
        address + path, json.dumps(value).encode(), {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return int(response.status)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code


async def harmless(page: Page) -> None:
    """Nothing of it became a part of the page. That nothing of it ran, loaded or asked is `visit`'s to see."""
    await page.evaluate("new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    strange = "iframe, #content svg[onload], [onerror], [onload], [onclick], a[href^=javascript], [src*='203.0.113'], v-html, #content script, #content style"
    assert await page.locator(strange).count() == 0
    assert await page.locator("#content img").count() == 0
    assert await page.locator("#content").is_visible()


async def test_what_people_write_and_add_is_words(visit: Visit, address: str) -> None:
    aki = await visit("/")
    ben = await visit("/", member="ben")

    # a document with a name and a collection, dropped in the channel
    await drop(aki, NAME, DOCUMENT.encode())
    form = aki.get_by_role("dialog")
    field = form.get_by_role("combobox").first
    await field.fill(COLLECTION)
    await field.press("Enter")
    await confirm(aki)
    await expect(aki.locator(f"{ROOM} {MESSAGES}", has_text="pelican")).to_contain_text("✅")
    await harmless(aki)

    # a text that keeps its markup, through the API, and a collection with a description
    added = {"name": NAME.replace(".md", ".txt"), "text": DOCUMENT, "collection": "ferries"}
    assert await asyncio.to_thread(post, address, "/documents", added) == 201
    await aki.goto(f"{address}/app/documents")
    await ready(aki)
    await aki.locator("button", has=aki.get_by_text("add", exact=True)).first.click()
    fields = aki.get_by_role("dialog").get_by_role("textbox")
    await fields.first.fill(f"harbours {COLLECTION}")
    await fields.last.fill(EVIL)
    await confirm(aki)
    await expect(aki.get_by_text("{{ window.__pwned=5 }}").first).to_be_visible()
    await harmless(aki)
    await aki.goto(f"{address}/app/")
    await ready(aki)

    # a question, seen by others as it is written and answered
    await write(ben, f"When does the pelican ferry leave? {EVIL[:1500].replace(chr(0x2028), ' ')}")
    await expect(ben.locator(f"{THREAD} .kotae-votes")).to_be_visible()
    answer = ben.locator(f"{THREAD} {MESSAGES}").last
    await look_into(answer.locator(".kotae-source").first)
    await expect(aki.locator(f"{ROOM} {MESSAGES}", has_text="</script><script>")).to_be_visible()
    await harmless(ben)
    await harmless(aki)
    answer = await ask(aki, "When does the pelican ferry leave?")
    await expect(answer).to_contain_text("leaves at seven")
    await expect(await look_into(answer.locator(".kotae-source").first)).to_contain_text("{{ window.__pwned=5 }}")
    await harmless(aki)
    await shoot(aki, "hostile-thread")

    # a thumbs-down with words, in the unanswered; and an answer taught there
    await answer.get_by_role("button", name=feedback.DOWN.en).click()
    await aki.get_by_role("dialog").get_by_label(feedback.TEXT.en).fill(EVIL)
    await confirm(aki)
    await aki.goto(f"{address}/app/unanswered")
    await ready(aki)
    card = aki.locator(".kotae-card", has_text="When does the pelican ferry leave?").first
    await expect(card).to_be_visible()
    await harmless(aki)
    await shoot(aki, "hostile-unanswered")
    await (
        aki.locator(".kotae-card", has=aki.get_by_text("When does the pelican ferry leave?", exact=True))
        .get_by_role("button", name=expert_answers.TITLE.en)
        .click()
    )
    taught = aki.get_by_role("dialog").get_by_label(expert_answers.ANSWER.en, exact=True)
    await taught.fill(f"The pelican ferry leaves at eight. {EVIL}")
    await confirm(aki)
    await expect(aki.get_by_text(expert_answers.SAVED.to("en", n=1))).to_be_visible()
    await harmless(aki)

    # every page that shows any of it, from its first bytes
    for path in PAGES:
        await aki.goto(f"{address}/app{path}")
        await ready(aki)
        await harmless(aki)
        assert await too_wide(aki) == 0, path
    await aki.goto(f"{address}/app/search")
    await ready(aki)
    await aki.get_by_role("textbox").first.fill(f"pelican ferry {EVIL[:300]}")
    await aki.get_by_role("textbox").first.press("Enter")
    await expect(aki.locator(".kotae-hit").first).to_be_visible()
    await harmless(aki)
    await shoot(aki, "hostile-search")
    await aki.goto(f"{address}/app/")
    await ready(aki)
    await aki.locator(f"{ROOM} .kotae-replies").last.click()
    await aki.locator(f"{THREAD} {TRACE}").first.click()
    await ready(aki)
    await look_into(aki.locator(".kotae-source").first)
    await harmless(aki)
    await aki.goto(f"{address}/app/documents")
    await ready(aki)
    await expect(aki.get_by_text("pelican").first).to_be_visible()
    await harmless(aki)
    await shoot(aki, "hostile-documents")

    # the page of a document with such a name, from a source of an answer; and the question before it is forgotten
    await aki.goto(f"{address}/app/")
    await ready(aki)
    await aki.locator(f"{ROOM} .kotae-replies").last.click()
    await aki.locator(f"{THREAD} .kotae-to-document").first.click()
    await aki.wait_for_url("**/documents?document=*")
    await ready(aki)
    await expect(aki.locator("mark")).to_contain_text("Pelican </script")
    name = await aki.locator("h1").inner_text()
    assert name.startswith("pelican <img src=x") and "\u202e" not in name
    assert await aki.title() == f"{name} – Kotae"
    assert await too_wide(aki) == 0
    await harmless(aki)
    await aki.get_by_role("button", name="Forget").click()
    await expect(aki.get_by_role("dialog")).to_contain_text(f"・{name}")
    await harmless(aki)
    await shoot(aki, "hostile-document")
    await aki.get_by_role("dialog").get_by_role("button", name="Forget").click()
    await aki.wait_for_url("**/documents")
    await ready(aki)
    await expect(aki.get_by_role("link", name=name, exact=True)).to_have_count(0)


async def test_what_stands_in_an_address_is_words(visit: Visit, address: str) -> None:
    page = await visit("/")
    for path in (
        "/?room=%3C/script%3E%3Cscript%3Ewindow.__pwned=40%3C/script%3E&thread=1",
        "/?room=general&thread=%22);window.__pwned=41;(%22",
        "/metrics?days=%22%3E%3Cimg%20src=x%20onerror=window.__pwned=42%3E",
        "/guide?x=%60$%7Bwindow.__pwned=43%7D%60%5C",
        "/search?query=%3C/script%3E%3Cimg%20src=x%20onerror=window.__pwned=44%3E",
        "/documents?document=%3Cimg%20src=x%20onerror=window.__pwned=45%3E&collection=$%7B1%7D",
        "/trace/%7B%7B7*7%7D%7D",
        "/choose?language=en&back=%2Fapp%2F%3Fx%3D%3Cscript%3Ewindow.__pwned=46%3C%2Fscript%3E",
        "/choose?language=en&back=//203.0.113.9/",
    ):
        await page.goto(f"{address}/app{path}")
        await ready(page)
        await harmless(page)
        assert page.url.startswith(f"{address}/app/")
