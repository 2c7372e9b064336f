"""Files of documents, files that wait to be read and erasures, for several machines on one server.

Why: a document added on one machine has to be re-indexed, backed up and compared on any other, a file that one took in
read by another, and a person who is forgotten must go from the chat log of each. Beside an SQLite file these stay
empty.
"""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0016"


def upgrade() -> None:
    op.create_table(
        "contents",
        sa.Column("address", sa.String(length=64), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("address", name=op.f("pk_contents")),
    )
    op.create_table(
        "held_files",
        sa.Column("key", sa.String(length=32), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("data", sa.LargeBinary(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("key", "part", name=op.f("pk_held_files")),
    )
    op.create_index("ix_held_files_at", "held_files", ["at"])
    op.create_table(
        "erasures",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("platform", sa.String(length=40), nullable=False),
        sa.Column("person", sa.String(length=80), nullable=False),
        sa.Column("turns", sa.JSON(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_erasures")),
    )
