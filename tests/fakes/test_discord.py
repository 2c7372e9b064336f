"""Discord's fake itself: login, the gateway, rates, faults and rights, as the real discord.py meets them."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import discord
import pytest

from tests.fakes import discord_gate as faults
from tests.fakes.discord_client import Heard, call, pointed_at, refused, running, wired
from tests.fakes.discord_fake import ANN, BEN, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_gateway import REASONS
from tests.fakes.discord_payloads import CONTENT_INTENT, MEMBERS_INTENT
from tests.fakes.discord_world import CATEGORY, FORUM

MESSAGES = f"/channels/{GENERAL}/messages"
CREATE = "POST /channels/{channel}/messages"
PLAIN = discord.Intents(guilds=True, messages=True, reactions=True)


@pytest.fixture
async def fake() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord(limits=False) as made:
        yield made


def text_channel(bot: discord.Client) -> discord.TextChannel:
    found = bot.get_channel(int(GENERAL))
    assert isinstance(found, discord.TextChannel)
    return found


# -- login and gateway ----------------------------------------------------------------------------------------------


async def test_the_client_is_pointed_here_and_back_again(fake: FakeDiscord) -> None:
    before = discord.http.Route.BASE
    bot = Heard()
    async with running(fake, bot):
        assert before != discord.http.Route.BASE == fake.api_url
        assert (bot.user and bot.user.name, bot.application_id) == ("kotae", int(fake.app.id))
        [guild] = bot.guilds
        assert (guild.name, [each.name for each in guild.text_channels]) == ("Loopback", ["general"])
        assert guild.me.guild_permissions.create_public_threads and not guild.me.guild_permissions.manage_messages
    assert before == discord.http.Route.BASE
    assert [each.route for each in fake.journal.entries] == ["GET /users/@me", "GET /oauth2/applications/@me"]
    assert fake.gateway.received[0]["d"]["intents"] == bot.intents.value
    assert fake.gateway.left == [4000]  # discord.py leaves so, and its session could be resumed


async def test_a_wrong_token_is_refused_everywhere(fake: FakeDiscord) -> None:
    with pytest.raises(discord.LoginFailure):
        async with running(fake, Heard(), token="no"):
            raise AssertionError("it came up")
    assert (await call(fake, "GET", "/users/@me", token="no"))[:2] == (401, {"message": "401: Unauthorized", "code": 0})
    async with wired(fake) as wire:
        await wire.identify(token="no")
        assert await wire.end() == 4004


@pytest.mark.parametrize("copies", [1, 2])
async def test_a_mention_and_a_reply_arrive_as_often_as_wished(copies: int) -> None:
    async with FakeDiscord(copies=copies) as fake:
        bot = Heard()
        async with running(fake, bot):
            asked = await fake.says("general", "ann", "<@BOT> how?")
            await fake.says("general", "ben", "me too", reply=asked)
            await fake.wait_for(lambda: len(bot.messages) == 2 * copies)
        first, last = bot.messages[0], bot.messages[-1]
        assert (first.id, first.content, first.author.name) == (int(asked), f"<@{fake.bot_user}> how?", "ann")
        assert bot.user in first.mentions and first.guild and first.guild.id == int(GUILD)
        assert last.reference and last.reference.message_id == int(asked) and last.type is discord.MessageType.reply
        assert [each.id for each in last.mentions] == [int(ANN)]  # a reply pings whom it answers


async def test_without_the_content_intent_only_mentions_and_direct_messages_have_words() -> None:
    async with FakeDiscord(intents=MEMBERS_INTENT) as fake:
        bot = Heard(intents=discord.Intents(guilds=True, messages=True))
        async with running(fake, bot):
            await fake.says("general", "ann", "psst", files=[fake.world.add_file("a.txt", b"a")])
            await fake.says("general", "ann", "hey @kotae")
            await fake.says(fake.dm("ann"), "ann", "direct")
            await text_channel(bot).send("mine")
            await fake.wait_for(lambda: len(bot.messages) == 4)
            seen = [each.content async for each in text_channel(bot).history()]
        assert [each.content for each in bot.messages] == ["", f"hey <@{fake.bot_user}>", "direct", "mine"]
        assert bot.messages[0].attachments == [] and seen == ["mine", f"hey <@{fake.bot_user}>", ""]
        assert isinstance(bot.messages[2].channel, discord.DMChannel)


async def test_an_intent_that_was_not_granted_ends_the_client() -> None:
    async with FakeDiscord(intents=CONTENT_INTENT) as fake:
        intents = discord.Intents(guilds=True, messages=True, members=True)
        with pytest.raises(discord.PrivilegedIntentsRequired):
            async with running(fake, Heard(intents=intents)):
                raise AssertionError("it came up")
        assert (await call(fake, "GET", f"/guilds/{GUILD}/members"))[1]["code"] == 50001


async def test_webhooks_and_bots_are_told_apart_from_people(fake: FakeDiscord) -> None:
    fake.world.add_user("ci", bot=True, guilds=[])
    fake.world.add_user("helper", bot=True)
    async with running(fake, bot := Heard()):
        await fake.says("general", "helper", "@kotae hello")
        with pytest.raises(ValueError, match="cannot write"):
            await fake.says("general", "ci", "hello")
        fake.world.join(fake.person("ci").id, GUILD)
        await fake.says("general", "ci", "@kotae build failed", webhook="77")
        await fake.wait_for(lambda: len(bot.messages) == 2)
    seen = [(each.author.bot, each.webhook_id, type(each.author).__name__) for each in bot.messages]
    assert seen == [(True, None, "Member"), (True, 77, "User")]


async def test_what_was_not_asked_for_does_not_come(fake: FakeDiscord) -> None:
    bot = Heard(intents=discord.Intents(guilds=True, dm_messages=True))
    fake.world.add_channel("closed", only=[ANN])
    async with running(fake, bot):
        await fake.says("general", "ann", "no")
        await fake.says(fake.dm("ben"), "ben", "yes")
        await fake.wait_for(lambda: bot.messages)
    assert [each.content for each in bot.messages] == ["yes"]
    async with running(fake, seeing := Heard()):
        await fake.says("closed", "ann", "no @kotae")
        await fake.says("general", "ann", "yes")
        await fake.wait_for(lambda: seeing.messages)
    assert [each.content for each in seeing.messages] == ["yes"]


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        (["what"], 4002),
        (['{"op": 2, "d": {"token": "' + "x" * 4100 + '"}}'], 4002),
        (['{"op": 42, "d": null}'], 4001),
        (['{"op": 3, "d": {}}'], 4003),
        (["identify", "identify"], 4005),
        (["intents"], 4013),
        (['{"op": 1, "d": null}'] * 121, 4008),
    ],
)
async def test_the_gateway_hangs_up_on_what_it_does_not_allow(fake: FakeDiscord, frames: list[str], code: int) -> None:
    async with wired(fake) as wire:
        assert wire.hello == {"op": 10, "t": None, "s": None, "d": {"heartbeat_interval": 41250}}
        for frame in frames:
            match frame:
                case "identify":
                    await wire.identify()
                case "intents":
                    await wire.identify(intents=1 << 40)
                case _:
                    await wire.send_text(frame)
        assert await wire.end() == code in REASONS
    assert fake.gateway.closed == [code]


async def test_another_version_of_the_gateway_is_refused(fake: FakeDiscord) -> None:
    async with wired(fake, "v=6") as wire:
        assert await wire.end() == 4012


async def test_too_many_identifies_cost_the_token(fake: FakeDiscord) -> None:
    fake.gateway.rules.identifies = 2
    for _ in range(2):
        async with wired(fake) as wire:
            await wire.identify()
            await wire.event("READY")
    async with wired(fake) as wire:
        await wire.identify()
        assert await wire.end() == 4004
    assert fake.gateway.identified == 2 and (await call(fake, "GET", "/users/@me"))[0] == 401


async def test_identifying_again_too_soon_is_an_invalid_session(fake: FakeDiscord) -> None:
    fake.gateway.rules.identify_seconds = 5.0
    for passed, answer in ((0, "READY"), (4, None), (5, "READY")):
        fake.clock.advance(passed)
        async with wired(fake) as wire:
            await wire.identify()
            told = await wire.next()
            assert (told["t"], told["op"]) == (answer, 0 if answer else 9)


@pytest.mark.parametrize("shard", [[2, 2], [-1, 2], [0, 0], [0], "0", ["0", "2"]])
async def test_a_shard_that_there_is_not_is_refused(fake: FakeDiscord, shard: Any) -> None:
    async with wired(fake) as wire:
        await wire.identify(shard=shard)
        assert await wire.end() == 4010
    assert not fake.app.identified


async def test_fewer_shards_than_discord_demands_are_refused(fake: FakeDiscord) -> None:
    fake.app.sharded, fake.app.shards = True, 3
    for more, code in (({}, 4011), ({"shard": [1, 2]}, 4011), ({"shard": [1, 3]}, None)):
        async with wired(fake) as wire:
            await wire.identify(**more)
            if code is None:
                assert (await wire.event("READY"))["shard"] == [1, 3]
            else:
                assert await wire.end() == code


async def test_each_shard_is_told_of_its_servers_and_the_first_of_all_else(fake: FakeDiscord) -> None:
    other = fake.world.add_guild("Pier", id=str(int(GUILD) + (1 << 22)))
    fake.world.join(fake.bot_user, other.id)
    fake.world.join(ANN, other.id)
    pier = fake.world.add_channel("pier", guild=other.id).id
    async with wired(fake) as first, wired(fake) as second:
        for shard, wire, guild in ((0, first, other.id), (1, second, GUILD)):
            await wire.identify(shard=[shard, 2])
            ready = await wire.event("READY")
            assert [each["id"] for each in ready["guilds"]] == [guild] and ready["shard"] == [shard, 2]
            assert (await wire.next())["d"]["id"] == guild
        for channel in (GENERAL, pier, fake.dm("ann")):
            await fake.says(channel, "ann", "Hello!")
        await fake.throws_out_the_bot()
        assert (await second.next())["d"]["channel_id"] == GENERAL
        assert (await second.next())["d"] == {"id": GUILD}
        assert [(await first.next())["d"]["channel_id"] for _ in range(2)] == [pier, fake.dm("ann")]
        fake.tell.channel(fake.place(pier))
        assert (await first.next())["t"] == "CHANNEL_UPDATE"


async def test_shards_of_different_buckets_may_identify_at_once(fake: FakeDiscord) -> None:
    fake.gateway.rules.identify_seconds, fake.app.concurrency, fake.app.shards = 5.0, 2, 3
    for shard, op in ((0, 0), (1, 0), (2, 9)):
        async with wired(fake) as wire:
            await wire.identify(shard=[shard, 3])
            assert (await wire.next())["op"] == op
    _, told, _ = await call(fake, "GET", "/gateway/bot")
    limit = told["session_start_limit"]
    assert told["shards"] == 3 and (limit["total"], limit["remaining"], limit["max_concurrency"]) == (1000, 998, 2)
    assert 86_000_000 < limit["reset_after"] <= 86_400_000
    fake.clock.advance(86_400)
    _, told, _ = await call(fake, "GET", "/gateway/bot")
    assert told["session_start_limit"]["remaining"] == 1000


async def test_who_stops_beating_is_closed(fake: FakeDiscord) -> None:
    fake.gateway.rules.heartbeat = 0.02
    async with wired(fake) as wire:
        await wire.identify()
        await wire.event("READY")
        await wire.send(1, 1)
        while (await wire.next())["op"] != 11:
            continue
        assert await wire.end() == 4009


@pytest.mark.parametrize("how", ["drop", "reconnect", "invalidate", "4000", "1000", "overlap", "replay"])
async def test_the_client_resumes_and_no_event_is_lost(fake: FakeDiscord, how: str) -> None:
    bot = Heard()
    async with running(fake, bot):
        before = await fake.says("general", "ann", "before")
        await fake.wait_for(lambda: bot.messages)
        match how:
            case "drop" | "overlap":
                fake.gateway.rules.overlap = 1 if how == "overlap" else 0
                assert fake.drop() == 1
            case "reconnect":
                fake.reconnect()
            case "invalidate":
                fake.invalidate(resumable=True)
            case "replay":
                fake.replay(1)
            case _:
                fake.close(int(how))
        after = await fake.says("general", "ann", "while nobody listens")
        await fake.wait_for(lambda: bot.messages[-1].id == int(after))
        await fake.wait_for(lambda: how == "replay" or fake.gateway.resumed == 1)
    heard = [str(each.id) for each in bot.messages]
    assert heard == ([before, before, after] if how in ("overlap", "replay") else [before, after])
    assert fake.gateway.identified == 1 and (how == "replay" or "RESUMED" in bot.names)


async def test_a_session_that_is_over_begins_anew_and_its_events_are_lost(fake: FakeDiscord) -> None:
    bot = Heard()
    async with running(fake, bot):
        fake.invalidate()
        await fake.wait_for(lambda: not fake.gateway.live())
        await fake.says("general", "ann", "nobody hears this")
        await fake.wait_for(lambda: fake.gateway.identified == 2 and fake.gateway.live())
        await fake.says("general", "ann", "and this?")
        await fake.wait_for(lambda: bot.messages)
    assert [each.content for each in bot.messages] == ["and this?"] and fake.gateway.resumed == 0


async def test_a_silent_gateway_is_left_and_the_session_resumed(fake: FakeDiscord) -> None:
    fake.gateway.rules.heartbeat = 0.05
    bot = Heard(heartbeat_timeout=1.5)
    async with running(fake, bot):
        await fake.wait_for(lambda: fake.gateway.connections[0].beats >= 2)
        fake.deaf()
        await fake.says("general", "ann", "still there?")
        await fake.wait_for(lambda: bot.messages)
    assert (fake.gateway.resumed, fake.gateway.identified) == (1, 1)


@pytest.mark.parametrize("code", [4004, 4010, 4011, 4012, 4013, 4014])
async def test_some_closes_are_final(fake: FakeDiscord, code: int) -> None:
    bot = Heard()
    with pytest.raises((discord.ConnectionClosed, discord.PrivilegedIntentsRequired)):
        async with running(fake, bot):
            fake.close(code)
            await fake.wait_for(bot.is_closed if code != 4014 else lambda: not fake.gateway.connections)
            raise discord.ConnectionClosed(bot.ws.socket, shard_id=None, code=code)
    assert fake.gateway.identified == 1


async def test_members_are_told_by_id_and_all_of_them_with_the_intent(fake: FakeDiscord) -> None:
    bot = Heard(intents=discord.Intents(guilds=True, members=True))
    async with running(fake, bot):
        [guild] = bot.guilds
        assert {each.name for each in guild.members} == {"owner", "ann", "ben", "kotae"}
        assert [each.name for each in await guild.query_members(user_ids=[int(BEN)])] == ["ben"]
        assert (await guild.fetch_member(int(ANN))).name == "ann"
        await fake.leaves("ben")
        await fake.wait_for(lambda: "GUILD_MEMBER_REMOVE" in bot.names)
        assert await refused(guild.fetch_member(int(BEN))) == (404, 10007)


# -- rates and faults -----------------------------------------------------------------------------------------------


async def test_every_answer_tells_its_bucket_and_is_plain_json(fake: FakeDiscord) -> None:
    for method, path in (("GET", "/users/@me"), ("GET", MESSAGES), ("GET", f"/channels/{GENERAL}/messages/1")):
        _, _, headers = await call(fake, method, path)
        assert headers["Content-Type"] == "application/json" and headers["X-RateLimit-Bucket"]
        assert float(headers["X-RateLimit-Reset-After"]) >= 0 and int(headers["X-RateLimit-Remaining"]) > 0


async def test_a_full_bucket_is_429_and_the_client_waits_by_the_headers() -> None:
    async with FakeDiscord(rates={"messages:create": (2, 0.3)}) as fake:
        for _ in range(2):
            assert (await call(fake, "POST", MESSAGES, {"content": "x"}))[0] == 200
        status, body, headers = await call(fake, "POST", MESSAGES, {"content": "x"})
        assert status == 429 and 0 < body["retry_after"] <= 0.31 and body["global"] is False
        assert headers["Via"] and headers["Retry-After"] == "1" and headers["X-RateLimit-Scope"] == "user"
        other = fake.world.add_channel("other")
        assert (await call(fake, "POST", f"/channels/{other.id}/messages", {"content": "x"}))[0] == 200
        fake.clock.advance(1)
        bot = Heard()
        async with running(fake, bot):
            begun = time.monotonic()
            for number in range(5):
                await text_channel(bot).send(str(number))
            assert time.monotonic() - begun >= 0.5
        assert len(fake.journal.errors()) == 1  # only the one provoked above


async def test_the_global_limit_is_for_all_routes_but_those_of_interactions() -> None:
    async with FakeDiscord() as fake:
        fake.server.rates.each_second = 2
        paths = ["/users/@me", f"/guilds/{GUILD}", f"/channels/{GENERAL}"]
        answers = [await call(fake, "GET", path) for path in paths]
        assert [each[0] for each in answers] == [200, 200, 429]
        assert answers[2][1]["global"] is True and answers[2][2]["X-RateLimit-Global"] == "true"
        assert (await call(fake, "PATCH", f"/webhooks/{fake.app.id}/none/messages/@original", {}))[1]["code"] == 50027


async def test_ordered_429s_are_slept_or_a_ban(fake: FakeDiscord) -> None:
    bot = Heard()
    async with running(fake, bot):
        fake.fail(CREATE, faults.ratelimited(0.01, shared=True), calls=[1])
        await text_channel(bot).send("shared")
        assert not fake.server.rates.bad  # not the bot's doing
        fake.heal()
        fake.fail(CREATE, faults.ratelimited(0.05), calls=[1])
        fake.fail(CREATE, faults.ratelimited(0.01, everywhere=True), calls=[2])
        await text_channel(bot).send("late")
        assert [each.status for each in fake.journal.calls(CREATE, content="late")] == [429, 429, 200]
        fake.fail(CREATE, faults.ratelimited(banned=True))
        assert (await refused(text_channel(bot).send("never")))[0] == 429
    assert len(fake.posted("general")) == 2 and len(fake.server.rates.bad) == 3


async def test_too_many_bad_answers_are_a_ban(fake: FakeDiscord) -> None:
    fake.server.rates.bad_answers = 2
    await fake.denies("general", "send_messages")
    answers = [await call(fake, "POST", MESSAGES, {"content": "x"}) for _ in range(4)]
    assert [each[0] for each in answers] == [403, 403, 403, 429]
    assert "Via" not in answers[3][2] and isinstance(answers[3][1], str)
    fake.clock.advance(601)
    assert (await call(fake, "GET", "/users/@me"))[0] == 200


@pytest.mark.parametrize(
    ("fault", "raised", "posted"),
    [
        (faults.CUT_AFTER, "ServerDisconnectedError", 1),
        (faults.CUT_BEFORE, "ServerDisconnectedError", 0),
        (faults.status(503), "DiscordServerError", 0),
        (faults.error(50013), "Forbidden", 0),
        (faults.error(10003), "NotFound", 0),
        (faults.page(403), "Forbidden", 0),
        (faults.HANG, "TimeoutError", 0),
        (faults.HANG_AFTER, "TimeoutError", 1),
        (faults.slow(0.05), "", 1),
    ],
)
async def test_faults_on_order(fake: FakeDiscord, fault: faults.Fault, raised: str, posted: int) -> None:
    fake.fail(CREATE, fault, where=lambda body: body.get("content") == "this one")
    bot = Heard()
    async with running(fake, bot):
        happened = ""
        try:
            async with asyncio.timeout(0.1 if "hang" in fault.kind else 5):
                await text_channel(bot).send("this one")
        except Exception as error:
            happened = type(error).__name__
        await text_channel(bot).send("another")
    assert happened == raised and len(fake.posted("general")) == posted + 1
    with pytest.raises(LookupError):
        fake.fail("POST /nowhere", fault)


# -- rights ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("missing", "action", "answer"),
    [
        ("view_channel", "send", (403, 50001)),
        ("view_channel", "fetch", (403, 50001)),
        ("send_messages", "send", (403, 50013)),
        ("send_messages", "typing", (403, 50013)),
        ("attach_files", "file", (403, 50013)),
        ("create_public_threads", "thread", (403, 50013)),
        ("send_messages_in_threads", "in thread", (403, 50013)),
        ("read_message_history", "reply", (403, 160002)),
        ("read_message_history", "get", (403, 50001)),
        ("add_reactions", "react", (403, 50013)),
        ("", "delete another's", (403, 50013)),
        ("", "edit another's", (403, 50005)),
    ],
)
async def test_what_the_bot_may_not_do(fake: FakeDiscord, missing: str, action: str, answer: tuple[int, int]) -> None:
    asked = await fake.says("general", "ann", "@kotae hello")
    thread = await fake.starts_thread("ann", asked, "a thread")
    lone = await fake.says("general", "ann", "alone")
    if missing:
        fake.world.deny(GENERAL, missing, who=fake.bot_user)
    bot = Heard()
    async with running(fake, bot):
        channel = text_channel(bot)
        message = channel.get_partial_message(int(lone))
        inside = channel.guild.get_thread(int(thread))
        todo: Any = {
            "send": lambda: channel.send("x"),
            "fetch": lambda: bot.fetch_channel(int(GENERAL)),
            "typing": channel.typing().__aenter__,
            "file": lambda: channel.send(file=discord.File(__file__)),
            "thread": lambda: message.create_thread(name="x"),
            "in thread": lambda: inside and inside.send("x"),
            "reply": lambda: message.reply("x"),
            "get": message.fetch,
            "react": lambda: message.add_reaction("👍"),
            "delete another's": message.delete,
            "edit another's": lambda: message.edit(content="x"),
        }
        assert await refused(todo[action]()) == answer
        assert await refused(channel.get_partial_message(1).fetch()) in ((404, 10008), (403, 50001))
        with pytest.raises(discord.NotFound) as gone:
            await bot.fetch_channel(1)
        assert gone.value.code == 10003


async def test_roles_and_overwrites_make_the_rights_the_client_computes_too(fake: FakeDiscord) -> None:
    staff = fake.world.add_role("staff", "manage_messages", members=[ANN])
    closed = fake.world.add_channel("closed", only=[staff.id, BEN, fake.bot_user])
    fake.world.deny(closed.id, "send_messages", who=BEN)
    forum = fake.world.add_channel("help", kind=FORUM, tags={"5": "answered"})
    bot = Heard(intents=discord.Intents(guilds=True, members=True))
    async with running(fake, bot):
        [guild] = bot.guilds
        for channel in guild.channels:
            for member in guild.members:
                theirs = channel.permissions_for(member).value
                ours = fake.world.permissions(str(member.id), fake.world.channels[str(channel.id)])
                for name in ("view_channel", "send_messages", "manage_messages", "mention_everyone", "attach_files"):
                    mask = bit(name)
                    assert bool(theirs & mask) == bool(ours & mask), (channel, member, name)
        found = guild.get_channel(int(forum.id))
        assert isinstance(found, discord.ForumChannel) and [tag.name for tag in found.available_tags] == ["answered"]
        with pytest.raises(ValueError, match="cannot write"):
            await fake.says("closed", "ben", "hello")


async def test_a_private_thread_shows_to_whom_it_was_told_and_to_moderators(fake: FakeDiscord) -> None:
    """Its rights are its channel's all the same, as the client computes them."""
    moderator = fake.world.add_user("moderator").id
    fake.world.add_role("staff", "manage_threads", members=[moderator])
    cell = await fake.starts_private_thread("ann", "general", "cell", fake.bot_user)
    bot = Heard()
    async with running(fake, bot):
        place, thread = fake.place(cell), await bot.fetch_channel(int(cell))
        assert isinstance(thread, discord.Thread) and thread.is_private()
        everybody = (ANN, BEN, moderator, fake.bot_user)
        assert [fake.world.may(user, place, "view_channel") for user in everybody] == [True, False, True, True]
        assert fake.world.permissions(BEN, place) & bit("view_channel")
        assert (await thread.fetch_member(int(ANN))).id == int(ANN)
        assert await refused(thread.fetch_member(int(BEN))) == (404, 10007)
        with pytest.raises(ValueError, match="cannot write"):
            await fake.says(cell, "ben", "hello")
        await fake.adds(cell, "ben")
        await fake.says(cell, "ben", "hello")
        await fake.puts_out(cell, "ben")
        with pytest.raises(ValueError, match="cannot write"):
            await fake.says(cell, "ben", "hello")
        await fake.leaves("ann")
        assert ANN not in place.people


async def test_roles_overwrites_and_categories_change_and_the_client_is_told(fake: FakeDiscord) -> None:
    staff = fake.world.add_role("staff", members=[ANN])
    fake.world.add_channel("cellar", kind=CATEGORY, only=[staff.id, fake.bot_user])
    bot = Heard()
    async with running(fake, bot):
        guild = text_channel(bot).guild

        def seen(role: discord.Role | None = None) -> bool:
            return text_channel(bot).permissions_for(role or guild.default_role).view_channel

        await fake.hides("general")
        await fake.wait_for(lambda: not seen())
        assert fake.world.may(fake.bot_user, fake.place("general"), "send_messages")
        await fake.hides("general", hidden=False)
        await fake.wait_for(seen)
        await fake.moves("general", "cellar")
        await fake.wait_for(lambda: not seen() and seen(guild.get_role(int(staff.id))))
        assert text_channel(bot).category is not None and not fake.world.may(BEN, fake.place("general"), "view_channel")
        await fake.grants("ann", staff.id, granted=False)
        assert not fake.world.may(ANN, fake.place("general"), "view_channel")
        await fake.changes_role(GUILD, "view_channel")
        await fake.wait_for(lambda: not guild.default_role.permissions.view_channel)


async def test_what_happens_in_a_server_is_told_to_those_who_are_there(fake: FakeDiscord) -> None:
    other = fake.world.add_guild("Elsewhere")
    role = fake.world.add_role("staff", guild=other.id)
    fake.world.join(ANN, other.id)
    bot = Heard(intents=discord.Intents(guilds=True, members=True))
    async with running(fake, bot):
        before = [each.seq for each in fake.gateway.sessions]
        await fake.grants("ann", role.id)
        await fake.changes_role(role.id, "view_channel")
        await fake.leaves("ann", other.id)
        assert [each.seq for each in fake.gateway.sessions] == before


def bit(name: str) -> int:
    return discord.Permissions(**{name: True}).value


async def test_the_server_changes_and_the_client_is_told(fake: FakeDiscord) -> None:
    bot = Heard()
    gone = fake.world.add_channel("gone")
    async with running(fake, bot):
        await fake.denies("general", "send_messages")
        await fake.removes("gone")
        await fake.wait_for(lambda: bot.get_channel(int(gone.id)) is None)
        channel = text_channel(bot)
        assert not channel.permissions_for(channel.guild.me).send_messages
        await fake.throws_out_the_bot()
        await fake.wait_for(lambda: not bot.guilds)
        assert await refused(channel.send("x")) == (403, 50001)
        other = fake.world.add_guild("Elsewhere")
        await fake.invites_the_bot(other.id)
        await fake.wait_for(lambda: [each.name for each in bot.guilds] == ["Elsewhere"])
        assert [each.name async for each in bot.fetch_guilds()] == ["Elsewhere"]


async def test_nothing_stays_pointed_here_after_an_error(fake: FakeDiscord) -> None:
    with pytest.raises(ZeroDivisionError), pointed_at(fake):
        raise ZeroDivisionError
    assert fake.api_url != discord.http.Route.BASE
