"""Which document answers a question, when a question was opened again, and notices that correct an earlier one.

Why: an expert's answer can be edited, which those who were told the old one have to hear, and taken back, which opens
its questions again; the next digest asks them once more, however long ago they were put."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    op.add_column("questions", sa.Column("answer", sa.String(length=32), nullable=True))
    op.add_column("questions", sa.Column("reopened_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_questions_answer", "questions", ["answer"])
    op.create_index("ix_questions_reopened_at", "questions", ["reopened_at"])
    op.add_column("notices", sa.Column("corrects", sa.Boolean(), nullable=True))
