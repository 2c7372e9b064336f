"""The first tables.

Why: a question must survive from its claim to its shown answer (turns, answers), what could not be answered is kept for
people (questions, feedback), and the vector store needs its documents, collections, generation and measurements.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "collections",
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_collections")),
    )
    op.create_table(
        "documents",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("collection", sa.String(length=80), nullable=False),
        sa.Column("scope", sa.String(length=200), nullable=False),
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("title", sa.Text(), nullable=False),
        sa.Column("url", sa.Text(), nullable=True),
        sa.Column("hash", sa.String(length=64), nullable=False),
        sa.Column("markdown", sa.String(length=64), nullable=False),
        sa.Column("chunks", sa.Integer(), nullable=False),
        sa.Column("language", sa.String(length=2), nullable=False),
        sa.Column("author", sa.String(length=80), nullable=False),
        sa.Column("born", sa.Integer(), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
        sa.UniqueConstraint("collection", "scope", "name", name=op.f("uq_documents_collection")),
    )
    op.create_table(
        "indexes",
        sa.Column("embedder", sa.String(length=200), nullable=False),
        sa.Column("dimensions", sa.Integer(), nullable=False),
        sa.Column("tokenizer", sa.String(length=80), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("embedder", name=op.f("pk_indexes")),
    )
    op.create_table(
        "searches",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("collection", sa.String(length=400), nullable=False),
        sa.Column("latency_ms", sa.Float(), nullable=False),
        sa.Column("total_results", sa.Integer(), nullable=False),
        sa.Column("filtered_results", sa.Integer(), nullable=False),
        sa.Column("top_score", sa.Float(), nullable=False),
        sa.Column("scores", sa.JSON(), nullable=False),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("scope", sa.String(length=200), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_searches")),
    )
    op.create_index("ix_searches_at", "searches", ["at"], unique=False)
    op.create_table(
        "turns",
        sa.Column("sequence", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("claim", sa.String(length=400), nullable=False),
        sa.Column("platform", sa.String(length=40), nullable=False),
        sa.Column("workspace", sa.String(length=80), nullable=False),
        sa.Column("channel", sa.String(length=80), nullable=False),
        sa.Column("thread", sa.String(length=80), nullable=False),
        sa.Column("message", sa.String(length=80), nullable=False),
        sa.Column("author", sa.String(length=80), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("audience", sa.String(length=20), nullable=False),
        sa.Column("language", sa.String(length=2), nullable=True),
        sa.Column("link", sa.Text(), nullable=True),
        sa.Column("model", sa.String(length=120), nullable=True),
        sa.Column("strategy", sa.String(length=40), nullable=True),
        sa.Column("collections", sa.JSON(), nullable=True),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(length=80), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("claimed_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("sequence", name=op.f("pk_turns")),
        sa.UniqueConstraint("claim", name=op.f("uq_turns_claim")),
        sa.UniqueConstraint("id", name=op.f("uq_turns_id")),
    )
    op.create_index("ix_turns_state", "turns", ["state"], unique=False)
    op.create_index(
        "ix_turns_thread", "turns", ["platform", "workspace", "channel", "thread", "sequence"], unique=False
    )
    op.create_table(
        "answers",
        sa.Column("turn", sa.String(length=32), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("outcome", sa.String(length=12), nullable=False),
        sa.Column("citations", sa.JSON(), nullable=False),
        sa.Column("steps", sa.JSON(), nullable=False),
        sa.Column("model", sa.String(length=120), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.Integer(), nullable=False),
        sa.Column("output_tokens", sa.Integer(), nullable=False),
        sa.Column("thought_tokens", sa.Integer(), nullable=False),
        sa.Column("searched", sa.JSON(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("marked", sa.Boolean(), nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turns.id"], name=op.f("fk_answers_turn"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn", name=op.f("pk_answers")),
    )
    op.create_table(
        "feedback",
        sa.Column("turn", sa.String(length=32), nullable=False),
        sa.Column("author", sa.String(length=80), nullable=False),
        sa.Column("vote", sa.String(length=4), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=True),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turns.id"], name=op.f("fk_feedback_turn"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("turn", "author", name=op.f("pk_feedback")),
    )
    op.create_table(
        "questions",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("turn", sa.String(length=32), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("searched", sa.JSON(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("scope", sa.String(length=200), nullable=False),
        sa.Column("link", sa.Text(), nullable=True),
        sa.Column("asked_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("resolved_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["turn"], ["turns.id"], name=op.f("fk_questions_turn"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_questions")),
        sa.UniqueConstraint("turn", "reason", name=op.f("uq_questions_turn")),
    )
    op.create_index("ix_questions_asked_at", "questions", ["asked_at"], unique=False)
