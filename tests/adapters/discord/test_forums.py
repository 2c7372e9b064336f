"""Posts of a forum as questions: their titles, their tags, and posts that are questions without a mention."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from agent.events import Answered
from bot.store.channel_settings import ChannelSettings
from bot.types import Actor, AnswerGiven, Audience, Place, Preferences
from tests.adapters.discord.service import bot
from tests.bot.acting import says
from tests.bot.library import opened
from tests.fakes.discord_fake import BEN, GUILD, FakeDiscord
from tests.fakes.discord_payloads import CONTENT_INTENT
from tests.fakes.discord_world import FORUM, Channel, Message

SURE, UNSURE = Answered("Thirty days.", confidence=0.9), Answered("Perhaps thirty days.", unsure=True)
MISS = Answered("Nothing was found.", outcome="unknown")


def forum(fake: FakeDiscord, *, may_tag: bool = True, **tags: str) -> Channel:
    """Before the bot connects."""
    made = fake.world.add_channel("help", kind=FORUM, tags=tags or {"51": "Answered", "52": "open", "53": "refunds"})
    if may_tag:
        fake.world.allow(made.id, "manage_threads", who=fake.bot_user)
    return made


async def answered(fake: FakeDiscord, post: str, words: str) -> None:
    await fake.wait_for(lambda: [one for one in fake.thread(post) if words in one.content])
    await fake.wait_for_idle()


def names(fake: FakeDiscord, post: str) -> list[str]:
    place = fake.place(post)
    tags = fake.world.channels[place.parent].tags
    return sorted(tags[each] for each in place.applied_tags)


@pytest.mark.parametrize(
    ("answer", "given", "tags"),
    [
        (SURE, ["open", "refunds"], ["Answered", "refunds"]),
        (SURE, [], ["Answered"]),
        (UNSURE, ["Answered"], ["open"]),
        (MISS, ["refunds"], ["open", "refunds"]),
        (Answered("Sorry.", outcome="failed"), ["refunds"], ["refunds"]),
    ],
)
async def test_a_posts_tags_say_whether_it_is_answered(
    tmp_path: Path, answer: Answered, given: Sequence[str], tags: Sequence[str]
) -> None:
    async with FakeDiscord(limits=False) as fake:
        place = forum(fake)
        async with bot(fake, tmp_path, says(answer)):
            post = await fake.posts(place.id, "ann", "Refunds", "<@BOT> How long?", tags=given)
            await answered(fake, post, answer.text)
            await fake.wait_for(lambda: names(fake, post) == tags)


async def test_an_experts_answer_changes_the_tag(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, opened(tmp_path) as library, AsyncExitStack() as stack:
        place = forum(fake)
        here = await stack.enter_async_context(bot(fake, tmp_path, says(MISS), knowledge=library.knowledge))
        post = await fake.posts(place.id, "ann", "Refunds", "<@BOT> How long?")
        await answered(fake, post, "Nothing")
        await fake.wait_for(lambda: names(fake, post) == ["open"])
        where, seen = Place("discord", GUILD, place.id), Audience("public")
        (question,) = (await here.bot.experts.open(where, seen)).questions
        lesson = AnswerGiven(Actor("discord", GUILD, BEN), where, seen, (question.id,), "Sixty days.")
        assert (await here.bot.experts.answer(lesson)).refusal is None
        await fake.wait_for(lambda: names(fake, post) == ["Answered"])


@pytest.mark.parametrize("tags", [{"61": "refunds"}, {"51": "Answered"}])
async def test_a_forum_without_the_tags_or_the_right_keeps_its_posts_as_they_are(
    tmp_path: Path, tags: dict[str, str]
) -> None:
    async with FakeDiscord(limits=False) as fake:
        place = forum(fake, may_tag="61" in tags, **tags)
        async with bot(fake, tmp_path, says(SURE)):
            post = await fake.posts(place.id, "ann", "Refunds", "<@BOT> How long?")
            await answered(fake, post, "Thirty")
            assert names(fake, post) == []


async def test_the_title_of_a_post_is_its_context(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake:
        place = forum(fake)
        async with bot(fake, tmp_path, says(SURE)) as here:
            post = await fake.posts(place.id, "ann", "Refunds from abroad", "<@BOT> How long do they take?")
            await answered(fake, post, "Thirty")
            (heard,) = here.player.asks[0].overheard
            assert (heard.author, heard.text) == ("ann", "Refunds from abroad")


@pytest.mark.parametrize("follow", ["thread", "posts"])
async def test_each_post_is_a_question_where_that_was_chosen(tmp_path: Path, follow: str) -> None:
    async with FakeDiscord(limits=False) as fake:
        fake.app.intents |= CONTENT_INTENT
        place = forum(fake)
        async with bot(fake, tmp_path, says(SURE), says(SURE)) as here:
            where = Place("discord", GUILD, place.id)
            await ChannelSettings(here.data.engine).put(where, Preferences(follow=follow))  # type: ignore[arg-type]
            thanks = await fake.posts(place.id, "ann", "Thanks", "Thank you!")
            post = await fake.posts(place.id, "ann", "Refunds", "How long do refunds from abroad take?")
            asked = await fake.posts(place.id, "ann", "Sign", "<@BOT> Is there a sign of life?")
            await answered(fake, asked, "Thirty")
            assert bool(_said(fake, post)) is (follow == "posts") and not _said(fake, thanks)


def _said(fake: FakeDiscord, post: str) -> list[Message]:
    return [one for one in fake.thread(post) if one.author == fake.bot_user]
