"""Tokens of programs.

Why: coding assistants and other programs ask what people ask, each by a token of its own that can be taken away, with
caps, and never for a private place. Only the hash of a token is kept.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.create_table(
        "tokens",
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("audience", sa.String(length=12), nullable=False),
        sa.Column("per_minute", sa.Integer(), nullable=False),
        sa.Column("per_day", sa.Integer(), nullable=False),
        sa.Column("added_by", sa.String(length=120), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_on", sa.Date(), nullable=True),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("misses", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_tokens"),
        sa.UniqueConstraint("digest", name="uq_tokens_digest"),
    )
