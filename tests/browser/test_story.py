"""The whole story with a mouse and a keyboard: asked, watched, found wrong, answered by somebody who knows, asked
again."""

import re

import pytest
from playwright.async_api import FilePayload, Page, expect

from adapters.markdown.events import SOURCES, source_place
from adapters.shared import expert_answers, feedback
from bot.texts import COMPLAINTS
from retrieval.i18n import Language
from tests.bot.program import ROOT
from tests.browser.acts import MESSAGES, NOT_FOUND, ROOM, THREAD, TRACE, ask, confirm, drop, look_into, write
from tests.browser.conftest import Visit, ready, shoot, too_wide

pytestmark = pytest.mark.asyncio(loop_scope="module")

PDF = ROOT / "tests" / "files" / "SPARSE-2024-INV-1234_borderless_table.pdf"

# How many steps and how many answers the thread has had, at each change of the page.
WATCH = """() => { window.__seen = [];
 new MutationObserver(() => window.__seen.push([document.querySelectorAll('.kotae-thoughts .kotae-pre').length,
  document.querySelectorAll('.kotae-votes').length])).observe(document.body, {childList: true, subtree: true}); }"""


CLICK_TWICE = "(button) => { button.click(); button.click(); }"


async def watched(page: Page) -> list[tuple[int, int]]:
    return [(steps, answers) for steps, answers in await page.evaluate("window.__seen")]


async def test_a_room_begins_with_questions_to_click(visit: Visit) -> None:
    """The first test: nobody has said anything in the private room yet."""
    for width in (1280, 390):
        page = await visit("/?room=leads", language="ja", width=width)
        first = page.locator(".kotae-empty button").first
        await expect(first).to_be_visible()
        assert not await too_wide(page)
        await shoot(page, f"begin-{width}")
    text = (await first.inner_text()).strip()
    await first.evaluate(CLICK_TWICE)
    await expect(page.locator(f"{THREAD} .kotae-votes")).to_be_visible()
    await expect(page.locator(f"{ROOM} {MESSAGES}")).to_have_text([re.compile(re.escape(text))])


@pytest.mark.parametrize(
    ("language", "known", "cited", "passage", "unknown", "taught"),
    [
        (
            "en",
            "How many reviews does a change need before it is merged?",
            "Release procedure",
            "one of them from the team that owns the code",
            "When does the ferry to the lighthouse leave?",
            "The ferry to the lighthouse leaves at nine from pier seven.",
        ),
        (
            "ja",
            "出張の日当はいくらですか？",
            "経費精算と出張",
            "食事代は日当に含まれる",
            "ペンギンの平均寿命は何年ですか？",
            "ペンギンの平均寿命は、およそ20年です。",
        ),
    ],
    ids=["en", "ja"],
)
async def test_a_miss_becomes_an_answer(
    visit: Visit, language: Language, known: str, cited: str, passage: str, unknown: str, taught: str
) -> None:
    ben = await visit("/", member="ben", language=language)
    await ben.evaluate(WATCH)
    answer = await ask(ben, known)
    assert any(steps and not answers for steps, answers in await watched(ben)), "no step before the answer"
    growing = [steps for steps, answers in await watched(ben) if not answers]
    assert len(set(growing)) > 2, "the steps did not grow"

    # its source, by what it says
    await expect(answer).to_contain_text(SOURCES.to(language))
    source = answer.locator(".kotae-source").first
    await expect(source).to_contain_text(f"[1] {cited}{source_place('sample', None, language)}")
    await expect(await look_into(source)).to_contain_text(passage)

    # 👎, and why
    await answer.get_by_role("button", name=feedback.DOWN.to(language)).click()
    await ben.get_by_role("dialog").get_by_role("radio", name=COMPLAINTS["outdated"].to(language)).click()
    await confirm(ben)
    await expect(ben.get_by_text(feedback.NOTED.to(language))).to_be_visible()
    await expect(answer.get_by_role("button", name=feedback.DOWN.to(language))).to_have_attribute(
        "aria-pressed", "true"
    )
    await shoot(ben, f"story-voted-{language}")

    # what nobody knows is said to be so
    answer = await ask(ben, unknown)
    await expect(answer.locator(NOT_FOUND)).to_be_visible()

    # both are in the unanswered, where Aki knows better
    aki = await visit("/unanswered", language=language)
    reported, missed = (aki.locator(".kotae-card", has_text=text).first for text in (known, unknown))
    await expect(reported).to_be_visible()
    await missed.get_by_role("button", name=expert_answers.TITLE.to(language)).click()
    await aki.get_by_role("dialog").get_by_label(expert_answers.ANSWER.to(language), exact=True).fill(taught)
    await shoot(aki, f"story-answering-{language}")
    await confirm(aki)
    await expect(aki.get_by_text(expert_answers.SAVED.to(language, n=1))).to_be_visible()
    await expect(aki.locator(".kotae-card", has_text=unknown)).to_have_count(0)
    await expect(reported).to_be_visible()

    # Ben is told where he asked, without doing anything; asked again, it is known
    told = ben.locator(f"{THREAD} {MESSAGES}", has_text=taught)
    await expect(told).to_contain_text("Ben" if language == "en" else "ベン")
    await shoot(ben, f"story-told-{language}")
    answer = await ask(ben, unknown)
    await expect(answer).to_contain_text(taught)
    await expect(answer.locator(NOT_FOUND)).to_have_count(0)

    # nothing is lost with the page
    await ben.reload()
    await ready(ben)
    await expect(ben.locator(f"{THREAD} {MESSAGES}").last).to_contain_text(taught)
    await expect(ben.locator(f"{ROOM} {MESSAGES}").last).to_contain_text(unknown)
    await expect(ben.locator(f"{ROOM} {MESSAGES}").last).to_be_in_viewport()


async def test_enter_that_ends_a_japanese_word_sends_nothing(visit: Visit) -> None:
    page = await visit("/", language="ja")
    field = page.locator(ROOM).get_by_role("textbox")
    await field.press("End")
    keys = await page.context.new_cdp_session(page)
    enter = {"type": "rawKeyDown", "key": "Enter", "code": "Enter"}
    await keys.send("Input.imeSetComposition", {"text": "ふりかえ", "selectionStart": 4, "selectionEnd": 4})
    await keys.send("Input.dispatchKeyEvent", {**enter, "windowsVirtualKeyCode": 229})  # Chrome's way
    await keys.send("Input.dispatchKeyEvent", {**enter, "windowsVirtualKeyCode": 13})  # while it is being composed
    await keys.send("Input.insertText", {"text": "振替"})
    await keys.send("Input.dispatchKeyEvent", {**enter, "windowsVirtualKeyCode": 229})  # Safari's: already composed
    await expect(field).to_have_value("@kotae 振替")
    await page.keyboard.press("Shift+Enter")
    await page.keyboard.type("休日の期限は？")
    await field.press("Enter")
    sent = page.locator(f"{THREAD} {MESSAGES}").first
    await expect(sent).to_contain_text("振替\n休日の期限は？", use_inner_text=True)
    await expect(field).to_have_value("@kotae ")
    await expect(page.locator(f"{ROOM} {MESSAGES}", has_text="ふりかえ")).to_have_count(0)
    await expect(page.locator(f"{ROOM} {MESSAGES}", has_text="休日の期限は")).to_have_count(1)


ENTER_TWICE = """(field) => { const enter = () => field.dispatchEvent(
  new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true}));
 enter(); enter(); field.value += "and then?"; field.dispatchEvent(new Event("input")); }"""


async def test_enter_sends_once_and_takes_nothing_that_is_written_after_it(visit: Visit) -> None:
    page = await visit("/")
    field = page.locator(ROOM).get_by_role("textbox")
    await field.fill("@kotae Who approves the sending of a parcel?")
    await field.evaluate(ENTER_TWICE)  # all before the server knows
    answer = page.locator(f"{THREAD} {MESSAGES}", has=page.locator(".kotae-votes"))
    await expect(answer).to_have_count(1)
    await expect(page.locator(f"{ROOM} {MESSAGES}", has_text="parcel")).to_have_count(1)
    await expect(field).to_have_value("@kotae and then?")
    await field.fill("@kotae")
    await field.press("Enter")  # which is no question
    await expect(page.get_by_text("Write your question after @kotae.")).to_be_visible()
    await expect(field).to_have_value("@kotae")


async def test_of_a_message_that_is_too_long_nothing_is_cut(visit: Visit) -> None:
    page = await visit("/", language="ja")
    field = page.locator(ROOM).get_by_role("textbox")
    await page.evaluate(KEEPS_NOTHING_SENT)
    for longer in ("a" * 40_002, "😀" * 40_002, "港" * 400_000):
        await field.fill(longer)
        await field.press("Enter")
        await expect(page.get_by_text("メッセージは 40,000 文字までです")).to_have_count(1)
        await expect(field).to_have_value(longer)
        await (
            page.locator(".q-notification").get_by_role("button", name="閉じる").or_(page.locator("body")).first.click()
        )
        await expect(page.locator(".q-notification")).to_have_count(0)


async def test_half_an_emoji_takes_nothing_else_along(visit: Visit) -> None:
    page = await visit("/")
    field = page.locator(ROOM).get_by_role("textbox")
    await field.evaluate("(field) => { field.value = 'cut off \\ud83d'; field.dispatchEvent(new Event('input')); }")
    await field.press("Enter")
    await expect(page.locator(f"{ROOM} {MESSAGES}").last).to_contain_text("cut off \ufffd")


async def test_a_question_that_did_not_arrive_is_in_the_field_again(visit: Visit) -> None:
    page = await visit("/")
    field = page.locator(ROOM).get_by_role("textbox")
    await field.fill("@kotae Who waters the plants?")
    await page.evaluate("socket.emit = () => {}")  # nothing gets through any more
    await field.press("Enter")
    await expect(field).to_have_value("@kotae ")
    await field.fill("And when?")
    await page.reload()
    await expect(field).to_have_value("@kotae Who waters the plants?\nAnd when?")
    await page.reload()
    await expect(field).to_have_value("@kotae Who waters the plants?\nAnd when?")


# As with a text of megabytes, which a browser keeps no second time.
KEEPS_NOTHING_SENT = """() => { const keep = Storage.prototype.setItem;
 Storage.prototype.setItem = function (key, text) {
  if (key.startsWith("kotae-sent")) throw new Error("full");
  keep.call(this, key, text); }; }"""

CARRIED = """([selector, kind, words]) => { const carried = new DataTransfer();
 carried.items.add(new File(["# Tea"], "tea.md", {type: "text/markdown"}));
 if (words) carried.setData("text/plain", words);
 const given = {bubbles: true, cancelable: true, dataTransfer: carried, clipboardData: carried};
 const event = kind === "paste" ? new ClipboardEvent(kind, given) : new DragEvent(kind, given);
 document.querySelector(selector).dispatchEvent(event); return event.defaultPrevented; }"""


async def test_a_file_is_taken_wherever_it_is_dropped_or_pasted(visit: Visit) -> None:
    page = await visit("/")
    assert await page.evaluate(CARRIED, [f"{ROOM} .kotae-newest", "dragover", ""])
    for selector, kind in ((f"{ROOM} .kotae-newest", "drop"), (f"{ROOM} textarea", "paste")):
        assert await page.evaluate(CARRIED, [selector, kind, ""])
        await expect(page.get_by_role("dialog")).to_contain_text("tea.md")
        await page.keyboard.press("Escape")
        await expect(page.get_by_role("dialog")).to_have_count(0)
    assert not await page.evaluate(CARRIED, [f"{ROOM} textarea", "paste", "a cell of a table"])
    for path, selector in (("/documents", ".kotae-dialog"), ("/unanswered", "#content")):  # no place for files
        page = await visit(path)
        if path == "/documents":
            await page.get_by_role("button", name="New collection").click()
            await expect(page.get_by_role("dialog")).to_be_visible()
        for kind in ("dragover", "drop"):
            assert await page.evaluate(CARRIED, [selector, kind, ""]), "the browser leaves the page for the file"
        await expect(page.get_by_role("dialog")).to_have_count(int(path == "/documents"))


LOST = """() => { window.kept = XMLHttpRequest.prototype.send;
 XMLHttpRequest.prototype.send = function () {
  Object.defineProperty(this, "readyState", {value: 4}); this.onreadystatechange(); }; }"""


async def test_files_that_do_not_arrive_are_said_and_forgotten(visit: Visit) -> None:
    page = await visit("/", language="ja")
    await page.evaluate(LOST)
    field = page.locator(f"{ROOM} input[type=file]")
    await field.set_input_files(FilePayload(name="lost.md", mimeType="text/markdown", buffer=b"# Lost"))
    await expect(page.get_by_text("ファイルを送信できませんでした")).to_be_visible()
    await page.evaluate("void (XMLHttpRequest.prototype.send = kept)")
    await drop(page, "found.md", b"# Found")
    await expect(page.get_by_role("dialog")).not_to_contain_text("lost.md")


async def test_a_thread_is_printed_whole_and_alone(visit: Visit) -> None:
    page = await visit("/", dark=True)
    await ask(page, "What is the command for a rollback?")
    await page.emulate_media(media="print")
    listed = page.locator(f"{THREAD} .kotae-newest")
    assert await listed.evaluate("(list) => list.scrollHeight <= list.clientHeight")
    assert (
        await page.locator(f"{THREAD} .kotae-prose").first.evaluate("(e) => getComputedStyle(e).color")
        == "rgb(27, 36, 48)"
    )
    for hidden in (ROOM, ".kotae-composer", ".q-drawer", ".kotae-header"):
        await expect(page.locator(hidden).last).to_be_hidden()


async def test_a_file_that_was_dropped_answers(visit: Visit) -> None:
    page = await visit("/")
    await drop(page, PDF.name, PDF.read_bytes(), "application/pdf")
    await shoot(page, "story-dropped-en")
    await confirm(page)
    verdict = page.locator(f"{ROOM} {MESSAGES}", has_text=PDF.name)
    await expect(verdict).to_contain_text("✅")
    answer = await ask(page, "Which SKU is the primary variance driver in the inventory reconciliation?")
    await expect(answer).to_contain_text("SKU-4563")
    await expect(answer.locator(".kotae-source").first).to_contain_text("SPARSE 2024 INV 1234 borderless table")


async def test_a_file_for_the_next_question_can_be_taken_back(visit: Visit) -> None:
    page = await visit("/", language="ja")
    await drop(page, "tea.png", b"\x89PNG\r\n\x1a\n", "image/png")
    await page.get_by_role("dialog").get_by_role("button", name="次の質問にだけ添付").click()
    attached = page.locator(f"{ROOM} .kotae-attached")
    await expect(attached).to_contain_text("tea.png")
    await attached.get_by_role("button", name="ファイルを添付しない").click()
    await expect(attached).not_to_contain_text("tea.png")
    await ask(page, "出張の日当はいくらですか？")
    await expect(page.locator(f"{THREAD} {MESSAGES}").first).not_to_contain_text("tea.png")


async def test_what_went_wrong_is_closed_by_a_button_that_is_seen(visit: Visit) -> None:
    page = await visit("/documents", language="ja")
    await page.get_by_role("button", name="新しいコレクション").click()
    await page.get_by_role("dialog").get_by_role("button", name="保存").click()
    close = page.locator(".q-notification").get_by_role("button", name="閉じる")
    await expect(close).to_be_visible()
    white = "getComputedStyle(document.querySelector('.q-notification')).color"
    assert await close.evaluate("(button) => getComputedStyle(button).color") == await page.evaluate(white)
    await close.click()
    await expect(close).to_have_count(0)


async def test_a_double_click_saves_once(visit: Visit) -> None:
    page = await visit("/documents")
    new = page.get_by_role("button", name="New collection")
    await new.click()
    await page.get_by_role("dialog").get_by_role("textbox").first.fill("once")
    await page.get_by_role("dialog").get_by_role("button", name="Save").evaluate(CLICK_TWICE)
    await expect(page.locator(".kotae-shelf").get_by_role("link", name="once")).to_be_visible()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await new.click()  # the server has done both clicks when it opens this
    await expect(page.get_by_role("dialog")).to_be_visible()
    await expect(page.locator(".q-notification")).to_have_text([re.compile("Saved")])


async def test_a_collection_leads_to_its_documents(visit: Visit) -> None:
    page = await visit("/documents", width=390)
    document = page.get_by_role("link", name="ja/onboarding.md")
    await expect(document).not_to_be_in_viewport()
    await page.get_by_role("link", name="sample").click()
    await page.wait_for_url("**/documents?collection=sample")
    await ready(page)
    await expect(page.locator(".kotae-documents a").first).to_be_in_viewport()
    await expect(page.get_by_label("Name or title").first).to_be_in_viewport()


async def test_a_vote_and_a_reply_leave_what_is_open_and_the_focus_where_they_are(visit: Visit) -> None:
    page = await visit("/")
    answer = await ask(page, "What is the command for a rollback?")
    passage = await look_into(answer.locator(".kotae-source").first)
    up = answer.get_by_role("button", name=feedback.UP.en, exact=True)
    await up.focus()
    await page.keyboard.press("Enter")
    await expect(up).to_have_attribute("aria-pressed", "true")
    await expect(up).to_be_focused()
    await expect(passage).to_be_visible()
    under = page.locator(f"{ROOM} .kotae-replies").last
    said = await under.inner_text()
    await under.focus()
    other = await visit("/", member="ben")
    await other.locator(f"{ROOM} .kotae-replies").last.click()
    await expect(other.locator(f"{THREAD} textarea")).to_be_focused()
    await write(other, "@aki Look at that!", where=THREAD, mention=False)
    await expect(under).not_to_have_text(said)
    await expect(under).to_be_focused()


async def test_two_browsers_see_each_other(visit: Visit) -> None:
    aki, ben = await visit("/"), await visit("/", member="ben", language="ja")
    await write(aki, "lunch at noon?", mention=False)
    seen = ben.locator(f"{ROOM} {MESSAGES}", has_text="lunch at noon?")
    await expect(seen).to_contain_text("アキ")
    await seen.locator(".kotae-replies").click()
    await write(ben, "はい、行きます", where=THREAD, mention=False)
    mine = aki.locator(f"{ROOM} {MESSAGES}", has_text="lunch at noon?")
    await expect(mine.locator(".kotae-replies")).to_contain_text("1")
    await mine.locator(".kotae-replies").click()
    await expect(aki.locator(f"{THREAD} {MESSAGES}", has_text="はい、行きます")).to_contain_text("Ben")


async def listening(page: Page) -> None:
    """The page follows Back and Forward."""
    await page.wait_for_function("'kotaeShown' in window")


async def test_back_and_forward_follow_what_was_open(visit: Visit) -> None:
    page = await visit("/")
    await ask(page, "What is the extension of the security hotline?")
    await expect(page).to_have_url(re.compile(r"/app/\?room=general&thread=\d+$"))
    thread = page.url
    await page.locator(f"{THREAD} {TRACE}").click()
    await expect(page).to_have_url(re.compile("/app/trace/"))
    await expect(page.locator("#content")).to_contain_text("search_rag_knowledge_base")
    await page.go_back()
    await expect(page).to_have_url(thread)
    await listening(page)
    await expect(page.locator(f"{THREAD} .kotae-votes")).to_be_visible()
    await page.go_back()
    await expect(page).not_to_have_url(thread)
    await expect(page.locator(f"{THREAD} .kotae-empty")).to_be_visible()
    await listening(page)
    await page.go_forward()
    await expect(page).to_have_url(thread)
    await expect(page.locator(f"{THREAD} .kotae-votes")).to_be_visible()


async def test_language_colours_and_member_are_chosen_where_one_is(visit: Visit) -> None:
    page = await visit("/")
    await ask(page, "What is the command for a rollback?")
    thread = page.url
    await page.get_by_role("link", name="日本語").click()
    await expect(page.locator(THREAD).get_by_role("textbox")).to_be_visible()
    assert page.url == thread
    assert await page.evaluate("document.documentElement.lang") == "ja"
    for dark in (False, True, None):
        await ready(page)
        await page.locator(".kotae-theme").click()
        wanted = "body--dark" if dark else "body--light"
        await expect(page.locator("body")).to_have_class(re.compile(wanted))
        assert page.url == thread
    await ready(page)
    await page.get_by_role("link", name="ベン").click()
    await expect(page.locator(".kotae-chosen").first).to_have_text("ベン")
    assert page.url == thread
    await expect(page.get_by_text("リーダー")).to_have_count(0)


async def test_a_private_room_is_nowhere_for_others(visit: Visit) -> None:
    aki = await visit("/?room=leads")
    await drop(aki, "raises.md", b"# Raises\n\nThe zebra budget for raises is forty thousand yen each.\n")
    await confirm(aki)
    await expect(aki.locator(f"{ROOM} {MESSAGES}", has_text="raises.md")).to_contain_text("✅")
    await write(aki, "How much is the zebra budget for raises?")
    await expect(aki.locator(f"{THREAD} {MESSAGES}", has=aki.locator(".kotae-votes"))).to_contain_text("forty thousand")
    trace = await aki.locator(f"{THREAD} {TRACE}").get_attribute("href")
    thread = aki.url.partition("/app")[2]
    await write(aki, "When is the quokka merger announced?")
    await expect(aki.locator(f"{THREAD} {MESSAGES}", has_text="quokka").first).to_be_visible()
    await expect(aki.locator(f"{THREAD} {NOT_FOUND}")).to_be_visible()
    await aki.goto(re.sub("/app.*", "/app/unanswered", aki.url))
    await expect(aki.locator(".kotae-card", has_text="quokka")).to_be_visible()

    ben = await visit("/", member="ben")
    assert trace is not None
    for path in ("/", thread, "/unanswered", trace.removeprefix("/app"), "/documents", "/pairs", "/metrics", "/search"):
        reply = await ben.goto(re.sub("/app.*", f"/app{path}", ben.url))
        await ready(ben)
        assert reply is not None
        shown = await reply.text() + await ben.content()
        hidden = ("zebra", "quokka", "raises") if path == thread else ("zebra", "quokka", "raises", "leads")
        assert not [word for word in hidden if word in shown], path
    await ben.get_by_role("textbox").first.fill("How much is the zebra budget for raises?")
    await ben.get_by_role("textbox").first.press("Enter")
    await expect(ben.locator(".kotae-side-by-side")).to_be_visible()
    await expect(ben.locator("#content")).not_to_contain_text("forty thousand")
    await expect(ben.locator("#content")).not_to_contain_text("raises.md")


async def test_on_a_phone_the_thread_takes_the_place_of_the_room(visit: Visit) -> None:
    page = await visit("/", language="ja", width=390)
    await ask(page, "リモートワークは週何日までですか？")
    await expect(page.locator(ROOM)).to_be_hidden()
    assert await too_wide(page) == 0
    await shoot(page, "story-thread-ja-phone")
    await page.locator(".kotae-thread-head").get_by_role("button").click()
    await expect(page.locator(ROOM)).to_be_visible()
    await expect(page.locator(THREAD)).to_be_hidden()
    assert await too_wide(page) == 0
    await shoot(page, "story-room-ja-phone")


async def test_what_is_being_written_outlives_the_page(visit: Visit) -> None:
    page = await visit("/")
    field = page.locator(ROOM).get_by_role("textbox")
    await field.press("End")
    await page.keyboard.type("How many reviews does")
    await page.reload()
    await expect(field).to_have_value("@kotae How many reviews does")
    await listening(page)
    await field.press("End")
    await page.keyboard.type(" a change need?")
    await field.press("Enter")
    await expect(page.locator(f"{THREAD} {MESSAGES}").first).to_contain_text("How many reviews does a change need?")
    await expect(field).to_have_value("@kotae ")
    await page.reload()
    await expect(field).to_have_value("@kotae ")


async def test_each_tab_has_its_own_draft(visit: Visit) -> None:
    page = await visit("/")
    field = page.locator(ROOM).get_by_role("textbox")
    await field.fill("@kotae How many reviews does")
    other = await page.context.new_page()
    await other.goto(page.url)
    await ready(other)
    theirs = other.locator(ROOM).get_by_role("textbox")
    await theirs.fill("@kotae Who")
    await page.reload()
    await ready(page)
    await expect(field).to_have_value("@kotae How many reviews does")
    await field.fill("@kotae ")
    await other.reload()
    await ready(other)
    await expect(theirs).to_have_value("@kotae Who")


async def test_a_link_to_an_old_message_of_a_long_thread_shows_it(visit: Visit) -> None:
    page = await visit("/")
    await write(page, "The first word.", mention=False)
    said = page.locator(f"{ROOM} {MESSAGES}", has_text="The first word.")
    await said.get_by_role("button", name="Reply").click()
    for n in range(60):
        await write(page, f"word {n}.", where=THREAD, mention=False)
        await expect(page.locator(f"{THREAD} {MESSAGES}").last).to_contain_text(f"word {n}.")
    old = page.locator(f"{THREAD} {MESSAGES}", has_text="word 3.")
    id = (await old.get_attribute("id") or "").removeprefix("m")
    await page.goto(f"{page.url}&message={id}#m{id}")
    await ready(page)
    await expect(old).to_be_in_viewport()


async def test_an_answer_that_is_being_written_outlives_the_page(visit: Visit) -> None:
    page = await visit("/")
    await ask(page, "Who repaired the samovar in the attic?")
    await page.goto(re.sub("/app.*", "/app/unanswered", page.url))
    await ready(page)
    card = page.locator(".kotae-card", has_text="samovar").first
    written = page.get_by_role("dialog").get_by_label(expert_answers.ANSWER.en, exact=True)
    await card.get_by_role("button", name=expert_answers.TITLE.en).click()
    await written.press_sequentially("The clockmaker did.")
    await page.wait_for_function("JSON.stringify(localStorage).includes('clockmaker did.')")
    await page.reload()
    await ready(page)
    await card.get_by_role("button", name=expert_answers.TITLE.en).click()
    await expect(written).to_have_value("The clockmaker did.")
    await confirm(page)
    await expect(card).to_have_count(0)
    assert "samovar" not in await page.evaluate("JSON.stringify(localStorage)")
    assert "clockmaker" not in await page.evaluate("JSON.stringify(localStorage)")


async def test_a_person_is_asked_by_a_button(visit: Visit) -> None:
    page = await visit("/")
    answer = await ask(page, "On which pier does the ferry to Heligoland moor?")
    await answer.get_by_role("button", name="Ask a person").click()
    await expect(page.get_by_text("I have asked #general")).to_be_visible()
    await shoot(page, "ask-a-person")
    await expect(page.locator(f"{ROOM} .kotae-card").last).to_contain_text("Heligoland")


async def test_filters_and_searches_stand_in_the_address(visit: Visit) -> None:
    page = await visit("/documents")
    await page.get_by_label("Name or title").first.fill("onboarding")
    await page.wait_for_url("**/documents?words=onboarding")
    await page.reload()
    await ready(page)
    await expect(page.get_by_role("link", name="ja/onboarding.md")).to_be_visible()
    await expect(page.get_by_role("link", name="en/releases.md")).to_have_count(0)

    page = await visit("/search")
    query = page.locator(".kotae-query input")
    await query.fill("daily allowance")
    await query.press("Enter")
    await page.wait_for_url("**/search?q=daily+allowance")

    page = await visit("/unanswered?state=dismissed&view=list")
    await expect(page.get_by_text("dismissed").first).to_be_visible()
