"""Whole conversations over the sample handbook with the extractive model, as files to be read and reviewed:
`python -m tests.bot.sample_turns` writes them anew."""

import asyncio
import json
import sys
import tempfile
import uuid
from pathlib import Path
from typing import Any

from adapters.terminal.channel import AUDIENCE, PASSING
from bot.app import Application, running
from bot.config.settings import Settings
from bot.logs import Redactor
from bot.turns.event_json import as_json
from bot.types import Incoming
from tests.bot import databases

FOLDER = Path(__file__).parents[1] / "golden" / "sample"
# Another processor's rounding moves the cosines by .0015 (`retrieval/embeddings/bundled_e5_export.py`): questions whose
# answer it changes do not belong here.
CONVERSATIONS: dict[str, list[str]] = {
    "japanese.ja": ["出張の日当はいくらですか？"],
    "follow-up.ja": ["経費の締め切りはいつですか？", "それはいつ振り込まれますか？"],
    "follow-up.en": ["How many reviews does a change need?", "And how many stages has the rollout?"],
    "new-question.en": ["How many reviews does a change need?", "When does the ferry to the penguin island leave?"],
    "new-question.ja": ["夏季休暇は何日ですか？", "ペンギンの平均寿命は何年ですか？"],
    "until-when.ja": ["夏季休暇は何日ですか？", "それはいつまで？"],
    "japanese-page.en": ["What is the daily allowance for trips abroad?"],
    "english-page.ja": ["ノートパソコンは何年ごとに交換されますか？"],
    "two-parts.en": [
        "What is the command for a rollback of a release, and how many stages does the rollout of a release have?"
    ],
    "two-parts.ja": ["リモートワークは週何日までですか？あと、試用期間は何か月ですか？"],
    "unknown.en": ["What did the zoo in Reykjavik charge for a ticket in 1987?"],
    "unknown.ja": ["ペンギンの平均寿命は何年ですか？"],
}


def settings(home: Path, **more: Any) -> Settings:
    """Of nothing but these values and the environment's."""
    given: dict[str, Any] = {"KOTAE_HOME": home, "KOTAE_MODEL": "extractive", "_env_file": None, **more}
    return Settings(**given)


def begun(home: Path, **more: Any) -> Settings:
    """The same for a home that may begin with an empty database: one that is copied is there sooner."""
    databases.made(home / "kotae.db")
    return settings(home, **more)


async def conversation(app: Application, questions: list[str]) -> list[dict[str, Any]]:
    """The questions in one thread: each with all its events, without durations and scores, and of what a search finds
    the best."""
    thread, turns = uuid.uuid4().hex, []
    for question in questions:
        message = Incoming(PASSING, thread, uuid.uuid4().hex, "golden", question, AUDIENCE)
        events = [as_json(event) async for event in app.bot.turns.reply(message)]
        turns.append({"question": question, "events": [_steady(event) for event in events]})
    return turns


def _steady(event: dict[str, Any]) -> dict[str, Any]:
    event.pop("seconds", None)
    if "hits" in event:
        best = event["hits"][:1]  # how another processor rounds may change the order of those behind it
        event["hits"] = [f"{hit['document']}#{hit['chunk']}" for hit in best]
    return event


async def main() -> None:
    with tempfile.TemporaryDirectory() as home:
        async with running(settings(Path(home)), Redactor()) as app:
            await app.add_sample()
            for name, questions in CONVERSATIONS.items():
                written = json.dumps(await conversation(app, questions), ensure_ascii=False, indent=1) + "\n"
                await asyncio.to_thread((FOLDER / f"{name}.json").write_text, written, encoding="utf-8")
                print(written, file=sys.stderr)


if __name__ == "__main__":
    asyncio.run(main())
