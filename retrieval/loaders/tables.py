"""Rows of cells (of csv, tsv, xlsx and JSON) → text in which every row says what its values mean, and Q/A pairs."""

import csv
import io
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, zip_longest

from retrieval.loaders.limits import FileRefused, ParsingLimits
from retrieval.types import QAPair

_QUESTION = frozenset({"question", "questions", "q", "質問", "ご質問", "質問文", "質問内容", "問", "問い"})
_ANSWER = frozenset({"answer", "answers", "a", "回答", "ご回答", "回答文", "回答内容", "答", "答え"})
_NUMBER = re.compile(r"[-+(]?[¥$€£]?[.,/:%\- ]*\d[\d.,/:%\- ]*[%円)]?")
_LETTER = re.compile(r"[^\W\d_]")
_YEAR = re.compile(r"(?:19|20)\d\d")
_DAY = re.compile(r"(?:\d{4}|(?:令和|平成|昭和)\s*(?:\d{1,2}|元))年\s*\d{1,2}月\s*\d{1,2}日")
_OF_A_MONTH = re.compile(r"(?:\d{4}[-/])?(?:\d{1,2}[-/])?\d{1,2}")
_FORMULA = "=+\\-@＝＋－＠−‐-―〜〰﹘﹢﹣﹦﹫"  # behind an apostrophe in tables for Excel, as in our own
_GUARD = re.compile(rf"^'(?=\s*[{_FORMULA}])(?![^\w\s]*')|(?<=;)'(?=\W*[{_FORMULA}])", re.M)
_TOLD_DELIMITER = re.compile(r"sep=(.)\r?\n", re.I)
_FEWEST_DAYS = 3
_MOST_TITLE_LINES = 2
_LONGEST_NAME = 60  # of a column; longer cells are values
_NOTE = re.compile(r"\W.+|.+[。．.!！?？]")  # "※ 10月に改定", 「■ 本社」 or a sentence, alone in a row


@dataclass(frozen=True, slots=True)
class Written:
    """Markdown and the question/answer pairs in it."""

    markdown: str
    pairs: tuple[QAPair, ...] = ()


def write_sheet(rows: Iterable[Sequence[str]]) -> Written:
    """Rows of a sheet, on which tables may stand one below the other, with an empty row or a title between them. See
    `write_rows`."""
    blocks = [list(block) for filled, block in groupby(([cell.strip() for cell in row] for row in rows), any) if filled]
    below: list[list[str]] = []
    while len(blocks) > 1 and all(map(_alone, blocks[-1])) and not any(map(_alone, blocks[-2][1:])):
        below = [*blocks.pop(), *below]
    tables: list[list[list[str]]] = []
    for part in chain.from_iterable(map(_parts, blocks)):
        if tables and not _begins_anew(part, tables[-1]):
            tables[-1] += part
        else:
            tables.append(part)
    written = [write_rows(table) for table in tables]
    notes = "\n".join(_one_line("".join(row)) for row in below)
    return Written(
        "\n\n".join(filter(None, [*(table.markdown for table in written), notes])),
        tuple(chain(*(table.pairs for table in written))),
    )


def _alone(row: Sequence[str]) -> bool:
    """Whether the row has one cell alone: a title, or a note."""
    return sum(map(bool, row)) == 1


def _parts(block: list[list[str]]) -> Iterator[list[list[str]]]:
    """Rows without an empty one among them, from each title over the names of another table to the next."""
    begin = 0
    for at in range(2, len(block) - 2):
        titled = _alone(block[at]) and _NOTE.fullmatch("".join(block[at]))
        if titled and not _alone(block[at + 1]) and _begins_anew(block[at:], block[begin:at]):
            yield block[begin:at]
            begin = at
    yield block[begin:]


def _begins_anew(rows: Sequence[Sequence[str]], table: Sequence[Sequence[str]]) -> bool:
    """Whether `rows` below an empty one have names of their own, and do not go on under those of the `table` above:
    its names again, names of several rows, or one over each column of numbers."""
    above = _title_rows(table)
    rows = rows[_title_rows(rows) :]
    if len(rows) < 2 or not names_columns(rows[0]) or _title_rows([*table, *rows]) >= len(table):
        return False
    known = [name for name, old in zip(rows[0], table[above], strict=False) if name and name == old]
    if len(known) * 2 > sum(map(bool, rows[0])) or names_of_several_rows(rows)[1]:
        return True
    columns = [[name, *filter(None, below)] for name, *below in zip_longest(*rows, fillvalue="")]
    numbers = [name for name, *below in columns if below and all(map(_NUMBER.fullmatch, below))]
    return bool(numbers) and all(map(_LETTER.search, numbers))


def write_rows(rows: Iterable[Sequence[str]]) -> Written:
    """Rows of a sheet: lines above the table stay text, the first full row names the columns if it looks like names,
    with the rows under it that name the parts of a column (令和6年度: 男, 女).

    A row becomes one line `名前: 佐藤太郎, 年齢: 30`, so that a passage cut from the middle is still understood; a row
    with a question and an answer column becomes `Q: …` / `A: …`, then its other columns.
    """
    filled = [cells for row in rows if any(cells := [_unguarded(cell.strip()) for cell in row])]
    begin = _title_rows(filled)
    above = [" ".join(filter(None, row)) for row in filled[:begin]]
    filled = filled[begin:]
    names, count = names_of_several_rows(filled)
    filled[:count] = [names] if count else []
    if len(filled) > 1 and (names_columns(filled[0]) or _names_days(*filled)) and _over_something(*filled):
        above += _notes_beside(*filled)
        written = write_records(filled[0], filled[1:])
    else:
        written = Written("\n".join("- " + ", ".join(map(_one_line, filter(None, row))) for row in filled))
    return Written("\n\n".join(filter(None, ["\n".join(above), written.markdown])), written.pairs)


def _unguarded(cell: str) -> str:
    """Without the apostrophes before what begins like a formula, which have spreadsheets take it for the text it is."""
    return _GUARD.sub("", cell) if "'" in cell else cell


def _over_something(first: Sequence[str], *rows: Sequence[str]) -> bool:
    """Whether anything stands below a cell of the first row: no line above others that are indented by columns."""
    return any(name and cell for row in rows for name, cell in zip(first, row, strict=False))


def _notes_beside(first: Sequence[str], *rows: Sequence[str]) -> list[str]:
    """Cells of the first row with a gap before and nothing below them: they name no column."""
    used = {at for row in rows for at, cell in enumerate(row) if cell}
    return [_one_line(cell) for at, cell in enumerate(first) if cell and at and not first[at - 1] and at not in used]


def _title_rows(rows: Sequence[Sequence[str]]) -> int:
    """How many rows stand above the table as text."""
    widest = max((sum(map(bool, row)) for row in rows), default=0)
    begin = next((at for at, row in enumerate(rows) if sum(map(bool, row)) > 1), 0) if widest > 1 else 0
    return begin + _title_lines(rows[begin:], widest)


def _title_lines(rows: Sequence[Sequence[str]], widest: int) -> int:
    """How many rows above the names of the columns hold less than half as many cells: a title with a date or a unit
    beside it."""
    for at, row in enumerate(rows[: _MOST_TITLE_LINES + 1]):
        _, several = names_of_several_rows(rows[at:])
        if several:
            return at
        if sum(map(bool, row)) * 2 >= widest:
            return at if names_columns(row) else 0
    return 0


def names_of_several_rows(rows: Sequence[Sequence[str]]) -> tuple[list[str], int]:
    """The names of columns from the first three or two rows, and how many these are; empty and 0 if it is not so."""
    for count in (3, 2):
        names = list(rows[count - 1]) if len(rows) > count else []
        for upper in reversed(rows[: count - 1]):
            names = _joined_names(upper, names)
        if names:
            return names, count
    return [], 0


def _joined_names(upper: Sequence[str], lower: Sequence[str]) -> list[str]:
    """The names of columns from two rows, where a cell of the upper one stands over several of the lower one, and over
    nothing else; empty where the second row is no more names. What names the rows, on the left, is in the upper one."""
    width = max(len(upper), len(lower))
    over, under = ([*row, *[""] * (width - len(row))] for row in (upper, lower))
    group = ""
    names: list[str] = []
    for at, (above, below) in enumerate(zip(over, under, strict=True)):
        begins = bool(above) and at + 1 < width and not over[at + 1] and bool(under[at + 1])
        if above:
            group = above if begins else ""
        parted = bool(group) and bool(below)
        if (at == 0 and begins) or (not parted and below not in ("", above)) or (group and not below):
            return []
        names.append(f"{group} {below}" if parted else above)
    joined = any(name not in over for name in names)
    return names if joined and not any(map(_is_value, filter(None, [*over, *under]))) else []


def write_records(names: Sequence[str], rows: Iterable[Sequence[str]]) -> Written:
    """Rows under known column names. See `write_rows`."""
    question, answer = _column(names, _QUESTION), _column(names, _ANSWER)
    blocks: list[str] = []
    pairs: list[QAPair] = []
    for row in rows:
        cells = dict(enumerate(row))
        if [*filter(None, row)] == [*filter(None, names)]:  # again, as on a second page
            continue
        if question is not None and answer is not None and cells.get(question) and cells.get(answer):
            pairs.append(QAPair(cells.pop(question).strip(), cells.pop(answer).strip()))
            rest = _described(names, cells)
            blocks.append(f"Q: {pairs[-1].question}\nA: {pairs[-1].answer}\n" + (f"{rest}\n" if rest else ""))
        elif note := _note(names, row):
            blocks.append(f"\n{note}\n")
        elif described := _described(names, cells):
            blocks.append(f"- {described}")
    return Written("\n".join(blocks).strip("\n"), tuple(pairs))


def has_pair(names: Sequence[str]) -> bool:
    """Whether these columns hold questions and answers (question/answer, 質問/回答, q/a, 問/答; any case and width)."""
    return _column(names, _QUESTION) is not None and _column(names, _ANSWER) is not None


def read_csv(text: str, delimiter: str | None, limits: ParsingLimits) -> list[list[str]]:
    """The rows of a csv or tsv file; without a given delimiter, the one that cuts its first lines most evenly. A first
    line `sep=;` is told to Excel."""
    csv.field_size_limit(limits.text * 4)
    if told := _TOLD_DELIMITER.match(text):
        delimiter, text = told[1], text[told.end() :]
    if delimiter is None:
        delimiter = max(",\t;|", key=lambda mark: _evenness(text, mark))
    rows: list[list[str]] = []
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            if any(cell.strip() for cell in row):
                rows.append(row)
            if len(rows) > limits.rows + 1:  # one names the columns
                raise FileRefused("rows", limit=limits.rows)
    except csv.Error as error:
        raise FileRefused("corrupt", kind="CSV") from error
    return rows


def names_columns(row: Sequence[str]) -> bool:
    """Whether the cells of a first row look like the names of columns: mostly different, short, and no numbers."""
    names = [cell for cell in row if cell]
    return len(set(names)) * 2 > len(names) and not any(map(_is_value, names))


def _names_days(first: Sequence[str], *rows: Sequence[str]) -> bool:
    """Whether a first row has a name and then days, and the rows below other things under them: who works when."""
    name, *days = first
    below = (cell for row in rows for cell in row[1:])
    return (
        len(set(days)) == len(days) >= _FEWEST_DAYS
        and not _is_value(name)
        and all(map(_OF_A_MONTH.fullmatch, days))
        and not any(map(_OF_A_MONTH.fullmatch, below))
    )


def _is_value(cell: str) -> bool:
    number = _NUMBER.fullmatch(cell) and not _YEAR.fullmatch(cell)
    return bool(number) or len(cell) > _LONGEST_NAME or bool(_DAY.match(cell))


def _column(names: Sequence[str], known: frozenset[str]) -> int | None:
    plain = ("".join(unicodedata.normalize("NFKC", name).casefold().split()).strip(":.*") for name in names)
    return next((at for at, name in enumerate(plain) if name in known), None)


def _note(names: Sequence[str], row: Sequence[str]) -> str:
    """The text alone in the first cell of a row that is nothing its column is called; else empty."""
    said = _one_line(row[0]) if sum(map(bool, names)) > 2 and not any(row[1:]) else ""
    return said if _NOTE.fullmatch(said) and _LETTER.search(said) else ""


def _described(names: Sequence[str], cells: dict[int, str]) -> str:
    """`名前: 佐藤太郎, 年齢: 30`; a value without a column name stands alone."""
    return ", ".join(
        f"{_one_line(names[at])}: {_one_line(cell)}" if at < len(names) and names[at].strip() else _one_line(cell)
        for at, cell in cells.items()
        if cell.strip()
    )


def _one_line(cell: str) -> str:
    return " ".join(cell.split())


def _evenness(text: str, delimiter: str) -> float:
    """How many cells the first lines have in common under this delimiter, less for each line that differs."""
    try:
        widths = [
            len(row)
            for row, _ in zip(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), range(20), strict=False)
            if row
        ]
    except csv.Error:
        return 0.0
    if not widths or max(widths) == 1:
        return 0.0
    usual = max(set(widths), key=lambda width: (widths.count(width), width))
    return usual * widths.count(usual) / len(widths) if usual > 1 else 0.0
