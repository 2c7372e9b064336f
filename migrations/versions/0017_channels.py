"""Threads of channels, as documents.

Why: a thread is read again when something in it changes or once it has been quiet, its document says where it was said,
and whoever does not want to be found in it is left out.
"""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("documents", sa.Column("said_in", sa.String(length=120), nullable=True))
    op.add_column("followed_pages", sa.Column("due_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("followed_pages", sa.Column("people", sa.Text(), nullable=True))
    op.create_index("ix_followed_pages_due_at", "followed_pages", ["due_at"])
    op.create_table(
        "unheard",
        sa.Column("person", sa.String(length=64), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("person", name="pk_unheard"),
    )
