"""Whether a text that somebody gives to the knowledge means the message that a link in it leads to, on each
platform, and what a text is called."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from adapters.discord.transport import message_links
from adapters.shared import ingestion
from adapters.slack import ingestion as slack_ingestion
from bot.types import FileRef, IngestionRequest, Place, Verdict
from retrieval.types import TEAM

SLACK = "https://acme.slack.com/archives/C1/p1790000000000001"
REPLY = "https://acme.enterprise.slack.com/archives/C1/p1790000000000002?thread_ts=1790000000.000001&cid=C1"
DISCORD = "https://discord.com/channels/1/2/3"
PROSE = "The harbour master keeps the list of piers, and it changes every spring when the ferries come back. " * 2

Links = Callable[[str], list[str]]


@pytest.mark.parametrize(
    ("links_in", "link", "other"),
    [(slack_ingestion.links_in, SLACK, REPLY), (message_links.links_in, DISCORD, f"{DISCORD}4")],
)
def test_few_words_around_one_link_mean_its_message(links_in: Links, link: str, other: str) -> None:
    def meant(text: str, *, as_text: bool = False) -> object:
        try:
            return ingestion.link_meant(text, links_in(text), as_text=as_text)
        except ingestion.NotTakenError as error:
            return error.reason

    for text in (
        link,
        f"<{link}>",
        f"see {link}",
        f"{link}を追加してください。",
        f"「{link}」",
        f"{link}. And {link}!",
    ):
        assert meant(text) == link
    assert meant(f"see {other}, please") == other
    for text in (f"{link} {other}", f"{PROSE} {link}", f"{PROSE} {link} {other}"):
        assert meant(text) is ingestion.AMBIGUOUS
    for text in (PROSE, "", "See https://example.com/archives/C1/p1790000000000001", "See https://example.com/a"):
        assert meant(text) is None
    # Where a text is asked for, it is one unless a link stands alone.
    assert meant(link, as_text=True) == meant(f"<{link}>", as_text=True) == link
    for text in (f"see {link}", f"{link} {other}", f"{PROSE} {link}"):
        assert meant(text, as_text=True) is None


def test_a_link_of_slacks_leads_to_a_message_in_its_thread() -> None:
    assert slack_ingestion.link_target(f" {SLACK}/ ") == ("C1", "1790000000.000001", "1790000000.000001")
    assert slack_ingestion.link_target(REPLY) == ("C1", "1790000000.000002", "1790000000.000001")
    assert slack_ingestion.link_target(f"{SLACK}?cid=C1&thread_ts=1790000000.000009") == (
        "C1",
        "1790000000.000001",
        "1790000000.000009",
    )
    assert slack_ingestion.link_target(f"{SLACK}?thread_ts=x") == ("C1", "1790000000.000001", "1790000000.000001")
    for other in ("", "C1", SLACK.replace("slack", "slack.evil"), "https://acme.slack.com/archives/C1", "https://[/"):
        assert slack_ingestion.link_target(other) is None


def test_a_long_list_of_verdicts_ends_in_how_many_there_are_more() -> None:
    files = tuple(
        FileRef(f"{number}.md", {}, Verdict(f"{number}.md", "refused" if number else "added", "docs", reason="Empty."))
        for number in range(ingestion.LINES + 3)
    )
    intake = IngestionRequest("1", Place("slack", "T", "C"), None, "U1", "docs", TEAM, "ja", files)
    head, lines = ingestion.progress(intake)
    assert "27" in head and len(lines) == ingestion.LINES + 1 and lines[-1] == "… ほか 3 件"
    head, lines = ingestion.progress(replace(intake, files=files[: ingestion.LINES], language="en"))
    assert "24" in head and len(lines) == ingestion.LINES


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Our lift code is 4711.", "Our lift code is 4711.md"),
        ("# 駐車場は 3 台です。\n\n申請が必要です。", "駐車場は 3 台です.md"),
        ("...", "Pasted text.md"),
    ],
)
def test_a_text_without_a_name_is_called_by_its_first_line(text: str, name: str) -> None:
    assert ingestion.pasted(text, "", "en").name == name
