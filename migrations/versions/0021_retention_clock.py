"""When retention last ran, and since when its clock is doubted.

Why: a clock that is years ahead when the bot starts would make everything too old at once, and it would be deleted.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    op.create_table(
        "retention_clock",
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("believed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("doubted_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("place", name="pk_retention_clock"),
    )
