"""Pages as generators of sites write them: what a visitor reads is kept where it belongs, what only the page needs is
not."""

import re

import pytest

from retrieval.loaders.formats.pages import read_page
from retrieval.loaders.html import readable_part

MATERIAL_TABS = (
    '<div class="tabbed-set" data-tabs="1:2"><input checked="checked" id="t1" name="t" type="radio"/>'
    '<input id="t2" name="t" type="radio"/><div class="tabbed-labels"><label for="t1">By phone</label>'
    '<label for="t2">By mail</label></div><div class="tabbed-content"><div class="tabbed-block"><p>Paid within 4 days.'
    '</p></div><div class="tabbed-block"><p>Paid within 15 days.</p></div></div></div>'
)
DOCUSAURUS_TABS = (
    '<div class="tabs-container"><ul role="tablist"><li role="tab" aria-selected="true">By phone</li>'
    '<li role="tab" aria-selected="false">By mail</li></ul><div><div role="tabpanel"><p>Paid within 4 days.</p></div>'
    '<div role="tabpanel" hidden=""><p>Paid within 15 days.</p></div></div></div>'
)


def text(page: str) -> str:
    return read_page(f"<body>{page}</body>".encode())[0].strip()


@pytest.mark.parametrize("tabs", [MATERIAL_TABS, DOCUSAURUS_TABS])
def test_what_a_tab_shows_stands_under_its_name_whichever_is_open(tabs: str) -> None:
    assert text(tabs) == "**By phone**\n\nPaid within 4 days.\n\n**By mail**\n\nPaid within 15 days."


def test_tabs_in_a_tab_have_names_of_their_own() -> None:
    outer = DOCUSAURUS_TABS.replace("<p>Paid within 15 days.</p>", DOCUSAURUS_TABS.replace("Paid", "Sent"))
    inner = "**By phone**\n\nSent within 4 days.\n\n**By mail**\n\nSent within 15 days."
    assert text(outer) == f"**By phone**\n\nPaid within 4 days.\n\n**By mail**\n\n{inner}"


def test_what_no_tab_shows_stays_hidden() -> None:
    assert text('<div role="tabpanel">One</div><div role="tabpanel" hidden>Two</div>') == "One"
    more = DOCUSAURUS_TABS.replace("</ul>", '<li role="tab">By fax</li></ul>')
    assert "4 days" in text(more) and "15 days" not in text(more)


def test_a_fold_out_answer_of_the_main_part_is_not_hidden_and_a_menu_is() -> None:
    menu = '<button aria-expanded="false" aria-controls="m">Menu</button><div id="m" hidden>Log in</div>'
    shown = text(
        f'{menu}<main><h3><button aria-expanded="false" aria-controls="a">Who pays?</button></h3>'
        '<div id="a" hidden><p>The company pays.</p></div><p hidden="until-found">On Fridays.</p></main>'
    )
    assert shown == "### Who pays?\n\nThe company pays.\n\nOn Fridays."


@pytest.mark.parametrize(
    "code",
    [
        # Docusaurus, Pygments with numbers in a table, and with numbers in the line
        '<pre><code><div class="token-line"><span>if late:</span><br></div><div class="token-line"><span>    call()'
        "</span><br></div></code></pre>",
        '<table class="highlighttable"><tr><td class="linenos"><div><pre><span>1</span>\n<span>2</span></pre></div></td>'
        '<td class="code"><div><pre><code>if late:\n    call()\n</code></pre></div></td></tr></table>',
        '<pre><span class="linenos">1</span>if late:\n<span class="linenos">2</span>    call()\n</pre>',
    ],
)
def test_code_has_its_lines_as_they_are_read(code: str) -> None:
    assert text(code) == "```\nif late:\n    call()\n```"


def test_a_table_with_code_in_it_stays_one() -> None:
    cells = "<tr><td><pre>7</pre></td><td><pre>make</pre></td><td>builds</td></tr>"
    assert "builds" in text(f"<table>{cells}</table>") and "7" in text(f"<table>{cells}</table>")


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    cells = "<tr><th>Flag</th><th>Values</th></tr><tr><td>--level</td><td>low|high</td></tr>"
    assert text(f"<table>{cells}</table>").splitlines()[2] == r"| --level | low\|high |"
    assert text(f"<p>Home | About</p><table>{cells}</table>").startswith("Home | About\n")


def test_the_head_of_a_fold_out_answer_stands_apart_from_it() -> None:
    assert text("<details><summary>Who pays?</summary>The company.</details>") == "Who pays?\n\nThe company."


def test_a_heading_is_without_its_link_and_the_link_that_edits_it() -> None:
    html, title, _ = readable_part(
        '<h1>Leave<a class="headerlink" href="#leave" title="Link to this heading">¶</a></h1>'
        '<h2><span id="F">Fees</span><span class="mw-editsection"><span>[</span>'
        '<a href="/index.php?action=edit&amp;section=1">edit</a><span>]</span></span></h2>'
        '<a href="https://host.example/edit/main/a.md">Edit this page</a><a href="/edit/main/b.md">このページを編集</a>'
    )
    assert title == "Leave"
    assert re.sub(r"<[^>]*>", "", html) == "LeaveFees"


def test_a_link_to_something_else_that_says_edit_stays() -> None:
    assert text('<p>Press <a href="/buttons">edit</a> or <a href="#x">§ 3</a>.</p>') == "Press edit or § 3."


def test_a_raised_figure_is_no_digit_of_the_number_before_it() -> None:
    assert text('<p>23<sup id="r"><a href="#fn1">1</a></sup> days</p>') == "23[1] days"
    assert text("<p>10<sup>6</sup> files, the 1<sup>st</sup> of 5 m<sup>2</sup></p>") == "10⁶ files, the 1st of 5 m²"


def test_a_formula_is_read_once() -> None:
    drawn = "<math><semantics><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow>{}</semantics></math>"
    katex = drawn.format('<annotation encoding="application/x-tex">a+b</annotation>')
    shown = '<span class="katex-html" aria-hidden="true">a+b</span>'
    assert text(f'<p>It is <span class="katex">{katex}{shown}</span>.</p>') == "It is $a+b$."
    assert text(f"<p>It is {drawn.format('')}.</p>") == "It is a+b."


def test_remarks_that_authors_made_are_no_part_of_what_word_and_google_docs_save() -> None:
    word = (
        "<p class=MsoTitle>Travel</p><p>Paid.<span class=MsoCommentReference><a href='#_msocom_1'>[A1]</a></span></p>"
        "<div style='mso-element:comment-list'><div style='mso-element:comment'><p>Not agreed!</p></div></div>"
    )
    google = (
        '<div class="doc-content"><p class="title">Travel</p><p>Paid.<sup><a href="#cmnt1" id="cmnt_ref1">[a]</a></sup></p>'
        '<div><p><a href="#cmnt_ref1" id="cmnt1">[a]</a>Not agreed!</p><p>Ask Ben.</p></div></div>'
    )
    assert text(word) == text(google) == "# Travel\n\nPaid."


def test_links_and_tables_are_those_that_google_was_given() -> None:
    redirect = "https://www.google.com/url?q=https://example.com/form?a%3D1&amp;sa=D&amp;ust=1&amp;usg=x"
    assert text(f'<p><a href="{redirect}">Form</a></p>') == "[Form](https://example.com/form?a=1)"
    rows = "".join(
        f'<tr><th class="row-headers-background">{at}</th><td>{name}</td><td>{fee}</td><td>x</td></tr>'
        for at, (name, fee) in enumerate((("Plan", "Fee"), ("A", "100"), ("B", "200")), 1)
    )
    sheet = f'<table class="waffle"><thead><tr><th></th><th>A</th><th>B</th><th>C</th></tr></thead>{rows}</table>'
    assert "1 |" not in text(sheet) and "| A | 100 | x |" in text(sheet)


def test_a_list_of_the_headings_is_left_out_and_one_of_something_else_is_not() -> None:
    links = '<li><a href="#a">1 Fees</a></li><li><a href="#b">Depth</a></li>'
    headings = '<h2 id="a">Fees<a href="#a">#</a></h2><p>£110</p><h2 id="b">Depth</h2><p>11 m</p>'
    assert text(f"<ul>{links}</ul>{headings}") == "## Fees\n\n£110\n\n## Depth\n\n11 m"
    assert "Depth" in text(f"<ul>{links}</ul><p>£110</p>")


@pytest.mark.parametrize(
    "said",
    [
        "<p>Last updated on <b>Feb 3, 2026</b> by Aki</p>",
        '<p>Last updated: <time datetime="2026-02-03T10:00:00Z"></time></p>',
        "<footer><ul><li>This page was last edited on 3 February 2026, at 08:12.</li></ul></footer>",
        "<div>最終更新日：2026年2月3日</div>",
        "<div>Created by <i>Ben</i>, last modified by <i> Aki Mori</i> on Feb 03, 2026</div>",
        "<table><tr><th>最終更新日時</th><td><time>@2026年2月3日 9:12</time></td></tr></table>",
        '<small><span title="最終更新日"><svg><path d="M0"></path></svg></span>\n<span>2026年2月3日</span></small>',
    ],
)
def test_the_date_that_a_page_shows_is_its_date(said: str) -> None:
    assert readable_part(f"<body><h1>Leave</h1><p>23 days.</p>{said}</body>")[2] == "2026-02-03"


def test_dates_of_several_things_and_words_without_one_are_none() -> None:
    assert readable_part("<p>Last updated 2026-02-03</p><p>Last updated 2026-02-04</p>")[2] == ""
    assert readable_part("<p>It was last updated by Aki.</p><p>2026-02-03 is a Tuesday.</p>")[2] == ""
    assert readable_part("<p>契約更新日：2026年2月3日</p>")[2] == ""
    stated = '<meta property="article:modified_time" content="2026-05-01"><p>Last updated 2026-02-03</p>'
    assert readable_part(stated)[2] == "2026-05-01"


def test_what_an_article_says_of_itself_at_its_foot_is_left_out() -> None:
    page = "<main><p>Take care.</p><blockquote><p>Slowly.</p><footer>— Aki</footer></blockquote>{foot}</main>"
    assert text(page.format(foot="<footer>Edited by Ben</footer>")) == text(page.format(foot=""))
    assert "Aki" in text(page.format(foot=""))


def test_code_in_code_is_one() -> None:
    # mdBook's playground; Rouge with numbers, as Jekyll lays it into the code of a page
    playground = '<pre><pre class="playground"><code># set x\nx = 1\n</code></pre></pre>'
    rouge = (
        '<pre><code><table class="rouge-table"><tr><td class="gutter"><pre class="lineno">1\n2\n</pre></td>'
        '<td class="code"><pre># set x\nx = 1\n</pre></td></tr></table></code></pre>'
    )
    for code in (playground, rouge):
        assert re.sub(r"\n+", "\n", text(code)) == "```\n# set x\nx = 1\n```"


def test_code_that_shows_fences_has_a_longer_one() -> None:
    shown = "<ul><li>So:<pre><code>```sh\nls\n```\n</code></pre></li></ul><pre>pwd\n</pre><p>Use <code>```</code>.</p>"
    assert re.sub(r"\n+", "\n", text(shown)) == (
        "* So:\n  ````\n  ```sh\n  ls\n  ```\n  ````\n```\npwd\n```\nUse ```` ``` ````."
    )


def test_a_comment_that_a_page_shows_is_part_of_it() -> None:
    shown = "<p>Begin it with <code>&lt;!--</code>.</p><pre><code>&lt;!-- ![a](b.png) --&gt;</code></pre><p>Then &lt;!-- end.</p>"
    assert (
        text(shown + "<p>Friday.</p>")
        == "Begin it with `<!--`.\n\n```\n<!-- ![a](b.png) -->\n```\n\nThen <!-- end.\n\nFriday."
    )


def test_what_a_script_may_find_is_no_part_of_a_page() -> None:
    found = '<div class="search-results"><h1><span></span> results matching "<b></b>"</h1><h1>No results</h1></div>'
    page = f'<div id="book-search-results"><div><section><h1>T</h1><p>Open at noon.</p></section></div>{found}</div>'
    assert text(page) == "# T\n\nOpen at noon."
