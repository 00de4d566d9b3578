"""Moves a catalog from SQLite to PostgreSQL in batches. A move can be resumed.

Both catalogs are compared at the end. Until then, a table in the target stores the progress and
keeps services from opening the target. Tables that exist in only one of the databases are derived
from other tables and are not moved. The post index is not moved either: the service rebuilds it
from the chain on the target.
"""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import asyncpg

from imprint.adapters.database.postgresql.pool import USE_LOCK, Connection, connect
from imprint.adapters.database.postgresql.schema import UNFINISHED, Table, migrate, read_tables
from imprint.adapters.database.schema import (
    EMPTY_POSTGRESQL,
    INDEX_TABLES,
    expect_schema,
    find_schema,
    known_migrations,
)
from imprint.adapters.database.sqlite.connections import closing_on_error, connect_looker
from imprint.adapters.database.sqlite.log import check_log, read_boot
from imprint.adapters.database.sqlite.use_lock import InUse, UseLock
from imprint.domain.installation import Access
from imprint.ports import Progress

_BATCH = 2_000
"""Number of rows copied per transaction."""

_COUNTER = "SELECT value FROM counters WHERE name = ?"
_REVISION_NUMBERS = "SELECT name, value FROM counters WHERE name GLOB 'revisions:*'"

_SUM_DIGITS = 15
"""Number of hexadecimal digits of a row's hash that are summed, chosen to fit a BIGINT."""

_NOT_MOVED = INDEX_TABLES | {"schema_migrations", "counters", UNFINISHED}
"""Tables that are not copied. Of the counters, the heartbeat starts anew. The position sequence,
the fence and the numbers of erased revisions are set at the end."""

_IDENTITY = "installation"
"""Tables whose rows in the target are replaced, because a service started too early leaves an id
there."""

_PROGRESS = f"""
CREATE TABLE IF NOT EXISTS {UNFINISHED} (
    table_name TEXT PRIMARY KEY,
    last_key TEXT NOT NULL,
    moved BIGINT NOT NULL
)"""

_USERS = """
SELECT coalesce(string_agg(DISTINCT coalesce(host(a.client_addr), 'this machine'), ', '), 'unknown')
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.mode = 'ShareLock'
  AND (l.classid::bigint << 32 | l.objid::bigint) = $1"""
"""Reads the addresses of the clients that are connected to the target."""

INTERRUPTIONS = (asyncpg.PostgresError, asyncpg.InterfaceError, sqlite3.Error, OSError)
"""Errors that interrupt a move. An interrupted move can be resumed."""


class CannotMove(Exception):
    """The catalog cannot be moved. The message says why."""


async def move_catalog(source: Path, url: str, progress: Progress) -> int:
    """Move a catalog file into an empty database, or resume a move, and return the row count.

    Meanwhile, no service can use the file or the database. Raises `CannotMove` if a service is
    using one of them, if the target has records, or if the copies differ at the end.
    """
    with closing(_lock(source)), closing(_open(source)) as reader:
        writer = await connect(url)
        try:
            await _refuse_users(writer)
            tables = await _claim(writer)
            total = sum(_count(reader, table) for table in tables)
            done = 0
            for table in tables:
                done = await _copy(
                    reader, writer, table, done, lambda moved: progress(moved, total)
                )
            await _finish(reader, writer, tables)
            return total
        finally:
            await writer.close()


def _lock(source: Path) -> UseLock:
    if not source.exists():
        raise CannotMove(f"There is no database {source}.")
    try:
        return UseLock(source, exclusive=True)
    except InUse as error:
        processes = ", ".join(map(str, error.processes)) or "unknown"
        raise CannotMove(
            f"The database {source} is in use (processes: {processes}). Stop the service and other"
            " commands that use it, then run this again."
        ) from error


async def _refuse_users(writer: Connection) -> None:
    """Keep all other clients out of the target for as long as this connection lives."""
    if not await writer.fetchval("SELECT pg_try_advisory_lock($1)", USE_LOCK):
        raise CannotMove(
            "The target is in use: a service or a command is connected to it"
            f" ({await writer.fetchval(_USERS, USE_LOCK)}). Stop it, then run this again."
        )


def _open(source: Path) -> sqlite3.Connection:
    check_log(source, read_boot())
    reader = connect_looker(source)
    with closing_on_error(reader):
        expect_schema(find_schema(reader), known_migrations(), Access.READ)
        reader.execute("BEGIN")
    return reader


async def _claim(writer: Connection) -> list[Table]:
    """Create the progress table in an empty target, or find it, and return the tables to move."""
    if await writer.fetchval("SELECT to_regclass($1)", UNFINISHED) is None:
        await migrate(writer, known_migrations("postgresql"))
        tables = await read_tables(writer, _NOT_MOVED)
        for table in tables:
            if table.name != _IDENTITY and await writer.fetchval(
                f"SELECT EXISTS (SELECT 1 FROM {table.name})"  # noqa: S608
            ):
                raise CannotMove("The target is in use: it already has records.")
        async with writer.transaction():
            await writer.execute(f"DELETE FROM {_IDENTITY}")  # noqa: S608
            # A service that was started too early may have begun an index that lacks the files.
            for statement in EMPTY_POSTGRESQL:
                await writer.execute(statement)
            await writer.execute(_PROGRESS)
    return await read_tables(writer, _NOT_MOVED)


async def _copy(
    reader: sqlite3.Connection,
    writer: Connection,
    table: Table,
    done: int,
    progress: Callable[[int], None],
) -> int:
    found = await writer.fetchrow(
        f"SELECT last_key, moved FROM {UNFINISHED} WHERE table_name = $1",  # noqa: S608
        table.name,
    )
    last = json.loads(found["last_key"]) if found else None
    moved = found["moved"] if found else 0
    where = [table.columns.index(column) for column in table.key]
    while batch := _batch(reader, table, last):
        last = [batch[-1][place] for place in where]
        moved += len(batch)
        async with writer.transaction():
            await writer.copy_records_to_table(table.name, records=batch, columns=table.columns)
            await writer.execute(
                f"INSERT INTO {UNFINISHED} VALUES ($1, $2, $3) ON CONFLICT (table_name)"  # noqa: S608
                " DO UPDATE SET last_key = excluded.last_key, moved = excluded.moved",
                table.name,
                json.dumps(last),
                moved,
            )
        progress(done + moved)
    return done + moved


def _batch(
    reader: sqlite3.Connection, table: Table, last: Sequence[Any] | None
) -> list[tuple[Any, ...]]:
    columns, key = ", ".join(table.columns), ", ".join(table.key)
    after = f"WHERE ({key}) > ({', '.join('?' * len(table.key))})" if last else ""
    text = f"SELECT {columns} FROM {table.name} {after} ORDER BY {key} LIMIT {_BATCH}"  # noqa: S608
    return reader.execute(text, last or ()).fetchall()


async def _finish(
    reader: sqlite3.Connection,
    writer: Connection,
    tables: Sequence[Table],
) -> None:
    """Compare both databases table by table. Only then can services open the target."""
    for table in tables:
        if _summarize(reader, table) != tuple(await writer.fetchrow(_summary(table)) or ()):
            raise CannotMove(
                f"The records in {table.name} differ: the source was changed in the meantime. "
                "Start over with an empty target."
            )
    (position,) = reader.execute(_COUNTER, ("position",)).fetchone()
    (fence,) = reader.execute(_COUNTER, ("fence",)).fetchone()
    numbers = reader.execute(_REVISION_NUMBERS).fetchall()
    async with writer.transaction():
        await writer.executemany("INSERT INTO counters (name, value) VALUES ($1, $2)", numbers)
        await writer.execute("SELECT setval('positions', $1)", max(position, 1))
        await writer.execute("UPDATE counters SET value = $1 WHERE name = 'fence'", fence)
        await writer.execute(f"DROP TABLE {UNFINISHED}")
    await writer.execute("ANALYZE")


def _count(reader: sqlite3.Connection, table: Table) -> int:
    (count,) = reader.execute(f"SELECT count(*) FROM {table.name}").fetchone()  # noqa: S608
    return int(count)


def _summarize(reader: sqlite3.Connection, table: Table) -> tuple[int, int]:
    count = total = 0
    for row in _rows(reader, table):
        text = "".join(map(_text_of, row))
        total += int(sha256(text.encode()).hexdigest()[:_SUM_DIGITS], 16)
        count += 1
    return count, total


def _rows(reader: sqlite3.Connection, table: Table) -> Iterator[tuple[Any, ...]]:
    yield from reader.execute(f"SELECT {', '.join(table.columns)} FROM {table.name}")  # noqa: S608


def _text_of(value: str | int | bytes | None) -> str:
    if value is None:
        return "-"
    text = "\\x" + value.hex() if isinstance(value, bytes) else str(value)
    return f"{len(text)}:{text}"


def _summary(table: Table) -> str:
    spelled = " || ".join(
        f"coalesce(length({column}::text) || ':' || {column}::text, '-')"
        for column in table.columns
    )
    number = (
        f"('x' || substr(encode(sha256(convert_to({spelled}, 'UTF8')), 'hex'), 1, {_SUM_DIGITS}))"
        f"::bit({4 * _SUM_DIGITS})::bigint"
    )
    return f"SELECT count(*), coalesce(sum({number}), 0)::numeric FROM {table.name}"  # noqa: S608
