"""The commands of Discord: in both languages, answered in time, to their author alone, and harmless whatever is in
them."""

from pathlib import Path

import discord
import pytest

from adapters.discord.rendering.components import MESSAGES, card_texts, pieces
from adapters.discord.rendering.markdown import LIMIT
from bot.types import Card, CardRow, Link
from tests.adapters.discord.gesturing import Here, gesturing
from tests.fakes.discord_fake import ANN, FakeDiscord
from tests.fakes.discord_gate import CUT_AFTER, CUT_BEFORE, Fault, error
from tests.fakes.discord_world import Interaction, Message

CALLBACK = "POST /interactions/{id}/{token}/callback"
FOLLOW_UP = "POST /webhooks/{app}/{token}"
EVIL = "@everyone <@1100000000000000022> [x](https://evil.example) **b** ||s|| `c` <https://evil.example>"


def answers(fake: FakeDiscord, gesture: Interaction) -> list[Message]:
    """What only its author sees."""
    person = fake.world.users[gesture.user].name
    return [one for one in fake.whispers(person) if one.interaction == gesture.token and not one.loading]


async def answered(fake: FakeDiscord, gesture: Interaction, count: int = 1) -> str:
    await fake.wait_for(lambda: len(answers(fake, gesture)) >= count)
    return "\n".join(message.content for message in answers(fake, gesture))


async def asked(here: Here, name: str, user: str = "ann", channel: str = "general", **options: str | bool) -> str:
    gesture = await here.discord.slash(name, options, user, channel)
    assert not gesture.failed and gesture.latency < 2.5
    return await answered(here.discord, gesture)


# -- what they say ----------------------------------------------------------------------------------------------------


async def test_every_command_has_a_name_in_both_languages_and_answers_its_author_alone(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        commands = {each["name"]: each for each in fake.app.commands.values()}
        assert set(commands) == {
            *("ingest", "search", "collections", "documents", "forget", "owner", "asks", "history"),
            *("unanswered", "answers", "digest", "settings", "help", "sources", "Add to knowledge"),
        }
        for each in commands.values():
            for thing in (each, *each.get("options", ())):
                assert thing["name_localizations"]["ja"]
                assert not thing.get("description") or thing["description_localizations"]["ja"]

        assert (
            int(commands["settings"]["default_member_permissions"]) == discord.Permissions(manage_messages=True).value
        )
        with pytest.raises(ValueError, match="may not use settings"):
            await asked(here, "settings")
        fake.world.add_role("moderators", "manage_messages", members=[ANN])
        await here.library.add("rules.md", "# Refunds\n\nRefunds take 30 days.\n", collection="handbook")
        assert "/search <words>" in (await asked(here, "help")).replace("\\", "")
        assert "rules.md**" in await asked(here, "search", words="refunds")
        assert "handbook" in await asked(here, "collections")
        assert "**rules.md**" in await asked(here, "documents", collection="handbook")
        assert "No open questions" in await asked(here, "unanswered")
        assert "Nobody has answered" in await asked(here, "answers")
        assert "no such answer" in await asked(here, "answers", action="edit", answer="0123abcd", text="At pier nine.")
        assert "answers edit <id>" in (await asked(here, "answers", action="forget")).replace("\\", "")
        assert "may be found" in await asked(here, "history")
        assert "Nothing that you say" in await asked(here, "history", allowed=False)
        assert "Unanswered questions" in await asked(here, "digest")
        assert "follow" in await asked(here, "sources")
        assert "There is no source “x”" in await asked(here, "sources", action="resume", source="x", gone="keep")
        assert "steps: live\n" in await asked(here, "settings")
        assert "Saved.\n" in await asked(here, "settings", setting="steps", value="off")
        assert "steps: off (chosen here)" in await asked(here, "settings")
        assert "steps: live\n" in await asked(here, "settings", setting="reset")
        assert "There is no “nothing” here" in await asked(here, "settings", setting="strategy", value="nothing")

        fake.world.users[ANN].locale = "ja"
        assert "**検索**" in await asked(here, "search", words="返金")
        assert "/search <語句>：文書を検索します" in (await asked(here, "help")).replace("\\", "")
        assert not fake.posted("general")


async def test_what_people_wrote_stands_for_itself(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        document = EVIL.replace("/", "|") + ".md"
        verdict = await here.library.add(document, f"# {EVIL}\n\n{EVIL}\n", collection="@everyone <@&1> _evil_")
        assert verdict.status == "added"
        for name, options in (("search", {"words": f"evil {EVIL}"}), ("documents", {}), ("collections", {})):
            await asked(here, name, **options)
        assert "is deleted" in await asked(here, "forget", "owner", document=document)
        for message in fake.whispers("ann") + fake.whispers("owner"):
            assert "evil" in message.content and "\n" in message.content
            assert not (message.mentions or message.named or message.urls or message.previews)


async def test_who_may_do_what(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        await here.library.add("rules.md", "# Refunds\n\nRefunds take 30 days.\n")
        assert "can be deleted by whoever added it, or by an editor" in await asked(here, "forget", document="rules.md")
        fake.world.add_role("editors", "manage_messages", members=[ANN])
        assert "is deleted" in await asked(here, "forget", document="rules.md")

        direct = fake.dm("ben")
        assert "**Documents**" in await asked(here, "documents", "ben", direct)
        await fake.leaves("ben")
        here.context.places._members.clear()  # a minute has passed
        assert "Only members of the team" in await asked(here, "documents", "ben", direct)


async def test_values_are_proposed_while_somebody_types(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        await here.library.add("rules.md", "# Refunds\n\nRefunds take 30 days.\n", collection="handbook")

        async def values(command: str, focused: str, **options: str) -> list[str]:
            return [each["value"] for each in await fake.suggests(command, options, focused)]

        assert await values("documents", "collection", collection="") == ["documents", "handbook"]
        assert await values("documents", "collection", collection="HAND") == ["handbook"]
        assert await values("ingest", "scope", scope="") == ["team"]
        fake.world.add_role("editors", "manage_messages", members=[ANN])
        assert await values("ingest", "scope", scope="") == ["team", "everyone"]
        assert await values("settings", "value", setting="steps", value="") == ["live", "verbose", "off", "reset"]
        assert await values("settings", "value", setting="collections", value="ha") == ["handbook"]


# -- in time, once, and whatever goes wrong ----------------------------------------------------------------------------


async def test_what_takes_long_is_deferred_and_told_by_its_token(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False, copies=2) as fake, gesturing(fake, tmp_path) as here:
        here.gate.hold()
        gesture = await fake.slash("documents")
        assert (gesture.answer, gesture.failed) == (5, False) and gesture.latency < 2.5
        assert fake.message(gesture.original, "ann").loading
        here.gate.go_on()
        assert "**Documents**" in await answered(fake, gesture)
        await fake.wait_for_idle()
        assert len(answers(fake, gesture)) == 1 and not fake.posted("general")  # though it came twice


async def test_past_its_token_a_direct_message_tells_it(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        here.gate.hold()
        gesture = await fake.slash("documents")
        fake.clock.advance(901)
        here.gate.go_on()
        (message,) = await fake.wait_for(lambda: fake.posted(fake.dm("ann")))
        assert message.content.startswith("**Documents**") and not message.mentions
        assert not answers(fake, gesture) and not fake.posted("general")


@pytest.mark.parametrize(
    ("fault", "direct"),
    [(error(10062), True), (CUT_AFTER, False), (CUT_BEFORE, False)],
    ids=["too late", "answer lost", "lost"],
)
async def test_a_first_answer_that_fails_loses_nothing(tmp_path: Path, fault: Fault, direct: bool) -> None:
    async with FakeDiscord(limits=False, scale=4.0) as fake, gesturing(fake, tmp_path) as here:
        fake.world.add_role("moderators", "manage_messages", members=[ANN])
        fake.fail(CALLBACK, fault, calls=[1])
        await fake.slash("settings", {"setting": "steps", "value": "off"})
        await fake.wait_for(lambda: fake.posted(fake.dm("ann")) + fake.whispers("ann"))
        await fake.wait_for_idle()
        (told,) = fake.posted(fake.dm("ann")) + fake.whispers("ann")
        assert "Saved." in told.content and bool(fake.posted(fake.dm("ann"))) == direct
        assert not fake.posted("general")
        assert "steps: off" in await asked(here, "settings")


async def test_a_deferral_that_got_lost_is_gone_on_with(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        here.gate.hold()
        fake.fail(CALLBACK, CUT_AFTER, calls=[1])
        gesture = await fake.slash("documents")
        assert gesture.answer == 5
        here.gate.go_on()
        assert "**Documents**" in await answered(fake, gesture)
        await fake.wait_for_idle()
        assert len(answers(fake, gesture)) == 1 and not fake.posted("general")


# -- how much fits ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["x", "*", "あ", "\\"])
def test_a_card_never_outgrows_its_messages(sign: str) -> None:
    row = CardRow(
        sign * 900, (sign * 900,) * 9, tuple(Link(sign * 80, "https://a.example/" + "p" * 300) for _ in range(9))
    )
    for count in (0, 1, 4, 60):
        card = Card(sign * 300, (sign * 300,) * 5, (row,) * count, (sign * 200,) * 9)
        texts = card_texts(card)
        assert all(0 < len(text) <= LIMIT for text in texts) and len(texts) <= MESSAGES + 1
    assert "+" in card_texts(Card("t", (), (row,) * 60, ("foot",)))[-1]
    small = Card("t", ("l",), tuple(CardRow(f"row {number}") for number in range(40)), ("foot",))
    assert "\n".join(card_texts(small)).count("row ") == 40

    text = "\n".join((sign * 3_000, "", sign * 30))
    found = pieces("head", text)
    assert all(0 < len(piece) <= LIMIT for piece in found) and found[0].startswith("head\n")
    assert "".join(found).replace("\\", "").count(sign) == (0 if sign == "\\" else 3_030)


async def test_no_answer_to_a_gesture_calls_anybody_or_shows_a_preview(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        await answered(fake, await fake.slash("search", {"words": "@everyone https://evil.example"}))
        here.gate.hold()
        deferred = await fake.slash("help")
        here.gate.go_on()
        await answered(fake, deferred)
        first = [one.body["data"] for one in fake.journal.calls("POST /interactions/{id}/{token}/callback")]
        later = [one.body for one in fake.journal.calls("POST /webhooks/{app}/{token}")]
        said = [body for body in (*first, *later) if body and body.get("content")]
        assert len(said) == 2
        for body in said:
            assert body["allowed_mentions"]["parse"] == [] and body["flags"] & 4
