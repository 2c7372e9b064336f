"""Sources that change honestly and make trouble, for `benchmarks.source_faults`: a folder, a repository, and a website with
a sitemap or with links only. Each knows what it says, page by page, and each trouble ends before the next change."""

import os
import random
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aiohttp import web

from bot.sources.sources import NewSource
from bot.store.followed import SourceKind
from tests.bot.sources.conftest import Tree
from tests.bot.sources.site import Site

PAGES, FEWEST, MOST = 24, 18, 32
FOLDERS = ("alpha", "beta", "gamma", "delta")
Trouble = Callable[[random.Random], Iterator[None]]


@dataclass
class World:
    """`truth`: by the name of its document, the word that only this version of it has. `renamed`: old names by new ones
    of the last change, which moved pages without touching them."""

    name: str
    kind: SourceKind
    location: str
    truth: dict[str, str] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    numbers: int = 0

    def source(self) -> NewSource:
        return NewSource(self.kind, self.location, name=self.name, every=10)

    def word(self, page: int) -> str:
        self.numbers += 1
        return f"{self.name}p{page}v{self.numbers}x"

    def write(self, name: str, word: str) -> None:
        raise NotImplementedError

    def drop(self, name: str) -> None:
        raise NotImplementedError

    def ready(self) -> None:
        """What was written is what the source says now."""

    def change(self, dice: random.Random) -> None:
        """A few pages come, change and go; sometimes a folder has another name."""
        self.renamed = {}
        mine = sorted(name for name in self.truth if name not in self.fixed())
        if dice.random() < 0.2 and self.kind != "website":
            self.rename(dice, mine)
        else:
            for name in dice.sample(mine, dice.randint(1, 3)):
                self.put(name)
            if len(self.truth) < MOST:
                self.put(self.fresh(dice))
            for name in dice.sample(mine, dice.randint(0, 2) if len(mine) > FEWEST else 0):
                self.drop(name)
                del self.truth[name]
        self.ready()

    def put(self, name: str) -> None:
        self.truth[name] = self.word(len(self.truth))
        self.write(name, self.truth[name])

    def fresh(self, dice: random.Random) -> str:
        self.numbers += 1
        return f"{dice.choice(FOLDERS)}/page{self.numbers}.md"

    def rename(self, dice: random.Random, mine: list[str]) -> None:
        raise NotImplementedError

    def fixed(self) -> frozenset[str]:
        return frozenset()

    def troubles(self) -> dict[str, Trouble]:
        raise NotImplementedError


class Files(World):
    """A folder, or a repository over one."""

    def __init__(self, kind: SourceKind, at: Path, pages: int = PAGES) -> None:
        super().__init__(kind, kind, str(at))
        self.tree = Tree(at, kind)
        for number in range(pages):
            self.put(f"{FOLDERS[number % 4]}/page{number}.md")
        self.ready()

    def write(self, name: str, word: str) -> None:
        file = self.tree.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        body = "\n\n".join(f"Line {n} of {name} about ships." for n in range(8))
        file.write_text(f"# {name}\n\nThe word is {word}.\n\n{body}\n")

    def drop(self, name: str) -> None:
        (self.tree.path / name).unlink()

    def ready(self) -> None:
        self.tree.commit()

    def rename(self, dice: random.Random, mine: list[str]) -> None:
        folder = dice.choice(sorted({name.partition("/")[0] for name in mine}))
        self.numbers += 1
        to = f"{folder.rstrip('0123456789')}{self.numbers}"
        (self.tree.path / folder).rename(self.tree.path / to)
        for name in [name for name in mine if name.startswith(f"{folder}/")]:
            moved = f"{to}/{name.partition('/')[2]}"
            self.truth[moved] = self.truth.pop(name)
            self.renamed[moved] = name

    def fresh(self, dice: random.Random) -> str:
        there = sorted({name.partition("/")[0] for name in self.truth})
        self.numbers += 1
        return f"{dice.choice(there)}/page{self.numbers}.md"

    def troubles(self) -> dict[str, Trouble]:
        shared: dict[str, Trouble] = {"away": self._away, "emptied": self._emptied}
        if self.kind == "folder":
            return shared | {"half a listing": self._unseen, "times of files step": self._times}
        return shared | {"force-push": self._forced, "branch gone": self._headless, "torn mirror": _nothing}

    @contextmanager
    def _aside(self) -> Iterator[None]:
        aside = self.tree.path.with_name(f"{self.tree.path.name}.aside")
        self.tree.path.rename(aside)
        try:
            yield
        finally:
            aside.rename(self.tree.path)

    def _away(self, dice: random.Random) -> Iterator[None]:
        with self._aside():
            yield

    def _emptied(self, dice: random.Random) -> Iterator[None]:
        texts = {self.tree.path / name: (self.tree.path / name).read_bytes() for name in self.truth}
        for name in self.truth:
            self.drop(name)
        self.ready()
        yield
        for file, text in texts.items():
            file.write_bytes(text)
        self.ready()

    def _unseen(self, dice: random.Random) -> Iterator[None]:
        """A folder so deep that nobody can look into it by its path, root neither."""
        at = os.open(self.tree.path, os.O_RDONLY)
        for _ in range(18):
            os.mkdir("d" * 250, dir_fd=at)
            at, above = os.open("d" * 250, os.O_RDONLY, dir_fd=at), at
            os.close(above)
        os.close(at)
        yield
        shutil.rmtree(self.tree.path / ("d" * 250))

    def _times(self, dice: random.Random) -> Iterator[None]:
        for name in self.truth:
            when = dice.uniform(0, 4e9)
            os.utime(self.tree.path / name, (when, when))
        yield

    def _forced(self, dice: random.Random) -> Iterator[None]:
        """What was the last commit is none any more: the same files, with another history."""
        self.tree.git("checkout", "--quiet", "--orphan", "anew")
        self.tree.git("commit", "--quiet", "--allow-empty", "-m", "anew")
        self.tree.git("branch", "-M", "anew", "main")
        yield

    def _headless(self, dice: random.Random) -> Iterator[None]:
        head = self.tree.path / ".git" / "HEAD"
        before = head.read_text()
        head.write_text("ref: refs/heads/nothing\n")
        yield
        head.write_text(before)


class Website(World):
    """`mapped`: its sitemap says which pages there are; else links do, from a start page over others."""

    def __init__(self, site: Site, *, mapped: bool, pages: int = PAGES) -> None:
        name = "mapped" if mapped else "linked"
        super().__init__(name, "website", f"{site.url}/{name}/")
        self.site, self.mapped = site, mapped
        if not mapped:
            for page in self.fixed():
                self.truth[page] = "Start" if page == "linked.html" else page.removesuffix(".html").replace("/", "")
        for number in range(pages):
            self.put(f"{name}/{FOLDERS[number % 4]}/page{number}.html")
        self.ready()

    def fixed(self) -> frozenset[str]:
        hubs = () if self.mapped else ("linked.html", *(f"linked/{folder}.html" for folder in FOLDERS))
        return frozenset(hubs)

    def fresh(self, dice: random.Random) -> str:
        self.numbers += 1
        return f"{self.name}/{dice.choice(FOLDERS)}/page{self.numbers}.html"

    def write(self, name: str, word: str) -> None:
        self.site.pages[f"/{name}"] = _html(name, f"The word is {word}.")

    def drop(self, name: str) -> None:
        del self.site.pages[f"/{name}"]

    def ready(self) -> None:
        mine = sorted(name for name in self.truth if name not in self.fixed())
        if self.mapped:
            listed = "".join(f"<url><loc>{self.site.url}/{name}</loc></url>" for name in mine)
            self.site.pages["/sitemap.xml"] = f"<urlset>{listed}</urlset>"
            self.site.pages["/mapped/"] = _html("Start", "Not all are linked.", *(f"/{name}" for name in mine[::2]))
            return
        self.site.pages["/linked/"] = _html("Start", "Start.", *(f"/linked/{folder}.html" for folder in FOLDERS))
        for folder in FOLDERS:
            links = [f"/{name}" for name in mine if name.startswith(f"linked/{folder}/")]
            self.site.pages[f"/linked/{folder}.html"] = _html(folder, f"linked{folder}.", *links)

    def troubles(self) -> dict[str, Trouble]:
        pages: dict[str, Trouble] = {
            "429": self._each(lambda _: web.Response(status=429, headers={"Retry-After": "0"})),
            "503": self._each(lambda _: web.Response(status=503, headers={"Retry-After": "0"})),
            "500": self._each(lambda _: web.Response(status=500, text="<h1>Sorry</h1>")),
            "reset": self._each(_reset),
            "redirect loop": self._each(lambda asked: web.Response(status=302, headers={"Location": asked.path})),
            "sent elsewhere for now": self._each(
                lambda _: web.Response(status=302, headers={"Location": "https://login.example/"})
            ),
            "truncated page": self._each(_truncated),
            "robots.txt away": self._one("/robots.txt", web.Response(status=500)),
            "emptied": self._emptied,
        }
        if self.mapped:
            pages["half a sitemap"] = self._half
            pages["sitemap away"] = self._one("/sitemap.xml", web.Response(status=503, headers={"Retry-After": "0"}))
            pages["sitemap missing"] = self._one("/sitemap.xml", web.Response(status=404))
        return pages

    def _each(self, answer: Callable[[web.Request], web.StreamResponse]) -> Trouble:
        def trouble(dice: random.Random) -> Iterator[None]:
            there = [path for path in self.site.pages if path.startswith(f"/{self.name}/")]
            some = dice.sample(there, dice.choice((1, 2, len(there) // 3, len(there))))
            self.site.answers |= dict.fromkeys(some, answer)
            yield
            self.site.answers.clear()

        return trouble

    def _one(self, path: str, answer: web.Response) -> Trouble:
        def trouble(dice: random.Random) -> Iterator[None]:
            self.site.answers[path] = lambda _: web.Response(status=answer.status, headers=answer.headers)
            yield
            self.site.answers.clear()

        return trouble

    def _half(self, dice: random.Random) -> Iterator[None]:
        whole = self.site.pages["/sitemap.xml"]
        self.site.pages["/sitemap.xml"] = whole[: dice.randrange(1, len(whole) - 1)]
        yield
        self.site.pages["/sitemap.xml"] = whole

    def _emptied(self, dice: random.Random) -> Iterator[None]:
        truth, self.truth = self.truth, {name: word for name, word in self.truth.items() if name in self.fixed()}
        gone = {path: self.site.pages.pop(path) for path in [f"/{name}" for name in truth if name not in self.fixed()]}
        self.ready()
        yield
        self.site.pages |= gone
        self.truth = truth
        self.ready()


def _html(title: str, text: str, *links: str) -> str:
    anchors = "".join(f'<p><a href="{link}">More</a></p>' for link in links)
    return f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>{text}</p>{anchors}</body></html>"


def _reset(request: web.Request) -> web.StreamResponse:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


def _truncated(request: web.Request) -> web.StreamResponse:
    response = web.Response(text="<html><body><p>The word is half.", content_type="text/html")
    response.headers["Content-Length"] = "4000"
    response.force_close()
    return response


def _nothing(dice: random.Random) -> Iterator[None]:
    yield


def tear(mirror: Path, dice: random.Random) -> None:
    """Cut a file of a mirror in two, as a disk that was full does."""
    files = sorted(path for path in (mirror / "objects").rglob("*") if path.is_file())
    if files:
        torn = dice.choice(files)
        torn.chmod(0o600)
        torn.write_bytes(torn.read_bytes()[: torn.stat().st_size // 2])
