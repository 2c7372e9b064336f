"""Tables as files for a spreadsheet: CSV in which no cell is a formula. Source: owasp.org "CSV Injection"."""

import csv
import io
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence

_NEXT = re.compile(r"(;)(?=\W*[=+\-@＝＋－＠−])")
_UNSEEN = ("C", "Z")  # categories of controls, formats and spaces


def harmless(cell: str) -> str:
    """The text of a cell that every spreadsheet takes for text, on one line, since a program that cuts at semicolons
    takes a line break for the end of a row."""
    return _harmless_line(" ".join(cell.split()))


def harmless_lines(cell: str) -> str:
    """The same with its lines and spaces as they stand."""
    return "\n".join(map(_harmless_line, cell.splitlines()))


def table(headings: Sequence[str], rows: Iterable[Sequence[str]], *, cell: Callable[[str], str] = harmless) -> bytes:
    """In UTF-8 with a byte order mark, without which Excel in Japan reads Shift_JIS."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, quoting=csv.QUOTE_ALL)
    writer.writerow(headings)
    writer.writerows([cell(each) for each in row] for row in rows)
    return text.getvalue().encode("utf-8-sig", "replace")


def _harmless_line(text: str) -> str:
    """With an apostrophe before what begins like a formula, also behind spaces and signs that are not seen, and behind
    a semicolon."""
    line = "".join(sign for sign in text.expandtabs(4) if unicodedata.category(sign) != "Cc")
    seen = next((sign for sign in line if unicodedata.category(sign)[0] not in _UNSEEN), "")
    formula = (
        unicodedata.normalize("NFKC", seen)[:1] in ("=", "+", "-", "@") or unicodedata.category(seen or "a") == "Pd"
    )
    return ("'" if formula or seen == "−" else "") + _NEXT.sub(r"\1'", line)
