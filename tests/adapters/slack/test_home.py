"""The App Home: what the whole team may read, for its members."""

import logging
from pathlib import Path

import pytest

from bot.types import Upload
from retrieval.i18n import Text
from retrieval.types import QdrantConnectionError
from tests.adapters.acting import misses
from tests.adapters.slack.service import taught, whole
from tests.adapters.slack.stage import RENAME, SESSION
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import IGNORED
from tests.fakes.slack_text import shown
from tests.fakes.slack_world import View

RULES = b"# Refunds\n\nRefunds take 30 days.\n"


async def home(slack: FakeSlack, user: str) -> View:
    await slack.opens_home(user)
    await slack.wait_for(lambda: (slack.app.id, user) in slack.world.homes)
    return slack.home(user)


async def test_members_see_what_the_team_may_read_and_guests_none_of_it(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        slack.world.users["U2"].locale = "ja-JP"
        slack.world.add_user("U7", "gast", kind="guest")
        slack.world.add_channel("G1", "secret", kind="private", members=("U1", slack.bot_user))
        for number in range(30):
            await here.bot.ingestion.add(Upload(f"<!here> {number}.md", RULES, "documents", "team", "U1"))
        await here.bot.ingestion.add(Upload("whale.md", RULES, "documents", "place:slack:T0TEAM:G1", "U1"))
        for channel, text in (("C1", "@kotae Is tea at four?"), ("G1", "@kotae When does the whale start?")):
            asked = await slack.says(channel, "U1", text)
            await slack.wait_for(lambda asked=asked: slack.replies(asked)[-1:])  # type: ignore[misc]
        await slack.wait_for_idle()

        blocks = (await home(slack, "U1")).body["blocks"]
        text = shown(blocks, "")
        assert "Is tea at four?" in text and "29.md" in text and "1 asked in private places" in text
        assert "whale" not in str(blocks) and "kotae_home_ingest" in str(blocks)
        assert "未回答の質問" in shown((await home(slack, "U2")).body["blocks"], "")
        (hello,) = (await home(slack, "U7")).body["blocks"]
        assert hello["type"] == "section" and not slack.journal.errors()
        await slack.opens_home("U2", "messages")  # the other tab is a conversation


@pytest.mark.parametrize("sessions", ["begun", "unknown", "ignored"])
async def test_a_conversation_begins_with_a_suggestion_and_is_named_by_its_question(
    sessions: str, tmp_path: Path
) -> None:
    without = (SESSION, RENAME) if sessions == "unknown" else ()
    async with FakeSlack(limits=False, without=without) as slack, taught(slack, tmp_path) as here:
        if sessions == "ignored":
            for method in (SESSION, RENAME):
                slack.fail(method, IGNORED)
        slack.world.users["U2"].locale = "ja-JP"
        for user, question in (("U1", "What can you do?"), ("U2", "何ができますか？")):
            await slack.opens_home(user, "messages")
            found = await slack.wait_for(lambda user=user: slack.world.prompts.get((slack.dm(user), "")))  # type: ignore[misc]
            assert found == {"prompts": [{"title": question, "message": question}]}
        dm, long = slack.dm("U1"), f"How long\ndo <@U2>'s refunds take? {'x' * 80}"
        first = await slack.says(dm, "U1", long)
        await slack.wait_for(lambda: slack.world.titles)
        second = await slack.says(dm, "U1", "And abroad?", thread=first)
        public = await slack.says("C1", "U1", "@kotae Refunds?")
        await slack.wait_for(lambda: {second, public} <= {each.message for each in here.player.messages})
        await slack.wait_for_idle()
        names = slack.world.names
        title = names.pop((dm, first))
        assert slack.world.titles == {(dm, first): title}
        assert title.startswith("How long do @U2's refunds take? xxx") and len(title) <= 60
        assert names == ({("C1", public): "Refunds?"} if sessions == "begun" else {})
        assert not [each for each in slack.journal.errors() if not without or "unknown_method" not in each]
        assert len(slack.journal.errors()) == bool(without)  # asked for once


async def test_members_are_offered_what_others_have_asked(tmp_path: Path) -> None:
    """In public, with a sure answer, in their language; a guest is not."""
    async with FakeSlack(limits=False) as slack, whole(slack, tmp_path) as (app, _):
        slack.world.add_user("U7", "gast", kind="guest")
        slack.world.add_channel("G1", "secret", kind="private", members=("U1", slack.bot_user))
        await app.knowledge.add(
            Upload("refunds.md", b"# Refunds\n\nRefunds take thirty days.\n", "d", "team", "U1"), "en"
        )
        for channel, text in (("C1", "How long do refunds take?"), ("G1", "How many days do refunds take?")):
            asked = await slack.says(channel, "U1", f"@kotae {text}")
            await slack.wait_for(
                lambda asked=asked: any("thirty days" in one.shown for one in slack.replies(asked)),  # type: ignore[misc]
                timeout=60,
            )
        await slack.wait_for_idle()
        for user, questions in (
            ("U2", ["How long do refunds take?", "What can you do?"]),
            ("U7", ["What can you do?"]),
        ):
            await slack.opens_home(user, "messages")
            found = await slack.wait_for(lambda user=user: slack.world.prompts.get((slack.dm(user), "")))  # type: ignore[misc]
            assert found and [each["message"] for each in found["prompts"]] == questions


async def test_a_home_is_drawn_also_when_the_documents_cannot_be_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:

        async def down(_: object, command: object) -> None:
            raise QdrantConnectionError(Text(en="The index is away.", ja="…"))

        monkeypatch.setattr(type(here.bot.commands), "__call__", down)
        blocks = (await home(slack, "U1")).body["blocks"]
        assert "kotae_home_ingest" in str(blocks) and str(blocks).count("The index is away.") == 2


async def test_a_slack_without_homes_is_said_once_and_breaks_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with FakeSlack(limits=False, without=("views.publish",)) as slack, taught(slack, tmp_path):
        for user in ("U1", "U2", "U1"):
            await slack.opens_home(user)
        asked = await slack.says("C1", "U1", "@kotae How long do refunds take?")
        await slack.wait_for(lambda: [reply for reply in slack.replies(asked) if "30 days" in reply.shown])
        await slack.wait_for_idle()
        assert caplog.text.count("views.publish") == 1 and len(slack.journal.calls("views.publish")) <= 2
