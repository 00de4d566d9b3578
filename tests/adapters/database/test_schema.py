"""Migrations only run forward, and completely or not at all. Newer databases are refused."""

import asyncio
import sqlite3
import sys
from asyncio.subprocess import PIPE
from contextlib import closing

import pytest
from tests.stores import open_sqlite_stores

from imprint.adapters.database.schema import Migration, NewerSchema, known_migrations, migrate
from imprint.domain.errors import Unavailable

FIRST = Migration(1, "first", "CREATE TABLE one (x TEXT);\nINSERT INTO one VALUES ('a;\nb');\n")
SECOND = Migration(2, "second", "-- more\nCREATE TABLE two (\n  x TEXT\n);\n")
BROKEN = Migration(2, "broken", "CREATE TABLE two (x TEXT);\nINSERT INTO nowhere VALUES (1);\n")


@pytest.fixture
def connection():
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        yield connection


def tables(connection):
    rows = connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")
    return {row[0] for row in rows} - {"schema_migrations"}


def test_migrations_are_numbered_without_gaps():
    numbers = [migration.number for migration in known_migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


def test_all_migrations_are_applied_to_an_empty_database(connection):
    migrate(connection, (FIRST, SECOND))
    assert tables(connection) == {"one", "two"}
    assert connection.execute("SELECT x FROM one").fetchall() == [("a;\nb",)]


def test_migrating_again_does_nothing(connection):
    migrate(connection, (FIRST,))
    migrate(connection, (FIRST,))
    assert connection.execute("SELECT count(*) FROM one").fetchone() == (1,)


def test_only_missing_migrations_are_applied(connection):
    migrate(connection, (FIRST,))
    migrate(connection, (FIRST, SECOND))
    assert connection.execute("SELECT count(*) FROM one").fetchone() == (1,)
    assert tables(connection) == {"one", "two"}


def test_a_failed_migration_leaves_nothing_behind(connection):
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, (FIRST, BROKEN))
    assert tables(connection) == set()
    assert not connection.in_transaction


def test_a_newer_schema_is_refused_with_both_version_numbers(connection):
    migrate(connection, (FIRST, SECOND))
    with pytest.raises(
        NewerSchema, match="has schema 2, but this version of Imprint supports only 1"
    ):
        migrate(connection, (FIRST,))


async def test_a_catalog_with_a_newer_schema_is_not_opened(tmp_path):
    path = tmp_path / "catalog.db"
    await open_sqlite_stores(path).close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("INSERT INTO schema_migrations VALUES (999, 'future')")
    with pytest.raises(NewerSchema):
        open_sqlite_stores(path)


def test_a_file_that_is_not_a_database_is_not_opened(tmp_path):
    path = tmp_path / "catalog.db"
    path.write_bytes(b"this is a letter, not a database" * 100)
    with pytest.raises(Unavailable):
        open_sqlite_stores(path)
    assert path.read_bytes().startswith(b"this is a letter")


async def test_the_catalog_is_readable_by_its_owner_only(tmp_path):
    path = tmp_path / "new" / "catalog.db"
    stores = open_sqlite_stores(path)
    await stores.database.probe()
    modes = {file.stat().st_mode & 0o777 for file in path.parent.iterdir()}
    await stores.close()
    assert modes == {0o600}


OPEN = """
import asyncio, pathlib, sys
from tests.stores import open_sqlite_stores
asyncio.run(open_sqlite_stores(pathlib.Path(sys.argv[1])).close())
"""


async def test_several_processes_may_open_a_new_catalog_at_the_same_time(tmp_path):
    path = str(tmp_path / "catalog.db")
    command = [sys.executable, "-c", OPEN, path]
    opening = [asyncio.create_subprocess_exec(*command, stderr=PIPE) for _ in range(4)]
    for process in await asyncio.gather(*opening):
        _, errors = await process.communicate()
        assert (process.returncode, errors) == (0, b"")
