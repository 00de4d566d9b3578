"""A new catalog in a SQLite file, copied from one that is created once per process."""

import tempfile
from functools import cache
from pathlib import Path

from imprint.adapters.database.schema import known_migrations, migrate
from imprint.adapters.database.sqlite.connections import connect_writer


def put_migrated_catalog(path: Path) -> None:
    """Put an empty catalog with the current schema at `path`, unless the file exists."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists():
        path.touch(mode=0o600)
        path.write_bytes(_migrated_catalog())


@cache
def _migrated_catalog() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "imprint.db"
        connection = connect_writer(path)
        migrate(connection, known_migrations())
        connection.close()
        return path.read_bytes()
