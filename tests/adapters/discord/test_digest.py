"""The digest in a channel of Discord: posted once, answered, confirmed or dismissed by members, and the askers are
told."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from adapters.discord import digest
from adapters.discord.events import Replied
from adapters.discord.rendering.components import row_text
from adapters.port import PostError
from adapters.shared.digest_cards import LISTED
from bot.types import Actor, Audience, Card, CardRow, Command, Link, Notice, Place, Question
from bot.unanswered.digest_card import offers
from tests.adapters.discord.gesturing import Here, gesturing
from tests.adapters.discord.test_commands import EVIL, answered
from tests.fakes.discord_fake import ANN, BEN, GENERAL, GUILD, FakeDiscord
from tests.fakes.discord_gate import error
from tests.fakes.discord_world import Message

ABOUT = "digest:20261123T000000"
HERE = Place("discord", GUILD, GENERAL)
OF_OUR_PAGES = "/app/?room=general&thread=1&message=1#m1"
PIER = "They moor at pier seven."


def row(number: int, *questions: Question) -> CardRow:
    links = tuple(Link(f"thread {n}", one.link or "") for n, one in enumerate(questions, 1))
    ids = tuple(one.id for one in questions)
    return CardRow(f"{number}. {questions[0].question}", ("asked once",), links, offers(ids, ids[0], "en"))


def card(*groups: tuple[Question, ...]) -> Card:
    rows = tuple(row(number, *group) for number, group in enumerate(groups, 1))
    return Card("Unanswered questions", ("2 asked",), rows, ("and 1 asked in private places",))


def cards(fake: FakeDiscord, channel: str = "general") -> list[Message]:
    return [one for one in fake.posted(channel) if one.content[2:4] in ("1.", "2.", "3.")]


def told(fake: FakeDiscord, thread: str, words: str) -> Callable[[], list[Message]]:
    return lambda: [one for one in fake.thread(thread) if one.author == fake.bot_user and words in one.content]


async def announced(here: Here, *groups: tuple[Question, ...], channel: str = GENERAL) -> list[Message]:
    await digest.announce(here.context, replace(HERE, channel=channel), card(*groups), f"{ABOUT}{channel[-2:]}")
    return cards(here.discord, channel)


async def test_a_link_for_our_own_pages_is_left_out(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        links = (Link("thread", "https://discord.com/channels/1/2"), Link("our pages only", OF_OUR_PAGES))
        shown = Card("Unanswered", (), (CardRow("1. Tea?", (), links),))
        await digest.announce(here.context, HERE, shown, ABOUT)
        (posted,) = cards(fake)
        assert links[0].url in str(posted.components) and "/app/" not in str(posted.components)
        assert links[0].url in row_text(shown.rows[0]) and "/app/" not in row_text(shown.rows[0])


async def test_what_an_answer_closes_is_chosen_by_hand(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        texts = ("Where do ships moor?", "Where do ships moor, please?", "Who pays the pilot?", "When is low tide?")
        first, same, other, left = [await here.misses(text) for text in texts]
        (shown,) = await announced(here, (first, same, other, left))
        gesture = await fake.presses("ben", shown.id, "Answer this")
        assert gesture.modal
        boxes = next(part["component"] for part in gesture.modal["components"] if part.get("label") == "Also closes")
        ticked = {option["value"]: option.get("default", False) for option in boxes["options"]}
        assert ticked == {str(same.id): True, str(other.id): False, str(left.id): False}
        done = await fake.submits("ben", {"answer": PIER, "closes": [str(other.id)]})
        assert "Questions that stay open: 2" in await answered(fake, done)
        open_ones = await here.bot.experts.open(HERE, Audience("public"))
        assert {one.id for one in open_ones.questions} == {same.id, left.id}


async def test_a_question_is_answered_from_a_list(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        secret = fake.world.add_channel("secret", only=[ANN, fake.bot_user]).id
        asked, same = await here.misses("Where do ships moor?"), await here.misses("Where do ships moor, please?")
        private = await here.misses("Where is the whale?", secret)
        listed = await fake.slash("unanswered", {}, "ben", "general")
        await fake.wait_for(lambda: fake.whispers("ben"))
        (shown,) = fake.whispers("ben")
        opened = await fake.presses("ben", shown.id, f"kotae:{LISTED}:", str(asked.id))
        assert listed and opened.modal and "Where do ships moor, please?" in str(opened.modal)
        done = await fake.submits("ben", {"answer": PIER})
        assert "Threads that are told: 2" in await answered(fake, done)
        for question in (asked, same):
            await fake.wait_for(told(fake, thread_of(question), PIER))
        again = await fake.presses("ben", shown.id, f"kotae:{LISTED}:", str(asked.id))
        assert not again.modal and "dismissed meanwhile" in await answered(fake, again)
        await here.misses("When is low tide?")
        await fake.slash("unanswered", {}, "ben", "general")
        await fake.wait_for(lambda: len(fake.whispers("ben")) > 3)
        assert str(private.id) not in str(fake.whispers("ben")[-1].buttons)


def thread_of(question: Question) -> str:
    return (question.link or "").rpartition("/")[2]


# -- from the question to the answer ---------------------------------------------------------------------------------


async def test_an_answer_closes_its_cards_and_only_the_askers_are_called(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        fake.world.users[BEN].display = EVIL[:40]
        secret = fake.world.add_channel("secret", only=[ANN, fake.bot_user]).id
        more = fake.world.add_channel("more").id
        hostile = f"Where do ships moor? {EVIL}"
        asked, same = await here.misses(hostile), await here.misses(hostile, user="owner")
        private = await here.misses("Where is the whale?", secret)
        (shown,) = await announced(here, (asked, same, private))
        (other,) = await announced(here, (asked, same), channel=more)
        (third,) = await announced(here, (asked, private), channel=secret)
        head = fake.posted("general")[0]
        assert head.content == "**Unanswered questions**\n2 asked\n-# and 1 asked in private places"
        assert list(shown.buttons.values()) == ["Answer this", "Dismiss"]
        assert [url.rpartition("/")[2] for url in shown.urls] == [*map(thread_of, (asked, same, private))]
        assert not (shown.mentions or shown.named or shown.previews) and "evil" in shown.content

        gesture = await fake.presses("ben", shown.id, "Answer this")
        assert gesture.modal and gesture.latency < 2.5 and "Everyone in the team" in str(gesture.modal)
        assert "Where do ships moor?" in str(gesture.modal) and "whale" not in str(gesture.modal)
        beside = await fake.presses(
            "ann", third.id, "Answer this"
        )  # where both are read, the team gets the team's words
        assert "Where do ships moor?" in str(beside.modal) and "Where is the whale?" in str(beside.modal)
        long = f"{PIER} {EVIL}\n" + "Mind the tide.\n" * 180 + "The end."
        answer = await fake.submits("ben", {"answer": long})
        assert await answered(fake, answer) == "Saved as the answer. Threads that are told: 2."
        for question, author in ((asked, ANN), (same, fake.person("owner").id)):
            await fake.wait_for(told(fake, thread_of(question), "The end."))
            first, *rest = fake.posted(thread_of(question))
            assert first.mentions == [author] and "has an answer now, from" in first.content and PIER in first.content
            assert rest and not any(one.mentions or one.named or one.urls for one in rest)
            assert first.named == [f"@{author}"] and not (first.urls or first.previews)
        await fake.wait_for(lambda: "✅ Answered by" in shown.content and "✅ Answered by" in other.content)
        await fake.wait_for(lambda: "settled other questions" in third.content)  # one of them is open
        assert third.buttons and "**1. Where is the whale?**" in third.content and "moor" not in third.content
        assert not shown.buttons and len(shown.urls) == 3 and not (shown.named or shown.mentions)
        still = await here.bot.experts.open(
            HERE, Audience("public")
        )  # what nobody here may read is not theirs to answer
        assert (still.shown, still.hidden) == (0, 1) and not fake.posted(thread_of(private))
        (document,) = await here.library.documents.listed()
        assert document.url == f"https://discord.com/channels/{GUILD}/{GENERAL}/{shown.id}"

        late = await fake.forges("ann", shown.id, f"kotae:answer:{ABOUT}10:0")
        assert "answered or dismissed meanwhile" in await answered(fake, late)
        assert len(fake.posted("general")) == 2


async def test_a_digest_that_was_cut_short_goes_on_where_it_was(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        first, second, third = [await here.misses(f"Question {number}?") for number in range(3)]
        fake.fail("POST /channels/{channel}/messages", error(50035), calls=[3])  # the head and one card arrive
        with pytest.raises(PostError):
            await announced(here, (first,), (second,), (third,))
        posts = await here.bot.outbox.of(f"{ABOUT}10")
        assert [bool(post.message) for post in posts] == [True, False, True]
        await here.bot.outbox.confirm(
            replace(posts[0], message=None)
        )  # it arrived, and the process ended before it knew
        for _ in range(2):  # without the first, which was answered meanwhile, and in another order
            await announced(here, (third,), (second,))
        heads = [one for one in fake.posted("general") if one.content.startswith("**Unanswered")]
        texts = [one.content.splitlines()[0][5:] for one in cards(fake)]
        assert len(heads) == 1 and sorted(texts) == [f"Question {number}?**" for number in range(3)]


async def test_a_modal_that_was_open_over_a_restart_is_not_lost(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake:
        async with gesturing(fake, tmp_path) as here:
            asked = await here.misses("Where do ships moor?")
            (shown,) = await announced(here, (asked,))
            await fake.presses("ben", shown.id, "Answer this")
        async with gesturing(fake, tmp_path) as here:
            assert "Saved" in await answered(fake, await fake.submits("ben", {"answer": PIER}))
            await fake.wait_for(told(fake, thread_of(asked), PIER))
            await fake.wait_for(lambda: "✅ Answered by ben" in shown.content)


async def test_a_reply_is_confirmed_once_and_then_the_answer(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        first, second = await here.misses("Where do ships moor?"), await here.misses("Who has the key?")
        shown, other = await announced(here, (first,), (second,))

        async def replies(to: Message, text: str, thread: str | None = None) -> str:
            written = await fake.says("general", "ben", text, reply="" if thread else to.id, thread=thread or "")
            post = await here.bot.outbox.find(HERE, to.id)
            assert post is not None
            for _ in range(2):
                await digest.replied(here.context, Replied(HERE, to.id, thread, written, BEN, text), post)
            return written

        written = await replies(shown, f"<@BOT> {PIER}")
        (confirm,) = [one for one in fake.replies(written) if "Save this reply" in one.content]
        assert "“Where do ships moor?”" in confirm.content and not confirm.mentions
        forged = await fake.forges("ann", shown.id, next(iter(confirm.buttons)))
        assert "answered or dismissed meanwhile" in await answered(fake, forged)
        saved = await fake.presses("ann", confirm.id, "Save as the answer")
        assert saved.answer and not saved.failed
        await fake.wait_for(told(fake, thread_of(first), PIER))
        await fake.wait_for(lambda: "✅ Answered by ben" in shown.content)  # who wrote it, whoever saved it
        assert confirm.content == "Saved as the answer. Threads that are told: 1." and not confirm.buttons
        (document,) = await here.library.documents.listed()
        assert document.author == BEN and any("from ben" in one.content for one in fake.thread(thread_of(first)))
        assert document.url == f"https://discord.com/channels/{GUILD}/{GENERAL}/{written}"

        thread = await fake.starts_thread("ben", other.id, "The key") or other.id
        written = await replies(other, "In the drawer.", other.id)
        (confirm,) = [one for one in fake.thread(other.id) if "Save this reply" in one.content]
        await fake.presses("ben", confirm.id, "No")
        await fake.wait_for(lambda: confirm.deleted)
        written = await replies(other, "Under the mat.", other.id)
        (confirm,) = [one for one in fake.thread(other.id) if "Save this reply" in one.content]
        await fake.deletes(written)
        gone = await fake.presses("ben", confirm.id, "Save as the answer")
        assert "no longer there" in await answered(fake, gone) and confirm.deleted and other.buttons
        assert thread and len([one for one in fake.posted("general") if "Save this reply" in one.content]) == 0


async def test_a_question_can_be_dismissed_by_members_only(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake:
        async with gesturing(fake, tmp_path) as here:
            asked = await here.misses("Where do ships moor?")
            (shown,) = await announced(here, (asked,))
        async with gesturing(fake, tmp_path, guilds=["1"]) as here:  # this server is not the team's
            for label in ("Answer this", "Dismiss"):
                gesture = await fake.presses("ben", shown.id, label)
                assert "Only members of the team" in await answered(fake, gesture)
        async with gesturing(fake, tmp_path) as here:
            head = fake.posted("general")[0]
            for message, name in ((shown, f"{ABOUT}99:0"), (head, f"{ABOUT}10:0")):
                other = await fake.forges("ben", message.id, f"kotae:dismiss:{name}")
                assert "answered or dismissed meanwhile" in await answered(fake, other)
            fake.person("ben").display = "b\u202een\u200b"  # what nobody sees of a name is not in it
            gesture = await fake.presses("ben", shown.id, "Dismiss")
            await fake.wait_for(lambda: "➖ Dismissed by ben" in shown.content)
            assert gesture.answer and not shown.buttons and len(fake.thread(thread_of(asked))) == 0
            empty = Command(Actor("discord", GUILD, BEN), HERE, Audience("public"), "unanswered", "", "en")
            assert "No open questions" in str(await here.bot.commands(empty))


async def test_askers_are_told_where_they_have_asked_as_long_as_that_is_there(tmp_path: Path) -> None:
    async with FakeDiscord(limits=False) as fake, gesturing(fake, tmp_path) as here:
        gone, closed, bare = [
            await here.misses(text) for text in ("Where is pier 7?", "where's pier 7", "Where is pier 7")
        ]
        (shown,) = await announced(here, (gone, closed, bare))
        for question in (gone, bare):
            await fake.removes(thread_of(question))
        await fake.deletes(thread_of(gone))
        await fake.archives(thread_of(closed))
        await fake.presses("ben", shown.id, "Answer this")
        await answered(fake, await fake.submits("ben", {"answer": PIER}))
        await fake.wait_for(told(fake, thread_of(closed), PIER))
        await fake.wait_for(lambda: len(fake.replies(thread_of(bare))) == 1)  # in the channel: it has no thread
        await here.context.tasks.drain(5)
        assert await here.bot.experts.notices("discord") == [] and len(fake.posted("general")) == 3

        direct = replace(HERE, workspace="@me", channel=fake.dm("ann"))
        asked = await fake.says(direct.channel, "ann", "船は？")
        notice = Notice(7, "1" * 32, direct, asked, ANN, "ja", "船は？", PIER, None)
        fake.fail("POST /channels/{channel}/messages", error(50035), calls=[1, 2])
        with pytest.raises(PostError):
            await digest.tell(here.context, notice)
        for _ in range(2):
            await digest.tell(here.context, notice)
        (message,) = fake.replies(asked)
        assert message.content.startswith(f"<@{ANN}> ご質問「船は？」に回答が付きました:\n") and message.mentions == [
            ANN
        ]
