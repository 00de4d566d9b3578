"""Measure a draft transaction with each driver: python -m bench.micro.postgresql_drivers

Needs `pip install 'psycopg[binary]'`, which is not a dependency. Eight concurrent writers, each
with its own connection, run separate statements, the same statements in psycopg's pipeline, and a
single combined statement. A one-row read, always a single statement, is measured too.
"""

import asyncio
import importlib
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack, ExitStack
from itertools import count
from statistics import median
from typing import Any

import asyncpg
import uvloop

from bench.databases import start_postgresql

WRITERS = 8
TRANSACTIONS = 1_200
ROUNDS = 7

TABLES = """
CREATE TABLE intents (id BIGINT PRIMARY KEY, note TEXT);
CREATE TABLE files (id BIGINT PRIMARY KEY, name TEXT UNIQUE);
CREATE TABLE nonces (id BIGINT PRIMARY KEY);
INSERT INTO files VALUES (0, 'read');"""

STEPS = (
    "INSERT INTO intents VALUES ({0}, 'intent')",
    "SELECT 1 FROM nonces WHERE id = {0}",
    "DELETE FROM intents WHERE id = {0}",
    "INSERT INTO files VALUES ({0}, 'name-' || {0})",
    "INSERT INTO nonces VALUES ({0})",
)
"""The statements of one write, each with a single parameter."""

AT_ONCE = """
WITH noted AS (INSERT INTO intents VALUES ($1, 'intent') RETURNING id),
ready AS (SELECT id FROM noted WHERE NOT EXISTS (SELECT 1 FROM nonces WHERE id = $1)),
added AS (INSERT INTO files SELECT id, 'name-' || id FROM ready),
spent AS (INSERT INTO nonces SELECT id FROM ready)
SELECT id FROM ready"""

READ = "SELECT id, name FROM files WHERE id = {0}"

Work = Callable[[], Awaitable[object]]

_numbers = count(1)


async def _asyncpg_writers(url: str, stack: AsyncExitStack) -> dict[str, list[Work]]:
    works: dict[str, list[Work]] = {"one by one": [], "one statement": [], "read": []}
    steps = [step.format("CAST($1 AS BIGINT)") for step in STEPS]

    async def one_by_one(connection: Any) -> None:
        number = next(_numbers)
        await connection.execute("BEGIN")
        for step in steps:
            await connection.fetch(step, number)
        await connection.execute("COMMIT")

    for _ in range(WRITERS):
        connection = await asyncpg.connect(url)
        stack.push_async_callback(connection.close)
        statement = await connection.prepare(AT_ONCE)
        read = await connection.prepare(READ.format("$1"))
        works["one by one"].append(lambda own=connection: one_by_one(own))  # type: ignore[misc]
        works["one statement"].append(lambda own=statement: own.fetch(next(_numbers)))  # type: ignore[misc]
        works["read"].append(lambda own=read: own.fetch(0))  # type: ignore[misc]
    return works


async def _psycopg_writers(url: str, stack: AsyncExitStack) -> dict[str, list[Work]]:
    psycopg = importlib.import_module("psycopg")
    works: dict[str, list[Work]] = {"pipeline": [], "one statement": [], "read": []}
    steps = [step.format("%(n)s::bigint") for step in STEPS]
    at_once = AT_ONCE.replace("$1", "%(n)s::bigint")

    async def pipeline(connection: Any) -> None:
        values = {"n": next(_numbers)}
        async with connection.pipeline(), connection.transaction():
            for step in steps:
                await connection.execute(step, values, prepare=True)

    async def run(connection: Any, text: str, number: int) -> None:
        cursor = await connection.execute(text, {"n": number}, prepare=True)
        await cursor.fetchall()

    for _ in range(WRITERS):
        connection = await psycopg.AsyncConnection.connect(url, autocommit=True)
        stack.push_async_callback(connection.close)
        works["pipeline"].append(lambda own=connection: pipeline(own))  # type: ignore[misc]
        works["one statement"].append(  # type: ignore[misc]
            lambda own=connection: run(own, at_once, next(_numbers))
        )
        works["read"].append(lambda own=connection: run(own, READ.format("%(n)s"), 0))  # type: ignore[misc]
    return works


async def _spend(works: list[Work]) -> tuple[float, float]:
    """Return the wall-clock and processor seconds of one run."""

    async def repeat(work: Work) -> None:
        for _ in range(TRANSACTIONS // WRITERS):
            await work()

    began, spent = time.perf_counter(), time.process_time()
    await asyncio.gather(*map(repeat, works))
    return (
        (time.perf_counter() - began) / TRANSACTIONS,
        (time.process_time() - spent) / TRANSACTIONS,
    )


async def _measure(url: str) -> None:
    connection = await asyncpg.connect(url)
    await connection.execute(TABLES)
    await connection.close()
    async with AsyncExitStack() as stack:
        drivers = {
            "asyncpg": await _asyncpg_writers(url, stack),
            "psycopg": await _psycopg_writers(url, stack),
        }
        works = {(kind, name): each for name, own in drivers.items() for kind, each in own.items()}
        samples: dict[tuple[str, str], list[tuple[float, float]]] = {key: [] for key in works}
        for _ in range(ROUNDS):
            for key, work in works.items():
                samples[key].append(await _spend(work))
    for (kind, driver), spent in sorted(samples.items()):
        wall, processor = (median(each) * 1e6 for each in zip(*spent, strict=True))
        print(f"{kind:16} {driver:10} {wall:8.0f} µs {processor:8.0f} µs of the process")


def main() -> None:
    """Measure the drivers in turn and print the medians."""
    with ExitStack() as stack:
        server = start_postgresql(stack)
        uvloop.run(_measure(server.make()))


if __name__ == "__main__":
    main()
