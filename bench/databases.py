"""The databases of a run: SQLite files, and a PostgreSQL server that comes as a wheel."""

import asyncio
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Protocol

import asyncpg
from tests.postgresql import Server

from bench.filling import fill_sqlite
from imprint.adapters.sqlite_files import connect_writer
from imprint.adapters.catalog.schema import known_migrations, migrate

ROUNDS = 1_000
"""How many commits are timed."""

_INSERT = "INSERT INTO rows (value) VALUES ($1)"


class Database(Protocol):
    """A kind of database, and what one durable commit costs there, alone."""

    name: str
    commit_seconds: float

    def make(self) -> str:
        """The address of an empty database."""
        ...


@dataclass(slots=True)
class SqliteFiles:
    """SQLite files in a folder."""

    folder: Path
    commit_seconds: float = 0.0
    name: str = "sqlite"

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.commit_seconds = self._time_commit()

    def make(self) -> str:
        return f"sqlite:///{self.folder}/{next(_numbers)}.db"

    def fill(self, files: int) -> Path:
        """A database with so many files."""
        path = self.folder / f"filled-{files}.db"
        with closing(connect_writer(path)) as connection:
            migrate(connection, known_migrations())
        fill_sqlite(path, files)
        return path

    def _time_commit(self) -> float:
        path = self.folder / f"floor-{next(_numbers)}.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, value TEXT)")
            began = time.perf_counter()
            for number in range(ROUNDS):
                connection.execute(_INSERT.replace("$1", "?"), (f"{number:0>200}",))
            return (time.perf_counter() - began) / ROUNDS


@dataclass(slots=True)
class PostgresqlServer:
    """A server of this run, which syncs as a real one does."""

    server: Server
    commit_seconds: float = 0.0
    name: str = "postgresql"

    def __post_init__(self) -> None:
        self.commit_seconds = asyncio.run(self._time_commit())

    def make(self) -> str:
        return asyncio.run(self.server.create_database(f"bench_{next(_numbers)}"))

    async def _time_commit(self) -> float:
        connection = await asyncpg.connect(self.server.url())
        try:
            await connection.execute("CREATE TABLE rows (id serial PRIMARY KEY, value text)")
            insert = await connection.prepare(_INSERT)
            began = time.perf_counter()
            for number in range(ROUNDS):
                await insert.fetch(f"{number:0>200}")
            return (time.perf_counter() - began) / ROUNDS
        finally:
            await connection.close()


_numbers = count(1)


def open_databases(stack: ExitStack, folder: Path) -> Iterator[Database]:
    """Both kinds, one after the other."""
    yield SqliteFiles(folder / "sqlite")
    server = Server(options=("max_connections=100",))
    server.make()
    server.start()
    stack.callback(server.stop)
    yield PostgresqlServer(server)
