"""How long an operator waits with many posts: python -m bench.recovery [--posts 1000000]

Fills a catalog, stores the document of each of its files, and runs the commands that save and
bring back a service: a backup, its restoration, the move to PostgreSQL, and reading the chain
again. The node answers from formulas (`bench.long_chain`), so a real node takes time besides.
"""

import argparse
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

from bench.databases import Database, open_databases
from bench.filled_posts import cid_of_file, document_of
from bench.processes import free_port, run_process, run_service, service_environ
from bench.report import RECORDED, Report

STORED_AT = 1_700_000_000.0
"""When the documents were stored, in seconds since 1970."""


def measure_recovery(report: Report, folder: Path, database: Database, posts: int) -> None:
    """Add the seconds that each command takes with this many posts to a report."""
    port = free_port()
    with run_process(["-m", "bench.long_chain", str(posts), str(port)], port, "/", {}):
        rpc_url = f"http://127.0.0.1:{port}"
        url, data = database.make(), folder / f"recovery-{database.name}"
        with run_service(data, rpc_url, url):
            # The service creates the schema, and marks the content store as its own.
            pass
        database.fill(url, posts)
        _store_documents(data, posts)
        environ = service_environ(data, rpc_url, url)
        saved, restored = folder / "saved.tar", folder / "restored"
        for name, *command in (
            ("backup", "backup", "--out", str(saved)),
            ("restore", "restore", str(saved), "--to", str(restored)),
            ("reading the chain again", "reconcile", "--from-block", "0"),
        ):
            seconds, processor = _run(command, environ)
            key = f"{name}, {posts:,} posts on {database.name}"
            report.facts[f"{key}, s"] = seconds
            report.facts[f"{key}, processor s"] = processor
        report.facts[f"size of the backup, {posts:,} posts on {database.name}, MB"] = (
            saved.stat().st_size / 1e6
        )
        saved.unlink()
        shutil.rmtree(restored)
        shutil.rmtree(data)


def _store_documents(data: Path, posts: int) -> None:
    """Store the document of each file of a filled catalog, as the embedded store does."""
    rows: Iterator[tuple[str, float, bytes]] = (
        (cid_of_file(number), STORED_AT, document_of(number)) for number in range(1, posts + 1)
    )
    (path,) = data.glob("**/private/small.db")
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        connection.executemany(
            "INSERT INTO documents (cid, stored_at, document) VALUES (?, ?, ?)", rows
        )
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _run(command: list[str], environ: dict[str, str]) -> tuple[float, float]:
    """Run a command of the service. Returns its seconds, and its processor seconds."""
    before, began = _processor_seconds(), time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "imprint", *command],
        env={**os.environ, **environ},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    return time.perf_counter() - began, _processor_seconds() - before


def _processor_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    """Measure both databases, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--posts", type=int, default=1_000_000)
    parser.add_argument("--only", choices=["sqlite", "postgresql"], help="one database")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        for database in open_databases(stack, folder, options.only):
            measure_recovery(report, folder, database, options.posts)
    report.print()
    if os.environ.get("RECORD"):
        report.write(RECORDED / "recovery.json")


if __name__ == "__main__":
    main()
