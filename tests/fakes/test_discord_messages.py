"""Discord's fake: messages with their sizes, pings and links, threads, forums and files."""

import time
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import discord
import pytest

from tests.fakes import discord_gate as faults
from tests.fakes import discord_text as text
from tests.fakes.discord_client import Heard, call, refused, running
from tests.fakes.discord_fake import ANN, BEN, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_world import FORUM

Json = dict[str, Any]
MESSAGES = f"/channels/{GENERAL}/messages"
CREATE = "POST /channels/{channel}/messages"
V2 = 1 << 15


@pytest.fixture
async def fake() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord(limits=False) as made:
        yield made


def text_channel(bot: discord.Client) -> discord.TextChannel:
    found = bot.get_channel(int(GENERAL))
    assert isinstance(found, discord.TextChannel)
    return found


def button(custom_id: str = "a", **more: Any) -> Json:
    return {"type": 2, "style": 2, "label": "Go", "custom_id": custom_id} | more


def row(*buttons: Json) -> Json:
    return {"type": 1, "components": list(buttons)}


def display(content: str = "x") -> Json:
    return {"type": 10, "content": content}


def v2(*components: Json, **more: Any) -> Json:
    return {"flags": V2, "components": list(components)} | more


def section(*texts: Json, accessory: Json | None = None) -> Json:
    return {"type": 9, "components": list(texts), "accessory": accessory or button()}


# -- what fits into a message ---------------------------------------------------------------------------------------

FINE: list[Json] = [
    {"content": "x" * 2000},
    {"content": "x", "components": [row(*(button(f"{r}{b}") for b in range(5))) for r in range(5)]},
    {"content": "x", "components": [row(button("c" * 100, label="l" * 80))]},
    {"embeds": [{"description": "d" * 4096}, {"title": "t" * 256}]},
    {"content": "x", "nonce": "n" * 25, "enforce_nonce": True},
    {"content": "x", "allowed_mentions": {"parse": [], "users": [ANN]}},
    v2(*(display(str(number)) for number in range(40))),
    v2(display("x" * 4000)),
    v2({"type": 17, "components": [section(display()), {"type": 14}, row(button("b"))]}),
]
TOO_MUCH: list[tuple[Json, int, str]] = [
    ({"content": "x" * 2001}, 50035, "content"),
    ({"content": " \n "}, 50006, ""),
    ({}, 50006, ""),
    ({"content": "x", "components": [row(button(str(n))) for n in range(6)]}, 50035, "components"),
    ({"content": "x", "components": [row(*(button(str(n)) for n in range(6)))]}, 50035, "components"),
    ({"content": "x", "components": [row(button("c" * 101))]}, 50035, "components"),
    ({"content": "x", "components": [row(button(label="l" * 81))]}, 50035, "components"),
    ({"content": "x", "components": [row(button(label=""))]}, 50035, "components"),
    ({"content": "x", "components": [row(button(), button())]}, 50035, "components"),
    ({"content": "x", "components": [row(button(style=5))]}, 50035, "components"),
    ({"content": "x", "components": [display()]}, 50035, "components"),
    ({"content": "x", "components": [row({"type": 3, "custom_id": "s", "options": []})]}, 50035, "components"),
    ({"embeds": [{"description": "d" * 4097}]}, 50035, "embeds"),
    ({"embeds": [{"description": "d" * 3000}, {"description": "d" * 3001}]}, 50035, "embeds"),
    ({"embeds": [{"title": "t"}] * 11}, 50035, "embeds"),
    ({"embeds": [{"fields": [{"name": "n", "value": "v" * 1025}]}]}, 50035, "embeds"),
    ({"content": "x", "nonce": "n" * 26}, 50035, "nonce"),
    ({"content": "x", "allowed_mentions": {"parse": ["users"], "users": [ANN]}}, 50035, "allowed_mentions"),
    ({"content": "x", "message_reference": {"message_id": "1"}}, 50035, "message_reference"),
    (v2(*(display() for _ in range(41))), 50035, "components"),
    (v2(display("x" * 2000), section(display("x" * 2001))), 50035, "components"),
    (v2(display("あ" * 3387)), 0, ""),  # 500: too many bytes, as 4,000 characters of Japanese are
    (v2(display(), content="x"), 50035, "content"),
    (v2(display(), embeds=[{"title": "t"}]), 50035, "embeds"),
    (v2(), 50035, "components"),
    (v2(display(" ")), 50035, "components"),
    (v2(section(*(display() for _ in range(4)))), 50035, "components"),
    (v2(section(display(), accessory=display())), 50035, "components"),
    (v2({"type": 17, "components": [{"type": 17, "components": [display()]}]}), 50035, "components"),
    ({"content": "x", "poll": {"question": {"text": "?"}}}, 50035, ""),
]


async def test_what_fits_and_what_does_not(fake: FakeDiscord) -> None:
    for body in FINE:
        status, told, _ = await call(fake, "POST", MESSAGES, body)
        assert status == 200, (body, told)
        assert (await call(fake, "PATCH", f"{MESSAGES}/{told['id']}", body))[0] == 200, body
    for body, code, field in TOO_MUCH:
        status, told, _ = await call(fake, "POST", MESSAGES, body)
        assert (status, told["code"]) == (400 if code else 500, code), (body, told)
        assert list(told.get("errors", {})) == ([field] if field else []), (body, told)
    assert len(fake.posted("general")) == len(FINE)


async def test_an_edit_is_held_to_the_same_and_keeps_what_it_does_not_name(fake: FakeDiscord) -> None:
    bot = Heard()
    async with running(fake, bot):
        view = discord.ui.View()
        view.add_item(discord.ui.Button(label="Up", custom_id="up"))
        sent = await text_channel(bot).send("first", view=view, file=discord.File(__file__))
        assert await refused(sent.edit(content="x" * 2001)) == (400, 50035)
        assert await refused(sent.edit(content="", view=None, attachments=[])) == (400, 50006)
        edited = await sent.edit(content="second")
        assert edited.edited_at and [each.filename for each in edited.attachments] == ["test_discord_messages.py"]
        [mine] = fake.posted("general")
        assert (mine.shown, mine.history, mine.buttons) == ("second", ["first"], {"up": "Up"})
        await sent.edit(suppress=True)
        assert mine.flags & 4 and fake.message(sent.id).previews == []
        await sent.delete()
        assert fake.posted("general") == [] and fake.message(sent.id).deleted
        assert await refused(sent.edit(content="third")) == (404, 10008)


async def test_files_have_a_number_and_a_size(fake: FakeDiscord) -> None:
    fake.world.upload_limit = 10
    bot = Heard()
    async with running(fake, bot):
        for content, count, answer in ((b"x" * 11, 1, (413, 40005)), (b"x", 11, (400, 50035))):
            form = aiohttp.FormData({"payload_json": '{"content": "x"}'})
            for number in range(count):
                form.add_field(f"files[{number}]", content, filename="a.bin")
            headers = {"Authorization": f"Bot {fake.token}"}
            async with aiohttp.ClientSession(headers=headers) as session:
                answered = await session.post(fake.api_url + MESSAGES, data=form)
                assert (answered.status, (await answered.json())["code"]) == answer
        sent = await text_channel(bot).send(file=discord.File(__import__("io").BytesIO(b"fine"), "a.txt"))
        assert await sent.attachments[0].read() == b"fine"


async def test_a_nonce_posts_once(fake: FakeDiscord) -> None:
    fake.fail(CREATE, faults.CUT_AFTER, calls=[1])
    bot = Heard()
    async with running(fake, bot):
        channel = text_channel(bot)
        with pytest.raises(aiohttp.ServerDisconnectedError):
            await channel.send("an answer", nonce="turn-1-0")
        again = await channel.send("an answer, rendered anew", nonce="turn-1-0")
        assert (again.content, again.nonce) == ("an answer", "turn-1-0")
        assert str(again.id) == fake.posted("general")[0].id
        await channel.send("another", nonce="turn-1-1")
        fake.clock.advance(fake.world.nonce_seconds + 1)
        await channel.send("much later", nonce="turn-1-0")
        assert [each.shown for each in fake.posted("general")] == ["an answer", "another", "much later"]
        await fake.wait_for(lambda: len(bot.messages) == 3)
    assert [each.nonce for each in bot.messages] == ["turn-1-0", "turn-1-1", "turn-1-0"]


async def test_history_comes_in_pages_and_newest_first(fake: FakeDiscord) -> None:
    ids = [await fake.says("general", "ann", str(number)) for number in range(7)]
    bot = Heard()
    async with running(fake, bot):
        channel = text_channel(bot)
        assert [each.content async for each in channel.history(limit=3)] == ["6", "5", "4"]
        before = discord.Object(int(ids[3]))
        assert [each.content async for each in channel.history(limit=2, before=before)] == ["2", "1"]
        assert [each.content async for each in channel.history(limit=2, after=before)] == ["4", "5"]
        assert [each.content async for each in channel.history(limit=3, around=before)] == ["4", "3", "2"]
        assert (await channel.fetch_message(int(ids[0]))).content == "0"
        await fake.denies("general", "read_message_history")
        assert [each async for each in channel.history()] == []
    for limit in ("0", "101", "x"):
        assert (await call(fake, "GET", f"{MESSAGES}?limit={limit}"))[1]["code"] in (50035, 50001)


async def test_edits_deletions_reactions_and_previews_arrive(fake: FakeDiscord) -> None:
    bot = Heard()
    async with running(fake, bot):
        asked = await fake.says("general", "ann", "frist")
        message = text_channel(bot).get_partial_message(int(asked))
        await fake.edits(asked, "first @kotae")
        await fake.unfurls(asked)
        await message.add_reaction("👀")  # the bot's own comes back to it
        await fake.reacts("ben", asked, "👎")
        await fake.unreacts("ben", asked, "👎")
        await fake.deletes(asked)
        await fake.wait_for(lambda: len(bot.raw) == 6)
        assert await refused(message.add_reaction("👀")) == (404, 10008)
    edited, unfurled, mine, vote, unvoted, deleted = bot.raw
    assert edited.message.content == f"first <@{fake.bot_user}>" and bot.user in edited.message.mentions
    assert unfurled.message.embeds and unfurled.message.edited_at == edited.message.edited_at
    assert (mine.user_id, str(mine.emoji), mine.message_author_id) == (int(fake.bot_user), "👀", int(ANN))
    assert (vote.user_id, str(vote.emoji), vote.member.name) == (int(BEN), "👎", "ben")
    assert (unvoted.event_type, unvoted.user_id, deleted.message_id) == ("REACTION_REMOVE", int(BEN), int(asked))
    assert fake.message(asked).reactions["👀"] == [fake.bot_user]


async def test_typing_shows_for_ten_seconds_or_until_the_message(fake: FakeDiscord) -> None:
    bot = Heard()
    async with running(fake, bot):
        await text_channel(bot).typing()
        assert fake.world.is_typing(GENERAL, fake.bot_user)
        fake.clock.advance(11)
        assert not fake.world.is_typing(GENERAL, fake.bot_user)
        await text_channel(bot).typing()
        await text_channel(bot).send("done")
        assert not fake.world.is_typing(GENERAL, fake.bot_user)


async def test_direct_messages_and_who_takes_none(fake: FakeDiscord) -> None:
    fake.world.users[BEN].takes_dms = False
    bot = Heard()
    async with running(fake, bot):
        ann, ben = await bot.fetch_user(int(ANN)), await bot.fetch_user(int(BEN))
        await ann.send("hello")
        assert [each.shown for each in fake.posted(fake.dm("ann"))] == ["hello"]
        assert await refused(ben.send("hello")) == (403, 50007)
        await fake.leaves("ann")
        assert await refused(ann.send("hello")) == (403, 50007)
        with pytest.raises(ValueError, match="no server together"):
            await fake.says(fake.dm("ann"), "ann", "hello")
        assert await refused(bot.fetch_user(1)) == (404, 10013)
        assert await refused(bot.http.start_private_message(1)) == (400, 50033)


# -- pings and links ------------------------------------------------------------------------------------------------

EVERYBODY = f"<@{ANN}> <@!{BEN}> @everyone"


@pytest.mark.parametrize(
    ("content", "allowed", "pinged"),
    [
        (EVERYBODY, None, [ANN, BEN, "everyone"]),
        (EVERYBODY, {"parse": []}, []),
        (EVERYBODY, {"parse": ["everyone"]}, ["everyone"]),
        (EVERYBODY, {"parse": [], "users": [BEN]}, [BEN]),
        ("<@&{role}> @here", None, ["&{role}", "here"]),
        ("<@&{role}>", {"parse": ["users"]}, []),
        ("`<@{ann}>` ```\n@everyone\n``` ``@here``", None, []),
        ("<@123> <@&456> @every one", None, []),
        (r"\@everyone", None, ["everyone"]),  # a backslash hides nothing from the server
    ],
)
async def test_what_pings(fake: FakeDiscord, content: str, allowed: Json | None, pinged: list[str]) -> None:
    role = fake.world.add_role("staff").id
    body: Json = {"content": content.format(role=role, ann=ANN)}
    _, told, _ = await call(fake, "POST", MESSAGES, body | ({"allowed_mentions": allowed} if allowed else {}))
    [posted] = fake.posted("general")
    assert posted.pings == posted.mentions == [each.format(role=role) for each in pinged]
    assert [each["id"] for each in told["mentions"]] == [each for each in pinged if each.isdigit()]
    assert told["mention_everyone"] is bool({"everyone", "here"} & set(pinged))


async def test_pinging_needs_the_right_to_and_a_reply_pings_too(fake: FakeDiscord) -> None:
    role = fake.world.add_role("staff").id
    fake.world.deny(GENERAL, "mention_everyone", who=fake.bot_user)
    asked = await fake.says("general", "ann", "hello")
    bot = Heard()
    async with running(fake, bot):
        channel = text_channel(bot)
        await channel.send(f"@everyone <@&{role}>")
        await channel.get_partial_message(int(asked)).reply("yes")
        await channel.get_partial_message(int(asked)).reply("yes", allowed_mentions=discord.AllowedMentions.none())
        fake.world.guilds[GUILD].roles[role].mentionable = True
        await channel.send(view=v2_view(f"<@&{role}> in a text display"))
    assert [each.pings for each in fake.posted("general")] == [[], [ANN], [], [f"&{role}"]]
    assert fake.posted("general")[0].named == ["@everyone", f"@&{role}"]


def v2_view(content: str) -> discord.ui.LayoutView:
    view = discord.ui.LayoutView()
    view.add_item(discord.ui.TextDisplay(content))
    return view


@pytest.mark.parametrize(
    ("content", "urls", "previews", "shown"),
    [
        ("see https://a.example/x.", ["https://a.example/x"], ["https://a.example/x"], "see https://a.example/x."),
        ("<https://a.example/x>", ["https://a.example/x"], [], "https://a.example/x"),
        ("[here](https://a.example/x)", ["https://a.example/x"], ["https://a.example/x"], "here"),
        ("[here](<https://a.example/x>)", ["https://a.example/x"], None, "here"),
        ("(https://a.example/x)", ["https://a.example/x"], None, None),
        ("`https://a.example/x` and notes.md", [], [], "`https://a.example/x` and notes.md"),
        (r"https\://a.example and \<https\://b.example\>", [], [], "https://a.example and <https://b.example>"),
        ("[x](javascript:alert(1)) data:x", [], [], None),
        ("discord://-/users/1", ["discord://-/users/1"], None, None),
    ],
)
def test_what_becomes_a_link(content: str, urls: list[str], previews: list[str] | None, shown: str | None) -> None:
    assert text.links(content, [], []) == urls
    assert previews is None or text.previewed(content) == previews
    assert shown is None or text.shown(content, [], []) == shown


def test_links_of_buttons_pictures_and_embeds_and_everything_read() -> None:
    components = [
        section(display("one https://a.example"), accessory={"type": 11, "media": {"url": "https://b.example/i.png"}}),
        row({"type": 2, "style": 5, "label": "Open", "url": "https://c.example"}, button()),
        {"type": 12, "items": [{"media": {"url": "attachment://x.png"}}]},
    ]
    embed = {"title": "two", "url": "https://d.example", "fields": [{"name": "three", "value": "<#5> </ask:6>"}]}
    links = text.links("", components, [embed])
    assert links == ["https://a.example", "https://b.example/i.png", "https://c.example", "https://d.example"]
    assert text.shown("", components, [embed]) == "one https://a.example\ntwo\nthree\n<#5> </ask:6>"
    assert text.named("", components, [embed]) == ["#5", "/ask"]


# -- threads and forums ---------------------------------------------------------------------------------------------


async def test_a_thread_has_the_id_of_its_message_and_there_is_only_one(fake: FakeDiscord) -> None:
    bot = Heard()
    async with running(fake, bot):
        asked = await fake.says("general", "ann", "@kotae how?")
        await fake.wait_for(lambda: bot.messages)
        message = bot.messages[0]
        assert await refused(message.create_thread(name="")) == (400, 50035)
        assert await refused(message.create_thread(name="x" * 101)) == (400, 50035)
        thread = await message.create_thread(name="x" * 100)
        assert (str(thread.id), thread.parent_id, thread.owner_id) == (asked, int(GENERAL), int(fake.bot_user))
        assert thread.me is not None
        assert await refused(message.create_thread(name="again")) == (400, 160004)
        await fake.wait_for(lambda: len(bot.messages) == 3)
        assert [each.type.value for each in bot.messages[1:]] == [18, 21]
        assert bot.messages[2].channel == thread
        assert await refused(bot.messages[1].create_thread(name="on a notice")) == (403, 50021)
        assert {"THREAD_CREATE", "MESSAGE_UPDATE", "THREAD_MEMBERS_UPDATE"} <= set(bot.names)
        await thread.send("an answer")
        inside = await fake.says("general", "ben", "thanks", thread=asked)
        await fake.wait_for(lambda: bot.messages[-1].id == int(inside))
        assert bot.messages[-1].channel == thread and fake.place(asked).people == {fake.bot_user, BEN}
        assert await refused(bot.messages[-1].create_thread(name="deeper")) == (400, 50024)
        fetched = await text_channel(bot).fetch_message(int(asked))
        assert fetched.thread == thread and fetched.flags.has_thread
    assert [each.shown for each in fake.thread(asked)] == ["an answer", "thanks"]
    assert [each.shown for each in await fake.wait_for_replies(asked)] == ["an answer"]


async def test_archived_threads_wake_for_a_message_and_locked_ones_do_not(fake: FakeDiscord) -> None:
    asked = await fake.says("general", "ann", "how?")
    thread_id = await fake.starts_thread("ann", asked, "how?")
    bot = Heard()
    async with running(fake, bot):
        thread = bot.guilds[0].get_thread(int(thread_id))
        assert thread is not None
        mine = await thread.send("one")
        await fake.archives(thread_id)
        await fake.wait_for(lambda: bot.guilds[0].get_thread(int(thread_id)) is None)
        assert await refused(mine.edit(content="two")) == (400, 50083)
        assert await refused(mine.add_reaction("👀")) == (400, 50083)
        assert await refused(thread.edit(name="renamed")) == (400, 50083)
        await thread.send("awake")
        assert not fake.place(thread_id).archived
        await fake.wait_for(lambda: bot.names.count("THREAD_UPDATE") == 2)
        assert await refused(thread.edit(name="not mine")) == (403, 50013)
        await fake.archives(thread_id, locked=True)
        assert await refused(thread.send("no")) == (400, 50083)
        fake.place(thread_id).archived = False
        assert await refused(thread.send("no")) == (403, 160005)
        await fake.allows("general", "manage_threads")
        await thread.send("a moderator may")
        assert [each.content async for each in thread.history(limit=2)] == ["a moderator may", "awake"]
        await fake.removes(thread_id)
        assert await refused(thread.send("gone")) == (404, 10003)


async def test_the_bot_archives_and_tags_its_own_thread(fake: FakeDiscord) -> None:
    forum = fake.world.add_channel("help", kind=FORUM, tags={"51": "answered", "52": "open"}, requires_tag=True)
    bot = Heard()
    async with running(fake, bot):
        place = bot.get_channel(int(forum.id))
        assert isinstance(place, discord.ForumChannel)
        assert await refused(place.create_thread(name="no tag", content="x")) == (400, 40067)
        assert await refused(bot.http.send_message(place.id, params=params("x"))) == (400, 50008)
        made = await place.create_thread(name="A question", content="words", applied_tags=[place.available_tags[1]])
        assert made.message.id == made.thread.id and [tag.name for tag in made.thread.applied_tags] == ["open"]
        await made.thread.edit(applied_tags=[place.available_tags[0]], archived=True)
        assert (fake.place(str(made.thread.id)).applied_tags, fake.place(str(made.thread.id)).archived) == (
            ["51"],
            True,
        )
        archived = [each async for each in place.archived_threads()]
        assert [each.name for each in archived] == ["A question"]


def params(content: str) -> discord.http.MultipartParameters:
    return discord.http.handle_message_parameters(content)


async def test_people_post_in_a_forum(fake: FakeDiscord) -> None:
    fake.world.add_channel("help", kind=FORUM, tags={"51": "refunds"})
    bot = Heard()
    async with running(fake, bot):
        post = await fake.posts("help", "ann", "How long?", "@kotae Do refunds take?", tags=["refunds"])
        await fake.wait_for(lambda: bot.messages)
        [message] = bot.messages
        assert str(message.id) == post and isinstance(message.channel, discord.Thread)
        assert (message.channel.name, [tag.name for tag in message.channel.applied_tags]) == ("How long?", ["refunds"])
        assert isinstance(message.channel.parent, discord.ForumChannel)
        await message.reply("Thirty days.")
        assert [each.shown for each in fake.replies(post)] == ["Thirty days."]
        with pytest.raises(ValueError, match="people post"):
            await fake.says("help", "ann", "x")


# -- files ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("serves", ["it", "missing", "page", "redirect", "cut", "expired", "forged"])
async def test_where_files_come_from(fake: FakeDiscord, serves: Any) -> None:
    kind = serves if serves not in ("expired", "forged") else "it"
    file = fake.world.add_file("a b.pdf", b"%PDF", serves=kind, redirect=f"{fake.url}/elsewhere/x", claimed=7)
    bot = Heard()
    async with running(fake, bot):
        await fake.says("general", "ann", "@kotae", files=[file])
        await fake.wait_for(lambda: bot.messages)
        [attachment] = bot.messages[0].attachments
        assert (attachment.filename, attachment.size, attachment.content_type) == ("a b.pdf", 7, "application/pdf")
        assert attachment.url.startswith(f"{fake.cdn_url}/attachments/{GENERAL}/{file.id}/a%20b.pdf?ex=")
        if serves == "expired":
            fake.clock.advance(86_401)
        if serves == "forged":
            attachment.url = attachment.url.replace("hm=", "hm=0")
        try:
            got: Any = await attachment.read()
        except discord.NotFound:
            got = 404
        except aiohttp.ClientPayloadError:
            got = "cut"
        expected = {
            "it": b"%PDF",
            "page": b"<!DOCTYPE html><title>Just a moment...</title>",
            "redirect": b"from elsewhere",
        }
        assert got == expected.get(serves, "cut" if serves == "cut" else 404)
    assert all(each.body == {"authorization": False} for each in fake.journal.calls("GET file"))


async def test_waiting_tells_what_was_said(fake: FakeDiscord) -> None:
    await call(fake, "POST", MESSAGES, {"content": "only this"})
    begun = time.monotonic()
    with pytest.raises(AssertionError, match="only this"):
        await fake.wait_for(lambda: False, timeout=0.05)
    await fake.wait_for_idle(quiet=0.02)
    assert time.monotonic() - begun < 5
    with pytest.raises(LookupError):
        fake.place("nowhere")
