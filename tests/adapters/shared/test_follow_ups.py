"""What is said in the bot's own thread without a mention asks it something, or is only kind."""

import pytest

from adapters.shared.follow_ups import says_something


@pytest.mark.parametrize(
    "text", ["And from abroad?", "help", "何ができますか？", "12*12は？", "thanks, and who approves it?"]
)
def test_what_asks_something(text: str) -> None:
    assert says_something(text)


@pytest.mark.parametrize(
    "text",
    [
        "Thanks a lot!",
        "noted, I'll check",
        "解決しました",
        "ありがとうございます！",
        "👍👍",
        ":tada:",
        "see you tomorrow",
        "",
    ],
)
def test_what_is_only_kind(text: str) -> None:
    assert not says_something(text)
