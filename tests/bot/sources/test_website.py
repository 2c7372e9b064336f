"""A site is followed politely, page by page, and nothing of it is lost for want of a page. Source: sources.md §1, §2."""

import asyncio
import codecs
import gzip
import tracemalloc
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
import pytest_asyncio
from aiohttp import web

from bot.knowledge.documents import KnowledgeBase
from bot.sources.addresses import resolved
from bot.sources.base import PageError, SourceError
from bot.sources.sources import NewSource
from bot.sources.sync import Sync, SyncReport
from bot.sources.web_request import AwayError, Body, web_client
from bot.sources.website import ROBOTS_BYTES, WebsiteSource, check_address
from bot.types import Actor
from retrieval.i18n import Text
from tests.bot.library import READERS
from tests.bot.sources.conftest import EDITOR, Home
from tests.bot.sources.site import Site, served

pytestmark = pytest.mark.asyncio(loop_scope="module")


def html(title: str, text: str, *links: str) -> str:
    anchors = "".join(f'<p><a href="{link}">More about it</a></p>' for link in links)
    return f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{text}</p>{anchors}</body></html>"


@pytest_asyncio.fixture(loop_scope="module")
async def site() -> AsyncIterator[Site]:
    async with served() as one:
        one.pages = {
            "/docs/": html("Docs", "All about piers.", "a.html", "/docs/b", "/other", "https://elsewhere.example/x"),
            "/docs/a.html": html("A", "Pier one is open.", "b#part", "c.html?x=1"),
            "/docs/b": html("B", "Pier two is open.", "/docs/"),
            "/docs/c.html?x=1": html("C", "Pier three is open."),
            "/other": html("Other", "Not below the start page."),
        }
        yield one


async def follow(home: Home, site: Site, path: str = "/docs/") -> SyncReport:
    await home.sources.add(EDITOR, NewSource("website", site.url + path, name="wiki"))
    return await home.sync()


async def test_pages_below_the_start_page_are_followed_and_asked_for_only_when_they_have_changed(
    home: Home, site: Site
) -> None:
    report = await follow(home, site)
    assert (report.added, report.refused, report.failed) == (4, [], [])
    rows = {row.name: row for row in await home.library.documents.listed()}
    assert set(rows) == {"docs.html", "docs/a.html", "docs/b.html", "docs/c.html?x=1.html"}
    assert rows["docs/b.html"].url == f"{site.url}/docs/b" and rows["docs/b.html"].changed_at == "2026-03-02"
    assert rows["docs/a.html"].title == "A"

    site.asked.clear()
    report = await home.sync()
    assert (report.added, report.replaced, report.removed) == (0, 0, 0)
    assert {status for path, status in site.asked if path.startswith("/docs/")} == {304}

    site.pages["/docs/b"] = html("B", "Pier two is closed.", "d.html")
    site.pages["/docs/d.html"] = html("D", "Pier four is new.")
    del site.pages["/docs/c.html?x=1"]
    report = await home.sync()
    assert (report.added, report.replaced, report.removed) == (1, 1, 1)
    assert "Pier two is closed." in " ".join(await home.library.found("pier closed"))


async def test_the_sitemap_says_which_pages_there_are(home: Home, site: Site) -> None:
    u = site.url
    site.pages["/sitemap.xml"] = (
        '<sitemapindex xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        f"<sitemap><loc>{u}/docs.xml</loc></sitemap><sitemap><loc>{u}/more.xml</loc></sitemap></sitemapindex>"
    )
    site.pages["/more.xml"] = f"<urlset><url><loc>{u}/docs/c.html?x=1</loc></url></urlset>"
    site.pages["/docs.xml"] = (
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        f"<url><loc>{u}/docs/a.html</loc><lastmod>2026-02-03</lastmod></url><url><loc>{u}/docs/b</loc></url>"
        f"<url><loc>{u}/other</loc></url><url><loc>https://elsewhere.example/</loc></url></urlset>"
    )
    assert (await follow(home, site)).added == 3
    assert await home.names() == ["docs/a.html", "docs/b.html", "docs/c.html?x=1.html"]
    site.pages["/docs.xml"] = site.pages["/docs.xml"][:150]  # cut in the middle
    with pytest.raises(SourceError, match="sitemap"):
        await home.sync()
    del site.pages["/docs.xml"]  # which the index still names
    with pytest.raises(SourceError, match="sitemap"):
        await home.sync()
    assert len(await home.names()) == 3


async def test_what_is_no_date_is_none(home: Home, site: Site) -> None:
    def undated(text: str) -> web.Response:
        return web.Response(text=html("A", text), content_type="text/html")

    site.answers["/docs/a.html"] = lambda request: undated("Pier one is open.")
    site.answers["/docs/b"] = lambda request: undated("Pier two is open.")
    site.pages["/sitemap.xml"] = (
        f"<urlset><url><loc>{site.url}/docs/a.html</loc><lastmod>@everyone</lastmod></url>"
        f"<url><loc>{site.url}/docs/b</loc><lastmod>2026-02-03T10:00:00Z</lastmod></url></urlset>"
    )
    await follow(home, site)
    rows = {row.name: row.changed_at for row in await home.library.documents.listed()}
    assert rows == {"docs/a.html": None, "docs/b.html": "2026-02-03"}


async def test_an_entity_bomb_is_no_sitemap(home: Home, site: Site) -> None:
    site.pages["/sitemap.xml"] = (
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><urlset><url><loc>&b;</loc></url></urlset>'
    )
    with pytest.raises(SourceError, match="sitemap"):
        await follow(home, site)


async def test_robots_txt_is_obeyed(home: Home, site: Site) -> None:
    site.pages["/robots.txt"] = "User-agent: *\nDisallow: /docs/b\n"
    assert (await follow(home, site)).added == 3
    assert "/docs/b" not in {path for path, _ in site.asked}
    site.pages["/robots.txt"] = "User-agent: *\nDisallow: /\n"
    with pytest.raises(SourceError, match=r"robots\.txt"):
        await home.sync()
    site.answers["/robots.txt"] = lambda request: web.Response(status=500)
    with pytest.raises(SourceError):
        await home.sync()
    assert len(await home.names()) == 3


async def test_robots_txt_is_obeyed_with_a_mark_in_front_of_it(home: Home, site: Site) -> None:
    body = b"\xef\xbb\xbfUser-agent: *\r\nDisallow: /docs/b\r\n"
    site.answers["/robots.txt"] = lambda request: web.Response(body=body, content_type="text/plain")
    assert await looked(home, site) == ["/docs/", "/docs/a.html", "/docs/c.html?x=1"]


@pytest.mark.parametrize("path", ["/robots.txt", "/sitemap.xml"])
@pytest.mark.parametrize("status", [400, 401, 403, 451])
async def test_what_lies_beside_the_pages_and_is_refused_is_not_there(
    home: Home, site: Site, path: str, status: int
) -> None:
    site.answers[path] = lambda request: web.Response(status=status)
    assert len(await looked(home, site)) == 4
    for busy in (429, 500):
        site.answers[path] = lambda request, busy=busy: web.Response(status=busy, headers={"Retry-After": "0"})  # type: ignore[misc]
        with pytest.raises(SourceError, match=f"{path}.*{busy}"):
            await looked(home, site)


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_page_that_is_away_and_those_behind_it_stay(home: Home, site: Site, status: int) -> None:
    await follow(home, site)
    site.answers["/docs/a.html"] = lambda request: web.Response(status=status, headers={"Retry-After": "0"})
    report = await home.sync()
    assert report.removed == 0 and len(await home.names()) == 4
    for memory in (home.folder / "home" / "sources").glob("*.json"):  # nor where it is not known what it led to
        memory.unlink()
    report = await home.sync()
    assert report.removed == 0 and len(await home.names()) == 4
    site.answers["/docs/"] = site.answers["/docs/a.html"]
    with pytest.raises(SourceError):
        await home.sync()
    site.answers.clear()
    del site.pages["/docs/c.html?x=1"]
    assert (await home.sync()).removed == 1


async def test_what_no_header_can_hold_is_not_sent_back(home: Home, site: Site) -> None:
    def answer(request: web.Request) -> web.StreamResponse:
        headers = {"ETag": '"é版"', "Last-Modified": "三月"}
        return web.Response(text=html("B", "Pier two is open."), content_type="text/html", headers=headers)

    site.answers["/docs/b"] = answer
    await follow(home, site)
    report = await home.sync()
    assert (report.failed, report.removed, len(await home.names())) == ([], 0, 4)


async def test_a_host_is_asked_for_by_the_name_that_it_has_in_ascii(home: Home, site: Site) -> None:
    asked: list[str] = []

    def answer(request: web.Request) -> web.StreamResponse:
        asked.append(request.headers["Host"])
        return web.Response(status=404)

    site.answers["/robots.txt"] = answer
    port = site.url.rpartition(":")[2]
    source = WebsiteSource(f"http://ｌｏｃａｌｈｏｓｔ:{port}/docs/", memory=home.folder / "m.json", private=True)
    async with source.look(None, {}) as listing:
        assert listing is not None and len(listing.pages) == 4
    assert asked == [f"localhost:{port}"]


async def test_it_waits_as_long_as_it_is_told(home: Home, site: Site) -> None:
    waited: list[float] = []
    busy = iter([429, 503])

    def answer(request: web.Request) -> web.StreamResponse:
        status = next(busy, 200)
        headers = {"Retry-After": "7"} if status == 429 else {}
        return web.Response(status=status, text=site.pages["/docs/b"], content_type="text/html", headers=headers)

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    site.answers["/docs/b"] = answer
    await home.sources.add(EDITOR, NewSource("website", f"{site.url}/docs/", name="wiki"))
    (source,) = await home.store.listed()
    sync = Sync(source, home.store, home.library.knowledge, home.library.documents)
    await sync.run(WebsiteSource(source.location, memory=home.folder / "m.json", private=True, wait=wait))
    assert sync.report.added == 4 and waited == [7.0, 2.0]


async def test_it_leaves_as_much_time_between_two_requests_as_robots_txt_asks_for(home: Home, site: Site) -> None:
    """Also after what is no page, or not there: it was asked for all the same."""
    site.pages["/robots.txt"] = "User-agent: *\nCrawl-delay: 3\n"
    site.pages["/docs/"] = html("Docs", "Start.", "logo.xml", "gone")
    site.pages["/docs/logo.xml"] = "<svg/>"
    waited: list[float] = []

    async def wait(seconds: float) -> None:
        waited.append(seconds)

    source = WebsiteSource(f"{site.url}/docs/", memory=home.folder / "m.json", private=True, wait=wait)
    async with source.look(None, {}) as listing:
        assert listing is not None and [*listing.pages] == [f"{site.url}/docs/"]
    assert waited == [3.0, 3.0, 3.0]


async def test_markdown_that_its_server_draws_is_a_page(home: Home, site: Site) -> None:
    site.pages["/docs/"] = html("Docs", "Start.", "setup.md")
    site.pages["/docs/setup.md"] = html("Setup", "Pier nine is open.")
    assert (await follow(home, site)).refused == []
    assert await home.names() == ["docs.html", "docs/setup.md.html"]
    assert await home.library.found("pier nine") == ["Pier nine is open."]


async def test_redirects_are_followed_on_the_host_and_never_without_end(home: Home, site: Site) -> None:
    def to(place: str) -> web.StreamResponse:
        return web.Response(status=302, headers={"Location": place})

    site.answers["/docs/b"] = lambda request: to("/docs/b-new")
    site.pages["/docs/b-new"] = html("B", "Pier two has moved.", "c.html?x=1")
    site.answers["/docs/c.html?x=1"] = lambda request: to("https://elsewhere.example/")
    site.answers["/docs/a.html"] = lambda request: to("/docs/a.html")
    report = await follow(home, site)
    assert [ref.removeprefix(site.url) for ref, _ in report.failed] == ["/docs/a.html"]
    assert await home.names() == ["docs.html", "docs/b.html"]


async def test_a_page_that_is_sent_to_a_log_in_for_now_stays_and_one_that_has_moved_away_goes(
    home: Home, site: Site
) -> None:
    await follow(home, site)
    site.answers["/docs/b"] = lambda request: web.Response(status=302, headers={"Location": "https://log.example/in"})
    report = await home.sync()
    assert report.removed == 0 and len(await home.names()) == 4
    site.answers["/docs/b"] = lambda request: web.Response(status=301, headers={"Location": "https://new.example/b"})
    assert (await home.sync()).removed == 1


def to(place: str, status: int = 302) -> Callable[[web.Request], web.StreamResponse]:
    return lambda request: web.Response(status=status, headers={"Location": place})


class Manual:
    """A site of ten pages, and what is served in place of some of them."""

    def __init__(self, site: Site, *, mapped: bool) -> None:
        self.site, self.mapped = site, mapped
        self.paths = ["/docs/", *(f"/docs/p{n}.html" for n in range(9))]
        self.write(self.paths)

    def write(self, paths: list[str]) -> None:
        """These pages, of which all but the first lead nowhere."""
        self.site.pages = {path: html(f"P{path}", f"Pier {path} is open.") for path in paths}
        self.site.pages[paths[0]] = html("Docs", "All about piers.", *paths[1:])
        if self.mapped:
            listed = "".join(f"<url><loc>{self.site.url}{path}</loc></url>" for path in paths)
            self.site.pages["/sitemap.xml"] = f"<urlset>{listed}</urlset>"

    def shut(self, how: str, paths: list[str]) -> None:
        asked = iter(range(1_000))

        def sign_in(request: web.Request) -> web.StreamResponse:
            """As such pages are: with a token of each request, and where it goes on."""
            hidden = f'<input type="hidden" name="token" value="{next(asked)}"><script>let n = {next(asked)}</script>'
            page = html("Sign in", "Please sign in to go on.", f"/help?from={request.path_qs}") + hidden
            return web.Response(text=page, content_type="text/html")

        for path in paths:
            self.site.answers[path] = sign_in if how == "in its place" else to(f"/login?next={path}", int(how))
            self.site.answers[f"/login?next={path}"] = sign_in


async def words(home: Home) -> dict[str, str]:
    knowledge, rows = home.library.knowledge, await home.library.documents.listed()
    return {row.id: await knowledge.markdown(row) for row in rows}


@pytest.mark.parametrize("how", ["302", "301", "in its place"])
@pytest.mark.parametrize("mapped", [True, False], ids=["sitemap", "links"])
async def test_a_site_that_is_one_page_all_of_a_sudden_keeps_what_it_had(
    home: Home, site: Site, how: str, mapped: bool
) -> None:
    manual = Manual(site, mapped=mapped)
    assert (await follow(home, site)).added == 10
    before = await words(home)
    manual.shut(how, manual.paths)
    for _ in range(2):
        with pytest.raises(SourceError, match="one has to sign in") as refused:
            await home.sync()
        assert "ログイン画面" in refused.value.text("ja")
        assert await words(home) == before
    site.answers.clear()
    site.asked.clear()
    report = await home.sync()
    assert (report.added, report.replaced, report.removed, report.failed) == (0, 0, 0, [])
    assert {status for path, status in site.asked if path.startswith("/docs/")} == {304}


@pytest.mark.parametrize("how", ["302", "in its place"])
@pytest.mark.parametrize("mapped", [True, False], ids=["sitemap", "links"])
async def test_pages_that_are_one_all_of_a_sudden_stay_as_long_as_their_site_names_them(
    home: Home, site: Site, how: str, mapped: bool
) -> None:
    manual = Manual(site, mapped=mapped)
    site.pages["/docs/p1.html"] = html("P1", "Pier 1 is open.", "p9.html")
    site.pages["/docs/p9.html"] = html("P9", "Only one page leads here.")
    assert (await follow(home, site)).added == (10 if mapped else 11)
    before = await words(home)
    manual.shut(how, ["/docs/p1.html", "/docs/p2.html"])
    for said in ("Pier three is shut.", "Pier three is open."):
        site.pages["/docs/p3.html"] = html("P3", said)
        report = await home.sync()
        assert (report.added, report.removed, report.replaced) == (0, 0, 1)
        assert {ref.rpartition("/")[2] for ref, _ in report.failed} == {"p1.html", "p2.html"}
        assert all("sign in" in why.en and "ログイン" in why.ja for _, why in report.failed)
        now = await words(home)
        assert now.keys() == before.keys() and sum(now[id] != before[id] for id in now) == 1
    shut, site.answers = site.answers, {}
    site.asked.clear()
    assert (await home.sync()).failed == []
    assert {status for path, status in site.asked if path in manual.paths} == {304}
    site.answers = shut
    assert len((await home.sync()).failed) == 2
    manual.write([path for path in manual.paths if path not in ("/docs/p1.html", "/docs/p2.html")])
    assert (await home.sync()).removed == (2 if mapped else 3)


async def test_a_site_that_was_first_seen_shut_is_read_when_it_opens(home: Home, site: Site) -> None:
    manual = Manual(site, mapped=True)
    manual.shut("302", manual.paths)
    await follow(home, site)
    site.answers.clear()
    report = await home.sync()
    assert (report.removed, report.failed, len(await home.names())) == (0, [], 10)
    assert not any("sign in" in said for said in (await words(home)).values())


@pytest.mark.parametrize("into", ["/docs/p7.html", "/docs/p7.html/"])
async def test_pages_that_have_moved_into_another_for_good_go_though_it_has_changed(
    home: Home, site: Site, into: str
) -> None:
    manual = Manual(site, mapped=True)
    await follow(home, site)
    merged = html("P7", "All piers are open.")
    site.pages["/docs/p7.html"] = site.pages["/docs/p7.html/"] = merged
    if into.endswith("/"):
        site.answers["/docs/p7.html"] = to(into, 301)
    site.answers |= {path: to(into, 308) for path in manual.paths[1:4]}
    report = await home.sync()
    assert (report.removed, report.replaced, report.failed) == (3, 1, [])
    assert f"{site.url}/docs/p7.html" in {row.url for row in await home.library.documents.listed()}
    assert "All piers are open." in " ".join(await home.library.found("piers open"))


async def test_pages_that_have_moved_into_a_new_one_go_once_that_is_known(home: Home, site: Site) -> None:
    manual = Manual(site, mapped=True)
    await follow(home, site)
    manual.write([*manual.paths, "/docs/all.html"])
    site.answers |= {path: to("/docs/all.html", 301) for path in manual.paths[1:4]}
    report = await home.sync()
    assert (report.added, report.removed, len(report.failed)) == (1, 0, 3)
    report = await home.sync()
    assert (report.added, report.removed, report.failed) == (0, 3, [])


async def test_a_site_that_has_moved_page_by_page_keeps_all(home: Home, site: Site) -> None:
    manual = Manual(site, mapped=False)
    await follow(home, site)
    before = await words(home)
    moved = {path: path.replace("/docs/", "/docs/new/") for path in manual.paths}
    manual.write(list(moved.values()))
    site.answers |= {path: to(there, 301) for path, there in moved.items()}
    await home.sync()
    report = await home.sync()
    assert (report.added, report.removed, report.failed, report.gone) == (0, 0, [], 0)
    assert len(await words(home)) == len(before) == 10


async def test_a_page_that_others_are_sent_to_may_change(home: Home, site: Site) -> None:
    manual = Manual(site, mapped=True)
    await follow(home, site)
    site.answers |= {path: to("/docs/") for path in manual.paths[1:3]}
    site.pages["/docs/"] = html("Docs", "Two piers are gone.", *manual.paths[3:])
    report = await home.sync()
    assert (report.replaced, report.removed, len(report.failed)) == (1, 0, 2)
    assert "Two piers are gone." in " ".join(await home.library.found("piers gone"))


async def test_a_page_in_several_versions_may_come_to_say_one_thing(home: Home, site: Site) -> None:
    manual = Manual(site, mapped=True)
    manual.write(["/docs/", *(f"/docs/{version}/{name}/" for version in ("2", "latest") for name in "abc")])
    assert (await follow(home, site)).added == 7
    for path in site.pages.keys() - {"/docs/", "/sitemap.xml"}:
        site.pages[path] = html("Pier", f"Pier {path[-2]} is open since today.")
    report = await home.sync()
    assert (report.replaced, report.removed, report.failed) == (3, 3, [])


async def test_pages_that_say_the_same_in_other_markup_may_change(home: Home, site: Site) -> None:
    manual = Manual(site, mapped=True)

    def write(said: str) -> None:
        for at, path in enumerate(manual.paths[1:]):
            site.pages[path] = html("Picture", said) + f'<img src="{at}.png">'

    write("Back")
    await follow(home, site)
    write("Go back")
    report = await home.sync()
    assert (report.removed, report.failed) == (0, [])


@pytest.mark.parametrize("led", [True, False], ids=["its server puts it there", "its server does not"])
async def test_a_folder_whose_slash_is_left_out_is_that_folder(home: Home, site: Site, led: bool) -> None:
    def to(place: str) -> web.StreamResponse:
        return web.Response(status=301, headers={"Location": place})

    begin = html("Docs", "All about our docks.", "guide" if led else "/docs/guide", "/shop.html")
    site.pages["/docs/" if led else "/docs"] = begin
    if led:
        site.answers["/docs"] = lambda request: to("/docs/")
    else:
        del site.pages["/docs/"]
    site.answers["/docs/guide"] = lambda request: to("/docs/guide/")
    site.pages["/docs/guide/"] = html("Guide", "Ask the harbour master first.", "berths")
    site.pages["/docs/guide/berths"] = html("Berths", "There are nine.")
    site.pages["/shop.html"] = html("Shop", "Mugs and shirts.")
    await follow(home, site, "/docs")
    assert await home.names() == ["docs.html", "docs/guide.html", "docs/guide/berths.html"]
    listed = "".join(
        f"<url><loc>{site.url}{path}</loc></url>" for path in ("/docs", "/docs/guide/berths", "/shop.html")
    )
    site.pages["/sitemap.xml"] = f"<urlset>{listed}</urlset>"
    await home.sync()
    assert await home.names() == ["docs.html", "docs/guide/berths.html"]


async def test_a_page_in_a_folder_leads_to_those_beside_it_unless_it_is_a_folder_itself(home: Home, site: Site) -> None:
    site.pages["/docs/intro"] = html("Intro", "Begin here.", "a.html", "/docs/intro/more")
    site.pages["/docs/a.html"] = html("A", "Pier one is open.")
    site.pages["/docs/intro/more"] = html("More", "And so on.")
    await follow(home, site, "/docs/intro")
    assert await home.names() == ["docs/a.html", "docs/intro.html", "docs/intro/more.html"]
    site.pages["/docs/intro/"] = site.pages.pop("/docs/intro")
    site.answers["/docs/intro"] = lambda request: web.Response(status=308, headers={"Location": "/docs/intro/"})
    await home.sync()
    assert await home.names() == ["docs/intro.html", "docs/intro/more.html"]
    site.answers["/docs/intro"] = lambda request: web.Response(status=503)
    with pytest.raises(SourceError, match="503"):  # nobody knows how far it goes
        await home.sync()


async def test_a_page_of_any_ending_is_no_folder_unless_its_server_says_so(home: Home, site: Site) -> None:
    site.pages["/index.php"] = html("Start", "Welcome to the port.", "about.php", "v1.2/")
    site.pages["/about.php"] = html("About", "Founded in 1901.")
    site.pages["/v1.2/"] = html("Version", "What is new.")
    await follow(home, site, "/index.php")
    assert await home.names() == ["about.php.html", "index.php.html", "v1.2.html"]


async def test_a_folder_with_a_dot_whose_server_leads_to_its_first_page_is_that_folder(home: Home, site: Site) -> None:
    site.answers["/v1.2"] = lambda request: web.Response(status=302, headers={"Location": "/v1.2/start"})
    site.pages["/v1.2/start"] = html("Version", "What is new.", "more", "/about")
    site.pages["/v1.2/more"] = html("More", "And what is old.")
    site.pages["/about"] = html("About", "Founded in 1901.")
    await follow(home, site, "/v1.2")
    assert [name for name in await home.names() if "about" in name] == []


async def test_a_redirect_leads_nowhere_that_robots_txt_forbids(home: Home, site: Site) -> None:
    site.pages["/robots.txt"] = "User-agent: *\nDisallow: /docs/private/\n"
    site.pages["/docs/private/b"] = html("B", "For nobody's eyes.")
    site.answers["/docs/b"] = lambda request: web.Response(status=302, headers={"Location": "/docs/private/b"})
    assert (await follow(home, site)).added == 3
    assert "/docs/private/b" not in {path for path, _ in site.asked}


async def test_a_sitemap_that_is_missing_all_at_once_takes_no_page_with_it(home: Home, site: Site) -> None:
    listed = "".join(f"<url><loc>{site.url}/docs/{name}</loc></url>" for name in ("a.html", "b", "hidden"))
    site.pages["/docs/hidden"] = html("Hidden", "No page leads here.")
    site.pages["/sitemap.xml"] = f"<urlset>{listed}</urlset>"
    assert (await follow(home, site)).added == 3
    del site.pages["/sitemap.xml"]
    with pytest.raises(SourceError, match="404"):
        await home.sync()
    site.answers["/sitemap.xml"] = lambda request: web.Response(status=403)
    with pytest.raises(SourceError, match="403"):
        await home.sync()
    assert len(await home.names()) == 3


async def test_a_sitemap_that_is_emptied_all_at_once_takes_no_page_with_it(home: Home, site: Site) -> None:
    listed = "".join(f"<url><loc>{site.url}/docs/{name}</loc></url>" for name in ("a.html", "b", "hidden"))
    site.pages["/docs/hidden"] = html("Hidden", "No page leads here.")
    site.pages["/sitemap.xml"] = f"<urlset>{listed}</urlset>"
    assert (await follow(home, site)).added == 3
    site.pages["/sitemap.xml"] = "<urlset></urlset>"
    with pytest.raises(SourceError, match="names no page of this host"):
        await home.sync()
    assert len(await home.names()) == 3


async def test_more_pages_than_are_read_are_said_and_nothing_seems_to_be_gone(home: Home, site: Site) -> None:
    await follow(home, site)
    (source,) = await home.store.listed()
    sync = Sync(source, home.store, home.library.knowledge, home.library.documents)
    with pytest.raises(SourceError, match="more than 2 pages"):
        await sync.run(WebsiteSource(source.location, memory=home.folder / "m.json", private=True, pages=2))
    assert len(await home.names()) == 4


async def test_a_page_whose_reading_was_stopped_is_had_whole_though_it_has_not_changed(home: Home, site: Site) -> None:
    await follow(home, site)
    (source,) = await home.store.listed()
    there, ref = await home.store.pages(source.id), f"{site.url}/docs/b"
    stopped = replace(there[ref], refusal=Text(en="Too long.", ja="長すぎます。"), due_at=source.added_at)
    await home.store.note(source.id, ref, stopped)
    site.asked.clear()
    assert (await home.sync()).failed == []
    assert {path for path, status in site.asked if status == 200} >= {"/docs/b"}
    assert await home.store.pages(source.id) == there


async def test_what_is_no_page_does_not_count(home: Home, site: Site) -> None:
    site.pages["/docs/c.html?x=1"] = html("C", "Pier three is open.", "away")
    site.answers["/docs/away"] = lambda request: web.Response(status=302, headers={"Location": "https://x.example/"})
    source = await home.sources.add(EDITOR, NewSource("website", f"{site.url}/docs/", name="wiki"))
    sync = Sync(source, home.store, home.library.knowledge, home.library.documents)
    await sync.run(WebsiteSource(source.location, memory=home.folder / "m.json", private=True, pages=4))
    assert sync.report.added == 4 and ("/docs/away", 302) in site.asked


async def test_a_page_that_is_no_markup_costs_only_itself(home: Home, site: Site) -> None:
    site.pages["/docs/a.html"] = '<p><a href="/docs/b">Pier two</a></p><![ more'
    report = await follow(home, site)
    assert {row.name for row in await home.library.documents.listed()} >= {"docs.html", "docs/b.html"}
    assert not report.failed and {name for name, _ in report.refused} <= {f"{site.url}/docs/a.html"}


async def test_a_site_of_the_own_network_is_not_reached_for_others(home: Home, site: Site) -> None:
    source = await home.sources.add(
        Actor("slack", "T", "U1", "editor"), NewSource("website", f"{site.url}/docs/", name="wiki")
    )
    with pytest.raises(SourceError, match="own network"):
        await home.sources.sync(EDITOR, source.name, READERS)
    assert site.asked == []


async def looked(home: Home, site: Site, **bounds: float) -> list[str]:
    """The paths of the pages that a look of its own finds."""
    source = WebsiteSource(f"{site.url}/docs/", memory=home.folder / "m.json", private=True, **bounds)  # type: ignore[arg-type]
    async with source.look(None, {}) as listing:
        assert listing is not None
        return [page.removeprefix(site.url) for page in sorted(listing.pages)]


def packed(body: bytes, encoding: str) -> Callable[[web.Request], web.StreamResponse]:
    headers = {"Content-Encoding": encoding, "Content-Type": "text/html"}
    return lambda request: web.Response(body=body, headers=headers)


async def test_a_page_is_unpacked_as_far_as_a_page_may_be_long(home: Home, site: Site) -> None:
    bomb = gzip.compress(bytes(50_000_000))
    site.answers["/docs/b"] = packed(gzip.compress(html("B", "Pier two is packed.").encode()), "gzip")
    await follow(home, site)
    assert "Pier two is packed." in " ".join(await home.library.found("pier packed"))
    site.answers["/docs/b"] = packed(bomb, "gzip")
    assert (await home.sync()).replaced == 0
    with pytest.raises(SourceError, match="too long"):
        site.answers["/docs/"] = packed(bomb, "gzip")
        await looked(home, site)


async def test_what_is_too_long_is_not_unpacked_first() -> None:
    bomb = gzip.compress(bytes(50_000_000))
    body = Body("gzip", 1_000)
    tracemalloc.start()
    try:
        with pytest.raises(AwayError, match="too long"):
            body.add(bomb)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()


async def test_a_server_that_is_not_there_is_said_in_words() -> None:
    async with web_client(private=True, seconds=30) as client:
        with pytest.raises(AwayError, match="no connection") as away:
            await client.get("http://127.0.0.1:9/", {})
    assert away.value.said.ja == "接続できません"


@pytest.mark.parametrize("encoding", ["br", "zstd", "deflate", "gzip, gzip", "gzip,identity"])
async def test_what_is_packed_as_nobody_asked_is_not_unpacked(encoding: str) -> None:
    with pytest.raises(AwayError):
        Body(encoding, 1_000)


async def test_an_answer_that_trickles_costs_only_itself(home: Home, site: Site) -> None:
    over = asyncio.Event()

    class Trickle(web.StreamResponse):
        async def write_eof(self, data: bytes = b"") -> None:
            for _ in range(100):  # never silent for long
                await self.write(b" ")
                with suppress(TimeoutError):
                    await asyncio.wait_for(over.wait(), 0.05)
            await super().write_eof(data)

    site.answers["/docs/a.html"] = lambda request: Trickle(headers={"Content-Type": "text/html"})
    source = WebsiteSource(f"{site.url}/docs/", memory=home.folder / "m.json", private=True, seconds=0.5)
    async with source.look(None, {}) as listing:
        over.set()
        assert listing is not None and f"{site.url}/docs/b" in listing.pages
        with pytest.raises(PageError, match="no whole answer in time"):
            await listing.fetch(listing.pages[f"{site.url}/docs/a.html"])


async def test_what_is_no_address_costs_only_itself(home: Home, site: Site) -> None:
    site.answers["/docs/a.html"] = lambda request: web.Response(status=302, headers={"Location": "//["})
    site.pages["/robots.txt"] = f"Sitemap: http://[\nSitemap: {site.url}/docs.xml\n"
    assert (await looked(home, site))[1:] == ["/docs/a.html", "/docs/b"]
    site.pages["/docs.xml"] = (
        f"<urlset><url><loc>http://[/x</loc></url><url><loc>{site.url}/docs/b</loc></url></urlset>"
    )
    assert await looked(home, site) == ["/docs/b"]


async def test_a_page_and_all_pages_lead_to_no_more_addresses_than_a_site_may_have(home: Home, site: Site) -> None:
    site.pages = {"/docs/": html("Docs", "Much.", *(f"gone{n}" for n in range(9)))}
    assert await looked(home, site, pages=5) == ["/docs/"]
    with pytest.raises(SourceError, match="more than 4 pages"):
        await looked(home, site, pages=4)
    site.pages = {"/docs/": html("Docs", "Much.", *(f"c{n}" for n in range(10)))}
    for page in range(10):
        site.pages[f"/docs/c{page}"] = html("C", "More.", *(f"gone{page}-{n}" for n in range(20)))
    assert len(await looked(home, site, pages=11)) == 11
    site.pages["/docs/c0"] = html("C", "More.", *(f"gone-{n}" for n in range(22)))
    site.pages["/docs/c1"] = html("C", "More.", *(f"lost-{n}" for n in range(22)))
    site.pages["/docs/c2"] = html("C", "More.", *(f"away-{n}" for n in range(22)))
    site.pages["/docs/c3"] = html("C", "More.", *(f"far-{n}" for n in range(22)))
    site.pages["/docs/c4"] = html("C", "More.", *(f"off-{n}" for n in range(22)))
    with pytest.raises(SourceError, match="more than 11 pages"):
        await looked(home, site, pages=11)


async def test_all_pages_take_no_more_room_than_they_may(home: Home, site: Site) -> None:
    del site.pages["/other"]
    size = sum(len(codecs.BOM_UTF8 + page.encode()) for page in site.pages.values())
    assert len(await looked(home, site, most_bytes=size)) == 4
    with pytest.raises(SourceError, match="MiB"):
        await looked(home, site, most_bytes=size - 1)


async def test_a_sitemap_names_no_more_than_a_site_may_have(home: Home, site: Site) -> None:
    def sitemap(count: int) -> str:
        return f"<urlset>{''.join(f'<url><loc>{site.url}/docs/{n}</loc></url>' for n in range(count))}</urlset>"

    site.pages["/sitemap.xml"] = sitemap(40)
    assert await looked(home, site, pages=2) == []
    site.pages["/sitemap.xml"] = sitemap(41)
    with pytest.raises(SourceError, match="more than 2 pages"):
        await looked(home, site, pages=2)
    site.pages["/sitemap.xml"] = "<urlset>" + "<url>" * 10 + "</url>" * 10 + "</urlset>"
    with pytest.raises(SourceError, match="sitemap"):
        await looked(home, site)


async def test_of_robots_txt_the_beginning_counts(home: Home, site: Site) -> None:
    forbidden = "User-agent: *\nDisallow: /docs/b\n"
    site.pages["/robots.txt"] = forbidden + "#" * ROBOTS_BYTES + "\nUser-agent: *\nDisallow: /docs/a\n"
    assert await looked(home, site) == ["/docs/", "/docs/a.html", "/docs/c.html?x=1"]


async def test_a_host_that_cannot_be_asked_for_is_not_known(home: Home) -> None:
    with pytest.raises(SourceError, match="not known"):
        await resolved(f"{'a' * 64}.example", 443)


@pytest.mark.parametrize(
    "wrong", ["docs", "ftp://h/", "https://me:secret@h/", "https:///x", "file:///etc/passwd", "javascript:1"]
)
async def test_an_address_is_one_of_a_website(wrong: str) -> None:
    with pytest.raises(SourceError) as refused:
        check_address(wrong)
    assert "secret" not in str(refused.value)


async def test_a_sitemap_without_pages_of_the_site_is_none(home: Home, site: Site) -> None:
    site.pages["/sitemap.xml"] = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"></urlset>'
    assert len(await looked(home, site)) == 4
    site.pages["/sitemap.xml"] = "<urlset><url><loc>https://public.example/docs/a.html</loc></url></urlset>"
    assert len(await looked(home, site)) == 4
    only = WebsiteSource(f"{site.url}/sitemap.xml", memory=home.folder / "m.json", private=True)
    with pytest.raises(SourceError, match="names no page of this host"):
        async with only.look(None, {}):
            pass


async def test_a_packed_sitemap_is_read_as_far_as_it_may_be_long(home: Home, site: Site) -> None:
    def answer(sitemap: bytes) -> Callable[[web.Request], web.StreamResponse]:
        return lambda request: web.Response(body=gzip.compress(sitemap), content_type="application/gzip")

    site.pages["/robots.txt"] = f"Sitemap: {site.url}/sitemap.xml.gz\n"
    site.answers["/sitemap.xml.gz"] = answer(f"<urlset><url><loc>{site.url}/docs/b</loc></url></urlset>".encode())
    assert await looked(home, site) == ["/docs/b"]
    site.answers["/sitemap.xml.gz"] = answer(b"<urlset>" + b" " * 50_000_000)
    with pytest.raises(SourceError, match="too long"):
        await looked(home, site)


async def test_a_page_at_several_addresses_is_one(home: Home, site: Site) -> None:
    site.pages["/docs/"] = html("Docs", "All about piers.", "index.html", "?from=mail", "b?x=1", "b", "b/", "a.html")
    for path in ("/docs/index.html", "/docs/?from=mail"):
        site.pages[path] = site.pages["/docs/"]
    site.pages["/docs/b/"] = site.pages["/docs/b?x=1"] = site.pages["/docs/b"]
    assert (await follow(home, site)).added == 4
    assert {row.url for row in await home.library.documents.listed()} == {
        f"{site.url}/docs/{path}" for path in ("", "b?x=1", "a.html", "c.html?x=1")
    }
    site.pages["/docs/"] = html("Docs", "All about piers.", "b", "b?x=1", "a.html")
    report = await home.sync()
    assert (report.added, report.removed, report.renamed, report.replaced) == (0, 0, 0, 1)  # it stays where it is known


WRITTEN = {
    "windows-1251": "Пирс номер девять открыт с восьми утра.",
    "koi8-r": "Пирс номер девять открыт с восьми утра.",
    "windows-1253": "Η προβλήτα είναι ανοιχτή από τις οκτώ.",
    "iso-8859-2": "Přístaviště je otevřeno od osmi ráno.",
    "euc-kr": "부두는 아침 여덟 시부터 열려 있습니다. 똠",
    "gb18030": "码头从早上八点到晚上六点开放。",
    "big5": "碼頭從早上八點到晚上六點開放。碁",
    "Shift_JIS": "桟橋は朝八時から開いています。①",
    "euc-jp": "桟橋は朝八時から開いています。",
    "utf-8": "桟橋は朝八時から開いています。",
}
CODECS = {"euc-kr": "cp949", "big5": "cp950", "Shift_JIS": "cp932"}  # as they are written


@pytest.mark.parametrize("kind", ["text/html", "application/xhtml+xml", "text/plain"])
async def test_a_page_is_read_by_the_charset_that_its_server_names(home: Home, site: Site, kind: str) -> None:
    def answer(charset: str, text: str) -> Callable[[web.Request], web.StreamResponse]:
        page = (
            f"{charset}: {text}"
            if kind == "text/plain"
            else headed('<meta charset="windows-1252">', html(charset, text))
        )
        body, headers = page.encode(CODECS.get(charset, charset)), {"Content-Type": f'{kind};Charset="{charset}"'}
        return lambda request: web.Response(body=body, headers=headers)

    site.pages["/docs/"] = html("Docs", "All about piers.", *WRITTEN)
    site.answers |= {f"/docs/{charset}": answer(charset, text) for charset, text in WRITTEN.items()}
    report = await follow(home, site)
    assert (report.added, report.refused) == (len(WRITTEN) + 1, [])
    rows = {(row.url or "").rpartition("/")[2]: row for row in await home.library.documents.listed()}
    said = {charset: await home.library.knowledge.markdown(rows[charset]) for charset in WRITTEN}
    assert {charset: text for charset, text in WRITTEN.items() if text not in said[charset]} == {}


async def test_a_mark_goes_before_the_charset_that_a_server_names_and_one_that_is_wrong_does_not_count(
    home: Home, site: Site
) -> None:
    bodies = {"a.html": html("A", "桟橋は開いています。").encode("utf-8-sig"), "b": html("B", "埠頭は休み。").encode()}
    for name, charset in (("a.html", "windows-1251"), ("b", "no-such")):
        headers = {"Content-Type": f"text/html; charset={charset}"}
        site.answers[f"/docs/{name}"] = lambda request, name=name, headers=headers: web.Response(  # type: ignore[misc]
            body=bodies[name], headers=headers
        )
    await follow(home, site)
    rows = {row.name: await home.library.knowledge.markdown(row) for row in await home.library.documents.listed()}
    assert "桟橋は開いています。" in rows["docs/a.html"] and "埠頭は休み。" in rows["docs/b.html"]


def headed(head: str, page: str) -> str:
    return page.replace("<head>", f"<head>{head}")


async def test_of_a_page_and_its_copies_the_original_is_read(home: Home, site: Site) -> None:
    for version in ("1.0", "2.0"):
        page = html("B", f"Pier two is open since {version}.", "/docs/")
        site.pages[f"/docs/{version}/b"] = headed('<link rel="canonical" href="/docs/b">', page)
    site.pages["/docs/b"] = headed(
        '<link rel="canonical" href="b">', html("B", "Pier two.", "1.0/b", "2.0/b", "a.html")
    )
    site.pages["/docs/a.html"] = headed('<link rel="canonical" href="/docs/">', html("A", "Pier one.", "c.html?x=1"))
    site.pages["/docs/c.html?x=1"] = headed('<link rel="canonical" href="/docs/gone">', html("C", "Pier three."))
    await follow(home, site)
    assert await home.names() == ["docs.html", "docs/a.html", "docs/b.html", "docs/c.html?x=1.html"]
    assert (await home.sync()).removed == 0  # though nothing is read again
    site.answers["/docs/b"] = lambda request: web.Response(status=500)
    site.pages["/docs/"] = html("Docs", "All about the piers.", "1.0/b", "a.html", "b")
    report = await home.sync()
    assert (report.added, report.removed, report.replaced) == (0, 0, 1)  # the original is only away
    del site.pages["/docs/b"], site.answers["/docs/b"]
    site.pages["/docs/"] = html("Docs", "All about piers.", "1.0/b", "a.html")
    report = await home.sync()
    assert (report.added + report.renamed, len(await home.names())) == (1, 4)  # of which the original is gone


async def test_the_host_counts_however_it_is_written(home: Home, site: Site) -> None:
    port = site.url.rpartition(":")[2]
    site.pages["/docs/"] = html(
        "Docs", "All.", f"https://127.0.0.1:{port}/docs/b", f"HTTP://127.0.0.1:{port}/docs/a.html"
    )
    assert await looked(home, site) == ["/docs/", "/docs/a.html", "/docs/b", "/docs/c.html?x=1"]
    assert check_address("https://Wiki.Example:443/Docs") == "https://wiki.example/Docs"
    assert check_address("http://wiki.example:443/") == "http://wiki.example:443/"


async def test_the_date_of_the_sitemap_goes_before_that_of_the_file(home: Home, site: Site) -> None:
    site.pages["/sitemap.xml"] = (
        f"<urlset><url><loc>{site.url}/docs/a.html</loc><lastmod>2025-11-03T08:00:00+09:00</lastmod></url>"
        f"<url><loc>{site.url}/docs/b</loc></url></urlset>"
    )
    await follow(home, site)
    rows = {row.name: row.changed_at for row in await home.library.documents.listed()}
    assert rows == {"docs/a.html": "2025-11-03", "docs/b.html": "2026-03-02"}


async def test_the_source_of_a_page_that_lies_beside_it_is_no_page(home: Home, site: Site) -> None:
    site.pages["/docs/"] = html("Docs", "All about piers.", "_sources/index.rst.txt")
    site.pages["/docs/_sources/index.rst.txt"] = "All about piers."
    assert await looked(home, site) == ["/docs/"]


async def test_a_site_that_is_built_anew_says_what_it_said(home: Home, site: Site) -> None:
    await follow(home, site)
    before = {row.name: row for row in await home.library.documents.listed()}
    for path in site.pages:
        site.pages[path] += "<footer>Built by 9f3a71</footer>"
    site.answers["/docs/a.html"] = lambda request: web.Response(
        text=site.pages["/docs/a.html"],
        content_type="text/html",
        headers={"Last-Modified": "Tue, 03 Mar 2026 10:00:00 GMT"},
    )
    report = await home.sync()
    assert (report.added, report.replaced, report.removed) == (0, 0, 0)
    assert {row.name: row for row in await home.library.documents.listed()} == before
    site.pages["/docs/b"] += '<meta name="last-modified" content="2026-03-04">'
    assert (await home.sync()).replaced == 1
    (row,) = [row for row in await home.library.documents.listed() if row.name == "docs/b.html"]
    assert row.changed_at == "2026-03-04"


async def test_a_page_at_another_place_keeps_its_document(home: Home, site: Site) -> None:
    await follow(home, site)
    before = {row.title: row.id for row in await home.library.documents.listed()}
    moved = {"/docs/": "/docs/", "/docs/a.html": "/docs/new/a", "/docs/b": "/docs/new/b", "/docs/c.html?x=1": "/docs/c"}
    site.pages = {to: site.pages[path] for path, to in moved.items()}
    site.pages["/docs/"] = html("Docs", "All about piers.", *list(moved.values())[1:])
    site.pages["/docs/new/b"] = html("B", "Pier two is open.", "/docs/c")
    report = await home.sync()
    assert (report.renamed, report.added, report.removed, report.gone) == (3, 0, 0, 0)
    rows = {row.title: row for row in await home.library.documents.listed()}
    assert (
        rows["A"].id == before["A"]
        and rows["A"].url == f"{site.url}/docs/new/a"
        and rows["A"].name == "docs/new/a.html"
    )
    assert "Pier one is open." in " ".join(await home.library.found("pier one open"))
    report = await home.sync()
    assert (report.renamed, report.added, report.replaced, report.removed) == (0, 0, 0, 0)


class Dying:
    """What a sync works with, until it dies at one of its calls."""

    def __init__(self, knowledge: KnowledgeBase, call: str) -> None:
        self._knowledge, self._call = knowledge, call

    def __getattr__(self, name: str) -> Any:
        return self._die if name == self._call else getattr(self._knowledge, name)

    async def _die(self, *given: object, **named: object) -> None:
        raise asyncio.CancelledError


@pytest.mark.parametrize("call", ["forget", "rename_document"])
async def test_a_move_that_is_cut_short_is_done_by_the_next_look(home: Home, site: Site, call: str) -> None:
    await follow(home, site)
    before = {row.title: row.id for row in await home.library.documents.listed()}
    site.pages["/docs/new/a"] = html("A", "Pier one is open.", "/docs/b", "../c.html?x=1")
    del site.pages["/docs/a.html"]
    site.pages["/docs/"] = html("Docs", "All about piers.", "new/a", "b")
    (source,) = await home.store.listed()
    memory = home.folder / "home" / "sources" / "m.json"
    sync = Sync(source, home.store, Dying(home.library.knowledge, call), home.library.documents)  # type: ignore[arg-type]
    with pytest.raises(asyncio.CancelledError):
        await sync.run(WebsiteSource(source.location, memory=memory, private=True))
    assert (await home.sync()).removed == 0
    assert {row.title: row.id for row in await home.library.documents.listed()} == before
    assert set(await home.store.pages(source.id)) == {f"{site.url}/docs/{p}" for p in ("", "new/a", "b", "c.html?x=1")}


async def test_the_links_of_a_page_are_read_in_its_own_encoding(home: Home, site: Site) -> None:
    page = (
        '<html><head><meta charset="Shift_JIS"><title>社内規程</title></head><body><a href="旅費.html">旅費</a></body>'
    )
    site.answers["/docs/"] = lambda request: web.Response(
        body=page.encode("cp932"), headers={"Content-Type": "text/html"}
    )
    site.pages["/docs/" + quote("旅費.html")] = html("旅費", "日当は三千円です。")
    assert (await follow(home, site)).added == 2
    assert "docs/旅費.html" in await home.names()


@pytest.mark.parametrize(
    "start",
    [
        '<frameset><frame src="menu.html"><frame src="a.html"></frameset>',
        '<img usemap="#m"><map name="m"><area href="a.html"></map>',
        '<meta http-equiv="Refresh" content="0; URL=\'a.html\'"><p>Moved</p>',
    ],
)
async def test_pages_are_reached_by_whatever_leads_a_visitor_there(home: Home, site: Site, start: str) -> None:
    site.pages["/docs/"] = f"<html><head></head>{start}</html>"
    await follow(home, site)
    assert "docs/a.html" in await home.names()


async def test_a_page_in_the_place_of_a_sitemap_is_none(home: Home, site: Site) -> None:
    site.pages["/docs/"] += '<form><input name="q"></form>'
    site.answers["/sitemap.xml"] = lambda request: web.Response(text=site.pages["/docs/"], content_type="text/html")
    assert (await follow(home, site)).added == 4
