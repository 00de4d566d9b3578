"""Measure reads that check a session on PostgreSQL: python -m bench.micro.ended_sessions

Measures the statement that finds a post: on its own, together with the time of the last logout, and
together with the session lookup. Each figure is for one round trip on one connection.
"""

from contextlib import ExitStack

import asyncpg
import uvloop

from bench.databases import start_postgresql
from bench.micro.timing import time_calls
from imprint.adapters.database.postgresql.database import prepare
from imprint.adapters.database.postgresql.transaction import number_values
from imprint.adapters.stores.files import VERSION_BY_POST
from imprint.adapters.stores.postgresql_files import CHECKED, MARKED

POST = "1"

FILES, ENDED = 1_000, 10_000
"""Number of files, and number of ended sessions, in the database."""

END_MANY = """
INSERT INTO ended_sessions (subject, generation, expires_at)
SELECT '0-' || md5(CAST(n AS text)), 1, 0 FROM generate_series(1, $1) AS n"""


def main() -> None:
    """Fill a database and print the duration of each statement."""
    with ExitStack() as stack:
        server = start_postgresql(stack)
        url = server.make()
        uvloop.run(prepare(url))
        server.fill(url, FILES)
        uvloop.run(_measure(url))


async def _measure(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(END_MANY, ENDED)
        await connection.execute("ANALYZE")
        text, _ = number_values(VERSION_BY_POST, None)
        plain = await connection.prepare(text)
        marked = await connection.prepare(MARKED[text])
        checked = await connection.prepare(CHECKED[text])
        assert await plain.fetch(POST)
        reader = "0x" + "ab" * 20
        times = await time_calls(
            {
                "without a session": lambda: plain.fetch(POST),
                "with the mark": lambda: marked.fetch(POST),
                "with the look for the session": lambda: checked.fetch(0, "0-1", reader, POST),
            }
        )
    finally:
        await connection.close()
    for name, microseconds in times.items():
        print(f"{name:30} {microseconds:8.1f} µs")


if __name__ == "__main__":
    main()
