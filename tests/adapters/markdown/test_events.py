"""Events as words, in both languages."""

from dataclasses import replace
from pathlib import Path

import pytest

from adapters.markdown.events import answer_markdown, one_line, source_line, sources_markdown, step_text
from agent.events import Answered, Citation, Reflected, Thought, ToolCalled, ToolReturned
from retrieval.i18n import Language
from tests.adapters.fixed import TURNS, hit, unsure

GOLDEN = Path(__file__).parent.parent.parent / "golden" / "terminal"


@pytest.mark.parametrize("language", ["ja", "en"])
def test_a_whole_turn_in_words(language: Language) -> None:
    *steps, answered = TURNS[language]
    assert isinstance(answered, Answered)
    lines = [step_text(step, language) for step in steps if not isinstance(step, Answered)]
    shown = "\n".join([*filter(None, lines), "", answer_markdown(answered, language), ""])
    assert shown == (GOLDEN / f"markdown.{language}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("language", "doubt"), [("en", "**I am not sure.**\n\n"), ("ja", "**確信はありません。**\n\n")]
)
def test_doubt_stands_in_front_of_an_answer_once(language: Language, doubt: str) -> None:
    given = unsure(language)
    sure = answer_markdown(replace(given, unsure=False), language)
    assert answer_markdown(given, language) == doubt + sure
    nothing = replace(given, outcome="unknown")
    assert answer_markdown(nothing, language) == sure  # which says so itself
    assert answer_markdown(Answered("", unsure=True), language) == ""


@pytest.mark.parametrize(
    ("date", "en", "ja"),
    [
        ("2026-04-01", "(faq, 1 Apr 2026)", "（faq、2026年4月1日）"),
        ("2025-12", "(faq, Dec 2025)", "（faq、2025年12月）"),
        (None, "(faq)", "（faq）"),
    ],
)
def test_a_source_has_its_own_date(date: str | None, en: str, ja: str) -> None:
    citation = Citation(1, "a.md", "faq", 0, "", date=date)
    assert source_line(citation, "en") == f"[1] a.md {en}" and source_line(citation, "ja") == f"[1] a.md{ja}"


def test_a_source_that_cannot_be_checked_says_when_it_was() -> None:
    citation = Citation(1, "a.md", "faq", 0, "", date="2026-04-01", checked="2026-11-13")
    assert source_line(citation, "en") == "[1] a.md (faq, 1 Apr 2026, last checked 13 Nov 2026)"
    assert source_line(citation, "ja") == "[1] a.md（faq、2026年4月1日、最終確認 2026年11月13日）"


@pytest.mark.parametrize(
    ("language", "names"), [("en", "from a.md, b.md, c.md and 2 more"), ("ja", "出典: a.md、b.md、c.mdほか 2 件")]
)
def test_a_result_names_the_first_documents_once(language: Language, names: str) -> None:
    hits = tuple(
        hit(name, n, "x", 0.9 - n / 10) for n, name in enumerate(("a.md", "a.md", "b.md", "c.md", "d.md", "e.md"))
    )
    line = step_text(ToolReturned("1", "search_rag_knowledge_base", "", hits), language)
    assert line.endswith(names) and "6" in line and "0.90" in line


def test_a_step_is_one_line_whatever_it_holds() -> None:
    steps = (
        Thought("a\n\nb"),
        ToolCalled("1", "tool", {"query": "a\nb", "limit": 3}),
        ToolReturned("1", "tool", "a\nb", failed=True),
        Reflected("reject", "a\nb"),
    )
    assert all("\n" not in step_text(step, language) for step in steps for language in ("ja", "en"))


def test_japanese_lines_join_without_a_blank_and_others_with_one() -> None:
    assert (
        one_line("就業規則を\n  調べます。\nThen the\nEnglish page.") == "就業規則を調べます。 Then the English page."
    )


def test_words_with_braces_are_left_alone() -> None:
    call = ToolCalled("1", "search_rag_knowledge_base", {"query": "{query} {0}"})
    assert "“{query} {0}” in all collections" in step_text(call, "en")


def test_several_wordings_of_a_search_stand_in_one_line() -> None:
    call = ToolCalled("1", "search_rag_knowledge_base", {"queries": ["返金 期間", "refund\nperiod"]})
    assert "“返金 期間 / refund period” in all collections" in step_text(call, "en")
    assert "「返金 期間 / refund period」" in step_text(call, "ja")


def test_an_answer_without_citations_is_its_text() -> None:
    assert answer_markdown(Answered("Hello!"), "en") == "Hello!" and sources_markdown(Answered("Hello!"), "en") == ""


def test_the_sources_alone_are_what_stands_beneath_the_answer() -> None:
    answered = Answered("Yes. [1]", (Citation(1, "a.md", "faq", 0, "It is so."),))
    assert sources_markdown(answered, "en") == "**Sources**\n[1] a.md › “It is so.” (faq)"
    assert answer_markdown(answered, "en") == f"Yes. [1]\n\n{sources_markdown(answered, 'en')}"


@pytest.mark.parametrize(
    "url", ["javascript:alert(1)", "http://a b", "https://x/<script>", "", None, "file:///etc/passwd"]
)
def test_only_web_addresses_become_links(url: str | None) -> None:
    assert source_line(Citation(1, "a.md", "faq", 0, "q", url), "en", linked=True) == "[1] a.md › “q” (faq)"


def test_a_sources_quotation_has_no_marks_of_lists_and_tables() -> None:
    def line(quote: str) -> str:
        return source_line(Citation(1, "a.md", "docs", 0, quote), "en")

    assert "“Steps: Prepare Collect papers 12-13 hours”" in line(
        "Steps:\n- Prepare\n  1. Collect papers\n> 12-13 hours"
    )
    assert "“Lightbook 13 / 16 GB”" in line("| Lightbook 13 | 16 GB |")


def test_a_long_question_is_not_said_again_in_whole() -> None:
    called = ToolCalled("1", "search_rag_knowledge_base", {"queries": ["How long? " * 1_200]})
    assert len(step_text(called, "en")) < 300 and len(step_text(called, "ja")) < 300


def test_a_source_keeps_to_one_short_line() -> None:
    line = source_line(Citation(2, "a\nb.md", "faq", 0, "long " * 50), "en")
    assert line.startswith("[2] a b.md › “long long") and "…” (faq)" in line and len(line) < 120
    assert source_line(Citation(2, "a.md", "faq", 0, ""), "ja") == "[2] a.md（faq）"
