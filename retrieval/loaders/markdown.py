"""Markdown as people write it → Markdown that reads as text: no front matter, short codes, comments, tags, images."""

import html
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from retrieval.loaders.dates import stated
from retrieval.text import HTML_BLOCKS, HTML_TAGS

_YAML = re.compile(r"\A---[ \t]*\n(?P<body>(?:\w[^\n:]*:.*\n|[ \t#\-].*\n|\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_TOML = re.compile(r"\A\+\+\+[ \t]*\n(?P<body>(?:.*\n)*?)\+\+\+[ \t]*(?:\n|\Z)")
_TITLE = re.compile(r"^title\s*[:=]\s*(?P<title>.+?)\s*$", re.MULTILINE | re.IGNORECASE)
_FIELD = re.compile(r"^(\w[\w .-]*?)[\"']?\s*[:=]\s*(\S.*)$", re.MULTILINE)
_HEADING = re.compile(
    r"^ {0,3}#{1,6}[ \t]+(?P<atx>.*?)[ \t]*(?:#+[ \t]*)?$|^(?P<setext>[^\s#>|`*+-].*)\n(?:=+|-{3,})[ \t]*$", re.M
)
_CODE = re.compile(
    r"^[ \t]*(?P<fence>`{3,}|~{3,})[^\n]*\n(?:.*\n)*?(?:[ \t]*(?P=fence)[`~]*[ "
    r"\t]*$|.*\Z)|(?P<tick>`+)[^`\n]+(?P=tick)",
    re.MULTILINE,
)
_STASHED = re.compile(r"\0(\d+)\0")
_COMMENT = re.compile(  # of HTML; of MDX and Hugo, Liquid, kramdown and Obsidian
    r"<!--(?:.|\n)*?(?:-->|\Z)|^\[//\]:[ \t]*#.*$|\{+/\*(?:.|\n)*?\*/\}+"
    r"|\{%-?\s*comment\b(?:.|\n)*?\bendcomment\s*-?%\}|\{::comment\}(?:.|\n)*?\{:/(?:comment)?\}|(?<!\S)%%\s(?:[^%]|%(?!%))*\s%%(?!\S)",
    re.MULTILINE,
)
_SILENT = re.compile(r"<(script|style|template|noscript)\b[^>]*>.*?(?:</\1\s*>|\Z)", re.DOTALL | re.IGNORECASE)
_READING = re.compile(r"<(rt|rp)\b[^>]*>[^<]*(?:</\1\s*>)?", re.IGNORECASE)  # above a word (ruby)
_HIDDEN = re.compile(
    r"<(\w+)\b[^>]*?(?:\shidden(?=[\s=>])|aria-hidden\s*=\s*[\"']?true|display\s*:\s*none|visibility\s*:\s*hidden"
    r"|font-size\s*:\s*0(?![\d.]*[1-9])|opacity\s*:\s*0(?![\d.]*[1-9]))[^>]*>.*?</\1\s*>",
    re.DOTALL | re.IGNORECASE,
)
_SHORT_CODE = re.compile(r"\{\{[<%]\s*(?P<hugo>.*?)\s*[%>]\}\}|\{%-?\s*(?P<liquid>.*?)\s*-?%\}", re.DOTALL)
_SHOWN = ("content", "text", "caption")  # what a reader of the page sees of a short code, besides its title
_HEADED = re.compile(r"(?:tab|details|expand)\b")  # what stands in them is under their name
_QUOTED = re.compile(r"(?:(?P<key>\w+)=)?[\"“](?P<value>[^\"”]*)[\"”]")
_MODULE = re.compile(
    r"^(?:import\s+(?:[\w*{][^'\"\n]*\sfrom\s+)?(['\"])[^'\"\n]+\1|export\s+(?:const|default)\s[^\n]*);?[ \t]*$", re.M
)
_ADMONITION = re.compile(
    r"^[ \t]*:{3,}[ \t]*(?:\{?[\w-]+\}?)?(?:[ \t]*\[(?P<name>[^\]\n]+)\]|[ \t]+(?P<title>[^\n{]*?))?"
    r"[ \t]*(?:\{[^}\n]*\})?[ \t]*$",
    re.MULTILINE,
)
_MARKED_BOX = re.compile(
    r"^(?P<quote>[ \t]*(?:>[ \t]*)+)\[!\w+\][+-]?[ \t]*(?P<name>[^\n]*)$", re.M
)  # GitHub, Obsidian
_INDENTED_BOX = re.compile(  # MkDocs: what stands in the box, or in the tab, is indented below it
    r"(?P<indent>[ \t]*)(?:(?:!!!|\?\?\?\+?)[ \t]+[\w -]+?(?:[ \t]+\"(?P<title>[^\"]*)\")?"
    r"|===[!+]?[ \t]+\"(?P<tab>[^\"]+)\")[ \t]*"
)
_INDENT, _DEEPEST = "    ", 8
_WIKI_LINK = re.compile(r"(?<!!)\[\[(?!\s)(?:[^\[\]\n|]+\|)?(?P<text>[^\[\]\n|]+)(?<!\s)\]\]")
_FOOTNOTE, _FOOTNOTE_TEXT = re.compile(r"\[\^([^\[\]\s]+)\]"), re.compile(r"^\[\^([^\[\]\s]+)\]:[ \t]*", re.M)
_ATTRIBUTES = re.compile(r"[ \t]*\{[:#.][^{}\n]*\}[ \t]*$|(?<=[)\]*\0])\{:[^{}\n]*\}", re.MULTILINE)
_IMAGE = re.compile(
    r"!\[(?P<alt>[^\]\n]*)\](?:\((?P<src>[^()\s]*(?:\([^()]*\)[^()\s]*)*)(?:\s+[\"'][^)]*[\"'])?\s*\)|\[[^\]\n]*\])"
)
_WORDLESS_LINK = re.compile(r"(?<!!)\[\s*\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*[^()]*\)")
_EMPTY_LINK = re.compile(
    r"(?<!!)\[(?P<text>[^\[\]\n]*)\]\(\s*(?:(?:javascript|data|vbscript|file):[^()]*(?:\([^()]*\)[^()]*)*)?\s*\)", re.I
)
_ANCHOR = re.compile(r"<a\b[^>]*?\bhref\s*=\s*[\"']?(?P<href>[^\"'\s>]+)[^>]*>(?P<text>.*?)</a\s*>", re.DOTALL | re.I)
_PICTURE = re.compile(r"<img\b[^>]*?\balt\s*=\s*(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)')[^>]*>", re.IGNORECASE)
_TABLE = re.compile(r"<table\b[^>]*>.*?</table\s*>", re.DOTALL | re.IGNORECASE)
_SPANS = re.compile(r"<t[dh]\b[^>]*\b(?:row|col)span\s*=", re.I)
_COMPONENT = re.compile(r"<(?P<name>[A-Z]\w*)\b(?P<given>[^<>]*?)/?>|</(?P<closed>[A-Z]\w*)\s*>")
_COMPONENT_NAME = re.compile(r"</([A-Z]\w*)\s*>|<([A-Z]\w*)\b[^<>]*/>")  # `<T>` alone is a type, or a place to fill
_GIVEN = re.compile(r"(?<![\w-])(\w+)=(?:\"([^\"]*)\"|'([^']*)'|\{[\"'`]([^\"'`{}]*)[\"'`]\})")
_NAMES, _TELLS = ("label", "title", "heading"), ("description", "caption", "summary", "alt")  # what readers are shown
_TAG = re.compile(r"</?(?P<name>[A-Za-z][A-Za-z0-9]*)(?:\s[^<>]*)?/?>")
_HEADING_MARK = re.compile(r"#{1,6}\s")
_NUMBERED = re.compile(r"(\d{1,2})(?:[.．][ \u3000]*|[ \u3000]+)(?!\d)(?=.*[^\W\d_])\S.{0,39}(?<![。．.、,;；:：!?])")
_ARTICLE = re.compile(
    r"(?:第\s?[\d〇一二三四五六七八九十百]{1,4}\s?([章節条])|附\s?則|別表(?:第?\s?\d{1,2})?)"
    r"(?:\s*[（(][^（）()。]{1,40}[)）]|[ \u3000][^（()。\d]{1,30})?"
)
_LEVELS = {"章": 2, "節": 3, "条": 4}
_FEWEST_NUMBERED = 3


def front_matter(text: str) -> tuple[str, str, str]:
    """Title and date (ISO) that YAML (`---`) or TOML (`+++`) front matter gives, `""` if none, and the text after
    it."""
    found = _YAML.match(text) or _TOML.match(text)
    if not found:
        return "", "", text
    title = _TITLE.search(found["body"])
    dated = stated(_FIELD.findall(found["body"]))
    return html.unescape(_unquoted(title["title"])) if title else "", dated, text[found.end() :]


def first_heading(text: str) -> str:
    """The words of the first heading outside code, `""` if there is none."""
    found = _HEADING.search(_CODE.sub(lambda code: "" if code["fence"] else code.group(), text))
    return plain(found["atx"] or found["setext"] or "") if found else ""


def with_headings(text: str) -> str:
    """Text of a file that has no marks for them, its headings marked: 「第3条（試用期間）」, and "2 Leave" where there
    are no others and such lines count on from 1 with something under each."""
    lines = text.split("\n")
    said = [at for at, line in enumerate(lines) if line.strip()]
    numbered: list[int] = []
    if not _HEADING.search(text):
        for at, below in pairwise(said):
            found, following = (_NUMBERED.fullmatch(lines[place].strip()) for place in (at, below))
            if (
                found
                and int(found[1]) == len(numbered) + 1
                and not (following and int(following[1]) == int(found[1]) + 1)
            ):
                numbered.append(at)
    for at in numbered if len(numbered) >= _FEWEST_NUMBERED else ():
        lines[at] = f"\n## {lines[at].strip()}\n"
    for at in said:
        if article := _ARTICLE.fullmatch(lines[at].strip()):
            lines[at] = f"\n{'#' * _LEVELS.get(article[1] or '', 2)} {lines[at].strip()}\n"
    return "\n".join(lines)


def plain(line: str) -> str:
    """A line of Markdown without emphasis, links and code marks."""
    line = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", line)
    return re.sub(r"[*`]+|(?<!\w)_+|_+(?!\w)|\\(?=\W)", "", line).strip()


def tidy(text: str) -> str:
    """Markdown from a file, in its own words only; code stays as it is, links keep their address."""
    text, stash = _without_code(text)
    for silent in (_COMMENT, _SILENT, _READING, _HIDDEN):
        text = silent.sub("", text)
    text = _SHORT_CODE.sub(_short_code, text)
    text = _ADMONITION.sub(_box, _MODULE.sub("", text))
    text = "\n".join(_out_of_boxes(text.split("\n"), stash))
    text = _WIKI_LINK.sub(lambda link: link["text"], _MARKED_BOX.sub(_box, text))
    text = _FOOTNOTE.sub(r"[\1]", _FOOTNOTE_TEXT.sub(r"[\1] ", _ATTRIBUTES.sub("", text)))
    text = _TABLE.sub(_table, text)
    text = _ANCHOR.sub(_link, _PICTURE.sub(lambda image: image["double"] or image["single"] or "", text))
    text = html.unescape(_TAG.sub(_tag, _without_components(text)))
    return _with_code(_without_images(text), stash)


def tidy_images(text: str) -> str:
    """Images become their description, links to nowhere or to scripts their text; for Markdown made by a converter,
    whose code stays as it is."""
    text, stash = _without_code(text)
    return _with_code(_without_images(text), stash)


def _without_code(text: str) -> tuple[str, list[str]]:
    """The text with a mark for each code in it, and the codes by number."""
    stash: list[str] = []

    def hide(code: re.Match[str]) -> str:
        stash.append(code.group())
        return f"\0{len(stash) - 1}\0"

    return _CODE.sub(hide, text.replace("\0", "")), stash


def _with_code(text: str, stash: Sequence[str]) -> str:
    return _STASHED.sub(lambda found: stash[int(found[1])] if int(found[1]) < len(stash) else "", text)


def _without_images(text: str) -> str:
    text = _WORDLESS_LINK.sub("", _IMAGE.sub(_description, text))
    return _EMPTY_LINK.sub(lambda link: link["text"], text)


def _description(image: re.Match[str]) -> str:
    """Converters name a picture without description after its shape (“Picture 4”, Picture4.jpg): that says nothing."""
    alt = image["alt"].strip()
    nameless = re.sub(r"\W", "", alt) + ".jpg" == image["src"]
    return "" if nameless else alt


def _short_code(found: re.Match[str]) -> str:
    """Hugo `{{< … >}}`, `{{% … %}}` and Liquid `{% … %}`: the words in them that a reader of the page would see."""
    quoted = [(part["key"], part["value"].strip()) for part in _QUOTED.finditer(found["hugo"] or found["liquid"] or "")]
    told = [value for key, value in quoted if key in _SHOWN and value]
    if found.string[max(0, found.start() - 2) : found.start()] == "](":
        return next((value for _, value in quoted), "")  # the address of a link
    if found["hugo"] is not None:
        names = ("title", "header", "name", None) if _HEADED.match(found["hugo"]) else ("title",)
        title = next((value for key, value in quoted if key in names), "")
        said = "\n\n".join(filter(None, [title and f"**{title}**", *told]))
        return said if not said or found.string[found.end() : found.end() + 1] in ("", "\n") else f"{said}\n\n"
    words = [value for key, value in quoted if not key and not re.search(r"/|\.\w{1,5}$", value)]
    return "\n\n".join([*told, *words[-1:]])


def _box(found: re.Match[str]) -> str:
    """How a box around some lines begins or ends (`:::note[Title]`, `> [!NOTE] Title`): its title, if it has one."""
    parts = found.groupdict()
    title = (parts["name"] or parts.get("title") or "").strip()
    quote = parts.get("quote") or ""
    return f"{quote}**{title}**" + ("" if quote else "\n") if title else quote


def _out_of_boxes(lines: Sequence[str], stash: list[str], depth: int = 0) -> Iterator[str]:
    """Lines without the marks and the indent of MkDocs's boxes and tabs (`!!! note "Title"`, `=== "Windows"`): indented
    text is code. `stash`: code by number, which is moved along."""
    at = 0
    while at < len(lines):
        box = _INDENTED_BOX.fullmatch(lines[at])
        at += 1
        if box is None or depth > _DEEPEST:
            yield lines[at - 1]
            continue
        indent = box["indent"] + _INDENT
        body = []
        while at < len(lines):
            code = _STASHED.match(lines[at])
            line = stash[int(code[1])] if code and int(code[1]) < len(stash) else lines[at]
            if line.strip() and not line.startswith(indent):
                break
            if code:
                stash[int(code[1])] = "\n".join(each.removeprefix(indent) for each in line.split("\n"))
            body.append(lines[at].removeprefix(indent))
            at += 1
        title = box["title"] or box["tab"]
        yield from (f"**{title}**", "") if title else ("",)
        yield from _out_of_boxes(body, stash, depth + 1)


def _link(anchor: re.Match[str]) -> str:
    text = " ".join(_TAG.sub(" ", anchor["text"]).split())
    return f"[{text}]({html.unescape(anchor['href'])})" if text else ""


def _table(found: re.Match[str]) -> str:
    """An HTML table as a Markdown one; its first row names the columns if it has cells that say so (`<th>`)."""
    table = found.group()
    if _SPANS.search(table):
        from bs4 import BeautifulSoup  # heavy, and few pages have such a table

        from retrieval.loaders.html import spread_cells

        soup = BeautifulSoup(table, "html.parser")
        spread_cells(soup)
        table = str(soup)
    rows = [
        [" ".join(_TAG.sub(" ", _ANCHOR.sub(_link, cell)).split()) for cell in re.split(r"</t[dh]\s*>", row)[:-1]]
        for row in re.split(r"</tr\s*>", table)
    ]
    lines = ["| " + " | ".join(row) + " |" for row in rows if any(row)]
    if lines and not re.search(r"<th\b", found.group(), re.IGNORECASE):
        lines.insert(0, "|  " * (max(line.count(" | ") for line in lines) + 1) + "|")
    if lines:
        lines.insert(1, "| --- " * (lines[0].count(" | ") + 1) + "|")
    return "\n\n" + "\n".join(lines) + "\n\n"


def _tag(found: re.Match[str]) -> str:
    """The text that a tag leaves behind; `<your-name>` and `<T>` are no tags of HTML and stay."""
    name = found["name"].lower()
    closing = found.group().startswith("</")
    line = found.string.rfind("\n", 0, found.start()) + 1
    in_row, in_heading = found.string.startswith("|", line), _HEADING_MARK.match(found.string, line, found.start())
    if (in_row and name in HTML_BLOCKS) or (in_heading and name == "br"):
        return " "  # a row of a table is one line, and so is a heading
    if name in ("td", "th"):
        return " | " if closing else ""
    if name in ("li", "h1", "h2", "h3", "h4", "h5", "h6") and not closing:
        return "\n- " if name == "li" else "\n\n" + "#" * int(name[1]) + " "
    if name in ("p", "div", "section", "article", "h1", "h2", "h3", "h4", "h5", "h6", "summary", "blockquote", "table"):
        return "\n\n"
    if name in HTML_BLOCKS:
        return "\n"
    return "" if name in HTML_TAGS else found.group()


def _without_components(text: str) -> str:
    """MDX: of an element that a program draws (`<TabItem label="Windows">`) what it holds, under its label or title and
    what describes it."""
    names = {name for pair in _COMPONENT_NAME.findall(text) for name in pair if name and name.lower() not in HTML_TAGS}

    def said(tag: re.Match[str]) -> str:
        if (tag["name"] or tag["closed"]) not in names:
            return tag.group()
        given = {name: "".join(values).strip() for name, *values in _GIVEN.findall(tag["given"] or "")}
        labels = [f"**{given[name]}**" for name in _NAMES if given.get(name)]
        told = [given[name] for name in _TELLS if given.get(name)]
        return "".join(f"\n\n{part}\n\n" for part in (*labels[:1], *told))

    return _COMPONENT.sub(said, text) if names else text


def _unquoted(value: str) -> str:
    for quote in "\"'":
        if len(value) >= 2 and value[0] == value[-1] == quote:
            inner = value[1:-1]
            return inner.replace("''", "'") if quote == "'" else inner.replace('\\"', '"').replace("\\\\", "\\")
    return value.split(" #")[0].strip()
