"""Questions to begin with, from what people have asked."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from sqlalchemy.ext.asyncio import AsyncEngine

from agent.events import Answered, Citation, ToolReturned
from bot.records import DocumentRow
from bot.store.conversations import Conversations
from bot.store.documents import Documents
from bot.store.turns import TurnStore
from bot.store.vector_stores import VectorStores
from bot.turns.suggestions import LONGEST, AskedBy, suggested
from bot.turns.trace import Recording
from bot.types import Audience, Incoming, Place, Visibility
from retrieval.types import TEAM, Hit, Passage

NOW = datetime(2026, 11, 23, tzinfo=UTC)


def test_what_most_people_asked_comes_first_then_the_latest_each_once() -> None:
    asked = [
        AskedBy("Who pays?", "U1"),
        AskedBy("How long do refunds take?", "U1"),
        AskedBy("how long do refunds take", "U2"),
        AskedBy("Where is the key?", "U1"),
        AskedBy("Where is the key?", "U1"),
        AskedBy("経費の締切は？", "U3"),
        AskedBy("x" * (LONGEST + 1), "U4"),
        AskedBy("?", "U4"),
    ]
    assert suggested(asked, "en", 2) == ["How long do refunds take?", "Who pays?"]
    assert suggested(asked, "en", 9)[2:] == ["Where is the key?"]
    assert suggested(asked, "ja", 3) == ["経費の締切は？"]


def stored(id: str, scope: str) -> DocumentRow:
    return DocumentRow(id * 32, "docs", scope, f"{id}.md", id, None, "h", "m", 1, "en", "U1", 1, NOW, NOW)


async def test_only_public_questions_with_a_sure_answer_from_the_team_s_documents_are_suggested(
    engine: AsyncEngine,
) -> None:
    rows = TurnStore(engine)
    await VectorStores(engine).open("e5", 384, "t1")
    documents = Documents(engine, "e5")
    await documents.commit(stored("d", TEAM), generation=1)
    await documents.commit(stored("f", "thread:slack:T1:C1:1"), generation=2)
    cited = (Citation(1, "a.md", "docs", 0, "text", document_id="d" * 32),)

    async def asked(
        text: str,
        answer: Answered,
        seen: Visibility = "public",
        platform: str = "slack",
        source: str = "d",
        thread: str = "",
    ) -> None:
        hit = Hit(Passage("docs", source * 32, "a.md", 0, "text", TEAM), {}, 0.9)
        place = Place(platform, "T1", "C1")
        message = Incoming(place, thread or text, text, "U1", text, Audience(seen))
        claimed = (await rows.claim({text: message}, owner="me", now=NOW, until=NOW + timedelta(1)))[text]
        await rows.start(claimed, owner="me", now=NOW)
        recording = Recording()
        for event in (ToolReturned("1", "search", "1", (hit,)), answer):
            recording.add(event)
        await rows.finish(claimed, answer, owner="me", steps=recording.steps, misses=(), now=NOW)
        await rows.shown(claimed.id, owner="me", now=NOW)

    sure = Answered("Text. [1]", cited)
    await asked("public", sure)
    await asked("private", sure, "private")
    await asked("outsiders", sure, "outsiders")
    await asked("terminal", sure, platform="terminal")
    await asked("unsure", Answered("Text. [1]", cited, unsure=True))
    await asked("unknown", Answered("Nothing.", outcome="unknown"))
    await asked("hello", Answered("Hello!"))
    of_a_file = (replace(cited[0], document_id="f" * 32),)
    await asked("of a file that came with it", Answered("Text. [1]", of_a_file), source="f")
    await asked("what about Osaka?", sure, thread="public")
    assert await Conversations(engine).answered_publicly(limit=9) == [("public", "U1")]
    assert await Conversations(engine).answered_publicly(limit=0) == []
    await documents.forget("d" * 32, generation=3)
    assert await Conversations(engine).answered_publicly(limit=9) == []
