"""The turn that made a search.

Why: who deletes a question took the searches with it that others made at the same time. Those that are there already
are given to the one turn that ran when they were made; where several ran, nobody can tell any more whose words they
are, so these go.
"""

from datetime import timedelta
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"

_AROUND = timedelta(seconds=2)  # a search is measured a moment after its turn has asked for it
_MOMENT = sa.DateTime(timezone=True)
_SEARCHES = sa.table(
    "searches", sa.column("id"), sa.column("query"), sa.column("turn"), sa.column("at", _MOMENT)
)  # as it is from here on
_TURNS = sa.table("turns", sa.column("id"), sa.column("claimed_at", _MOMENT), sa.column("finished_at", _MOMENT))


def upgrade() -> None:
    op.add_column("searches", sa.Column("turn", sa.String(length=32), nullable=True))
    op.create_index("ix_searches_turn", "searches", ["turn"])
    db = op.get_bind()
    coming = [*db.execute(sa.select(_TURNS).order_by(_TURNS.c.claimed_at.desc()))]
    running: list[sa.Row[Any]] = []
    for search in db.execute(sa.select(_SEARCHES.c.id, _SEARCHES.c.at).order_by(_SEARCHES.c.at)).all():
        while coming and coming[-1].claimed_at - _AROUND <= search.at:
            running.append(coming.pop())
        running = [one for one in running if (one.finished_at or one.claimed_at) + _AROUND >= search.at]
        if running:
            known = {"turn": running[0].id} if len(running) == 1 else {"query": ""}
            db.execute(sa.update(_SEARCHES).where(_SEARCHES.c.id == search.id).values(known))
