"""Catalog databases for tests: creating, opening and inspecting them."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import asyncpg
from tests.migrated_catalog import put_migrated_catalog
from tests.postgresql import Server
from tests.stores import open_postgresql_stores, open_sqlite_stores

from imprint.adapters.database.postgresql import database as postgresql
from imprint.bootstrap.stores import Stores
from imprint.ports import Monotonic, monotonic

COUNTED = "SELECT tag, count(*) FROM file_tags GROUP BY tag"

NAME = "catalog"
"""The name of the database that all tests in a process share, as creating one is slow."""

SQLITE = "sqlite:///"


class Database(Protocol):
    """An existing database that is initially empty."""

    @property
    def address(self) -> str:
        """The URL of this database in the settings."""
        ...

    async def rows(self, text: str) -> list[tuple[Any, ...]]:
        """Return the result of a statement that bypasses the catalog."""
        ...

    async def counted_tags(self) -> list[list[tuple[Any, ...]]]:
        """Return the number of live files for each tag: counted now, and stored (SQLite only)."""
        ...


def open_any(address: str, clock: Monotonic | None = None) -> Stores:
    """Open the stores at this URL, with the given clock for leases."""
    if address.startswith(SQLITE):
        return open_sqlite_stores(Path(address.removeprefix(SQLITE)), clock or monotonic)
    return open_postgresql_stores(address, clock=clock)


@dataclass(slots=True)
class SqliteFile:
    """A SQLite database for tests."""

    path: Path

    @classmethod
    def migrated(cls, path: Path) -> "SqliteFile":
        """Copy a migrated template to this path, which is faster than migrating a new file."""
        put_migrated_catalog(path)
        return cls(path)

    @property
    def address(self) -> str:
        return f"{SQLITE}{self.path}"

    async def rows(self, text: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(text).fetchall()

    async def counted_tags(self) -> list[list[tuple[Any, ...]]]:
        texts = (COUNTED, "SELECT tag, posts + drafts FROM tags")
        return [await self.rows(text) for text in texts]


@dataclass(slots=True)
class PostgresqlServer:
    """A database on a PostgreSQL server."""

    address: str

    @classmethod
    async def clean(cls, server: Server, name: str = NAME) -> "PostgresqlServer":
        """Return the database shared by the tests in this process, cleared of earlier data."""
        database = cls(server.url(name))
        try:
            tables = await database.rows(
                "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
                " AND tablename <> 'schema_migrations' ORDER BY tablename = 'file_groups'"
            )
        except asyncpg.InvalidCatalogNameError:
            await server.create_database(name)
            await postgresql.prepare(database.address)
            return database
        statements = [f"DELETE FROM {table}" for (table,) in tables]
        heartbeat = "INSERT INTO counters (name, value) VALUES ('heartbeat', 0)"
        await server.execute("; ".join([*statements, heartbeat]), name)
        return database

    async def rows(self, text: str) -> list[tuple[Any, ...]]:
        connection = await asyncpg.connect(self.address)
        try:
            return [tuple(row) for row in await connection.fetch(text)]
        finally:
            await connection.close()

    async def counted_tags(self) -> list[list[tuple[Any, ...]]]:
        return [await self.rows(COUNTED)]
