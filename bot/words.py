"""What people are told in several places: outcomes, reasons, refusals. Loads nothing of the database."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from retrieval.text import Said

if TYPE_CHECKING:
    from agent.events import Outcome
    from bot.store.questions import Reason

OUTCOMES: "Mapping[Outcome, Said]" = {
    "answered": Said(en="answered", ja="回答済み"),
    "unknown": Said(en="not found", ja="情報なし"),
    "declined": Said(en="declined", ja="対象外"),
    "failed": Said(en="outage", ja="障害"),
}
REASONS: "Mapping[Reason, Said]" = {
    "unknown": Said(en="not found", ja="情報なし"),
    "low_confidence": Said(en="unsure answer", ja="確信度の低い回答"),
    "reported": Said(en="reported", ja="報告あり"),
}
"""Of a miss."""

MEMBERS = Said(
    en="Only members of the team can answer or dismiss questions.",
    ja="質問に回答したり、質問を閉じたりできるのはチームのメンバーだけです。",
)
