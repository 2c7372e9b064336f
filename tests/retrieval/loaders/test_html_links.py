"""A page leads where it says, however it is written."""

import pytest

from retrieval.loaders.html import html_links


@pytest.mark.parametrize(
    ("page", "links"),
    [
        ("<div>" * 5_000 + '<a href="deep">', ["deep"]),
        ('<a href="a">A</a><![ more', ["a"]),
        ('<a rel="nofollow" href="a">A</a><area href=b><iframe src="c"></iframe>', ["b", "c"]),
        ('<?xml version="1.0" encoding="utf-16"?><a href="旅費">旅費</a>', ["旅費"]),
        ("\x00", []),
        ("", []),
    ],
)
def test_links_are_read_in_any_markup(page: str, links: list[str]) -> None:
    assert html_links(page.encode()).links == links


def test_what_a_page_says_is_the_same_while_only_its_markup_changes() -> None:
    one, other = "<p>Sign <b>in</b> here <a href='/in?next=1'>now</a></p>", "<i>Sign in</i> here <a href='/in'>now</a>"
    said = ["".join(html_links(page.encode()).said).split() for page in (one, f"<script>let n = 1</script>{other}")]
    assert said[0] == said[1] == ["Sign", "in", "here", "/in", "now"]
