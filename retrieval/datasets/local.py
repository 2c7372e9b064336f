"""Files of one's own as datasets: csv, tsv, txt, json and jsonl, in any Japanese encoding, a row at a time."""

import codecs
import csv
import io
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal

from retrieval.datasets import errors as refusals
from retrieval.datasets.errors import DatasetError
from retrieval.datasets.rows import Columns, DatasetReading, DatasetRow, guess
from retrieval.i18n import os_reason
from retrieval.loaders.encodings import decode
from retrieval.loaders.file_types import suffix_of
from retrieval.loaders.limits import MIB, FileRefused, size
from retrieval.loaders.sanitize import clean_line

SUFFIXES = frozenset({".csv", ".tsv", ".txt", ".json", ".jsonl"})
LARGEST = 512 * MIB
Split = Literal["file", "paragraph", "line"]

_LONGEST_ROW = MIB  # characters
_WHOLE_FILE = 4 * MIB  # a longer text file makes a document a paragraph
_WHOLE_JSON = 32 * MIB  # of an object that holds the list: it is read at once
_PIECE = MIB // 4
_LOOKED_AT = 20  # rows that the guess at the columns is made from
_BETWEEN = re.compile(r"[\s,]*")
_SAFE_END = re.compile(rb"(?s:.*)(?P<end>[\n\", :])")  # bytes that are no part of a character in any of the encodings
_ESCAPES = re.compile(rb"\x1b[$(]")
_CODECS = (
    ("utf-8", "strict"),
    ("cp932", "replace"),
    ("euc_jp", "kotae-windows-rows"),
    ("utf-16-le", "replace"),
    ("utf-16-be", "replace"),
    ("cp1252", "replace"),
)
_BOMS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\0\0", "utf-32"),
    (b"\0\0\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_ISO_2022_JP = "iso-2022-jp"
_JSON = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)  # Python reads no number of 4,301 digits
_TEXT = "text"  # the only column of a txt file

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Encoding:
    """A codec's name and how it meets what it does not know."""

    codec: str
    errors: str = "strict"


@dataclass(frozen=True, slots=True)
class Inspected:
    """A file's apparent form, for people to check: the columns it has, and which of them would be what."""

    encoding: str
    columns: tuple[str, ...]
    guess: Columns | None
    split: Split | None  # of a txt file


@dataclass(frozen=True, slots=True)
class LocalSource:
    """A file as a source of rows. `name` is what people call it (with its ending), `path` where it is."""

    path: Path
    file: str
    columns: Columns | None = None  # None: by their names
    split: Split | None = None  # None: by its size

    @property
    def name(self) -> str:
        stem = clean_line(Path(self.file.replace("\\", "/")).stem, 80)
        return re.sub(r"[^\w.-]+", "_", stem).strip("._") or "file"

    @property
    def chrome(self) -> str:
        return ""

    def attribution(self, row: DatasetRow) -> str:
        return ""

    def inspect(self) -> Inspected:
        """Blocks. Raises DatasetError."""
        with self._words():
            encoding = self._encoding()
            first = list(islice(self._records(encoding, DatasetReading()), _LOOKED_AT))
            if not first:
                raise DatasetError(refusals.EMPTY, name=self.file)
            columns = tuple(dict.fromkeys(name for record in first for name in record))
            split = self._split() if suffix_of(self.file) == ".txt" else None
            return Inspected(encoding.codec, columns, guess(columns, first), split)

    def rows(self, reading: DatasetReading) -> Iterator[DatasetRow]:
        with self._words():
            records = self._records(self._encoding(), reading)
            first = list(islice(records, _LOOKED_AT))
            if not first:
                raise DatasetError(refusals.EMPTY, name=self.file)
            names = list(dict.fromkeys(name for record in first for name in record))
            columns = self.columns or guess(names, first)
            if columns is None:
                raise DatasetError(refusals.NO_TEXT, name=self.file, columns=", ".join(names)[:300])
            for name in columns.named:
                if name not in names:
                    raise DatasetError(refusals.NO_COLUMN, name=self.file, column=name, columns=", ".join(names)[:300])
            title = clean_line(Path(self.file).stem) if self._is_one_document() else None
            for number, record in enumerate(chain(first, records), start=1):
                row = columns.row(number, record)
                yield DatasetRow(number, "", title, row.text) if title else row

    def _is_one_document(self) -> bool:
        return suffix_of(self.file) == ".txt" and self._split() == "file"

    def _split(self) -> Split:
        return self.split or ("file" if self.path.stat().st_size <= _WHOLE_FILE else "paragraph")

    # -- the records of each kind -----------------------------------------------------------------------------------

    def _records(self, encoding: Encoding, reading: DatasetReading) -> Iterator[Record]:
        with self.path.open("rb") as raw:
            pieces = _decoded(raw, encoding, reading)
            lines = self._lines(pieces)
            match suffix_of(self.file):
                case ".csv":
                    yield from self._table(lines, None)
                case ".tsv":
                    yield from self._table(lines, "\t")
                case ".jsonl":
                    yield from self._json_lines(lines)
                case ".json":
                    yield from self._json(pieces)
                case _:
                    yield from self._text(lines)

    def _lines(self, pieces: Iterator[str]) -> Iterator[str]:
        """With their ends; none is longer than a row may be."""
        longest = _WHOLE_FILE if self._is_one_document() else _LONGEST_ROW
        rest = ""
        number = 1
        for piece in pieces:
            *whole, rest = (rest + piece).split("\n")
            for line in whole:
                yield line + "\n"
            number += len(whole)
            if len(rest) > longest:
                raise self._long_row(number)
        if rest:
            yield rest

    def _table(self, lines: Iterator[str], delimiter: str | None) -> Iterator[Record]:
        first = list(islice(lines, _LOOKED_AT))
        if not first:
            return
        csv.field_size_limit(_LONGEST_ROW)
        reader = csv.reader(chain(first, lines), delimiter=delimiter or _delimiter(first))
        try:
            names = [clean_line(cell) for cell in next(reader)]
            names = [name or f"#{at}" for at, name in enumerate(names, start=1)]
            for cells in reader:
                if any(cell.strip() for cell in cells):
                    yield dict(zip(names, cells, strict=False))
        except csv.Error as error:
            if "field larger" in str(error):
                raise self._long_row(reader.line_num) from error
            raise self._broken("CSV", reader.line_num) from error

    def _json_lines(self, lines: Iterator[str]) -> Iterator[Record]:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                value = _JSON.decode(line)
            except (json.JSONDecodeError, RecursionError) as error:
                raise self._broken("JSON", number) from error
            yield value if isinstance(value, dict) else {_TEXT: value}

    def _json(self, pieces: Iterator[str]) -> Iterator[Record]:
        """A list, value by value; or an object that holds one."""
        buffer = next((piece for piece in pieces if piece.strip()), "").lstrip()
        if not buffer.startswith("["):
            yield from self._json_object(buffer, pieces)
            return
        at, before = 1, 0  # `before`: lines that are no longer in the buffer
        while True:
            at = _BETWEEN.match(buffer, at).end()  # type: ignore[union-attr]  # it matches nothing, too
            if buffer.startswith("]", at):
                return
            try:
                value, at = _JSON.raw_decode(buffer, at)
            except RecursionError as error:
                raise self._broken("JSON", before + 1) from error
            except json.JSONDecodeError as error:
                more = next(pieces, "")
                cut = error.msg.startswith("Unterminated string") or error.pos > len(buffer) - 16
                if not (more and cut):
                    raise self._broken("JSON", before + error.lineno) from error
                if len(buffer) - at > 2 * _LONGEST_ROW:
                    raise self._long_row(before + error.lineno) from error
                before += buffer.count("\n", 0, at)
                buffer, at = buffer[at:] + more, 0
                continue
            yield value if isinstance(value, dict) else {_TEXT: value}

    def _json_object(self, opening: str, pieces: Iterator[str]) -> Iterator[Record]:
        if self.path.stat().st_size > _WHOLE_JSON:
            raise DatasetError(refusals.NOT_ROWS, name=self.file)
        try:
            value = _JSON.decode(opening + "".join(pieces))
        except json.JSONDecodeError as error:
            raise self._broken("JSON", error.lineno) from error
        except RecursionError as error:
            raise self._broken("JSON", 1) from error
        lists = [each for each in value.values() if isinstance(each, list)] if isinstance(value, dict) else []
        found = next((each for each in lists if each and isinstance(each[0], dict)), None)
        if found is None:
            raise DatasetError(refusals.NOT_ROWS, name=self.file)
        yield from (record for record in found if isinstance(record, dict))

    def _text(self, lines: Iterator[str]) -> Iterator[Record]:
        split = self._split()
        if split == "file":
            yield {_TEXT: "".join(lines)}
            return
        gathered: list[str] = []
        length = 0
        for number, line in enumerate(lines, start=1):
            if line.strip():
                gathered.append(line)
                length += len(line)
                if length > _LONGEST_ROW:
                    raise self._long_row(number)
            if gathered and (split == "line" or not line.strip()):
                yield {_TEXT: "".join(gathered)}
                gathered, length = [], 0
        if gathered:
            yield {_TEXT: "".join(gathered)}

    # -- its encoding -----------------------------------------------------------------------------------------------

    def _encoding(self) -> Encoding:
        """By the first stretch of the file that is not plain ASCII. Raises DatasetError."""
        if suffix_of(self.file) not in SUFFIXES:
            raise DatasetError(refusals.KIND, name=self.file)
        if self.path.stat().st_size > LARGEST:
            raise DatasetError(refusals.LARGE, name=self.file, limit=size(LARGEST))
        sample = b""
        with self.path.open("rb") as raw:
            while piece := raw.read(_PIECE):
                piece += raw.readline(_PIECE)
                if not sample:
                    for mark, codec in _BOMS:
                        if piece.startswith(mark):
                            return Encoding(codec, "replace")
                sample = piece
                if not piece.isascii() or _ESCAPES.search(piece) or b"\0" in piece:
                    break
        if b"\0" in sample:
            sample = sample[: len(sample) // 2 * 2]
        elif len(sample) >= _PIECE and (found := _SAFE_END.search(sample)):
            sample = sample[: found.end("end")]
        try:
            text = decode(sample)
        except FileRefused as error:
            raise DatasetError(refusals.ENCODING, name=self.file) from error
        if sample.isascii() and _ESCAPES.search(sample):
            return Encoding(_ISO_2022_JP)
        for codec, errors in _CODECS:
            try:
                if sample.decode(codec, errors) == text:
                    return Encoding(codec, "replace" if codec == "utf-8" else errors)
            except UnicodeDecodeError:
                continue
        raise DatasetError(refusals.ENCODING, name=self.file)

    # -- in words ---------------------------------------------------------------------------------------------------

    @contextmanager
    def _words(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise DatasetError(refusals.GONE, name=self.file, why=os_reason(error)) from error

    def _broken(self, kind: str, line: int) -> DatasetError:
        return DatasetError(refusals.BROKEN, name=self.file, kind=kind, line=line)

    def _long_row(self, line: int) -> DatasetError:
        return DatasetError(refusals.LONG_ROW, name=self.file, line=line, limit=size(_LONGEST_ROW))


def _decoded(raw: io.BufferedReader, encoding: Encoding, reading: DatasetReading) -> Iterator[str]:
    """Pieces of the text with `\\n` line ends. ISO-2022-JP starts anew on each line; our own reading of it knows more
    than Python's."""
    if encoding.codec == _ISO_2022_JP:
        for line in iter(lambda: raw.readline(_LONGEST_ROW), b""):
            reading.check()
            reading.bytes += len(line)
            try:
                yield decode(line).replace("\r\n", "\n")
            except FileRefused:
                yield "\ufffd\n"
        return
    decoder = io.IncrementalNewlineDecoder(_codec(encoding), translate=True)
    while piece := raw.read(_PIECE):
        reading.check()
        reading.bytes += len(piece)
        if text := decoder.decode(piece):
            yield text
    if rest := decoder.decode(b"", final=True):
        yield rest


def _codec(encoding: Encoding) -> Any:
    return codecs.getincrementaldecoder(encoding.codec)(encoding.errors)


def _delimiter(lines: list[str]) -> str:
    """The one that cuts the lines most evenly, into more than one column."""

    def evenness(mark: str) -> float:
        try:
            counts = [len(cells) for cells in csv.reader(lines, delimiter=mark) if cells]
        except csv.Error:  # is met again where it has words
            return 0.0
        usual = max(set(counts), key=counts.count, default=1)
        return (usual > 1) * counts.count(usual) + usual / 1_000

    return max(",\t;", key=evenness)
