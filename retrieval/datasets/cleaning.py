"""A row → a document, or the reason why it is none: what is not its own text goes, what says too little stays out."""

import hashlib
import html
import re
import unicodedata
from dataclasses import dataclass
from typing import Literal

from retrieval.datasets.rows import DatasetRow, DatasetSource
from retrieval.loaders.sanitize import clean, clean_line

Dropped = Literal["empty", "short", "long", "duplicate", "encoding"]

_TOLERATED = 0.005  # share of U+FFFD
_RAW = 4  # a raw text so many times too long is not even cleaned
_RULE = re.compile(r"[-=_*~.・─━―＝＿＊]{3,}")
_BLANKS = re.compile(r"[ \t\u3000\u00a0\u1680\u2000-\u200a\u202f\u205f]+")
_MANY_BREAKS = re.compile(r"\n{3,}")
_UNSAFE = re.compile(r"[^\w.-]+")

# What Wikipedia's own text extraction leaves behind: sections of references, captions, brackets that lost their
# reading.
_WIKI_END = re.compile(
    r"^(?:脚注|注釈|註釈|注記|出典|脚注・出典|注釈・出典|出典・脚注|参考文献|関連文献|参照|関連項目|外部リンク"
    r"|References|Notes|Footnotes|External links|See also|Further reading)[ \t]*$",
    re.MULTILINE,
)
_WIKI_LINE = re.compile(
    r"^(?:(?:thumb|thumbnail|サムネイル|left|right|center|upright|frame)\||\{\||\|[-}]|Category:|カテゴリ:|File:|ファイル:|\{\{|\}\})",
    re.IGNORECASE,
)
_EMPTY_BRACKETS = re.compile(r"[（(][\s、,，;；:：・]*[）)]")
_BRACKET_START = re.compile(r"([（(])[\s、,，;；]+")

_NEWS_LINE = re.compile(
    r"^(?:advertisement|sponsored(?: content)?|share (?:this|on)\b.{0,60}|sign up (?:for|to)\b.{0,120}"
    r"|subscribe (?:to|now)\b.{0,120}|click here\b.{0,120}|follow (?:us|@)\b.{0,120}|read more\b.{0,160}"
    r"|(?:also )?(?:read|see|watch)(?: also)?:.{0,200}|related (?:articles?|stories|links?)\b.{0,160}"
    r"|copyright\b.{0,160}|(?:©|\(c\)).{0,160}|all rights reserved\b.{0,120}|photo(?: credit)?:.{0,120}"
    r"|(?:loading|continue reading|story continues).{0,60}|this (?:material|story) may not be\b.{0,200})$",
    re.IGNORECASE,
)
_LIVEDOOR_END = re.compile(
    r"^(?:[■●◆▼★【\[（(・]+[ \t\u3000]*(?:関連|あわせて読みたい|おすすめ記事|元記事)[^\n]{0,40}"
    r"|(?:関連(?:記事|リンク|サイト|情報|ニュース)|元記事|あわせて読みたい|おすすめ記事)[ \t\u3000]*[:：]?)$",
    re.MULTILINE,
)
_LIVEDOOR_LINE = re.compile(
    r"^(?:記事(?:一覧|トップ)へ.{0,20}|→?続きを読む.{0,20}|ツイートする|シェアする|コメント(?:する|を見る).{0,20})$"
)

_ENDS = {"wikipedia": _WIKI_END, "livedoor": _LIVEDOOR_END}
_LINES = {"wikipedia": _WIKI_LINE, "news": _NEWS_LINE, "livedoor": _LIVEDOOR_LINE}


@dataclass(frozen=True, slots=True)
class Sieve:
    """Bounds for texts, in characters of the cleaned text."""

    shortest: int = 50
    longest: int = 200_000


@dataclass(frozen=True, slots=True)
class Prepared:
    """A row that has become a document: `name` is the same whenever the dataset is read, `data` its Markdown."""

    row: DatasetRow
    name: str
    title: str
    text: str
    url: str | None
    data: bytes


class Cleaner:
    """Cleans the rows of one source; remembers what it has let through, to drop the second copy and name none twice."""

    def __init__(self, source: DatasetSource, sieve: Sieve) -> None:
        self._source = source
        self._sieve = sieve
        self._seen: set[bytes] = set()
        self._names: set[str] = set()

    def prepare(self, row: DatasetRow) -> Prepared | Dropped:
        if len(row.text) > _RAW * self._sieve.longest:
            return "long"
        text = cleaned(row.text, self._source.chrome)
        if not any(unicodedata.category(char)[0] in "LN" for char in text):
            return "empty"
        if text.count("\ufffd") > len(text) * _TOLERATED:
            return "encoding"
        if len(text) < self._sieve.shortest:
            return "short"
        if len(text) > self._sieve.longest:
            return "long"
        same = "".join(unicodedata.normalize("NFKC", text).casefold().split())
        digest = hashlib.sha256(same.encode("utf-8", "replace")).digest()[:16]
        if digest in self._seen:
            return "duplicate"
        self._seen.add(digest)
        title = clean_line(row.title) or _opening(text)
        url = row.url if row.url and re.match(r"https?://\S+$", row.url) and len(row.url) <= 2_000 else None
        key = _key(row, url, digest)
        if key in self._names:
            key = f"{key}-{digest.hex()[:8]}"
        self._names.add(key)
        data = self._markdown(row, title, text, url)
        return Prepared(row, f"{self._source.name}/{key}.md", title, text, url, data)

    def _markdown(self, row: DatasetRow, title: str, text: str, url: str | None) -> bytes:
        said = self._source.attribution(row)
        credit = f"{said.format(title=title)} {url or ''}".strip() if said else ""
        parts = [f"# {title}", text, credit]
        # The Markdown reader takes tags for tags and resolves entities; here both are text.
        return ("\n\n".join(html.escape(part, quote=False) for part in parts if part) + "\n").encode("utf-8", "replace")


def cleaned(text: str, chrome: str = "") -> str:
    """Without invisible characters, markup that is not text, and what surrounds articles of this kind (`chrome`:
    wikipedia, news, livedoor). Cleaning twice is cleaning once."""
    text = clean(html.unescape(text) if chrome == "news" else text)
    end = _ENDS.get(chrome)
    if end is not None and (found := end.search(text)) and text[: found.start()].strip():
        text = text[: found.start()]
    line = _LINES.get(chrome)
    kept = (_BLANKS.sub(" ", each).strip() for each in text.split("\n"))
    text = "\n".join(each for each in kept if not (_RULE.fullmatch(each) or (line is not None and line.match(each))))
    if chrome == "wikipedia":
        text = _BRACKET_START.sub(r"\1", _EMPTY_BRACKETS.sub("", text))
    return _MANY_BREAKS.sub("\n\n", text).strip()


def _opening(text: str) -> str:
    """The first line as a title, for rows that have none."""
    first = clean_line(text.split("\n", 1)[0], 60)
    return first.split("。")[0] or first


def _key(row: DatasetRow, url: str | None, digest: bytes) -> str:
    """The name of the row for good: its own id, else the article's number or address, else its text."""
    if row.id:
        safe = _UNSAFE.sub("_", row.id.strip())[:80].strip("._")
        return safe if safe == row.id else f"{safe}-{hashlib.sha256(row.id.encode('utf-8', 'replace')).hexdigest()[:8]}"
    if url and (number := re.search(r"/(\d{5,})/?$", url)):
        return number[1]
    if url:
        return hashlib.sha256(url.encode()).hexdigest()[:16]
    return digest.hex()
