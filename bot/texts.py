"""Texts that people are told in several places: outcomes, reasons, refusals, and in which language. Loads nothing of
the database."""

import re
from collections.abc import Iterable, Mapping

from agent.events import Outcome, PageChange
from agent.links import scrubbed
from agent.routing.router import route
from bot.records import MissState
from bot.types import Complaint, Incoming, MissReason
from retrieval.i18n import Language, Text, date_words
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

TURN_OUTCOMES: Mapping[str, Text] = {"answered": OUTCOMES["answered"], "unsure": REASONS["low_confidence"]} | {
    str(name): said for name, said in OUTCOMES.items() if name != "answered"
}
"""Of a turn, as measurements count them: an unsure answer apart."""

COMPLAINTS: Mapping[Complaint, Text] = {
    "wrong": Text(en="It is wrong", ja="間違っている"),
    "outdated": Text(en="It is outdated", ja="情報が古い"),
    "incomplete": Text(en="Something is missing", ja="情報が足りない"),
    "wrong_source": Text(en="The source does not fit", ja="出典が合っていない"),
}
"""Of a thumbs-down."""

SYNCED = Text(
    en="{name}: {pages} page{pages:|s}; added {added}, replaced {replaced}, renamed {renamed}, removed {removed}.",
    ja="{name}: {pages} ページ（追加 {added}、更新 {replaced}、名前の変更 {renamed}、削除 {removed}）",
)
MANY_GONE = Text(
    en="“{name}”: {gone} pages were gone at once; none of their documents was removed.",
    ja="「{name}」で {gone} ページが一度になくなりました。文書はまだ削除していません。",
)
_IF_MEANT = Text(
    en="If that is meant: kotae source resume {name} --forget; to keep their documents: --keep",
    ja="削除してよければ kotae source resume {name} --forget、残す場合は --keep を実行してください。",
)
_IF_MEANT_IN_CHANNEL = Text(
    en="If that is meant: kotae source resume {name} --forget",
    ja="削除してよければ kotae source resume {name} --forget を実行してください。",
)
"""Of a source."""

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


def if_meant(kind: str) -> Text:
    """How to say that what is gone from a source of this kind is meant to be: a channel's threads cannot be kept."""
    return _IF_MEANT_IN_CHANNEL if kind == "channel" else _IF_MEANT


def complaints(detail: str, language: Language) -> list[str]:
    """The complaints about an answer, as a reported miss keeps them, a line each: the reason in the reader's language,
    people's own words as they are. Nobody is named."""
    lines = []
    for line in filter(None, detail.split("\n")):
        reason, colon, words = line.partition(": ")
        said = next((said.to(language) for name, said in COMPLAINTS.items() if name == reason), reason)
        lines.append(f"{said}{colon}{words}")
    return lines


_REMOVED = Text(
    en="⚠ {date}: the page this rests on was removed: {page}",
    ja="⚠ {date}：この回答のもとになったページは削除されました: {page}",
)
_FIGURES = Text(
    en="⚠ {date}: {page} now says {now}; it said {was}.",
    ja="⚠ {date}：{page} の記載が「{was}」から「{now}」に変わりました。",
)
_SENTENCE = Text(
    en="⚠ {date}: {page} has changed and now says: “{now}”",
    ja="⚠ {date}：{page} の記載が変わりました。現在の記載:「{now}」",
)
_NOTHING = Text(
    en="⚠ {date}: {page} has changed and does not say this any more: “{said}”",
    ja="⚠ {date}：{page} が更新され、次の記載はなくなりました:「{said}」",
)
_SEE_ABOVE = Text(
    en="{page}: what has changed stands on top of the answer.", ja="{page}（変更点は回答の先頭に表示しています）"
)
_MARKUP = re.compile(r"[*`|]+|^[#>\s]+")
_SPECIAL = re.compile(r"([\[\]\\<])")
_WEB = re.compile(r"https?://[^\s<>]+")


def changes_text(changes: Iterable[PageChange], language: Language) -> str:
    """The changes of pages that an answer rests on, in Markdown, a line each page. Only the page is linked, and words
    of a page have no markup of their own."""
    return "\n\n".join(_change(change, language) for change in _first(changes))


def changed_pages_text(changes: Iterable[PageChange], language: Language) -> str:
    """The pages alone: what they say stands in the answer only, from where it can be withdrawn."""
    return "\n\n".join(_SEE_ABOVE.to(language, page=_page(change)) for change in _first(changes))


def _first(changes: Iterable[PageChange]) -> Iterable[PageChange]:
    """One of each page."""
    first: dict[str, PageChange] = {}
    for change in changes:
        first.setdefault(change.document, change)
    return first.values()


def _page(change: PageChange) -> str:
    page = _plain(change.title or change.document)
    if change.url and _WEB.fullmatch(change.url):
        return f"[{page}]({change.url.replace('(', '%28').replace(')', '%29')})"
    return page


def _change(change: PageChange, language: Language) -> str:
    said = _REMOVED if change.removed else _FIGURES if change.was else _SENTENCE if change.now else _NOTHING
    words = {name: _plain(text) for name, text in (("was", change.was), ("now", change.now), ("said", change.said))}
    return said.to(language, date=date_words(change.on, language), page=_page(change), **words)


def _plain(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", scrubbed(_MARKUP.sub("", " ".join(text.split())), (), gap="…"))


_LETTER = re.compile(r"[^\W\d_]")
# Of both, what cannot be a part of another match is given up at once: whatever people paste takes linear time.
_NAME = re.compile(r"\W*+(?!(?:who|what|when|where|why|which|how|yes|no)\b)[A-Za-z][\w.+#-]*+\W*", re.IGNORECASE)
_QUOTED = re.compile(r"```.*?(?:```|\Z)|^[>＞][^\n]*|「[^「」]*」|“[^“”]*”|\"[^\"\n]*\"", re.DOTALL | re.MULTILINE)


def in_words(text: str) -> bool:
    """Whether it has a language: not what is only a name or a code in Latin letters ("VPN?", "E-4071"), which people
    write in either."""
    named = language_of(text) == "en" and _NAME.fullmatch(text) is not None
    return _LETTER.search(text) is not None and not (named and route(text).search)


def asker_language(text: str) -> Language:
    """Of what somebody writes, which may be another than that of what they quote or paste."""
    own = _QUOTED.sub(" ", text)
    return language_of(own if in_words(own) else text)


def reply_language(message: Incoming, otherwise: Language, earlier: Iterable[str] = ()) -> Language:
    """Of what is said to an asker: that which was chosen, else the question's own, else that of the `earlier` ones."""
    if message.language is not None:
        return message.language
    return next((asker_language(text) for text in (message.text, *earlier) if in_words(text)), otherwise)
