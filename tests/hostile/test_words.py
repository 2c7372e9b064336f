"""LLM02: what platforms are given to show calls nobody and links nowhere, whatever names, thoughts and queries hold."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from adapters.markdown.events import answer_markdown, step_text
from agent.events import Answered, Citation, Reflected, Thought, ToolCalled, ToolReturned
from agent.links import scrubbed
from tests.agent.test_links import EVIL as SHAPES
from tests.hostile.attacks import LINKS, MENTIONS
from tests.hostile.stage import foreign, pings


@pytest.mark.parametrize("shape", [*SHAPES, *LINKS], ids=lambda shape: ascii(shape)[:40])
def test_llm02_names_thoughts_and_queries_carry_no_address(shape: str) -> None:
    citation = Citation(1, f"{shape} 鍵.md", shape, 0, "鍵", None)
    texts = [answer_markdown(Answered("鍵です。[1]", (citation,)), language) for language in ("ja", "en")]
    for event in (
        Thought(shape),
        ToolCalled("1", "search_rag_knowledge_base", {"query": shape, "collection_name": shape, shape: shape}),
        ToolReturned("1", shape, shape, failed=True),
        Reflected("revise", shape),
    ):
        texts += [step_text(event, "ja"), step_text(event, "en")]
    for text in texts:
        assert not foreign(text, ()), text


@pytest.mark.parametrize("shape", [*SHAPES, *LINKS], ids=lambda shape: ascii(shape)[:40])
def test_llm02_a_source_has_no_markup_but_its_own_link(shape: str) -> None:
    """A passage is shown as it stands, an image or a link in it as its letters: rendered as Markdown renders it."""
    citation = Citation(1, f"{shape} 鍵.md", shape, 0, shape, "https://intra.corp.example")
    rendered = MarkdownIt("commonmark").render(answer_markdown(Answered("鍵です。[1]", (citation,)), "en"))
    tags = re.findall(r"<(?!p>|strong>|code>)[a-z][^>]*>", rendered)
    assert tags == ['<a href="https://intra.corp.example">'], rendered


RISKY = st.text(
    st.sampled_from("<>!@&|*#^/:.[]()`_~\\ \n\u200b\u2060") | st.sampled_from("aehlnorvyAEU019"), max_size=60
)
CALLS = st.sampled_from(MENTIONS)


@given(st.lists(RISKY | CALLS | st.sampled_from(LINKS), max_size=6).map("".join))
@example("<<!channel>@<!here>")
@example("@@everyone")
def test_llm02_no_text_calls_people_however_it_is_put_together(text: str) -> None:
    """R15: what a platform would expand is looked for in everything that is shown."""
    citation = Citation(1, text, text, 0, text, "https://intra.corp.example")
    shown = answer_markdown(Answered(scrubbed(text, ()), (citation,)), "en")
    for each in (shown, step_text(Thought(text), "ja"), step_text(ToolCalled("1", "t", {"query": text}), "en")):
        assert not pings(each), each
