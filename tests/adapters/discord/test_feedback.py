"""👍 and 👎: buttons that outlive the process, a modal that says why, and reactions of any colour."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.types import Place, Post
from tests.adapters.acting import until
from tests.adapters.discord.service import Service, bot
from tests.fakes.discord_fake import GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_gate import error
from tests.fakes.discord_world import Message


@dataclass
class Answer:
    """An answer in #general, and its turn."""

    here: Service
    message: Message
    turn: str

    async def has(self, *wanted: str) -> None:
        """Until these are its votes, like `ann down outdated`."""
        await votes(self.here, self.turn, *wanted)


async def votes(here: Service, turn: str, *wanted: str) -> None:
    people = {user.id: user.name for user in here.discord.world.users.values()}

    async def found() -> list[str]:
        return sorted(
            " ".join(filter(None, (people[one.author], one.vote, one.reason))) for one in await here.data.votes.of(turn)
        )

    await until(found, lambda those: those == sorted(wanted))


@asynccontextmanager
async def answered(discord: FakeDiscord, home: Path) -> AsyncIterator[Answer]:
    async with bot(discord, home) as here:
        asked = await discord.says("general", "ann", "@kotae How long do refunds take?")
        message = (await discord.wait_for_replies(asked, count=2))[1]

        async def placed() -> Post | None:
            return await here.bot.outbox.find(Place("discord", GUILD, GENERAL), message.id)

        post = await until(placed, lambda found: found is not None)
        assert post is not None
        yield Answer(here, message, post.about)


@pytest.mark.parametrize("label", ["Helpful", "Not helpful"])
async def test_a_vote_that_cannot_be_acknowledged_to_its_author_alone_is_shown_to_nobody(
    label: str, tmp_path: Path
) -> None:
    async with FakeDiscord(limits=False) as discord, answered(discord, tmp_path) as answer:
        discord.fail("POST /interactions/{id}/{token}/callback", error(10062))
        await discord.presses("ann", answer.message.id, label)
        await answer.has(f"ann {'up' if label == 'Helpful' else 'down'}")
        await discord.wait_for_idle()
        assert len(discord.thread(answer.message.channel)) == 2 and not discord.posted("general")
        assert not discord.posted(discord.dm("ann"))


async def test_a_button_is_a_vote_that_can_be_changed_and_each_person_has_one(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord, answered(discord, tmp_path) as answer:
        made = await discord.presses("ann", answer.message.id, "Helpful", copies=2)
        assert made.answer and made.latency < 2.5
        await discord.wait_for(lambda: "Thank you, noted." in [each.shown for each in discord.whispers("ann")])
        await discord.presses("ben", answer.message.id, "Helpful")
        await answer.has("ann up", "ben up")
        await discord.presses("ann", answer.message.id, "Not helpful")
        await answer.has("ann down", "ben up")


async def test_a_thumb_down_counts_at_once_and_its_reason_survives_a_restart(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord:
        async with answered(discord, tmp_path) as answer:
            await discord.presses("ann", answer.message.id, "Not helpful")
            await answer.has("ann down")
        async with bot(discord, tmp_path) as answer.here:
            await discord.submits("ann", {"reason": "outdated", "text": "Since May it is 14 days."})
            await answer.has("ann down outdated")
            (note,) = [each for each in discord.whispers("ann") if "people who can answer" in each.shown]
            assert not note.mentions
            await discord.presses("ben", answer.message.id, "Helpful")
            await answer.has("ann down outdated", "ben up")


async def test_in_japanese_for_whoever_has_discord_in_japanese(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord, answered(discord, tmp_path) as answer:
        discord.person("ben").locale = "ja"
        made = await discord.presses("ben", answer.message.id, "Not helpful")
        assert made.modal and made.modal["title"] == "どこが問題でしたか？"
        await discord.submits("ben", {"理由": "wrong", "正しい内容や補足": "14日です。"})
        await discord.wait_for(
            lambda: any("記録" in each.shown or "伝えます" in each.shown for each in discord.whispers("ben"))
        )


async def test_a_forged_button_is_no_vote(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord, answered(discord, tmp_path) as answer:
        steps = discord.thread(answer.message.channel)[0]
        steps.components = answer.message.components
        await discord.presses("ben", steps.id, f"kotae:vote:down:{answer.turn}")
        whispers = await discord.wait_for(lambda: discord.whispers("ben"))
        assert ["no longer know" in each.shown for each in whispers] == [True]
        await answer.has()


@pytest.mark.parametrize(("emoji", "vote"), [("👎🏿", "down"), ("👍", "up")])
async def test_a_thumb_of_any_colour_on_the_answer_is_a_vote(emoji: str, vote: str, tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as discord, answered(discord, tmp_path) as answer:
        await discord.reacts("ben", answer.message.id, "🎉")
        await discord.reacts(discord.world.add_user("robot", bot=True).id, answer.message.id, emoji)
        await discord.reacts("ben", answer.message.id, emoji)
        await answer.has(f"ben {vote}")
        await discord.unreacts("ben", answer.message.id, emoji)
        await answer.has()
