"""Rows as they come out of a dataset, and which of its columns are what."""

import threading
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

_KNOWN = {
    "text": ("text", "content", "body", "article", "document", "passage", "本文", "内容", "記事", "テキスト", "文章"),
    "title": ("title", "headline", "subject", "name", "タイトル", "題名", "件名", "見出し", "表題", "名称"),
    "url": ("url", "link", "uri", "href", "リンク", "アドレス"),
    "id": ("id", "_id", "docid", "doc_id", "pageid", "番号", "記事id", "文書id"),
}


@dataclass(frozen=True, slots=True)
class DatasetRow:
    """One record, as it stands there; `number` counts from 1. `id` is "" where the dataset gives none."""

    number: int
    id: str
    title: str
    text: str
    url: str | None = None


@dataclass(frozen=True, slots=True)
class Columns:
    """Which column holds what. Several `text` columns are put one under the other."""

    text: tuple[str, ...]
    title: str | None = None
    url: str | None = None
    id: str | None = None

    @property
    def named(self) -> tuple[str, ...]:
        return (*self.text, *(name for name in (self.title, self.url, self.id) if name))

    def row(self, number: int, record: Mapping[str, Any]) -> DatasetRow:
        texts = [_string(record.get(name)) for name in self.text]
        return DatasetRow(
            number,
            _string(record.get(self.id)) if self.id else "",
            _string(record.get(self.title)) if self.title else "",
            "\n\n".join(filter(None, texts)),
            (_string(record.get(self.url)).strip() or None) if self.url else None,
        )


def guess(names: Sequence[str], samples: Sequence[Mapping[str, Any]] = ()) -> Columns | None:
    """Columns by their names (any case, 全角 too); without a name that says so, the text is where the samples are
    longest. None: nothing looks like text."""
    plain = {"".join(unicodedata.normalize("NFKC", name).casefold().split()): name for name in reversed(names)}

    def known(what: str) -> str | None:
        return next((plain[name] for name in _KNOWN[what] if name in plain), None)

    text, title, url, key = known("text"), known("title"), known("url"), known("id")
    if text is None:
        length = {
            name: sum(len(_string(sample.get(name))) for sample in samples) for name in names if name not in (url, key)
        }
        text = max(length, key=lambda name: length[name], default=None)
        if text is None or not length[text]:
            return None
    return Columns((text,), title if title != text else None, url, key)


class Abandoned(Exception):
    """Nobody wants the rows any longer."""


@dataclass(slots=True)
class DatasetReading:
    """One pass over a dataset: what it has cost so far, and how it is told to stop from another thread."""

    stop: threading.Event = field(default_factory=threading.Event)
    bytes: int = 0  # that came over the network or from the disk

    def check(self) -> None:
        """Raises Abandoned."""
        if self.stop.is_set():
            raise Abandoned

    def wait(self, seconds: float) -> None:
        """Raises Abandoned as soon as the pass is stopped."""
        if self.stop.wait(seconds):
            raise Abandoned


class DatasetSource(Protocol):
    """Something with rows. `name` begins the names of its documents; `chrome` says which boilerplate its rows have."""

    @property
    def name(self) -> str: ...

    @property
    def chrome(self) -> str: ...

    def attribution(self, row: DatasetRow) -> str:
        """The row's origin and licence, for the end of its document; "" if there is nothing to say."""
        ...

    def rows(self, reading: DatasetReading) -> Iterator[DatasetRow]:
        """In an order that does not change. Blocks; raises DatasetError, Abandoned."""
        ...


def _string(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return "\n".join(_string(item) for item in value)
    return str(value)
