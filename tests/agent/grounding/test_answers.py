"""Whole answers as a strong model writes them: nothing honest is touched, and every planted number, name and citation
is found by code alone."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from agent.citations import without_marks
from agent.grounding.check import LEFT_OUT, Checked, check
from retrieval.text import language_of
from retrieval.types import Hit
from tests.agent.passages import hit

FOLDER = Path(__file__).parent / "answers"
HONEST_TOUCHED = 0.03


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()]


@cache
def pages() -> dict[str, Hit]:
    return {
        page["key"]: hit(
            page["text"],
            page["document"],
            title=page["title"],
            headings=tuple(page["headings"]),
            updated=page["updated"],
        )
        for page in rows("passages")
    }


def held(row: dict[str, Any], *, judged: bool) -> Checked:
    hits = {n: pages()[key] for n, key in enumerate(row["passages"], 1)}
    return check(row["answer"], hits, language_of(row["answer"]), question=row["question"], judged=judged)


def bare(text: str) -> str:
    return "".join(without_marks(text).split())


@pytest.mark.parametrize("judged", [True, False])
@pytest.mark.parametrize("half", [0, 1])
def test_nothing_honest_is_touched(half: int, judged: bool) -> None:
    cases = rows("honest")[half::2]
    results = [(row["answer"], held(row, judged=judged)) for row in cases]
    touched = [answer for answer, result in results if bare(result.text) != bare(answer)]
    assert len(touched) <= HONEST_TOUCHED * len(cases), touched
    assert [answer for answer, result in results if not result.text] == []


@pytest.mark.parametrize("half", [0, 1])
def test_every_planted_error_is_found(half: int) -> None:
    missed = []
    for row in rows("planted")[half::2]:
        result = held(row, judged=True)
        told = LEFT_OUT.to(language_of(row["answer"]), n=len(result.removed)) in result.text or not result.text
        if "wrong" in row:
            found = bool(result.marked) or row["wrong"] not in {each.document for each in result.citations}
        else:
            doubted = any(row["planted"] in sentence for sentence in result.marked)
            found = doubted or (row["planted"] not in result.text and bool(result.objections) and told)
        if not found:
            missed.append(row["answer"])
    assert missed == []
