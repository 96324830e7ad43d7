"""A PostgreSQL server of our own for the tests of the ledger: one for all of them, and none is skipped without it."""

from __future__ import annotations

import pytest
from benchmarks.ledger import postgresql_server


@pytest.fixture(scope="session")
def server():
    """The URL of its owner, a superuser. Roles `ana`, `ben` and `mallory` may log in, and nothing else."""
    binaries = postgresql_server.find()
    if binaries is None:
        pytest.fail(postgresql_server.MISSING)
    with postgresql_server.running(binaries) as url:
        import sqlalchemy as sa

        engine = sa.create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
        with engine.begin() as connection:
            for name in ("ana", "ben", "mallory"):
                connection.execute(sa.text(f"CREATE ROLE {name} LOGIN"))
        engine.dispose()
        yield url
