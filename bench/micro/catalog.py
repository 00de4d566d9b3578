"""Measures the overhead of the catalog's rules, and the time that its two caches save.

python -m bench.micro.catalog
"""

import sqlite3
import tempfile
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import uvloop

from bench.filled_catalog import fill_sqlite
from bench.fixture import ALICE
from bench.micro.timing import time_calls
from imprint.adapters.database.sqlite.database import SqliteTransaction, open_sqlite, run_rule
from imprint.adapters.database.transaction import Transaction
from imprint.adapters.stores.files import build_file, plan_list, read_list
from imprint.bootstrap.stores import open_stores
from imprint.domain.drafts.files import File
from imprint.domain.posts.indexed_posts import PublicList

QUERIES = 10
"""Number of queries in the rule that is timed without SQL."""

FILES = 2_000
"""Number of files in the catalog whose lists are read."""


class _NoDatabase:
    """Fake connection and cursor whose statements all return one row."""

    row_factory: object = None

    def execute(self, statement: str, values: dict[str, Any]) -> "_NoDatabase":
        return self

    def fetchone(self) -> tuple[int]:
        return _ROW

    def fetchall(self) -> list[tuple[int]]:
        return _ROWS


_ROW = (1,)
_ROWS = [_ROW]


async def _find(tx: Transaction, cid: str) -> object:
    return await tx.fetchone("SELECT", cid=cid, owner="owner")


async def _rule(tx: Transaction, cid: str) -> object:
    for _ in range(QUERIES):
        found = await _find(tx, cid)
    return found


@dataclass(slots=True)
class _Query:
    """A statement and its values, yielded by a generator."""

    statement: str
    values: dict[str, str]


@dataclass(slots=True)
class _Lock:
    """A lock yielded by a generator."""

    name: str


Steps = Generator[_Query | _Lock, list[tuple[int]], object]


def _yield_query(cid: str) -> Steps:
    rows = yield _Query("SELECT", {"cid": cid, "owner": "owner"})
    return rows[0] if rows else None


def _steps(cid: str) -> Steps:
    for _ in range(QUERIES):
        found = yield from _yield_query(cid)
    return found


def _run_steps(database: _NoDatabase, steps: Steps) -> object:
    """Run a generator that yields queries and locks, and throw integrity errors into it."""
    try:
        step = next(steps)
        while True:
            try:
                rows = _execute(database, step)
            except sqlite3.IntegrityError as error:
                step = steps.throw(error)
            else:
                step = steps.send(rows)
    except StopIteration as end:
        return end.value


def _execute(database: _NoDatabase, step: _Query | _Lock) -> list[tuple[int]]:
    if isinstance(step, _Lock):
        return []
    return database.execute(step.statement, step.values).fetchall()


async def _measure_rules() -> None:
    database = _NoDatabase()
    tx = SqliteTransaction(cast(sqlite3.Connection, database))

    async def run_coroutine() -> object:
        return run_rule(tx, _rule, ("cid",))

    async def run_generator() -> object:
        return _run_steps(database, _steps("cid"))

    ways = {"coroutine": run_coroutine, "generator": run_generator}
    _print(f"a rule of {QUERIES} queries without SQL", await time_calls(ways))


async def _measure_lists() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "catalog.db"
        await open_sqlite(path).close()
        fill_sqlite(path, FILES, ALICE)
        stores = open_stores(open_sqlite(path))
        plan = await stores.database.read(plan_list, PublicList(), None, 10)
        assert plan is not None

        async def read_cached() -> list[File]:
            return await stores.files.list_files(PublicList(), None, 10)

        async def read_rows() -> list[File]:
            return await stores.database.read(read_list, plan, None)

        async def build_files() -> list[File]:
            build_file.cache_clear()
            return await stores.database.read(read_list, plan, None)

        ways = {"cached": read_cached, "files cached": read_rows, "not cached": build_files}
        _print("a list of ten files", await time_calls(ways))
        await stores.close()


def _print(name: str, times: dict[str, float]) -> None:
    print(name, *(f"  {way}: {microseconds:.1f} µs" for way, microseconds in times.items()))


if __name__ == "__main__":
    uvloop.run(_measure_rules())
    uvloop.run(_measure_lists())
