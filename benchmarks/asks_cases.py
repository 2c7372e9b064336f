"""Questions as colleagues ask them, with the facts that an answer to them holds, and what became of each question.

A folder holds `pages/` (what is added to the documents), `*.jsonl` with a case a line, and `rewrites.jsonl`: queries
for the cases' questions as a strong model writes them, `{"id", "queries"}`. A case: `{"id", "lang", "kind", "question",
"before"?, "file": name | [names] | null, "also"?, "near"?, "evidence"?, "facts": [[form, ...], ...], "answer"?}`.
`file` names the page that answers (of the kind `two_pages` both are needed), `also` others that do; null: none does,
and `near` is the page that tempts. Of each fact one form has to occur. `before` is asked first, in the same
conversation."""

import json
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

REWRITES = "rewrites.jsonl"
TWO_PAGES, FOLLOW_UP, DIRECT = "two_pages", "follow_up", "direct"

_JOINTS = {
    "en": ("? Also, ", ", and ", "? ", "? And "),
    "ja": ("？あと、", "？それから", "？", "？また、"),
}

_BETWEEN = r"[\s,*`]*"  # may stand between the characters of a form: "10,000", "**Log** TOIL"
_SHORT = 5  # letters of a Latin form that has to be a word of its own; a longer one may be a part of a word
_MARKS = re.compile(r"\[\d+\]")
_NUMBERED = re.compile(r"^\s*(?:[-*・]\s*)?\d+[.)]\s", re.MULTILINE)
_ALIKE = str.maketrans({"’": "'", "‘": "'", "〜": "~", "∼": "~", "−": "-"} | dict.fromkeys("‐‑‒–—―", "-"))


class AsksError(Exception):
    """What is wrong with the folder; names the file and the line."""


@dataclass(frozen=True, slots=True)
class Case:
    """One question. `files` empty: the pages do not answer it. `queries`: as a model would search for it."""

    id: str
    language: str
    kind: str
    question: str
    before: str = ""
    files: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    near: tuple[str, ...] = ()
    evidence: tuple[str, ...] = ()
    facts: tuple[tuple[str, ...], ...] = ()
    answer: str = ""
    queries: tuple[str, ...] = ()

    @property
    def answerable(self) -> bool:
        return bool(self.files)

    def is_right(self, document: str) -> bool:
        """Whether a document, by the name it was added under, answers the question or a part of it."""
        return any(named(document, file) for file in (*self.files, *self.also))

    def cited_by(self, documents: Sequence[str]) -> bool:
        """Whether these are enough of the right documents."""
        if self.kind == TWO_PAGES:
            return all(any(named(document, file) for document in documents) for file in self.files)
        return any(map(self.is_right, documents))

    def told_in(self, text: str) -> bool:
        """Whether every fact stands in `text`."""
        return all(any(occurs(form, text) for form in forms) for forms in self.facts)


def named(document: str, file: str) -> bool:
    return document == file or document.endswith(f"/{file}")


# -- facts in texts ---------------------------------------------------------------------------------------------------


def occurs(form: str, text: str) -> bool:
    """Whether a form of a fact stands in `text`, whatever its width, case, spacing and emphasis; digits at its ends
    must not be part of a longer number, a short Latin form not of a longer word."""
    return _pattern(form).search(_plain(text)) is not None


def prose(reply: str) -> str:
    """A reply without its citation marks and the numbers of its lists, which are no facts."""
    return _NUMBERED.sub("", _MARKS.sub("", reply))


@lru_cache(maxsize=4096)
def _pattern(form: str) -> re.Pattern[str]:
    letters = re.sub(_BETWEEN, "", _plain(form))
    before = after = ""
    if letters[0].isdigit():
        before = r"(?<!\d)(?<!\d[.,])"
    if letters[-1].isdigit():
        after = r"(?!\d)(?!,\d{3})"
    if len(letters) <= _SHORT and letters.isascii() and letters.isalpha():
        before, after = r"(?<![a-z])", r"(?![a-z])"
    return re.compile(before + _BETWEEN.join(map(re.escape, letters)) + after)


@lru_cache(maxsize=256)
def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text).lower().translate(_ALIKE)


# -- the folder -------------------------------------------------------------------------------------------------------


def read(folder: Path) -> tuple[list[Case], list[Case]]:
    """The cases whose pages are all there, and those that have to be left out. Raises AsksError."""
    there = {path.name for path in (folder / "pages").rglob("*") if path.is_file()}
    queries = {str(row["id"]): tuple(map(str, row["queries"])) for row in _rows(folder / REWRITES)}
    files = sorted(path for path in folder.glob("*.jsonl") if path.name != REWRITES)
    cases = [_case(row, queries) for file in files for row in _rows(file)]
    if not cases or not there:
        raise AsksError(f"{folder} holds no cases, or no pages")
    whole = [case for case in cases if there.issuperset((*case.files, *case.near))]
    return whole, [case for case in cases if case not in whole]


def in_twos(cases: Sequence[Case]) -> list[Case]:
    """The direct questions, two a message: each with one of another page in the same language, joined in turn as people
    do. Both pages are needed, and all facts of both."""
    found: list[Case] = []
    for language, joints in _JOINTS.items():
        some = [case for case in cases if case.kind == DIRECT and case.language == language]
        further = some[len(some) // 2 :] + some[: len(some) // 2]
        for number, (one, other) in enumerate(zip(some, further, strict=True)):
            joint, first = joints[number % len(joints)], one.question.rstrip(" ?？。")
            message = Case(f"{one.id}+{other.id}", language, TWO_PAGES, f"{first}{joint}{other.question}")
            files, also = one.files + other.files, one.also + other.also
            found.append(replace(message, files=files, also=also, facts=one.facts + other.facts))
    return found


def spread(cases: Sequence[Case], limit: int | None) -> list[Case]:
    """So many, from all over the list: files are sorted by kind."""
    if limit is None or limit >= len(cases):
        return list(cases)
    return [cases[n * len(cases) // limit] for n in range(limit)]


def _rows(path: Path) -> Iterable[Mapping[str, Any]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError) as error:
        raise AsksError(f"{path}: {error}") from error


def _case(row: Mapping[str, Any], queries: Mapping[str, tuple[str, ...]]) -> Case:
    try:
        return Case(
            id=row["id"],
            language=row["lang"],
            kind=row["kind"],
            question=row["question"],
            before=row.get("before") or "",
            files=_names(row["file"]),
            also=_names(row.get("also")),
            near=_names(row.get("near")),
            evidence=tuple(row.get("evidence") or ()),
            facts=tuple(map(tuple, row["facts"])),
            answer=row.get("answer") or "",
            queries=queries.get(row["id"], ()) or (row["question"],),
        )
    except (KeyError, TypeError) as error:
        raise AsksError(f"the case {row.get('id')}: {error} is missing or of another kind") from error


def _names(value: str | Sequence[str] | None) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value or ())


# -- what became of a question ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Asked:
    """One question that was put to the bot over HTTP, scored.

    `cited`: answered from the right page. `told`: every fact is in the answer's text; `shown`: there or in the excerpts
    of its sources. `sure`: answered without a word of doubt. `length`: characters of text and excerpts.
    """

    case: Case
    outcome: str
    unsure: bool
    text: str
    documents: tuple[str, ...]
    cited: bool
    told: bool
    shown: bool
    length: int

    @property
    def failed(self) -> bool:
        return self.outcome not in ("answered", "unknown", "declined")

    @property
    def refused(self) -> bool:
        return self.outcome in ("unknown", "declined")

    @property
    def sure(self) -> bool:
        return self.outcome == "answered" and not self.unsure

    @property
    def sure_wrong(self) -> bool:
        """The worst there is: sure where the pages do not answer, or sure with neither the fact nor its page."""
        return self.sure and not (self.case.answerable and (self.told or self.cited))


def scored(case: Case, reply: Mapping[str, Any]) -> Asked:
    """A reply of POST /chat, as what it is worth."""
    outcome, text = str(reply["outcome"]), str(reply["answer"])
    sources: Sequence[Mapping[str, Any]] = reply["sources"]
    documents = tuple(str(source["document"]) for source in sources)
    excerpts = "\n".join(str(source.get("excerpt") or "") for source in sources)
    answered = outcome == "answered"
    said = prose(text)
    return Asked(
        case,
        outcome,
        unsure=bool(reply.get("unsure")),
        text=text,
        documents=documents,
        cited=answered and case.answerable and case.cited_by(documents),
        told=answered and case.answerable and case.told_in(said),
        shown=case.answerable and case.told_in(f"{said}\n{excerpts}"),
        length=len(text) + len(excerpts),
    )
