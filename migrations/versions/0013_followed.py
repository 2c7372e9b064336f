"""Sources that documents follow: folders, git repositories and websites.

Why: a team's answers live in places that change. What a source adds, replaces and removes is known by page, so that a
sync that was cut short goes on where it was and nothing that somebody else added is touched.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.create_table(
        "followed",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("kind", sa.String(length=12), nullable=False),
        sa.Column("location", sa.Text(), nullable=False),
        sa.Column("options", sa.JSON(), nullable=False),
        sa.Column("collection", sa.String(length=80), nullable=False),
        sa.Column("scope", sa.String(length=200), nullable=False),
        sa.Column("every", sa.Integer(), nullable=False),
        sa.Column("added_by", sa.String(length=120), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("gone", sa.Integer(), nullable=False),
        sa.Column("cursor", sa.Text(), nullable=True),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("trouble", sa.JSON(), nullable=True),
        sa.Column("checked_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("due_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("owner", sa.String(length=80), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name="pk_followed"),
        sa.UniqueConstraint("name", name="uq_followed_name"),
    )
    op.create_table(
        "followed_pages",
        sa.Column("source", sa.String(length=32), nullable=False),
        sa.Column("ref", sa.String(length=1000), nullable=False),
        sa.Column("version", sa.String(length=200), nullable=False),
        sa.Column("document", sa.String(length=32), nullable=True),
        sa.Column("refusal", sa.JSON(), nullable=True),
        sa.ForeignKeyConstraint(["source"], ["followed.id"], name="fk_followed_pages_source", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("source", "ref", name="pk_followed_pages"),
    )
    op.create_index("ix_followed_pages_document", "followed_pages", ["document"])
