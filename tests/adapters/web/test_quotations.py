"""A quotation is found in the text it was taken from, whatever became of its signs on the way."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.web.quotations import found


@pytest.mark.parametrize(
    ("quote", "text", "marked"),
    [
        ("30 days.", "Refunds take **30\ndays**. More.", "30\ndays"),
        ("Refunds take 30 days.", "Refunds take 30 days. More.", "Refunds take 30 days."),
        ("「30日」です。", "返金は「３０\n日」です。次の文。", "「３０\n日」です。"),
        ("ｶﾞｲﾄﾞは 3 冊", "ガイドは３冊あります。", "ガイドは３冊"),
        ("cut off …", "It was cut off here. And there.", "cut off here."),
        ("It was …", "It was v1.2 and\nmore", "It was v1.2 and"),
        (
            "日当は1,500円…",
            "日帰りの日当は１，５００円、宿泊は2,000円です（税込。）。次。",
            "日当は１，５００円、宿泊は2,000円です（税込。）",
        ),
        ("İstanbul ß ㍻", "in İSTANBUL ß ㍻ 元年", "İSTANBUL ß ㍻"),
        ("and", "sand and sea", "and"),
        ("", "anything", None),
        ("。、…", "anything。", None),
        ("not there", "anything", None),
        ("<script>alert(1)</script>", "x <script>alert(1)</script> y", "<script>alert(1)</script>"),
    ],
)
def test_what_is_found(quote: str, text: str, marked: str | None) -> None:
    at = found(quote, text)
    assert (text[at[0] : at[1]] if at else None) == marked


@given(st.text(max_size=40), st.text(max_size=40), st.text(max_size=40))
def test_what_stands_in_a_text_is_found_in_it(before: str, quote: str, after: str) -> None:
    text = before + quote + after
    at = found(quote, text)
    assert (at is None) == (not any(sign.isalnum() for sign in unicodedata.normalize("NFKD", quote)))
    if at is not None:
        assert 0 <= at[0] < at[1] <= len(text) and found(quote, text[at[0] : at[1]]) is not None
