"""Compare our connection pool with asyncpg's: python -m bench.micro.postgresql_pool

Each pool in turn acquires a connection, runs SELECT 1 and releases it, for a few seconds. asyncpg's
pool is measured as it is, and without the query that resets a connection.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from statistics import median

import asyncpg
import uvloop

from bench.databases import start_postgresql
from imprint.adapters.database.postgresql.pool import SESSION, Pool

ROUNDS = 9
"""Number of turns per pool."""

READS = 2_000
"""Number of reads per turn."""

TASKS, CONNECTIONS = 8, 10
"""Number of concurrent readers, and number of connections in each pool."""

Read = Callable[[], Awaitable[object]]
Reset = Callable[[object], Awaitable[None]]


def main() -> None:
    """Start a server, measure both pools and print the medians."""
    with ExitStack() as stack:
        uvloop.run(_compare(start_postgresql(stack).make()))


async def _compare(url: str) -> None:
    async with (
        _our_pool(url) as ours,
        _asyncpg_pool(url) as theirs,
        _asyncpg_pool(url, _keep) as without_reset,
    ):
        reads = {"ours": ours, "asyncpg's": theirs, "asyncpg's, no reset": without_reset}
        samples: dict[str, list[tuple[float, float]]] = {name: [] for name in reads}
        for read in reads.values():
            await _time(read)
        for _ in range(ROUNDS):
            for name, read in reads.items():
                samples[name].append(await _time(read))
    for name, found in samples.items():
        rate = median(rate for rate, _ in found)
        processor_us = median(processor_us for _, processor_us in found)
        pairs = zip(found, samples["ours"], strict=True)
        ratio = median(spent / ours for (_, spent), (_, ours) in pairs)
        print(f"{name:20}{rate:8,.0f}/s {processor_us:8.1f} µs processor time ({ratio:.2f} times)")


async def _time(read: Read) -> tuple[float, float]:
    """Return the reads per second, and the processor time of one read in microseconds."""

    async def run() -> None:
        for _ in range(READS // TASKS):
            await read()

    began, spent = time.perf_counter(), time.process_time()
    await asyncio.gather(*(run() for _ in range(TASKS)))
    seconds, processor_seconds = time.perf_counter() - began, time.process_time() - spent
    return READS / seconds, processor_seconds / READS * 1e6


@asynccontextmanager
async def _our_pool(url: str) -> AsyncIterator[Read]:
    pool = Pool(url, CONNECTIONS)

    async def read() -> object:
        async with pool.connection() as connection:
            return await connection.fetchrow("SELECT 1")

    yield read
    await pool.close()


async def _keep(connection: object) -> None:
    """Skip resetting the connection's session."""


@asynccontextmanager
async def _asyncpg_pool(url: str, reset: Reset | None = None) -> AsyncIterator[Read]:
    async with asyncpg.create_pool(
        url, min_size=1, max_size=CONNECTIONS, reset=reset, server_settings=SESSION
    ) as pool:

        async def read() -> object:
            async with pool.acquire() as connection:
                return await connection.fetchrow("SELECT 1")

        yield read


if __name__ == "__main__":
    main()
