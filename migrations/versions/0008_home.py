"""The identity of the home that a database belongs to.

Why: an empty or another home's database opened over an index must not make the next start delete what it does not know.
The row is made when the home is next opened.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    op.create_table(
        "home",
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("place", name=op.f("pk_home")),
    )
