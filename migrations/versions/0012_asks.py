"""Owners of documents and collections, questions that were brought to a person, and people who do not want that.

Why: whoever gets no sure answer can have somebody asked at once, in the first place whoever looks after what lies
closest. Nobody is asked twice, at night or against their will.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("documents", sa.Column("owner", sa.String(length=120), nullable=True))
    op.add_column("collections", sa.Column("owner", sa.String(length=120), nullable=True))
    op.create_table(
        "asks",
        sa.Column("turn", sa.String(length=32), nullable=False),
        sa.Column("question", sa.Integer(), nullable=False),
        sa.Column("by", sa.String(length=120), nullable=False),
        sa.Column("recipient", sa.String(length=120), nullable=False),
        sa.Column("reason", sa.String(length=12), nullable=False),
        sa.Column("platform", sa.String(length=40), nullable=False),
        sa.Column("workspace", sa.String(length=80), nullable=False),
        sa.Column("channel", sa.String(length=80), nullable=False),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sent_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["turn"], ["turns.id"], name="fk_asks_turn", ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["question"], ["questions.id"], name="fk_asks_question", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn", name="pk_asks"),
    )
    op.create_index("ix_asks_question", "asks", ["question"])
    op.create_index("ix_asks_due_at", "asks", ["due_at"])
    op.create_table(
        "opt_outs",
        sa.Column("person", sa.String(length=120), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("person", name="pk_opt_outs"),
    )
