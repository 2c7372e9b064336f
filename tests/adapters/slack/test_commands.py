"""Adding to the knowledge from Slack: every gesture, who may do it where, and what becomes of the files."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from adapters.slack.rendering.block_kit import card_blocks
from adapters.slack.transport.api import SlackApi
from adapters.slack.transport.directory import MEMBERS_SECONDS
from bot.turns.withdrawal import WITHDRAWN
from bot.types import Card, CardRow, Link, Upload
from tests.adapters.acting import misses
from tests.adapters.slack.service import taught, whole
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import CUT_BEFORE, Fault, error, page, slow, status
from tests.fakes.slack_rules import check_message
from tests.fakes.slack_text import shown
from tests.fakes.slack_world import File, Message, View
from tests.retrieval.loaders.test_loader import pages

FILES = Path(__file__).parents[2] / "files"
TEAM = "team"
RULES = b"# Refunds\n\nRefunds take 30 days.\n"


def progress(slack: FakeSlack, channel: str = "C1", ts: str = "") -> list[Message]:
    """The messages that show how far an intake is."""
    said = slack.thread(channel, ts) if ts else slack.posted(channel)
    return [message for message in said if message.shown.startswith("📥")]


def done(slack: FakeSlack, channel: str = "C1", ts: str = "", count: int = 1) -> Callable[[], list[Message]]:
    def look() -> list[Message]:
        found = [m for m in progress(slack, channel, ts) if m.shown.startswith(("📥 Done", "📥 完了"))]
        return found if len(found) >= count else []

    return look


def replied(slack: FakeSlack, asked: str) -> list[Message]:
    return [reply for reply in slack.replies(asked) if "Nothing" in reply.shown]


def text_of(view: View) -> str:
    return "\n".join(str(block.get("text", {}).get("text", "")) for block in view.body["blocks"])


def fields(view: View) -> set[str]:
    return {block["block_id"] for block in view.body["blocks"] if block["type"] == "input"}


def kept_texts(home: Path) -> list[str]:
    """The text of each document."""
    return [path.read_text(encoding="utf-8") for path in (home / "documents").glob("??/*")]


async def opened(slack: FakeSlack, user: str, title: str = "") -> View:
    def look() -> list[View]:
        try:
            view = slack.modal(user)
        except LookupError:
            return []
        return [view] if title in ("", view.body["title"]["text"]) else []

    return (await slack.wait_for(look))[0]


async def test_files_get_their_verdicts_in_words_and_answer_the_next_question(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, whole(slack, tmp_path) as (app, _):
        slack.world.users["U1"].locale = "ja-JP"
        await slack.command("/ingest", "", "U1", "C1")
        view = await opened(slack, "U1")
        assert view.body["title"]["text"] == "ナレッジに追加" and fields(view) >= {"files", "text", "link", "scope"}
        for given, field, why in (
            ({}, "files", "いずれかを指定して"),
            ({"link": "https://example.com/archives"}, "link", "リンクではありません"),
            ({"link": "https://x.slack.com/archives/C9/p1790000000000000"}, "link", "参加していない"),
            ({"link": "https://x.slack.com/archives/C1/p1790000000000000", "text": "?"}, "link", "別に"),
        ):
            answer = (await slack.submits("U1", given)).payload
            assert answer is not None and why in answer["errors"][field]
        files = [
            slack.world.add_file(name, data, "U1")
            for name, data in (
                ("inventory.pdf", (FILES / "SPARSE-2024-INV-1234_borderless_table.pdf").read_bytes()),
                ("scan.pdf", pages(1, picture=True)),
                ("broken.docx", b"PK\x03\x04"),
            )
        ]
        assert (await slack.submits("U1", {"files": files, "new": "棚卸し"})).payload is None
        (message,) = await slack.wait_for(done(slack), timeout=30)
        assert message.history[0].startswith("📥 読み込み中（0/3）…")
        head, *lines, by = message.shown.splitlines()
        assert head == "📥 完了しました: 追加・更新 1 件、追加できなかったもの 2 件。" and by == "追加した人: ann"
        assert lines[0].startswith("✅ inventory.pdf: 棚卸し に追加しました")
        assert lines[1].startswith("⚠️ scan.pdf") and "OCR" in lines[1] and "壊れている" in lines[2]
        assert not message.mentions and not message.urls
        await slack.wait_for_idle()
        assert slack.journal.acked_within(2.5)

        asked = await slack.says("C1", "U2", "@kotae What is the total variance cost of the inventory reconciliation?")
        (answer_,) = await slack.wait_for(
            lambda: [reply for reply in slack.replies(asked) if "4,287.50" in reply.shown], timeout=20
        )
        assert "[1] inventory › " in answer_.shown

        await slack.command("/kotae", "検索 variance", "U1", "C1")
        (found,) = await slack.wait_for(lambda: slack.whispers("U1"))
        assert "inventory.pdf" in found.shown
        await slack.command("/kotae", "digest", "U2", "C1")
        await slack.wait_for(lambda: slack.whispers("U2"))
        assert [row.name for row in await app.data.documents.listed()] == ["inventory.pdf"]


async def test_a_text_and_a_link_are_added_as_they_are_typed_and_a_gesture_that_comes_twice_is_one(
    tmp_path: Path,
) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path) as here:
        delivery = await slack.command(
            "/ingest", "# Harbour &amp; co\nShips moor at <https://a.example|pier>.", "U1", "C1"
        )
        assert delivery.payload == {"text": "I am reading it; the result will follow."}
        again = slack.sockets.send(slack.app, "slash_commands", delivery.body, answerable=True)
        await again.finished.wait()
        await slack.wait_for(done(slack))
        (row,) = await here.data.documents.listed()
        assert (row.name, row.collection, row.scope, row.author) == ("Harbour & co.md", "documents", TEAM, "U1")

        root = await slack.says("C1", "U2", "Where is the key, <@U1>?")
        await slack.says("C1", "U1", "Under the mat. <!channel>", thread=root)
        link = f"https://loopback.slack.com/archives/C1/p{root.replace('.', '')}"
        await slack.command("/ingest", link, "U2", "C1")
        (message,) = await slack.wait_for(done(slack, "C1", root))
        assert "Where is the key" in message.shown and not message.mentions
        thread = next(row for row in await here.data.documents.listed() if row.name != "Harbour & co.md")
        assert thread.url and thread.url.endswith(root.replace(".", ""))
        assert (thread.changed_at, row.changed_at) == (
            f"{datetime.fromtimestamp(float(root), UTC):%Y-%m-%d}",
            None,
        )  # of what was said; pasted
        kept = kept_texts(tmp_path)
        assert any("**ben** (" in text and "@ann?" in text and "Under the mat. @channel" in text for text in kept)

        refused = await slack.command("/ingest", "https://example.com/page", "U1", "C1")
        assert refused.payload == {"text": "This is not a link to a message in Slack."}
        assert len(progress(slack)) == 1 and len(await here.data.documents.listed()) == 2


async def test_words_around_a_link_do_not_take_its_message_away(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path) as here:
        slack.world.users["U2"].locale = "ja-JP"
        said = await slack.says("C1", "U2", "The key is under the mat.")
        link = f"https://loopback.slack.com/archives/C1/p{said.replace('.', '')}"
        see = await slack.command("/ingest", f"see <{link}>", "U1", "C1")
        assert see.payload and "not the words around the link" in see.payload["text"]
        await slack.wait_for(done(slack, "C1", said))
        ja = await slack.command("/ingest", f"{link}を追加してください", "U2", "C1")
        assert ja.payload and "前後の文は追加しません" in ja.payload["text"]
        await slack.wait_for(lambda: len(done(slack, "C1", said)()) == 2)
        assert [row.url and row.url[-17:] for row in await here.data.documents.listed()] == [link[-17:]]

        for text, words in ((f"{link} &lt;!here&gt; {link}1", "one at a time"), (f"{'long ' * 30}{link}", "the form")):
            refused = (await slack.command("/ingest", text, "U1", "C1")).payload
            assert refused and words in refused["text"] and "You entered:" in refused["text"]
            assert text in refused["text"]  # nobody types it again, and it calls nobody
        assert len(progress(slack)) == 0 and len(await here.data.documents.listed()) == 1

        prose = "The list of piers is at <https://wiki.example/piers>, and changes in spring."
        await slack.command("/ingest", prose, "U1", "C1")
        await slack.wait_for(done(slack))
        assert [row.name for row in await here.data.documents.listed() if row.name.startswith("The list of piers")]

        async def submits(given: dict[str, str], user: str = "U1") -> Any:
            await slack.command("/ingest", "", user, "C1")
            await opened(slack, user)
            return (await slack.submits(user, given)).payload

        assert await submits({"link": f"see {link}"}) is None and await submits({"text": link}) is None
        await slack.wait_for(lambda: len(done(slack, "C1", said)()) == 4)
        assert await submits({"text": f"see {link}"}) is None  # where a text is asked for, it is one
        await slack.wait_for(lambda: len(done(slack)()) == 2)
        assert f"see {link}" in kept_texts(tmp_path)
        several = await submits({"link": f"{link} {link}1"})
        assert "one at a time" in several["errors"]["link"]


async def test_a_long_text_that_is_not_taken_comes_back_whole(tmp_path: Path) -> None:
    """More than an acknowledgement may hold."""
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path):
        text = "経費は翌月５日までに申請します。" * 220 + "https://loopback.slack.com/archives/C1/p1790000000000001"
        given = await slack.command("/ingest", text, "U1", "C1")
        assert given.acked and not given.payload
        (told,) = await slack.wait_for(lambda: slack.whispers("U1"))
        assert text in told.text and "the form" in told.text and len(slack.sockets.of(slack.app)) == 2


# -- who, and for whom ----------------------------------------------------------------------------------------------


async def test_where_somebody_may_not_add_it_is_said_in_words(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path) as here:
        world, bot = slack.world, slack.bot_user
        world.add_user("U7", "gast", kind="guest")
        world.add_user("U8", "fremd", kind="stranger")
        world.add_channel("C2", "shared", members=("U1", "U8", bot), ext_shared=True)
        world.add_channel("C3", "with-guest", members=("U1", "U7", bot))
        world.add_channel("G4", "not-ours", kind="private", members=("U1",))
        world.add_channel("C5", "public", members=("U7", bot))
        for user, channel, why in (
            ("U7", "C5", "Only full members"),
            ("U8", "C2", "Only full members"),
            ("U1", "C2", "people from outside read this channel"),
            ("U1", "C3", "people from outside read this channel"),
            ("U1", "G4", "invite me"),
        ):
            await slack.command("/ingest", "", user, channel)
            assert why in text_of(await opened(slack, user, "Kotae"))
            await slack.closes(user)
            typed = await slack.command("/ingest", "Some text", user, channel)
            assert typed.payload and why in typed.payload["text"]
        assert not await here.data.documents.listed() and not slack.posted("C1")


async def test_scopes_are_those_of_the_place_and_the_person_whatever_the_modal_says(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path) as here:
        slack.world.add_user("UA", "admin", kind="admin")
        slack.world.channels["C1"].members.add("UA")
        slack.world.add_channel("G1", "ours", kind="private", members=("U1", "UA", slack.bot_user))
        slack.world.add_channel("G2", "theirs", kind="private", members=("U2", slack.bot_user))
        direct = slack.dm("U1")
        for number, (user, channel, scopes) in enumerate(
            (
                ("U1", "C1", ["team"]),
                ("U1", "G1", ["place:slack:T0TEAM:G1"]),
                ("U1", direct, [f"place:slack:T0TEAM:{direct}"]),
                ("UA", "C1", ["team", "everyone"]),
                ("UA", "G1", ["place:slack:T0TEAM:G1", "team", "everyone"]),
            )
        ):
            await slack.command("/ingest", "", user, channel)
            view = await opened(slack, user)
            menu = next(block["element"] for block in view.body["blocks"] if block.get("block_id") == "scope")
            assert [option["value"] for option in menu["options"]] == scopes
            for wanted in ("everyone", "place:slack:T0TEAM:G2")[: 1 + (channel == "G1")]:
                forged = submitted_by_hand(slack, user, view, text=f"{number} {wanted}", scope=wanted, channel="G2")
                assert (await slack.gesture(forged)).payload is None
                view.id += "x"  # another modal
            await slack.wait_for(done(slack, channel, count={0: 1, 1: 2, 2: 1, 3: 2, 4: 4}[number]))
            view.closed = True
            found = {row.name: row.scope for row in await here.data.documents.listed()}
            assert found[f"{number} everyone.md"] == (scopes[-1] if user == "UA" else scopes[0])
            assert found.get(f"{number} place:slack:T0TEAM:G2.md", scopes[0]) == scopes[0]
        assert not slack.posted("G2")


@pytest.mark.parametrize("why", ["a guest comes", "nobody says who reads it"])
async def test_what_an_editor_gives_for_a_private_channel_is_never_the_team_s_by_itself(
    tmp_path: Path, why: str
) -> None:
    ahead = [0.0]
    api = partial(SlackApi, clock=lambda: time.monotonic() + ahead[0])
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, api=api) as here:
        slack.world.add_user("UA", "admin", kind="admin")
        slack.world.add_user("U7", "gast", kind="guest")
        private = slack.world.add_channel("G1", "ours", kind="private", members=("UA", slack.bot_user))
        await slack.command("/ingest", "", "UA", "G1")
        await opened(slack, "UA")
        if why == "a guest comes":
            private.members.add("U7")
        else:
            slack.fail("conversations.members", error("missing_scope"))
        ahead[0] += MEMBERS_SECONDS
        said = (await slack.submits("UA", {"text": "We buy Acme.", "scope": "place:slack:T0TEAM:G1"})).payload
        assert said is not None and "who may find it" in said["errors"]["scope"]
        await slack.closes("UA")
        typed = await slack.command("/ingest", "We buy Acme.", "UA", "G1")
        assert typed.payload and "who may find it" in typed.payload["text"]
        await slack.command("/ingest", "", "UA", "G1")
        await opened(slack, "UA")
        assert (await slack.submits("UA", {"text": "We buy nobody.", "scope": TEAM})).payload is None
        await slack.wait_for(done(slack, "G1"))
        assert {row.name: row.scope for row in await here.data.documents.listed()} == {"We buy nobody.md": TEAM}


async def test_a_form_that_is_left_open_gives_nothing_to_a_place_that_its_reader_has_left(tmp_path: Path) -> None:
    ahead = [0.0]
    api = partial(SlackApi, clock=lambda: time.monotonic() + ahead[0])
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, api=api) as here:
        private = slack.world.add_channel("G1", "ours", kind="private", members=("U1", "U2", slack.bot_user))
        root = await slack.says("G1", "U2", "Ships moor at pier seven.")
        for begin in (slack.command("/ingest", "", "U1", "G1"), slack.shortcut("add_to_knowledge", "U1", root)):
            await begin
            view = await opened(slack, "U1")
            private.members.remove("U1")
            ahead[0] += MEMBERS_SECONDS
            said = (await slack.submits("U1", {"text": "Rubbish."} if "text" in fields(view) else {})).payload
            assert said is not None and "not in that channel" in str(said["errors"].values()).replace("am ", "")
            await slack.closes("U1")
            private.members.add("U1")  # and is back: what was known of the channel is asked anew
        await slack.wait_for_idle()
        assert not await here.data.documents.listed() and not slack.posted("G1")
        await slack.command("/ingest", "# Pier\n\nShips moor there.", "U1", "G1")
        await slack.wait_for(done(slack, "G1"))


def submitted_by_hand(slack: FakeSlack, user: str, view: View, **values: str) -> dict[str, Any]:
    """A submission with values that its modal does not offer."""
    state: dict[str, Any] = {name: {name: {"value": None}} for name in ("files", "text", "name", "link", "new")}
    state["text"]["text"]["value"] = values["text"]
    state["scope"] = {"scope": {"selected_option": {"value": values["scope"]}}}
    state["channel"] = {"channel": {"selected_conversation": values["channel"]}}
    shown = {**view.body, "id": view.id, "state": {"values": state}}
    return {"type": "view_submission", "user": {"id": user, "team_id": "T0TEAM"}, "view": shown}


async def test_a_modal_takes_only_files_of_whoever_fills_it_in(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path) as here:
        slack.world.add_channel("G1", "secret", kind="private", members=("U1", slack.bot_user))
        files = [slack.world.add_file(f"{user}.md", RULES, user) for user in ("U1", "U2")]
        await slack.says("G1", "U1", "", files=files[:1])
        await slack.command("/ingest", "", "U2", "C1")
        await opened(slack, "U2")
        gone = slack.world.add_file("gone.md", RULES, "U2", deleted=True)
        await slack.submits("U2", {"files": [*files, gone]})
        (message,) = await slack.wait_for(done(slack))
        assert "somebody else's file" in message.shown and "deleted in Slack" in message.shown
        assert [row.name for row in await here.data.documents.listed()] == ["U2.md"]


async def test_nothing_is_carried_out_of_a_private_channel_by_a_link(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path) as here:
        slack.world.add_user("UA", "admin", kind="admin")
        slack.world.channels["C1"].members.add("UA")
        slack.world.add_channel("G1", "secret", kind="private", members=("U1", "UA", slack.bot_user))
        secret = await slack.says("G1", "U1", "The whale starts in April.")
        link = f"https://loopback.slack.com/archives/G1/p{secret.replace('.', '')}"
        typed = await slack.command("/ingest", link, "U2", "C1")
        assert typed.payload and "not there, or it is in a channel" in typed.payload["text"]
        await slack.command("/ingest", "", "UA", "C1")
        await opened(slack, "UA")
        assert (await slack.submits("UA", {"link": link, "scope": "everyone"})).payload is None
        await slack.wait_for(done(slack, "G1", secret))
        (row,) = await here.data.documents.listed()
        assert row.scope == "place:slack:T0TEAM:G1" and not slack.posted("C1")


async def test_from_the_app_home_a_channel_is_chosen_that_both_are_in(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path) as here:
        slack.world.add_channel("C2", "others", members=("U1",))
        slack.world.add_channel("G3", "theirs", kind="private", members=("U2", slack.bot_user))
        await slack.opens_home("U1")
        await slack.wait_for(lambda: (slack.app.id, "U1") in slack.world.homes)
        await slack.presses("U1", slack.home("U1"), "kotae_home_ingest")
        assert "scope" not in fields(await opened(slack, "U1"))
        for channel in ("C2", "G3", "C404"):
            answer = (await slack.submits("U1", {"text": "Tea is at four.", "channel": channel})).payload
            assert answer is not None and "/invite" in answer["errors"]["channel"]
        assert (await slack.submits("U1", {"text": "Tea is at four.", "channel": "C1"})).payload is None
        await slack.wait_for(done(slack))
        assert [row.scope for row in await here.data.documents.listed()] == [TEAM]


# -- the shortcut ---------------------------------------------------------------------------------------------------


async def test_a_message_with_its_files_its_thread_or_alone_is_added_by_the_shortcut(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path) as here:
        slack.world.users["U2"].locale = "ja-JP"
        files = [slack.world.add_file(f"{'規程' * 120}-{n}.md", RULES, "U1") for n in range(10)]
        files[5].elsewhere = True
        root = await slack.says("C1", "U1", "Hello all " + "long " * 2_000, files=files)
        reply = await slack.says("C1", "U2", "Second thoughts.", thread=root)
        bare = slack.world.add_file("only.md", RULES, "U1")
        other = await slack.says("C1", "U1", "", files=[bare])
        same = await slack.says("C1", "U1", "Hello all " + "long " * 2_000)

        for number, (ts, shown, documents) in enumerate(
            (
                (root, "メッセージと返信、ファイル", 11),
                (reply, "メッセージとファイル", 12),
                (other, "only.md", 13),
                (same, "Hello all", 14),
            )
        ):
            await slack.shortcut("add_to_knowledge", "U2", ts)
            view = await opened(slack, "U2")
            assert shown in text_of(view) and "scope" in fields(view) and len(view.body["private_metadata"]) < 500
            assert (await slack.submits("U2", {})).payload is None
            thread = root if ts == reply else ts
            await slack.wait_for(done(slack, "C1", thread, count=2 if ts == reply else 1))
            assert len(await here.data.documents.listed()) == documents, number
        texts = kept_texts(tmp_path)
        assert (
            sum("Second thoughts." in text for text in texts) == 2 and sum("Hello all" in text for text in texts) == 2
        )
        message = progress(slack, "C1", root)[0]
        assert len(message.shown.splitlines()) == 13 and not slack.journal.errors()


async def test_what_the_bot_wrote_and_what_was_deleted_teaches_nothing(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path) as here:
        asked = await slack.says("C1", "U1", "@kotae How long do refunds take?")
        (answer,) = await slack.wait_for(lambda: [r for r in slack.replies(asked) if "30 days" in r.shown])
        await slack.shortcut("add_to_knowledge", "U1", answer.ts)
        await opened(slack, "U1")
        assert (await slack.submits("U1", {})).payload is None
        (message,) = await slack.wait_for(done(slack, "C1", asked))
        assert "what I have written myself does not count" in message.shown
        gone = await slack.says("C1", "U1", "Never mind.")
        await slack.says("C1", "U2", "What?", thread=gone)  # so that something is left of it
        await slack.shortcut("add_to_knowledge", "U1", gone)
        await opened(slack, "U1")
        await slack.deletes(gone)
        refused = (await slack.submits("U1", {})).payload
        assert refused is not None and "not there" in next(iter(refused["errors"].values()))
        assert not await here.data.documents.listed()


# -- what goes wrong ------------------------------------------------------------------------------------------------


async def test_an_intake_that_was_cut_short_goes_on_and_no_file_is_read_twice(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack:
        first, second = (slack.world.add_file(name, RULES, "U1") for name in ("first.md", "second.md"))
        second.serves = "hang"

        def downloads(file: File) -> int:
            return len(slack.journal.calls("download", file=file.id))

        async with taught(slack, tmp_path):
            await slack.command("/ingest", "", "U1", "C1")
            await opened(slack, "U1")
            await slack.submits("U1", {"files": [first, second]})
            await slack.wait_for(lambda: downloads(second))
            for task in asyncio.all_tasks():
                if task.get_name() == "slack-intake":
                    task.cancel()  # as a process that is shut down does in the end
        second.serves = "it"
        async with taught(slack, tmp_path) as here:
            (message,) = await slack.wait_for(done(slack))
            assert "first.md: added" in message.shown and "second.md: added" in message.shown
            await slack.wait_for_idle()
            assert len(progress(slack)) == 1 and not await here.bot.ingestion.unfinished("slack")
        assert (downloads(first), downloads(second)) == (1, 2)


async def test_where_the_bot_may_not_post_the_verdicts_go_to_whoever_asked(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path) as here:
        slack.world.add_channel("C2", "others", members=("U1",))
        await slack.command("/ingest", "", "U1", "C2")
        await opened(slack, "U1")
        await slack.submits("U1", {"text": "Tea is at four."})
        (said,) = await slack.wait_for(lambda: slack.whispers("U1"))
        assert "Tea is at four.md: added to documents" in said.shown and said.channel == "C2"
        assert not slack.posted("C2") and not await here.bot.ingestion.unfinished("slack")


async def test_the_verdicts_of_an_intake_that_cannot_be_shown_reach_their_asker_after_a_restart(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack:
        slack.world.add_channel("C2", "others", members=("U1",))
        file = slack.world.add_file("rules.md", RULES, "U1")
        file.serves = "hang"
        async with taught(slack, tmp_path):
            await slack.command("/ingest", "", "U1", "C2")
            await opened(slack, "U1")
            await slack.submits("U1", {"files": [file]})
            await slack.wait_for(lambda: slack.journal.calls("download", file=file.id))
            for task in asyncio.all_tasks():
                if task.get_name() == "slack-intake":
                    task.cancel()
        assert not slack.whispers("U1")
        file.serves = "it"
        async with taught(slack, tmp_path) as here:
            (said,) = await slack.wait_for(lambda: slack.whispers("U1"))
            assert "rules.md: added to documents" in said.shown and said.channel == "C2"
            await slack.wait_for_idle()
            assert len(slack.whispers("U1")) == 1 and not await here.bot.ingestion.unfinished("slack")


async def test_slack_failing_for_a_while_loses_no_verdict(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, look_every=0.1) as here:
        slack.fail("chat.update", error("invalid_blocks"))  # it cannot be shown, and never will be
        await slack.command("/ingest", "Tea is at four.", "U1", "C1")
        await slack.wait_for(lambda: [m for m in slack.whispers("U1") if "added to documents" in m.shown])
        await slack.wait_for_idle()
        assert len(slack.journal.calls("chat.update")) == 1 and not await here.bot.ingestion.unfinished("slack")


async def test_slack_being_slow_costs_neither_the_modal_nor_the_acknowledgement(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.slack.transport.acks.VIEW_SECONDS", 0.05)
    monkeypatch.setattr("adapters.slack.transport.acks.ACK_SECONDS", 0.05)
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path):
        slack.fail("users.info", slow(0.3), calls=[1])
        await slack.command("/ingest", "", "U1", "C1")
        await opened(slack, "U1", "Kotae")
        view = await opened(slack, "U1", "Add to knowledge")
        slack.fail("conversations.replies", slow(0.3))
        link = "https://loopback.slack.com/archives/C1/p1790000000000000"
        typed = await slack.command("/ingest", link, "U1", "C1")
        assert typed.acked and not typed.payload
        await slack.wait_for(lambda: [m for m in slack.whispers("U1") if "not there" in m.shown])
        assert not (await slack.submits("U1", {"link": link})).payload and view.closed
        await slack.wait_for(lambda: len(slack.whispers("U1")) == 2)


async def test_many_collections_and_long_names_fit_the_modal_and_the_message(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path) as here:
        for number in range(120):
            await here.data.collections.describe(f"{number:03} {'棚' * 76}", "x")
        files = [slack.world.add_file(f"{'<!channel>' * 25} {n}.exe", b"MZ\x00\x01" * 99, "U1") for n in range(10)]
        await slack.command("/ingest", "", "U1", "C1")
        view = await opened(slack, "U1")
        menu = next(block["element"] for block in view.body["blocks"] if block.get("block_id") == "collection")
        assert len(menu["options"]) == 100 and menu["initial_option"]["value"] == "documents"
        await slack.submits("U1", {"files": files, "new": "99 " + "棚" * 77})
        (message,) = await slack.wait_for(done(slack))
        assert len(message.shown.splitlines()) == 12 and not message.mentions and not slack.journal.errors()
        bad = [slack.world.add_file("a.md", RULES, "U1")]
        await slack.command("/ingest", "", "U1", "C1")
        await opened(slack, "U1")
        await slack.submits("U1", {"files": bad, "new": "a, b"})
        await slack.wait_for(lambda: [m for m in progress(slack) if "without commas" in m.shown])


# -- /kotae ---------------------------------------------------------------------------------------------------------

HOSTILE = "<!channel> <@U2> *x* https://evil.example/x & [y](https://evil.example/y) @here"


async def test_each_command_answers_only_its_author_in_their_language_and_pings_nobody(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path, misses) as here:
        slack.world.users["U2"].locale = "ja-JP"
        slack.world.add_channel("G1", "secret", kind="private", members=("U1", slack.bot_user))
        upload = Upload(
            f"{HOSTILE}.md", b"# Harbour\n\nRefunds take 30 days.\n", HOSTILE, TEAM, "U1", "https://ok.example/?a=1&b=2"
        )
        await here.bot.ingestion.add(upload)
        await here.bot.ingestion.add(Upload("secret.md", RULES, "whales", "place:slack:T0TEAM:G1", "U1"))
        for channel, text in (("C1", f"@kotae {HOSTILE}?"), ("G1", "@kotae When does the whale start?")):
            asked = await slack.says(channel, "U1", text)
            await slack.wait_for(partial(replied, slack, asked))

        async def told(text: str, user: str = "U1", channel: str = "C1") -> Message:
            before = len(slack.whispers(user))
            await slack.command("/kotae", text, user, channel)
            return (await slack.wait_for(lambda: slack.whispers(user)[before:]))[0]

        found = {
            text: await told(text)
            for text in (
                "",
                "help",
                "nonsense <!channel>",
                "unanswered",
                "documents",
                "collections",
                "settings",
                "search Refunds take 30 days",
                f"forget {HOSTILE}",
            )
        }
        assert found[""].shown == found["help"].shown and "no command" in found["nonsense <!channel>"].shown
        assert "1 asked in private places" in found["unanswered"].shown
        assert "evil.example" in found["documents"].shown and "whale" not in str(list(found.values()))
        ja = {text: await told(text, "U2") for text in ("HELP", "未回答", "文書　", "forget", "設定 steps off")}
        assert (
            "使い方" in ja["HELP"].shown
            and "非公開の場所で" in ja["未回答"].shown
            and "保存しました" in ja["設定 steps off"].shown
        )
        assert "secret.md" in (await told("documents", channel="G1")).shown
        for message in (*found.values(), *ja.values()):
            assert not message.mentions and message.ephemeral_to
            assert set(message.urls) <= {
                "https://ok.example/?a=1&b=2",
                *(link for link in message.urls if slack.url in link),
            }
        assert not slack.journal.errors() and slack.journal.acked_within(2.5)


async def test_a_command_that_comes_twice_is_done_once(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path) as here:
        await here.bot.ingestion.add(Upload("rules.md", RULES, "documents", TEAM, "U1"))
        delivery = await slack.command("/kotae", "forget rules.md", "U1", "C1")
        again = slack.sockets.send(slack.app, "slash_commands", delivery.body, answerable=True)
        await again.finished.wait()
        await slack.wait_for(lambda: slack.whispers("U1"))
        await slack.wait_for_idle()
        (said,) = slack.whispers("U1")
        assert "is deleted" in said.shown and again.acked


async def test_the_longest_card_is_cut_to_what_slack_takes() -> None:
    links = tuple(Link("thread", f"https://loopback.slack.com/archives/C1/p{number:060}") for number in range(5))
    rows = tuple(CardRow(f"{number}. {'問' * 300}", ("細" * 400, "x" * 400), links) for number in range(30))
    card = Card("T" * 200, ("概要" * 400,), rows, ("and 3 asked in private places",))
    _, blocks = card_blocks(card)
    check_message(blocks, "")
    text = shown(blocks, "")
    rows_shown = text.count("問" * 300)
    assert rows_shown >= 5 and f"… +{30 - rows_shown}\nand 3 asked" in text
    small = replace(card, rows=rows[:3])
    assert "… +" not in shown(card_blocks(small)[1], "")


async def test_guests_get_no_more_of_a_command_than_help(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path) as here:
        slack.world.add_user("U7", "gast", kind="guest")
        slack.world.channels["C1"].members.add("U7")
        await here.bot.ingestion.add(Upload("rules.md", RULES, "documents", TEAM, "U1"))
        for text in ("documents", "search refunds", "unanswered", "settings steps off", "forget rules.md"):
            await slack.command("/kotae", text, "U7", "C1")
        await slack.wait_for(lambda: len(slack.whispers("U7")) == 5)
        assert all("Only members of the team" in message.shown for message in slack.whispers("U7"))
        await slack.command("/kotae", "documents", "U1", "C1")  # a guest reads along
        (said,) = await slack.wait_for(lambda: slack.whispers("U1"))
        assert "rules.md" not in said.shown and await here.data.documents.listed()


async def test_what_is_forgotten_leaves_the_answers_that_quote_it(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, whole(slack, tmp_path) as (app, _):
        for name, text in (
            ("refunds.md", "# Refunds\n\nRefunds take thirty days.\n"),
            ("mugs.md", "# Mugs\n\nMugs are blue.\n"),
        ):
            await app.knowledge.add(Upload(name, text.encode(), "docs", TEAM, "U1"), "en")
        first = await slack.says("C1", "U1", "@kotae How long do refunds take?")
        second = await slack.says("C1", "U1", "@kotae What colour are mugs?")
        told = {first: "thirty days", second: "blue"}
        for thread, words in told.items():
            await slack.wait_for(
                lambda thread=thread, words=words: any(words in one.shown for one in slack.replies(thread)),  # type: ignore[misc]
                timeout=60,
            )
        await slack.wait_for_idle()
        await slack.command("/kotae", "forget refunds.md", "U1", "C1")
        await slack.wait_for(lambda: not any("thirty days" in one.shown for one in slack.replies(first)))
        assert any(WITHDRAWN.en in one.shown for one in slack.replies(first))
        assert any("blue" in one.shown for one in slack.replies(second))


async def test_a_form_that_slack_does_not_open_is_said_to_whoever_wanted_it(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path):
        slack.world.users["U2"].locale = "ja-JP"
        slack.fail("views.open", error("expired_trigger_id"))
        await slack.command("/ingest", "", "U1", "C1")
        (said,) = await slack.wait_for(lambda: slack.whispers("U1"))
        assert "did not open" in said.shown and said.channel == "C1"
        root = await slack.says("C1", "U1", "The key is under the mat.")
        await slack.shortcut("add_to_knowledge", "U2", root)
        (said,) = await slack.wait_for(lambda: slack.whispers("U2"))
        assert "フォームを開けませんでした" in said.shown and said.channel == "C1"
        await slack.opens_home("U1")
        await slack.wait_for(lambda: (slack.app.id, "U1") in slack.world.homes)
        await slack.presses("U1", slack.home("U1"), "kotae_home_ingest")
        (_, said) = await slack.wait_for(lambda: slack.whispers("U1")[1:] and slack.whispers("U1"))
        assert "did not open" in said.shown and said.channel == slack.dm("U1")


@pytest.mark.parametrize("fault", [status(503), CUT_BEFORE, error("expired_url")], ids=lambda each: each.kind)
async def test_a_command_is_answered_where_its_own_address_does_not_work(fault: Fault, tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path):
        slack.fail("response_url", fault)
        await slack.command("/kotae", "help", "U1", "C1")
        (said,) = await slack.wait_for(lambda: slack.whispers("U1"))
        assert "/kotae search" in said.shown and said.channel == "C1"


async def test_a_command_asks_once_who_somebody_is_while_slack_does_not_say(tmp_path: Path) -> None:
    async with FakeSlack(limits=False) as slack, taught(slack, tmp_path):
        slack.fail("users.info", page(503), where=lambda sent: sent["user"] == "U2")
        await slack.command("/kotae", "help", "U2", "C1")
        (said,) = await slack.wait_for(lambda: slack.whispers("U2"))
        assert "/kotae search" in said.shown
        assert sum(call.arguments["user"] == "U2" for call in slack.journal.calls("users.info")) == 5  # tries of one
