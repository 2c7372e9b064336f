"""Pages that change after they were cited.

Why: an answer that is still in its thread is checked against the new version of a page it cites; it says on top what
the page says now, its asker hears of it once, and an edit that a platform does not take yet waits.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    op.create_table(
        "changed_documents",
        sa.Column("document", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=400), nullable=False),
        sa.Column("before", sa.String(length=64), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("document", name="pk_changed_documents"),
    )
    op.create_index("ix_changed_documents_at", "changed_documents", ["at"])
    op.add_column("answers", sa.Column("changes", sa.JSON(), nullable=True))
    op.add_column("answers", sa.Column("show_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_answers_show_at", "answers", ["show_at"])
    op.add_column("notices", sa.Column("of_page", sa.Boolean(), nullable=True))
