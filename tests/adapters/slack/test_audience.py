"""Who reads a place and who somebody is: asked of Slack, closed when it does not say."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from adapters.shared.attachments import FILES
from adapters.slack.audience import NEW, Places
from adapters.slack.context import SlackContext
from adapters.slack.thread_context import HEARD, ThreadContext
from adapters.slack.transport.api import SlackApi
from adapters.slack.transport.directory import MEMBERS_SECONDS, Cached
from adapters.slack.transport.errors import UnreachableError
from bot.bot import Bot
from bot.types import OUTSIDERS, PRIVATE, PUBLIC, UNKNOWN, Audience, Incoming
from bot.waiting import Sleep
from tests.fakes.slack import FakeSlack
from tests.fakes.slack_gate import Hold, error, held, slow
from tests.fakes.slack_world import OTHER_TEAM, TEAM, World


@asynccontextmanager
async def looking(
    *, clock: Callable[[], float] = time.monotonic, sleep: Sleep = asyncio.sleep, **how: Any
) -> AsyncIterator[tuple[FakeSlack, Places]]:
    async with (
        FakeSlack(limits=False, **how) as slack,
        SlackApi(slack.bot_token, slack.api_url, clock=clock, sleep=sleep) as client,
    ):
        await client.identify()
        yield slack, Places(client)


def workspace(world: World, bot: str) -> None:
    """A guest, a stranger, an admin, somebody who has left, another bot, and each kind of place."""
    world.add_user("U3", "gast", kind="guest")
    world.add_user("U4", "some-channels", kind="restricted")
    world.add_user("U5", "fremd", kind="stranger")
    world.add_user("U6", "chef", kind="admin")
    world.add_user("U7", "gone", kind="deleted")
    world.add_user("U8", "robot", kind="bot")
    world.add_channel("C2", "guests", members=("U1", "U3", bot))
    world.add_channel("C3", "connect", members=("U1", "U5", bot), ext_shared=True)
    world.add_channel("C4", "robots", members=("U1", "U7", "U8", bot))
    world.add_channel("C5", "elsewhere", members=("U2",))
    world.add_channel("G1", "private", kind="private", members=("U1", bot))
    world.add_channel("G2", "private-guests", kind="private", members=("U1", "U4", bot))
    world.add_channel("G3", "not-ours", kind="private", members=("U1",))
    world.add_channel("M1", "", kind="mpim", members=("U1", "U2", bot))
    world.add_channel("M2", "", kind="mpim", members=("U1", "U3", bot))


def many(world: World, channel: str, name: str) -> None:
    """More new members of a channel than are looked up one by one."""
    for number in range(NEW + 1):
        world.add_user(f"{name}{number}")
        world.channels[channel].members.add(f"{name}{number}")


async def test_who_reads_a_place() -> None:
    async with looking() as (slack, places):
        workspace(slack.world, slack.bot_user)
        direct = {user: slack.dm(user) for user in ("U1", "U3", "U5")}
        for channel, author, audience in (
            ("C1", "U1", PUBLIC),
            ("C1", None, PUBLIC),
            ("C4", "U1", PUBLIC),
            ("C5", "U1", PUBLIC),
            ("C1", "U3", OUTSIDERS),
            ("C1", "U4", OUTSIDERS),
            ("C1", "U5", OUTSIDERS),
            ("C2", "U1", OUTSIDERS),
            ("C3", "U1", OUTSIDERS),
            ("G1", "U1", PRIVATE),
            ("G2", "U1", OUTSIDERS),
            ("G3", "U1", UNKNOWN),
            ("M1", "U1", PRIVATE),
            ("M2", "U1", OUTSIDERS),
            (direct["U1"], "U1", PRIVATE),
            (direct["U3"], "U3", OUTSIDERS),
            (direct["U5"], None, OUTSIDERS),
            ("C404", "U1", UNKNOWN),
            ("C1", "U404", UNKNOWN),
        ):
            assert await places.audience(channel, author) == audience, (channel, author)
        assert await places.audience("C1", "U1", stranger=True) == OUTSIDERS


async def test_of_an_organisation_the_workspaces_of_an_account_decide() -> None:
    async with looking() as (slack, places):
        for number, (team, teams) in enumerate(
            [("", (TEAM, OTHER_TEAM)), (OTHER_TEAM, (OTHER_TEAM, TEAM)), ("", (OTHER_TEAM,)), (TEAM, (TEAM,))]
        ):
            slack.world.add_user(f"W{number}", team=team, teams=teams)
            slack.world.add_channel(f"CW{number}", members=("U1", f"W{number}", slack.bot_user))
        roles = [(await places.actor(f"W{number}")).role for number in range(4)]
        assert roles == ["member", "member", "outsider", "member"]
        read = [await places.audience(f"CW{number}", "U1") for number in range(4)]
        assert read == [PUBLIC, PUBLIC, OUTSIDERS, PUBLIC]


async def test_the_bot_is_no_member_to_be_looked_up() -> None:
    """Whether the list of people has the app's own user does not matter: it was only just installed, or is on no
    page."""
    async with looking() as (slack, places):
        assert slack.bot_user in slack.world.channels["C1"].members
        del slack.world.users[slack.bot_user]
        assert await places.audience("C1", "U1") == PUBLIC
        assert not [one for one in slack.journal.calls("users.info") if one.arguments["user"] == slack.bot_user]


async def test_a_guest_who_joins_changes_who_reads_a_place_within_half_a_minute() -> None:
    now = [0.0]
    async with looking(clock=lambda: now[0]) as (slack, places):
        many(slack.world, "C1", "UM")
        assert await places.audience("C1", "U1") == PUBLIC
        slack.world.add_user("U3", "gast", kind="guest")  # after everybody's account was looked up
        slack.world.channels["C1"].members.add("U3")
        now[0] += MEMBERS_SECONDS
        assert await places.audience("C1", "U1") == OUTSIDERS
        slack.world.channels["C1"].members.remove("U3")
        now[0] += MEMBERS_SECONDS
        assert await places.audience("C1", "U1") == PUBLIC
        many(slack.world, "C1", "UN")
        now[0] += MEMBERS_SECONDS
        assert await places.audience("C1", "U1") == UNKNOWN


async def test_where_a_workspace_is_too_large_to_be_listed_the_members_of_small_channels_are_looked_up() -> None:
    now = [0.0]

    async def passes(seconds: float) -> None:
        now[0] += seconds

    async with looking(clock=lambda: now[0], sleep=passes) as (slack, places):
        workspace(slack.world, slack.bot_user)
        many(slack.world, "C5", "UM")
        slack.world.channels["C5"].members.add(slack.bot_user)
        slack.world.users |= {f"UX{n:05}": replace(slack.world.users["U7"], id=f"UX{n:05}") for n in range(30_000)}
        found = {channel: await places.audience(channel, "U1") for channel in ("C1", "C2", "G1", "G2")}
        assert found == {"C1": PUBLIC, "C2": OUTSIDERS, "G1": PRIVATE, "G2": OUTSIDERS}
        assert len(slack.journal.calls("users.list")) == 1
        for _ in range(2):
            assert await places.audience("C5", "U1") == UNKNOWN
        assert len(slack.journal.calls("users.list")) == 1 + 30  # it is not tried each time


@pytest.mark.parametrize("method", ["users.info", "users.list", "conversations.info", "conversations.members"])
@pytest.mark.parametrize("code", ["missing_scope", "unknown_method"])
async def test_what_slack_does_not_say_is_unknown_unless_it_has_no_such_thing(method: str, code: str) -> None:
    async with looking() as (slack, places):
        workspace(slack.world, slack.bot_user)
        if method == "users.list":
            many(slack.world, "C1", "UM")
        slack.fail(method, error(code))
        expected = {True: UNKNOWN, False: PUBLIC}[code == "missing_scope"]
        assert await places.audience("C1", "U1") == expected
        if method == "conversations.info" and code == "unknown_method":
            assert await places.audience("D1", "U1") == PRIVATE and await places.audience("G1", "U1") == UNKNOWN


async def test_who_somebody_is() -> None:
    async with looking() as (slack, places):
        workspace(slack.world, slack.bot_user)
        roles = {user: (await places.actor(user)).role for user in ("U1", "U3", "U4", "U5", "U6", "U404")}
        assert roles == {"U1": "member", "U6": "editor", **dict.fromkeys(("U3", "U4", "U5", "U404"), "outsider")}
        assert (await places.actor("U6", stranger=True)).role == "outsider"
        assert (await places.actor("U7")).role == "outsider"  # has left, and was a member when they said what they did
        assert await places.role("U7") == "member" and not await places.is_member("C1", "U7")
        slack.world.users["U2"].locale = "ja-JP"
        assert [await places.language(user) for user in ("U1", "U2", "U404")] == ["en", "ja", None]
        assert (
            await places.named("@U1 and @U2, not me@U1 nor @U404 or @U12")
            == "@ann and @ben, not me@U1 nor @U404 or @U12"
        )


async def test_a_name_is_what_people_see_of_it_and_the_id_where_there_is_none() -> None:
    async with looking() as (slack, places):
        for user, name in (("U1", "an\u202en\u200b\x07"), ("U2", "\u202e")):
            slack.world.users[user].name = name
        slack.world.add_user("U7", "gone", kind="deleted")
        assert [await places.name(user) for user in ("U1", "U2", "U7", "U404")] == ["ann", "U2", "Gone", "U404"]


async def test_who_may_take_a_message_out_of_a_place() -> None:
    async with looking() as (slack, places):
        workspace(slack.world, slack.bot_user)
        for channel, user, allowed in (
            ("C1", "U1", True),
            ("C5", "U1", True),  # public: they could read it
            ("C1", "U3", False),
            ("C2", "U3", True),
            ("G1", "U1", True),
            ("G1", "U2", False),
            ("G3", "U1", False),  # nobody can tell
            (slack.dm("U1"), "U1", True),
            (slack.dm("U1"), "U2", False),
            ("C404", "U1", False),
        ):
            assert await places.is_member(channel, user) is allowed, (channel, user)
        slack.world.channels["G1"].members.add("U2")  # since its members were looked up
        assert await places.is_member("G1", "U2") and not await places.is_out("G1", "U2")
        assert [await places.is_out(channel, "U4") for channel in ("G1", "G2", "C1")] == [True, False, False]
        assert [await places.is_here(channel) for channel in ("C1", "C5", "G3")] == [True, False, False]
        slack.world.channels["C4"].archived = True
        assert not await places.is_here("C4")


# -- what surrounds a question --------------------------------------------------------------------------------------


@asynccontextmanager
async def around() -> AsyncIterator[tuple[FakeSlack, Callable[..., Any]]]:
    async with FakeSlack(limits=False) as slack, SlackApi(slack.bot_token, slack.api_url) as client:
        await client.identify()
        context = SlackContext(client, cast(Bot, None), Places(client), "en")
        look = ThreadContext(context)

        async def asked(channel: str, ts: str, text: str = "?", thread: str = "") -> Incoming:
            message = Incoming(context.place(channel), thread or ts, ts, "U1", text, Audience("unknown"), "ja")
            return await look(message, False)

        yield slack, asked


async def test_a_question_learns_who_reads_it_what_was_said_before_and_what_came_along() -> None:
    async with around() as (slack, asked):
        root = await slack.says("C1", "U2", "The plan, <@U1>?")
        for number in range(HEARD + 5):
            await slack.says("C1", "U2", f"Point {number}.", thread=root)
        earlier = await slack.says("C1", "U1", "@kotae And this?", thread=root)
        files = [slack.world.add_file(f"{number}.md", b"# Plan\n", "U1") for number in range(FILES)]
        files.append(slack.world.add_file("much.md", b"# Plan\n", "U1"))
        files[0].serves, files[1].elsewhere = "login", True
        ts = await slack.says("C1", "U1", "@kotae What is it, <@U2>?", thread=root, files=files)
        await slack.says("C1", "U2", "Later.", thread=root)

        message = await asked("C1", ts, "What is it, @U2?", root)
        assert message.text == "What is it, @ben?" and message.audience == PUBLIC and not message.direct
        assert message.link and message.link.endswith(f"p{ts.replace('.', '')}?thread_ts={root}&cid=C1")
        heard = [one.text for one in message.overheard]
        assert len(heard) == HEARD and heard[-1] == f"Point {HEARD + 4}." and "And this?" not in heard and earlier
        assert [file.name for file in message.files] == [file.name for file in files]
        assert message.files[1].data == b"# Plan\n"
        assert message.files[0].problem and "一度に読めるのは 5 件" in message.files[-1].problem


async def test_the_people_of_a_thread_are_looked_up_together() -> None:
    async with around() as (slack, asked):
        slack.world.add_user("U3", "cho")
        slack.world.channels["C1"].members.add("U3")
        root = await slack.says("C1", "U2", "The plan, <@U1>?")
        await slack.says("C1", "U3", "It is done.", thread=root)
        ts = await slack.says("C1", "U1", "@kotae What is it?", thread=root)
        holds = {"U2": Hold(), "U3": Hold()}
        slack.fail("users.info", held(holds["U2"]), where=lambda sent: sent["user"] == "U2")
        slack.fail("users.info", held(holds["U3"]), where=lambda sent: sent["user"] == "U3")
        looking = asyncio.create_task(asked("C1", ts, "What is it?", root))
        async with asyncio.timeout(20):
            for hold in holds.values():
                await hold.reached.wait()  # while none is answered
        for hold in holds.values():
            hold.released.set()
        assert [one.author for one in (await looking).overheard] == ["ben", "cho"]


async def test_nobody_waits_too_long_for_a_look_up_and_it_goes_on_for_the_next() -> None:
    answered, asked = asyncio.Event(), []

    async def look_up(user: str) -> str:
        asked.append(user)
        await answered.wait()
        return f"name of {user}"

    names = Cached(look_up, 60.0, clock=time.monotonic, patience=0.5)
    with pytest.raises(UnreachableError):
        async with asyncio.timeout(20):
            await names.get("U1")
    answered.set()
    assert await names.get("U1") == "name of U1" and asked == ["U1"]
    await names.close()


async def test_a_question_stands_by_itself_where_nothing_can_be_looked_up() -> None:
    async with around() as (slack, asked):
        direct = await slack.says(slack.dm("U1"), "U1", "What is it?")
        assert (await asked(slack.dm("U1"), direct)).direct
        slack.fail("conversations.replies", error("missing_scope"))
        slack.fail("conversations.info", error("missing_scope"))
        ts = await slack.says("C1", "U1", "@kotae What is it?")
        message = await asked("C1", ts, "What is it?")
        assert message == replace(message, overheard=(), files=(), audience=UNKNOWN) and message.text == "What is it?"


def share(text: str) -> dict[str, Any]:
    """A forwarded message as Slack attaches it to the one that forwards it, whose own text may be empty."""
    where = {"channel_id": "C1", "ts": "1.1", "from_url": "https://loopback.slack.com/archives/C1/p11"}
    who = {"author_id": "U2", "author_name": "ben", "author_subname": "Ben"}
    return {"id": 1, "is_msg_unfurl": True, "is_share": True, "text": text, "fallback": text, **who, **where}


async def test_what_is_forwarded_with_a_direct_question_is_what_it_is_about() -> None:
    preview = {"id": 2, "text": "A page.", "from_url": "https://example.com/", "fallback": "A page."}
    async with around() as (slack, asked):
        direct, attachments = slack.dm("U1"), [share("Refunds take 30 days, <@U2>."), preview]
        ts = await slack.says(direct, "U1", "Is that still so?", attachments=attachments)
        about = await asked(direct, ts, "Is that still so?")
        assert [(one.author, one.text) for one in about.overheard] == [("ben", "Refunds take 30 days, @ben.")]
        for text in ("", "@kotae"):
            ts = await slack.says(direct, "U1", text, attachments=attachments)
            assert not (await asked(direct, ts, "Refunds take 30 days, @U2.")).overheard  # it is the question
        ts = await slack.says("C1", "U1", "@kotae Is that still so?", attachments=attachments)
        assert not (await asked("C1", ts, "Is that still so?")).overheard  # others read there


async def test_files_that_are_forwarded_with_a_direct_question_are_read() -> None:
    async with around() as (slack, asked):
        direct, plan = slack.dm("U1"), slack.world.add_file("plan.md", b"# Plan\n", "U2")
        secret = slack.world.add_file("secret.md", b"# Whale\n", "U2")
        secret.serves = "login"  # of a channel that the bot is not in
        for text in ("Refunds take 30 days.", ""):
            shared = {**share(text), "files": [{"id": each.id, "name": each.name} for each in (plan, secret)]}
            ts = await slack.says(direct, "U1", "Is that still so?", attachments=[shared])
            about = await asked(direct, ts, "Is that still so?")
            assert [one.text for one in about.overheard] == [text] * bool(text)
            first, second = about.files
            assert (first.name, first.data, second.data) == ("plan.md", b"# Plan\n", b"") and second.problem
        ts = await slack.says("C1", "U1", "@kotae Is that still so?", attachments=[shared])
        assert not (await asked("C1", ts, "Is that still so?")).files  # others read there


async def test_a_thread_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("adapters.slack.thread_context.LOOKUP_SECONDS", 0.05)
    async with around() as (slack, asked):
        slack.fail("conversations.replies", slow(0.5))
        ts = await slack.says("C1", "U1", "@kotae What is it?")
        assert (await asked("C1", ts)).audience == PUBLIC
