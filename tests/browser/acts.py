"""What a member does in the channel, in both languages: by roles, by places, and by the words that are shared
elsewhere."""

from playwright.async_api import FilePayload, Locator, Page, expect

from retrieval.loaders.sanitize import clean_name
from tests.browser.conftest import PATIENCE_MS

expect.set_options(timeout=PATIENCE_MS)

THREAD = ".kotae-pane-thread"
ROOM = ".kotae-pane-room"
MESSAGES = ".kotae-message"
NOT_FOUND = ".kotae-votes .q-badge"  # an outcome other than an answer
TRACE = "a[href*='/trace/']"


async def write(page: Page, text: str, *, where: str = ROOM, mention: bool = True) -> None:
    """Type after the mention that stands in the field, or instead of it, and press Enter."""
    field = page.locator(where).get_by_role("textbox")
    await field.press("End" if mention else "ControlOrMeta+A")
    await page.keyboard.type(text)
    await field.press("Enter")


async def ask(page: Page, question: str) -> Locator:
    """Ask in the room; the answer, in the thread that opens."""
    await write(page, question)
    await expect(page.locator(f"{THREAD} {MESSAGES}").first).to_contain_text(question)
    answer = page.locator(f"{THREAD} {MESSAGES}", has=page.locator(".kotae-votes"))
    await expect(answer).to_have_count(1)
    return answer


async def look_into(source: Locator) -> Locator:
    """Open a source; what its document says."""
    await source.locator(".q-item").first.click()
    passage = source.locator(".kotae-prose").first
    await expect(passage).to_be_visible()
    return passage


async def drop(page: Page, name: str, data: bytes, kind: str = "text/markdown") -> None:
    """Choose a file for the room, as one dropped there; the form that asks what it is for opens."""
    await page.locator(f"{ROOM} input[type=file]").set_input_files(FilePayload(name=name, mimeType=kind, buffer=data))
    await expect(page.get_by_role("dialog")).to_contain_text(clean_name(name))


async def confirm(page: Page) -> None:
    """Press the first button of the form: what it is there for."""
    form = page.get_by_role("dialog")
    await form.locator(".q-btn").first.click()
    await expect(form).to_be_hidden()
