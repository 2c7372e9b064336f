"""What people are told in several places: outcomes, reasons, refusals, and in which language. Loads nothing of the
database."""

import re
from collections.abc import Iterable, Mapping

from agent.events import Outcome
from bot.records import MissState
from bot.types import Incoming, MissReason
from retrieval.text import Language, Said, language_of

OUTCOMES: Mapping[Outcome, Said] = {
    "answered": Said(en="answered", ja="回答済み"),
    "unknown": Said(en="not found", ja="情報なし"),
    "declined": Said(en="declined", ja="対象外"),
    "failed": Said(en="outage", ja="障害"),
}
REASONS: Mapping[MissReason, Said] = {
    "reported": Said(en="reported", ja="報告あり"),
    "unknown": Said(en="not found", ja="情報なし"),
    "low_confidence": Said(en="unsure answer", ja="確信度の低い回答"),
}
"""Of a miss."""

STATES: Mapping[MissState, Said] = {
    "open": Said(en="open", ja="未回答"),
    "closed": Said(en="answered", ja="回答済み"),
    "dismissed": Said(en="dismissed", ja="回答せずに終了"),
    "all": Said(en="all", ja="すべて"),
}
NONE_OPEN = Said(en="No open questions. 🎉", ja="未回答の質問はありません 🎉")
HIDDEN = Said(en="and {n} asked in private places", ja="ほかに非公開の場所で {n} 件")
MEMBERS = Said(
    en="Only members of the team can answer or dismiss questions.",
    ja="質問に回答したり、質問を閉じたりできるのはチームのメンバーだけです。",
)

_LETTER = re.compile(r"[^\W\d_]")


def reply_language(message: Incoming, otherwise: Language, earlier: Iterable[str] = ()) -> Language:
    """Of what is said to an asker: that which was chosen, else the question's own, else that of the `earlier` ones."""
    if message.language is not None:
        return message.language
    return next((language_of(text) for text in (message.text, *earlier) if _LETTER.search(text)), otherwise)
