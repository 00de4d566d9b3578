"""Our connection pool and asyncpg's: python -m bench.micro.postgresql_pool

Both take a connection, run SELECT 1 and give the connection back, in turns, for a few seconds. The
processor time of this process is what the pools differ in; the server takes the same time for both.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from statistics import median

import asyncpg
import uvloop

from bench.databases import start_postgresql
from imprint.adapters.catalog.postgresql_pool import SESSION, Pool

ROUNDS = 9
"""Turns of each pool."""

READS = 2_000
"""Reads in a turn."""

TASKS, CONNECTIONS = 8, 10
"""Concurrent readers, and the size of both pools."""

Read = Callable[[], Awaitable[object]]


def main() -> None:
    """Start a server, measure both pools and print the medians."""
    with ExitStack() as stack:
        uvloop.run(_compare(start_postgresql(stack).make()))


async def _compare(url: str) -> None:
    async with _our_pool(url) as ours, _asyncpg_pool(url) as theirs:
        reads = {"ours": ours, "asyncpg's": theirs}
        samples: dict[str, list[tuple[float, float]]] = {name: [] for name in reads}
        for read in reads.values():
            await _time(read)
        for _ in range(ROUNDS):
            for name, read in reads.items():
                samples[name].append(await _time(read))
    for name, found in samples.items():
        rate = median(rate for rate, _ in found)
        processor_us = median(processor_us for _, processor_us in found)
        print(f"{name:10} {rate:8,.0f} reads/s {processor_us:8.1f} µs of processor time")
    pairs = zip(samples["ours"], samples["asyncpg's"], strict=True)
    ratios = [theirs / ours for (_, ours), (_, theirs) in pairs]
    print(f"processor time, asyncpg's / ours: {median(ratios):.2f}")


async def _time(read: Read) -> tuple[float, float]:
    """Reads per second, and the processor time of one read in microseconds."""

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


@asynccontextmanager
async def _asyncpg_pool(url: str) -> AsyncIterator[Read]:
    async with asyncpg.create_pool(
        url, min_size=1, max_size=CONNECTIONS, server_settings=SESSION
    ) as pool:

        async def read() -> object:
            async with pool.acquire() as connection:
                return await connection.fetchrow("SELECT 1")

        yield read


if __name__ == "__main__":
    main()
