"""A website: the pages of its sitemap, or those that its start page leads to; asked politely, page by page, and only
for what has changed.

Source: sources.md §1 (website); RFC 9309 (robots.txt); RFC 9110 §13 (conditional requests), §10.2.3 (Retry-After);
sitemaps.org/protocol.html; reliability.md R40.
"""

import asyncio
import codecs
import hashlib
import io
import logging
import re
import zlib
from collections import deque
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from urllib.parse import quote, unquote, urljoin, urlsplit, urlunsplit
from xml.etree.ElementTree import Element, ParseError

from defusedxml import DefusedXmlException  # type: ignore[import-untyped]
from defusedxml.ElementTree import iterparse  # type: ignore[import-untyped]
from protego import Protego
from pydantic import TypeAdapter

from bot.sources.base import (
    NOT_NOW,
    TOO_BIG,
    TOO_MANY,
    UNREAD,
    Fetched,
    Listing,
    PageError,
    SourceError,
    SourcePage,
)
from bot.sources.web_request import AGENT, WHOLE, Answer, AwayError, Body, WebClient, web_client
from bot.store.followed import FollowedPage
from bot.waiting import Sleep
from retrieval.i18n import Text
from retrieval.loaders.dates import iso_date
from retrieval.loaders.encodings import decode_named
from retrieval.loaders.file_types import SUFFIXES, suffix_of
from retrieval.loaders.html import html_links
from retrieval.loaders.limits import ParsingLimits
from retrieval.providers.errors import seconds_asked

log = logging.getLogger(__name__)

DEPTH, PAGES = 5, 2_000
LINKS, ADDRESSES = 2, 20  # times so many addresses that one page, and all of them, may lead to
HOPS, TRIES, LONGEST_WAIT = 5, 3, 60.0  # redirects; of a page that is busy; seconds for one of them
WITNESSES = 10  # pages that are asked for though nothing leads to them any more
SITEMAPS, NESTED = 50, 8  # files; elements in one another
ROBOTS_BYTES = 512 * 1024  # as much as RFC 9309 §2.5 asks for; each rule is tried on each page
_NAMED = "named"  # the version of a sitemap that has named pages of the site
MOST_BYTES = 2**30  # of all pages of a look, on the disk
_KINDS = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/plain": ".txt",
    "text/markdown": ".md",
    "application/pdf": ".pdf",
}
_MARKDOWN = frozenset({".md", ".markdown", ".mdx"})
_A_PAGE = re.compile(rb"(?:\xef\xbb\xbf)?\s*<(?:!doctype\s+)?html", re.I)
_CHARSET = re.compile(r";\s*charset\s*=\s*[\"']?([\w.:-]+)", re.I)

ADDRESS = Text(
    en="“{location}” is not the address of a website: https://…",
    ja="「{location}」はウェブサイトのアドレスではありません。https://… の形で指定してください。",
)
_SECRET = Text(
    en="The address holds a name or password. Sites that ask for one are not read; leave it out.",
    ja="アドレスにユーザー名またはパスワードが含まれています。認証の必要なサイトは読み込めないため、除いてください。",
)
_START = Text(en="{url} cannot be read: {why}", ja="{url} を読み込めません: {why}")
_SITEMAP = Text(en="The sitemap {url} cannot be read: {why}", ja="サイトマップ {url} を読み込めません: {why}")
_NONE_OF_IT = Text(
    en="The sitemap {url} names no page of this host.", ja="サイトマップ {url} に、このホストのページがありません。"
)
_FORBIDDEN = Text(en="its robots.txt does not allow it", ja="robots.txt で許可されていません")
_ONE_PAGE = Text(
    en="it says what other pages say, too, all of a sudden, as where one has to sign in first",
    ja="急にほかのページと同じ内容になりました（ログイン画面やメンテナンス画面など）",
)
_NO_ADDRESS = Text(en="sent to what is no address", ja="正しくないアドレスへ転送されました")
_OTHER_HOST = Text(en="sent to another host for now", ja="一時的に別のホストへ転送されています")
_NO_END = Text(en="redirects without end", ja="転送が繰り返されています")
_MANY_FAIL = Text(
    en="{n} of {all} pages could not be read, so the rest was not compared.",
    ja="{all} ページ中 {n} ページを読み込めなかったため、比較を行いませんでした。",
)


@dataclass(slots=True)
class _Page:
    """A page as it is remembered between two looks: its validators, what it leads to, the address that it calls its own
    (`canonical`), and a hash of what it `said`, which stays the same when only its markup changes."""

    etag: str = ""
    modified: str = ""
    version: str = ""
    suffix: str = ".html"
    links: list[str] = field(default_factory=list)
    canonical: str = ""
    said: str = ""


_MEMORY = TypeAdapter(dict[str, _Page])


@dataclass(frozen=True, slots=True)
class WebsiteSource:
    """Pages of one host below the start page's folder. `memory` is a file of its own that may be lost."""

    location: str
    _: KW_ONLY
    memory: Path
    private: bool = False
    pages: int = PAGES
    most_bytes: int = MOST_BYTES
    seconds: float = WHOLE
    wait: Sleep = asyncio.sleep

    @asynccontextmanager
    async def look(self, cursor: str | None, known: Mapping[str, FollowedPage]) -> AsyncIterator[Listing | None]:
        start = check_address(self.location)
        async with web_client(private=self.private, seconds=self.seconds) as client:
            with TemporaryDirectory(prefix="kotae-site-") as folder:
                remembered = await asyncio.to_thread(_recall, self.memory)
                visit = _Visit(self, start, client, Path(folder), remembered, known)
                yield await visit.listing()
                await asyncio.to_thread(_remember, self.memory, visit.seen)


@dataclass
class _Visit:
    """One look at the site."""

    source: WebsiteSource
    start: str
    client: WebClient
    folder: Path
    remembered: Mapping[str, _Page]
    known: Mapping[str, FollowedPage]
    robots: Protego = field(default_factory=lambda: Protego.parse(""))
    below: str = "/"  # the folder of the host that is followed
    listed: dict[str, str] | None = None  # by its sitemap, each page with its date
    seen: dict[str, _Page] = field(default_factory=dict)
    pages: dict[str, SourcePage] = field(default_factory=dict)
    failed: dict[str, Text] = field(default_factory=dict)
    led: dict[str, tuple[str, bool]] = field(default_factory=dict)  # from a page to where; whether for good
    on_disk: int = 0  # bytes of all pages
    blind: bool = False  # a page that cannot be had may lead to others

    async def listing(self) -> Listing:
        await self._read_robots()
        await self._find_folder()
        self.listed = await self._sitemap()
        met = await self._walk()
        await self._set_apart([url for url in self.known if url not in met] if self.listed is None else None)
        if len(self.failed) > len(self.pages) / 2:
            if self.failed.get(self.start) is _ONE_PAGE:
                raise SourceError(_START, url=self.start, why=_ONE_PAGE)
            raise SourceError(_MANY_FAIL, n=len(self.failed), all=len(self.failed) + len(self.pages))
        return Listing(self._once() | self._kept(), self._fetch)

    async def _fetch(self, page: SourcePage) -> Fetched:
        if page.ref in self.failed:
            raise PageError(NOT_NOW, why=self.failed[page.ref])
        try:
            data = await asyncio.to_thread((self.folder / page.version).read_bytes)
        except OSError as error:  # it has not changed, but its document is wanted anew: the next look reads it
            raise PageError(NOT_NOW, why=type(error).__name__) from error
        # before what was served, which is often the build's
        date = iso_date((self.listed or {}).get(page.ref, "")) or iso_date(self.seen.get(page.ref, _Page()).modified)
        return Fetched(data, date or None)

    def _once(self) -> dict[str, SourcePage]:
        """A page at several addresses (with a question, a slash or index.html behind it, or without) counts once: at
        the one that is known and has not moved, else at the first. A copy of another page does not count."""
        at: dict[str, str] = {}
        for url in sorted(self.pages, key=lambda url: (url not in self.known, self._has_moved(url))):
            at.setdefault(self.pages[url].version, url)
        pages = {url: page for url, page in self.pages.items() if at[page.version] == url}
        return {url: page for url, page in pages.items() if not self._is_copy(url, pages)}

    async def _set_apart(self, unmet: Sequence[str] | None) -> None:
        """Known pages that said several things and say one all of a sudden, as where one has to sign in first or a site
        is closed, cannot be had now, as long as the site names them. Not so those that have moved for good into one
        that is there, and a page in several versions of a documentation. `unmet`: what no link leads to any more; if
        that is most of the site, some are asked for: who has to sign in is led nowhere."""
        there = {url: self.seen[url] for url in self.known if url in self.pages}
        home = {url.rstrip("/"): url for url in there}
        if unmet is not None and len(unmet) > len(self.known) / 2:
            asked = [url for url in unmet if self._may_be_read(url)][:WITNESSES]
            there |= {url: page for url in asked if (page := await self._glance(url)) is not None}
        together: dict[tuple[str, str], list[str]] = {}
        for url, page in there.items():
            into = home.get(self.led.get(url, (url, False))[0].rstrip("/"), url)
            anew = self._said_before(url) not in (page.said, page.version)
            if anew and (into == url or not self._has_moved(url)):
                sent = into != url and url in self.pages  # to one that may have changed by itself
                together.setdefault((page.said, into if sent else ""), []).append(url)
        for urls in together.values():
            several = min(len({_last_name(url, query=True) for url in urls}), len({*map(self._said_before, urls)})) > 1
            for url in self.pages.keys() & urls if several else ():
                log.warning("%s says what others say all of a sudden, and stays as it was", url)
                del self.pages[url], self.seen[url]
                if url in self.remembered:
                    self.seen[url] = self.remembered[url]
                self.failed[url] = _ONE_PAGE
                self.blind = self.blind or unmet is not None

    def _has_moved(self, url: str) -> bool:
        to, for_good = self.led.get(url, (url, False))
        return for_good and to.rstrip("/") != url.rstrip("/")

    def _said_before(self, url: str) -> str:
        before = self.remembered.get(url, _Page())
        return before.said or self.known[url].version

    async def _glance(self, url: str) -> _Page | None:
        """A page that is there, without that counting."""
        with suppress(AwayError):
            answer = await self._get(url)
            page, _ = await asyncio.to_thread(_read, answer)
            return page if page.suffix and not answer.gone else None
        return None

    def _is_copy(self, url: str, pages: Collection[str]) -> bool:
        """Whether it is an older or other form of a page that is there, such as for another version: it names that as
        the original, under the same last name. One that is wrong names the start page on all."""
        original = self.seen[url].canonical
        stays = original in self.failed and original in self.known
        return (
            (original in pages or stays)
            and original != url
            and self.seen.get(original, _Page()).canonical in ("", original)
            and _last_name(original) == _last_name(url)
        )

    def _kept(self) -> dict[str, SourcePage]:
        """Pages that cannot be had now are as they were, are told and tried again. So are those that only they may have
        led to."""
        kept = {}
        unseen = self.known.keys() - self.pages.keys() if self.blind else set()
        for url in {*self.failed, *unseen}:
            before = self.known.get(url)
            version = before.version if before is not None and url not in self.failed else "unread"
            kept[url] = SourcePage(url, version, _name(url, self.remembered.get(url, _Page()).suffix), url)
        return kept

    async def _read_robots(self) -> None:
        # unreachable means: not to be visited (RFC 9309 §2.3.1.4)
        answer = await self._needed(urljoin(self.start, "/robots.txt"), beside=True)
        if answer.status == 200:
            self.robots = Protego.parse(answer.body[:ROBOTS_BYTES].decode("utf-8-sig", errors="replace"))
        if not self.robots.can_fetch(self.start, AGENT):
            raise SourceError(_START, url=self.start, why=_FORBIDDEN)

    async def _find_folder(self) -> None:
        """People leave out the slash of a folder. One of the host's own, or one whose server puts it there, is meant:
        else all that lies beside it would be below the start page, too."""
        path = urlsplit(self.start).path
        parent, slash, name = path.rpartition("/")
        if path.endswith(".xml"):
            return
        self.below = parent + slash
        if name and suffix_of(name) not in SUFFIXES:
            of_the_host = not parent and not suffix_of(name)
            if of_the_host or urlsplit((await self._needed(self.start)).url).path.startswith(f"{path}/"):
                self.below = f"{path}/"

    async def _sitemap(self) -> dict[str, str] | None:
        """Its addresses of this site, each with its date; None: there are none, and links are followed. Generators that
        were not told the site's address write a sitemap without any, or with those of another host."""
        only = self.start.endswith(".xml")
        waiting = deque([self.start] if only else [*self.robots.sitemaps, urljoin(self.start, "/sitemap.xml")])
        found: dict[str, str] = {}
        read: set[str] = set()
        any_there = False
        while waiting:
            url = waiting.popleft()
            if url in read or not _same_host(url, self.start):
                continue
            read.add(url)
            try:
                answer = await self._get(url, beside=True)
                is_page = answer.status < 400 and _A_PAGE.match(answer.body)  # of a site where each address has one
                if answer.status >= 400 or is_page:
                    if only or url in self.remembered or (any_there and url != urljoin(self.start, "/sitemap.xml")):
                        raise AwayError("HTML" if is_page else str(answer.status))  # its pages would seem to be gone
                    continue
                inner, pages = await asyncio.to_thread(_entries, answer.body)
            except (AwayError, ParseError, DefusedXmlException, ValueError, zlib.error) as error:
                # half a sitemap would have the other half removed
                why = error.said if isinstance(error, AwayError) else str(error) or type(error).__name__
                raise SourceError(_SITEMAP, url=url, why=why) from error
            any_there = True
            ours = {page: date for given, date in pages.items() if (page := self._ours(given))}
            self.seen[url] = _Page(version=_NAMED if ours else "", suffix=".xml")
            waiting += inner
            found |= ours
            self._bound(len(found), ADDRESSES)
            if len(read) > SITEMAPS:
                raise SourceError(_SITEMAP, url=url, why=f"> {SITEMAPS}")
        emptied = [url for url in read if self.remembered.get(url, _Page()).version == _NAMED]
        if not found and (only or emptied):  # its pages would seem to be gone
            raise SourceError(_NONE_OF_IT, url=(emptied or [self.start])[0])
        return found or None

    async def _walk(self) -> Collection[str]:
        """Reads the pages; returns all that the site names."""
        waiting = deque([(self.start, 0)] if self.listed is None else [(url, DEPTH) for url in self.listed])
        met = {url for url, _ in waiting}
        delay = min(float(self.robots.crawl_delay(AGENT) or 0), 10.0)
        while waiting:
            url, depth = waiting.popleft()
            if not self._may_be_read(url):
                continue
            page = await self._page(url, first=depth == 0)
            self._bound(len(self.pages) + len(self.failed))
            if page is not None and depth < DEPTH:
                for link in page.links:
                    if link not in met:
                        met.add(link)
                        waiting.append((link, depth + 1))
                self._bound(len(met), ADDRESSES)
            if delay:
                await self.source.wait(delay)
        return met

    async def _page(self, url: str, *, first: bool) -> _Page | None:
        """A page that is there, read or as it was; None for one that is gone, no page, or cannot be had now."""
        before = self.remembered.get(url)
        try:
            answer = await self._get(url, self._validators(url))
        except AwayError as error:
            if first:
                raise SourceError(_START, url=url, why=error.said) from error
            self.failed[url] = error.said
            self.blind = self.blind or before is None
            return before
        if answer.gone:
            if first:
                raise SourceError(_START, url=url, why="404")
            return None
        if answer.status == 304 and before is not None:
            page = before
        else:
            page, body = await asyncio.to_thread(_read, answer)
            if not page.suffix:
                return None
            page.links, page.canonical = [*filter(None, map(self._ours, page.links))], self._ours(page.canonical)
            self._bound(len(page.links), LINKS)
            self.on_disk += len(body)
            if self.on_disk > self.source.most_bytes:
                raise SourceError(TOO_BIG, n=self.source.most_bytes >> 20)
            await asyncio.to_thread((self.folder / page.version).write_bytes, body)
        self.seen[url] = page
        self.pages[url] = SourcePage(url, page.version, _name(url, page.suffix), url)
        return page

    def _validators(self, url: str) -> dict[str, str]:
        """Of a page that is known as it is remembered; else it is had whole."""
        before, known = self.remembered.get(url, _Page()), self.known.get(url, UNREAD)
        if before.version != known.version or known.due_at is not None:  # its reading was stopped
            return {}
        name, value = ("If-None-Match", before.etag) if before.etag else ("If-Modified-Since", before.modified)
        return {name: value} if value and value.isascii() else {}

    def _bound(self, count: int, times: int = 1) -> None:
        """Raises SourceError for more than the site may have: what is beyond would seem to be gone."""
        if count > times * self.source.pages:
            raise SourceError(TOO_MANY, most=self.source.pages)

    def _may_be_read(self, url: str) -> bool:
        return self._ours(url) == url and self.robots.can_fetch(url, AGENT)

    def _ours(self, url: str) -> str:
        """An address by the scheme of the start page, as many sites name both; "": it is none of the same host, not in
        the folder that is followed, or no page: Sphinx lays the source of each beside it."""
        start, parts = urlsplit(self.start), urlsplit(url)
        below = parts.path.startswith(self.below) or parts.path == start.path
        ours = below and parts.netloc == start.netloc and "/_sources/" not in parts.path
        return f"{start.scheme}:{url.partition(':')[2]}" if ours else ""

    async def _needed(self, url: str, *, beside: bool = False) -> Answer:
        """An answer without which the site cannot be read. Raises SourceError."""
        try:
            return await self._get(url, beside=beside)
        except AwayError as error:
            raise SourceError(_START, url=url, why=error.said) from error

    async def _get(
        self, url: str, headers: Mapping[str, str] = MappingProxyType({}), *, beside: bool = False
    ) -> Answer:
        """The answer after redirects, all of which stay on the host; 404: it leads elsewhere. `beside`: robots.txt or a
        sitemap, which is not there whatever it is refused with (RFC 9309 §2.3.1.3; S3 answers 403 for what is missing).
        Raises AwayError, SourceError for an address that may not be reached."""
        answer, tried = await self._followed(url, headers), 1
        while answer.status in (429, 503) and tried < TRIES:
            asked = seconds_asked(answer.headers.get("retry-after", ""))
            await self.source.wait(min(2.0 ** (tried - 1) if asked is None else asked, LONGEST_WAIT))
            answer, tried = await self._followed(url, headers), tried + 1
        missing = answer.gone or (beside and answer.status < 500 and answer.status != 429)
        if answer.status >= 400 and not missing:
            raise AwayError(str(answer.status))
        return answer

    async def _followed(self, asked: str, headers: Mapping[str, str]) -> Answer:
        url, for_good = asked, True
        for _ in range(HOPS):
            answer = await self.client.get(url, headers)
            if answer.status not in (301, 302, 303, 307, 308):
                if url != asked:
                    self.led[asked] = self._ours(url), for_good
                return answer
            for_good = for_good and answer.status in (301, 308)
            try:
                url = _plain(urljoin(url, answer.headers.get("location", "")))
            except ValueError as error:
                raise AwayError(_NO_ADDRESS) from error
            if not _same_host(url, self.start):
                if asked in self.known and answer.status not in (301, 308):  # such as to a log-in
                    raise AwayError(_OTHER_HOST)
                return Answer(asked, 404)
            if not self.robots.can_fetch(url, AGENT):
                return Answer(asked, 404)
        raise AwayError(_NO_END)


def check_address(location: str) -> str:
    """An address of a website, as it is kept. Raises SourceError."""
    location = location.strip()
    with suppress(ValueError):
        parts = urlsplit(location)
        if parts.username is not None:
            raise SourceError(_SECRET)
        if parts.scheme in ("https", "http") and parts.hostname and location.isprintable():
            return _plain(location)
    raise SourceError(ADDRESS, location=location[:200])


def _plain(url: str) -> str:
    """Without what only a browser needs, and with its host as all write it: in ASCII and small letters, without the
    port that goes without saying. Raises ValueError."""
    parts = urlsplit(url)
    netloc = (parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()).lower()
    netloc = netloc.removesuffix({"http": ":80", "https": ":443"}.get(parts.scheme, ":"))
    return urlunsplit((parts.scheme, netloc, parts.path or "/", parts.query, ""))


def _same_host(url: str, start: str) -> bool:
    with suppress(ValueError):
        return urlsplit(url).netloc == urlsplit(start).netloc
    return False


def _name(url: str, suffix: str) -> str:
    """A document's name: its path, with the ending of what it is."""
    parts = urlsplit(url)
    path = unquote(parts.path).strip("/") or "index"
    path += f"?{unquote(parts.query)}" if parts.query else ""
    drawn = suffix == ".html" and suffix_of(path) in _MARKDOWN  # by its server
    return path if suffix_of(path) in SUFFIXES and not drawn else f"{path}{suffix}"


def _entries(sitemap: bytes) -> tuple[list[str], dict[str, str]]:
    """The sitemaps that an index names, or the pages of a sitemap with their dates; what is no address is left out.
    Element by element: a tree takes 25 times its file. Raises ParseError, DefusedXmlException, ValueError, zlib.error,
    AwayError for one that is too long."""
    if sitemap.startswith(b"\x1f\x8b"):  # sitemap.xml.gz
        packed = Body("gzip", ParsingLimits().file)
        packed.add(sitemap)
        sitemap = bytes(packed.said)
    inner, around = list[str](), list[Element]()
    pages, said = dict[str, str](), dict[str, str]()
    for event, element in iterparse(io.BytesIO(sitemap), ("start", "end")):
        if event == "start":
            around.append(element)
            if len(around) > NESTED:
                raise ValueError("too many elements in one another")
            continue
        around.pop()
        if len(around) == 2:
            said[element.tag.rpartition("}")[2]] = (element.text or "").strip()
        elif len(around) == 1 and (address := said.get("loc")):
            with suppress(ValueError):
                plain = _plain(address)
                if element.tag.endswith("sitemap"):
                    inner.append(plain)
                else:
                    pages[plain] = said.get("lastmod", "")
        if len(around) == 1:
            said = {}
        if around:
            around[-1].clear()
    return inner, pages


def _read(answer: Answer) -> tuple[_Page, bytes]:
    """A page as it is served, without an ending where it is none, and its bytes. The charset that a server names goes
    before the page's own: its text is handed on in UTF-8, with a mark that says so."""
    headers, body = answer.headers, answer.body
    kind = headers.get("content-type", "")
    suffix = _KINDS.get(kind.partition(";")[0].strip().lower(), "")
    charset = _CHARSET.search(kind) if suffix != ".pdf" else None
    if charset and (text := decode_named(body, charset[1])) is not None:
        body = codecs.BOM_UTF8 + text.encode()
    version = hashlib.sha256(body.removeprefix(codecs.BOM_UTF8)).hexdigest()
    page = _Page(headers.get("etag", ""), headers.get("last-modified", ""), version, suffix, said=version)
    if suffix == ".html":
        found = html_links(body)
        leads = [_address(answer.url, found.base, link) for link in found.links if link]
        page.links = list(dict.fromkeys(filter(None, leads)))
        page.canonical = _address(answer.url, found.base, found.canonical) if found.canonical else ""
        if said := " ".join("".join(found.said).split()):
            page.said = hashlib.sha256(said.encode()).hexdigest()
    return page, body


def _address(url: str, base: str, link: str) -> str:
    """The address that a link on a page leads to; "": nowhere on the web."""
    with suppress(ValueError):
        target = _plain(urljoin(urljoin(url, base), link.strip()))
        if target.startswith(("http://", "https://")):
            return quote(target, safe=":/?&=%#@!$'()*+,;~[]-._")
    return ""


def _last_name(url: str, *, query: bool = False) -> str:
    parts = urlsplit(url)
    return parts.path.rstrip("/").rpartition("/")[2] + (f"?{parts.query}" if query else "")


def _recall(memory: Path) -> dict[str, _Page]:
    try:
        return _MEMORY.validate_json(memory.read_bytes())
    except (OSError, ValueError):
        return {}


def _remember(memory: Path, seen: dict[str, _Page]) -> None:
    memory.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    memory.write_bytes(_MEMORY.dump_json(seen))
