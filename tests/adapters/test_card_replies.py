"""What experts write under a card in several messages is learnt as one answer, on each platform where they can reply.
Source: product.md §4."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from adapters.port import Adapter
from bot.bot import Bot
from bot.records import RoomMessage
from bot.types import Actor, Audience, Card, CardRow, Place
from bot.unanswered import card_replies
from bot.unanswered.digest_card import offers
from bot.unanswered.expert_answers import parse
from retrieval.types import TEAM, Readers
from tests.adapters.acting import misses, until
from tests.adapters.discord import service as discord_service
from tests.adapters.slack import service as slack_service
from tests.adapters.web import stage as web_stage
from tests.bot.library import Library, opened
from tests.fakes import discord_gestures
from tests.fakes.discord_fake import ANN, BEN, GENERAL, FakeDiscord
from tests.fakes.slack import FakeSlack

QUOTE = "> What is the limit for a hotel?\nFor which hotel?"
WIKI, LIMIT, SATO = "It is in the wiki.", "The limit is 40,000 yen.", "Ask Sato if in doubt."
LATE = "The form is in the drawer."  # below an answer that is no more
UNASKED = frozenset({LATE, "Thanks!", "Thanks.", "Thank you!", "Is that all?", "!kotae help", QUOTE})
SAVE, NO, ADD = "Save as the answer", "No", "Add to the answer"
LAST, REPLACE, BACK = "Only the last one", "Replace the answer", "Take the answer back"


class Room(ABC):
    """One channel with a card in it, to which ann and ben reply, and ann's question."""

    bot: Bot
    library: Library
    adapter: Adapter
    channel: str
    asked: str
    card: str

    @abstractmethod
    async def asks(self, text: str) -> tuple[str, Place]: ...

    @abstractmethod
    async def announce(self, card: Card) -> str:
        """The card's message, in whose thread is written."""

    @abstractmethod
    async def says(self, text: str, who: str = "ben") -> str: ...

    @abstractmethod
    async def edits(self, message: str, text: str) -> None: ...

    @abstractmethod
    async def deletes(self, message: str) -> None: ...

    @abstractmethod
    async def presses(self, question: str, label: str, who: str = "ben") -> None:
        """A button of the bot's message with this text."""

    @abstractmethod
    async def press(self, question: str, label: str) -> Callable[[], Awaitable[Any]]:
        """Ben's, of this button as it is shown now; it arrives when it is called."""

    @abstractmethod
    async def under_card(self) -> list[str]:
        """What the bot asks and says there, oldest first."""

    @abstractmethod
    async def told(self) -> list[str]:
        """What was said in the asker's thread of answers."""

    async def begin(self) -> None:
        self.asked, where = await self.asks("What is the limit for a hotel?")

        async def missed() -> Sequence[int]:
            return [one.id for one in (await self.bot.experts.open(where, Audience("public"))).questions]

        (question,) = await until(missed)
        row = CardRow("1. What is the limit for a hotel?", (), (), offers((question,), question, "en"))
        self.card = await self.announce(Card("Unanswered", (), (row,), ()))

    async def wait_for(self, *texts: str) -> None:
        """Until these, or their beginnings, are what stands under the card."""

        async def same() -> bool:
            shown = await self.under_card()
            return len(shown) == len(texts) and all(map(str.startswith, shown, texts))

        try:
            await until(same)
        except TimeoutError:
            raise AssertionError(await self.under_card()) from None

    @abstractmethod
    async def settled(self) -> None:
        """Until nothing that was said is still on its way."""

    async def taken(self, reply: str, text: str) -> None:
        """Until something is to be asked about a reply, if that is to be: people write one after the other."""

        async def known() -> bool:
            found = await self.bot.outbox.confirms((await self.adapter.find(self.channel)).place, self.card)
            return any(reply in one.data["replies"] for one in found)

        if text in UNASKED:
            await self.settled()
        else:
            await until(known)

    async def answer(self, author: str = "ben") -> str:
        """The one that is kept."""
        (row,) = await self.library.documents.listed(Readers(frozenset({TEAM})), collection="answers")
        assert row.author in {"ben": (BEN, "U2", web_stage.BEN.id), "ann": (ANN, "U1", web_stage.AKI.id)}[author]
        return parse(await self.library.knowledge.markdown(row))[1]


class SlackRoom(Room):
    channel = "C1"

    def __init__(self, fake: FakeSlack, adapter: Adapter) -> None:
        self.fake, self.adapter = fake, adapter

    async def asks(self, text: str) -> tuple[str, Place]:
        return await self.fake.says("C1", "U1", f"@kotae {text}"), Place("slack", "T0TEAM", "C1")

    async def announce(self, card: Card) -> str:
        await self.adapter.announce("C1", card, about="digest:1")
        return self.fake.posted("C1")[-1].ts

    async def says(self, text: str, who: str = "ben") -> str:
        said = await self.fake.says("C1", {"ann": "U1", "ben": "U2"}[who], text, thread=self.card)
        await self.taken(said, text)
        return said

    async def settled(self) -> None:
        await self.fake.wait_for_idle()

    async def edits(self, message: str, text: str) -> None:
        await self.fake.edits(message, text)

    async def deletes(self, message: str) -> None:
        await self.fake.deletes(message)

    async def presses(self, question: str, label: str, who: str = "ben") -> None:
        replies = self.fake.replies
        found = await self.fake.wait_for(lambda: [one for one in replies(self.card) if one.shown.startswith(question)])
        shown = found[0]
        names = {"kotae_save": (SAVE, ADD), "kotae_anew": (LAST, REPLACE, BACK), "kotae_discard": (NO,)}
        action = next(name for name in shown.actions if label in names[name])
        assert label in str(shown.blocks)
        await self.fake.presses({"ann": "U1", "ben": "U2"}[who], shown, action)

    async def press(self, question: str, label: str) -> Callable[[], Awaitable[Any]]:
        shown = next(deepcopy(one) for one in self.fake.replies(self.card) if one.shown.startswith(question))
        return partial(self.fake.presses, "U2", shown, "kotae_discard" if label == NO else "kotae_save")

    async def under_card(self) -> list[str]:
        return [one.shown for one in self.fake.replies(self.card)]

    async def told(self) -> list[str]:
        return [one.shown for one in self.fake.replies(self.asked) if "answer" in one.shown]


class DiscordRoom(Room):
    channel = GENERAL

    def __init__(self, fake: FakeDiscord, adapter: Adapter) -> None:
        self.fake, self.adapter = fake, adapter

    async def asks(self, text: str) -> tuple[str, Place]:
        asked = await self.fake.says(GENERAL, "ann", f"<@BOT> {text}")
        return asked, (await self.adapter.find(GENERAL)).place

    async def announce(self, card: Card) -> str:
        await self.adapter.announce(GENERAL, card, about="digest:1")
        shown = self.fake.posted(GENERAL)[-1].id
        await self.fake.starts_thread("ben", shown, "The limit")
        return shown

    async def says(self, text: str, who: str = "ben") -> str:
        said = await self.fake.says(GENERAL, who, text, thread=self.card)
        await self.taken(said, text)
        return said

    async def settled(self) -> None:
        await self.fake.wait_for_idle()

    async def edits(self, message: str, text: str) -> None:
        await self.fake.edits(message, text)

    async def deletes(self, message: str) -> None:
        await self.fake.deletes(message)

    async def presses(self, question: str, label: str, who: str = "ben") -> None:
        thread = self.fake.thread
        found = await self.fake.wait_for(lambda: [one for one in thread(self.card) if one.content.startswith(question)])
        await self.fake.presses(who, found[0].id, label)

    async def press(self, question: str, label: str) -> Callable[[], Awaitable[Any]]:
        shown = next(one for one in self.fake.thread(self.card) if one.content.startswith(question))
        data, _ = discord_gestures.pressed(shown, label, None)
        return partial(self.fake.forges, "ben", shown.id, data["custom_id"])

    async def under_card(self) -> list[str]:
        return [one.content for one in self.fake.thread(self.card) if one.author == self.fake.bot_user]

    async def told(self) -> list[str]:
        return [one.shown for one in self.fake.replies(self.asked) if "answer" in one.shown and ANN in one.pings]


class WebRoom(Room):
    channel = "general"

    def __init__(self, stage: web_stage.Stage) -> None:
        self.stage, self.adapter = stage, stage.adapter

    async def asks(self, text: str) -> tuple[str, Place]:
        asked = await self.stage.said(f"@kotae {text}", web_stage.AKI)
        return str(asked.id), (await self.stage.adapter.find("general")).place

    async def announce(self, card: Card) -> str:
        await self.stage.adapter.announce("general", card, about="digest:1")
        return str((await self.stage.board.messages(web_stage.GENERAL, web_stage.BEN))[-1].id)

    async def says(self, text: str, who: str = "ben") -> str:
        member = {"ann": web_stage.AKI, "ben": web_stage.BEN}[who]
        return str((await self.stage.said(text, member, thread=int(self.card))).id)

    async def settled(self) -> None:
        """They are calls."""

    async def edits(self, message: str, text: str) -> None:
        await self.stage.adapter.edit(web_stage.BEN, int(message), text)

    async def deletes(self, message: str) -> None:
        author = web_stage.AKI if message == self.asked else web_stage.BEN
        await self.stage.adapter.delete(author, int(message))

    async def presses(self, question: str, label: str, who: str = "ben") -> None:
        shown = next(one for one in await self._said(self.card, "confirm") if one.text.startswith(question))
        member = {"ann": web_stage.AKI, "ben": web_stage.BEN}[who]
        assert label in self._labels(shown)
        if label == NO:
            await self.stage.adapter.discard(member, shown.id)
        else:
            await self.stage.adapter.save(member, shown.id, anew=label in (LAST, REPLACE, BACK))

    def _labels(self, shown: RoomMessage) -> tuple[str | None, ...]:
        return card_replies.yes(shown.data, "en"), card_replies.only(shown.data, "en"), NO

    async def press(self, question: str, label: str) -> Callable[[], Awaitable[Any]]:
        shown = next(one for one in await self._said(self.card, "confirm") if one.text.startswith(question))

        async def press() -> None:
            with suppress(LookupError):  # it is not there any more
                await (self.stage.adapter.discard if label == NO else self.stage.adapter.save)(web_stage.BEN, shown.id)

        return press

    async def under_card(self) -> list[str]:
        found = await self._said(self.card, "confirm")
        return [one.text for one in found if "discarded" not in one.data]  # of which the page says so

    async def told(self) -> list[str]:
        return [one.text for one in await self._said(self.asked, "notice")]

    async def _said(self, thread: str, kind: str) -> list[RoomMessage]:
        found = await self.stage.data.messages.listed("general", int(thread), before=None, limit=50)
        return [one for one in found if one.kind == kind]


@asynccontextmanager
async def opened_room(platform: str, home: Path) -> AsyncIterator[Room]:
    room: Room
    if platform == "web":
        async with web_stage.channel(home, misses) as stage:
            room = WebRoom(stage)
            room.bot, room.library = stage.bot, stage.library
            await room.begin()
            yield room
        return
    async with opened(home) as library:
        if platform == "slack":
            async with (
                FakeSlack(limits=False) as slack,
                slack_service.bot(slack, home, misses, knowledge=library.knowledge) as at_slack,
            ):
                room = SlackRoom(slack, at_slack.adapter)
                room.bot, room.library = at_slack.bot, library
                await room.begin()
                yield room
        else:
            async with (
                FakeDiscord(limits=False) as discord,
                discord_service.bot(discord, home, misses, knowledge=library.knowledge) as at_discord,
            ):
                room = DiscordRoom(discord, at_discord.adapter)
                room.bot, room.library = at_discord.bot, library
                await room.begin()
                yield room


@pytest_asyncio.fixture(params=["slack", "discord", "web"])
async def room(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Room]:
    async with opened_room(request.param, tmp_path) as made:
        yield made
        await made.settled()


async def test_messages_in_a_row_are_one_answer_as_they_are_when_it_is_saved(room: Room) -> None:
    for text in (WIKI, "Or was it in the handbook"):
        said = await room.says(text)
    await room.says("Thanks!", "ann")  # is no answer, and nothing is asked about it
    await room.says(LIMIT)
    last = await room.says("Hm.")
    await room.says(SATO)
    await room.wait_for("Save these 5 replies together as the answer to “What is the limit for a hotel?”?")
    await room.edits(said, "And in the handbook.")
    await room.deletes(last)
    await room.presses("Save these 5", SAVE)
    await room.wait_for("Saved as the answer.")
    assert await room.answer() == "\n".join((WIKI, "And in the handbook.", LIMIT, SATO))
    (told,) = await until(room.told)
    assert LIMIT in told and SATO in told and "Hm." not in told


async def test_what_is_written_after_the_answer_was_saved_can_be_added_to_it(room: Room) -> None:
    await room.says(WIKI)
    await room.presses("Save this reply", SAVE)
    await room.wait_for("Saved as the answer.")
    await until(room.told)
    for text in ("Thank you!", "Is that all?", "!kotae help"):
        await room.says(text)
    await room.says(LIMIT)
    await room.says(SATO)
    await room.wait_for("Saved", "Add these 2 replies to the answer to “What is the limit for a hotel?”?")
    await room.presses("Add these 2", ADD)
    await room.wait_for("Saved", "Saved")
    assert await room.answer() == "\n".join((WIKI, LIMIT, SATO))

    async def corrected() -> list[str]:
        return [one for one in await room.told() if "corrected" in one]

    (told,) = await until(corrected)
    assert LIMIT in told and len(await room.told()) == 2
    await room.says("Lunch is ready.")
    await room.wait_for("Saved", "Saved", "Add this reply")
    await room.presses("Add this", NO)
    await room.wait_for("Saved", "Saved")
    await room.says("Forms are in the drawer.")
    await room.wait_for("Saved", "Saved", "Add this reply")
    await room.presses("Add this", ADD)
    await room.wait_for("Saved", "Saved", "Saved")
    assert await room.answer() == "\n".join((WIKI, LIMIT, SATO, "Forms are in the drawer."))


class Gate:
    """Holds up who wants to keep an answer."""

    def __init__(self) -> None:
        self.reached, self.open = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        self.reached.set()
        await self.open.wait()
        yield


async def test_what_is_written_while_the_answer_is_being_saved_can_be_added_to_it(room: Room) -> None:
    gate = vars(room.bot.experts._questions)["answering"] = Gate()
    await room.says(WIKI)
    await room.wait_for("Save this reply")
    saving = asyncio.create_task(room.presses("Save this reply", SAVE))
    await gate.reached.wait()
    await room.says(LIMIT)
    await room.wait_for("Save these 2 replies")
    gate.open.set()
    await saving
    await room.wait_for("Add this reply to the answer to “What is the limit for a hotel?”?")
    assert await room.answer() == WIKI
    await room.presses("Add this", ADD)
    await room.wait_for("Saved")
    assert await room.answer() == "\n".join((WIKI, LIMIT))


async def test_no_that_comes_while_the_answer_is_being_saved_declines_nothing(room: Room) -> None:
    gate = vars(room.bot.experts._questions)["answering"] = Gate()
    await room.says(WIKI)
    await room.wait_for("Save this reply")
    no = await room.press("Save this reply", NO)
    saving = asyncio.create_task(room.presses("Save this reply", SAVE))
    await gate.reached.wait()
    await no()
    await room.wait_for()
    gate.open.set()
    await saving
    await until(room.told)
    await room.settled()
    assert await room.answer() == WIKI
    kept = [
        one.data for one in await room.bot.outbox.confirms((await room.adapter.find(room.channel)).place, room.card)
    ]
    assert all("saved" in data and "discarded" not in data for data in kept)


async def test_no_that_comes_after_the_answer_was_saved_declines_nothing(room: Room) -> None:
    await room.says(WIKI)
    await room.wait_for("Save this reply")
    no = await room.press("Save this reply", NO)
    await room.presses("Save this reply", SAVE)
    await room.wait_for("Saved as the answer.")
    await no()
    await room.says("Thanks.")  # by when the button has been obeyed
    await room.wait_for("Saved as the answer.")


async def test_what_was_declined_is_not_saved_by_a_press_that_comes_later(room: Room) -> None:
    await room.says(WIKI)
    await room.wait_for("Save this reply")
    save = await room.press("Save this reply", SAVE)
    await room.presses("Save this reply", NO)
    await room.wait_for()
    await save()
    await room.says("Thanks.")  # by when the button has been obeyed
    await room.settled()
    assert not await room.library.documents.listed(Readers(frozenset({TEAM})), collection="answers")


async def test_what_somebody_else_wrote_between_is_not_mixed_in(room: Room) -> None:
    await room.says(WIKI)
    await room.says("I heard it is 50,000 yen.", "ann")
    await room.says(LIMIT)
    await room.wait_for("Save this reply", "Save this reply", "Save this reply")
    shown = await room.under_card()
    await room.presses(shown[0], SAVE)
    await until(room.told)
    assert await room.answer() == WIKI
    await room.says("No, 60,000.", "ann")  # the answer is ben's
    await until(room.under_card, lambda shown: shown[-1].startswith("Is this reply the answer to"))
    assert not any(one.startswith("Add") for one in await room.under_card())


async def test_of_several_replies_the_last_may_be_the_answer_alone(room: Room) -> None:
    await room.says("It is 10 days.")
    await room.says("Sorry, 15, not 10.")
    await room.wait_for("Save these 2 replies")
    await room.presses("Save these 2", LAST)
    await room.wait_for("Saved as the answer.")
    assert await room.answer() == "Sorry, 15, not 10."
    await room.says(SATO)
    await room.wait_for("Saved", "Add this reply")
    await room.presses("Add this", ADD)
    await room.wait_for("Saved", "Saved")
    assert await room.answer() == f"Sorry, 15, not 10.\n{SATO}"


async def test_an_answer_that_was_saved_can_be_said_anew(room: Room) -> None:
    await room.says(WIKI)
    await room.presses("Save this reply", SAVE)
    await room.wait_for("Saved")
    await until(room.told)
    await room.says(LIMIT)
    await room.wait_for("Saved", "Add this reply")
    await room.presses("Add this", REPLACE)
    await room.wait_for("Saved", "Saved")
    assert await room.answer() == LIMIT
    _, corrected = await until(room.told, lambda told: len(told) == 2)
    assert LIMIT in corrected and WIKI not in corrected


async def test_an_answer_whose_words_are_edited_is_asked_about_again(room: Room) -> None:
    said = await room.says("It is 10 days.")
    await room.says(WIKI)
    await room.presses("Save these 2", SAVE)
    await room.wait_for("Saved as the answer. Threads that are told: 1.")
    await until(room.told)
    await room.edits(said, "It is 20 days.")
    await room.wait_for("Are these 2 replies the answer to “What is the limit for a hotel?” now?")
    await room.presses("Are these 2", NO)
    await room.wait_for("Saved as the answer. Threads that are told: 1.")
    assert await room.answer() == f"It is 10 days.\n{WIKI}"
    await room.edits(said, "It is 15 days.")
    await room.wait_for("Are these 2")
    await room.presses("Are these 2", REPLACE)
    await room.wait_for("Saved")
    assert await room.answer() == f"It is 15 days.\n{WIKI}"
    _, corrected = await until(room.told, lambda told: len(told) == 2)
    assert "15 days" in corrected
    await room.says(LIMIT)
    await room.wait_for("Saved", "Add this reply")
    await room.presses("Add this", ADD)
    await room.wait_for("Saved", "Saved")
    assert await room.answer() == f"It is 15 days.\n{WIKI}\n{LIMIT}"


async def test_what_is_to_be_added_is_so_too_once_the_answer_was_mended(room: Room) -> None:
    said = await room.says("It is 10 days.")
    await room.presses("Save this reply", SAVE)
    await room.wait_for("Saved")
    await room.says(SATO)
    await room.wait_for("Saved", "Add this reply")
    await room.edits(said, "It is 15 days.")
    await room.wait_for("Is this reply the answer to", "Add this reply")
    await room.presses("Is this reply", REPLACE)
    await room.wait_for("Saved", "Add this reply")
    await room.presses("Add this", ADD)
    await room.wait_for("Saved", "Saved")
    assert await room.answer() == f"It is 15 days.\n{SATO}"


async def test_an_answer_whose_reply_is_deleted_may_be_taken_back(room: Room) -> None:
    said = await room.says(WIKI)
    await room.presses("Save this reply", SAVE)
    await room.wait_for("Saved")
    await until(room.told)
    await room.deletes(said)
    await room.wait_for("The reply was deleted. Take the answer to “What is the limit for a hotel?” back, too?")
    assert await room.answer() == WIKI
    await room.presses("The reply was deleted", BACK)
    await room.wait_for()
    assert not await room.library.documents.listed(Readers(frozenset({TEAM})), collection="answers")
    place = (await room.adapter.find(room.channel)).place
    (open_again,) = (await room.bot.experts.open(place, Audience("public"))).questions
    assert open_again.question == "What is the limit for a hotel?"


async def test_what_was_replaced_takes_no_answer_along_when_it_is_deleted(room: Room) -> None:
    said = await room.says("It is 10 days.")
    await room.presses("Save this reply", SAVE)
    await room.wait_for("Saved")
    await room.says(LIMIT)
    await room.wait_for("Saved", "Add this reply")
    await room.presses("Add this", REPLACE)
    await room.wait_for("Saved", "Saved")
    await room.edits(said, "It is 20 days.")
    await room.deletes(said)
    await room.says(SATO)  # by when the bot has heard of it
    await room.settled()
    await room.wait_for("Saved", "Saved", "Add this reply")
    assert await room.answer() == LIMIT


async def test_no_answer_is_taken_back_that_was_changed_meanwhile(room: Room) -> None:
    said = await room.says(WIKI)
    await room.presses("Save this reply", SAVE)
    await room.wait_for("Saved")
    await room.deletes(said)
    await room.wait_for("The reply was deleted")
    (row,) = await room.library.documents.listed(Readers(frozenset({TEAM})), collection="answers")
    platform = "discord" if row.author == BEN else "slack" if row.author == "U2" else "web"
    ben = Actor(platform, "", row.author, "editor")
    changed = await room.bot.answers.edit(ben, Readers(frozenset({TEAM})), row.id, "It was moved.")
    assert changed.refusal is None
    await room.presses("The reply was deleted", BACK)
    await room.says("Thanks.")  # by when the button has been obeyed
    assert await room.answer() == "It was moved."


async def test_what_is_written_after_an_answer_was_taken_back_is_not_added_to_it(room: Room) -> None:
    await room.says(WIKI)
    await room.presses("Save this reply", SAVE)
    await room.wait_for("Saved")
    said = await room.says(LIMIT)
    await room.wait_for("Saved", "Add this reply")
    await room.presses("Add this", REPLACE)
    await room.wait_for("Saved", "Saved")
    await room.deletes(said)
    await room.wait_for("Saved", "The reply was deleted")
    await room.presses("The reply was deleted", BACK)
    await room.wait_for("Saved")
    await room.says(LATE)
    await room.wait_for("Saved")  # the next digest has its questions


async def test_words_that_are_no_longer_there_are_not_lost_by_adding_to_them(room: Room) -> None:
    said = await room.says(WIKI)
    await room.presses("Save this reply", SAVE)
    await room.wait_for("Saved")
    await room.deletes(said)
    await room.wait_for("The reply was deleted")
    await room.presses("The reply was deleted", NO)
    await room.wait_for("Saved")
    await room.says(LIMIT)
    await room.wait_for("Saved", "Is this reply the answer to")  # in its place, or not at all
    assert await room.answer() == WIKI


async def test_whoever_else_says_it_anew_is_its_author_once_its_author_agrees(room: Room) -> None:
    await room.says(WIKI)
    await room.presses("Save this reply", SAVE)
    await room.wait_for("Saved")
    await room.says(LIMIT, "ann")
    await room.wait_for("Saved", "Is this reply the answer to “What is the limit for a hotel?” now?")
    assert await room.answer() == WIKI
    await room.presses("Is this reply", REPLACE)
    await room.wait_for("Saved", "Saved")
    assert await room.answer("ann") == LIMIT


async def test_nobody_puts_their_own_words_in_the_place_of_somebody_elses(room: Room) -> None:
    await room.says(WIKI, "ann")
    await room.presses("Save this reply", SAVE, "ann")
    await room.wait_for("Saved")
    await room.says(LIMIT)
    await room.wait_for("Saved", "Is this reply the answer to")
    await room.presses("Is this reply", REPLACE)
    await room.says(QUOTE)  # by when the button has been obeyed; and a question back is no answer
    await room.wait_for("Saved", "Is this reply the answer to")
    assert await room.answer("ann") == WIKI


async def test_a_word_that_lets_them_do_it_is_an_answer_while_there_is_none(room: Room) -> None:
    await room.says(QUOTE)
    await room.says("Okay!")
    await room.wait_for("Save this reply")
    await room.presses("Save this reply", SAVE)
    await room.wait_for("Saved")
    await room.says("Thanks.")
    await room.settled()
    assert await room.answer() == "Okay!" and len(await room.under_card()) == 1


async def test_nothing_is_added_to_an_answer_that_was_changed_meanwhile(room: Room) -> None:
    await room.says(WIKI)
    await room.presses("Save this reply", SAVE)
    await room.wait_for("Saved")
    await room.says(LIMIT)
    await room.wait_for("Saved", "Add this reply")
    (row,) = await room.library.documents.listed(Readers(frozenset({TEAM})), collection="answers")
    platform = "discord" if row.author == BEN else "slack" if row.author == "U2" else "web"
    ben = Actor(platform, "", row.author, "editor")
    changed = await room.bot.answers.edit(ben, Readers(frozenset({TEAM})), row.id, "It was moved.")
    assert changed.refusal is None
    await room.presses("Add this", ADD)
    await room.says("Thanks.")  # by when the button has been obeyed
    assert await room.answer() == "It was moved." and (await room.under_card())[1].startswith("Add this")


async def test_the_words_of_a_question_that_is_deleted_are_not_asked_about_any_more(room: Room) -> None:
    await room.says(WIKI)
    await room.wait_for("Save this reply as the answer to “What is the limit for a hotel?”?")
    await room.deletes(room.asked)
    shown = await until(room.under_card, lambda shown: "hotel" not in "".join(shown))
    assert all("changed or deleted the question" in one for one in shown)
    assert await room.library.documents.listed(Readers(frozenset({TEAM})), collection="answers") == []
