"""Adding to the knowledge from Discord: every gesture, who may do it where, and what becomes of the files."""

from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path

import discord
import pytest

from adapters.discord.files import ExpiredError, download
from adapters.discord.ingestion import resume
from adapters.discord.transport.message_links import LinkTarget, target_of
from bot.records import DocumentRow
from bot.types import FileRef, IngestionRequest, Place
from retrieval.types import TEAM, UnreadableError
from tests.adapters.discord.gesturing import Here, gesturing
from tests.adapters.discord.test_commands import answered, answers
from tests.fakes.discord_client import pointed_at
from tests.fakes.discord_fake import ANN, BEN, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_gate import error
from tests.fakes.discord_payloads import MEMBERS_INTENT
from tests.fakes.discord_world import FORUM, VOICE, Interaction, Message
from tests.retrieval.loaders.test_loader import pages

RULES = b"# Refunds\n\nRefunds take 30 days.\n"
STARTED = "I am reading it; the result will follow."


def done(fake: FakeDiscord, channel: str = "general", count: int = 1) -> Callable[[], list[Message]]:
    """The messages that show how far an intake is, once so many are at their end."""

    def look() -> list[Message]:
        found = [one for one in fake.posted(channel) if one.content.startswith(("📥 Done", "📥 完了"))]
        return found if len(found) >= count else []

    return look


async def rows(here: Here) -> dict[str, DocumentRow]:
    return {row.name: row for row in await here.library.documents.listed()}


def fields(gesture: Interaction) -> list[str]:
    assert gesture.modal
    return [part["component"]["custom_id"] for part in gesture.modal["components"] if "component" in part]


def menu(gesture: Interaction, field: str) -> list[str]:
    assert gesture.modal
    parts = (part.get("component") or {} for part in gesture.modal["components"])
    return [each["value"] for part in parts if part.get("custom_id") == field for each in part["options"]]


# -- every gesture ----------------------------------------------------------------------------------------------------


async def test_files_get_their_verdicts_in_words(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False, copies=2) as fake, gesturing(fake, tmp_path) as here:
        fake.world.users[ANN].locale = "ja"
        files = {
            "file": fake.world.add_file("rules.md", RULES),
            "file2": fake.world.add_file("scan.pdf", pages(1, picture=True)),
            "file3": fake.world.add_file("broken.docx", b"PK\x03\x04"),
            "file4": fake.world.add_file("@everyone [x](https:||evil.example).md", b"hello"),
        }
        gesture = await fake.slash("ingest", {**files, "collection": "規程"})
        assert not gesture.failed and gesture.latency < 2.5
        assert await answered(fake, gesture) == "読み込みを始めました。結果は追ってお知らせします。"
        (message,) = await fake.wait_for(done(fake), timeout=30)
        head, *lines, by = message.content.splitlines()
        assert head == "📥 完了しました: 追加・更新 2 件、追加できなかったもの 2 件。" and by == "-# 追加した人: ann"
        assert lines[0] == "✅ rules.md: 規程 に追加しました（1 チャンク）"
        assert "OCR" in lines[1] and "壊れている" in lines[2] and "evil" in lines[3]
        assert not (message.mentions or message.named or message.urls or message.previews)
        added = (await rows(here))["rules.md"]
        assert (added.collection, added.scope, added.author) == ("規程", TEAM, ANN)
        await fake.wait_for_idle()
        assert len(answers(fake, gesture)) == len(done(fake)()) == 1
        assert all(not entry.body["authorization"] for entry in fake.journal.entries if "attachments" in entry.route)


async def test_the_form_takes_files_and_a_text_and_survives_a_restart(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake:
        async with gesturing(fake, tmp_path) as here:
            await here.library.add("old.md", "# Old\n\nHello.\n", collection="handbook")
            gesture = await fake.slash("ingest", {"collection": "new"})
            assert fields(gesture) == ["files", "text", "title", "collection"]
            assert menu(gesture, "collection") == ["new", "documents", "handbook"]
            empty = await fake.submits("ann")
            assert "Give a file" in await answered(fake, empty)
        async with gesturing(fake, tmp_path) as here:
            await fake.slash("ingest", {"collection": "new"})
            given = {
                "files": [fake.world.add_file("rules.md", RULES)],
                "text": "Ships moor at pier 7.",
                "title": "Pier",
            }
            assert await answered(fake, await fake.submits("ann", {**given, "collection": "handbook"})) == STARTED
            await fake.wait_for(done(fake))
            found = await rows(here)
            assert {name: row.collection for name, row in found.items()} == {
                "old.md": "handbook",
                "rules.md": "handbook",
                "Pier.md": "handbook",
            }


async def test_a_message_is_added_from_its_menu_also_where_its_text_cannot_be_read(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False, intents=MEMBERS_INTENT) as fake, gesturing(fake, tmp_path) as here:
        file = fake.world.add_file("rules.md", RULES)
        said = await fake.says("general", "ben", "The key is under the mat, <@1100000000000000021>.", files=[file])
        gesture = await fake.menu("Add to knowledge", said)
        assert fields(gesture) == ["collection", "new"]
        assert "under the mat" in str(gesture.modal) and "rules.md" in str(gesture.modal)
        await answered(fake, await fake.submits("ann", {"new": "keys"}))
        (message,) = await fake.wait_for(done(fake))
        assert "2 added" in message.content
        found = await rows(here)
        (text,) = [row for name, row in found.items() if name != "rules.md"]
        assert text.name.startswith("The key is under the mat, @ann.") and text.collection == "keys"
        assert text.url == found["rules.md"].url == f"https://discord.com/channels/{GUILD}/{GENERAL}/{said}"
        day = f"{discord.utils.snowflake_time(int(said)):%Y-%m-%d}"
        assert (text.changed_at, found["rules.md"].changed_at) == (day, None)
        assert any("**ben** (" in kept and "@ann." in kept for kept in here.library.kept())

        own = await fake.wait_for(done(fake))
        await fake.menu("Add to knowledge", own[0].id)
        assert "What I have written myself does not count" in await answered(fake, await fake.submits("ann"))


async def test_a_link_adds_a_message_with_its_thread_for_those_who_read_it(tmp_path: Path) -> None:
    fake = FakeDiscord(limits=False)
    fake.world.add_channel("forum", kind=FORUM)
    secret = fake.world.add_channel("secret", only=[BEN, fake.bot_user]).id
    locked = fake.world.add_channel("locked", kind=VOICE).id
    fake.world.deny(locked, "connect", who=GUILD)
    for each in (BEN, fake.bot_user):
        fake.world.allow(locked, "connect", who=each)
    async with fake, gesturing(fake, tmp_path) as here:
        root = await fake.says("general", "ben", "Where is the key?")
        await fake.starts_thread("ben", root, "The key")
        await fake.says("general", "ann", "Under the mat.", thread=root)
        private = await fake.says(secret, "ben", "The whale starts in April.")

        async def adds(link: str, user: str = "ann", channel: str = "general", **more: str) -> str:
            return await answered(fake, await fake.slash("ingest", {"link": link, **more}, user, channel))

        base = f"https://discord.com/channels/{GUILD}"
        assert await adds(f"{base}/{GENERAL}/{root}") == STARTED
        (message,) = await fake.wait_for(done(fake, root))  # in the thread
        assert "Where is the key?" in message.content
        (kept,) = here.library.kept()
        assert "**ben**" in kept and "Where is the key?" in kept and "**ann**" in kept and "Under the mat." in kept

        await adds(f"{base}/{root}", title="the same, by its thread")
        await fake.wait_for(done(fake, root, 2))
        assert len(here.library.kept()) == 1
        post = await fake.posts("forum", "ben", "Pier", "Which pier?")
        await fake.says("forum", "ann", "The seventh.", thread=post)
        assert await adds(f"{base}/{post}") == STARTED
        await fake.wait_for(done(fake, post))
        assert any("Which pier?" in kept and "The seventh." in kept for kept in here.library.kept())

        assert "that you or I cannot read" in await adds(f"{base}/{secret}/{private}")
        beside = await fake.says(locked, "ben", "The seal sleeps.")
        assert "that you or I cannot read" in await adds(f"{base}/{locked}/{beside}")
        assert "that you or I cannot read" in await adds(f"{base}/{GENERAL}/{int(private) + 1}")
        assert "not a link to a message" in await adds("https://example.com/page")
        assert "by itself" in await adds(f"{base}/{secret}/{private}", text="and this")
        assert "Possible: place:discord:" in await adds(f"{base}/{secret}/{private}", "ben", scope="team")
        assert await adds(f"{base}/{secret}/{private}", "ben") == STARTED
        await fake.wait_for(done(fake, secret))
        (row,) = [row for row in (await rows(here)).values() if "whale" in row.name]
        assert row.scope == f"place:discord:{GUILD}:{secret}" and not done(fake)()


async def test_words_around_a_link_do_not_take_its_message_away(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        said = await fake.says("general", "ben", "The key is under the mat.")
        link = f"https://discord.com/channels/{GUILD}/{GENERAL}/{said}"

        async def adds(**given: str) -> str:
            return await answered(fake, await fake.slash("ingest", given, "ben"))

        around = (
            "I am reading the message that the link leads to, not the words around the link; the result will follow."
        )
        assert await adds(text=f"see {link}") == await adds(link=f"see {link}", title="?") == around
        assert await adds(text=link) == STARTED
        await fake.slash("ingest", {}, "ben")
        assert await answered(fake, await fake.submits("ben", {"text": link})) == STARTED
        await fake.wait_for(done(fake, count=4))
        assert [row.url for row in (await rows(here)).values()] == [link]

        for text in (f"{link} {link}1", f"@everyone {'long ' * 30}{link}"):
            refused = await adds(text=text)
            assert "one at a time" in refused and "You entered:" in refused and link[8:] in refused.replace("\\", "")
        assert "not a link to a message" in await adds(text="https://example.com/page")
        assert "not a link to a message" in await adds(link="the page")
        assert len(await rows(here)) == 1
        await fake.slash("ingest", {}, "ben")
        await fake.submits("ben", {"text": f"see {link}"})  # where a text is asked for, it is one
        await adds(text=f"see {link}", title="Keys")
        await adds(text="The list of piers is at https://wiki.example/piers.")
        await fake.wait_for(done(fake, count=7))
        assert set(await rows(here)) > {"Keys.md", "The list of piers is at https:／／wiki.example／piers.md"}


def test_what_is_a_link_to_a_message() -> None:
    for host in ("discord.com", "ptb.discord.com", "canary.discord.com", "discordapp.com"):
        assert target_of(f" https://{host}/channels/1/2/3 ") == LinkTarget(2, 3)
    assert target_of("https://discord.com/channels/@me/2/3") == LinkTarget(2, 3)
    assert target_of("https://discord.com/channels/1/2") == LinkTarget(2)
    for other in ("", "https://discord.com.evil.example/channels/1/2/3", "https://discord.com/channels/1", "x"):
        assert target_of(other) is None


# -- who, and for whom ------------------------------------------------------------------------------------------------


async def test_who_may_add_what_for_whom(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        secret = fake.world.add_channel("secret", only=[ANN, fake.bot_user]).id
        other = fake.world.add_guild("Partners", owner=BEN)
        place = f"place:discord:{GUILD}:{secret}"
        fake.world.add_user("editor")
        fake.world.add_role("editors", "manage_messages", members=[fake.person("editor").id])
        fake.world.allow(secret, "view_channel", who=fake.person("editor").id)
        assert other
        for user, channel, scopes in (
            ("ann", "general", []),
            ("ann", secret, []),
            ("editor", "general", ["team", "everyone"]),
            ("editor", secret, [place, "team", "everyone"]),
        ):
            gesture = await fake.slash("ingest", {}, user, channel)
            assert menu(gesture, "scope") == scopes
            gesture.modal_open = False
        for number, (user, channel, scope) in enumerate(
            [("ann", secret, "team"), ("ann", "general", "everyone"), ("ann", "general", place)]
        ):
            gesture = await fake.slash("ingest", {"text": f"Text {number}", "scope": scope}, user, channel)
            assert "You cannot choose this" in await answered(fake, gesture)
        for text, user, channel, given in (
            ("One", "ann", secret, {}),
            ("Two", "editor", secret, {"scope": "team"}),
            ("Three", "ann", fake.dm("ann"), {}),
        ):
            await answered(fake, await fake.slash("ingest", {"text": text, **given}, user, channel))
            await fake.wait_for(done(fake, channel, 2 if text == "Two" else 1))
        assert {name: row.scope for name, row in (await rows(here)).items()} == {
            "One.md": place,
            "Two.md": "team",
            "Three.md": f"place:discord:%40me:{fake.dm('ann')}",
        }


async def test_a_text_that_begins_like_somebody_elses_does_not_take_its_place(tmp_path: Path) -> None:
    fake = FakeDiscord(limits=False)
    fake.world.add_role("editors", "manage_messages", members=[fake.world.add_user("editor").id])
    async with fake, gesturing(fake, tmp_path) as here:
        for count, (user, text) in enumerate(
            [("ann", "Keys\nAnn has them."), ("ben", "Keys\nIn the drawer."), ("editor", "Keys\nOn the shelf.")], 1
        ):
            await answered(fake, await fake.slash("ingest", {"text": text}, user))
            await fake.wait_for(done(fake, count=count))
        first, second, third = (message.content for message in done(fake, count=3)())
        assert "added" in first and "Somebody else has added a document “Keys.md”" in second and "✅ Keys.md" in third
        assert await here.library.found("keys") == ["Keys\nOn the shelf."]


async def test_a_form_that_is_left_open_gives_nothing_to_a_channel_that_its_reader_does_not_see_any_more(
    tmp_path: Path,
) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        secret = fake.world.add_channel("secret", only=[ANN, fake.bot_user]).id
        await fake.slash("ingest", {}, "ann", secret)
        fake.world.deny(secret, "view_channel", who=ANN)
        assert "Only members" in await answered(fake, await fake.submits("ann", {"text": "Rubbish."}))
        await fake.wait_for_idle()
        assert not await rows(here) and not fake.thread(secret)


async def test_what_was_chosen_for_one_channel_is_not_chosen_for_a_message_of_another(tmp_path: Path) -> None:
    """The form has the team chosen already where it was opened, in public."""
    fake = FakeDiscord(limits=False)
    editor = fake.world.add_user("editor").id
    fake.world.add_role("editors", "manage_messages", members=[editor])
    secret = fake.world.add_channel("secret", only=[BEN, editor, fake.bot_user]).id
    async with fake, gesturing(fake, tmp_path) as here:
        private = await fake.says(secret, "ben", "The whale starts in April.")
        link = f"https://discord.com/channels/{GUILD}/{secret}/{private}"
        form = await fake.slash("ingest", {}, "editor")
        await answered(fake, await fake.submits("editor", {"text": link, "scope": menu(form, "scope")[0]}))
        await fake.wait_for(done(fake, secret))
        (row,) = (await rows(here)).values()
        assert row.scope == f"place:discord:{GUILD}:{secret}"
        await answered(
            fake, await fake.slash("ingest", {"link": link, "scope": "team"}, "editor")
        )  # said of the message
        await fake.wait_for(done(fake, secret, 2))
        assert {each.scope for each in await here.library.documents.listed()} == {row.scope, "team"}


async def test_where_nobody_adds_it_is_said_in_words(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path, guilds=["1"]) as here:
        for given in ({}, {"text": "Some text"}):
            assert "Only members of the team" in await answered(fake, await fake.slash("ingest", given))
        assert not await rows(here)


# -- whatever goes wrong ----------------------------------------------------------------------------------------------


async def test_where_the_bot_cannot_post_the_verdicts_are_whispered(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        await fake.denies("general", "send_messages")
        gesture = await fake.slash("ingest", {"text": "Ships moor at pier 7."})
        told = await answered(fake, gesture, 2)
        assert told.startswith(STARTED) and "📥 Done: 1 added" in told and await rows(here)


async def test_a_result_past_the_token_is_still_shown(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        here.gate.hold()
        gesture = await fake.slash("ingest", {"file": fake.world.add_file("rules.md", RULES)})
        assert gesture.answer == 5
        fake.clock.advance(901)
        here.gate.go_on()
        await fake.wait_for(done(fake))
        (said,) = fake.posted(fake.dm("ann"))
        assert said.content.startswith(STARTED)


@pytest.mark.parametrize("open_to", ["all", "nobody"])
async def test_a_text_that_comes_back_is_shown_to_nobody_else(open_to: str, tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path):
        said = await fake.says("general", "ben", "The vault opens at nine.")
        link = f"https://discord.com/channels/{GUILD}/{GENERAL}/{said}"
        fake.fail("POST /interactions/{id}/{token}/callback", error(10062))
        if open_to == "nobody":
            fake.fail("POST /users/@me/channels", error(50007))
        words = "The codes of the vault are in the drawer of the second desk, ask Kim for them. "
        gesture = await fake.slash("ingest", {"text": f"{words * 3}{link}"})
        await fake.wait_for_idle()
        assert gesture.failed and not fake.posted("general")
        told = "".join(each.content for each in fake.posted(fake.dm("ann")))
        assert (words.strip() in told) == (open_to == "all")


async def test_what_a_process_left_is_read_when_it_is_back(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        gone, moved = fake.world.add_file("gone.md", RULES), fake.world.add_file("moved.md", RULES)
        message = await fake.says("general", "ben", "<@BOT> see", files=[moved])
        address = f"{fake.url}/attachments/{GENERAL}/{gone.id}/gone.md?ex=0&is=0&hm=0"
        where = {"channel": GENERAL, "message": message, "attachment": moved.id}
        refs = (
            FileRef("gone.md", {"url": address, "attachment": gone.id}),
            FileRef("moved.md", {"url": address, **where}),
            FileRef("text.md", {"text": "Ships moor at pier 7."}),
        )
        gone.serves = "missing"
        intake = IngestionRequest("i1", Place("discord", GUILD, GENERAL), None, ANN, "documents", TEAM, "en", refs)
        assert await here.bot.ingestion.accept("claim", intake) is not None

        async def never(file: FileRef) -> bytes:
            raise AssertionError("nothing is read yet")

        async with aclosing(here.bot.ingestion.process(intake, never)) as states:
            await anext(states)  # and there the process ends
        (left,) = await here.bot.ingestion.unfinished("discord")
        await resume(here.context, left)
        await resume(here.context, left)
        (shown,) = done(fake)()
        assert (
            "2 added" in shown.content and "gone.md: refused. Discord does not give the file any more" in shown.content
        )
        assert len(fake.posted("general")) == 1 and await here.bot.ingestion.unfinished("discord") == []


async def test_progress_that_was_lost_on_its_way_is_shown_once(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        fake.fail("PATCH /channels/{channel}/messages/{message}", error(10008), calls=[1])
        await fake.slash("ingest", {"text": "Ships moor at pier 7."})
        told = await fake.wait_for(lambda: [one for one in fake.whispers("ann") if "📥 Done" in one.content])
        assert len(told) == 1 and await rows(here)


@pytest.mark.parametrize(
    ("serves", "why"),
    [
        ("missing", "was deleted, or its address has expired"),
        ("endless", "larger"),
        ("redirect", "away from Discord"),
        ("cut", "ClientPayloadError"),  # each of the tries
    ],
)
async def test_a_file_that_does_not_come_is_refused_in_words(serves: str, why: str) -> None:
    async with FakeDiscord(limits=False) as fake:
        file = fake.world.add_file("rules.md", RULES, serves=serves, redirect=f"{fake.url}/elsewhere")
        await fake.says("general", "ann", "see", files=[file])
        url = fake.payloads.attachment(file)["url"]
        with pointed_at(fake), pytest.raises(UnreadableError) as caught:
            await download(url, 100_000, pause=0)
        assert why in caught.value.text("en") and isinstance(caught.value, ExpiredError) == (serves == "missing")
        with pytest.raises(UnreadableError, match="away from Discord"):
            await download(url, 100_000)  # which is not Discord any more
