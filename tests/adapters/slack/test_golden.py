"""Whole threads as people see them, in Japanese and English."""

from pathlib import Path
from typing import Any

import pytest

from agent.events import Answered, Event, Thought, ToolCalled, ToolReturned
from retrieval.i18n import Language
from tests.adapters.fixed import SEARCH, TURNS, unsure
from tests.adapters.slack.stage import STATUS, STREAMS, staged
from tests.fakes.slack_world import Message

GOLDEN = Path(__file__).parent.parent.parent / "golden" / "slack"

UNKNOWN: dict[Language, tuple[Event, ...]] = {
    "ja": (
        Thought("駐車場の規程を探します。"),
        ToolCalled("1", SEARCH, {"query": "駐車場 申請"}),
        ToolReturned("1", SEARCH, "「駐車場 申請」に関連する情報はありません"),
        Answered(
            "情報が見つかりませんでした。\n\n検索したコレクション: handbook、faq", outcome="unknown", turn="turn-ja"
        ),
    ),
    "en": (
        Thought("Look for the rules on parking."),
        ToolCalled("1", SEARCH, {"query": "parking permit"}),
        ToolReturned("1", SEARCH, "Nothing relevant for “parking permit”"),
        Answered("I found nothing about that.\n\nI searched: handbook, faq", outcome="unknown", turn="turn-en"),
    ),
}
FAILED: dict[Language, tuple[Event, ...]] = {
    "ja": (
        Thought("駐車場の規程を探します。"),
        ToolCalled("1", SEARCH, {"query": "駐車場 申請"}),
        ToolReturned("1", SEARCH, "接続できません", failed=True),
        Answered("申し訳ありません。お答えできませんでした。（番号: 1234abcd）", outcome="failed", turn="turn-ja"),
    ),
    "en": (
        Thought("Look for the rules on parking."),
        ToolCalled("1", SEARCH, {"query": "parking permit"}),
        ToolReturned("1", SEARCH, "not reachable", failed=True),
        Answered("Sorry, I could not answer. (number: 1234abcd)", outcome="failed", turn="turn-en"),
    ),
}
_PLACES: dict[Language, str] = {
    "ja": "| 窓口 | 内線 |\n| --- | --- |\n| 総務部 | 1200 |\n| 経理部 | 1300 |",
    "en": "| desk | extension |\n| --- | --- |\n| office | 1200 |\n| accounts | 1300 |",
}
LONG: dict[Language, str] = {  # more than one message takes
    "ja": f"{_PLACES['ja']}\n\n"
    + "\n\n".join(
        f"## {n}. 申請の手順\n\n{'所属長の承認を得てから、申請書を総務部に提出します。' * 15}\n\n"
        "- 用紙は**総務部**にあります。\n- 期限は`毎月25日`です。"
        for n in range(1, 22)
    ),
    "en": f"{_PLACES['en']}\n\n"
    + "\n\n".join(
        f"## {n}. How to apply\n\n{'Have it approved, then hand in the form. ' * 9}\n\n"
        "- The **office** has the form.\n- It is due on the `25th`."
        for n in range(1, 22)
    ),
}


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize(
    ("name", "steps", "without"),
    [
        ("live", "live", ()),
        ("edits", "live", (STATUS, *STREAMS)),
        ("verbose", "verbose", ()),
        ("off", "off", ()),
        ("unknown", "live", ()),
        ("failed", "live", ()),
        ("long", "off", ()),
        ("unsure", "off", ()),
    ],
)
async def test_a_whole_thread(name: str, steps: Any, without: tuple[str, ...], language: Language) -> None:
    events = {"unknown": UNKNOWN[language], "failed": FAILED[language]}.get(name, TURNS[language])
    if name == "long":
        events = (Answered(LONG[language], turn="turn-long"),)
    elif name == "unsure":
        events = (unsure(language),)
    async with staged(without=without) as stage:
        await stage.play(events, steps, language)
        shown = "\n────\n".join(map(_seen, stage.replies)) + "\n"
    assert shown == (GOLDEN / f"{name}.{language}.txt").read_text(encoding="utf-8")


def _seen(message: Message) -> str:
    """What a reply says, where its links lead, and its buttons."""
    elements = [element for block in message.blocks for element in block.get("elements", ())]
    buttons = [
        f"[{element[side]['text']['text']}]"
        for element in elements
        for side in ("positive_button", "negative_button")
        if side in element
    ]
    return "\n".join([message.shown, *(f"→ {url}" for url in message.urls), *filter(None, [" ".join(buttons)])])
