"""The benchmark of questions as colleagues ask them: its scoring, its model, and its three parts over the sample
handbook."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from shutil import copytree
from typing import Any

import httpx
import pytest

from benchmarks.asks import Floor, Report, evidence, indexed, with_model, without_model
from benchmarks.asks_cases import AsksError, Case, in_twos, occurs, prose, read, scored, spread
from benchmarks.cassette import MODEL, Cassette, repeated

ROOT = Path(__file__).parents[1]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = copytree(ROOT / "tests" / "files" / "asks", tmp_path / "asks")
    copytree(ROOT / "bot" / "sample", folder / "pages")
    return folder


@pytest.fixture
def cases(data: Path) -> list[Case]:
    return read(data)[0]


# -- scoring --------------------------------------------------------------------------------------------------------


def test_direct_questions_are_put_two_in_one_message() -> None:
    cases = [Case(f"e{n}", "en", "direct", f"What is {n}?", files=(f"{n}.md",), facts=((f"{n} m",),)) for n in range(4)]
    other = Case("p", "en", "paraphrase", "Which?", files=("p.md",))
    twos = in_twos([*cases, other, replace(cases[0], id="j", language="ja", question="何m？")])
    assert [one.question for one in twos[:3]] == [
        "What is 0? Also, What is 2?",
        "What is 1, and What is 3?",
        "What is 2? What is 0?",
    ]
    assert [one.id for one in twos[3:]] == ["e3+e1", "j+j"]
    assert twos[0].facts == (("0 m",), ("2 m",))
    assert twos[0].cited_by(["0.md", "2.md"]) and not twos[0].cited_by(["0.md"])


@pytest.mark.parametrize(
    ("form", "text", "there"),
    [
        ("£2500", "at most £2,500.", True),
        ("3日", "９月の間に３ 日", True),
        ("3日", "13日", False),
        ("2.5", "12.5 days", False),
        ("100", "100,000 yen", False),
        ("Log TOIL", "click **Log** TOIL", True),
        ("day", "on Sunday", False),
        ("HR", "three days", False),
        ("shouldn't", "They shouldn’t.", True),
        ("7月〜9月", "7月~9月", True),
    ],
)
def test_a_fact_occurs_whatever_its_form_but_not_in_a_longer_number_or_word(form: str, text: str, there: bool) -> None:
    assert occurs(form, text) is there


def test_marks_and_the_numbers_of_lists_are_no_facts() -> None:
    said = prose("3. Within 30 days [3]\n- 2) Ask.")
    assert not occurs("3", said) and not occurs("2", said) and occurs("30 days", said)


def reply(text: str, *documents: str, outcome: str = "answered", **more: Any) -> Mapping[str, Any]:
    sources = [{"document": document, "excerpt": "It holds 7 cups."} for document in documents]
    return {"answer": text, "outcome": outcome, "sources": sources, **more}


def test_a_reply_is_scored_by_its_pages_its_words_and_its_doubt() -> None:
    case = Case("1", "en", "two_pages", "?", files=("a.md", "b.md"), facts=(("7 cups",),))
    both = scored(case, reply("Here.", "en/a.md", "b.md"))
    assert (both.cited, both.told, both.shown, both.sure, both.sure_wrong) == (True, False, True, True, False)
    one = scored(case, reply("Here.", "a.md"))
    assert not one.cited and one.sure_wrong
    assert not scored(case, reply("Here.", "ba.md", unsure=True)).sure_wrong
    assert scored(case, reply("No.", outcome="unknown")).refused
    assert scored(case, reply("", outcome="failed")).failed
    assert scored(Case("2", "en", "unanswerable", "?"), reply("Seven.", "a.md")).sure_wrong


def test_cases_without_their_pages_are_left_out_and_a_broken_line_is_named(data: Path) -> None:
    whole, left_out = read(data)
    assert [case.id for case in left_out] == ["e6"]
    assert len(whole) == 8 and whole[-1].queries == ("引っ越し 補助金", "転居費用 手当", "relocation allowance")
    assert [case.id for case in spread(whole, 2)] == ["e1", "e5"]
    (data / "ja.jsonl").write_text('{"id": "x"}\n')
    with pytest.raises(AsksError, match="the case x"):
        read(data)
    (data / "ja.jsonl").write_text("{\n")
    with pytest.raises(AsksError, match=r"ja\.jsonl"):
        read(data)


def test_a_floor_that_is_missed_is_said() -> None:
    report = Report((), figures={"unanswerable: unknown, %": 90, "passages sent twice, a question": 0})
    assert report.missed("b") == ["b: unanswerable: unknown, % is 90, the floor is at least 96"]
    assert Floor(4, at_most=True).holds(4) and not Floor(4, at_most=True).holds(4.1)


# -- the model on its wire --------------------------------------------------------------------------------------------

LIST = {"type": "array", "items": {"type": "string"}}
QUERIES = {"type": "object", "properties": {"queries": LIST, "collection_name": {"type": "string"}}}
FOUND = """Result 1 (Score: 0.91, strong match):
Section: Equipment > Replacement
Laptops are replaced every **four**
years.
Source: en/equipment.md (collection: sample)

Result 2 (Score: 0.40, weak match):
Everybody takes the security training on the first day and once a year in October.
Context after: It lasts 60 minutes.
Source: en/security-incidents.md (collection: sample)"""


def body(*messages: tuple[str, str], tools: bool = True, schema: Any = None, **more: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "model": MODEL,
        "stream": True,
        "messages": [{"role": role, "content": content} for role, content in messages],
    }
    if tools:
        function = {"name": "search_rag_knowledge_base", "description": "Search.", "parameters": QUERIES}
        made["tools"] = [{"type": "function", "function": function}]
    if schema is not None:
        made["response_format"] = {"type": "json_schema", "json_schema": {"name": "reply", "schema": schema}}
    return {**made, **more}


def object_of(*names: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"} for name in names}}


async def said(model: Cassette, sent: Mapping[str, Any]) -> tuple[str, Any]:
    """The text and the calls of a streamed reply."""
    async with httpx.AsyncClient() as http:
        answered = await http.post(f"{model.url}/chat/completions", json=sent)
    assert answered.status_code == 200, answered.text
    chunks = [json.loads(line[6:]) for line in answered.text.split("\n\n") if line[6:].startswith("{")]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    pieces = [piece["function"] for delta in deltas for piece in delta.get("tool_calls", ())]
    arguments = "".join(piece["arguments"] for piece in pieces)
    return "".join(delta.get("content", "") for delta in deltas), json.loads(arguments) if arguments else None


def with_results(question: str, results: str, queries: Sequence[str]) -> dict[str, Any]:
    sent = body(("system", "End with Found: and Sure:."), ("user", question))
    call = {"name": "search_rag_knowledge_base", "arguments": json.dumps({"queries": list(queries)})}
    sent["messages"] += [
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "type": "function", "function": call}]},
        {"role": "tool", "tool_call_id": "c1", "content": results},
    ]
    return sent


async def test_the_model_searches_quotes_and_says_how_sure_it_is(cases: list[Case]) -> None:
    async with Cassette(cases, len) as model:
        case = cases[0]
        assert await said(model, body(("user", case.question))) == ("", {"queries": list(case.queries)})
        text, calls = await said(model, with_results(case.question, FOUND, case.queries))
        assert (text, calls) == ("Laptops are replaced every **four** years. [1]\n\nFound: yes\nSure: yes", None)
        text, _ = await said(model, with_results(cases[4].question, FOUND, cases[4].queries))
        assert text == "The documents do not say this.\n\nFound: no\nSure: yes"
        heard = model.take()
    assert [(call.stage, call.known, call.shown) for call in heard] == [
        ("search", "e1", False),
        ("draft", "e1", True),
        ("draft", "e5", False),
    ]
    assert heard[1].tokens > heard[0].tokens > len(case.question)


async def test_the_model_keeps_its_draft_and_judges_by_the_passage(cases: list[Case]) -> None:
    judged = {"type": "object", "properties": {"verdicts": {"enum": ["entailed", "contradicted", "not_stated"]}}}
    claim = '<claim n="{}">\n{}\n<passage>\nLaptops are replaced every four years.\n</passage>\n</claim>'
    said_so, own, invented = "Laptops are replaced every FOUR years. [1]", "Every four years.", "They are red."
    claims = claim.format(1, said_so) + claim.format(2, own) + claim.format(3, invented)
    async with Cassette(cases, len) as model:
        sent = with_results(cases[0].question, FOUND, cases[0].queries)
        form = body(schema=object_of("verdict", "critique", "found", "sure"))["response_format"]
        text, _ = await said(model, {**sent, "response_format": form, "tool_choice": "none"})
        assert json.loads(text) == {"verdict": "keep", "critique": "As the sources say.", "found": "yes", "sure": "yes"}
        text, _ = await said(model, body(("user", claims), tools=False, schema=judged))
    verdicts = json.loads(text)["verdicts"]
    assert [verdict["verdict"] for verdict in verdicts] == ["entailed", "entailed", "not_stated"]


async def test_the_model_can_answer_in_words_of_its_own(cases: list[Case]) -> None:
    async with Cassette(cases, len, "own") as model:
        text, _ = await said(model, with_results(cases[0].question, FOUND, cases[0].queries))
    assert text.startswith("Every four years. [1]\n")


async def test_the_models_server_refuses_what_a_real_one_refuses(cases: list[Case]) -> None:
    async with Cassette(cases, len) as model, httpx.AsyncClient() as http:
        for wrong in (body(("user", "?"), ("system", "Late.")), body(("user", "?"), model="another")):
            assert (await http.post(f"{model.url}/chat/completions", json=wrong)).status_code == 400
        assert len(model.refused) == 2


def test_a_passage_sent_twice_is_counted() -> None:
    first, second = FOUND.split("\n\n")
    assert repeated([FOUND]) == 0
    assert repeated([FOUND, first]) == 1
    neighbour = second.replace("It lasts 60 minutes.", "Laptops are replaced every **four** years.")
    assert repeated([first, neighbour]) == 1


# -- the whole application --------------------------------------------------------------------------------------------


async def test_without_a_model_direct_questions_are_shown_their_facts(sample_home: Path, cases: list[Case]) -> None:
    report = await without_model(sample_home, cases)
    assert report.table[("ja", "direct")]["shown"] == report.table[("en", "direct")]["shown"] == 1
    assert report.table[("all", "answerable")]["n"] == 6 and report.figures["failed"] == 0
    assert report.figures["unanswerable: sure, %"] == 50 * int(report.table[("all", "unanswerable")]["sure"])


async def test_with_the_model_every_fact_that_it_is_sent_is_told(sample_home: Path, cases: list[Case]) -> None:
    report = await with_model(sample_home, cases, "quoted")
    answerable = report.table[("all", "answerable")]
    assert int(answerable["sent"]) >= 5 and answerable["told"] == answerable["sent"] and answerable["altered"] == 0
    figures = report.figures
    assert figures["unanswerable: unknown, %"] == 100
    assert figures["failed"] == figures["requests refused by the model's server"] == 0
    assert 2 <= figures["calls a question"] <= 5 and 1_000 < figures["input tokens a question"] < 20_000


async def test_the_search_alone_finds_what_a_model_looks_for(sample_home: Path, cases: list[Case]) -> None:
    report = await evidence(sample_home, cases)
    assert report.figures["model's queries: fact in top 8, %"] == 100
    assert report.figures["asker's words, one turn: fact in top 8, %"] >= 60
    assert report.table[("all", "answerable")]["n"] == 6


async def test_pages_are_indexed_once(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    page = tmp_path / "pages" / "one.md"
    page.write_text("# One\n\nThe ferry leaves at nine.\n")
    home = await indexed(tmp_path / "pages", tmp_path)
    before = (home / "kotae.db").stat().st_mtime_ns
    assert await indexed(tmp_path / "pages", tmp_path) == home
    assert (home / "kotae.db").stat().st_mtime_ns == before
    page.write_text("# One\n\nThe ferry leaves at ten.\n")
    assert await indexed(tmp_path / "pages", tmp_path) != home
