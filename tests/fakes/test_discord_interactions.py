"""Discord's fake: commands, buttons, menus and modals as people use them, and the clocks of their answers."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import discord
import pytest
from discord import app_commands

from tests.fakes import discord_rules as rules
from tests.fakes.discord_client import Heard, call, refused, running
from tests.fakes.discord_demo import does
from tests.fakes.discord_fake import ANN, BEN, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_gate import Refused

Json = dict[str, Any]


@pytest.fixture
async def fake() -> AsyncIterator[FakeDiscord]:
    async with FakeDiscord(limits=False) as made:
        yield made


class Votes(discord.ui.View):
    """Persistent: no timeout, fixed ids."""

    def __init__(self) -> None:
        super().__init__(timeout=None)
        self.pressed: list[str] = []

    @discord.ui.button(label="Good", emoji="👍", custom_id="vote:up")
    async def up(self, interaction: discord.Interaction, button: discord.ui.Button[Any]) -> None:
        self.pressed.append(interaction.user.name)
        button.disabled = True
        await interaction.response.edit_message(content="thanks", view=self)

    @discord.ui.select(
        custom_id="vote:why", options=[discord.SelectOption(label="Wrong"), discord.SelectOption(label="Old")]
    )
    async def why(self, interaction: discord.Interaction, select: discord.ui.Select[Any]) -> None:
        self.pressed += select.values
        await interaction.response.send_message("noted", ephemeral=True)


class Form(discord.ui.Modal, title="Correct it"):
    words: Any = discord.ui.Label(text="Answer", component=discord.ui.TextInput(min_length=2, max_length=9))
    kind: Any = discord.ui.Label(
        text="Kind",
        component=discord.ui.Select(
            options=[discord.SelectOption(label="Fact"), discord.SelectOption(label="Opinion")]
        ),
    )
    file: Any = discord.ui.Label(text="File", component=discord.ui.FileUpload(required=False, max_values=2))
    who: Any = discord.ui.Label(text="Who", component=discord.ui.UserSelect(required=False))
    sure: Any = discord.ui.Label(text="Sure", component=discord.ui.Checkbox())

    async def on_submit(self, interaction: discord.Interaction) -> None:
        files = [(each.filename, await each.read()) for each in self.file.component.values]
        who = [each.name for each in self.who.component.values]
        told = self.words.component.value, self.kind.component.values, files, who, self.sure.component.value
        await interaction.response.send_message(repr(told), ephemeral=True)


class Office(Heard):
    """A bot with one of each."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Any] = []
        self.held: list[discord.Interaction] = []  # left unanswered
        kotae = app_commands.Group(name="kotae", description="About the bot")

        @self.tree.command(name="ingest", description="Adds files")
        @app_commands.describe(file="A file", scope="For whom")
        @app_commands.choices(scope=[app_commands.Choice(name="Team", value="team")])
        async def ingest(
            interaction: discord.Interaction,
            file: discord.Attachment,
            scope: str = "all",
            to: discord.Member | None = None,
        ) -> None:
            await interaction.response.defer(thinking=True, ephemeral=True)
            self.given.append((file.filename, file.ephemeral, await file.read(), scope, to and to.name))
            await interaction.followup.send(f"{file.filename} is in")
            await interaction.followup.send("and so?", ephemeral=True)
            await interaction.edit_original_response(content=f"{file.filename}: done")

        @kotae.command(name="help", description="How to use it")
        @app_commands.default_permissions(manage_guild=True)
        async def explains(interaction: discord.Interaction, topic: str) -> None:
            await interaction.response.send_message(f"about {topic} @everyone <@{ANN}>")

        @explains.autocomplete("topic")
        async def topics(interaction: discord.Interaction, typed: str) -> list[app_commands.Choice[str]]:
            return [app_commands.Choice(name=typed + "…", value=typed)]

        @self.tree.context_menu(name="Correct this")
        async def correct(interaction: discord.Interaction, message: discord.Message) -> None:
            self.given.append((message.content, message.author.name, interaction.locale.value))
            await interaction.response.send_modal(Form())

        @self.tree.command(name="slow", description="Never in time")
        async def slow(interaction: discord.Interaction) -> None:
            self.held.append(interaction)

        self.tree.add_command(kotae)
        self.votes = Votes()

    async def setup_hook(self) -> None:
        self.add_view(self.votes)
        await self.tree.sync()


# -- commands -------------------------------------------------------------------------------------------------------


def command(**more: Any) -> Json:
    return {"name": "ask", "description": "Asks", "type": 1} | more


def option(**more: Any) -> Json:
    return {"name": "question", "description": "What", "type": 3} | more


FINE = [
    command(name="質問", name_localizations={"ja": "きく"}, description_localizations={"ja": "質問します"}),
    command(options=[option(required=True, max_length=6000), option(name="file", type=11)]),
    command(options=[option(type=2, options=[option(type=1, name="deep", options=[option()])])]),
    command(type=3, name="Ask About This", description=""),
    command(description="d" * 100, options=[option(choices=[{"name": "n" * 100, "value": "v"}])]),
]
NOT_FINE = [
    command(name="Ask"),
    command(name="ask now"),
    command(name="a" * 33),
    command(name=""),
    command(description=""),
    command(description="d" * 101),
    command(name_localizations={"xx": "ask"}),
    command(name_localizations={"ja": "聞く です"}),
    command(description_localizations={"ja": "あ" * 101}),
    command(type=3, name="Ask", description="no"),
    command(type=3, name="n" * 33, description=""),
    command(options=[option(), option(name="other", required=True)]),
    command(options=[option(), option()]),
    command(options=[option(name=f"o{number}") for number in range(26)]),
    command(options=[option(name="Bad")]),
    command(options=[option(choices=[{"name": "n", "value": str(number)} for number in range(26)])]),
    command(options=[option(type=1), option(name="other")]),
    command(options=[option(choices=[{"name": "n", "value": "v"}], autocomplete=True)]),
    command(options=[option(name=f"o{n}", choices=[{"name": "n" * 100, "value": "v" * 100}] * 25) for n in range(2)]),
    command(contexts=[3]),
]


async def test_what_may_be_a_command(fake: FakeDiscord) -> None:
    path = f"/applications/{fake.app.id}/commands"
    for each in FINE:
        status, told, _ = await call(fake, "PUT", path, [each])
        assert (status, len(fake.app.commands)) == (200, 1), (each, told)
    for each in NOT_FINE:
        status, told, _ = await call(fake, "PUT", path, [each])
        assert (status, told["code"]) == (400, 50035), each
    assert (await call(fake, "PUT", path, [command(), command()]))[0] == 400
    assert len(fake.app.commands) == 1
    before = next(iter(fake.app.commands))
    _, told, _ = await call(fake, "PUT", path, [FINE[-1], command(name="other")])
    assert told[0]["id"] == before and len(fake.app.commands) == 2
    assert (await call(fake, "PUT", "/applications/1/commands", []))[1]["code"] == 20012


async def test_commands_come_back_as_discord_keeps_them(fake: FakeDiscord) -> None:
    path = f"/applications/{fake.app.id}/commands"
    choice = {"name": "n", "name_localizations": {"ja": "え"}, "value": "v"}
    sent = command(
        name_localizations={},
        contexts=None,
        unknown=1,
        options=[option(required=False, min_length=0, choices=[choice])],
    )
    _, (told,), _ = await call(fake, "PUT", path, [sent])
    kept: Json = {"name_localizations": None, "description_localizations": None, "contexts": None, "nsfw": False}
    kept |= {"integration_types": [0], "dm_permission": True, "default_member_permissions": None, "type": 1}
    assert kept.items() <= told.items() and "unknown" not in told
    assert told["options"][0].keys() == {
        *option(),
        *("name_localizations", "description_localizations"),
        "min_length",
    } | {"choices"}
    _, (again,), _ = await call(fake, "PUT", path, [sent])
    assert again == told
    _, (changed,), _ = await call(fake, "PUT", path, [sent | {"description": "Asks more"}])
    assert changed["id"] == told["id"] and int(changed["version"]) > int(told["version"])
    _, (listed,), _ = await call(fake, "GET", path)
    assert "localizations" not in str(listed)
    _, (full,), _ = await call(fake, "GET", path + "?with_localizations=true")
    assert full == changed


async def test_so_many_commands_are_made_a_day_in_each_scope(fake: FakeDiscord) -> None:
    path = f"/applications/{fake.app.id}/commands"
    for number in range(2):
        names = [f"c{number}-{each}" for each in range(100)]
        assert (await call(fake, "PUT", path, [command(name=name) for name in names]))[0] == 200
    assert (await call(fake, "PUT", path, [command(name=name) for name in names]))[0] == 200  # they are there
    assert (await call(fake, "POST", path, command(name="one-more")))[1]["code"] == 30034
    there = f"/applications/{fake.app.id}/guilds/{GUILD}/commands"
    assert (await call(fake, "POST", there, command(name="one-more")))[0] == 200
    fake.clock.advance(86_400)
    await call(fake, "PUT", path, [])
    assert (await call(fake, "POST", path, command(name="one-more")))[0] == 200
    assert (await call(fake, "PUT", path, []))[1] == [] == (await call(fake, "GET", path))[1]


async def test_a_slash_command_with_a_file_and_its_answers(fake: FakeDiscord) -> None:
    bot, other = Office(), Heard()
    stranger = fake.install("other")
    async with running(fake, bot), running(fake, other, token=stranger.token):
        file = fake.world.add_file("notes.md", b"# Notes")
        made = await fake.slash("ingest", {"file": file, "scope": "team", "to": BEN})
        assert (made.answer, made.failed) == (5, False) and made.latency < 2.5
        await fake.wait_for(lambda: fake.whispers("ann") and fake.whispers("ann")[0].history)
        [first, second] = fake.whispers("ann")
        assert (first.history, first.shown, first.loading) == (["notes.md is in"], "notes.md: done", False)
        assert (second.shown, second.ephemeral_to) == ("and so?", ANN)
        assert bot.given == [("notes.md", True, b"# Notes", "team", "ben")]
        assert fake.posted("general") == [] and fake.whispers("ben") == []
        await fake.wait_for(lambda: len(bot.messages) == 2)  # the app hears its own whispers, without a server
        assert [each.guild for each in bot.messages] == [None, None] and other.messages == []
        with pytest.raises(LookupError):
            fake.message(first.id, "ben")
        status = await call(fake, "GET", f"/channels/{GENERAL}/messages/{first.id}")
        assert status[1]["code"] == 10008  # nobody finds it in the channel
        for options, error in (
            ({}, ValueError),
            ({"file": file, "scope": "x"}, ValueError),
            ({"nope": 1}, LookupError),
        ):
            with pytest.raises(error):
                await fake.slash("ingest", options)
        with pytest.raises(LookupError):
            await fake.slash("unheard-of")


async def test_subcommands_suggestions_and_who_may_use_them(fake: FakeDiscord) -> None:
    for each in (ANN, BEN):
        fake.world.users[each].locale = "ja"
    bot = Office()
    async with running(fake, bot):
        assert await fake.suggests("kotae help", {"topic": "ref"}, "topic") == [{"name": "ref…", "value": "ref"}]
        made = await fake.slash("kotae help", {"topic": "refunds"}, user="ben")
        [said] = fake.posted("general")
        assert made.original == said.id and said.shown.startswith("about refunds")
        assert said.pings == [ANN]  # in answers to interactions only people ping by themselves
        fetched = await bot.guilds[0].text_channels[0].fetch_message(int(said.id))
        assert fetched.interaction_metadata and fetched.interaction_metadata.user.id == int(BEN)
        assert fetched.type is discord.MessageType.chat_input_command
        direct = await fake.slash("kotae help", {"topic": "x"}, user="ben", channel=fake.dm("ben"))
        assert direct.answer == 4 and fake.posted(fake.dm("ben"))
        with pytest.raises(LookupError):
            await fake.slash("kotae")
        only = command(default_member_permissions=str(1 << 5), contexts=[0])
        await call(fake, "POST", f"/applications/{fake.app.id}/commands", only)
        for user, channel in (("ann", "general"), ("owner", fake.dm("owner"))):
            with pytest.raises(ValueError, match="use"):
                await fake.slash("ask", user=user, channel=channel)


# -- components and modals ------------------------------------------------------------------------------------------


async def test_buttons_survive_a_restart_and_change_their_message(fake: FakeDiscord) -> None:
    async with running(fake, bot := Office()):
        sent = await bot.guilds[0].text_channels[0].send("Was this right?", view=Votes())
    message = str(sent.id)
    async with running(fake, bot := Office()):
        made = await fake.presses("ben", message, "vote:up")
        assert (made.answer, fake.message(message).shown, bot.votes.pressed) == (7, "thanks", ["ben"])
        assert fake.message(message).history == ["Was this right?"]
        with pytest.raises(LookupError, match="disabled"):
            await fake.presses("ann", message, "Good")
        made = await fake.presses("ann", message, "vote:why", "Old")
        assert bot.votes.pressed == ["ben", "Old"] and fake.whispers("ann")[0].shown == "noted"
        assert fake.whispers("ann")[0].id == made.original
        for what in ("nothing", "vote:why"):
            with pytest.raises(LookupError):
                await fake.presses("ann", message, what, "Unheard")
        fake.world.answer_seconds = 0.05
        assert (await fake.forges("ann", message, "vote:nothing")).failed


async def test_a_menu_on_a_message_opens_a_modal_with_every_kind_of_field(fake: FakeDiscord) -> None:
    fake.world.users[ANN].locale = "ja"
    bot = Office()
    async with running(fake, bot):
        wrong = await fake.says("general", "ben", "The sky is green.")
        made = await fake.menu("Correct this", wrong)
        assert bot.given == [("The sky is green.", "ben", "ja")]
        assert made.answer == 9 and made.modal and made.modal["title"] == "Correct it"
        assert fake.modal("ann") is made
        for values, error in (
            ({"Answer": "x", "Kind": "Fact"}, ValueError),
            ({"Answer": "much too long", "Kind": "Fact"}, ValueError),
            ({"Answer": "blue"}, ValueError),
            ({"Answer": "blue", "Kind": "Lie"}, LookupError),
            ({"Answer": "blue", "Kind": "Fact", "Colour": "x"}, LookupError),
        ):
            with pytest.raises(error):
                await fake.submits("ann", values)
        file = fake.world.add_file("sky.txt", b"blue")
        await fake.submits("ann", {"Answer": "blue", "Kind": "Fact", "File": [file], "Who": BEN, "Sure": True})
        told = ("blue", ["Fact"], [("sky.txt", b"blue")], ["ben"], True)
        assert [each.shown for each in fake.whispers("ann")] == [repr(told)]
        with pytest.raises(LookupError):
            fake.modal("ann")


async def test_a_message_under_a_menu_has_its_words_without_the_content_intent() -> None:
    async with FakeDiscord(intents=0) as fake:
        bot = Office()
        bot._connection._intents.message_content = False
        async with running(fake, bot):
            await fake.menu("Correct this", await fake.says("general", "ben", "Green."))
            assert [each[0] for each in bot.given] == ["Green."]


MODAL: Json = {"custom_id": "m", "title": "T", "components": []}


def labelled(component: Json, label: str = "L") -> Json:
    return MODAL | {"components": [{"type": 18, "label": label, "component": component}]}


def test_what_may_be_a_modal() -> None:
    words = {"type": 4, "custom_id": "t", "style": 1}
    upload = {"type": 19, "custom_id": "u"}
    old = MODAL | {"components": [{"type": 1, "components": [words | {"label": "old"}]}]}
    rows = [{"type": 1, "components": [words | {"custom_id": str(number), "label": "l"}]} for number in range(6)]
    chosen = [{"label": each, "value": each, "default": True} for each in "12"]
    for body in (old, labelled(words), labelled(upload), labelled({"type": 22, "custom_id": "c", "options": chosen})):
        rules.check_modal(body)
    rules.check_modal(old, without={"modal_components"})
    bad = [
        MODAL,
        MODAL | {"components": rows},
        labelled(words) | {"title": "t" * 46},
        labelled(words) | {"custom_id": "m" * 101},
        labelled(words, "l" * 46),
        labelled(words | {"style": 3}),
        labelled(words | {"max_length": 4001}),
        labelled(words | {"max_length": 3, "value": "long"}),
        labelled(words | {"value": "two\nlines"}),
        labelled({"type": 2, "style": 1, "label": "x", "custom_id": "b"}),
        labelled({"type": 21, "custom_id": "r", "options": [{"label": "1", "value": "1"}]}),
        labelled({"type": 3, "custom_id": "s", "options": [{"label": "1", "value": "1"}], "min_values": 0}),
        labelled({"type": 3, "custom_id": "s", "options": [{"label": "1", "value": "1"}], "max_values": 2}),
        labelled({"type": 3, "custom_id": "s", "options": chosen}),
        labelled({"type": 21, "custom_id": "r", "options": chosen}),
        labelled({"type": 22, "custom_id": "c", "options": chosen, "max_values": 1}),
        labelled({"type": 22, "custom_id": "c", "options": chosen, "min_values": 0}),
        labelled(upload | {"max_values": 11}),
    ]
    lacking = [(labelled(words), "modal_components"), (labelled(upload), "file_upload")]
    for body, without in [*((each, "") for each in bad), *lacking]:
        with pytest.raises(Refused) as caught:
            rules.check_modal(body, without={without})
        assert caught.value.body["code"] == 50035 and caught.value.body["errors"]["data"]


def test_what_may_be_proposed_while_somebody_types() -> None:
    fine = {"name": "n" * 100, "value": "v" * 100}
    rules.check_choices([fine] * 25)
    rules.check_choices([])
    for bad in ([fine] * 26, [fine | {"name": "n" * 101}], [fine | {"value": "v" * 101}], [fine | {"value": ""}]):
        with pytest.raises(Refused) as caught:
            rules.check_choices(bad)
        assert caught.value.body["code"] == 50035 and caught.value.body["errors"]["data"]


async def callback(fake: FakeDiscord, held: discord.Interaction, body: Json) -> tuple[int, Any, Any]:
    return await call(fake, "POST", f"/interactions/{held.id}/{held.token}/callback?with_response=true", body)


# -- clocks ---------------------------------------------------------------------------------------------------------


async def test_three_seconds_for_the_first_answer_and_only_one(fake: FakeDiscord) -> None:
    bot = Office()
    async with running(fake, bot):
        waiting = asyncio.create_task(fake.slash("slow"))
        await fake.wait_for(lambda: bot.held)
        [held] = bot.held
        assert await refused(held.followup.send("too early")) == (404, 10015)
        assert await refused(held.edit_original_response(content="too early")) == (404, 10015)
        await held.response.defer()
        made = await waiting
        assert (made.answer, made.failed) == (5, False)
        status, told, _ = await callback(fake, held, {"type": 4, "data": {"content": "again"}})
        assert (status, told["code"]) == (400, 40060)
        fake.clock.advance(899)
        await held.followup.send("in time")
        fake.clock.advance(2)
        assert await refused(held.followup.send("too late")) == (401, 50027)
        assert await refused(held.edit_original_response(content="too late")) == (401, 50027)
        assert [each.shown for each in fake.posted("general")] == ["in time"]
        waiting = asyncio.create_task(fake.slash("slow"))
        await fake.wait_for(lambda: len(bot.held) == 2)
        fake.clock.advance(3.1)
        assert await refused(bot.held[1].response.send_message("late")) == (404, 10062)
        assert (await waiting).failed
        status, told, _ = await call(fake, "POST", "/interactions/1/none/callback", {"type": 5})
        assert (status, told["code"]) == (404, 10062)


async def test_nobody_answers(fake: FakeDiscord) -> None:
    fake.world.answer_seconds = 0.02
    await call(fake, "PUT", f"/applications/{fake.app.id}/commands", [command()])
    made = await fake.slash("ask")
    assert made.failed and made.original == ""


async def test_which_answers_fit_which_gesture(fake: FakeDiscord) -> None:
    bot = Office()
    async with running(fake, bot):
        waiting = asyncio.create_task(fake.slash("slow"))
        await fake.wait_for(lambda: bot.held)
        for body in ({"type": 6}, {"type": 7}, {"type": 8}, {"type": 99}, {"type": 9, "data": MODAL}):
            assert (await callback(fake, bot.held[0], body))[1]["code"] == 50035
        assert (await callback(fake, bot.held[0], {"type": 4, "data": {"content": "x" * 2001}}))[1]["code"] == 50035
        answered = await bot.held[0].response.send_message("x", ephemeral=True)
        assert answered.message_id == int((await waiting).original) and answered.is_ephemeral()


# -- other worlds ---------------------------------------------------------------------------------------------------


async def test_a_discord_with_less(fake: FakeDiscord) -> None:
    without = {"components_v2", "threads", "context_menus", "enforce_nonce"}
    async with FakeDiscord(without=without) as poor:
        asked = await poor.says("general", "ann", "x")
        v2 = {"flags": 1 << 15, "components": [{"type": 10, "content": "x"}]}
        here = f"/channels/{GENERAL}/messages"
        assert (await call(poor, "POST", here, v2))[1]["errors"].keys() == {"flags"}
        assert (await call(poor, "POST", f"{here}/{asked}/threads", {"name": "x"}))[1]["code"] == 50024
        menu = command(type=3, name="X", description="")
        assert (await call(poor, "PUT", f"/applications/{poor.app.id}/commands", [menu]))[1]["code"] == 50035
        for _ in range(2):
            await call(poor, "POST", here, {"content": "x", "nonce": "1", "enforce_nonce": True})
        assert len(poor.posted("general")) == 2


async def test_two_bots_in_one_channel(fake: FakeDiscord) -> None:
    other = fake.install("other")
    async with running(fake, one := Heard()), running(fake, two := Heard(), token=other.token):
        await fake.says("general", "other", "hello @kotae")
        await fake.wait_for(lambda: one.messages and two.messages)
        assert one.messages[0].author.bot and two.messages[0].author == two.user
        with pytest.raises(discord.HTTPException) as caught:
            await one.guilds[0].text_channels[0].get_partial_message(two.messages[0].id).edit(content="mine now")
        assert caught.value.code == 50005


async def test_trying_it_by_hand(fake: FakeDiscord) -> None:
    bot = Office()
    async with running(fake, bot):
        sent = await bot.guilds[0].text_channels[0].send("right?", view=Votes())
        await does(fake, "ann general: hello")
        await does(fake, f"ben > {sent.id}: a reply")
        await does(fake, "ann dm: hello")
        await does(fake, f"ann + 👍 {sent.id}")
        await does(fake, f"ann press {sent.id} Good")
        await does(fake, "ann /kotae help topic=refunds")
        await does(fake, f"ann menu {sent.id} Correct this")
        await does(fake, "ann submit Answer=blue Kind=Fact")
        await does(fake, "")
        with pytest.raises(LookupError):
            await does(fake, "nobody general: hello")
        assert fake.message(sent.id).shown == "thanks" and fake.message(sent.id).reactions == {"👍": [ANN]}
        assert fake.whispers("ann")[0].shown.startswith("('blue', ['Fact']")
        await fake.wait_for(lambda: [each.content for each in bot.messages].count("hello") == 2)
