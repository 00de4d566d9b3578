"""The databases used in a benchmark: SQLite files, and a PostgreSQL server installed from a
wheel."""

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

from bench.filled_catalog import fill_postgresql, fill_sqlite
from bench.fixture import ALICE
from bench.processes import SERVICE_CORE, pinned

COMMITS = 300
"""Number of timed commits."""

_INSERT = "INSERT INTO rows (value) VALUES ($1)"


class Database(Protocol):
    """A database used in a benchmark."""

    name: str

    def time_commit(self) -> float:
        """Return the processor seconds of one durable commit, without those of a server."""
        ...

    def make(self) -> str:
        """Create an empty database and return its URL."""
        ...

    def fill(self, url: str, files: int) -> None:
        """Fill an empty catalog with this many files and posts. Alice holds some of the posts."""
        ...

    def bytes_of(self, url: str) -> int:
        """Return the size of the database in bytes."""
        ...


@dataclass(slots=True)
class SqliteFiles:
    """SQLite files in a folder."""

    folder: Path
    name: str = "sqlite"

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def make(self) -> str:
        return f"sqlite:///{self.folder}/{next(_numbers)}.db"

    def fill(self, url: str, files: int) -> None:
        fill_sqlite(Path(url.removeprefix("sqlite:///")), files, ALICE)

    def bytes_of(self, url: str) -> int:
        return Path(url.removeprefix("sqlite:///")).stat().st_size

    def time_commit(self) -> float:
        path = self.folder / f"floor-{next(_numbers)}.db"
        with closing(sqlite3.connect(path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, value TEXT)")
            with pinned(SERVICE_CORE):
                began = time.process_time()
                for number in range(COMMITS):
                    connection.execute(_INSERT.replace("$1", "?"), (f"{number:0>200}",))
                return (time.process_time() - began) / COMMITS


@dataclass(slots=True)
class PostgresqlServer:
    """A PostgreSQL server started for this run, with fsync on."""

    server: Server
    name: str = "postgresql"

    def make(self) -> str:
        return asyncio.run(self.server.create_database(f"bench_{next(_numbers)}"))

    def fill(self, url: str, files: int) -> None:
        asyncio.run(fill_postgresql(url, files, ALICE))

    def bytes_of(self, url: str) -> int:
        return asyncio.run(self._bytes_of(url))

    async def _bytes_of(self, url: str) -> int:
        connection = await asyncpg.connect(url)
        try:
            return int(await connection.fetchval("SELECT pg_database_size(current_database())"))
        finally:
            await connection.close()

    def time_commit(self) -> float:
        with pinned(SERVICE_CORE):
            return asyncio.run(self._time_commit())

    async def _time_commit(self) -> float:
        connection = await asyncpg.connect(self.server.url())
        try:
            await connection.execute(
                "CREATE TABLE IF NOT EXISTS rows (id serial PRIMARY KEY, value text)"
            )
            insert = await connection.prepare(_INSERT)
            began = time.process_time()
            for number in range(COMMITS):
                await insert.fetch(f"{number:0>200}")
            return (time.process_time() - began) / COMMITS
        finally:
            await connection.close()


_numbers = count(1)


def open_databases(stack: ExitStack, folder: Path, only: str | None) -> Iterator[Database]:
    """Yield SQLite, then PostgreSQL (started on demand), or only the database named `only`."""
    if only != "postgresql":
        yield SqliteFiles(folder / "sqlite")
    if only != "sqlite":
        yield start_postgresql(stack)


def start_postgresql(stack: ExitStack) -> PostgresqlServer:
    """Start a server that stops when the exit stack closes."""
    server = Server(options=("max_connections=100",))
    server.make()
    server.start()
    stack.callback(server.stop)
    return PostgresqlServer(server)
