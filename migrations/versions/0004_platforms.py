"""Tables by which platforms are served without loss and without saying anything twice.

Why: what the bot posts is known before it is sent, so that a crash leaves nothing doubled (posts); files and notices
outlive a process (intakes, notices); a channel keeps its own choices (places); what is privileged leaves a trace
(audit). Ids of misses stand on buttons of cards from now on, so SQLite must not give one to another question later."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.create_table(
        "places",
        sa.Column("platform", sa.String(length=40), nullable=False),
        sa.Column("workspace", sa.String(length=80), nullable=False),
        sa.Column("channel", sa.String(length=80), nullable=False),
        sa.Column("model", sa.String(length=120), nullable=True),
        sa.Column("strategy", sa.String(length=40), nullable=True),
        sa.Column("steps", sa.String(length=12), nullable=True),
        sa.Column("collections", sa.JSON(), nullable=True),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("platform", "workspace", "channel", name=op.f("pk_places")),
    )
    op.create_table(
        "posts",
        sa.Column("about", sa.String(length=80), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("platform", sa.String(length=40), nullable=False),
        sa.Column("workspace", sa.String(length=80), nullable=False),
        sa.Column("channel", sa.String(length=80), nullable=False),
        sa.Column("thread", sa.String(length=80), nullable=True),
        sa.Column("message", sa.String(length=80), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("about", "kind", "part", name=op.f("pk_posts")),
    )
    op.create_index("ix_posts_message", "posts", ["platform", "workspace", "channel", "message"])
    op.create_index("ix_posts_at", "posts", ["at"])
    op.create_table(
        "notices",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("turn", sa.String(length=32), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("by", sa.String(length=120), nullable=True),
        sa.Column("owner", sa.String(length=80), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["turn"], ["turns.id"], name=op.f("fk_notices_turn"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notices")),
        sa.UniqueConstraint("turn", name=op.f("uq_notices_turn")),
    )
    op.create_table(
        "intakes",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("claim", sa.String(length=400), nullable=False),
        sa.Column("platform", sa.String(length=40), nullable=False),
        sa.Column("workspace", sa.String(length=80), nullable=False),
        sa.Column("channel", sa.String(length=80), nullable=False),
        sa.Column("thread", sa.String(length=80), nullable=True),
        sa.Column("author", sa.String(length=80), nullable=False),
        sa.Column("collection", sa.String(length=80), nullable=False),
        sa.Column("scope", sa.String(length=200), nullable=False),
        sa.Column("language", sa.String(length=2), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.Column("done", sa.Boolean(), nullable=False),
        sa.Column("owner", sa.String(length=80), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_intakes")),
        sa.UniqueConstraint("claim", name=op.f("uq_intakes_claim")),
    )
    op.create_index("ix_intakes_done", "intakes", ["done"])
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.String(length=160), nullable=False),
        sa.Column("action", sa.String(length=40), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("result", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index("ix_audit_at", "audit", ["at"])
    if op.get_bind().dialect.name == "sqlite":
        with op.batch_alter_table("questions", recreate="always", table_kwargs={"sqlite_autoincrement": True}):
            pass
