"""Texts that people are told in several places: outcomes, reasons, refusals, and in which language. Loads nothing of
the database."""

import re
from collections.abc import Iterable, Mapping

from agent.events import Outcome
from bot.records import MissState
from bot.types import Complaint, Incoming, MissReason
from retrieval.i18n import Language, Text
from retrieval.text import language_of

OUTCOMES: Mapping[Outcome, Text] = {
    "answered": Text(en="answered", ja="回答済み"),
    "unknown": Text(en="not found", ja="情報なし"),
    "declined": Text(en="declined", ja="対象外"),
    "failed": Text(en="outage", ja="障害"),
}
REASONS: Mapping[MissReason, Text] = {
    "reported": Text(en="reported", ja="報告あり"),
    "unknown": Text(en="not found", ja="情報なし"),
    "low_confidence": Text(en="unsure answer", ja="確信度の低い回答"),
}
"""Of a miss."""

COMPLAINTS: Mapping[Complaint, Text] = {
    "wrong": Text(en="It is wrong", ja="間違っている"),
    "outdated": Text(en="It is outdated", ja="情報が古い"),
    "incomplete": Text(en="Something is missing", ja="情報が足りない"),
    "wrong_source": Text(en="The source does not fit", ja="出典が合っていない"),
}
"""Of a thumbs-down."""

STATES: Mapping[MissState, Text] = {
    "open": Text(en="open", ja="未回答"),
    "closed": Text(en="answered", ja="回答済み"),
    "dismissed": Text(en="dismissed", ja="回答せずに終了"),
    "all": Text(en="all", ja="すべて"),
}
NONE_OPEN = Text(en="No open questions. 🎉", ja="未回答の質問はありません 🎉")
HIDDEN = Text(en="and {n} asked in private places", ja="ほかに非公開の場所で {n} 件")
MEMBERS = Text(
    en="Only members of the team can answer or dismiss questions.",
    ja="質問に回答したり、質問を閉じたりできるのはチームのメンバーだけです。",
)


def complaints(detail: str, language: Language) -> list[str]:
    """The complaints about an answer, as a reported miss keeps them, a line each: the reason in the reader's language,
    people's own words as they are. Nobody is named."""
    lines = []
    for line in filter(None, detail.split("\n")):
        reason, colon, words = line.partition(": ")
        said = next((said.to(language) for name, said in COMPLAINTS.items() if name == reason), reason)
        lines.append(f"{said}{colon}{words}")
    return lines


_LETTER = re.compile(r"[^\W\d_]")


def reply_language(message: Incoming, otherwise: Language, earlier: Iterable[str] = ()) -> Language:
    """Of what is said to an asker: that which was chosen, else the question's own, else that of the `earlier` ones."""
    if message.language is not None:
        return message.language
    return next((language_of(text) for text in (message.text, *earlier) if _LETTER.search(text)), otherwise)
