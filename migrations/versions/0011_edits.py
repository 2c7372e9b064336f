"""How often a question was answered anew because it was edited, which ones their askers deleted, and whether a channel
wants follow-ups without a mention.

Why: an edited question is answered again in its new words, a few times; of a deleted one nothing stays but its claim,
which keeps it from being taken for a new one, and what was posted of it until that is taken away. A channel may want to
be answered when the bot is mentioned only.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("turns", sa.Column("edits", sa.Integer(), server_default="0", nullable=False))
    op.add_column("turns", sa.Column("deleted_at", sa.DateTime(timezone=True), nullable=True))
    op.create_index("ix_turns_deleted_at", "turns", ["deleted_at"])
    op.add_column("places", sa.Column("follow", sa.String(length=12), nullable=True))
