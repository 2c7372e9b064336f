"""Parts of a web page that generators of sites set apart or add → what they say, where it belongs: the tabs of a box,
fold-out answers, footnotes, lines of code; without links that only the page itself needs.

Source: the markup of Material for MkDocs (pymdownx.tabbed), Docusaurus, VitePress, Sphinx (Pygments, sphinx-design) and
MediaWiki; w3.org/WAI/ARIA/apg, tabs and accordion.
"""

import re
from collections.abc import Iterator, Sequence

from bs4 import BeautifulSoup
from bs4.element import NavigableString, Tag

FENCE_SHOWN = "\ufdd0"
"""The ``` in code, until that has a longer fence of its own."""

_WORD = re.compile(r"[^\W_]")
_EDITING = re.compile(
    r"edit(?: (?:source|this page|on \w+|this page on \w+))?|(?:この(?:ページ|記事)を|ソースを)?編集(?:する)?", re.I
)
_EDITED = re.compile(r"\bedit\b", re.I)
_NUMBERS = re.compile(r"[\s\d]+")
_HEADINGS = ["h1", "h2", "h3", "h4", "h5", "h6"]
_LEADING_NUMBER = re.compile(r"^[\d.]+\s+")
_SUPERSCRIPT = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")


def bring_together(soup: BeautifulSoup) -> None:
    """Change a page, of which nothing was taken out yet but comments."""
    _name_tabs(soup)
    _unfold(soup)
    for pre in soup.find_all("pre"):
        _plain_code(pre)
    for inner in soup.select("pre pre"):  # mdBook's, and Rouge's once its line numbers are gone
        inner.unwrap()
    for shown in soup.find_all(string=re.compile("```")):
        if shown.find_parent("pre") is not None:
            shown.replace_with(shown.replace("```", FENCE_SHOWN))
    for formula in soup.select('math annotation[encoding="application/x-tex"]'):
        if drawn := formula.find_parent("math"):  # the same again, sign by sign
            drawn.replace_with(f"${formula.get_text().strip()}$")
    _leave_out_contents(soup)
    _leave_out_links(soup)
    mark_superscripts(soup)


def _name_tabs(soup: BeautifulSoup) -> None:
    """The name of each tab goes to the head of what it shows, and what it shows is no longer hidden. Inner boxes come
    first: their parts are not those of the outer ones."""
    for names in reversed(soup.select('[role="tablist"]')):
        _name_parts(names, names.select('[role="tab"]'), list(_panels(names)))
    for names in reversed([label.parent for label in soup.select("label:not(:has(~ label))") if label.parent]):
        beside = names.find_next_sibling()
        labels = names.find_all("label", recursive=False)
        others = [part for part in names.find_all(True, recursive=False) if part.name not in ("label", "input")]
        if beside is not None and len(labels) > 1 and not others:
            _name_parts(names, labels, beside.find_all(True, recursive=False))


def _panels(names: Tag) -> Iterator[Tag]:
    """Panels that the tabs beside them show: those that follow, or those in the element that follows."""
    beside = names.find_next_sibling()
    if beside is not None and beside.get("role") != "tabpanel":
        yield from beside.find_all(role="tabpanel", recursive=False)
    while beside is not None and beside.get("role") == "tabpanel":
        yield beside
        beside = beside.find_next_sibling()


def _name_parts(names: Tag, tabs: Sequence[Tag], panels: Sequence[Tag]) -> None:
    if not tabs or len(tabs) != len(panels) or any(panel.find(["input", "select"]) for panel in panels):
        return
    for tab, panel in zip(tabs, panels, strict=True):
        _show(panel)
        del panel["role"]
        name = Tag(name="p")
        name.append(Tag(name="strong"))
        name.contents[0].append(tab.get_text(" ", strip=True))  # type: ignore[attr-defined]
        panel.insert(0, name)
    names.extract()


def _unfold(soup: BeautifulSoup) -> None:
    """Let nothing be hidden that a reader of the text can fold out by a button in it."""
    by_id = {str(part["id"]): part for part in soup.select("[id]")}
    for button in soup.select("main [aria-controls][aria-expanded], article [aria-controls][aria-expanded]"):
        if button.find_parent("nav") is None and (folded := by_id.get(str(button["aria-controls"]))):
            _show(folded)
    for found in soup.select('[hidden="until-found"]'):
        del found["hidden"]


def _show(part: Tag) -> None:
    del part["hidden"], part["aria-hidden"]
    if re.fullmatch(r"\s*display\s*:\s*none\s*;?\s*", str(part.get("style") or ""), re.I):
        del part["style"]


def _plain_code(pre: Tag) -> None:
    """Its lines as they are read, whatever elements they consist of, without their numbers."""
    for number in pre.select('span[class*="lineno"], [class*="line-number"]'):
        number.extract()
    table = pre.find_parent("table")
    if table is not None and _NUMBERS.fullmatch(pre.get_text()):
        columns = table.find_all("pre", limit=3)
        if (
            len(columns) == 2
            and columns[0] is pre
            and table.get_text(strip=True).endswith(columns[1].get_text(strip=True))
        ):
            table.replace_with(columns[1].extract())
        return
    if not pre.find(["br", "div", "p"]):
        return
    for end in pre.find_all("br"):
        end.replace_with("\n")
    for line in pre.find_all(["div", "p"]):
        if line.find_next_sibling() is not None and not line.get_text().endswith("\n"):
            line.append("\n")
    pre.string = pre.get_text()


def _leave_out_contents(soup: BeautifulSoup) -> None:
    """Lists of the page's own headings."""
    headings = {_words(heading) for heading in soup.find_all(_HEADINGS)}
    for listed in soup.find_all(["ul", "ol"]):
        links = listed.find_all("a", href=re.compile("^#."))
        words = "".join(listed.get_text().split())
        if (
            len(links) > 1
            and words == "".join("".join(link.get_text().split()) for link in links)
            and all(_words(link) in headings for link in links)
        ):
            listed.extract()


def _words(part: Tag) -> str:
    kept = (text for text in part.stripped_strings if _WORD.search(text) and not _EDITING.fullmatch(text))
    return _LEADING_NUMBER.sub("", " ".join(kept)).casefold()


def _leave_out_links(soup: BeautifulSoup) -> None:
    """Links that stand beside a heading or a footnote to lead to it (¶, #, ↩), and those to edit the page."""
    for link in soup.find_all("a", href=True):
        text, address = link.get_text(" ", strip=True), str(link["href"])
        wordless = address.startswith("#") and not _WORD.search(text) and not link.find("img", alt=_WORD)
        if wordless or (_EDITING.fullmatch(text) and _EDITED.search(address)):
            around = link.parent
            link.extract()
            if around is not None and around.name == "span" and not _WORD.search(around.get_text()):
                around.extract()


def mark_superscripts(soup: BeautifulSoup) -> None:
    """A raised figure is no digit of the number before it: 10⁶, and [1] for a footnote."""
    for raised in soup.find_all("sup"):
        text = raised.get_text(strip=True)
        link = raised.find("a", href=True) or raised.find_parent("a", href=True)
        if link is not None and str(link["href"]).startswith("#") and text.isalnum():
            raised.replace_with(NavigableString(f"[{text}]"))
        elif re.fullmatch(r"[+\-−]?\d{1,3}", text):
            raised.replace_with(NavigableString(text.translate(_SUPERSCRIPT)))
