"""What holds on every platform: one answer below its steps, questions that are edited and deleted at any time, votes,
misses and cards that follow them. Source: product.md §1 and §4; reliability.md R2, R5 and R6."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import pytest_asyncio
from sqlalchemy import func, select, update

from adapters.runner import PeopleReach
from agent.conversation import Ask
from agent.events import Answered, Citation, Events, Thought, ToolReturned
from bot.access import readers, scope_of
from bot.database import Database, database
from bot.records import AuditRecord, DocumentRow
from bot.store.changed_documents import ChangedDocuments
from bot.store.channel_settings import ChannelSettings
from bot.store.documents import Documents
from bot.store.engine import change, rows
from bot.store.erasure import Erasure
from bot.store.notifications import Notices, Telling
from bot.store.schema import answers as answer_table
from bot.store.schema import feedback, messages, posts, questions, searches, traces, turns
from bot.store.searches import Measured
from bot.store.vector_stores import VectorStores
from bot.store.withdrawal import withdraw
from bot.turns.living import LivingAnswers
from bot.turns.withdrawal import WITHDRAWN
from bot.types import EDITS, Audience, Card, CardRow, Feedback, Place, Preferences
from bot.unanswered.digest_card import offers
from retrieval.types import TEAM, Hit, Passage, SearchMetrics
from tests.adapters.acting import Held, answers, misses, settings, until
from tests.adapters.worlds import Process, World, world
from tests.bot.acting import says
from tests.bot.broken import without

QUESTION = "@kotae How long do refunds tale?"
BETTER = "@kotae How long do refunds take?"
EDITED = "The question was edited"
TELLING = Telling("At pier seven.", "slack:U9")


@pytest_asyncio.fixture(params=["memory", "slack", "slack over HTTP", "discord", "web"])
async def place(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[World]:
    async with world(request.param, tmp_path) as made:
        yield made


async def counts(it: Process) -> dict[str, int]:
    """How much is kept of what was asked."""
    found = {}
    for table in (answer_table, traces, questions, feedback):
        found[table.name] = (await rows(it.data.engine, select(func.count()).select_from(table)))[0][0]
    return found


async def open_questions(it: Process, place: World) -> list[str]:
    where = (await it.adapter.find(place.channel)).place
    found = await it.data.questions.open(readers(where, Audience("public")).scopes)
    return [each.question for each in found.questions]


async def learnt(it: Process, place: World, asked: str, documents: Mapping[str, str] | None = None) -> None:
    """An expert has answered the only open miss, and its asker is told. `documents`: where the answer is kept."""
    where = (await it.adapter.find(place.channel)).place
    (question,) = (await it.data.questions.open(readers(where, Audience("public")).scopes)).questions
    trace = AuditRecord("slack:U9", "teach", "questions", "answers")
    telling = replace(TELLING, documents=documents or {})
    await Notices(it.data.engine).close([question.id], {TEAM}, now=datetime.now(UTC), trace=trace, telling=telling)
    await until(lambda: place.thread(asked), lambda said: TELLING.answer in said[-1])


async def card_of(it: Process, place: World, *texts: str) -> Card:
    """A card with the open misses of these texts in a row."""
    where = (await it.adapter.find(place.channel)).place
    found = await it.data.questions.open(readers(where, Audience("public")).scopes)
    (first, *others) = [each for text in texts for each in found.questions if each.question == text]
    ids = tuple(each.id for each in (first, *others))
    details = tuple(f"Also: {each.question}" for each in others)
    return Card(
        "Unanswered", ("2 asked",), (CardRow(f"1. {first.question}", details, (), offers(ids, first.id, "en")),), ()
    )


async def test_a_question_gets_one_answer_below_its_steps(place: World) -> None:
    async with place.process(says(Thought("Looking it up."), Answered("30 days.", confidence=0.9))) as it:
        asked = await place.says(BETTER)
        steps, answer = await place.answered(asked, "30 days.")
        assert steps.splitlines()[0].removeprefix("-# ").startswith("1 step") and EDITED not in answer
        assert [each.question for each in it.player.asks] == ["How long do refunds take?"]


async def test_a_question_that_is_edited_while_it_runs_is_answered_in_its_new_words_only(place: World) -> None:
    held = Held("Old.")
    async with place.process(held, answers("30 days.")) as it:
        asked = await place.says(QUESTION)
        await asyncio.wait_for(held.begun.wait(), 30)
        await place.edits(asked, BETTER)
        shown = await place.answered(asked, "30 days.")
        assert not any("Old." in each for each in shown) and EDITED not in shown[-1]  # nobody has seen another one
        assert [each.question[-5:] for each in it.player.asks] == ["tale?", "take?"]


async def test_a_question_that_is_edited_later_is_answered_again_in_the_place_of_the_old_answer(place: World) -> None:
    async with place.process(misses, answers("30 days.")) as it:
        asked = await place.says(QUESTION)
        before = await place.answered(asked, "Nothing was found.")
        await place.votes_down(asked)
        await until(lambda: counts(it), lambda found: (found["feedback"], found["questions"]) == (1, 2))
        await place.edits(asked, BETTER)
        after = await place.answered(asked, "30 days.")
        assert len(after) == len(before)
        assert EDITED in after[-1] and not any("Nothing was found." in each for each in after)
        # The old answer's vote and misses are gone with it, and history has the new words.
        found = await counts(it)
        assert (found["answers"], found["questions"], found["feedback"]) == (1, 0, 0)
        assert [each.question for each in it.player.asks] == ["How long do refunds tale?", "How long do refunds take?"]
        assert it.player.asks[1].history == ()


async def test_a_question_without_a_word_is_in_the_language_of_its_thread(place: World) -> None:
    async with place.process(answers("30日です。"), answers("60日です。"), answers("90 days.")) as it:
        asked = await place.says("@kotae 返金には何日かかりますか？")
        await place.answered(asked, "30日です。")
        further = await place.says("@kotae 2026?", thread=asked)
        *_, steps, answer = await place.answered(asked, "60日です。")
        assert it.player.asks[1].language == "ja" and "途中経過 1 件" in steps.splitlines()[0]
        await place.edits(further, "@kotae And in 2026?")
        *_, steps, answer = await place.answered(asked, "90 days.")
        assert it.player.asks[2].language == "en" and "1 step" in steps.splitlines()[0] and EDITED in answer


async def test_an_edit_that_says_the_same_changes_nothing(place: World) -> None:
    async with place.process(answers("30 days."), answers("60 days.")) as it:
        asked = await place.says("@kotae How long do refunds of 1.5 take?")
        await place.answered(asked, "30 days.")
        await place.edits(asked, "@kotae  how long do refunds of １.５ take")
        await place.quiet()
        assert len(it.player.asks) == 1 and "30 days." in (await place.thread(asked))[-1]
        await place.edits(asked, "@kotae How long do refunds of 15 take?")
        await place.answered(asked, "60 days.")


async def test_edits_are_followed_a_few_times_and_the_last_one_says_so(place: World) -> None:
    async with place.process(*(answers(f"Answer {number}.") for number in range(EDITS + 2))) as it:
        asked = await place.says("@kotae Question 0?")
        await place.answered(asked, "Answer 0.")
        for number in range(1, EDITS + 1):
            await place.edits(asked, f"@kotae Question {number}?")
            shown = await place.answered(asked, f"Answer {number}.")
            assert ("please ask anew" in shown[-1]) == (number == EDITS)
        await place.edits(asked, "@kotae Question 9?")
        await place.quiet()
        assert len(it.player.asks) == EDITS + 1 and await place.thread(asked) == shown


async def test_an_edited_question_whose_answer_somebody_deleted_is_answered_anew(place: World) -> None:
    async with place.process(answers("Old."), answers("30 days.")):
        asked = await place.says(QUESTION)
        await place.answered(asked, "Old.")
        await place.deletes_answer(asked)
        await place.edits(asked, BETTER)
        assert len([each for each in await place.answered(asked, "30 days.") if "30 days." in each]) == 1


async def test_what_a_process_left_is_taken_up_by_the_next(place: World) -> None:
    async with place.process(answers("Old."), look_every=60) as it:
        asked = await place.says(QUESTION)
        await place.answered(asked, "Old.")
        (message,) = it.player.messages
        assert await it.bot.turns.amend(replace(message, text="How long do refunds take?"))  # and here it died
    async with place.process(answers("30 days.")) as it:
        shown = await place.answered(asked, "30 days.")
        assert EDITED in shown[-1] and not any("Old." in each for each in shown)
        assert [each.question for each in it.player.asks] == ["How long do refunds take?"]


async def test_a_question_without_a_mention_any_more_keeps_its_answer(place: World) -> None:
    async with place.process(answers("30 days.")) as it:
        asked = await place.says(BETTER)
        before = await place.answered(asked, "30 days.")
        await place.edits(asked, "Never mind.")
        await place.quiet()
        assert await place.thread(asked) == before and len(it.player.asks) == 1


async def test_a_deleted_question_goes_with_its_answer_and_all_that_is_known_of_it(place: World) -> None:
    async with place.process(misses, answers("Other.")) as it:
        asked = await place.says(QUESTION)
        await place.answered(asked, "Nothing was found.")
        other = await place.says("@kotae Something else?")
        await place.answered(other, "Other.")
        await place.votes_down(asked)
        await until(lambda: counts(it), lambda found: found["feedback"] == 1)
        (turn,) = await rows(it.data.engine, select(turns.c.id).where(turns.c.text.contains("refunds")))
        for query, of in (("refunds", turn.id), ("by hand", None)):  # as the question's own search would be measured
            search = SearchMetrics(query, "", 1.0, 0, 0, 0.0, (), None, datetime.now(UTC))
            await it.data.searches.add(Measured(search, "team", of))
        await place.deletes(asked)
        await until(lambda: place.thread(asked), lambda said: not said)
        await place.quiet()
        assert await open_questions(it, place) == []
        found = await counts(it)
        assert (found["answers"], found["questions"], found["feedback"]) == (1, 0, 0)
        assert [row.query for row in await rows(it.data.engine, select(searches.c.query))] == ["by hand"]
        left = {(row.text, row.author) for row in await rows(it.data.engine, select(turns.c.text, turns.c.author))}
        assert ("", "") in left and not any("refunds" in text for text, _ in left)
        assert "Other." in (await place.thread(other))[-1]


async def test_what_its_asker_was_told_goes_with_a_deleted_question(place: World) -> None:
    """The notice of an answer quotes it; what others have learnt stays."""
    async with place.process(misses) as it:
        asked = await place.says(BETTER)
        await place.answered(asked, "Nothing was found.")
        await learnt(it, place, asked)
        assert "How long do refunds take?" in (await place.thread(asked))[-1]
        await place.deletes(asked)
        await until(lambda: place.thread(asked), lambda said: not said)


async def test_the_answer_to_an_old_question_is_told_where_it_was_asked_and_calls_nobody(place: World) -> None:
    """Whose it was is not known any more, once the time is over for which questions are kept (R61)."""
    async with place.process(misses) as it:
        asked = await place.says(BETTER)
        await place.answered(asked, "Nothing was found.")
        await place.quiet()
        await change(it.data.engine, lambda db: db.execute(update(turns).values(author="", text="")))
        await learnt(it, place, asked)
        assert (await place.thread(asked))[-1].startswith("Your question “How long do refunds take?” has an answer now")


async def test_what_its_asker_was_told_goes_with_the_old_words_of_a_question(place: World) -> None:
    """It answered those; and who looked for it once it is withdrawn would not find it any more."""
    async with place.process(misses, answers("Other.")) as it:
        asked = await place.says(BETTER)
        await place.answered(asked, "Nothing was found.")
        await learnt(it, place, asked)
        await place.quiet()
        await place.edits(asked, "@kotae How long do returns take?")
        await until(lambda: place.thread(asked), lambda said: "Other." in "".join(said))
        await until(lambda: place.thread(asked), lambda said: "At pier seven." not in "".join(said))


async def test_a_question_deleted_while_it_runs_leaves_nothing(place: World) -> None:
    held = Held()
    async with place.process(held, answers("Other.")) as it:
        asked = await place.says(QUESTION)
        await asyncio.wait_for(held.begun.wait(), 30)
        await until(lambda: place.thread(asked))
        await place.deletes(asked)
        await until(lambda: place.thread(asked), lambda said: not said)
        await place.quiet()  # nobody works on it any more
        held.go_on.set()
        await place.answered(await place.says(BETTER), "Other.")
        assert await place.thread(asked) == [] and (await counts(it))["answers"] == 1


@pytest.mark.parametrize("platform", ["slack", "slack over HTTP", "discord"])
@pytest.mark.parametrize("how", ["deleted", "edited", "voted"])
async def test_what_a_platform_tells_once_is_not_lost_while_the_database_takes_nothing(
    platform: str, how: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(platform, tmp_path) as place, place.process(answers("30 days."), answers("Other.")) as it:
        asked = await place.says(QUESTION)
        await place.answered(asked, "30 days.")
        async with without(it.data.engine, "feedback" if how == "voted" else "turns"):
            match how:
                case "deleted":
                    await place.deletes(asked)
                case "edited":
                    await place.edits(asked, BETTER)
                case "voted":
                    await place.votes_down(asked)

            async def refused() -> bool:
                return "could not be stored" in caplog.text

            await until(refused)
        match how:
            case "deleted":
                await until(lambda: place.thread(asked), lambda said: not said)
            case "edited":
                await place.answered(asked, "Other.")
            case "voted":
                await until(lambda: counts(it), lambda found: found["feedback"] == 1)


async def test_what_a_process_left_of_a_deleted_question_is_taken_away_by_the_next(place: World) -> None:
    async with place.process(answers("30 days."), look_every=60) as it:
        asked = await place.says(BETTER)
        await place.answered(asked, "30 days.")
        (message,) = it.player.messages
        assert await it.bot.turns.delete(message) is not None  # and here it died
        about = (await rows(it.data.engine, select(turns.c.id)))[0].id
    async with place.process(answers("Never.")) as it:
        await until(lambda: place.thread(asked), lambda said: not said)
        await until(lambda: it.bot.turns.deleted(it.adapter.platform), lambda found: not found)
        assert not await rows(it.data.engine, select(posts.c.about).where(posts.c.about == about))
        assert await it.bot.turns.delete(message) is None and not it.player.asks


@pytest.mark.parametrize("how", ["deleted", "edited"])
async def test_a_card_loses_the_words_of_a_question_that_is_not_there_any_more(place: World, how: str) -> None:
    async with place.process(misses, misses, misses, misses) as it:
        first = await place.says("@kotae Where do ships moor?")
        second = await place.says("@kotae Who has the key?")
        third = await place.says("@kotae What is for lunch?")
        for each in (first, second, third):
            await place.answered(each, "Nothing was found.")
        cards = [
            await card_of(it, place, "Where do ships moor?", "Who has the key?"),
            await card_of(it, place, "What is for lunch?"),
        ]
        for number, card in enumerate(cards):
            await it.adapter.announce(place.channel, card, about=f"digest:{number}")
        assert "Who has the key?" in " ".join(await place.cards())
        for each in (second, third):
            await (place.deletes(each) if how == "deleted" else place.edits(each, "@kotae Something else entirely?"))

        async def posted() -> str:
            return " ".join(await place.cards())

        shown = await until(posted, lambda shown: "key" not in shown and "lunch" not in shown)
        assert "Where do ships moor?" in shown and "has changed or deleted the question" in shown
        assert "✅ Closed" in shown and "✅ Answered" not in shown


async def test_cards_are_drawn_without_the_words_of_an_asker_who_is_forgotten(place: World) -> None:
    """What others have asked can be answered as before."""
    async with place.process(misses, misses, misses) as it:
        for text in ("@kotae Where do ships moor?", "@kotae Who has the key?", "@kotae Who lost the key?"):
            await place.answered(await place.says(text), "Nothing was found.")
        shared, alone = ("Who has the key?", "Where do ships moor?"), ("Who lost the key?",)
        for about, texts in (("digest:1", shared), ("digest:2", alone)):
            await it.adapter.announce(place.channel, await card_of(it, place, *texts), about=about)
        assert "Who has the key?" in " ".join(await place.cards())
        theirs = update(turns).where(turns.c.text.contains("key")).values(author="UGONE9")
        await change(it.data.engine, lambda db: db.execute(theirs))
        await place.quiet()
        await Erasure(it.data.engine).forget(it.adapter.platform, "UGONE9")
        assert "key" not in str([row.data for row in await rows(it.data.engine, select(posts.c.data))])

        async def shown() -> str:
            return " ".join(await place.cards())

        await until(shown, lambda said: "key" not in said and "ships" in said and "deleted the question" in said)
        both = [
            one for about in ("digest:1", "digest:2") for one in await it.bot.outbox.of(about) if one.kind == "card"
        ]
        assert [(len(one.data["questions"]), one.data["closed"]) for one in both] == [(1, False), (1, True)]


async def test_a_card_of_a_thumb_that_was_taken_back_does_not_say_that_the_asker_changed_the_question(
    place: World,
) -> None:
    async with place.process(answers("Anybody.")) as it:
        asked = await place.says("@kotae Who has the key?")
        await place.answered(asked, "Anybody.")
        await place.votes_down(asked)
        await until(lambda: counts(it), lambda found: found["questions"] == 1)
        await it.adapter.announce(place.channel, await card_of(it, place, "Who has the key?"), about="digest:1")
        await until(place.cards, lambda said: "Who has the key?" in "".join(said))
        (down,) = await rows(it.data.engine, select(feedback.c.turn, feedback.c.author))
        assert await it.bot.turns.vote(Feedback(down.turn, down.author, None)) == "changed"
        await place.quiet()
    async with place.process() as it:
        await until(place.cards, lambda said: "or a 👎 on its answer was taken back" in "".join(said))


async def test_a_card_that_was_closed_loses_the_words_of_a_question_that_is_deleted(place: World) -> None:
    async with place.process(misses) as it:
        asked = await place.says("@kotae Who has the key?")
        await place.answered(asked, "Nothing was found.")
        await it.adapter.announce(place.channel, await card_of(it, place, "Who has the key?"), about="digest:1")
        await until(place.cards, lambda said: "Who has the key?" in "".join(said))
        card = next(post for post in await it.bot.outbox.of("digest:1") if post.kind == "card")
        await it.bot.outbox.amend(card, lambda data: {**data, "closed": True})
        await place.quiet()
        await place.deletes(asked)
        await until(place.cards, lambda said: "key" not in "".join(said))
        shown = "".join(await place.cards())
        assert "has changed or deleted the question" in shown and "✅ Closed" in shown
        assert "elsewhere" not in shown  # nobody has answered or dismissed it
        (card,) = [post for post in await it.bot.outbox.of("digest:1") if post.kind == "card"]
        assert card.data["closed"] and "key" not in str(card.data)


@pytest.mark.parametrize("edited", [True, False])
async def test_what_is_asked_most_loses_the_words_of_a_question_that_is_taken_back(place: World, edited: bool) -> None:
    async with place.process(answers("In the drawer.")) as it:
        asked = await place.says("@kotae Who has the key?")
        await place.answered(asked, "In the drawer.")
        (turn,) = await rows(it.data.engine, select(turns.c.id))
        row = CardRow("Asked most", ("“Who has the key?”: 2 times", "“And the lamp?”: 2 times"), sources=(turn.id,))
        await it.adapter.announce(place.channel, Card("Unanswered", (), (row,), ()), about="digest:1")
        await until(place.cards, lambda said: "Who has the key?" in "".join(said))
        await place.quiet()
        await (place.edits(asked, "@kotae Where do ships moor?") if edited else place.deletes(asked))
        await until(place.cards, lambda said: "key" not in "".join(said))
        shown = "".join(await place.cards())
        assert "Asked most" in shown and "lamp" in shown and "changed or deleted is left out" in shown
        (card,) = [post for post in await it.bot.outbox.of("digest:1") if post.kind == "card"]
        assert "key" not in str(card.data) and "stale" not in card.data


async def test_another_place_has_no_such_question(place: World) -> None:
    async with place.process(answers("30 days.")) as it:
        asked = await place.says(BETTER)
        await place.answered(asked, "30 days.")
        (message,) = it.player.messages
        elsewhere = Place(message.place.platform, message.place.workspace, "elsewhere")
        assert await it.bot.turns.delete(replace(message, place=elsewhere)) is None
        assert not await it.bot.turns.amend(replace(message, place=elsewhere, text="Other?"))
        assert "30 days." in (await place.thread(asked))[-1]


# -- follow-ups without a mention ------------------------------------------------------------------------------------


async def begun(place: World) -> str:
    """A thread of the bot's own: its first message, once that is answered."""
    asked = await place.says(BETTER)
    await place.answered(asked, "30 days.")
    return asked


async def words_kept(it: Process) -> str:
    """Whatever is known of what was said."""
    found = [*await rows(it.data.engine, select(turns.c.text)), *await rows(it.data.engine, select(traces.c.event))]
    return " ".join(str(row[0]) for row in found) + " ".join(
        f"{ask.question} {ask.overheard}" for ask in it.player.asks
    )


async def test_in_its_own_thread_it_needs_no_mention(place: World) -> None:
    async with place.process(answers("30 days."), answers("60 days."), answers("90 days.")) as it:
        asked = await begun(place)
        await place.says("And from abroad?", thread=asked)
        await place.answered(asked, "60 days.")
        assert [each.question for each in it.player.asks] == ["How long do refunds take?", "And from abroad?"]
        assert [each.question for each in it.player.asks[1].history] == ["How long do refunds take?"]
        assert it.player.asks[1].overheard == ()
        await place.says("@kotae And from the moon?", thread=asked)
        await place.answered(asked, "90 days.")
        assert it.player.asks[2].overheard == ()  # what was asked is the conversation already


@pytest.mark.parametrize(
    "said", ["Thanks a lot!", "👍👍", ":tada:", "ありがとうございます！", "{ben} and from abroad?"]
)
async def test_what_asks_the_bot_nothing_is_left_alone(place: World, said: str) -> None:
    async with place.process(answers("30 days."), answers("Never.")) as it:
        asked = await begun(place)
        await place.says(said.format(ben=place.ben), thread=asked)
        await place.quiet()
        assert len(it.player.asks) == 1 and "30 days." in (await place.thread(asked))[-1]


@pytest.mark.parametrize("first", ["ben", "ann"])
async def test_once_somebody_else_writes_it_is_talk_between_people(place: World, first: str) -> None:
    async with place.process(answers("30 days."), answers("Never.")) as it:
        asked = await begun(place)
        await place.says("I waited for sixty days once.", thread=asked, who="ben")
        if first == "ann":
            await place.says("Sixty, where was that?", thread=asked)
        await place.quiet()
        assert len(it.player.asks) == 1 and "30 days." in (await place.thread(asked))[-1]
        assert "ixty" not in await words_kept(it)
        await place.says("@kotae And from abroad?", thread=asked)
        await place.answered(asked, "Never.")


async def test_a_thread_of_people_is_not_the_bots_own(place: World) -> None:
    async with place.process(answers("30 days."), answers("Never.")) as it:
        root = await place.says("I waited for sixty days once.")
        asked = await place.says(BETTER, thread=root)
        await place.answered(root, "30 days.")
        await place.says("And from abroad?", thread=root)
        await place.quiet()
        assert len(it.player.asks) == 1 and asked


async def test_a_day_later_it_takes_a_mention_again(place: World) -> None:
    async with place.process(answers("30 days."), answers("Never.")) as it:
        asked = await begun(place)
        long_ago = datetime.now(UTC) - timedelta(hours=25)
        await change(
            it.data.engine, lambda db: db.execute(update(turns).values(claimed_at=long_ago, finished_at=long_ago))
        )
        await place.says("And from abroad?", thread=asked)
        await place.quiet()
        assert len(it.player.asks) == 1


async def test_a_channel_can_ask_for_mentions(place: World) -> None:
    async with place.process(answers("30 days."), answers("60 days.")) as it:
        where = (await it.adapter.find(place.channel)).place
        await ChannelSettings(it.data.engine).put(where, Preferences(follow="mentions"))
        asked = await begun(place)
        await place.says("And from abroad?", thread=asked)
        await place.quiet()
        assert len(it.player.asks) == 1
        await ChannelSettings(it.data.engine).put(where, Preferences())
        await place.says("And from overseas?", thread=asked)
        await place.answered(asked, "60 days.")


async def test_a_follow_up_is_edited_and_deleted_like_any_question(place: World) -> None:
    async with place.process(answers("30 days."), answers("60 days."), answers("90 days.")) as it:
        asked = await begun(place)
        first = await place.thread(asked)
        further = await place.says("And from abroad?", thread=asked)
        await place.answered(asked, "60 days.")
        await place.edits(further, "And from Australia?")
        shown = await place.answered(asked, "90 days.")
        assert EDITED in shown[-1] and not any("60 days." in each for each in shown)
        await place.deletes(further)
        await until(lambda: place.thread(asked), lambda said: said == first)
        assert len(it.player.asks) == 3


# -- a person is asked -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("act", [Answered("Perhaps 30 days.", unsure=True), Answered("Not found.", outcome="unknown")])
async def test_a_person_can_be_asked_what_the_bot_is_not_sure_of(place: World, act: Answered) -> None:
    """One card, once; whoever presses reads who has it, nobody else does."""
    async with place.process(says(act)) as it:
        asked = await place.says(BETTER)
        shown = await place.answered(asked, act.text)
        assert ("I am not sure." in shown[-1]) is act.unsure or place.channel == "general"
        it.bot.asking.reach = PeopleReach([it.adapter], f"{it.adapter.platform}:{place.channel}")
        assert (await place.asks_person(asked)).startswith("I have asked #")
        assert "has been asked this already" in await place.asks_person(asked)
        (card,) = await place.cards()
        assert "How long do refunds take?" in card and "ann" not in card.casefold()  # it is for a channel
        assert await place.thread(asked) == shown


async def test_nobody_is_offered_where_the_bot_is_sure(place: World) -> None:
    async with place.process(answers("30 days."), says(Answered("Hello!"))):
        asked = await place.says(BETTER)
        await place.answered(asked, "30 days.")
        with pytest.raises((LookupError, AssertionError)):
            await place.asks_person(asked)


# -- what was quoted is withdrawn --------------------------------------------------------------------------------------


def found(name: str, letter: str) -> Hit:
    return Hit(Passage("docs", letter * 32, name, 0, f"The words of {name}.", TEAM, name), {}, 0.9)


PLAN, PIER = found("plan.md", "a"), found("pier.md", "b")
QUOTING = (
    Thought("Looking it up."),
    ToolReturned("1", "search_rag_knowledge_base", "2 passages", (PLAN, PIER)),
    Answered(
        "**Plan**\n> The whale starts in May. [1]\n\nShips moor at pier seven. [2]",
        (
            Citation(1, "plan.md", "docs", 0, "The whale starts", document_id="a" * 32),
            Citation(2, "pier.md", "docs", 0, "Ships moor", document_id="b" * 32),
        ),
        confidence=0.9,
        seconds=2,
    ),
)


async def withdrawn(data: Database, *hits: Hit) -> None:
    names = {hit.passage.document_id: hit.passage.document for hit in hits}
    await change(data.engine, lambda db: withdraw(db, names, datetime.now(UTC)))


async def test_the_quotation_of_a_withdrawn_document_leaves_the_answer_that_was_posted(place: World) -> None:
    """Also when the bot was away at that time; the rest of the answer stays, and nobody is answered twice. Its steps
    go, as they name what was found."""
    async with place.process(says(*QUOTING)) as it:
        asked = await place.says(BETTER)
        (_, before) = await place.answered(asked, "pier seven")
        assert "The whale starts" in before
        await withdrawn(it.data, PLAN)
        await until(lambda: place.thread(asked), lambda said: len(said) == 1 and "The whale starts" not in said[0])
        await place.quiet()
        (shown,) = await place.thread(asked)
        assert WITHDRAWN.en in shown and "pier seven" in shown and "plan.md" not in shown
        assert len(it.player.asks) == 1
    async with database(settings(place.home)) as data:
        await withdrawn(data, PIER)
    async with place.process() as it:
        await until(lambda: place.thread(asked), lambda said: "pier seven" not in "".join(said))
        await place.quiet()
        (shown,) = await place.thread(asked)
        assert shown.count(WITHDRAWN.en) == 1


@pytest.mark.parametrize("place", ["slack", "discord"], indirect=True)
async def test_whoever_reads_along_by_the_time_of_an_answer_reads_what_they_may(place: World) -> None:
    """Nobody is answered twice for that."""
    held, now = Held(), datetime.now(UTC)

    async def act(ask: Ask) -> Events:
        yield QUOTING[1]
        held.begun.set()
        await held.go_on.wait()
        yield QUOTING[2]

    async with place.process(act) as it:
        await place.closes()
        here = scope_of((await it.adapter.find(place.channel)).place)
        await VectorStores(it.data.engine).open("e5", 384, "t1")
        row = DocumentRow("a" * 32, "docs", here, "plan.md", "", None, "h", "m", 1, "en", "U1", 1, now, now)
        await Documents(it.data.engine, "e5").commit(row, generation=1)
        asked = await place.says(BETTER)
        await asyncio.wait_for(held.begun.wait(), 30)
        await place.closes(closed=False)
        held.go_on.set()
        shown = await place.answered(asked, "pier seven")
        assert "whale" not in "".join(shown) and WITHDRAWN.en in shown[-1] and len(it.player.asks) == 1


async def test_steps_go_with_a_document_that_was_found_and_not_cited(place: World) -> None:
    said = (
        Thought("The plan of plan.md is of no use here."),
        ToolReturned("1", "search_rag_knowledge_base", "2 passages", (PLAN, PIER)),
        Thought("The plan says that the whale starts in May, which nobody asked for."),
        Answered(
            "Ships moor at pier seven. [1]",
            (Citation(1, "pier.md", "docs", 0, "Ships moor", document_id="b" * 32),),
            confidence=0.9,
        ),
    )
    async with place.process(says(*said)) as it:
        asked = await place.says(BETTER)
        (_, before) = await place.answered(asked, "pier seven")
        signs = place.signs()
        await withdrawn(it.data, PLAN)
        kept = await rows(it.data.engine, select(posts.c.data).where(posts.c.kind == "steps"))
        drawn = await rows(it.data.engine, select(messages.c.text, messages.c.data).where(messages.c.kind == "steps"))
        assert "whale" not in f"{kept}{drawn}"
        await until(lambda: place.thread(asked), lambda said: len(said) == 1)
        await place.quiet()
        assert await place.thread(asked) == [before]
        assert len(it.player.asks) == 1 and place.signs() == signs


async def test_the_quotation_of_a_withdrawn_document_leaves_cards(place: World) -> None:
    async with place.process(says(Answered("Not found.", outcome="unknown"))) as it:
        asked = await place.says(BETTER)
        await place.answered(asked, "Not found.")
        shown = await card_of(it, place, "How long do refunds take?")
        (row,) = shown.rows
        both = " ".join(hit.passage.document_id for hit in (PIER, PLAN))
        details = ("Asked.", "“The whale starts.”", "Closest: pier.md, plan.md")
        row = replace(row, details=details, sources=("", PLAN.passage.document_id, both))
        await it.adapter.announce(place.channel, replace(shown, title="", rows=(row,)), about="ask:1")
        await until(place.cards, lambda said: "The whale starts" in "".join(said) and "plan.md" in "".join(said))
        await withdrawn(it.data, PLAN)
        await until(
            place.cards, lambda said: "The whale starts" not in "".join(said) and "plan.md" not in "".join(said)
        )
        (card,) = await place.cards()
        assert WITHDRAWN.en in card and "How long do refunds take?" in card and "Asked." in card
        posts_of = await it.bot.outbox.of("ask:1")
        assert all("stale" not in post.data and not post.data["closed"] for post in posts_of)


async def test_an_experts_answer_that_is_withdrawn_leaves_the_threads_where_it_was_told(place: World) -> None:
    """Also when the bot was away at that time; what was answered before stays."""
    pairs = "c" * 32
    async with place.process(misses) as it:
        asked = await place.says(BETTER)
        await place.answered(asked, "Nothing was found.")
        await learnt(it, place, asked, {TEAM: pairs})
        await place.quiet()
    async with database(settings(place.home)) as data:
        await change(data.engine, lambda db: withdraw(db, {pairs: "Q&A.json"}, datetime.now(UTC)))
    async with place.process() as it:
        await until(lambda: place.thread(asked), lambda said: "At pier seven." not in "".join(said))
        await place.quiet()
        assert "Nothing was found." in (await place.thread(asked))[-1] and not it.player.asks


async def test_a_card_whose_question_is_gone_keeps_no_document_from_being_withdrawn(place: World) -> None:
    async with place.process(says(Answered("Not found.", outcome="unknown"))) as it:
        asked = await place.says(BETTER)
        await place.answered(asked, "Not found.")
        shown = await card_of(it, place, "How long do refunds take?")
        row = replace(shown.rows[0], details=("“The whale starts.”",), sources=(PLAN.passage.document_id,))
        await it.adapter.announce(place.channel, replace(shown, title="", rows=(row,)), about="ask:1")
        await place.deletes(asked)
        await until(place.cards, lambda said: "changed or deleted the question" in "".join(said))
        (kept,) = await it.bot.outbox.of("ask:1")
        assert "sources" not in kept.data["row"] and "whale" not in str(kept.data)
        await withdrawn(it.data, PLAN)
        await place.quiet()
        assert "changed or deleted the question" in "".join(await place.cards())


# -- pages change ------------------------------------------------------------------------------------------------------

BEFORE, NOW = "1" * 64, "2" * 64
PAGE = "# Plan\n\nThe whale rests for 20 days in the bay. Ships wait outside.\n"
RESTING = (
    Thought("Looking it up."),
    ToolReturned("1", "search_rag_knowledge_base", "1 passage", (PLAN,)),
    Answered(
        "The whale rests for 20 days in the bay. [1]",
        (Citation(1, "plan.md", "docs", 0, "The whale rests for 20 days in the bay.", document_id="a" * 32),),
        confidence=0.9,
        seconds=2,
    ),
)


def plan(markdown: str, generation: int) -> DocumentRow:
    now = datetime.now(UTC)
    about = (PLAN.passage.document_id, "docs", TEAM, "plan.md", "Plan", None, markdown, markdown)
    return DocumentRow(*about, 1, "en", "U1", generation, now, now)


async def page_changes(it: Process, to: str | None) -> int:
    """How many answers say something else now. None: the page is gone from its source."""
    documents = Documents(it.data.engine, "e5")
    await VectorStores(it.data.engine).open("e5", 384, "t1")
    await documents.commit(plan(BEFORE, 1), generation=1)
    if to is None:
        await documents.forget(PLAN.passage.document_id, generation=2, at_source=True)
    else:
        await documents.commit(plan(NOW, 2), generation=2)

    async def read(address: str) -> str | None:
        return PAGE if address == BEFORE else to

    async def tidy(address: str) -> None:
        assert address == BEFORE

    return await LivingAnswers(ChangedDocuments(it.data.engine), documents.get, read, tidy, timezone=UTC).check()


async def test_an_answer_says_on_top_what_its_page_says_now_and_its_asker_is_told_once(place: World) -> None:
    async with place.process(says(*RESTING)) as it:
        asked = await place.says(BETTER)
        (steps, _) = await place.answered(asked, "20 days")
        assert await page_changes(it, PAGE.replace("20 days", "25 days")) == 1
        await until(lambda: place.thread(asked), lambda said: len(said) == 3 and "25 days" in said[1])
        await place.quiet()
        (first, answer, notice) = await place.thread(asked)
        assert first == steps
        assert answer.index("now says 25 days; it said 20 days") < answer.index("The whale rests for 20 days")
        assert "rests on has changed" in notice and "How long do refunds take?" in notice
        assert "plan.md" in notice and "days" not in notice  # what a page says can be withdrawn from the answer alone
        assert len(it.player.asks) == 1
    async with place.process() as it:
        await place.quiet()
        assert await place.thread(asked) == [first, answer, notice]


@pytest.mark.parametrize("end", ["withdrawn", "edited"])
async def test_the_notice_of_a_page_goes_with_the_page_and_with_the_answer(place: World, end: str) -> None:
    async with place.process(says(*RESTING), answers("Other.")) as it:
        asked = await place.says(BETTER)
        await place.answered(asked, "20 days")
        await page_changes(it, PAGE.replace("20 days", "25 days"))
        await until(lambda: place.thread(asked), lambda said: len(said) == 3)
        await place.quiet()
        if end == "withdrawn":
            await withdrawn(it.data, PLAN)
        else:
            await place.edits(asked, "@kotae How long do returns take?")
        now = WITHDRAWN.en if end == "withdrawn" else "Other."
        await until(lambda: place.thread(asked), lambda said: now in "".join(said) and "plan.md" not in "".join(said))
        await place.quiet()
        assert "rests on has changed" not in "".join(await place.thread(asked))


async def test_an_answer_whose_page_is_gone_from_its_source_stays_and_says_so(place: World) -> None:
    async with place.process(says(*RESTING)) as it:
        asked = await place.says(BETTER)
        await place.answered(asked, "20 days")
        assert await page_changes(it, None) == 1
        await until(lambda: place.thread(asked), lambda said: len(said) == 3 and "was removed" in said[1])
        (_, answer, _) = await place.thread(asked)
        assert "the page this rests on was removed: " in answer and "The whale rests for 20 days" in answer


async def test_an_answer_whose_page_still_says_it_is_left_alone(place: World) -> None:
    async with place.process(says(*RESTING)) as it:
        asked = await place.says(BETTER)
        before = await place.answered(asked, "20 days")
        assert await page_changes(it, PAGE.replace("20 days", "**20 days**") + "\nAnd more.\n") == 0
        await place.quiet()
        assert await place.thread(asked) == list(before)
