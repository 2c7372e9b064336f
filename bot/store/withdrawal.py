"""Answers, steps and cards with the words of a document which is forgotten, or which fewer people may read: those words
go, and what was posted is put in order by whoever serves the platform (`bot.turns`, `adapters/shared/recovery.py`).

Source: product.md §3 ("forgotten is gone from every search at once"); reliability.md R11 and R61.
"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict
from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, Select, delete, exists, null, or_, select, update

from agent.events import Answered
from agent.routing.router import question_in
from bot.access import readers
from bot.store.conversations import answered, changes_json, incoming
from bot.store.outbox import is_row_of
from bot.store.schema import answers, messages, notices, posts, questions, sources, traces, turns
from bot.store.searches import withdraw_queries
from bot.store.traces import scrub
from bot.turns.withdrawal import without
from bot.types import Incoming
from retrieval.text import language_of

StillRead = Callable[[frozenset[str]], bool]
"""Whether readers of these scopes may read it all the same."""

QUOTED = 60  # characters of a question by whose beginning or end it is known in a step
AT_ONCE = 500  # turns: a statement takes no more ids than that


def withdraw(
    db: Connection, documents: Mapping[str, str], now: datetime, still_read: StillRead = lambda scopes: False
) -> None:
    """Inside the transaction that takes these documents (names by id) from their readers, or from some of them."""
    found = select(turns).where(turns.c.id.in_(select(sources.c.turn).where(sources.c.document.in_(documents))))
    touched = _no_longer_read(db, found, still_read)
    for at in range(0, len(touched), AT_ONCE):
        withdraw_from(db, touched[at : at + AT_ONCE], documents, now)
    closed = select(turns).join(questions, questions.c.turn == turns.c.id).where(questions.c.answer.in_(documents))
    for turn in _no_longer_read(db, closed, still_read):
        take_notices_back(db, turn, now, of_page=False)
    strip(db, documents.keys())


def _no_longer_read(db: Connection, found: Select[Any], still_read: StillRead) -> list[str]:
    """Of these turns those whose readers may not read it any more."""
    asked = ((row.id, incoming(row)) for row in db.execute(found))
    return [turn for turn, one in asked if not still_read(_scopes(one))]


def withdraw_from(db: Connection, some: Sequence[str], documents: Mapping[str, str], now: datetime) -> None:
    """Inside the caller's transaction: take these documents (names by id) from turns, AT_ONCE at most, whose readers
    may not read them any more. What was posted is shown again in the same place by whoever serves its platform."""
    ran = hold_turns(db, some)
    scrub(db, documents, some)
    withdraw_queries(db, ran)
    _redact_all(db, documents, some, now)
    for turn in empty_steps(db, some):
        show_again(db, turn, now)


def hold_turns(db: Connection, some: Collection[str] | Select[Any]) -> Sequence[Row[Any]]:
    """These turns, until the caller's transaction ends. Whoever changes what came of turns holds them first, in one
    order: so nothing is overwritten that another process has committed meanwhile, and no two wait for each other."""
    return db.execute(select(turns).where(turns.c.id.in_(some)).order_by(turns.c.sequence).with_for_update()).all()


def _scopes(asked: Incoming) -> frozenset[str]:
    return frozenset(readers(asked.place, asked.audience, asked.thread).scopes)


def empty_steps(db: Connection, some: Collection[str]) -> set[str]:
    """Steps name what was found, and thoughts may quote it: what is posted of them counts as a message that waited for
    steps which never came, so the view of its platform takes it away when the answer is shown again. Returns the turns
    that had steps."""
    of_turns = (posts.c.kind == "steps") & posts.c.about.in_(some)
    emptied = update(posts).where(of_turns).values(data={"placeholder": True}).returning(posts.c.about)
    found = {*db.scalars(emptied)}
    of_rooms = (messages.c.kind == "steps") & messages.c.about.in_(some)
    for row in db.execute(select(messages.c.id, messages.c.about, messages.c.data).where(of_rooms)).all():
        left = {name: value for name, value in row.data.items() if name != "summary"} | {"lines": []}
        db.execute(update(messages).where(messages.c.id == row.id).values(text="", data=left))
        found.add(row.about)
    return found


def unquote(db: Connection, question: Row[Any], now: datetime) -> None:
    """Inside the transaction that takes a question (its row) back: the questions after it in its thread that lean on it
    were searched with its words. Those go from their traces and from the log of searches, and their steps go."""
    said = {" ".join(text.split()) for text in (question.text, question_in(question.text)) if text.strip()}
    if not said:
        return
    ends = {end for text in said for end in (text[:QUOTED], text[-QUOTED:])}
    quotes = or_(*(traces.c.event.contains(json.dumps(end, ensure_ascii=False)[1:-1], autoescape=True) for end in ends))
    after = (turns.c[name] == getattr(question, name) for name in ("platform", "workspace", "channel", "thread"))
    quoting = exists().where(traces.c.turn == turns.c.id, quotes)
    wanted = select(turns.c.id, turns.c.text)
    found = db.execute(wanted.where(*after, turns.c.sequence > question.sequence, quoting)).all()
    if found:
        later = [row.id for row in found]
        hold_turns(db, later)
        db.execute(update(traces).where(traces.c.turn.in_(later), quotes).values(event=null()))
        withdraw_queries(db, found)
        for turn in empty_steps(db, later):
            show_again(db, turn, now)


def _redact_all(db: Connection, documents: Mapping[str, str], some: Sequence[str], now: datetime) -> None:
    cited = select(sources.c.turn, sources.c.document).where(sources.c.document.in_(documents), sources.c.cited)
    quoted: dict[str, Mapping[str, str]] = {}
    for row in db.execute(cited.where(sources.c.turn.in_(some))).all():
        quoted[row.turn] = {**quoted.get(row.turn, {}), row.document: documents[row.document]}
    missed = select(answers.c.turn).where(answers.c.turn.in_(some), answers.c.outcome == "unknown")
    quoted |= dict.fromkeys(db.scalars(missed), documents)
    for turn, theirs in quoted.items():
        _redact(db, turn, theirs, now)


def _redact(db: Connection, turn: str, documents: Mapping[str, str], now: datetime) -> None:
    """Inside the caller's transaction: an answer without these documents (names by id). One that was posted counts as
    one that is stored and not shown yet: whoever serves its platform shows it again, in the same place."""
    row = db.execute(
        select(turns, answers).join(answers, answers.c.turn == turns.c.id).where(turns.c.id == turn)
    ).first()
    if row is None:
        return
    db.execute(delete(notices).where(notices.c.turn == turn, notices.c.of_page.is_(True)))  # it names pages
    take_notices_back(db, turn, now, of_page=True)
    before, asked = answered(row), incoming(row)
    after = without(before, documents, asked.language or language_of(asked.text))
    if after is before:
        return
    rewrite(db, turn, after, now)


def take_notices_back(db: Connection, turn: str, now: datetime, *, of_page: bool | None = None) -> None:
    """Inside the caller's transaction: the notices of a turn are taken away as empty steps are. `of_page`: only those
    of pages, or only those of experts' answers."""
    said, told = (
        [
            row
            for row in db.execute(select(table).where(table.c.about == turn, table.c.kind == "notice")).all()
            if of_page is None or bool(row.data.get("of_page")) is of_page
        ]
        for table in (posts, messages)
    )
    for row in said:
        db.execute(update(posts).where(is_row_of(row)).values(data={**row.data, "placeholder": True}))
    for row in told:
        db.execute(update(messages).where(messages.c.id == row.id).values(text="", data={}, deleted_at=now))
    if said or told:
        show_again(db, turn, now)


def rewrite(db: Connection, turn: str, answer: Answered, now: datetime) -> None:
    """Inside the caller's transaction: an answer in other words. One that was posted is shown again where it stands."""
    citations = [asdict(citation) for citation in answer.citations]
    values = {"text": answer.text, "citations": citations, "changes": changes_json(answer.changes)}
    db.execute(update(answers).where(answers.c.turn == turn).values(values))
    show_again(db, turn, now)


def show_again(db: Connection, turn: str, now: datetime, *, due: bool = False) -> None:
    """One that is being shown at this moment is shown once more afterwards (`TurnStore.shown`). `due`: it was put off,
    maybe before anything of it was posted."""
    showing = exists().where(turns.c.id == turn, turns.c.state == "answered")
    db.execute(update(answers).where(answers.c.turn == turn, showing).values(show_at=now))
    again = {"state": "answered", "owner": None, "lease_until": now, "attempts": 0}
    ended = update(turns).where(turns.c.id == turn, turns.c.state == "done")
    db.execute((ended if due else ended.where(posted(turn))).values(again))


def posted(turn: Any) -> ColumnElement[bool]:
    """Whether something of a turn (an id, or a column of them) stands on a platform."""
    return or_(exists().where(posts.c.about == turn), exists().where(messages.c.about == turn))


def strip(db: Connection, gone: AbstractSet[str]) -> None:
    """Inside the caller's transaction: the lines of cards go that quote or name one of these documents, or have the
    words of one of these turns; the cards are drawn anew."""
    quoting = select(posts).where(posts.c.kind == "card", posts.c.data["row"]["sources"].as_string().is_not(None))
    for card in db.execute(quoting).all():
        row: dict[str, Any] = dict(card.data["row"])
        marked = list(zip(row["details"], row["sources"], strict=False))  # older cards lost their lines alone
        kept = [(line, source) for line, source in marked if gone.isdisjoint(source.split())]
        if len(kept) < len(marked):
            row |= {"details": [line for line, _ in kept], "sources": [source for _, source in kept]}
            data = {**card.data, "row": row, "stale": True}
            db.execute(update(posts).where(is_row_of(card)).values(data=data))
