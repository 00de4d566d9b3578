"""Copies of a SQLite catalog, and their integrity check."""

import asyncio
import sqlite3
from contextlib import closing

import pytest
from tests.stores import open_sqlite_stores

from imprint.adapters.database.schema import NewerSchema, known_migrations, migrate
from imprint.adapters.database.sqlite.backup import DamagedCopy, check_copy, check_schema
from imprint.domain.posts.indexed_posts import PublicList


@pytest.fixture
def kind():
    return "sqlite"


async def test_a_backup_during_writes_is_a_complete_catalog(world, tmp_path):
    post = await world.post("a")
    writing = asyncio.gather(*(world.draft() for _ in range(30)))
    await world.stores.database.backup_to(tmp_path / "backup.db")
    await writing
    copy = open_sqlite_stores(tmp_path / "backup.db")
    assert await copy.files.list_files(PublicList(("a",)), None, 9) == [post]
    assert await copy.sessions.spend_login_nonce(world.alice, "n", world.now) is not None
    await copy.close()


async def test_a_backup_does_not_overwrite_a_file(world, tmp_path):
    target = tmp_path / "backup.db"
    target.write_text("precious")
    with pytest.raises(FileExistsError):
        await world.stores.database.backup_to(target)
    assert target.read_text() == "precious"


@pytest.fixture
async def copy(world, tmp_path):
    """A copy of a catalog with one post and one draft."""
    await world.post("a")
    await world.draft()
    await world.stores.database.backup_to(tmp_path / "backup.db")
    return tmp_path / "backup.db"


def change(path, script):
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.executescript(script)


@pytest.mark.parametrize("script", ["", "ANALYZE", "PRAGMA journal_mode = WAL", "VACUUM"])
async def test_an_intact_copy_passes_the_check(copy, script):
    change(copy, script)
    check_copy(copy)


@pytest.mark.parametrize(
    "script",
    [
        "CREATE TRIGGER t AFTER DELETE ON nonces BEGIN DELETE FROM files; END",
        "CREATE VIEW v AS SELECT 1",
        "CREATE TABLE t (a)",
        "CREATE TABLE _litestream_lock (id INTEGER CHECK (id < 1))",
        "CREATE INDEX t ON files (owner)",
        "CREATE VIRTUAL TABLE t USING fts5 (a)",
        "DROP INDEX files_by_name",
        "ALTER TABLE nonces ADD COLUMN a TEXT AS (hex(zeroblob(1000000)))",
        "DROP TABLE schema_migrations",
        "DELETE FROM schema_migrations",
    ],
)
async def test_a_changed_schema_is_refused(copy, script):
    change(copy, script)
    for check in (check_schema, check_copy):
        with pytest.raises(DamagedCopy):
            check(copy)


async def test_tables_created_by_litestream_are_accepted(copy):
    change(
        copy,
        """CREATE TABLE IF NOT EXISTS _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER);
        CREATE TABLE IF NOT EXISTS _litestream_lock (id INTEGER);""",
    )
    check_copy(copy)


async def test_comments_and_whitespace_in_a_schema_may_differ(copy):
    change(
        copy,
        """PRAGMA writable_schema = ON;
        UPDATE sqlite_schema SET sql = replace(sql, char(10), ' -- more' || char(10))
        WHERE name = 'nonces'""",
    )
    check_copy(copy)


def test_the_schema_of_an_older_version_passes(tmp_path):
    path = tmp_path / "older.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        migrate(connection, known_migrations()[:1])
    check_copy(path)


async def test_the_schema_of_a_newer_version_is_refused_as_newer(copy):
    change(copy, "INSERT INTO schema_migrations VALUES (9999, 'future')")
    with pytest.raises(NewerSchema):
        check_copy(copy)


async def test_damaged_pages_and_broken_references_are_refused(copy):
    change(copy, "PRAGMA foreign_keys = OFF; DELETE FROM file_groups")
    check_schema(copy)
    with pytest.raises(DamagedCopy):
        check_copy(copy)


async def test_a_schema_with_a_page_cycle_is_refused(copy):
    """The schema page lists itself as each of its children, which yields endless rows."""
    data = bytearray(copy.read_bytes())
    size = 4096
    first, cells = bytearray(data[:size]), 200
    first[100:112] = b"\x05\0\0\0\xc8\x0c\x18\0\0\0\0\x02"
    second = bytearray(size)
    second[:12] = first[100:112]
    for each in range(cells):
        at = size - 5 * (each + 1)
        for page, head in ((first, 112), (second, 12)):
            page[at : at + 5] = b"\0\0\0\x02\x01"
            page[head + 2 * each : head + 2 * each + 2] = at.to_bytes(2, "big")
    copy.write_bytes(bytes(first + second) + bytes(data[2 * size :]))
    with pytest.raises(DamagedCopy):
        check_schema(copy)
