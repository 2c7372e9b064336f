"""A website of 2,000 pages with ETags, followed: what it is asked for on the first sync, on one with nothing new, when ten
pages have changed, and when its sitemap is broken; with pages that its robots.txt forbids, a redirect to one of those and
another to a private address.

    python -m benchmarks.website [--pages 2000] [--seed 7]

The vectors are the tests' own: it is about requests. Status 1 when anything was fetched that is forbidden or private, when
more was asked for than there is, or when a broken sitemap removed a page.
"""

import argparse
import asyncio
import logging
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from aiohttp import web

from benchmarks.source_faults import alive
from bot.sources.base import SourceError
from bot.sources.sources import NewSource
from tests.bot.library import READERS
from tests.bot.sources.conftest import EDITOR
from tests.bot.sources.site import Site, served

CHANGED, FORBIDDEN = 10, 100


def html(number: int, version: int) -> str:
    body = "".join(f"<p>Paragraph {n} of page {number}, about ships and piers.</p>" for n in range(6))
    return f"<html><head><title>Page {number}</title></head><body><h1>Page {number}</h1><p>v{version}</p>{body}</body></html>"


def fill(site: Site, private: Site, pages: int) -> None:
    """`private`: stands for an address of the own network."""
    site.pages = {f"/docs/{number}": html(number, 1) for number in range(pages)}
    site.pages |= {f"/docs/private/{number}": html(number, 1) for number in range(FORBIDDEN)}
    site.pages["/robots.txt"] = f"User-agent: *\nDisallow: /docs/private/\nSitemap: {site.url}/index.xml\n"
    names = [*site.pages, "/docs/inside", "/docs/outside"]
    parts = {f"/part{at}.xml": names[at::3] for at in range(3)}
    entries = "".join(f"<sitemap><loc>{site.url}{part}</loc></sitemap>" for part in parts)
    site.pages["/index.xml"] = f"<sitemapindex>{entries}</sitemapindex>"
    for part, some in parts.items():
        listed = "".join(f"<url><loc>{site.url}{name}</loc></url>" for name in some if name.startswith("/docs/"))
        site.pages[part] = f"<urlset>{listed}</urlset>"
    private.pages = {"/secret": html(0, 1)}
    ways = {
        "/docs/inside": "/docs/private/0",
        "/docs/outside": f"{private.url.replace('127.0.0.1', '127.0.0.2')}/secret",
    }
    for name, to in ways.items():
        site.answers[name] = lambda _, to=to: web.Response(status=302, headers={"Location": to})  # type: ignore[misc]


async def measure(pages: int, seed: int) -> list[str]:
    """What does not hold."""
    dice, wrong = random.Random(seed), list[str]()
    print(f"| {'':28} | seconds | requests | by status | documents |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        async with served() as site, served() as private, alive(Path(folder) / "home", "me") as life:
            fill(site, private, pages)
            await life.sources.add(EDITOR, NewSource("website", f"{site.url}/docs/", name="site"))

            async def sync(what: str) -> Counter[int]:
                site.asked.clear()
                begun = time.monotonic()
                try:
                    await life.sources.sync(EDITOR, "site", READERS)
                except SourceError as error:
                    what = f"{what}: refused"
                    logging.getLogger(__name__).info("%s", error)
                seconds, statuses = time.monotonic() - begun, Counter(status for _, status in site.asked)
                said = ", ".join(f"{number} × {status}" for status, number in sorted(statuses.items()))
                documents = len(await life.library.documents.listed(READERS))
                print(f"| {what:28} | {seconds:.1f} | {len(site.asked)} | {said} | {documents} |", flush=True)
                if documents != pages:
                    wrong.append(f"{what}: {documents} documents of {pages}")
                if any(path.startswith("/docs/private/") for path, _ in site.asked):
                    wrong.append(f"{what}: fetched what robots.txt forbids")
                if private.asked:
                    wrong.append(f"{what}: fetched from a private address")
                return statuses

            await sync("the first sync")
            about = 8  # robots.txt, five sitemaps of which one was never there, and two redirects
            again = await sync("nothing new")
            if again[304] < pages or sum(again.values()) > pages + about or again[200] > 5:
                wrong.append(f"nothing new: {dict(again)}")
            for number in dice.sample(range(pages), CHANGED):
                site.pages[f"/docs/{number}"] = html(number, 2)
            changed = await sync(f"{CHANGED} pages changed")
            if changed[304] != again[304] - CHANGED:
                wrong.append(f"changed: {dict(changed)}")
            whole = site.pages["/part1.xml"]
            site.pages["/part1.xml"] = whole[: dice.randrange(1, len(whole) - 1)]
            await sync("half a sitemap")
            del site.pages["/part1.xml"]
            await sync("a sitemap that is missing")
    return wrong


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("--pages", type=int, default=2_000)
    given.add_argument("--seed", type=int, default=7)
    options = given.parse_args()
    logging.disable(logging.CRITICAL)
    print(f"seed {options.seed}, {options.pages} pages\n", flush=True)
    wrong = asyncio.run(measure(options.pages, options.seed))
    print("\n" + ("\n".join(wrong) or "nothing forbidden or private was fetched, nothing was removed"))
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
