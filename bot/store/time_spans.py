"""Stretches of time as a table, so that what falls into each is counted by the database, found by an index of
moments."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime

from sqlalchemy import CTE, ColumnElement, Date, case, column, func, values

from bot.store.schema import Moment


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A day or week of a time zone, by its first day: from `since` up to, but not including, `until`."""

    day: date
    since: datetime
    until: datetime


def table(spans: Sequence[TimeSpan]) -> CTE:
    """Columns `day`, `since` and `until`; at least one row."""
    bounds = values(column("day", Date), column("since", Moment), column("until", Moment), name="bounds")
    return bounds.data([(one.day, one.since, one.until) for one in spans]).cte("spans")


def of(spans: CTE, at: ColumnElement[datetime]) -> ColumnElement[bool]:
    """Joins rows by the moment `at` to their span."""
    return (at >= spans.c.since) & (at < spans.c.until)


def within(at: ColumnElement[datetime], spans: Sequence[TimeSpan]) -> ColumnElement[bool]:
    """From the first of spans in a row to the last."""
    return (at >= spans[0].since) & (at < spans[-1].until)


def count(condition: ColumnElement[bool]) -> ColumnElement[int]:
    """How many rows it holds for; 0 of none."""
    return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)
