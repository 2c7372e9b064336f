"""Settled threads of a channel are documents, on each platform by its real client. Source: sources.md §1 (channel)."""

from pathlib import Path

import pytest

from bot.types import Place
from retrieval.types import TEAM
from tests.adapters.talks import PLATFORMS, PUBLIC, talk

BOTH = pytest.mark.parametrize("platform", PLATFORMS)


@BOTH
async def test_a_settled_thread_is_a_document_and_others_are_none(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here, here.running():
        quiet = await here.asks("ann", "Where is the key?", ("ben", "In room 4, my token is xoxb-1234567890-abc."))
        await here.asks("ann", "Anybody there?", ("ann", "Hello?"))  # nobody but her
        await here.asks("ann", "Is it open?", ("robot", "It is."))  # a bot is nobody
        await here.asks("ann", "Alone.")
        report = await here.follow()
        assert (report.added, await here.documents()) == (0, {})
        here.now.later(hours=23)
        assert (await here.sync()).added == 0
        here.now.later(hours=2)
        assert (await here.sync()).added == 1
        ((title, said),) = (await here.documents()).items()
        assert title == "Where is the key?"
        assert "**ann** (" in said and "In room 4" in said and "xoxb" not in said and "[redacted]" in said
        (row,) = await here.library.documents.listed()
        assert row.said_in == "#general" and row.scope == TEAM and row.url is not None
        assert quiet.replace(".", "") in row.url and row.changed_at == f"{here.now().date()}"[:8] + row.changed_at[-2:]
        assert (await here.sync()).added == 0
        posted = [each.shown for each in here.fake.posted("C1" if here.on_slack else "general")]
        assert sum("source of answers" in text for text in posted) == 1


@BOTH
async def test_whoever_asked_or_an_editor_settles_a_thread(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here, here.running():
        roots = [await here.asks("ann", f"Question {n}?", ("ben", f"Answer {n}.")) for n in range(3)]
        await here.follow()
        for who, root in zip(("ann", "ben", "olga"), roots, strict=True):
            await here.checks(who, root)
        await here.heard()
        await here.sync()
        assert {*await here.documents()} == {"Question 0?", "Question 2?"}


@BOTH
async def test_what_is_edited_and_deleted_changes_its_document(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here, here.running():
        root = await here.asks("ann", "Where is the key?")
        if not here.on_slack:
            await here.fake.starts_thread("ann", root, "key")
        answer = await here.says("ben", "In room 4.", root)
        other = await here.asks("ben", "When is lunch?", ("ann", "At noon."))
        here.now.later(hours=25)
        await here.follow()
        await here.fake.edits(answer, "In room 5.")
        await here.heard()
        assert (await here.sync()).replaced == 1
        assert "In room 5." in (await here.documents())["Where is the key?"]
        await here.fake.deletes(answer)
        await here.heard()
        assert (await here.sync()).removed == 1
        assert {*await here.documents()} == {"When is lunch?"}
        if here.on_slack:
            await here.fake.deletes(other)
            await here.heard()
            await here.sync()
            assert await here.documents() == {}, "one person is left"


@BOTH
async def test_who_does_not_want_to_be_found_is_left_out_at_once(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here, here.running() as bot:
        await here.asks("ann", "Where is the key?", ("ben", "In room 4."), ("olga", "Or with me."))
        await here.asks("ann", "When is lunch?", ("ben", "At noon."))
        here.now.later(hours=25)
        await here.follow()
        assert len(await here.documents()) == 2
        assert not await bot.sources.hears(here.person("ben"), False)
        assert await here.documents() == {}, "nobody waits for the platform"
        await here.sync()
        ((title, said),) = (await here.documents()).items()
        assert title == "Where is the key?" and "room 4" not in said and "Or with me." in said
        assert await bot.sources.hears(here.person("ben"), True)
        await here.sync()
        assert len(await here.documents()) == 2


@BOTH
async def test_a_channel_that_becomes_private_narrows_before_the_next_answer(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here, here.running() as bot:
        await here.asks("ann", "Where is the key?", ("ben", "In room 4."))
        here.now.later(hours=25)
        await here.follow()
        (row,) = await here.library.documents.listed()
        here.library.knowledge.withheld = bot.sources.channels.withheld
        found = await here.library.knowledge.search("key", PUBLIC, min_relevance=0.0)
        assert [hit.passage.said_in for hit in found.hits] == ["#general"]
        await here.becomes_private()
        await here.heard()
        assert (await here.library.knowledge.search("key", PUBLIC, min_relevance=0.0)).hits == ()
        assert await here.library.knowledge.readable(found.hits, PUBLIC) == frozenset()
        await here.sync()
        (row,) = await here.library.documents.listed()
        assert (row.scope, (await here.source()).scope) == (here.scope, here.scope)


@BOTH
async def test_a_channel_that_the_bot_was_removed_from_pauses_and_keeps_what_it_had(
    platform: str, tmp_path: Path
) -> None:
    async with talk(platform, tmp_path) as here, here.running():
        await here.asks("ann", "Where is the key?", ("ben", "In room 4."))
        here.now.later(hours=25)
        await here.follow()
        await here.removes_the_bot()
        await here.heard()
        with pytest.raises(Exception, match="I am not in"):
            await here.sync()
        source = await here.source()
        assert source.state == "paused" and source.trouble is not None and "Invite me" in source.trouble.en
        assert len(await here.documents()) == 1


async def test_outsiders_are_left_out_and_pause_the_source(tmp_path: Path) -> None:
    async with talk("slack", tmp_path) as here, here.running():
        await here.asks("ann", "Where is the key?", ("ben", "In room 4."))
        here.now.later(hours=25)
        await here.follow()
        here.fake.world.add_user("U4", "guest", kind="guest")
        here.fake.world.channels["C1"].members.add("U4")
        await here.asks("ann", "What does it cost?", ("guest", "Nothing."))
        here.now.later(hours=25)
        with pytest.raises(Exception, match="outside the team"):
            await here.sync()
        assert (await here.source()).state == "paused" and len(await here.documents()) == 1
        here.fake.world.channels["C1"].members.discard("U4")
        await here.sync()
        assert {*await here.documents()} == {"Where is the key?"}, "one of two is a guest"


async def test_a_thread_that_is_marked_at_a_reply_is_found_by_it(tmp_path: Path) -> None:
    async with talk("slack", tmp_path) as here, here.running():
        root = await here.asks("ann", "Where is the key?")
        await here.follow()
        answer = await here.says("ben", "In room 4.", root)
        await here.checks("ann", answer)
        await here.heard()
        await here.sync()
        assert {*await here.documents()} == {"Where is the key?"}
        await here.fake.unreacts("U1", answer, "white_check_mark")
        await here.heard()
        await here.sync()
        assert await here.documents() == {}


async def test_a_place_that_is_not_followed_is_not_read(tmp_path: Path) -> None:
    async with talk("slack", tmp_path) as here, here.running() as bot:
        await here.asks("ann", "Where is the key?", ("ben", "In room 4."))
        await bot.sources.channels.stir(Place("slack", "T0TEAM", "C1"), "1.0")
        await here.fake.wait_for_idle()
        assert not here.fake.journal.calls("conversations.history")
