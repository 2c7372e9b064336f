"""Whole threads as people see them, in Japanese and English."""

from pathlib import Path

import pytest

from agent.events import Answered, Event, Thought, ToolCalled, ToolReturned
from retrieval.i18n import Language
from tests.adapters.discord.stage import staged
from tests.adapters.fixed import SEARCH, TURNS, unsure
from tests.fakes.discord_world import Message

GOLDEN = Path(__file__).parent.parent.parent / "golden" / "discord"

UNKNOWN: dict[Language, tuple[Event, ...]] = {
    "ja": (
        Thought("駐車場の規程を探します。"),
        ToolCalled("1", SEARCH, {"query": "駐車場 申請"}),
        ToolReturned("1", SEARCH, "「駐車場 申請」に関連する情報はありません"),
        Answered("情報が見つかりませんでした。\n\n検索したコレクション: handbook、faq", outcome="unknown"),
    ),
    "en": (
        Thought("Look for the rules on parking."),
        ToolCalled("1", SEARCH, {"query": "parking permit"}),
        ToolReturned("1", SEARCH, "not reachable", failed=True),
        Answered("Sorry, I could not answer. (number: 1234abcd)", outcome="failed"),
    ),
}
RICH: dict[Language, str] = {
    "ja": """## 返金の期限

| 種別 | 日数 | 備考 |
|:-----|-----:|------|
| **通常** | 30 | `返品`後 [1] |
| 海外 | 60 | 税関で遅れることがあります |

1) 申請書を書く
2) 所属長の**「承認」**を得る
   + 写しを残す

#### 注意
> 期限を過ぎると__無効__です。
""",
    "en": """Refunds
=======

* [x] paid by card
* [ ] paid by *voucher* (see user_guide.md)

~~~python title="x"
print("```")
~~~

| Case | Where |
|------|-------|
| Abroad | [customs](https://customs.example/a_b) |

***
![logo](https://elsewhere.example/x.png) ||secret|| @everyone
""",
}


@pytest.mark.parametrize("language", ["ja", "en"])
@pytest.mark.parametrize(
    ("name", "steps"),
    [("live", "live"), ("verbose", "verbose"), ("off", "off"), ("unknown", "live"), ("rich", "off"), ("unsure", "off")],
)
async def test_a_thread_reads_as_it_should(name: str, steps: str, language: Language) -> None:
    events = UNKNOWN[language] if name == "unknown" else TURNS[language]
    if name == "rich":
        events = (Answered(RICH[language]),)
    elif name == "unsure":
        events = (unsure(language),)
    async with staged() as stage:
        await stage.play(events, steps, language)  # type: ignore[arg-type]
        title = stage.fake.place(stage.asked).name
        shown = "\n────\n".join([f"# {title}", *map(_seen, stage.replies)]) + "\n"
    assert shown == (GOLDEN / f"{name}.{language}.txt").read_text(encoding="utf-8")


def _seen(message: Message) -> str:
    """What a message says as it was written, where its links lead, and its buttons."""
    buttons = " ".join(f"[{label}]" for label in message.buttons.values())
    return "\n".join([message.content, *(f"→ {url}" for url in message.urls), *filter(None, [buttons])])
