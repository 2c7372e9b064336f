"""More than one process on one database.

Why: processes that share a database take turns in committing what searches see, know of each other, and finish what one
of them left undone when it died.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("indexes", sa.Column("committer", sa.String(length=80), nullable=True))
    op.create_table(
        "moves",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("source", sa.String(length=80), nullable=False),
        sa.Column("into", sa.String(length=80), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_moves"),
    )
    op.create_table(
        "processes",
        sa.Column("id", sa.String(length=80), nullable=False),
        sa.Column("embedded", sa.Boolean(), nullable=False),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_processes"),
    )
