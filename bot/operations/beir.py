"""Questions with known answers in BEIR's layout: corpus.jsonl, queries.jsonl and qrels/test.tsv of a folder."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from retrieval.i18n import Text, TextError, filled, os_reason

_ABSENT = Text(en="{path} is not there.", ja="{path} がありません。")
_UNREADABLE = Text(en="{path} cannot be read: {why}", ja="{path} を読めません: {why}")
_LINE = Text(en="{path}, line {line}: {why}", ja="{path} の {line} 行目: {why}")
_EMPTY = Text(en="{path} holds nothing to evaluate.", ja="{path} に評価できる内容がありません。")

_NO_TEXT = Text(en="it is not UTF-8", ja="UTF-8 ではありません")
_NOT_JSON = Text(en="not a JSON object", ja="JSON オブジェクトではありません")
_NO_FIELD = Text(en="“{name}” is missing or not a text", ja="「{name}」がないか、文字列ではありません")
_NO_LIST = Text(en="“metadata.answers” is not a list of texts", ja="「metadata.answers」が文字列のリストではありません")
_TWICE = Text(en="the id “{id}” occurs twice", ja="ID「{id}」が重複しています")
_NO_ROW = Text(
    en="not query-id, corpus-id and score, with tabs between them",
    ja="query-id・corpus-id・score がタブ区切りになっていません",
)
_UNKNOWN = Text(en="“{id}” is in no line of {file}", ja="「{id}」が {file} にありません")


class EvaluationError(TextError):
    """The folder's fault, in words that name the file and the line."""


@dataclass(frozen=True, slots=True)
class BeirDocument:
    """One document of the corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class BeirQuery:
    """A question. `relevant` maps the ids of the documents that answer it to their grade (> 0); none: unanswerable."""

    id: str
    text: str
    kind: str
    answers: tuple[str, ...] = ()
    relevant: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BeirQuestions:
    """A corpus and what was asked about it."""

    corpus: tuple[BeirDocument, ...]
    queries: tuple[BeirQuery, ...]


def read(folder: Path) -> BeirQuestions:
    """Read a folder. Raises EvaluationError for what is missing or malformed."""
    corpus: dict[str, BeirDocument] = {}
    path = folder / "corpus.jsonl"
    for number, row in _rows(path):
        id = _id(path, number, row)
        if id in corpus:
            raise EvaluationError(_LINE, path=path, line=number, why=filled(_TWICE, id=id))
        title = row.get("title") or ""
        if not isinstance(title, str):
            raise EvaluationError(_LINE, path=path, line=number, why=filled(_NO_FIELD, name="title"))
        corpus[id] = BeirDocument(id, title, _text(path, number, row, "text", empty=bool(title)))
    asked: dict[str, tuple[str, Mapping[str, Any]]] = {}
    path = folder / "queries.jsonl"
    for number, row in _rows(path):
        id = _id(path, number, row)
        if id in asked:
            raise EvaluationError(_LINE, path=path, line=number, why=filled(_TWICE, id=id))
        asked[id] = _text(path, number, row, "text"), _metadata(path, number, row)
    for name, rows in (("corpus.jsonl", corpus), ("queries.jsonl", asked)):
        if not rows:
            raise EvaluationError(_EMPTY, path=folder / name)
    relevant = _qrels(folder / "qrels" / "test.tsv", corpus, asked)
    queries = [_query(id, text, metadata, relevant.get(id, {})) for id, (text, metadata) in asked.items()]
    return BeirQuestions(tuple(corpus.values()), tuple(queries))


def _query(id: str, text: str, metadata: Mapping[str, Any], relevant: Mapping[str, int]) -> BeirQuery:
    kind = metadata.get("kind")
    if relevant:
        kind = "answerable"
    elif not isinstance(kind, str) or not kind or kind == "answerable":
        kind = "unanswerable"
    return BeirQuery(id, text, kind, tuple(metadata.get("answers") or ()), relevant)


def _metadata(path: Path, number: int, row: Mapping[str, Any]) -> Mapping[str, Any]:
    metadata = row.get("metadata") or {}
    answers = metadata.get("answers") or [] if isinstance(metadata, dict) else None
    if not isinstance(metadata, dict) or not isinstance(answers, list) or not all(isinstance(a, str) for a in answers):
        raise EvaluationError(_LINE, path=path, line=number, why=_NO_LIST)
    return metadata


def _qrels(path: Path, corpus: Mapping[str, BeirDocument], asked: Mapping[str, object]) -> dict[str, dict[str, int]]:
    """Query → document → grade. Rows of grade 0 are judged, and not relevant."""
    relevant: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        cells = line.split("\t")
        if number == 1 and cells[-1].strip() == "score":
            continue
        try:
            query, document, score = (cell.strip() for cell in cells)
            grade = int(float(score))
        except (ValueError, OverflowError):
            raise EvaluationError(_LINE, path=path, line=number, why=_NO_ROW) from None
        for id, known, file in ((query, asked, "queries.jsonl"), (document, corpus, "corpus.jsonl")):
            if id not in known:
                raise EvaluationError(_LINE, path=path, line=number, why=filled(_UNKNOWN, id=id, file=file))
        if grade > 0:
            relevant.setdefault(query, {})[document] = grade
    return relevant


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in _lines(path):
        try:
            row = json.loads(line)
        except ValueError:
            row = None
        if not isinstance(row, dict):
            raise EvaluationError(_LINE, path=path, line=number, why=_NOT_JSON)
        yield number, row


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines that are not blank, numbered from 1."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise EvaluationError(_ABSENT, path=path) from None
    except OSError as error:
        raise EvaluationError(_UNREADABLE, path=path, why=os_reason(error)) from error
    except UnicodeDecodeError as error:
        raise EvaluationError(_UNREADABLE, path=path, why=_NO_TEXT) from error
    return ((number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip())


def _id(path: Path, number: int, row: Mapping[str, Any]) -> str:
    value = row.get("_id")
    return str(value) if type(value) is int else _text(path, number, row, "_id")


def _text(path: Path, number: int, row: Mapping[str, Any], name: str, *, empty: bool = False) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not (empty or value.strip()):
        raise EvaluationError(_LINE, path=path, line=number, why=filled(_NO_FIELD, name=name))
    return value
