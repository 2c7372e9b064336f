"""How each answer came about, for the page behind "How I found this", and what figures are summed up from.

Why: events with their times and the documents they found, so that a forgotten document can be taken out of them. What
was kept of turns before, in `answers.steps`, nobody could look at, and it does not say which documents it quotes: it
goes. Closed misses tell from now on whether they were answered. The indexes hold what figures need, without the texts.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    op.create_table(
        "traces",
        sa.Column("turn", sa.String(length=32), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("ms", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("event", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["turn"], ["turns.id"], name=op.f("fk_traces_turn"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn", "ordinal", name=op.f("pk_traces")),
    )
    op.create_table(
        "sources",
        sa.Column("turn", sa.String(length=32), nullable=False),
        sa.Column("document", sa.String(length=32), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("relevance", sa.Float(), nullable=False),
        sa.Column("cited", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turns.id"], name=op.f("fk_sources_turn"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn", "document", name=op.f("pk_sources")),
    )
    op.create_index("ix_sources_document", "sources", ["document"])
    op.drop_column("answers", "steps")
    op.add_column("questions", sa.Column("resolution", sa.String(length=12), nullable=True))
    op.create_index(
        "ix_answers_figures", "answers", ["answered_at", "outcome", "seconds", "confidence", "model", "turn"]
    )
    op.create_index("ix_searches_figures", "searches", ["at", "latency_ms", "top_score", "filtered_results", "error"])
    op.create_index("ix_feedback_at", "feedback", ["at"])
