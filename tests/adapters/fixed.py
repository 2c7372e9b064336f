"""A bot with a fixed turn in each language, and the terminal channel on it as a program:
`python -m tests.adapters.fixed chat|ask [--json] [--language ja] [--steps off]`."""

import argparse
import asyncio
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

from adapters.terminal.channel import Channel, ask_once
from agent.events import Answered, Citation, Drafted, Event, Events, Reflected, Thought, ToolCalled, ToolReturned
from bot.bot import Bot
from bot.config.settings import Settings
from bot.types import Actor, Audience, Feedback, Incoming, OpenQuestions, Place, Question, Upload, Verdict
from bot.unanswered.asking import NOW, AskReply
from retrieval.i18n import Language, Text
from retrieval.text import language_of
from retrieval.types import Hit, Passage

SEARCH = "search_rag_knowledge_base"


def hit(document: str, chunk: int, text: str, relevance: float, **more: Any) -> Hit:
    passage = Passage("handbook", f"id-{document}", document, chunk, text, "team", **more)
    return Hit(passage, {"dense": relevance, "fused": 1.0}, relevance)


PAID = hit(
    "休暇.md",
    2,
    "年次有給休暇は入社日に10日付与します。\n翌年4月に繰り越せるのは5日までです。",
    0.912,
    headings=("休暇", "有給休暇"),
)
CARRIED = hit("leave.md", 4, "Up to five days are carried over.", 0.55, url="https://wiki.example/leave_(2026)?a=1")
REFUNDS = hit("refunds [old].md", 3, "Refunds take 30 days.", 0.87, url="https://wiki.example/refunds")

TURNS: Mapping[Language, tuple[Event, ...]] = {
    "ja": (
        Thought("就業規則を\n調べます。"),
        ToolCalled("1", SEARCH, {"query": "有給休暇 日数", "collection_name": "handbook"}),
        ToolReturned("1", SEARCH, "「有給休暇 日数」で 2 件", (PAID, CARRIED)),
        ToolCalled("2", "list_rag_collections", {}),
        ToolReturned("2", "list_rag_collections", "接続できません", failed=True),
        Drafted("10日です。[1]"),
        Reflected("revise", "繰り越しにも触れます。"),
        Answered(
            "年次有給休暇は**入社日に10日**付与されます。[1] 繰り越しは5日までです。[2]",
            (
                Citation(1, "休暇.md", "handbook", 2, "年次有給休暇は入社日に10日付与します。", date="2026-04-01"),
                Citation(
                    2, "leave.md", "handbook", 4, "Up to five days are carried over.", CARRIED.passage.url, "2025-10"
                ),
            ),
            model="extractive",
            seconds=0.5,
            turn="turn-ja",
        ),
    ),
    "en": (
        Thought("Look it up."),
        ToolCalled("1", SEARCH, {"query": "refund duration"}),
        ToolReturned("1", SEARCH, "1 passage for “refund duration”", (REFUNDS,)),
        ToolCalled("2", SEARCH, {"query": "refund", "collection_name": "faq", "limit": 3}),
        ToolReturned("2", SEARCH, "Nothing relevant for “refund”"),
        Reflected("keep", ""),
        Answered(
            "Refunds take 30 days. [1]",
            (
                Citation(
                    1, "refunds [old].md", "handbook", 3, "Refunds take 30 days.", REFUNDS.passage.url, "2026-04-01"
                ),
            ),
            model="extractive",
            seconds=0.25,
            turn="turn-en",
        ),
    ),
}


def unsure(language: Language) -> Answered:
    """The turn's answer, as the bot gives it when it is not sure of it."""
    answered = TURNS[language][-1]
    assert isinstance(answered, Answered)
    return replace(answered, unsure=True)


@dataclass
class FixedTurns:
    """`Turns`: the turn of the question's language; “wait” waits for ever, “sure?” is answered unsurely, “evil” answers
    with what a terminal obeys."""

    asked: list[Incoming] = field(default_factory=list)

    async def reply(self, message: Incoming) -> Events:
        self.asked.append(message)
        if "wait" in message.text:
            yield Thought("Waiting.")
            # a signal that comes just before the loop falls asleep is looked at when it wakes up
            while True:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        if "evil" in message.text:
            yield Thought("\x1b[2J\x1b]0;owned\x07gone\u009b31m")
            yield Answered("\x1b[31mred\r\nline", outcome="unknown")
            return
        for event in TURNS[language_of(message.text)]:
            if isinstance(event, Answered) and "thread?" in message.text:
                same = sum(one.thread == message.thread for one in self.asked)
                event = replace(event, text=f"Question {same} of this thread.")
            if isinstance(event, Answered) and "sure?" in message.text:
                event = replace(event, unsure=True)
            yield event

    async def unfinished(self, platform: str) -> list[Incoming]:
        return []

    async def withdraw(self, message: Incoming) -> None:
        print(f"withdrawn {message.text!r}", file=sys.stderr)

    async def vote(self, feedback: Feedback) -> bool:
        print(f"voted {feedback.turn} {feedback.vote} {feedback.reason} {feedback.text!r}", file=sys.stderr)
        return feedback.turn in ("turn-ja", "turn-en")


class FixedIngestion:
    async def add(self, upload: Upload) -> Verdict:
        if upload.name.endswith(".msg"):
            return Verdict(upload.name, "refused", upload.collection, reason="It is a mail file.")
        return Verdict(upload.name, "added", upload.collection, "id", len(upload.data))


class FixedExperts:
    async def open(self, place: Place, audience: Audience) -> OpenQuestions:
        asked = datetime(2026, 11, 2, 3, 4, tzinfo=UTC)
        one = Question(1, "t", "駐車場は\nどこ？", "unknown", "", ("handbook",), 0.1, "team", None, asked, None)
        return OpenQuestions((one,), 1, 2)


class FixedAsking:
    """It is night for whoever could be asked."""

    async def ask(self, turn: str, actor: Actor, place: Place, audience: Audience, choice: str = "") -> AskReply:
        print(f"ask {turn} {actor.platform}:{actor.id} {place.channel} {choice!r}", file=sys.stderr)
        if choice == NOW:
            return AskReply(Text(en="I have asked Mika.", ja="美香 さんに質問を届けました。"))
        waits = Text(en="It is night for Mika.", ja="美香さんは夜間のため、朝まで待ちます。")
        return AskReply(waits, Text(en="Send it now", ja="今すぐ届ける"), NOW)


def fixed_bot() -> Bot:
    """As much of one as a terminal needs."""
    parts = {"turns": FixedTurns(), "ingestion": FixedIngestion(), "experts": FixedExperts(), "asking": FixedAsking()}
    return cast(Bot, SimpleNamespace(**parts))


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("what", choices=["chat", "ask"])
    options.add_argument("question", nargs="?", default="")
    options.add_argument("--json", action="store_true")
    options.add_argument("--language", default="en")
    options.add_argument("--steps", default="live")
    given = options.parse_args()
    chosen = Settings.model_validate({"_env_file": None, "KOTAE_LANGUAGE": given.language, "KOTAE_STEPS": given.steps})
    if given.what == "chat":
        return asyncio.run(Channel(chosen, as_json=given.json).run(fixed_bot()))
    print(asyncio.run(ask_once(FixedTurns(), given.question, chosen, as_json=given.json)), file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
