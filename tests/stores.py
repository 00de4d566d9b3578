"""Database stores, opened for a test."""

from pathlib import Path

from imprint.adapters.database.postgresql.database import CONNECTIONS, open_postgresql
from imprint.adapters.database.sqlite.database import open_sqlite
from imprint.bootstrap.stores import Stores, open_stores
from imprint.ports import Monotonic, monotonic


def open_sqlite_stores(path: Path, clock: Monotonic = monotonic) -> Stores:
    """Open the stores in a SQLite file."""
    return open_stores(open_sqlite(path, clock))


def open_postgresql_stores(
    url: str, connections: int = CONNECTIONS, clock: Monotonic | None = None
) -> Stores:
    """Open the stores in a PostgreSQL database."""
    return open_stores(open_postgresql(url, connections, clock))
