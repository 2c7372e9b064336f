"""Conversations over the sample handbook with the model that needs no key, against their golden files."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from bot.app import Application, running
from bot.logs import Redactor
from tests.bot.sample_turns import CONVERSATIONS, FOLDER, conversation, settings


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def app(sample_home: Path) -> AsyncIterator[Application]:
    async with running(settings(sample_home), Redactor()) as made:
        yield made


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", CONVERSATIONS)
async def test_a_conversation_over_the_sample(app: Application, name: str) -> None:
    """`python -m tests.bot.sample_turns` writes the files anew."""
    golden = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    assert await conversation(app, CONVERSATIONS[name]) == golden


def test_the_golden_conversations_show_what_they_are_there_for() -> None:
    turns = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")}
    assert turns.keys() == CONVERSATIONS.keys()
    last = {name: conversation[-1]["events"] for name, conversation in turns.items()}
    cited = {name: [one["document"] for one in events[-1]["citations"]] for name, events in last.items()}
    assert any(name.startswith("ja/") for name in cited["japanese-page.en"])
    assert any(name.startswith("en/") for name in cited["english-page.ja"])
    assert all(part in last["two-parts.en"][-1]["text"] for part in ("three stages", "`hatoba rollback`"))
    assert "three stages" in last["follow-up.en"][-1]["text"]
    unknown = {name for name in last if name.startswith(("unknown", "new-question"))}
    assert {last[name][-1]["outcome"] for name in unknown} == {"unknown"}
    assert all(cited[name] for name in last.keys() - unknown)
