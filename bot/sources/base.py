"""The port of a source of documents: it lists its pages whole, or says why it cannot, and hands out one by one.

Source: sources.md §1 and §2. A listing is always whole, since what is missing from it will be removed.
"""

from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Protocol

from bot.store.followed import FollowedPage
from retrieval.i18n import Text
from retrieval.loaders.file_types import DOCUMENTS, suffix_of
from retrieval.loaders.sanitize import clean_line
from retrieval.types import RAGToolError

MOST_PAGES = 50_000
GONE = "gone"  # the version of a page that is not there any more, of a source that is read page by page
UNREAD = FollowedPage("")  # a page before it was ever read


class SourceError(RAGToolError):
    """A source cannot be listed, or is not to be followed. Nothing that it had is touched."""


class PausedError(SourceError):
    """A source that somebody has to say something about first."""


class PageError(RAGToolError):
    """A page cannot be had now; the others can. `again`: when to try, for a source that is read page by page."""

    def __init__(self, reason: Text, *, again: datetime | None = None, **values: object) -> None:
        super().__init__(reason, **values)
        self.again = again


class PageRefusedError(PageError):
    """A page can never be read in this version."""


class PageGoneError(PageError):
    """A page that was asked for is not there any more."""


@dataclass(frozen=True, slots=True)
class SourcePage:
    """A page as a listing has it. `ref` is its identity in the source, `version` changes with what it says; `name` is
    that of its document, `url` where people read it. `was`: its ref before it was renamed."""

    ref: str
    version: str
    name: str
    url: str | None = None
    was: str | None = None


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page's bytes; None: it is no document as it is now. `changed_at`: the source's own date of it, ISO. Of what was
    said in a channel: where (`said_in`), by whom (`people`), which `version` that is (None: the listing's), and when
    more of it may count (`again`)."""

    data: bytes | None = field(repr=False)
    changed_at: str | None = None
    said_in: str | None = None
    people: tuple[str, ...] = ()  # platform:id
    version: str | None = None
    again: datetime | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """A whole look at a source: its pages by ref. `fetch` raises PageError, and SourceError when the others cannot be
    had either; `cursor` names the state that was seen, for the next look."""

    pages: Mapping[str, SourcePage]
    fetch: Callable[[SourcePage], Awaitable[Fetched]]
    cursor: str | None = None


class PageSource(Protocol):
    """Something that pages are read from again and again."""

    def look(
        self, cursor: str | None, known: Mapping[str, FollowedPage]
    ) -> AbstractAsyncContextManager[Listing | None]:
        """See all of it; None: nothing has changed since `cursor`. `known`: its pages as they were last read. Raises
        SourceError when it cannot be seen whole."""
        ...


@dataclass(frozen=True, slots=True)
class PageFilter:
    """Which files of a tree are pages: those below `folder` whose path below it matches one of `globs` (all, without
    any), and which are documents; of a kind that cannot be read they are refused in words."""

    folder: str = ""
    globs: tuple[str, ...] = ()

    def name(self, path: str) -> str | None:
        """The path below the folder; None: it is no page."""
        folder = f"{self.folder}/" if self.folder else ""
        if not path.startswith(folder):
            return None
        path = path.removeprefix(folder)
        if any(part.startswith(".") for part in path.split("/")) or suffix_of(path) not in DOCUMENTS:
            return None
        return path if not self.globs or any(_matches(path, glob) for glob in self.globs) else None


def follow_renames(pages: dict[str, SourcePage], known: Mapping[str, FollowedPage]) -> None:
    """Let each new page that says what one said which is not there any more be that one. A version ends in the hash of
    what is said."""
    gone = {page.version.rpartition(" ")[2]: ref for ref, page in known.items() if ref not in pages}
    for ref, page in pages.items():
        if ref not in known and (was := gone.pop(page.version.rpartition(" ")[2], None)) is not None:
            pages[ref] = replace(page, was=was)


def ref_of(path: bytes) -> str:
    """A path as it can be kept, another one for each: bytes that are no UTF-8 are written out, as in `caf\\xe9.md`."""
    return path.replace(b"\\", rb"\\").decode(errors="backslashreplace")


def shown(ref: str) -> str:
    """As people may see it: whoever names a file may mean a terminal with it."""
    return clean_line(ref, 1_000)


def _matches(path: str, glob: str) -> bool:
    """As in a shell, but that `*` crosses folders: `docs/*.md` has all pages below docs, `*.md` those of any folder."""
    return fnmatchcase(path, glob) or fnmatchcase(path.rpartition("/")[2], glob)


TOO_MANY = Text(
    en="It has more than {most} pages. Follow a part of it (--folder, --glob).",
    ja="ページ数が {most} を超えています。--folder や --glob で一部を指定してください。",
)
TOO_BIG = Text(en="It takes more than {n} MiB.", ja="全体の大きさが {n} MiB を超えています。")
NOT_NOW = Text(en="It could not be read: {why}", ja="読み込めませんでした: {why}")
LOCAL = Text(
    en="What is on this machine can only be followed from the terminal.",
    ja="このマシンにあるものは、ターミナルからのみ追加できます。",
)
