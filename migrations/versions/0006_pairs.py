"""Q/A pairs that the model writes from documents: made by jobs that outlive a process, reviewed by people.

Why: what has been paid for is kept chunk by chunk, so that a job goes on where it stopped; pairs and chunks belong to a
document by foreign key, so that nothing made of it is left when it is forgotten; and which documents approved pairs are
found in is known apart from both, so that these can be taken out of the search after their source has gone.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "pair_jobs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("document", sa.String(length=32), nullable=True),
        sa.Column("collection", sa.String(length=80), nullable=False),
        sa.Column("model", sa.String(length=120), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=False),
        sa.Column("calls", sa.Integer(), nullable=False),
        sa.Column("input_tokens", sa.BigInteger(), nullable=False),
        sa.Column("output_tokens", sa.BigInteger(), nullable=False),
        sa.Column("thought_tokens", sa.BigInteger(), nullable=False),
        sa.Column("owner", sa.String(length=80), nullable=True),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("changed_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["document"], ["documents.id"], name=op.f("fk_pair_jobs_document"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pair_jobs")),
    )
    op.create_index("ix_pair_jobs_document", "pair_jobs", ["document"])
    op.create_table(
        "pair_chunks",
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("document", sa.String(length=32), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("chunk", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("dropped", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["job"], ["pair_jobs.id"], name=op.f("fk_pair_chunks_job"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(
            ["document"], ["documents.id"], name=op.f("fk_pair_chunks_document"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("job", "place", name=op.f("pk_pair_chunks")),
    )
    op.create_index("ix_pair_chunks_document", "pair_chunks", ["document"])
    op.create_table(
        "pairs",
        sa.Column("id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("job", sa.String(length=32), nullable=False),
        sa.Column("place", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("document", sa.String(length=32), nullable=False),
        sa.Column("version", sa.String(length=64), nullable=False),
        sa.Column("chunk", sa.Integer(), nullable=False),
        sa.Column("question", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("state", sa.String(length=12), nullable=False),
        sa.Column("marked", sa.Boolean(), nullable=False),
        sa.Column("edited", sa.Boolean(), nullable=False),
        sa.Column("repeats", sa.Integer(), nullable=True),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["job"], ["pair_jobs.id"], name=op.f("fk_pairs_job"), ondelete="CASCADE"),
        sa.ForeignKeyConstraint(["document"], ["documents.id"], name=op.f("fk_pairs_document"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pairs")),
        sa.UniqueConstraint("job", "place", "position", name=op.f("uq_pairs_job")),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_pairs_document", "pairs", ["document"])
    op.create_index("ix_pairs_state", "pairs", ["state"])
    op.create_table(
        "pair_documents",
        sa.Column("source", sa.String(length=32), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("collection", sa.String(length=80), nullable=False),
        sa.Column("scope", sa.String(length=200), nullable=False),
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("document", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("source", "part", name=op.f("pk_pair_documents")),
    )
