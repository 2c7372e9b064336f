"""What people and documents wrote, as HTML: addresses that stand for themselves, and what is too much to be read."""

import re

import pytest

from adapters.web.markdown import MARKS, html


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("See https://ok.example/a?b=c&d=e_f_g.", "https://ok.example/a?b=c&d=e_f_g"),
        ("詳細はhttps://ok.exampleをご覧ください。", "https://ok.example"),
        ("詳細は https://ok.example/wiki/。次へ", "https://ok.example/wiki/"),
        ("**https://ok.example/c**", "https://ok.example/c"),
        ("（https://ok.example/c）", "https://ok.example/c"),
        ("| https://ok.example/c | b |\n|---|---|\n", "https://ok.example/c"),
        ('HTTPS://ok.example/"onclick=x', "HTTPS://ok.example/"),
        ("https://ok.example/\n次", "https://ok.example/"),
        ("http://ok.example/<script>", "http://ok.example/"),
        ("https://ja.ok.example/wiki/東京", None),  # goes on in a way that is not known
        ("https://ok.example/Rust_(language)", None),
        ("xhttps://ok.example/", None),
        ("javascript://ok.example/", None),
        ("`https://ok.example/`", None),
        ("www.ok.example", None),
        ("https://", None),
    ],
)
def test_an_address_that_stands_for_itself_is_a_link_to_what_it_says(text: str, address: str | None) -> None:
    shown = html(text)
    links = re.findall(r'<a href="([^"]*)" target="_blank" rel="noopener noreferrer nofollow">([^<]*)</a>', shown)
    assert [(href.replace("&amp;", "&"), said.replace("&amp;", "&")) for href, said in links] == (
        [] if address is None else [(address, address)]
    )
    assert shown.count("<a ") == len(links)


def test_the_words_of_a_link_are_no_other_link() -> None:
    shown = html("[https://ok.example/](https://other.example/)")
    assert shown.count("<a ") == 1 and 'href="https://other.example/"' in shown


def test_of_too_many_marks_the_text_is_shown_whole() -> None:
    most = html("*a* " * (MARKS // 2))
    assert most.count("<em>") == MARKS // 2
    more = html("*a* <b>\n" * (MARKS // 2))
    assert "<em>" not in more and more.count("*a* &lt;b&gt;\n") == MARKS // 2


def test_marks_in_marks_are_read_to_a_depth() -> None:
    """Each sign is read as often as the depth has levels."""
    assert html("> " * 200 + "deep").count("<blockquote>") <= 20
