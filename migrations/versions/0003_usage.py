"""The cost of models, and questions refused for their pace.

Why: caps by the day and the minute must hold across processes and restarts (usage, refusals), and the last minute's
questions are counted before every turn, so they must be found without reading all others.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.create_table(
        "usage",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("model", sa.String(length=120), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("thought_tokens", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("day", "model", name=op.f("pk_usage")),
    )
    op.create_table(
        "refusals",
        sa.Column("turn", sa.String(length=32), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turns.id"], name=op.f("fk_refusals_turn"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn", name=op.f("pk_refusals")),
    )
    op.create_index("ix_turns_pace", "turns", ["platform", "workspace", "claimed_at"])
