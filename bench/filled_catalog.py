"""Catalogs with many files and posts, to measure how their size affects reads."""

import json
import sqlite3
import uuid
from collections.abc import AsyncIterator, Iterable, Iterator
from hashlib import sha256
from pathlib import Path

import asyncpg

from bench.filled_index import SUMS, index_tables, words_of_postgresql, words_of_sqlite
from bench.filled_posts import DOCUMENT, EPOCH, Row, Table, cid_of_file, is_draft, owner_of, tags_of

_LINES = 2_000
"""Number of rows per COPY chunk."""

_GROUP_COLUMNS = ("id", "owner", "hashtags", "thumbnail_cid", "created_at")

_FILE_COLUMNS = (
    "id",
    "group_id",
    "owner",
    "name",
    "cid",
    "size",
    "created_at",
    "state",
    "position",
    "post_id",
    "published_at",
)


def fill_sqlite(path: Path, count: int, reader: str) -> None:
    """Add `count` files and posts to a catalog that is not in use.

    Nine in ten files are published, the rest are drafts. `reader` holds some of the posts.
    """
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("BEGIN")
    for table in (*_tables(count), *index_tables(count, reader), words_of_sqlite(count)):
        names, marks = ", ".join(table.columns), ", ".join("?" * len(table.columns))
        # S608: names of this module.
        insert = f"INSERT INTO {table.name} ({names}) VALUES ({marks})"
        connection.executemany(insert, table.rows)
    connection.execute(
        "INSERT INTO tags (tag, posts, drafts) SELECT tag, sum(state = 'onchain'),"
        " sum(state = 'pending') FROM file_tags GROUP BY tag"
    )
    connection.execute("UPDATE counters SET value = ? WHERE name = 'position'", (count,))
    for statement in SUMS:
        connection.execute(statement)
    connection.execute("COMMIT")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


async def fill_postgresql(url: str, count: int, reader: str) -> None:
    """Add the same files and posts as `fill_sqlite` to a PostgreSQL database with the current
    schema."""
    connection = await asyncpg.connect(url)
    try:
        # Dropping the word index and rebuilding it afterwards takes a fraction of the time.
        (build,) = await connection.fetchrow(
            "SELECT indexdef FROM pg_indexes WHERE indexname = 'post_search_by_word'"
        )
        await connection.execute("DROP INDEX post_search_by_word")
        tables = (*_tables(count), *index_tables(count, reader), words_of_postgresql(count))
        for table in tables:
            await connection.copy_to_table(
                table.name, source=_copy_lines(table.rows), columns=table.columns
            )
        await connection.execute("SELECT setval('positions', $1)".replace("$1", str(count)))
        for statement in SUMS:
            await connection.execute(statement)
        await connection.execute(build)
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


async def _copy_lines(rows: Iterable[Row]) -> AsyncIterator[bytes]:
    """Yield rows in COPY's text format, many per chunk."""
    lines: list[str] = []
    for row in rows:
        lines.append("\t".join(map(_copy_value, row)))
        if len(lines) == _LINES:
            yield ("\n".join(lines) + "\n").encode()
            lines.clear()
    if lines:
        yield ("\n".join(lines) + "\n").encode()


def _copy_value(value: str | bytes | int | None) -> str:
    if value is None:
        return "\\N"
    return f"\\\\x{value.hex()}" if isinstance(value, bytes) else str(value)


def _tables(count: int) -> tuple[Table, ...]:
    return (
        Table(
            "file_groups",
            ("id", "owner", "hashtags", "thumbnail_cid", "created_at"),
            _groups(count),
        ),
        Table("files", _FILE_COLUMNS, _files(count)),
        Table("file_tags", ("tag", "position", "state"), _file_tags(count)),
    )


def _groups(count: int) -> Iterator[Row]:
    for number in range(1, count + 1):
        yield (
            _id("group", number),
            owner_of(number),
            json.dumps(tags_of(number, count)),
            None,
            EPOCH + number,
        )


def _files(count: int) -> Iterator[Row]:
    for number in range(1, count + 1):
        draft = is_draft(number)
        yield (
            _id("file", number),
            _id("group", number),
            owner_of(number),
            f"{owner_of(number)}_{number}",
            cid_of_file(number),
            DOCUMENT,
            EPOCH + number,
            "pending" if draft else "onchain",
            number,
            None if draft else str(number),
            None if draft else EPOCH + number,
        )


def _file_tags(count: int) -> Iterator[Row]:
    for number in range(1, count + 1):
        state = "pending" if is_draft(number) else "onchain"
        for tag in tags_of(number, count):
            yield tag, number, state


def _id(kind: str, number: int) -> str:
    return str(uuid.UUID(bytes=sha256(f"{kind} {number}".encode()).digest()[:16]))
