"""A person asked from a thread in Discord: who presses is told alone, who is asked gets one card, and the answer comes
back to the thread."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest

from adapters.runner import PeopleReach
from agent.events import Answered
from bot.types import Upload
from retrieval.types import TEAM
from tests.adapters.discord.service import Service, bot
from tests.bot.acting import says
from tests.bot.library import Library, opened
from tests.fakes.discord_fake import ANN, BEN, GENERAL, FakeDiscord
from tests.fakes.discord_world import Message

QUESTION = "How long do refunds from abroad take?"
UNSURE = Answered("Perhaps thirty days.", unsure=True)


@asynccontextmanager
async def asked(
    fake: FakeDiscord, home: Path, *, author: str = BEN, channel: str | None = None, place: str = GENERAL
) -> AsyncIterator[tuple[Service, Library, Message]]:
    """A document of Ben's, a question close to it, and its unsure answer, while nobody sleeps."""
    hour = datetime.now(UTC).hour
    zone = f"Etc/GMT{hour - 12:+}" if hour != 12 else "UTC"  # the sign is the other way round there
    async with (
        opened(home) as library,
        bot(fake, home, says(UNSURE), knowledge=library.knowledge, KOTAE_TIMEZONE=zone) as here,
    ):
        here.bot.asking.reach = PeopleReach([here.adapter], channel)
        await library.knowledge.add(Upload("refunds.md", QUESTION.encode(), "docs", TEAM, author), "en")
        message = await fake.says(place, "ann", f"<@BOT> {QUESTION}")
        await fake.wait_for(lambda: [each for each in fake.replies(message) if "Perhaps" in each.content])
        await fake.wait_for_idle()
        yield here, library, fake.replies(message)[-1]


def whispered(fake: FakeDiscord, user: str, words: str) -> list[Message]:
    return [each for each in fake.whispers(user) if words in each.content]


def written_to(fake: FakeDiscord, user: str) -> list[Message]:
    return [each for each in fake.posted(fake.dm(user)) if each.author == fake.bot_user]


async def test_the_owner_of_the_closest_document_is_asked_and_the_asker_gets_the_answer(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, asked(fake, tmp_path) as (_, _, answer):
        await fake.presses("ann", answer.id, "Ask a person")
        await fake.wait_for(lambda: whispered(fake, "ann", "I have asked ben"))
        (card,) = written_to(fake, "ben")
        assert QUESTION in card.content and "ann asks this" in card.content and "/asks" in card.content
        assert not whispered(fake, "ben", "asked") and "ben" not in answer.content

        await fake.presses("ben", card.id, "Answer this")
        await fake.submits("ben", {"answer": "From abroad it takes sixty days."})
        told = [each for each in fake.world.messages.values() if "sixty days" in each.content]
        await fake.wait_for(
            lambda: [
                each
                for each in fake.world.messages.values()
                if "sixty days" in each.content and each.channel == answer.channel
            ]
        )
        assert all(each.channel != GENERAL for each in told)
        await fake.wait_for(lambda: "Answered by ben" in fake.message(card.id).content)


async def test_who_takes_no_messages_gives_way_to_the_digests_channel(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake:
        fake.world.users[BEN].takes_dms = False
        digest = fake.world.add_channel("digest").id
        async with asked(fake, tmp_path, channel=f"discord:{digest}") as (_, _, answer):
            await fake.presses("ann", answer.id, "Ask a person")
            await fake.wait_for(
                lambda: whispered(fake, "ann", "I have asked \\#digest") or whispered(fake, "ann", "#digest")
            )
            (card,) = fake.posted(digest)
            assert QUESTION in card.content and "ann asks" not in card.content


@pytest.mark.parametrize("who", ["stranger", "bot", "unknown"])
async def test_who_is_no_member_is_not_asked(tmp_path: Path, who: str) -> None:
    async with FakeDiscord(limits=False) as fake:
        stranger = fake.world.add_user("carol", guilds=()).id
        author = {"stranger": stranger, "bot": fake.bot_user, "unknown": "199999999999999999"}[who]
        async with asked(fake, tmp_path, author=author) as (here, _, answer):
            with pytest.raises(LookupError):
                await here.adapter.find(f"@{author}")
            await fake.presses("ann", answer.id, "Ask a person")
            await fake.wait_for(lambda: whispered(fake, "ann", "I found nobody"))


async def test_in_a_private_channel_the_asker_confirms(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake:
        secret = fake.world.add_channel("secret", only=[ANN, fake.bot_user]).id
        async with asked(fake, tmp_path, place=secret) as (_, _, answer):
            await fake.presses("ann", answer.id, "Ask a person")
            (back,) = await fake.wait_for(lambda: whispered(fake, "ann", "would read your question"))
            assert not written_to(fake, "ben")
            await fake.presses("ann", back.id, "Ask ben")
            await fake.wait_for(lambda: whispered(fake, "ann", "I have asked ben"))
            assert len(written_to(fake, "ben")) == 1


async def test_an_owner_is_set_and_opts_out(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, asked(fake, tmp_path, author=ANN) as (_, library, answer):
        await fake.slash("owner", {"what": "refunds.md", "who": BEN}, "ann", GENERAL)
        await fake.wait_for(lambda: whispered(fake, "ann", "ben looks after"))
        (row,) = await library.documents.listed()
        assert row.owner == f"discord:{BEN}"
        await fake.slash("asks", {"allowed": False}, "ben", GENERAL)
        await fake.wait_for(lambda: whispered(fake, "ben", "No questions are brought to you"))
        await fake.presses("ann", answer.id, "Ask a person")
        await fake.wait_for(lambda: whispered(fake, "ann", "I found nobody"))
        await fake.slash("owner", {"what": "refunds.md", "nobody": True}, "ann", GENERAL)
        await fake.wait_for(lambda: whispered(fake, "ann", "Nobody in particular"))


async def test_an_answer_that_is_typed_below_the_card_is_asked_about_and_a_question_is_not(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, asked(fake, tmp_path) as (_, library, answer):
        await fake.presses("ann", answer.id, "Ask a person")
        await fake.wait_for(lambda: written_to(fake, "ben"))

        async def says(text: str, said: str) -> Message:
            await fake.says(fake.dm("ben"), "ben", text)
            return (await fake.wait_for(lambda: [one for one in written_to(fake, "ben") if said in one.content]))[-1]

        await says("From abroad it takes sixty days.", "Save this reply as the answer")
        confirm = await says("And a form.", f"Save these 2 replies together as the answer to “{QUESTION}”?")
        await fake.presses("ben", confirm.id, "Save as the answer")
        await fake.wait_for(lambda: "Saved as the answer" in fake.message(confirm.id).content)
        (kept,) = await library.documents.listed(collection="answers")
        assert kept.author == BEN and kept.name == f"Q&A: {QUESTION}.json"
        anew = await says("Sorry, ninety days.", "Add this reply to the answer")
        await fake.presses("ben", anew.id, "Replace the answer")
        await fake.wait_for(lambda: "Saved as the answer" in fake.message(anew.id).content)
        await says("Please tell me how long refunds take", "Perhaps thirty days.")
        assert not [one for one in written_to(fake, "ben") if "this reply" in one.content]


async def test_an_answer_that_comes_too_late_is_no_question(tmp_path: Path) -> None:
    """Of somebody who was asked, in reply to the card of what was answered or dismissed elsewhere meanwhile."""
    async with FakeDiscord(limits=False) as fake, asked(fake, tmp_path) as (here, _, answer):
        await fake.presses("ann", answer.id, "Ask a person")
        (card,) = await fake.wait_for(lambda: written_to(fake, "ben"))
        await fake.presses("ben", card.id, "Dismiss")
        await fake.wait_for(lambda: "Dismissed" in fake.message(card.id).content)
        late = await fake.says(fake.dm("ben"), "ben", "From abroad it takes sixty days.", reply=card.id)
        (told,) = await fake.wait_for(lambda: fake.replies(late))
        assert "answered or dismissed meanwhile" in told.content and len(here.player.asks) == 1
        question = await fake.says(fake.dm("ben"), "ben", "How long does a refund take?", reply=card.id)
        await fake.wait_for(lambda: fake.replies(question))
        assert [one.text for one in here.player.messages][1:] == ["How long does a refund take?"]


async def test_that_somebody_knows_no_answer_is_neither_one_nor_a_question(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, asked(fake, tmp_path) as (_, _, answer):
        await fake.presses("ann", answer.id, "Ask a person")
        (card,) = await fake.wait_for(lambda: written_to(fake, "ben"))
        for said, reply in enumerate(("", card.id), 1):
            await fake.says(fake.dm("ben"), "ben", "I don't know, sorry", reply=reply)
            await fake.wait_for(lambda: len(written_to(fake, "ben")) == said + 1)  # noqa: B023
            assert "question stays open" in written_to(fake, "ben")[-1].content


async def test_whoever_saves_a_reply_with_a_file_hears_that_the_file_is_not_kept(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, asked(fake, tmp_path) as (_, _, answer):
        await fake.presses("ann", answer.id, "Ask a person")
        await fake.wait_for(lambda: written_to(fake, "ben"))
        form = fake.world.add_file("form.txt", b"Name:", BEN)
        await fake.says(fake.dm("ben"), "ben", "It takes sixty days, with this form.", files=[form])
        found = await fake.wait_for(lambda: [one for one in written_to(fake, "ben") if "Save this" in one.content])
        await fake.presses("ben", found[0].id, "Save as the answer")
        await fake.wait_for(lambda: whispered(fake, "ben", "Saved without the files"))


async def test_what_is_forwarded_as_the_answer_is_learnt(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, asked(fake, tmp_path) as (_, library, answer):
        await fake.presses("ann", answer.id, "Ask a person")
        await fake.wait_for(lambda: written_to(fake, "ben"))
        said = await fake.says(GENERAL, "ben", "From abroad it takes sixty days.")
        await fake.forwards("ben", said, fake.dm("ben"))
        found = await fake.wait_for(lambda: [one for one in written_to(fake, "ben") if "Save this" in one.content])
        await fake.presses("ben", found[0].id, "Save as the answer")
        await fake.wait_for(lambda: "Saved as the answer" in fake.message(found[0].id).content)
        (kept,) = await library.documents.listed(collection="answers")
        assert "sixty days" in await library.knowledge.markdown(kept)


async def test_an_answer_that_was_typed_below_the_card_is_followed_and_no_question_when_it_is_edited(
    tmp_path: Path,
) -> None:
    async with FakeDiscord(limits=False) as fake, asked(fake, tmp_path) as (_, _, answer):
        await fake.presses("ann", answer.id, "Ask a person")
        await fake.wait_for(lambda: written_to(fake, "ben"))
        said = await fake.says(fake.dm("ben"), "ben", "From abroad it takes sixty days.")
        confirm = (await fake.wait_for(lambda: [one for one in written_to(fake, "ben") if "Save this" in one.content]))[
            0
        ]
        await fake.presses("ben", confirm.id, "Save as the answer")
        await fake.wait_for(lambda: "Saved as the answer" in fake.message(confirm.id).content)
        await fake.says(fake.dm("ben"), "ben", QUESTION)  # so that the card is no longer the last that was said
        await fake.wait_for(lambda: [one for one in written_to(fake, "ben") if "Perhaps thirty days." in one.content])
        await fake.wait_for_idle()
        posted = len(written_to(fake, "ben"))
        await fake.edits(said, "From abroad it takes ninety days.")
        await fake.wait_for(lambda: fake.message(confirm.id).content.startswith("Is this reply the answer to"))
        await fake.wait_for_idle()
        assert len(written_to(fake, "ben")) == posted  # it is no question
