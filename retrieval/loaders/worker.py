"""The process that parses untrusted files: `retrieval.loaders.loader` starts it, feeds it and may kill it at any
moment.

It reads `length (8 bytes) + JSON question, length + file` from standard input and writes `length + JSON reply`.
"""

import contextlib
import ctypes
import faulthandler
import json
import math
import os
import re
import resource
import struct
import sys
import tempfile
import traceback
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any, BinaryIO
from urllib.parse import unquote

from retrieval.loaders.encodings import decode
from retrieval.loaders.file_types import check_content, check_name
from retrieval.loaders.json import read_json, read_json_lines
from retrieval.loaders.limits import MIB, FileRefused, ParsingLimits, size
from retrieval.loaders.markdown import first_heading, front_matter, tidy, with_headings
from retrieval.loaders.sanitize import clean, clean_line
from retrieval.loaders.tables import read_csv, write_rows
from retrieval.types import Document, QAPair

LENGTH = struct.Struct(">Q")
_NEW_USER, _NEW_NET = 0x10000000, 0x40000000  # linux/sched.h
_FORBIDDEN = re.compile(
    r"socket\.(?!__new__)|subprocess\.|os\.(?:system|exec|posix_spawn|fork|kill)|urllib\.|ftplib\.|smtplib\."
)


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """A reader's result for a file, not yet cleaned."""

    markdown: str
    title: str = ""
    date: str = ""  # ISO
    pairs: tuple[QAPair, ...] = ()


Reader = Callable[[bytes, ParsingLimits], ParsedFile]


def reader_of(suffix: str) -> Reader:
    """How files with this ending are read. Imports what that takes."""
    match suffix:
        case ".md" | ".markdown" | ".mdx":
            return _markdown
        case ".txt":
            return _plain
        case ".csv" | ".tsv":
            return _table if suffix == ".csv" else lambda data, limits: _table(data, limits, "\t")
        case ".json" | ".jsonl":
            return _json if suffix == ".json" else _json_lines
        case ".xlsx":
            from retrieval.loaders.formats.workbook import read_workbook

            def workbook(data: bytes, limits: ParsingLimits) -> ParsedFile:
                written, date = read_workbook(data, limits)
                return ParsedFile(written.markdown, date=date, pairs=written.pairs)

            return workbook
        case ".pdf":
            from retrieval.loaders.formats.pdf import read_pdf

            return lambda data, limits: ParsedFile(*read_pdf(data, limits))
        case ".docx":
            from retrieval.loaders.formats.word import read_word

            return lambda data, limits: ParsedFile(*read_word(data, limits))
        case ".pptx":
            from retrieval.loaders.formats.slides import read_slides

            return lambda data, limits: ParsedFile(*read_slides(data, limits))
        case ".epub":
            from retrieval.loaders.formats.pages import read_book

            return lambda data, limits: ParsedFile(*read_book(data, limits))
        case _:
            from retrieval.loaders.formats.pages import read_page

            return lambda data, limits: ParsedFile(*read_page(data))


def _markdown(data: bytes, limits: ParsingLimits) -> ParsedFile:
    title, date, text = front_matter(clean(_decoded(data, limits)).lstrip() + "\n")
    return ParsedFile(tidy(text), title, date)


def _plain(data: bytes, limits: ParsingLimits) -> ParsedFile:
    return ParsedFile(_decoded(data, limits))


def _table(data: bytes, limits: ParsingLimits, delimiter: str | None = None) -> ParsedFile:
    written = write_rows(read_csv(_decoded(data, limits), delimiter, limits))
    return ParsedFile(written.markdown, pairs=written.pairs)


def _json(data: bytes, limits: ParsingLimits) -> ParsedFile:
    written = read_json(_decoded(data, limits), limits)
    return ParsedFile(written.markdown, pairs=written.pairs)


def _json_lines(data: bytes, limits: ParsingLimits) -> ParsedFile:
    written = read_json_lines(_decoded(data, limits), limits)
    return ParsedFile(written.markdown, pairs=written.pairs)


def _decoded(data: bytes, limits: ParsingLimits) -> str:
    if len(data) > limits.text * 4:  # no encoding needs more: spares the decoding
        raise FileRefused("text", limit=size(limits.text))
    return decode(data)


def _document(name: str, draft: ParsedFile, limits: ParsingLimits) -> Document:
    markdown = clean(draft.markdown)
    if not any(unicodedata.category(char)[0] in "LN" for char in markdown):
        raise FileRefused("empty")
    if len(markdown.encode("utf-8", "replace")) > limits.text:
        raise FileRefused("text", limit=size(limits.text))
    pairs = tuple(QAPair(clean(pair.question), clean(pair.answer)) for pair in draft.pairs)
    heading = first_heading(markdown) if check_name(name) in _WITH_HEADINGS else ""
    markdown = with_headings(markdown) if check_name(name) in _WITHOUT_MARKS else markdown
    title = clean_line(draft.title) or clean_line(heading) or _readable(name)
    kept = tuple(pair for pair in pairs if pair.question and pair.answer)
    return Document(clean_line(name, 1_000), markdown, title, kept, draft.date)


_WITH_HEADINGS = frozenset({".md", ".markdown", ".mdx", ".html", ".htm", ".docx", ".pptx", ".epub"})
_WITHOUT_MARKS = frozenset({".pdf", ".txt", ".docx"})


def _readable(name: str) -> str:
    """`docs/2024_travel-policy.pdf` → `2024 travel policy`; without the number that Notion puts behind a name."""
    stem = re.sub(r"(?<=\S) [0-9a-f]{32}(?:_all)?$", "", PurePath(unquote(name).replace("\\", "/")).stem)
    return clean_line(re.sub(r"_+|(?<=\w)-+(?=\w)", " ", stem)) or clean_line(name)


# -- the child process ------------------------------------------------------------------------------------------------


def main() -> None:
    """Answer questions until standard input ends."""
    questions, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(2, 1)  # what a library prints must not become a reply
    faulthandler.enable()
    warnings.simplefilter("ignore")
    tempfile.tempdir = str(Path.cwd())
    os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    confine()
    while question := _received(questions):
        asked = json.loads(question)
        reply = _reply(asked["name"], _received(questions), ParsingLimits(**asked["limits"]))
        body = json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")
        answers.write(LENGTH.pack(len(body)) + body)
        answers.flush()


def confine() -> None:
    """No network, no other programs, no large files, no core dump; each as far as the system allows."""
    for which, value in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 16 * MIB),
        (resource.RLIMIT_NOFILE, 128),
    ):
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(which, (value, value))
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(_NEW_NET) != 0:
            libc.unshare(_NEW_USER | _NEW_NET)
    sys.addaudithook(_forbid)


def _forbid(event: str, _: tuple[Any, ...]) -> None:
    if _FORBIDDEN.match(event):
        raise PermissionError(f"{event} is not for parsers")


def _received(stream: BinaryIO) -> bytes:
    length = stream.read(LENGTH.size)
    return stream.read(LENGTH.unpack(length)[0]) if len(length) == LENGTH.size else b""


def _reply(name: str, data: bytes, limits: ParsingLimits) -> dict[str, Any]:
    try:
        suffix = check_name(name)
        check_content(suffix, data)
    except FileRefused as refused:
        return {"refused": refused.reason, "values": refused.values}
    reader = reader_of(suffix)  # imports, so neither the file's cost nor its fault
    try:
        with _bounded(limits):
            document = _document(name, reader(data, limits), limits)
    except FileRefused as refused:
        return {"refused": refused.reason, "values": refused.values}
    except Exception as error:
        reason = "memory" if _ran_out(error) else "corrupt"
        frames = traceback.extract_tb(error.__traceback__)[-5:]  # not the message: that may quote the file
        detail = " < ".join(
            [type(error).__name__, *(f"{frame.name} {frame.filename}:{frame.lineno}" for frame in frames[::-1])]
        )
        return {"refused": reason, "values": {"kind": name.rsplit(".", 1)[-1].upper()}, "detail": detail}
    return {
        "name": document.name,
        "markdown": document.markdown,
        "title": document.title,
        "date": document.date,
        "pairs": [[pair.question, pair.answer] for pair in document.pairs],
    }


@contextlib.contextmanager
def _bounded(limits: ParsingLimits) -> Iterator[None]:
    """Memory and processor time for one file, above what the process has used so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    seconds = math.ceil(used.ru_utime + used.ru_stime) + limits.cpu
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    with contextlib.suppress(OSError, ValueError):  # macOS does not count address space
        occupied = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (occupied + limits.memory, resource.getrlimit(resource.RLIMIT_AS)[1]))
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            hard = resource.getrlimit(resource.RLIMIT_AS)[1]
            resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def _ran_out(error: BaseException | None) -> bool:
    """Libraries wrap a failed allocation in errors of their own."""
    while error is not None:
        if isinstance(error, MemoryError) or "memory" in str(error).lower():
            return True
        error = error.__cause__ or error.__context__
    return False


if __name__ == "__main__":
    main()
