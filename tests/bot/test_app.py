"""What the application decides itself: when the sample goes in, what may be searched, what it tells a newcomer."""

import asyncio
import shutil
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from adapters.terminal.channel import AUDIENCE, PASSING, PLACE
from agent.events import Answered
from bot.app import SAMPLE, Application, running
from bot.cli.output import banner
from bot.doctor.data import heard
from bot.errors import SettingsError
from bot.knowledge.documents import KnowledgeBase
from bot.logs import Redactor
from bot.records import WantedQuestions
from bot.store.engine import write
from bot.store.schema import followed, intakes, turns
from bot.types import FileRef, Incoming, IngestionRequest, Upload
from retrieval.types import TEAM, CollectionNotFoundError, QdrantConnectionError
from tests.bot.sample_turns import begun
from tests.fakes import openai
from tests.fakes.gemini import FakeGemini, Reply, text
from tests.fakes.openai import FakeOpenAI
from tests.retrieval.cross_encoder import cross_encoder


@asynccontextmanager
async def application(home: Path, **more: Any) -> AsyncIterator[Application]:
    async with running(begun(home, **more), Redactor()) as app:
        yield app


def asked(question: str, thread: str = "", **more: Any) -> Incoming:
    return Incoming(PASSING, thread or uuid.uuid4().hex, uuid.uuid4().hex, "U1", question, AUDIENCE, **more)


async def answer(app: Application, message: Incoming) -> Answered:
    events = [event async for event in app.bot.turns.reply(message)]
    assert isinstance(events[-1], Answered)
    return events[-1]


# -- the sample -----------------------------------------------------------------------------------------------------


async def test_the_sample_is_for_an_empty_home(tmp_path: Path) -> None:
    async with application(tmp_path) as app:
        assert await app.wants_sample()
        await app.knowledge.add(Upload("own.md", b"# Own\n\nOurs.\n", "docs", TEAM, "U1"), "en")
        assert not await app.wants_sample()


async def test_the_sample_is_never_for_a_home_with_a_platform(tmp_path: Path) -> None:
    tokens = {"SLACK_BOT_TOKEN": "xoxb-1-2-abcdefgh", "SLACK_APP_TOKEN": "xapp-1-A1-2-abcdefgh"}
    async with application(tmp_path, **tokens) as app:
        assert app.settings.platforms == ("Slack",) and not await app.wants_sample()


async def test_when_a_platform_was_last_heard_is_known(tmp_path: Path) -> None:
    settings, began = begun(tmp_path), datetime.now(UTC)
    assert await heard(settings, PLACE.platform) is None
    async with application(tmp_path) as app:
        await answer(app, asked("When do ships moor at pier seven?"))
    last = await heard(settings, PASSING.platform)
    assert last is not None and began <= last <= datetime.now(UTC) and await heard(settings, "slack") is None


async def test_the_sample_is_not_for_a_home_where_something_was_asked(tmp_path: Path) -> None:
    async with application(tmp_path) as app:
        assert (await answer(app, asked("Where is the harbour?"))).outcome == "unknown"
        assert not await app.wants_sample()


async def test_a_sample_cut_short_is_completed_and_one_taken_out_stays_out(tmp_path: Path) -> None:
    async with application(tmp_path / "one", KOTAE_LANGUAGE="ja") as app:

        def stop(done: int, total: int) -> None:
            if done == 2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            await app.add_sample(stop)
        assert len(await app.data.documents.listed()) == 2
        assert await app.wants_sample()
        (info,) = await app.knowledge.collections(app.readers)
        assert info.name == SAMPLE and info.description.startswith("架空の会社")
        row, other = await app.data.documents.listed()
        await app.knowledge.forget(row.id)
        assert not await app.wants_sample()
        await app.knowledge.forget(other.id)
        assert not await app.wants_sample()


async def test_an_answer_says_when_a_source_that_fails_was_last_checked(tmp_path: Path) -> None:
    question = "How much is the daily allowance for a business trip abroad?"
    async with application(tmp_path) as app:
        await app.add_sample()
        assert {one.checked for one in (await answer(app, asked(question))).citations} == {None}
        seen = datetime.now(UTC) - timedelta(days=9)
        async with write(app.data.engine) as db:
            await db.execute(update(followed).values(failures=1, checked_at=seen))
        given = await answer(app, asked(question))
        day = seen.astimezone(app.settings.timezone).date().isoformat()
        assert {one.checked for one in given.citations} == {day}
        stored = await app.data.conversations.get(given.turn)
        assert stored is not None and stored.answered is not None
        assert stored.answered.citations == given.citations


async def test_the_banner_is_short_and_names_the_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with application(tmp_path) as app:
        for language in ("en", "ja"):
            banner(app.settings, await app.knowledge.collections(app.readers), language)
            shown = capsys.readouterr().out
            assert len(shown.splitlines()) <= 5 and "GEMINI_API_KEY" in shown and str(tmp_path) in shown


# -- what may be searched -------------------------------------------------------------------------------------------


async def test_collections_that_do_not_exist_leave_nothing_to_search(tmp_path: Path) -> None:
    question = "When do ships moor at pier seven?"
    async with application(tmp_path) as app:
        page = b"# Harbour\n\nShips moor at pier seven until midnight.\n"
        await app.knowledge.add(Upload("harbour.md", page, "docs", TEAM, "U1"), "en")
        assert (await answer(app, asked(question))).outcome == "answered"
    async with application(tmp_path, KOTAE_COLLECTIONS="elsewhere") as app:
        found = await answer(app, asked(question))
        assert found.outcome != "answered" and not found.citations
        assert "collections that are chosen to be searched here" in found.text and "no documents yet" not in found.text
        with pytest.raises(CollectionNotFoundError):
            await app.check(None, None, ("elsewhere",))


async def test_only_the_chosen_collections_are_searched(tmp_path: Path) -> None:
    async with application(tmp_path) as app:
        said = {
            "harbour": "Ships moor at pier seven until midnight.",
            "port": "Pier seven: moor your ship from dawn on.",
        }
        for collection, line in said.items():
            page = f"# Moorings\n\n{line}\n".encode()
            await app.knowledge.add(Upload("moorings.md", page, collection, TEAM, "U1"), "en")
        for collection in ("harbour", "port"):
            within = await answer(app, asked("When do ships moor at pier seven?", collections=(collection,)))
            assert {citation.collection for citation in within.citations} == {collection}


async def test_a_model_reads_on_in_a_document_that_it_has_found(tmp_path: Path) -> None:
    calls = (
        openai.call("search_rag_knowledge_base", {"queries": ["pier seven"]}),
        openai.call("read_document", {"document": "harbour.md"}),
    )
    review = '{"verdict": "keep", "critique": "Fine.", "found": "yes", "sure": "yes"}'
    words = ("The lighthouse opens on Mondays. [2]", review)
    replies = (*(openai.Reply(one, "tool_calls") for one in calls), *(openai.Reply(openai.text(one)) for one in words))
    piers = "".join(
        f"## Pier {pier}\n\n{f'Ships moor at pier {pier} until midnight. ' * 4}\n\n" for pier in ("six", "seven")
    )
    page = f"# Harbour\n\n{piers}## Lighthouse\n\n{'The lighthouse opens on Mondays. ' * 4}\n"
    async with FakeOpenAI(*replies, key=None) as server:
        names = {"KOTAE_MODEL": "openai:qwen3:8b", "OPENAI_BASE_URL": server.url}
        async with application(tmp_path, KOTAE_SEARCH_LIMIT=1, KOTAE_CHUNK_SIZE=200, **names) as app:
            await app.knowledge.add(Upload("harbour.md", page.encode(), "docs", TEAM, "U1"), "en")
            found = await answer(app, asked("When does the lighthouse behind pier seven open?"))
    read = str(server.journal[2].body["messages"][-1]["content"])
    assert server.finished and "opens on Mondays" in read and "The document ends here." in read
    assert [citation.chunk for citation in found.citations] == [2] and found.outcome == "answered"


async def test_claims_are_judged_by_the_model_that_is_named_for_it_and_by_nobody_else(tmp_path: Path) -> None:
    """The answer's rule is the page's turned round, in words that code cannot tell from it."""
    search = openai.call("search_rag_knowledge_base", {"queries": ["moor without a permit"]})
    draft = "Ships may moor at pier seven without asking the harbour master. [1]\nFound: yes\nSure: yes"
    review = '{"verdict": "keep", "critique": "Fine.", "found": "yes", "sure": "yes"}'
    replies = (openai.Reply(search, "tool_calls"), *(openai.Reply(openai.text(said)) for said in (draft, review)))
    verdict = '{"verdicts": [{"claim": 1, "verdict": "contradicted"}]}'
    async with FakeOpenAI(*replies, key=None) as server, FakeGemini(Reply((text(verdict),))) as gemini:
        addresses = {"OPENAI_BASE_URL": server.url, "GEMINI_API_KEY": gemini.key, "GEMINI_BASE_URL": gemini.url}
        names = {"KOTAE_MODEL": "openai:qwen3:8b", "KOTAE_JUDGE_MODEL": "gemini:gemini-3.8-flash"}
        async with application(tmp_path, **addresses, **names) as app:
            page = b"# Harbour\n\nNobody moors at pier seven unless the harbour master has been asked.\n"
            await app.knowledge.add(Upload("harbour.md", page, "docs", TEAM, "U1"), "en")
            found = await answer(app, asked("May ships moor at pier seven without asking?"))
    assert server.finished and gemini.finished, (found, server.journal[-1].body)
    (judged,) = gemini.journal
    assert "pier seven without asking" in str(judged.body["contents"]) and "has been asked" in str(
        judged.body["contents"]
    )
    assert judged.body["generationConfig"]["thinkingConfig"]["thinkingLevel"] == "LOW"
    assert found.unsure or found.outcome == "unknown"


async def test_a_reranker_that_fails_is_in_the_log_and_the_question_is_answered(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """That it is asked at all shows that it is wired; its weights can be read only to see that they are none."""
    folder = cross_encoder(tmp_path / "broken", ("ships",))
    (folder / "model.onnx").write_bytes(b"no model")
    async with application(tmp_path / "home", KOTAE_RERANKER=f"fastembed:{folder}") as app:
        page = b"# Harbour\n\nShips moor at pier seven until midnight.\n"
        await app.knowledge.add(Upload("harbour.md", page, "docs", TEAM, "U1"), "en")
        assert (await answer(app, asked("When do ships moor at pier seven?"))).outcome == "answered"
    assert f"The reranker {folder} failed" in caplog.text


async def test_a_reranker_that_is_none_ends_the_start_in_words(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as caught:
        async with application(tmp_path, KOTAE_RERANKER="fastembed:nobody/nothing"):
            pass
    for language in ("en", "ja"):
        assert "KOTAE_RERANKER" in caught.value.text(language) and "nobody/nothing" in caught.value.text(language)


async def test_a_server_that_nobody_serves_is_named_in_words(tmp_path: Path) -> None:
    with pytest.raises(QdrantConnectionError) as caught:
        async with application(tmp_path, QDRANT_URL="http://127.0.0.1:1", QDRANT_API_KEY="planted-secret"):
            pass
    for language in ("en", "ja"):
        assert "QDRANT_URL" in caught.value.text(language) and "planted" not in caught.value.text(language)


async def test_a_server_without_its_client_is_said_in_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "qdrant_client", None)
    with pytest.raises(QdrantConnectionError) as caught:
        async with application(tmp_path, QDRANT_URL="http://127.0.0.1:1"):
            pass
    for language in ("en", "ja"):
        assert "QDRANT_URL" in caught.value.text(language)
        assert "pip install 'kotae[qdrant]'" in caught.value.text(language)


async def test_another_embedder_needs_the_documents_to_be_indexed_anew(tmp_path: Path) -> None:
    """Both homes' models are real; the second is asked for its size only when something is embedded."""
    async with application(tmp_path) as app:
        await app.knowledge.add(
            Upload("harbour.md", b"# Harbour\n\nShips moor at pier seven.\n", "docs", TEAM, "U1"), "en"
        )
    with pytest.raises(SettingsError) as caught:
        async with application(tmp_path, KOTAE_EMBEDDER="fastembed:BAAI/bge-small-en-v1.5"):
            pass
    assert "kotae reindex" in caught.value.text("en") and "kotae reindex" in caught.value.text("ja")


async def test_a_lost_store_is_built_anew(tmp_path: Path) -> None:
    async with application(tmp_path) as app:
        await app.knowledge.add(
            Upload("harbour.md", b"# Harbour\n\nShips moor at pier seven.\n", "docs", TEAM, "U1"), "en"
        )
    shutil.rmtree(tmp_path / "vectors")
    with pytest.raises(QdrantConnectionError, match="kotae reindex"):
        async with application(tmp_path):
            pass
    told: list[tuple[int, int]] = []
    async with running(begun(tmp_path), Redactor(), lambda done, total: told.append((done, total))) as app:
        found = await app.knowledge.search("Where do ships moor?", app.readers)
        assert [hit.passage.document for hit in found.hits] == ["harbour.md"]
    assert told[-1] == (1, 1)


async def test_a_home_has_one_owner_whatever_the_embedder(tmp_path: Path) -> None:
    async with application(tmp_path):
        for more in ({}, {"KOTAE_EMBEDDER": "fastembed:BAAI/bge-small-en-v1.5"}):
            with pytest.raises(QdrantConnectionError, match=str(tmp_path)):
                async with application(tmp_path, **more):
                    pass
    async with application(tmp_path) as again:
        assert isinstance(again.knowledge, KnowledgeBase)


async def test_looking_at_what_was_missed_counts_as_nobody_s_search(tmp_path: Path) -> None:
    async with application(tmp_path, KOTAE_MIN_RELEVANCE=0.1) as app:
        page = b"# Harbour\n\nShips moor at pier seven until midnight.\n"
        await app.knowledge.add(Upload("harbour.md", page, "docs", TEAM, "U1"), "en")
        assert (await answer(app, asked("How much is a ticket for the zoo?"))).outcome == "unknown"
        await app.knowledge.close()
        before = (await app.data.searches.totals()).searches
        (group,) = (await app.unanswered.groups(WantedQuestions(), app.readers)).groups
        nearest = await app.unanswered.nearest(group.questions[0].id, app.readers)
        assert nearest and nearest.now[0].passage.document == "harbour.md"
        await app.digest(app.readers)
        await app.knowledge.close()
        assert (await app.data.searches.totals()).searches == before > 0


async def test_a_question_that_is_taken_back_takes_its_own_searches_with_it_alone(tmp_path: Path) -> None:
    async with application(tmp_path) as app:
        await app.knowledge.add(
            Upload("harbour.md", b"# Harbour\n\nShips moor at pier seven.\n", "docs", TEAM, "U1"), "en"
        )
        private, other = asked("Where do ships moor?"), asked("Which pier is for ships?")
        await asyncio.gather(answer(app, private), answer(app, other), app.knowledge.search("pier", app.readers))
        await app.knowledge.close()
        found = {one.query for one in await app.data.searches.listed(app.readers.scopes)}
        assert await app.bot.turns.delete(private)
        left = {one.query for one in await app.data.searches.listed(app.readers.scopes)}
        assert found - left == {"Where do ships moor?"} and "pier" in left and len(left) >= 2


# -- questions nobody waits for -------------------------------------------------------------------------------------


async def test_a_question_taken_back_is_closed_and_is_no_miss(tmp_path: Path) -> None:
    async with application(tmp_path) as app:
        message = asked("Where is the harbour?", "thread")
        events = app.bot.turns.reply(message)
        await anext(events)
        await events.aclose()
        assert await app.bot.turns.unfinished(PLACE.platform) == [message]
        await app.bot.turns.withdraw(message)
        assert await app.bot.turns.unfinished(PLACE.platform) == []
        assert [event async for event in app.bot.turns.reply(message)] == []
        assert (await app.data.questions.open(app.readers.scopes)).total == 0
        assert await app.data.conversations.history(message.place, message.thread, app.readers) == ()
        totals = await app.data.conversations.totals()
        assert totals.outcomes == {"declined": 1}


async def test_a_running_question_can_be_taken_back_and_an_answered_one_cannot(tmp_path: Path) -> None:
    async with application(tmp_path) as app:
        done = asked("Where is the harbour?")
        first = await answer(app, done)
        await app.bot.turns.withdraw(done)
        kept = await app.data.conversations.get(first.turn)
        assert kept is not None and kept.answered.text == first.text
        running_one = asked("Where is the pier?")
        events = app.bot.turns.reply(running_one)
        await anext(events)
        await app.bot.turns.withdraw(running_one)
        rest = [event async for event in events]
        assert not any(isinstance(event, Answered) for event in rest)
        assert await app.bot.turns.unfinished(PLACE.platform) == []


async def test_a_start_inherits_at_once_what_a_dead_process_held(tmp_path: Path) -> None:
    async with application(tmp_path) as app:
        message = Incoming(PLACE, "t", "m", "U1", "Where is the harbour?", AUDIENCE)
        assert await app.bot.turns.claim(message) is not None
        assert await app.bot.turns.unfinished(PLACE.platform) == []  # held
        intake = IngestionRequest("", PLACE, "t", "U1", "documents", TEAM, "en", (FileRef("a.md", {}),))
        taken = await app.bot.ingestion.accept("m", intake)
        async with write(app.data.engine) as db:  # by a clock that was ahead
            for table in (turns, intakes):
                await db.execute(table.update().values(lease_until=datetime.now(UTC) + timedelta(minutes=10)))
    async with application(tmp_path) as app:
        assert await app.bot.turns.unfinished(PLACE.platform) == [message]
        assert await app.bot.ingestion.unfinished(PLACE.platform) == [taken]
        assert (await answer(app, message)).outcome == "unknown"
        assert await app.bot.turns.unfinished(PLACE.platform) == []


async def test_many_questions_at_once_are_each_answered_once(tmp_path: Path) -> None:
    async with application(tmp_path) as app:
        answers = await asyncio.gather(*(answer(app, asked(f"Where is pier {n}?", f"t{n % 4}")) for n in range(12)))
        assert {one.outcome for one in answers} == {"unknown"} and len({one.turn for one in answers}) == 12
