"""Backup copies of a PostgreSQL catalog as SQLite files, consistent while others write."""

import asyncio
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import asyncpg

from imprint.adapters.database import schema as sqlite_schema
from imprint.adapters.database.postgresql.pool import Connection, connect
from imprint.adapters.database.postgresql.schema import find_schema, read_tables
from imprint.adapters.database.schema import INDEX_TABLES, known_migrations
from imprint.adapters.database.sqlite.rebuild import COUNT_TAGS
from imprint.adapters.disk_space import sync_path
from imprint.domain.errors import Unavailable
from imprint.ports.damage import CatalogDamaged

_BATCH = 500
"""Number of rows held in memory at once."""

_BATCH_SECONDS = 60.0
"""Timeout in seconds for the server to return a batch."""

_NOT_COPIED = INDEX_TABLES | {"schema_migrations", "counters", "leases"}
"""Tables that are not copied: the post index is rebuilt from the chain, and leases use the server's
clock."""

SNAPSHOT = """
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL idle_in_transaction_session_timeout = 0"""
"""Statement that begins a snapshot, which blocks nobody and so has no idle timeout."""

_POSITION = "SELECT 'position', last_value FROM positions"
_COUNTERS = "SELECT name, value FROM counters"
_SET_COUNTER = "INSERT OR REPLACE INTO counters (name, value) VALUES (?, ?)"

MALFORMED = (asyncpg.DataCorruptedError, asyncpg.IndexCorruptedError)
"""Errors that indicate damaged database pages."""


async def copy_catalog(url: str, target: Path) -> None:
    """Copy a snapshot of the catalog to an empty SQLite file with the same schema.

    Raises `CatalogDamaged` for damaged pages and for rows that contradict each other, and
    `Unavailable` if the file cannot be written.
    """
    source = await connect(url)
    try:
        # Rows are written in other threads, one after another.
        with closing(
            sqlite3.connect(target, isolation_level=None, check_same_thread=False)
        ) as writer:
            await source.execute(SNAPSHOT)
            await _copy(source, writer)
    except MALFORMED as error:
        raise CatalogDamaged(f"The catalog is damaged: {type(error).__name__}.") from error
    except sqlite3.IntegrityError as error:
        raise CatalogDamaged(f"The catalog is damaged: {error}.") from error
    except sqlite3.Error as error:
        raise Unavailable.database() from error
    finally:
        # Not closed gracefully, because the server may no longer respond.
        source.terminate()
    sync_path(target)
    sync_path(target.parent)


async def _copy(source: Connection, writer: sqlite3.Connection) -> None:
    # An incomplete copy is discarded.
    writer.execute("PRAGMA journal_mode = OFF")
    writer.execute("PRAGMA synchronous = OFF")
    number = await find_schema(source)
    known = known_migrations()
    sqlite_schema.migrate(writer, tuple(each for each in known if each.number <= number))
    writer.execute("BEGIN")
    for table in await read_tables(source, _NOT_COPIED):
        columns, values = ", ".join(table.columns), ", ".join("?" * len(table.columns))
        rows = await source.cursor(f"SELECT {columns} FROM {table.name}")  # noqa: S608
        insert = f"INSERT INTO {table.name} ({columns}) VALUES ({values})"  # noqa: S608
        while batch := await rows.fetch(_BATCH, timeout=_BATCH_SECONDS):
            await asyncio.to_thread(_insert, writer, insert, batch)
    for counters in (_COUNTERS, _POSITION):
        await asyncio.to_thread(_insert, writer, _SET_COUNTER, await source.fetch(counters))
    for statement in (COUNT_TAGS, "COMMIT"):
        await asyncio.to_thread(_execute, writer, statement)


def _insert(writer: sqlite3.Connection, statement: str, records: Iterable[asyncpg.Record]) -> None:
    # A cursor that is dropped later resets its statement, maybe while another thread runs it.
    writer.executemany(statement, map(tuple, records)).close()


def _execute(writer: sqlite3.Connection, statement: str) -> None:
    writer.execute(statement).close()
