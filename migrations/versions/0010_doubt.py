"""Which answers the bot itself was not sure of, and the date that a document has of its own.

Why: doubt is shown with the answer, also when it is given again, and counted with it, whether or not somebody is to
look at the question; so far it was known by its question alone. The time at which a document was added is no date of
it."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("answers", sa.Column("unsure", sa.Boolean(), server_default=sa.false(), nullable=False))
    doubted = "SELECT turn FROM questions WHERE reason = 'low_confidence'"
    op.execute(f"UPDATE answers SET unsure = true WHERE outcome = 'answered' AND turn IN ({doubted})")
    op.drop_index("ix_answers_figures", table_name="answers")
    figures = ["answered_at", "outcome", "seconds", "confidence", "model", "turn", "unsure"]
    op.create_index("ix_answers_figures", "answers", figures)
    op.add_column("documents", sa.Column("changed_at", sa.String(length=10), nullable=True))
