"""A web page → the HTML of what a visitor would have read: no scripts, menus or hidden words; and where it leads."""

import re
from collections import Counter
from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from itertools import islice, takewhile
from urllib.parse import parse_qs, urljoin, urlsplit

from bs4 import BeautifulSoup
from bs4.element import NavigableString, PreformattedString, Tag
from lxml import etree  # type: ignore[import-untyped]

from retrieval.loaders.dates import iso_date, stated
from retrieval.loaders.encodings import decode_page
from retrieval.loaders.implied.web import bring_together
from retrieval.loaders.limits import FileRefused
from retrieval.loaders.tables import write_rows

_MAY_STAY_OPEN = re.compile(r"<(/?)(td|th|tr|li|dt|dd)(?=[\s>])", re.I)
_BODY = re.compile(r"<body[\s>]", re.I)
_LINKED_DATA = re.compile(r'"(dateModified|datePublished|dateCreated)"\s*:\s*"([^"]+)"')
_CHANGED = re.compile(
    r"\blast[ -](?:updated?|modified|edited|changed)(?:[ ]on|[ ]at)?\s*[:：]?\s*"
    r"|(?<![\u3400-\u9fff])(?:最終更新日?|更新日)時?\s*[:：]?\s*",  # 「契約更新日」 is another thing's
    re.I,
)
_BY = re.compile(r"\s*by\s.{1,80}?\son\s+", re.I)  # somebody
_BESIDE = 8  # elements and texts after such a label, one of which may say the date
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.I)
_SILENT = (
    "script, style, template, noscript, iframe, object, svg, canvas, input, select, textarea, dialog, rt, rp,"
    " button:not([aria-expanded], [aria-controls], h1 *, h2 *, h3 *, h4 *, summary *)"  # those head a fold-out answer
)
_REMARKS = (  # of authors to each other, and the numbers of rows and columns, as Word, Google Docs and Sheets save them
    'div[style*="mso-element:comment"], .MsoCommentReference, sup:has(> a[href^="#cmnt"]),'
    ' div:has(a[href^="#cmnt_ref"]):not(:has(div)),'
    " .waffle > thead, .waffle th.row-headers-background, .waffle .freezebar-cell"
)
_AROUND = (
    'nav, aside, [role="navigation"], [role="search"], [role="banner"], [role="contentinfo"], [role="complementary"],'
    " .search-results"  # GitBook and HonKit: on each page, for what a script may find
)
_KINDS_AROUND = (  # what a page without such elements calls them, in an id or a class, without its hyphens
    (
        re.compile(
            r"(?:site|page|global|main|top|left|right|side|sub|foot|header|footer|g|l)?(?:nav|navi|navbar|navigation|menu|menubar|menulist)"
        ),
        True,
    ),
    (re.compile(r"(?:site|page|global|main|top)?(?:header|topbar|masthead)"), True),
    (
        re.compile(
            r"(?:site|page|global|main)?footer|copyright|(?:left|right|primary|secondary)?sidebar|breadcrumbs?|topicpath|pankuzu|(?:cookie|consent)(?:banner|bar|notice|dialog)?|skip(?:link|nav|tocontent)?"
        ),
        False,
    ),
)
_SMALL = 0.5  # of the words of the page are at least in its main part, whatever that is called
_LINKED = 0.6  # of the words of a menu are links; what is called one and is none is a canteen's
_HIDING = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|(?:font-size|opacity|max-height|max-width)\s*:\s*0(?:\.0*)?(?![\d.])"
    r"|(?:left|top|text-indent|margin-left)\s*:\s*-\d{3,}|clip\s*:\s*rect\(\s*[01](?:px)?[ ,]",
    re.I,
)
_RULE = re.compile(r"(?P<selectors>[^{}]+)\{(?P<body>[^{}]*)\}")
_PLAIN_SELECTOR = re.compile(r"(?:[a-zA-Z][\w-]*)?[.#][\w-]+")
_COLOUR = re.compile(r"(?:^|[;\s])color\s*:\s*([^;!]+)", re.I)
_BACKGROUND = re.compile(r"background(?:-color)?\s*:\s*(#[0-9a-f]{3,8}|rgba?\([^)]*\)|[a-z]+)", re.I)
_LONGEST_SPREAD, _WIDEST_SPREAD = 200, 50  # characters of a cell that is repeated, and columns it may reach over
_LONGEST_DATUM = 400  # characters: more in a cell is a part of the page
_WORTH = 0.25  # a main part this small beside the whole page is not the main part
_NAMED = {"white": (255, 255, 255), "snow": (255, 250, 250), "ivory": (255, 255, 240), "black": (0, 0, 0)}
_LEADING = {"a": "href", "area": "href", "frame": "src", "iframe": "src"}
_REFRESH = re.compile(r"[;,]\s*url\s*=\s*[\"']?([^\"']+)", re.I)


def readable_part(page: str) -> tuple[str, str, str]:
    """HTML of the main content without what is hidden or around it, the page's title and its date (`""` if none)."""
    soup = _parsed(page)
    title = soup.title.get_text(" ", strip=True) if soup.title else ""
    date = stated([*_dates(soup), *_said_dates(soup)])
    styles = "\n".join(style.get_text() for style in soup.find_all("style"))
    for unseen in soup.find_all(string=lambda text: isinstance(text, PreformattedString)):
        unseen.extract()  # comments, and the conditions of pages that Word has saved: <![if !supportLists]>
    bring_together(soup)
    for hidden in [*soup.select(_SILENT), *soup.select(_REMARKS), *_hidden(soup), *_hidden_by(styles, soup)]:
        hidden.extract()
    for head in soup.find_all("summary"):
        head.name = "div"  # words may follow it with nothing between
    for head in soup.select("p.MsoTitle, .doc-content > p.title"):
        head.name = "h1"  # as Word and Google Docs save the title of the whole
    _absolute_links(soup)
    spread_cells(soup)
    part = _main(soup)
    headings = part.find_all("h1")
    return str(part), headings[0].get_text(" ", strip=True) if len(headings) == 1 else title, date


def _parsed(page: str) -> BeautifulSoup:
    """The page, whose cells and items may lack their end tags: html.parser would put the next one into each. lxml knows
    that they end, but not where a page begins that has no body."""
    left_open: Counter[str] = Counter()
    for end, name in _MAY_STAY_OPEN.findall(page):
        left_open[name.lower()] += -1 if end else 1
    unended = any(count > 0 for count in left_open.values()) and _BODY.search(page)
    return BeautifulSoup(page, "lxml" if unended else "html.parser")


def _dates(soup: BeautifulSoup) -> Iterator[tuple[str, str]]:
    """Possible dates of the page, by name: of `<meta>`, of schema.org in JSON and in attributes."""
    for tag in soup.select("meta[content], time[itemprop]"):
        value = str(tag.get("content") or tag.get("datetime") or tag.get_text(" ", strip=True))
        for name in ("name", "property", "itemprop", "http-equiv"):
            yield str(tag.get(name) or ""), value
    for script in soup.select('script[type="application/ld+json"]'):
        yield from _LINKED_DATA.findall(script.get_text())


def _said_dates(soup: BeautifulSoup) -> Iterator[tuple[str, str]]:
    """The date that a page shows behind words such as “Last updated”, if it does so once."""
    said = []
    labels = [(text, _CHANGED.split(text, maxsplit=1)[1]) for text in soup.find_all(string=_CHANGED)]
    for label, words in [*labels, *((sign, "") for sign in soup.find_all(title=_CHANGED))]:
        for beside in islice(label.next_elements, _BESIDE):
            words += str(beside.get("datetime") or "") if isinstance(beside, Tag) else f"{beside} "
        words = words.removeprefix(by[0]) if (by := _BY.match(words)) else words
        if iso_date(words):
            said.append(("revised", words))
    yield from said if len(said) == 1 else ()


def _absolute_links(soup: BeautifulSoup) -> None:
    """A saved page's relative links lead nowhere unless it says where it came from; then only their words stay."""
    origin = soup.select_one('base[href^="http"], link[rel="canonical"][href^="http"]')
    for link in soup.select("a[href]"):
        address = str(link["href"]).strip()
        del link["title"]
        if address.startswith("#") or not (_SCHEME.match(address) or origin):
            del link["href"]
        elif address.startswith("https://www.google.com/url?"):  # as Google Docs saves all links
            link["href"] = parse_qs(urlsplit(address).query).get("q", [address])[0]
        elif origin:
            link["href"] = urljoin(str(origin["href"]), address)


def without_hidden(page: str) -> str:
    """The whole page, for chapters of a book: only scripts, what is hidden, and links within the book are taken out."""
    soup = _parsed(page)
    bring_together(soup)
    for hidden in [*soup.select("script, style, rt, rp"), *_hidden(soup)]:
        hidden.extract()
    _absolute_links(soup)
    spread_cells(soup)
    return str(soup)


def _main(soup: BeautifulSoup) -> Tag:
    body = soup.body or soup
    whole = len(body.get_text(strip=True))
    for selector in ("main", '[role="main"]', "article"):
        found = soup.select(selector)
        if len(found) == 1 and len(found[0].get_text(strip=True)) >= whole * _WORTH:
            for around in found[0].select('nav, [role="navigation"], header ul, header ol, footer:not(blockquote *)'):
                around.extract()
            return found[0]
    for around in body.select(_AROUND):
        around.extract()
    for around in body.select("header, footer"):
        if around.name == "footer" or not around.find(["h1", "h2"]):
            around.extract()
    for around in body.select("[id], [class]"):
        if _called_around(around) and len(around.get_text(strip=True)) < whole * _SMALL:
            around.extract()
    return body


def _called_around(tag: Tag) -> bool:
    """Whether an element is called a menu, a head or foot of the page, or the like, and looks like it."""
    if tag.name in ("body", "html") or tag.find("h1"):
        return False
    names = [
        re.sub(r"[^a-z]", "", name.lower())
        for name in (str(tag.get("id") or ""), *tag.get_attribute_list("class"))
        if name
    ]
    for kind, of_links in _KINDS_AROUND:
        if any(kind.fullmatch(name) for name in names):
            return not of_links or _linked(tag)
    return False


def _linked(tag: Tag) -> bool:
    words = "".join(tag.get_text().split())
    links = "".join("".join(link.get_text().split()) for link in tag.find_all("a"))
    return len(links) >= len(words) * _LINKED


def spread_cells(soup: BeautifulSoup) -> None:
    """Cells that reach over several rows are written in each, headings over several columns in each of these: a table
    of Markdown has no such cells, and what follows them would slip under another heading."""
    for column in soup.find_all(["col", "colgroup"]):
        column.unwrap()  # before the first row it would make this no head
    _out_of_tables(soup)
    for table in soup.find_all("table"):
        if isinstance(caption := table.find("caption", recursive=False), Tag):  # in it, Markdown sees no table
            caption.name = "p"
            table.insert_before(caption.extract())
        first, second = [*_rows(table), [], []][:2]
        if len(first) == 1 < len(second) and _reach(first[0], "colspan") > 1 == _reach(first[0], "rowspan"):
            title = first[0].parent
            first[0].name = "p"
            table.insert_before(first[0].extract())
            if title is not None:
                title.extract()
        reaching: dict[int, tuple[int, Tag]] = {}  # column → how many more rows, the cell
        for row in (row for row in table.find_all("tr") if row.find_parent("table") is table):
            reaching = _spread_row(row, reaching)
        _join_heads(table)
        for bar in table.find_all(string=re.compile(r"\|")):
            if bar.find_parent(["pre", "table"]) is table:
                bar.replace_with(NavigableString(bar.replace("|", r"\|")))  # it would end the cell


def _rows(table: Tag) -> list[list[Tag]]:
    """Its own cells, not those of tables in them."""
    rows = (row for row in table.find_all("tr") if row.find_parent("table") is table)
    return [row.find_all(["td", "th"], recursive=False) for row in rows]


def _out_of_tables(soup: BeautifulSoup) -> None:
    """Tables in cells of others, as Markdown has none: what only arranges parts of a page becomes these parts, and of
    others the cell says the inner rows one after the other."""
    arranging: dict[int, bool] = {}
    for inner in reversed(soup.select("td table, th table")):
        outer = inner.find_parent("table")
        if outer is None:
            continue
        if arranging.setdefault(id(outer), id(outer) not in arranging and _arranges(outer)):
            parts = outer.find_all(["tbody", "thead", "tfoot", "tr", "td", "th"])
            for part in [outer, *(part for part in parts if part.find_parent("table") is outer)]:
                part.name = "div"
        else:
            said = write_rows([[cell.get_text(" ", strip=True) for cell in row] for row in _rows(inner)]).markdown
            lines = (line.removeprefix("- ") for line in said.split("\n") if line)
            inner.replace_with(NavigableString(f" {'; '.join(lines)}"))


def _arranges(table: Tag) -> bool:
    rows = _rows(table)
    longest = max((len(cell.get_text(strip=True)) for row in rows for cell in row), default=0)
    return len(rows) == 1 or all(len(row) < 2 for row in rows) or longest > _LONGEST_DATUM


def _spread_row(row: Tag, reaching: dict[int, tuple[int, Tag]]) -> dict[int, tuple[int, Tag]]:
    column = 0
    below: dict[int, tuple[int, Tag]] = {}

    def place(cell: Tag, rows: int) -> None:
        nonlocal column
        if rows > 0 and len(below) < _WIDEST_SPREAD:
            below[column] = (rows, cell)
        column += _reach(cell, "colspan")

    for cell in row.find_all(["td", "th"], recursive=False):
        while column in reaching:
            rows, above = reaching.pop(column)
            cell.insert_before(_repeated(above))
            place(above, rows - 1)
        place(cell, _reach(cell, "rowspan") - 1)
        if cell.name == "th" and (columns := min(_reach(cell, "colspan"), _WIDEST_SPREAD)) > 1:
            del cell["colspan"]
            for _ in range(columns - 1):
                cell.insert_after(_repeated(cell))
    while column in reaching:
        rows, above = reaching.pop(column)
        row.append(_repeated(above))
        place(above, rows - 1)
    return below


def _join_heads(table: Tag) -> None:
    """Several rows of names over a table become one, since Markdown has one: “Per night” over “Hotel” is both."""
    rows = [row.find_all(["td", "th"], recursive=False) for row in table.find_all("tr")]
    heads = list(takewhile(lambda row: row and all(cell.name == "th" for cell in row), rows))
    if not 1 < len(heads) < len(rows) or len({len(row) for row in heads}) > 1 or table.find("table"):
        return
    for column in zip(*heads, strict=True):
        names = dict.fromkeys(" ".join(cell.get_text(" ", strip=True).split()) for cell in column)
        column[-1].string = " ".join(filter(None, names))
    for row in heads[:-1]:
        if row[0].parent is not None:
            row[0].parent.extract()


def _reach(cell: Tag, over: str) -> int:
    value = str(cell.get(over) or "")
    return int(value) if re.fullmatch(r"[1-9]\d{0,3}", value) else 1


def _repeated(cell: Tag) -> Tag:
    """The cell for another place; of a long one only the place."""
    again = copy(cell)
    del again["rowspan"]
    if len(again.get_text()) > _LONGEST_SPREAD:
        again.clear()
    return again


def _hidden(soup: BeautifulSoup) -> Iterator[Tag]:
    for tag in soup.find_all(True):
        style = str(tag.get("style") or "")
        colour = _colour(tag, style)
        if (
            tag.has_attr("hidden")
            or str(tag.get("aria-hidden")).lower() == "true"
            or _HIDING.search(style)
            or (colour and _alike(colour, _background(tag)))
        ):
            yield tag


def _hidden_by(styles: str, soup: BeautifulSoup) -> Iterator[Tag]:
    """By the page's own style sheet, where a rule names one class or id; rules for printing and the like are left."""
    for rule in _RULE.finditer(
        re.sub(r"/\*.*?\*/|@[\w-]+[^{};]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}", "", styles, flags=re.S)
    ):
        if _HIDING.search(rule["body"]):
            for selector in rule["selectors"].split(","):
                if _PLAIN_SELECTOR.fullmatch(selector.strip()):
                    yield from soup.select(selector.strip())


def _colour(tag: Tag, style: str) -> tuple[int, ...] | None:
    found = _COLOUR.search(style)
    return _rgb(found[1] if found else str(tag.get("color") or "") if tag.name == "font" else "")


def _background(tag: Tag) -> tuple[int, ...]:
    """Of the nearest element that states one; a page is white."""
    for element in [tag, *tag.parents]:
        found = _BACKGROUND.search(str(element.get("style") or ""))
        colour = _rgb(found[1] if found else str(element.get("bgcolor") or ""))
        if colour:
            return colour
    return 255, 255, 255


def _rgb(value: str) -> tuple[int, ...] | None:
    value = value.strip().lower()
    if value == "transparent":
        return None
    if re.fullmatch(r"#[0-9a-f]{3,4}", value):
        return tuple(int(digit * 2, 16) for digit in value[1:4])
    if re.fullmatch(r"#[0-9a-f]{6}(?:[0-9a-f]{2})?", value):
        return tuple(int(value[at : at + 2], 16) for at in (1, 3, 5))
    if found := re.match(r"rgba?\(\s*(\d+)[\s,]+(\d+)[\s,]+(\d+)", value):
        return tuple(int(part) for part in found.groups())
    return _NAMED.get(value)


def _alike(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return max(abs(a - b) for a, b in zip(one, other, strict=True)) <= 16


# -- where it leads ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class HtmlLinks:
    """`links` as they are written, relative to `base`, but for those that are not to be followed; `canonical`: what the
    page says is its original. `said`: its words and the links in them, without what differs each time, such as whither
    a sign-in goes on."""

    links: list[str] = field(default_factory=list)
    base: str = ""
    canonical: str = ""
    said: list[str] = field(default_factory=list)
    silent: bool = False

    def start(self, tag: str, given: dict[str, str]) -> None:
        self.silent = tag in ("script", "style")
        if tag == "a":
            self.said.append(f" {given.get('href', '').partition('?')[0]} ")
        if tag in _LEADING and "nofollow" not in given.get("rel", ""):
            self.links.append(given.get(_LEADING[tag], ""))
        elif tag == "meta" and given.get("http-equiv", "").lower() == "refresh":
            self.links += _REFRESH.findall(given.get("content", ""))
        elif tag == "base":
            self.base = given.get("href", "")
        elif tag == "link" and given.get("rel", "").lower() == "canonical":
            self.canonical = given.get("href", "")

    def end(self, tag: str) -> None:
        self.silent = False

    def data(self, text: str) -> None:
        if not self.silent:
            self.said.append(text)

    def close(self) -> "HtmlLinks":
        return self


def html_links(page: bytes) -> HtmlLinks:
    """The links of a page, by the encoding it declares, read as it comes: the tree of one that means harm would take
    forty times its bytes."""
    try:
        text = decode_page(page)
    except FileRefused:
        text = page.decode(errors="replace")
    parser = etree.HTMLParser(target=HtmlLinks(), encoding="utf-8", huge_tree=True)
    parser.feed(text.encode(errors="replace"))
    found: HtmlLinks = parser.close()
    return found
