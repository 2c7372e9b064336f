"""What can be measured of how a page looks and is operated: contrast, names, headings, the way of the Tab key.

Source: WCAG 2.2, 1.4.3 (contrast), 2.4.3 and 2.4.7 (focus), 4.1.2 (names).
"""

from typing import Any

from playwright.async_api import Page

# Each text that is too weak for its ground, with the ratio. Colours are composed from the canvas up, with opacity.
_WEAK = """() => {
 const parse = (css) => { const c = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  c.fillStyle = css; c.fillRect(0, 0, 1, 1); const [r, g, b, a] = c.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
 const known = new Map(); const color = (css) => { if (!known.has(css)) known.set(css, parse(css)); return known.get(css); };
 const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
 const light = ([r, g, b]) => { const [x, y, z] = [r, g, b].map((v) => (v /= 255) <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
  return .2126 * x + .7152 * y + .0722 * z; };
 const ratio = (a, b) => { const [hi, lo] = [light(a), light(b)].sort((x, y) => y - x); return (hi + .05) / (lo + .05); };
 const ground = (element) => { const all = []; for (let e = element; e; e = e.parentElement) all.unshift(color(getComputedStyle(e).backgroundColor));
  return all.reduce((under, top) => over(top, under), [255, 255, 255, 1]); };
 const opacity = (element) => { let o = 1; for (let e = element; e; e = e.parentElement) o *= +getComputedStyle(e).opacity; return o; };
 const weak = new Set();
 const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
 const look = (element, text) => {
  if (element.closest('[aria-hidden=true], [disabled], [aria-disabled=true], script, style, .q-notification, .q-tooltip')) return;
  const box = element.getBoundingClientRect(), style = getComputedStyle(element);
  if (!element.checkVisibility({checkVisibilityCSS: true}) || box.width < 2 || box.height < 2) return;
  if (/^\\p{Extended_Pictographic}[\\p{Extended_Pictographic}\\uFE0F]*$/u.test(text)) return;
  const under = ground(element), ink = color(style.color);
  const found = ratio(over([...ink.slice(0, 3), ink[3] * opacity(element)], under), under);
  const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && +style.fontWeight >= 700);
  if (found < (large ? 3 : 4.5)) weak.add(`${found.toFixed(2)} “${text.slice(0, 40)}” .${element.className}`);
 };
 for (let node; (node = texts.nextNode());) if (node.data.trim()) look(node.parentElement, node.data.trim());
 for (const field of document.querySelectorAll('input, textarea')) if (field.value) look(field, field.value);
 return [...weak];
}"""

_TWICE = """() => { const ids = [...document.querySelectorAll('[id]')].map((e) => e.id);
 return ids.filter((id, at) => ids.indexOf(id) !== at); }"""

_FOCUSED = """() => { const e = document.activeElement, box = e.getBoundingClientRect(), style = getComputedStyle(e);
 return {tag: e.tagName, text: (e.getAttribute('aria-label') || e.innerText || e.placeholder || '').trim().slice(0, 60), id: e.id,
  hidden: !e.checkVisibility({checkVisibilityCSS: true}), in_page: e !== document.body,
  shown: style.outlineStyle !== 'none' || !!e.closest('.q-field, .q-focusable, .q-toggle, .q-radio, .q-checkbox, .q-uploader'),
  top: Math.round(box.top + scrollY), left: Math.round(box.left)}; }"""

_OPERATED = {
    "button", "link", "textbox", "combobox", "checkbox", "radio", "switch", "searchbox", "spinbutton", "slider", "tab", "menuitem",
    "option", "img", "dialog", "log",
}  # fmt: skip


async def weak_texts(page: Page) -> list[str]:
    """Texts below the contrast of 4.5 : 1, large ones below 3 : 1."""
    return [str(one) for one in await page.evaluate(_WEAK)]


async def repeated_ids(page: Page) -> list[str]:
    return [str(one) for one in await page.evaluate(_TWICE)]


async def nameless(page: Page) -> list[str]:
    """What can be operated and has no name for those who do not see it, as Chromium tells a screen reader."""
    session = await page.context.new_cdp_session(page)
    tree = await session.send("Accessibility.getFullAXTree")
    await session.detach()
    found = []
    for node in tree["nodes"]:
        role = node.get("role", {}).get("value")
        if not node.get("ignored") and role in _OPERATED and not node.get("name", {}).get("value", "").strip():
            found.append(f"{role} {node.get('backendDOMNodeId')}")
    return found


async def to_the_top(page: Page) -> None:
    """The next press of Tab leads to the first stop, wherever the focus was."""
    await page.evaluate(
        """() => { const top = document.createElement("a"); top.tabIndex = -1;
            document.body.prepend(top); top.focus(); top.remove(); window.scrollTo(0, 0); }"""
    )


async def tabbed(page: Page, steps: int) -> list[dict[str, Any]]:
    """Where the focus is after each press of Tab, from the beginning."""
    await to_the_top(page)
    found = []
    for _ in range(steps):
        await page.keyboard.press("Tab")
        found.append(dict(await page.evaluate(_FOCUSED)))
    return found
