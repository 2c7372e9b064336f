"""A digest in words: as a card that a platform draws, as plain text and Markdown in Japanese and English, and as JSON.

What people wrote is data on a card: one line, without control characters. Each platform escapes it as it does any text.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta, tzinfo
from typing import Any

from bot.records import Period
from bot.store.digests import Totals
from bot.texts import HIDDEN, NONE_OPEN, REASONS, complaints
from bot.types import Action, Card, CardRow, Link
from bot.unanswered.closing import Closing
from bot.unanswered.digest import LINKS, Closest, Digest, Group, MostAsked
from retrieval.i18n import Language, Text
from retrieval.loaders.sanitize import clean_line

QUESTION = 200  # characters of a question that are shown
NAME = 80  # of a document's name
MINUTES = 10  # that somebody spends on asking a colleague, and the colleague on answering: an assumption, and said
COMPLAINED, COMPLAINT = 3, 200  # complaints about a group's answers; characters of one
CLOSED, WORDING = 4, 50  # wordings that a card lists; characters of one

_TITLE = Text(en="Unanswered questions, {since} – {until}", ja="未回答の質問（{since} ～ {until}）")
_TOTALS = Text(
    en="{asked} asked, {answered} answered, {missed} missed ({trend})",
    ja="質問 {asked} 件、回答 {answered} 件、未解決 {missed} 件（{trend}）",
)
_MORE = Text(en="{n} more than the {time} before", ja="{time}より {n} 件増")
_FEWER = Text(en="{n} fewer than the {time} before", ja="{time}より {n} 件減")
_SAME = Text(en="as many as the {time} before", ja="{time}と同数")
_WEEK = Text(en="week", ja="前週")
_TIME = Text(en="time", ja="前の期間")
_BEFORE = Text(
    en="The {time} before: {asked} asked, {answered} answered, {missed} missed",
    ja="{time}: 質問 {asked} 件、回答 {answered} 件、未解決 {missed} 件",
)
_SAVED = Text(
    en="About {hours:.1f} hours of asking saved: {sure} answer{sure:|s} that nobody doubted, {minutes} minutes each",
    ja="問い合わせ約 {hours:.1f} 時間分を削減（疑問の出なかった回答 {sure} 件 × {minutes} 分）",
)
_MOST = Text(en="Asked most", ja="よく聞かれた質問")
_MOST_ASKED = Text(en="{text}: {times} times", ja="{text} {times} 回")
_REASON = Text(en="{reason} {n}", ja="{reason} {n} 件")
_RESOLVED = Text(en="resolved meanwhile {n}", ja="その後解決 {n} 件")
_COUNT = Text(en="asked {times:once|{times} times} by {askers} {askers:person|people}", ja="{times} 回、{askers} 人")
_PROGRAMS = Text(en="{n} program{n:|s}", ja="プログラム {n} 件")
_BY_PROGRAMS = Text(en="asked {times:once|{times} times} by {programs}", ja="{times} 回、{programs}")
_CLOSEST = Text(en="Closest: {documents}", ja="近い文書: {documents}")
_NOTHING_CLOSE = Text(en="Closest: no document", ja="近い文書: なし")
_DOCUMENT = Text(en="{name} ({collection}, {relevance:.2f})", ja="{name}（{collection}、{relevance:.2f}）")
_THREAD = Text(en="thread", ja="スレッド")
_REST = Text(
    en="and {questions} more question{questions:|s} in {groups} more group{groups:|s}",
    ja="ほかに {groups} グループ、{questions} 件",
)
_REST_ALONE = Text(en="and {questions} more question{questions:|s}", ja="ほかに {questions} 件")
_FOLLOWS = Text(en="It goes on from: “{text}”", ja="前の質問: 「{text}」")
_CLOSES = Text(en="An answer also closes: {questions}", ja="回答すると、次の質問も閉じます: {questions}")
_OTHERS = Text(
    en="An answer leaves these open: {questions}", ja="回答しても、次の質問は未回答のまま残ります: {questions}"
)
_QUOTED = Text(en="“{text}”", ja="「{text}」")
_AND_MORE = Text(en="and {n} more", ja="ほか {n} 件")
_STILL = Text(en="{n} question{n: is|s are} still open.", ja="未回答の質問が {n} 件残っています。")
_ANSWER = Text(en="Answer this", ja="回答する")
_DISMISS = Text(en="Dismiss", ja="回答せずに閉じる")
_COMMA = Text(en=", ", ja="、")
_TROUBLED = Text(en="Source “{name}”: {why}", ja="同期元「{name}」: {why}")
_LINK = re.compile(r"(?:https?://|/app/\?room=)[^\s<>]+")


def card(digest: Digest, language: Language, zone: tzinfo) -> Card:
    """The digest as it is posted; dates are those of `zone`. Nobody is named."""
    foot = []
    if digest.more_questions:
        rest = _REST if digest.more_groups else _REST_ALONE
        foot.append(rest.to(language, questions=digest.more_questions, groups=digest.more_groups))
    if digest.hidden:
        foot.append(HIDDEN.to(language, n=digest.hidden))
    if not digest.groups and not foot:
        foot.append(NONE_OPEN.to(language))
    foot += [
        _TROUBLED.to(language, name=shortened(name, NAME), why=shortened(why.to(language), QUESTION))
        for name, why in digest.troubled
    ]
    rows = [_row(number, group, language) for number, group in enumerate(digest.groups, start=1)]
    return Card(
        title=_TITLE.to(language, **_dates(digest.period, zone)),
        lines=tuple(_totals(digest, language)),
        rows=(*rows, *([_most_asked(digest.most, language)] if digest.most else [])),
        foot=tuple(foot),
    )


def plain(shown: Card) -> str:
    """For a terminal."""
    lines = [shown.title, *shown.lines]
    for row in shown.rows:
        lines += ["", row.text, *(f"   {under}" for under in (*row.details, *(one.url for one in row.web_links)))]
    return "\n".join((*lines, *(("", *shown.foot) if shown.foot else ())))


def as_json(digest: Digest) -> dict[str, Any]:
    """One document, as `kotae digest --json` prints it."""
    return {
        "since": digest.period.since.isoformat(),
        "until": digest.period.until.isoformat(),
        "totals": _totals_json(digest.totals),
        "before": _totals_json(digest.before),
        "groups": [
            {
                "question": group.question,
                "count": group.count,
                "askers": group.askers,
                "programs": group.programs,
                "reasons": dict(group.reasons),
                "documents": [asdict(one) for one in group.documents],
                "links": list(group.links),
                "ids": list(group.ids),
                "reference": group.reference,
                "closes": list(group.closes),
                "others": list(group.others),
                "complaints": [line for detail in group.details for line in detail.split("\n")],
            }
            for group in digest.groups
        ],
        "most_asked": [{"question": one.question, "count": one.count, "link": one.link} for one in digest.most],
        "minutes_saved": digest.totals.sure * MINUTES,
        "more_groups": digest.more_groups,
        "more_questions": digest.more_questions,
        "hidden": digest.hidden,
    }


def _totals_json(totals: Totals) -> dict[str, Any]:
    return {
        "asked": totals.asked,
        "answered": totals.answered,
        "missed": totals.missed,
        "resolved": totals.resolved,
        "reasons": dict(totals.reasons),
    }


def _dates(period: Period, zone: tzinfo) -> dict[str, str]:
    """The first and the last day in it."""
    last = period.until - timedelta(microseconds=1)
    return {"since": _date(period.since, zone), "until": _date(last, zone)}


def _date(moment: datetime, zone: tzinfo) -> str:
    return moment.astimezone(zone).date().isoformat()


def _totals(digest: Digest, language: Language) -> list[str]:
    totals = digest.totals
    parts = [
        _REASON.to(language, reason=said.to(language), n=totals.reasons[reason])
        for reason, said in REASONS.items()
        if totals.reasons.get(reason)
    ]
    if totals.resolved:
        parts.append(_RESOLVED.to(language, n=totals.resolved))
    first = _TOTALS.to(
        language,
        asked=totals.asked,
        answered=totals.answered,
        missed=totals.missed,
        trend=_trend(digest, language),
    )
    lines = [first, *([_COMMA.to(language).join(parts)] if parts else [])]
    before = digest.before
    if before.asked:
        numbers = {"asked": before.asked, "answered": before.answered, "missed": before.missed}
        lines.append(_BEFORE.to(language, time=_time(digest, language), **numbers))
    if totals.sure:
        hours = totals.sure * MINUTES / 60
        lines.append(_SAVED.to(language, hours=hours, sure=totals.sure, minutes=MINUTES))
    return lines


def _most_asked(most: Sequence[MostAsked], language: Language) -> CardRow:
    """Without a button: some of them are answered."""
    shown = [
        _MOST_ASKED.to(language, text=_QUOTED.to(language, text=shortened(one.question, QUESTION)), times=one.count)
        for one in most
    ]
    links = filter(None, (safe_link(one.link) for one in most))
    return CardRow(
        _MOST.to(language),
        tuple(shown),
        links=_threads(links, language),
        sources=tuple(" ".join(one.turns) for one in most),
    )


def _trend(digest: Digest, language: Language) -> str:
    change = digest.totals.missed - digest.before.missed
    said = _MORE if change > 0 else _FEWER if change < 0 else _SAME
    return said.to(language, n=abs(change), time=_time(digest, language))


def _time(digest: Digest, language: Language) -> str:
    days = round((digest.period.until - digest.period.since) / timedelta(days=1))
    return (_WEEK if days == 7 else _TIME).to(language)


def _row(number: int, group: Group, language: Language) -> CardRow:
    programs = _PROGRAMS.to(language, n=group.programs) if group.programs else ""
    if group.askers:
        counted = _COUNT.to(language, times=group.count, askers=group.askers)
        counted = _COMMA.to(language).join(filter(None, (counted, programs)))
    else:
        counted = _BY_PROGRAMS.to(language, times=group.count, programs=programs)
    reasons = (_REASON.to(language, reason=REASONS[reason].to(language), n=count) for reason, count in group.reasons)
    documents = _COMMA.to(language).join(_document(one, language) for one in group.documents)
    closest = _CLOSEST.to(language, documents=documents) if documents else _NOTHING_CLOSE.to(language)
    links = list(filter(None, map(safe_link, group.links)))
    before, words = follows(group.before, group.earlier, language)
    details = (*_complaints(group.details, language), *what_it_closes(group.closes, group.others, language))
    return CardRow(
        text=f"{number}. {shortened(group.question, QUESTION)}",
        details=(_COMMA.to(language).join((counted, *reasons)), *before, *details, closest),
        links=_threads(links, language),
        actions=offers(group.ids, group.reference, language),
        sources=("", *words, *[""] * len(details), " ".join(one.id for one in group.documents)),
    )


def _threads(urls: Iterable[str], language: Language) -> tuple[Link, ...]:
    return tuple(Link(f"{_THREAD.to(language)} {at}", url) for at, url in enumerate(urls, 1))


def remaining(before: CardRow, found: Closing, language: Language) -> CardRow:
    """The row of a group of which some were answered: what is still open, under the number that it had."""
    still = sorted((*found.closes, *found.others), key=lambda one: one.asked_at, reverse=True)
    links = list(dict.fromkeys(filter(None, (safe_link(one.link) for one in still))))[:LINKS]
    number, dot, _ = before.text.partition(". ")
    said = shortened(found.reference.question, QUESTION)
    earlier, words = follows(found.reference.before, found.reference.earlier, language)
    return CardRow(
        text=f"{number}. {said}" if dot and number.isdecimal() else said,
        details=(
            _STILL.to(language, n=len(still)),
            *earlier,
            *_complaints((one.detail for one in still), language),
            *what_it_closes(found.too, found.left, language),
        ),
        links=_threads(links, language),
        actions=offers(tuple(sorted(one.id for one in still)), found.reference.id, language),
        sources=("", *words),
    )


def follows(before: str, turns: Sequence[str], language: Language) -> tuple[list[str], list[str]]:
    """The line that says what a question goes on from, if it does, and for it the turns whose words it has: when one of
    them is taken back, it goes."""
    line = [_FOLLOWS.to(language, text=shortened(before, QUESTION))] if before else []
    return line, [" ".join(turns)] * len(line)


def _complaints(details: Iterable[str], language: Language) -> list[str]:
    """The words of people who voted an answer down."""
    said = list(dict.fromkeys(line for detail in details for line in complaints(detail, language)))
    shown = [f"👎 {shortened(line, COMPLAINT)}" for line in said[:COMPLAINED]]
    return [*shown, *([_AND_MORE.to(language, n=len(said) - len(shown))] if len(said) > len(shown) else [])]


def what_it_closes(closes: Sequence[str], others: Sequence[str], language: Language) -> list[str]:
    """In a line each, the other wordings that an answer closes and those that it leaves open, so far as there are
    any."""
    return [
        said.to(language, questions=_listed(texts, language))
        for said, texts in ((_CLOSES, closes), (_OTHERS, others))
        if texts
    ]


def _listed(texts: Sequence[str], language: Language) -> str:
    shown = [_QUOTED.to(language, text=shortened(text, WORDING)) for text in texts[:CLOSED]]
    if len(texts) > CLOSED:
        shown.append(_AND_MORE.to(language, n=len(texts) - CLOSED))
    return _COMMA.to(language).join(shown)


def offers(questions: tuple[int, ...], reference: int, language: Language) -> tuple[Action, ...]:
    """The buttons for open questions, by their ids, of which `reference` is the one that is answered."""
    answer = Action(_ANSWER.to(language), questions, reference=reference)
    return (answer, Action(_DISMISS.to(language), questions, "dismiss"))


def safe_link(url: str | None) -> str | None:
    """An address that a platform may link to: http or https, or a message of our rooms (`CardRow.web_links` is without
    those), and nothing in it that ends a link's markup."""
    return url.replace("(", "%28").replace(")", "%29") if url and _LINK.fullmatch(url) else None


def _document(one: Closest, language: Language) -> str:
    return _DOCUMENT.to(
        language,
        name=shortened(one.document, NAME),
        collection=shortened(one.collection, NAME),
        relevance=one.relevance,
    )


def shortened(text: str, longest: int) -> str:
    """People's text as one line of a card."""
    line = clean_line(text, longest + 1)
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
