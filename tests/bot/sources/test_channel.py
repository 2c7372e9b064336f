"""The part of a thread that is settled, how it reads, and what it counts for. Source: sources.md §1 (channel)."""

from datetime import UTC, datetime, timedelta
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pytest

from agent.grounding.check import Checked
from agent.grounding.disclosure import disclosed
from agent.tools import as_result
from bot.cli import output
from bot.logs import Redactor
from bot.sources.channel import Said, Thread, settled, written
from bot.types import Actor
from retrieval.search import distinct
from retrieval.types import Hit, Passage

BEGUN = datetime(2026, 3, 1, 9, tzinfo=UTC)
ANN, BEN, OLGA = Actor("slack", "T", "U1"), Actor("slack", "T", "U2"), Actor("slack", "T", "U3", "editor")
GUEST, BOT = Actor("slack", "T", "U4", "outsider"), None


def said(hours: float, author: Actor | None, text: str = "So.", *checks: Actor) -> Said:
    return Said(str(hours), BEGUN + timedelta(hours=hours), "Name", text, author, checks)


def part(*messages: Said, after: float = 1_000.0, without: tuple[str, ...] = ()) -> tuple[list[str], float | None]:
    """The ids of what is settled so many hours later, and in how many hours more may be."""
    now = BEGUN + timedelta(hours=after)
    found, again = settled(Thread(messages[0].id, messages), without, now, lambda actor: actor.role == "editor")
    return [one.id for one in found], None if again is None else (again - BEGUN) / timedelta(hours=1)


def test_what_is_gone_of_it_is_not_offered_to_be_kept(capsys: pytest.CaptureFixture[str]) -> None:
    counts = dict.fromkeys(("pages", "added", "replaced", "renamed", "removed"), 0)
    row = {"name": "talk", "collection": "talk", "pages": 5, "state": "asks", "checked_at": None, "trouble": None}
    languages: tuple[tuple[Literal["en", "ja"], str], ...] = (("en", "keep"), ("ja", "残す"))
    for language, kept in languages:
        for kind in ("channel", "git"):
            report: dict[str, Any] = {"name": "talk", "kind": kind, **counts, "gone": 45, "refused": [], "failed": []}
            output.synced(report, language)
            output.sources({"sources": [row | report]}, language)
            told = capsys.readouterr().out
            assert (
                "45" in told
                and told.count("--forget") == 2
                and (kept in told, "--keep" in told) == (kind == "git",) * 2
            )


def test_a_thread_is_settled_after_a_quiet_day_up_to_there() -> None:
    talk = (said(0, ANN), said(1, BEN), said(30, ANN), said(31, BEN))
    assert part(*talk[:2], after=24) == ([], 25)
    assert part(*talk[:2], after=25) == (["0", "1"], None)
    assert part(*talk, after=40) == (["0", "1"], 55), "what goes on joins it once it is quiet again"
    assert part(*talk, after=55) == (["0", "1", "30", "31"], None)


def test_a_mark_counts_from_whoever_asked_or_an_editor() -> None:
    for who, counts in ((ANN, True), (BEN, False), (OLGA, True), (GUEST, False)):
        found, _ = part(said(0, ANN), said(1, BEN, "So.", who), after=2)
        assert bool(found) is counts, who
    assert part(said(0, GUEST), said(1, BEN), said(2, ANN, "So.", GUEST), after=3)[0] == [], "a guest asked"
    assert part(said(0, ANN), said(1, BOT, "So.", ANN), said(2, BEN), after=3)[0] == ["0", "2"], "at a bot's answer"


def test_two_people_speak_that_are_no_bots_outsiders_or_left_out() -> None:
    assert part(said(0, ANN), said(1, ANN)) == ([], None)
    assert part(said(0, ANN), said(1, BOT)) == ([], None)
    assert part(said(0, ANN), said(1, GUEST)) == ([], None)
    assert part(said(0, ANN), said(1, BEN), without=("slack:U2",)) == ([], None)
    assert part(said(0, ANN), said(1, BEN), said(2, OLGA), said(3, GUEST), without=("slack:U2",))[0] == ["0", "2"]
    assert part(said(0, ANN), said(1, BEN, ""))[0] == [], "nothing but a file"


def test_a_thread_reads_by_who_said_what_and_without_secrets() -> None:
    secret = "ghp_" + "a" * 36
    spoken = (said(0, ANN, f"## Where is\nthe key {secret}?"), said(30, BEN, "In room 4."))
    for zone, day in ((UTC, "2026-03-02"), (ZoneInfo("Asia/Tokyo"), "2026-03-03")):
        assert written(Thread("0", spoken), spoken, "#x", Redactor(), zone).decode() == (
            "# Where is the key [redacted]?\n\n**Name** (2026-03-01):\n\n## Where is\nthe key [redacted]?\n\n"
            f"**Name** ({day}):\n\nIn room 4."
        )


def test_a_given_title_counts_while_whoever_gave_it_does() -> None:
    spoken = (said(0, ANN, "Who knows?"), said(30, BEN, "In room 4."), said(31, OLGA, "Yes."))
    posted = Thread("0", spoken, "Where is the key xoxb-1234567890-abc?")
    assert written(posted, spoken, "#x", Redactor(), UTC).startswith(b"# Where is the key [redacted]?\n\n**Name**")
    assert written(posted, spoken[1:], "#x", Redactor(), UTC).startswith(b"# In room 4.\n")


# -- what it counts for ------------------------------------------------------------------------------------------------


def hit(id: str, text: str, said_in: str = "", updated: str = "") -> Hit:
    return Hit(Passage("docs", id, f"{id}.md", 0, text, "team", said_in=said_in, updated=updated), {}, 0.9)


def test_what_was_said_never_takes_a_document_s_place() -> None:
    document, talk = hit("d", "Refunds take thirty days."), hit("t", "Refunds take thirty days. I think.", "#general")
    assert distinct([document, talk]) == [document]
    assert distinct([talk, document]) == [document]


def test_the_model_reads_where_something_was_said() -> None:
    assert "said in #general, dated 2026-03-01)" in as_result(1, hit("t", "Soon.", "#general", "2026-03-01"))


def test_a_document_holds_against_newer_talk() -> None:
    hits = {
        1: hit("d", "Refunds for orders from abroad take 30 days.", updated="2024-01-01"),
        2: hit("t", "Refunds for orders from abroad take 20 days.", "#general", "2026-03-01"),
    }
    answer = Checked("Refunds for orders from abroad take 20 days. [1]", cited=(2,))
    told = disclosed(answer, hits, "en").text
    assert "takes precedence over" in told and "([2])" in told and "most recent" not in told
