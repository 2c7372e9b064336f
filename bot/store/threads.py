"""The questions that stand before another one in its thread."""

from sqlalchemy import ColumnElement, FromClause, Label, and_, exists

from bot.store.schema import turns


def asked_before(question: FromClause) -> tuple[FromClause, ColumnElement[bool]]:
    """The turns that stand before one of `turns` (or of its alias) in its thread, to be joined with it or asked for."""
    earlier = turns.alias()
    same = (earlier.c[name] == question.c[name] for name in ("platform", "workspace", "channel", "thread"))
    return earlier, and_(*same, earlier.c.sequence < question.c.sequence)


def follows(question: FromClause) -> Label[bool]:
    """Whether something was asked before one of `turns` (or of its alias) in its thread."""
    _, before = asked_before(question)
    return exists().where(before).label("follows")
