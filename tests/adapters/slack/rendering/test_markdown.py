"""What Slack is given of an answer: within its limits, nothing lost, and nothing in it that Slack would act on."""

import random
import re
import time
from urllib.parse import unquote

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from slack_sdk.models.blocks import MarkdownBlock

from adapters.markdown.events import answer_markdown, harmless, sources_markdown
from adapters.slack.rendering.markdown import FIRST, LIMIT, PLAIN, Rendered, messages, plain_messages, slack_markdown
from adapters.slack.rendering.mrkdwn import escaped, mrkdwn
from agent.citations import fences
from agent.events import Answered
from agent.links import scrubbed
from tests.adapters.fixed import TURNS
from tests.adapters.markdown.test_split import Writer, joined, told
from tests.agent.test_links import EVIL
from tests.fakes.slack_text import links, pings
from tests.hostile.attacks import LINKS, MENTIONS

HIDDEN = "\u200b"
SOURCE = "https://wiki.example/a_(b)?x=1&y=2"
ALLOWED = {SOURCE, "https://intra.example/休暇"}

# -- safety ---------------------------------------------------------------------------------------------------------

RISKY = st.text(
    st.sampled_from("<>!@&|*#^/:.[]()`_~\\ \n-\"'") | st.sampled_from("aehlnorvyAEU019") | st.just(HIDDEN), max_size=40
)
GIVEN = st.sampled_from(
    [
        *(f"[words]({SOURCE})", f"<{SOURCE}>", f"**{SOURCE}**", "https://intra.example/休暇", f"![image]({SOURCE})"),
        *("&lt;!here&gt;", "&#60;!channel&#62;", "&#64;here", "`<@U1>`", "```\n<!channel>\n<https://a.test|b>\n```", "<b>"),
        *("[^1]: x", "https&#58;//evil.test/x", "https\\://evil.test/x", "evil.<b></b>com", "evil.![](x)com", "|a|b|\n|-|-|\n"),
        *("<!date^1392734382^{date}^https://evil.test/|x>", "<#C1|x>", "<!subteam^S1>", "<@W1|x>", "<mailto:a@evil.test|x>"),
    ]
)  # fmt: skip


SPECIAL = re.compile(
    r"<(?:[@#][!&]?\w|!(?:channel|here|everyone|group|subteam|date))|@(?:here|channel|everyone)", re.IGNORECASE
)
TOKEN = re.compile(r"<([^<>\n]*)>")
MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


def check_inert(rendered: Rendered, text: str, allowed: set[str]) -> None:
    shown = rendered.blocks[0]["text"]
    assert not [each for piece in (shown, rendered.text, text) for each in SPECIAL.findall(piece)]
    assert not pings([], rendered.text) and not pings([], text)
    assert all(
        re.match(r"(?:https?|mailto):", token) for piece in (rendered.text, text) for token in TOKEN.findall(piece)
    )
    assert "<" not in TOKEN.sub("", rendered.text + text)
    assert all(child.type != "image" for token in MARKDOWN.parse(shown) for child in token.children or [])
    allowed = {unquote(url) for url in allowed}
    assert {unquote(url) for url in targets(shown)} <= allowed
    prose = [without_code(each) for each in (shown, rendered.text, text)]
    seen = {unquote(url) for url in [*links([], prose[1], prose[0]), *links([], prose[2])]}
    seen = {url for url in seen if re.match(r"(?:https?|mailto|slack|ftp|file|tel|data|javascript):", url, re.I)}
    assert all(any(each.startswith(url) for each in allowed) for url in seen), seen  # the eye stops at a bracket


def without_code(text: str) -> str:
    return re.sub(r"(`+).*?\1", "", "".join(piece for fenced, piece in fences(text) if not fenced), flags=re.DOTALL)


def targets(markdown: str) -> set[str]:
    inline = [child for token in MARKDOWN.parse(markdown) for child in token.children or []]
    return {str(child.attrs["href"]) for child in inline if child.type == "link_open"}


@given(st.lists(RISKY | st.sampled_from(MENTIONS) | st.sampled_from([*EVIL, *LINKS]) | GIVEN, max_size=7).map("".join))
@example("<<!channel>@<!here>")
@example("`<!channel>\n\n`<@U1>")
@example(f"[<!here|{SOURCE}]({SOURCE})")
@example(f"https://wiki.example/a{HIDDEN}<!here>")
def test_nothing_pings_and_nothing_leads_elsewhere(text: str) -> None:
    answer = scrubbed(text, ALLOWED)
    assume(not re.search(r"^\s*```[^\n]*`", answer, re.MULTILINE))  # taken for code before, where mail addresses stay
    for rendered in messages(answer):
        for plain in plain_messages(answer):
            check_inert(rendered, plain, ALLOWED)


@given(st.lists(RISKY | st.sampled_from(MENTIONS), max_size=9).map("".join), st.integers(200, 400))
def test_what_nobody_has_scrubbed_pings_nobody_either(text: str, first: int) -> None:
    for rendered in messages(text * 3, first_limit=first):
        check_inert(rendered, mrkdwn(text), targets(text * 3) | targets(text))


@pytest.mark.parametrize("call", MENTIONS)
def test_names_in_other_blocks_are_text(call: str) -> None:
    assert not pings([], escaped(harmless(f"{call} & <b>.md"))) and "&amp;" in escaped("R&D")


# -- sizes ----------------------------------------------------------------------------------------------------------


def check_valid(rendered: Rendered) -> None:
    (block,) = rendered.blocks
    assert MarkdownBlock(text=block["text"]).to_dict() == block
    assert 0 < len(block["text"]) <= LIMIT and 0 < len(rendered.text) <= PLAIN and rendered.text.strip()
    kinds = [token.type for token in MarkdownIt("commonmark").enable("table").parse(block["text"])]
    assert 1 + 2 * sum(kinds.count(kind) for kind in ("heading_open", "table_open", "hr")) <= 48
    assert kinds.count("tr_open") <= 100


def check_plain(text: str) -> None:
    assert 0 < len(text) <= PLAIN and text.count("```") % 2 == 0


@settings(max_examples=15)
@given(st.integers(0, 10**9), st.integers(1, 60))
def test_any_answer_arrives_whole_and_within_the_limits(seed: int, blocks: int) -> None:
    text = Writer(random.Random(seed)).text(blocks)
    rendered = messages(text)
    for each in rendered:
        check_valid(each)
    assert joined([each.blocks[0]["text"] for each in rendered]) == told(slack_markdown(text))
    for plain in plain_messages(text):
        check_plain(plain)


@pytest.mark.parametrize(
    "text",
    [
        "# Heading\n\nText.\n\n" * 300,
        "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 400,
        "".join(f"| t{n} | b |\n|---|---|\n| 1 | 2 |\n\n" for n in range(99)),
        "---\n\ntext\n\n" * 90,
        "<" * 9_000,
        "&" * 9_000,
        "```\n" + "<!channel>" * 2_000 + "\n```",
        "あ" * 20_000,
        "- item\n" * 3_000,
        "> 引用です。\n" * 2_000,
        "| a |" + " b |" * 30 + "\n|" + "---|" * 31 + "\n" + "| x |" * 31,
        "*" * 5_000,
    ],
    ids=lambda text: text[:12].encode("unicode_escape").decode(),
)
def test_extremes_are_within_the_limits(text: str) -> None:
    for rendered in messages(text):
        check_valid(rendered)
    for plain in plain_messages(text):
        check_plain(plain)


def test_a_hundred_thousand_characters_take_little_time() -> None:
    text = Writer(random.Random(7)).text(300)
    began = time.process_time()
    rendered, plain = messages(text), plain_messages(text)
    assert time.process_time() - began < 4  # about 0.6 s
    assert len(text) > 100_000 and len(plain) > 25
    assert joined([each.blocks[0]["text"] for each in rendered]) == told(slack_markdown(text))


def test_a_long_answer_begins_short() -> None:
    parts = [each.blocks[0]["text"] for each in messages("A sentence of an answer. " * 400)]
    assert len(parts[0]) <= FIRST < len(parts[1])
    assert len(messages("A sentence of an answer. " * 130)) == 1  # 3,250 characters are not worth a second message


def test_the_notification_of_a_long_part_says_that_there_is_more() -> None:
    assert messages("word " * 3_000)[1].text.endswith(" …")


def test_what_shows_nothing_is_no_message() -> None:
    for nothing in ("", " \n", "![](https://evil.test/x.png)", HIDDEN):
        assert not messages(nothing) and not plain_messages(nothing)


def test_the_sources_stay_in_one_piece() -> None:
    tail = "**Sources**\n" + "\n".join(f"[{n}] document-{n}.md › “quotation”" for n in range(1, 9))
    short, long = messages("Answer. [1]", tail=tail), messages("An answer. " * 2_000, tail=tail)
    assert len(short) == 1 and short[0].blocks[0]["text"].endswith("document-8.md › “quotation”")
    assert tail in long[-1].blocks[0]["text"] and sum("Sources" in each.text for each in long[:-1]) == 0
    assert plain_messages("Answer. [1]", tail=tail)[-1].count("document-") == 8


# -- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("a < b & c", "a &lt; b & c"),
        ("<!channel>", f"&lt;{HIDDEN}!channel>"),
        ("`<@U1>` `a<b>`", f"`<{HIDDEN}@U1>` `a<b>`"),
        ("```html <!here>\n<div>\n```", "```html\n<div>\n```"),
        ("![a chart](https://x.example/a.png) here", "a chart here"),
        ("[doc](/relative) [js](javascript:alert(1))", "doc js"),
        ("[a](https://x.example/a_(b)) https://x.example/c。", "[a](https://x.example/a_%28b%29) <https://x.example/c>。"),
        ("one<br>two", "one\ntwo"),
        ("これは**太字**です", f"これは{HIDDEN}**太字**{HIDDEN}です"),
        ("**bold** text", "**bold** text"),
        ("[注意]: この手順", f"[注意]{HIDDEN}: この手順"),
        ("# " + "長い見出し" * 40, "長い見出し" * 40),
        ("&lt;!here&gt; &copy; &nbsp; &#42;", "&lt;!here&gt; © &nbsp; \\*"),
        ("Great![1]", f"Great!{HIDDEN}[1]"),
        ("1. a\n2. b\n\n> c\n\n| d | e |\n|---|---|\n| f | g |", "1. a\n2. b\n\n> c\n\n| d | e |\n|---|---|\n| f | g |"),
    ],
)  # fmt: skip
def test_markdown_for_slack(markdown: str, shown: str) -> None:
    assert slack_markdown(markdown) == shown


@pytest.mark.parametrize(
    ("markdown", "shown"),
    [
        ("**bold** *italic* ~~gone~~ `code`", "*bold* _italic_ ~gone~ `code`"),
        ("***both*** and **a *b* c**", "_*both*_ and *a _b_ c*"),
        ("これは**太字**です。**「括弧」**も。", "これは *太字* です。 *「括弧」* も。"),
        ("**two\nlines**", "*two*\n*lines*"),
        ("# A **bold** [heading](https://x.example)\n\ntext", "*A bold <https://x.example|heading>*\n\ntext"),
        ("[R&D](https://x.example/?a=1&b=2|3)", "<https://x.example/?a=1&amp;b=2%7C3|R&amp;D>"),
        ("[js](javascript:alert(1)) ![alt](https://x.example/i.png)", "js alt"),
        ("https://x.example/a_b_cです", "<https://x.example/a_b_cです>"),
        ("- a\n  - b\n- [x] c\n- [ ] d", "• a\n    ◦ b\n☑ c\n☐ d"),
        ("3. a\n4. b", "3. a\n4. b"),
        ("> quote\n> more", "> quote\n> more"),
        ("```python\nif a < b:\n    x\n```", "```\nif a &lt; b:\n    x\n```"),
        ("````\n```\n````", f"```\n`{HIDDEN}`{HIDDEN}`\n```"),
        ("| 名前 | n |\n|---|---|\n| 有給休暇 | **1** |\n| a | 22 |", "```\n名前     | n\n---------+---\n有給休暇 | 1\na        | 22\n```"),
        ("| a |\n|---|\n| [x](https://x.example) |", "```\na\n-\nx\n```\n\n<https://x.example|x>"),
        ("a\n\n---\n\nb", "a\n\n———\n\nb"),
        ("<!here> &lt;!here&gt; @here", f"&lt;{HIDDEN}!here&gt; &lt;!here&gt; @{HIDDEN}here"),
        ("H<sub>2</sub>O<br/>2 * 3 \\*", f"H{HIDDEN}2{HIDDEN}O\n2 * 3 *"),
    ],
)  # fmt: skip
def test_mrkdwn(markdown: str, shown: str) -> None:
    assert mrkdwn(markdown) == shown


def test_a_whole_answer_in_both_languages() -> None:
    for language, turn in TURNS.items():
        answered = turn[-1]
        assert isinstance(answered, Answered)
        (rendered,) = messages(answer_markdown(answered, language))
        (same,) = messages(answered.text, tail=sources_markdown(answered, language))
        assert rendered == same
        addresses = {each.url for each in answered.citations if each.url}
        assert {unquote(url) for url in links(rendered.blocks, rendered.text)} == addresses
        assert "[1]" in rendered.text and "**" not in rendered.text
