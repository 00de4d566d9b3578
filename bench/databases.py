"""The databases of a run: a SQLite file, and a PostgreSQL server if one can be had."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.filling import fill_sqlite
from imprint.adapters.catalog.connecting import connect_writer
from imprint.adapters.catalog.schema import known_migrations, migrate

ROUNDS = 1_000
"""How many commits are timed."""


@dataclass(slots=True)
class Database:
    """A kind of database, and what one durable commit costs there, alone."""

    name: str
    folder: Path
    commit_seconds: float
    _made: int = 0

    @classmethod
    def sqlite(cls, folder: Path) -> "Database":
        """SQLite files in this folder."""
        folder.mkdir(parents=True, exist_ok=True)
        return cls("sqlite", folder, _time_sqlite_commit(folder / "floor.db"))

    @contextmanager
    def fresh(self) -> Iterator[str]:
        """The address of an empty database."""
        self._made += 1
        yield f"sqlite:///{self.folder}/{self._made}.db"

    @contextmanager
    def filled(self, count: int) -> Iterator[str]:
        """The address of a database with so many files."""
        path = self.folder / f"filled-{count}.db"
        with closing(connect_writer(path)) as connection:
            migrate(connection, known_migrations())
        fill_sqlite(path, count)
        yield f"sqlite:///{path}"


def open_databases(stack: ExitStack, folder: Path) -> Iterator[Database]:
    """The databases that can be had here."""
    yield Database.sqlite(folder / "sqlite")


def _time_sqlite_commit(path: Path) -> float:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, value TEXT)")
        began = time.perf_counter()
        for number in range(ROUNDS):
            connection.execute("INSERT INTO rows (value) VALUES (?)", (f"{number:0>200}",))
        return (time.perf_counter() - began) / ROUNDS
