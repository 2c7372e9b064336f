"""A database that several processes share, where a PostgreSQL server is installed."""

import pytest

from tests.bot import conftest
from tests.bot.conftest import postgresql, postgresql_database, postgresql_template

__all__ = ["postgresql", "postgresql_database", "postgresql_template", "shared_database"]


@pytest.fixture
def shared_database(postgresql_database: str) -> str:
    """The address of an empty one."""
    conftest.empty(postgresql_database)
    return postgresql_database
