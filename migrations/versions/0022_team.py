"""The server whose members are the team, where none is chosen.

Why: a bot that is put out of its only server while it is also in a stranger's would take that one for the team.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    op.add_column("home", sa.Column("team", sa.String(length=120), nullable=True))
