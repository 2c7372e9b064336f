"""Settled threads of a channel are documents, on each platform by its real client. Source: sources.md §1 (channel)."""

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest

from adapters.discord.transport.channel_history import PAGE
from bot.operations.retention import Person, forget
from bot.sources.base import PausedError, SourceError
from bot.store.qa_pairs import PairRows, Tracked
from bot.types import Place, Upload
from bot.waiting import beside
from retrieval.types import EVERYONE, TEAM, Hit
from tests.adapters.acting import until
from tests.adapters.talks import EDITOR, PLATFORMS, PUBLIC, Talk, talk
from tests.bot.broken import without
from tests.fakes.discord_fake import ANN, BEN, GUILD
from tests.fakes.discord_world import PRIVATE_THREAD
from tests.fakes.slack_gate import CUT_AFTER, Hold, error, held, ratelimited

EACH = pytest.mark.parametrize("platform", PLATFORMS)


@EACH
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
        assert row.said_in == here.name and row.scope == TEAM and row.url is not None
        assert quiet.replace(".", "") in row.url and row.changed_at is not None
        assert (await here.sync()).added == 0
        assert sum("source of answers" in text for text in here.announced()) == 1


@EACH
async def test_whoever_asked_or_an_editor_settles_a_thread(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here, here.running():
        roots = [await here.asks("ann", f"Question {n}?", ("ben", f"Answer {n}.")) for n in range(3)]
        await here.follow()
        for who, root in zip(("ann", "ben", "olga"), roots, strict=True):
            await here.checks(who, root)
        await here.heard()
        await here.sync()
        assert {*await here.documents()} == {"Question 0?", "Question 2?"}


@EACH
async def test_what_is_edited_and_deleted_changes_its_document(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here, here.running():
        root = await here.asks("ann", "Where is the key?")
        await here.opens(root)
        answer = await here.says("ben", "In room 4.", root)
        other = await here.asks("ben", "When is lunch?", ("ann", "At noon."))
        here.now.later(hours=25)
        await here.follow()
        await here.edits(answer, "In room 5.")
        await here.heard()
        assert (await here.sync()).replaced == 1
        assert "In room 5." in (await here.documents())["Where is the key?"]
        await here.retitles(root, "Where is the car?")
        await here.heard()
        await here.sync()
        assert {*await here.documents()} == {"Where is the car?", "When is lunch?"}
        await here.deletes(answer)
        await here.heard()
        assert (await here.sync()).removed == 1
        assert {*await here.documents()} == {"When is lunch?"}
        if platform in ("slack", "memory"):
            await here.deletes(other)
            await here.heard()
            await here.sync()
            assert await here.documents() == {}, "one person is left"


@EACH
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


async def follows_the_key(here: Talk) -> None:
    """Ann has asked, Ben has answered, and the channel is followed once that is settled."""
    await here.asks("ann", "Where is the key?", ("ben", "In room 4."))
    here.now.later(hours=25)
    await here.follow()


async def found(here: Talk) -> tuple[Hit, ...]:
    """By the team, of the thread about the key."""
    return (await here.library.knowledge.search("key", PUBLIC, min_relevance=0.0)).hits


@EACH
async def test_a_channel_that_becomes_private_narrows_before_the_next_answer(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here, here.running() as bot:
        await follows_the_key(here)
        (row,) = await here.library.documents.listed()
        here.library.knowledge.withheld = bot.sources.channels.withheld
        hits = await found(here)
        assert [hit.passage.said_in for hit in hits] == [here.name]
        await here.becomes_private()
        await here.heard()
        assert await found(here) == ()
        assert await here.library.knowledge.readable(hits, PUBLIC) == frozenset()
        with pytest.raises(LookupError):
            await here.library.knowledge.chunks(row.id, PUBLIC)
        await here.sync()
        (row,) = await here.library.documents.listed()
        assert (row.scope, (await here.source()).scope) == (here.scope, here.scope)


@EACH
@pytest.mark.parametrize("scope", ["place:slack:T1:C99", EVERYONE])
async def test_a_thread_whose_readers_somebody_has_changed_stays_one_document(
    platform: str, scope: str, tmp_path: Path
) -> None:
    """For fewer it stays; for more than the channel's readers it does not."""
    async with talk(platform, tmp_path) as here, here.running():
        root = await here.asks("ann", "Where is the key?", ("ben", "In room 4."))
        here.now.later(hours=25)
        await here.follow()
        (row,) = await here.library.documents.listed()
        assert await here.library.knowledge.rescope(row.id, scope, PUBLIC)
        await here.says("ben", "Not any more: in room 5.", root)
        await here.heard()
        here.now.later(hours=25)
        await here.sync()
        (now,) = await here.library.documents.listed()
        assert now.id == row.id and now.hash != row.hash
        assert now.scope == (TEAM if scope == EVERYONE else scope)


@EACH
async def test_a_channel_that_becomes_private_without_the_bot_is_the_team_s_no_more(
    platform: str, tmp_path: Path
) -> None:
    async with talk(platform, tmp_path) as here, here.running() as bot:
        await follows_the_key(here)
        await here.shuts_the_bot_out()
        await here.heard()
        here.library.knowledge.withheld = bot.sources.channels.withheld
        assert await found(here) == ()
        with pytest.raises(PausedError, match="I am not in"):
            await here.sync()
        here.library.knowledge.withheld = None
        assert await found(here) == ()
        (row,) = await here.library.documents.listed()
        assert row.scope.startswith("place:") and (await here.source()).scope == row.scope


@EACH
async def test_a_channel_that_the_bot_was_removed_from_pauses_and_keeps_what_it_had(
    platform: str, tmp_path: Path
) -> None:
    async with talk(platform, tmp_path) as here, here.running() as bot:
        await follows_the_key(here)
        here.library.knowledge.withheld = bot.sources.channels.withheld
        await here.removes_the_bot()
        await here.heard()
        with pytest.raises(PausedError, match="I am not in"):
            await here.sync()
        source = await here.source()
        assert source.state == "paused" and source.trouble is not None and "Invite me" in source.trouble.en
        hits = await found(here)
        assert [hit.passage.said_in for hit in hits] == [here.name], "everybody reads it still"


@pytest.mark.parametrize("platform", ["slack", "discord", "forum"])
async def test_a_channel_that_becomes_private_is_the_team_s_no_more_at_once(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here, here.running() as bot:
        await follows_the_key(here)
        await here.becomes_private()
        await here.heard()
        assert (await here.source()).due_at <= here.now()
        async with beside(bot.sources.watch(), "watch"):
            await until(here.source, lambda one: one.scope == here.scope)
        assert await here.library.knowledge.documents(PUBLIC) == []


@EACH
async def test_a_paused_channel_that_becomes_private_is_the_team_s_no_more(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here, here.running() as bot:
        await follows_the_key(here)
        await bot.sources.pause(EDITOR, "talk", PUBLIC)
        await here.becomes_private()
        await here.heard()
        async with beside(bot.sources.watch(), "watch"):
            await until(here.source, lambda one: one.scope == here.scope)
        assert await here.library.knowledge.documents(PUBLIC) == []
        assert (await here.source()).state == "paused" and len(await here.documents()) == 1


@EACH
async def test_pairs_of_a_thread_are_for_its_readers_of_now(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here, here.running() as bot:
        await follows_the_key(here)
        (row,) = await here.library.documents.listed()
        here.library.knowledge.withheld = bot.sources.channels.withheld
        pair = json.dumps([{"question": "Where is the key?", "answer": "In room 4."}]).encode()
        made = Upload("Q&A: key.json", pair, row.collection, TEAM, "kotae", row.url, said_in=row.said_in)
        added = await here.library.knowledge.add(made, "en")
        tracked = Tracked(row.id, 0, row.collection, TEAM, made.name, added.document_id)
        await PairRows(here.library.engine).track(tracked)
        assert {hit.passage.document for hit in await found(here)} == {row.name, made.name}
        await here.becomes_private()
        await here.heard()
        assert await found(here) == ()


async def test_outsiders_are_left_out_and_pause_the_source(tmp_path: Path) -> None:
    async with talk("slack", tmp_path) as here, here.running():
        await follows_the_key(here)
        here.fake.world.add_user("U4", "guest", kind="guest")
        here.fake.world.channels["C1"].members.add("U4")
        await here.asks("ann", "What does it cost?", ("guest", "Nothing."))
        here.now.later(hours=25)
        with pytest.raises(PausedError, match="outside the team"):
            await here.sync()
        assert (await here.source()).state == "paused" and len(await here.documents()) == 1
        here.fake.world.channels["C1"].members.discard("U4")
        await here.sync()
        assert {*await here.documents()} == {"Where is the key?"}, "one of two is a guest"


async def test_a_channel_with_a_guest_that_becomes_private_is_the_team_s_no_more(tmp_path: Path) -> None:
    async with talk("slack", tmp_path) as here, here.running() as bot:
        await follows_the_key(here)
        here.library.knowledge.withheld = bot.sources.channels.withheld
        here.fake.world.add_user("U4", "guest", kind="guest")
        here.fake.world.channels["C1"].members.add("U4")
        assert len(await found(here)) == 1, "the team reads it, too"
        await here.becomes_private()
        await here.heard()
        assert await found(here) == ()
        with pytest.raises(PausedError, match="outside the team"):
            await here.sync()
        assert (await here.source()).scope == here.scope and len(await here.documents()) == 1


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


# -- while it is read, and after nobody heard what was said ------------------------------------------------------------


async def threads(here: Talk, n: int) -> list[str]:
    return [await here.asks("ann", f"Question {at}?", ("ben", f"Answer {at}.")) for at in range(n)]


async def test_what_is_cut_short_goes_on_and_reads_nothing_twice(tmp_path: Path) -> None:
    async with talk("slack", tmp_path, limits=False) as here:
        roots = await threads(here, 60)
        here.now.later(days=40)
        hold = Hold()
        async with here.running():
            here.fake.fail("conversations.replies", held(hold), calls=[50])
            backfill = asyncio.create_task(here.follow())
            await hold.reached.wait()
            backfill.cancel()
            hold.released.set()
            await asyncio.gather(backfill, return_exceptions=True)
        there = len(await here.documents())
        assert 40 <= there < 60
        here.fake.heal()
        async with here.running():
            await here.sync()
            assert len(await here.documents()) == 60
        read = Counter(str(each.arguments["ts"]) for each in here.fake.journal.calls("conversations.replies"))
        assert {*read} == {*roots} and sum(read.values()) <= 61, "but the one that was cut short"


async def test_what_changes_while_a_thread_is_read_is_read_again(tmp_path: Path) -> None:
    async with talk("slack", tmp_path) as here, here.running():
        root = await here.asks("ann", "Where is the key?")
        answer = await here.says("ben", "In room 4.", root)
        here.now.later(hours=25)
        hold = Hold()
        here.fake.fail("conversations.replies", held(hold, done=True), calls=[1])
        backfill = asyncio.create_task(here.follow())
        await hold.reached.wait()
        before = (await here.pages())[root].due_at
        await here.fake.edits(answer, "In room 5.")
        await until(here.pages, lambda pages: pages[root].due_at != before)
        hold.released.set()
        await backfill
        here.now.later(seconds=10)
        await here.sync()
        assert "In room 5." in (await here.documents())["Where is the key?"]


async def test_half_a_listing_removes_nothing_and_goes_on(tmp_path: Path) -> None:
    async with talk("slack", tmp_path, limits=False) as here, here.running():
        here.fake.server.methods.history_page = 3
        roots = await threads(here, 8)
        here.now.later(hours=25)
        await here.follow()
        assert len(await here.documents()) == 8
        gone = here.fake.message(roots[0])
        for one in (gone, *here.fake.world.thread("C1", roots[0])):
            one.deleted = True  # and no event tells
        here.now.later(days=8)
        here.fake.fail("conversations.history", error("fatal_error"), calls=range(2, 9))
        with pytest.raises(SourceError):
            await here.sync()
        here.fake.heal()
        assert len(await here.documents()) == 8
        listed = len(here.fake.journal.calls("conversations.history"))
        assert (await here.sync()).removed == 1
        assert len(here.fake.journal.calls("conversations.history")) - listed == 2, "from where it was"
        assert "Question 0?" not in await here.documents()


async def test_many_threads_that_are_gone_wait_for_a_word(tmp_path: Path) -> None:
    async with talk("slack", tmp_path, limits=False) as here, here.running() as bot:
        await threads(here, 50)
        here.now.later(hours=25)
        await here.follow()
        for message in [*here.fake.world.messages.values()][: 2 * 45]:
            message.deleted = True
        here.now.later(days=8)
        assert (await here.sync()).gone == 45
        assert (await here.source()).state == "asks" and len(await here.documents()) == 50
        with pytest.raises(SourceError, match="cannot be kept without its source"):
            await bot.sources.resume(EDITOR, "talk", PUBLIC, "keep")
        assert (await here.source()).state == "asks"
        await here.fake.edits([*here.fake.world.messages][99][1], "Edited while it waits.")
        await here.heard()
        await bot.sources.resume(EDITOR, "talk", PUBLIC, "forget")
        left = await here.documents()
        assert len(left) == 5 and "Edited while it waits." in left["Question 49?"]


@EACH
async def test_words_are_not_kept_without_the_channel_that_they_follow(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here, here.running() as bot:
        await follows_the_key(here)
        with pytest.raises(SourceError) as refused:
            await bot.sources.remove(EDITOR, "talk", PUBLIC, keep=True)
        assert "cannot be kept" in refused.value.said.en and "残せません" in refused.value.said.ja
        assert (await here.source()).state == "on" and len(await here.documents()) == 1
        assert await bot.sources.remove(EDITOR, "talk", PUBLIC, keep=False) == 1


@EACH
async def test_after_an_outage_what_was_said_lately_is_compared_and_weekly_all(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here:
        async with here.running():
            root = await here.asks("ann", "Where is the key?")
            await here.opens(root)
            answer = await here.says("ben", "In room 4.", root)
            here.now.later(hours=25)
            await here.follow()
        await here.edits(answer, "In room 5.")
        async with here.running():
            await here.heard()  # what Discord's adapter catches up with is read when its burst is over
            await here.sync()
            assert "In room 5." in (await here.documents())["Where is the key?"]
            await here.archives(root)
            here.now.later(days=40)
            await here.sync()
        await here.edits(answer, "In room 6.")
        async with here.running():
            await here.sync()
            assert "In room 5." in (await here.documents())["Where is the key?"], "older than what is compared"
            here.now.later(days=8)
            await here.sync()
            assert "In room 6." in (await here.documents())["Where is the key?"]


async def test_each_of_several_processes_that_hear_all_compares_once(tmp_path: Path) -> None:
    async with talk("memory", tmp_path) as here, here.running():
        here.fake.heard = "one"
        root = await here.asks("ann", "Where is the key?", ("ben", "In room 4."))
        here.now.later(hours=25)
        await here.follow()
        answer = next(each for each in here.fake.messages.values() if each.thread == root and each.id != root)
        for heard, room in {"another": 5, "one": 5, "a third": 7}.items():
            answer.text = f"In room {room + (heard == 'one')}."  # nobody is told
            here.fake.heard = heard
            await here.sync()
            assert f"In room {room}." in (await here.documents())["Where is the key?"], heard


@pytest.mark.parametrize("platform", ["slack", "discord", "forum"])
async def test_what_is_said_while_the_database_takes_nothing_is_followed_afterwards(
    platform: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with talk(platform, tmp_path) as here, here.running():
        root = await here.asks("ann", "Where is the key?")
        await here.opens(root)
        answer = await here.says("ben", "In room 4.", root)
        here.now.later(hours=25)
        await here.follow()
        async with without(here.library.engine, "followed_pages"):
            await here.deletes(answer)

            async def refused() -> bool:
                return "could not be stored" in caplog.text

            await until(refused)

        await until(here.pages, lambda found: any(page.due_at for page in found.values()))
        await here.heard()
        assert (await here.sync()).removed == 1 and await here.documents() == {}


@EACH
async def test_a_person_who_is_erased_is_gone_from_there_and_stays_out(platform: str, tmp_path: Path) -> None:
    async with talk(platform, tmp_path) as here, here.running() as bot:
        await here.asks("ann", "Where is the key?", ("ben", "In room 4."), ("olga", "Or with me."))
        here.now.later(hours=25)
        await here.follow()
        gone = await forget(here.library.engine, tmp_path / "chat.log", Person.named(here.person("ben")))
        assert gone.erased.threads == 1 and "read again" in gone.text("en") and "読み直します" in gone.text("ja")
        await bot.sources.silence()
        assert await here.documents() == {}
        here.now.later(days=8)
        await here.sync()
        ((_, said),) = (await here.documents()).items()
        assert "room 4" not in said and "Or with me." in said


async def test_what_people_do_is_followed_by_itself_and_what_they_did_meanwhile(tmp_path: Path) -> None:
    async with talk("slack", tmp_path) as here, here.running() as bot:
        root = await here.asks("ann", "Where is the key?")
        answer = await here.says("ben", "In room 4.", root)
        here.now.later(hours=25)
        await bot.sources.follow(EDITOR, Place("slack", "T0TEAM", "C1"), "talk")
        watch = asyncio.create_task(bot.sources.watch())
        await until(here.documents)
        await here.fake.edits(answer, "In room 5.")
        await here.heard()
        await until(here.documents, lambda found: "room 5" in found["Where is the key?"])
        await bot.sources.pause(EDITOR, "talk", PUBLIC)
        await here.fake.edits(answer, "In room 6.")
        await here.heard()
        await bot.sources.resume(EDITOR, "talk", PUBLIC)
        await until(here.documents, lambda found: "room 6" in found["Where is the key?"])
        await bot.sources.hears("slack:U2", False)
        assert await here.documents() == {}
        watch.cancel()
        await asyncio.gather(watch, return_exceptions=True)


async def test_what_slack_limits_is_waited_for(tmp_path: Path) -> None:
    async with talk("slack", tmp_path) as here, here.running():
        await threads(here, 3)
        here.now.later(hours=25)
        here.fake.fail("conversations.replies", ratelimited(1), calls=[2])
        here.fake.fail("conversations.history", ratelimited(1), calls=[1])
        assert (await here.follow()).added == 3


async def test_without_the_message_content_intent_discord_says_what_to_do(tmp_path: Path) -> None:
    async with talk("discord", tmp_path, intents=0) as here, here.running():
        with pytest.raises(SourceError, match="Message Content Intent"):
            await here.follow()


# -- forums and private threads of Discord ------------------------------------------------------------------------------


def channel(here: Talk) -> str:
    return here.location.partition(":")[2]


async def test_a_forum_is_read_back_page_by_page_with_its_archived_posts(tmp_path: Path) -> None:
    async with talk("forum", tmp_path, limits=False) as here, here.running():
        roots = await threads(here, PAGE + 12)
        for root in roots[10:]:
            await here.archives(root)
        here.now.later(hours=25)
        assert (await here.follow()).pages == PAGE + 12 == len(await here.documents())
        asked = [
            each.query.get("before")
            for each in here.fake.journal.calls("GET /channels/{channel}/threads/archived/public")
        ]
        assert len(asked) == 2 and asked[0] is None and asked[1] is not None
        await here.says("ben", "Not any more.", roots[-1])  # which opens it again
        await here.fake.deletes(*(one.id for one in here.fake.thread(roots[-2])[-2:]))  # in one that stays closed
        await here.heard()
        here.now.later(hours=25)
        report = await here.sync()
        assert (report.replaced, report.removed) == (1, 1)


async def test_a_private_thread_is_not_read_archived_or_not(tmp_path: Path) -> None:
    async with talk("discord", tmp_path) as here, here.running() as bot:
        for archived in (False, True):
            secret = here.fake.world.add_thread(here.fake.place(channel(here)), "Secret", ANN, kind=PRIVATE_THREAD)
            secret.people |= {BEN, here.fake.bot_user}
            for who in ("ann", "ben"):
                await here.fake.says(channel(here), who, "Our secret.", thread=secret.id)
            if archived:
                await here.archives(secret.id)
            here.now.later(hours=25)
            report = await here.follow()
            await bot.sources.channels.stir(Place("discord", GUILD, channel(here)), secret.id)  # whoever says so
            await here.heard()
            await here.sync()
            assert (report.pages, await here.documents()) == (0, {})


async def test_a_post_that_is_deleted_takes_its_document_along(tmp_path: Path) -> None:
    async with talk("forum", tmp_path) as here, here.running():
        root, _ = [await here.asks("ann", text, ("ben", "Yes.")) for text in ("Is it open?", "Is it far?")]
        here.now.later(hours=25)
        await here.follow()
        await here.fake.removes(root)
        await here.heard()
        await here.sync()
        assert {*await here.documents()} == {"Is it far?"}


@pytest.mark.parametrize("lost", [False, True])
async def test_a_forum_is_told_by_one_post_with_a_tag_where_it_takes_one(tmp_path: Path, lost: bool) -> None:
    async with talk("forum", tmp_path) as here:
        place = here.fake.place(channel(here))
        place.tags, place.requires_tag = {"51": "news"}, True
        async with here.running() as bot:
            if lost:
                here.fake.fail("POST /channels/{channel}/threads", CUT_AFTER, calls=[1])
            there = await bot.sources.channels.find("discord:help")
            await bot.sources.follow(EDITOR, there.place, "talk")
            await here.sync()
            await bot.sources.remove(EDITOR, "talk", PUBLIC, keep=False)
            await here.follow()
        (post,) = [each for each in here.fake.world.channels.values() if each.parent == place.id]
        assert (post.name, post.applied_tags) == ("This channel is a source of answers now", ["51"])
        (told,) = here.announced()
        assert "/history" in told


async def test_it_is_switched_on_in_the_channel_by_an_editor(tmp_path: Path) -> None:
    async with talk("slack", tmp_path) as here, here.running():
        await here.fake.command("/kotae", "sources follow", "U1", "C1")
        await here.fake.wait_for(lambda: "Only an editor" in str([one.shown for one in here.fake.whispers("U1")]))
        await here.fake.command("/kotae", "同期 追加", "U3", "C1")
        await here.fake.wait_for(
            lambda: "“general” is followed" in str([one.shown for one in here.fake.whispers("U3")])
        )
        assert (await here.source()).location == "slack:C1"
        await here.fake.command("/kotae", "history off", "U1", "C1")
        await here.fake.wait_for(lambda: "Nothing that you say" in str([one.shown for one in here.fake.whispers("U1")]))
