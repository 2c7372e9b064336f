"""Every page in a real browser: in both languages, light and dark, on a desk and on a phone, empty and in use."""

import re

import pytest
from playwright.async_api import Page, expect

from adapters.shared import expert_answers, feedback
from bot.texts import COMPLAINTS
from tests.browser.acts import ROOM, THREAD, TRACE, ask, confirm, look_into
from tests.browser.conftest import Visit, ready, shoot, too_wide
from tests.browser.looks import nameless, repeated_ids, tabbed, weak_texts

pytestmark = pytest.mark.asyncio(loop_scope="module")

PAGES = (
    "channel",
    "unanswered",
    "answers",
    "documents",
    "sources",
    "changed",
    "search",
    "pairs",
    "datasets",
    "metrics",
    "guide",
)


def path_of(name: str) -> str:
    return "/" if name == "channel" else f"/{name}"


async def looked_at(page: Page, name: str) -> None:
    """What holds of every page, and its picture."""
    await settled(page)
    await shoot(page, name)
    assert await page.locator(".kotae-problem").count() == 0
    assert await too_wide(page) == 0
    assert await weak_texts(page) == []
    assert await nameless(page) == []
    assert await repeated_ids(page) == []
    assert await page.locator(".kotae-chart [aria-label]").count() == 0  # in the drawing library's own English
    title = await page.locator("h1").inner_text()
    assert await page.title() == f"{title} – Kotae"
    if not name.startswith("trace"):
        here = await page.locator(".kotae-nav [aria-current=page]").text_content()
        assert here is not None and here.endswith(title)  # after its icon


async def settled(page: Page) -> None:
    """Fonts are there, nothing fades in or out, charts are drawn over their whole width."""
    await page.evaluate("document.fonts.ready.then(() => null)")
    await page.wait_for_function("!document.querySelector('[class*=-enter-active], [class*=-leave-active]')")
    await page.wait_for_function(
        """() => document.getAnimations().every((one) => one.playState !== 'running' ||
            one.effect.getComputedTiming().endTime === Infinity)"""
    )
    await page.wait_for_function(
        """() => [...document.querySelectorAll('.kotae-chart')].every((chart) =>
            Math.abs((chart.querySelector('canvas')?.clientWidth ?? -9) - chart.clientWidth) < 2)"""
    )


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_that_nobody_has_used(visit: Visit, name: str) -> None:
    page = await visit(path_of(name))
    await looked_at(page, f"{name}-empty")


async def test_it_is_used(visit: Visit) -> None:
    """So that the pages after this one have something to show."""
    page = await visit("/")
    await ask(page, "How many reviews does a change need, and what is the command for a rollback?")
    answer = await ask(page, "How much is the daily allowance for an overnight business trip?")
    await answer.get_by_role("button", name=feedback.DOWN.en).click()
    await page.get_by_role("dialog").get_by_role("radio", name=COMPLAINTS["incomplete"].en).click()
    await page.get_by_role("dialog").get_by_label(feedback.TEXT.en).fill("And abroad?")
    await confirm(page)
    await ask(page, "When does the ferry to the penguin island leave?")
    page = await visit("/", member="ben", language="ja")
    await ask(page, "ペンギンの平均寿命は何年ですか？")
    await ask(page, "出張の日当はいくらですか？")


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_in_use(visit: Visit, name: str) -> None:
    path = path_of(name)
    page = await visit(path)
    english = await page.title()
    assert await page.evaluate("document.documentElement.lang") == "en-US"
    await looked_at(page, f"{name}-en-light")
    page = await visit(path, language="ja", dark=True)
    assert await page.title() != english
    assert await page.evaluate("document.documentElement.lang") == "ja"
    assert await page.evaluate("document.body.classList.contains('body--dark')")
    await looked_at(page, f"{name}-ja-dark")
    page = await visit(path, language="ja", width=390)
    await looked_at(page, f"{name}-ja-phone")


async def test_a_thread_its_trace_and_its_forms(visit: Visit) -> None:
    for dark in (False, True):
        language = "ja" if dark else "en"
        page = await visit("/", language=language, dark=dark)
        await page.locator(".kotae-pane-room .kotae-message .kotae-replies").first.click()
        answer = page.locator(f"{THREAD} .kotae-message").last
        await look_into(answer.locator(".kotae-source").first)
        await looked_at(page, f"thread-{language}")
        await page.locator(".kotae-rooms").get_by_role("button").click()
        await expect(page.get_by_role("dialog")).to_be_visible()
        await settled(page)
        assert await weak_texts(page) == []
        assert await nameless(page) == []
        await shoot(page, f"options-{language}")
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_be_hidden()
        await page.locator(f"{THREAD} {TRACE}").first.click()
        await ready(page)
        await look_into(page.locator(".kotae-source").first)
        await looked_at(page, f"trace-{language}")
    page = await visit(page.url.partition("/app")[2], language="ja", width=390)
    await looked_at(page, "trace-ja-phone")


async def test_forms_have_names(visit: Visit) -> None:
    page = await visit("/unanswered")
    answer = page.get_by_role("button", name=expert_answers.TITLE.en).first
    for button in (answer, answer.locator("xpath=following-sibling::button")):
        await button.click()
        await expect(page.get_by_role("dialog")).to_be_visible()
        await settled(page)
        assert await nameless(page) == []
        assert await weak_texts(page) == []
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_be_hidden()


async def test_search_side_by_side(visit: Visit) -> None:
    page = await visit("/search")
    await page.get_by_role("textbox").first.fill("rollback command")
    await page.get_by_role("textbox").first.press("Enter")
    await expect(page.locator(".kotae-hit").first).to_be_visible()
    await looked_at(page, "search-found-en-light")


@pytest.mark.parametrize("name", PAGES)
async def test_a_page_by_keyboard_alone(visit: Visit, name: str) -> None:
    page = await visit(path_of(name))
    stops = await tabbed(page, 30)
    assert stops[0]["text"] == "Skip to the content"
    links = 2 if name == "channel" else 1  # that skip something
    assert stops[links]["text"] == "Menu", "the header comes first"
    assert not [stop for stop in stops if stop["in_page"] and (stop["hidden"] or not stop["shown"])]
    await page.evaluate("document.activeElement.blur()")
    await page.locator(".kotae-skip").first.focus()
    await page.keyboard.press("Enter")
    await page.keyboard.press("Tab")
    within = await page.evaluate("document.querySelector('#content').contains(document.activeElement)")
    assert within or not await page.locator("#content :is(a, button, input)").count()


async def test_the_message_field_has_the_focus_and_is_two_tabs_away(visit: Visit) -> None:
    page = await visit("/")
    await page.keyboard.type("Nobody asked.")
    field = page.locator(f"{ROOM} textarea")
    await expect(field).to_have_value("@kotae Nobody asked.")
    stops = await tabbed(page, 2)
    assert stops[1]["text"] == "Skip to the message field" and stops[1]["left"] >= 0
    await page.keyboard.press("Enter")
    await expect(field).to_be_focused()
    await page.locator(f"{ROOM} .kotae-replies").last.click()
    reply = page.locator(f"{THREAD} textarea")
    await expect(reply).to_be_focused()
    await tabbed(page, 2)
    await page.keyboard.press("Enter")
    await expect(reply).to_be_focused()  # where the conversation is
    await page.get_by_role("button", name="Close the thread").click()
    await expect(field).to_be_focused()


async def test_what_is_not_confirmed_leaves_the_focus_where_it_was(visit: Visit) -> None:
    page = await visit("/", member="ben")  # whose question is the last
    await page.locator(f"{ROOM} .kotae-replies").last.click()
    await expect(page.locator(f"{THREAD} textarea")).to_be_focused()
    delete = page.locator(f"{THREAD} .kotae-own").get_by_role("button", name="Delete").first
    await delete.focus()
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("dialog")).to_contain_text("Delete this message?")
    await settled(page)
    await page.keyboard.press("Escape")
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await expect(delete).to_be_focused()


async def test_times_are_the_browsers_from_the_first_look_on(visit: Visit) -> None:
    page = await visit("/documents?collection=sample")  # of a browser that has never been here
    shown = page.locator("time").first
    await expect(shown).to_have_attribute("title", re.compile(r"\(Asia/Tokyo\)$"))
    local = await shown.evaluate("(time) => new Date(time.dateTime).toLocaleString('sv-SE')")
    assert (await shown.get_attribute("title")) == f"{local} (Asia/Tokyo)"
    assert local.startswith(await shown.inner_text())


async def test_a_source_opens_its_document_at_the_sentence(visit: Visit) -> None:
    page = await visit("/", language="ja", dark=True)
    await page.locator(f"{ROOM} .kotae-message", has_text="日当").locator(".kotae-replies").click()
    source = page.locator(f"{THREAD} .kotae-cited").first
    quote = await source.locator(".q-item__label--caption").inner_text()
    await source.get_by_role("link", name="文書で表示").click()
    await page.wait_for_url("**/documents?document=*")
    await ready(page)
    marked = page.locator("mark")
    begun = re.escape(quote.removesuffix("…"))
    await expect(marked).to_have_text(re.compile(f"^{begun}.*。$"))  # the whole sentence
    await expect(marked).to_be_in_viewport()
    await expect(page.locator(".kotae-pointed")).to_be_focused()
    assert await page.title() == f"{await page.locator('h1').inner_text()} – Kotae"
    assert await weak_texts(page) == [] and await too_wide(page) == 0
    await shoot(page, "document-ja-dark")


async def test_colours_of_the_system_show_what_is_chosen(visit: Visit) -> None:
    page = await visit("/")
    await page.emulate_media(forced_colors="active")
    for chosen in (".kotae-nav .kotae-here", ".kotae-room.kotae-here", ".kotae-choice.kotae-chosen"):
        kept = await page.locator(chosen).first.evaluate("(one) => getComputedStyle(one).forcedColorAdjust")
        assert kept == "none", chosen  # its ground is not taken away
    await shoot(page, "channel-forced-colours")


@pytest.mark.parametrize("language", ["en", "ja"])
async def test_nothing_moves_for_those_who_have_told_their_system_so(visit: Visit, language: str) -> None:
    moving = """() => document.getAnimations().filter((one) => one.playState === "running"
        && one.effect.getComputedTiming().endTime > 10).map((one) => one.effect.target.className)"""
    page = await visit("/", language=language)
    await page.emulate_media(reduced_motion="reduce")
    await page.locator(".kotae-rooms button").click()  # a form, its button's ripple, the button's tooltip
    assert await page.evaluate(moving) == []
    form = page.get_by_role("dialog")
    await expect(form).to_be_visible()
    assert await page.evaluate(moving) == []
    await page.keyboard.press("Escape")
    await expect(form).to_be_hidden()


async def test_a_page_of_320_pixels_cuts_no_choice(visit: Visit) -> None:
    page = await visit("/guide", language="ja", width=320)  # 1280 at 400 %
    for choices in await page.locator(".kotae-header .kotae-choices").all():
        assert await choices.evaluate("(one) => one.scrollWidth <= one.clientWidth")


async def test_that_the_connection_is_lost_is_said_and_who_is_logged_out_is_shown_the_form(visit: Visit) -> None:
    page = await visit("/guide")
    await page.evaluate("document.getElementById('popup').ariaHidden = false")
    await expect(page.get_by_role("alert")).to_contain_text("Connection lost")
    async with page.expect_navigation():
        await page.evaluate(
            """() => { window.fetch = async () => ({status: 401});
                socket.listeners("connect_error").forEach((told) => told(new Error())); }"""
        )


async def test_the_menu_of_a_phone(visit: Visit) -> None:
    page = await visit("/guide", language="ja", width=390)
    item = page.locator(".kotae-nav a[href$='/documents']")
    await expect(item).not_to_be_in_viewport()
    await page.locator(".kotae-header button").first.click()
    await expect(item).to_be_in_viewport()
    await shoot(page, "menu-ja-phone")
    await item.click()
    await expect(page).to_have_url(re.compile("/app/documents$"))
    desk = await visit("/guide")
    item = desk.locator(".kotae-nav a[href$='/documents']")
    await expect(item).to_be_in_viewport()
    await desk.locator(".kotae-header button").first.click()
    await expect(item).not_to_be_in_viewport()
