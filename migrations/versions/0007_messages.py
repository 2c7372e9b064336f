"""Messages in the browser's rooms.

Why: Slack and Discord keep their own history; the channel in the browser has nobody else to keep it over a restart.
"""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.create_table(
        "messages",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("room", sa.String(length=80), nullable=False),
        sa.Column("thread", sa.Integer(), nullable=True),
        sa.Column("author", sa.String(length=80), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("about", sa.String(length=80), nullable=True),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("edited_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_messages")),
        sa.UniqueConstraint("about", "kind", "part", name=op.f("uq_messages_about")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_messages_room", "messages", ["room", "thread", "id"])
    op.create_index("ix_messages_created_at", "messages", ["created_at"])
