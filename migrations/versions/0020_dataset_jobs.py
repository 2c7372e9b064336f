"""Datasets that are being added, as rows.

Why: a job goes on when the process that adds dies, is seen and stopped from every process, and no two of them add to
one collection.
"""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    op.create_table(
        "dataset_jobs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("collection", sa.String(length=80), nullable=False),
        sa.Column("scope", sa.String(length=200), nullable=False),
        sa.Column("author", sa.String(length=160), nullable=False),
        sa.Column("language", sa.String(length=2), nullable=False),
        sa.Column("choice", sa.JSON(), nullable=False),
        sa.Column("limits", sa.JSON(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("progress", sa.JSON(), nullable=False),
        sa.Column("ended", sa.String(length=12), nullable=True),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("owner", sa.String(length=80), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("started", sa.DateTime(timezone=True), nullable=False),
        sa.Column("finished", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_dataset_jobs")),
    )
    op.create_index(
        "ix_dataset_jobs_running",
        "dataset_jobs",
        ["collection"],
        unique=True,
        sqlite_where=sa.text("state = 'running'"),
        postgresql_where=sa.text("state = 'running'"),
    )
