"""The language in which somebody is answered: that of their own words."""

import pytest

from bot.texts import asker_language, in_words
from retrieval.i18n import Language


@pytest.mark.parametrize("text", ["VPN?", "E-4071", "Zoom！", "404"])
def test_a_name_alone_is_written_in_either_language(text: str) -> None:
    assert not in_words(text)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("VPN stopped", "en"),
        ("why?", "en"),
        ("VPNは？", "ja"),
        ("Wi-Fiのパスワードは？", "ja"),
        ("ＶＰＮ接続方法", "ja"),
        ("「Where is it?」とは？", "ja"),
    ],
)
def test_words_have_a_language_also_behind_a_name(text: str, language: Language) -> None:
    assert in_words(text)
    assert asker_language(text) == language
