"""Use a service steadily while its dependencies fail: python -m bench.soak --hours 2

Sends a mix of reads, searches, logins, writes and deliveries at half of the rate that the service
reached just before, and breaks something every minute. Workers are killed and replaced only in the
first ten minutes, because a new process would hide a leak. The warm-up lasts until their caches are
nearly full. Prints how memory, descriptors, threads, the WAL and the log grow per hour, and the p99
of the first and the last ten minutes after the warm-up, and draws all that in `soak-sqlite.png` or
`soak-postgresql.png`. Fails if a request fails while nothing is broken, if a response lacks what it
must show, or if memory, descriptors or threads have grown.
"""

import argparse
import asyncio
import math
import os
import signal
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

import asyncpg
from tests.faults.keyed_servers import KeyedBucket
from tests.postgresql import Server
from tools.trust import Result, save_result

from bench.charts import Line, draw_chart
from bench.fixture import Fixture
from bench.processes import LOAD_CORE, Measured, pin, run_node, run_service
from bench.report import PICTURES
from bench.visitors import Connection, Failed, Visitors
from bench.wallets import get_request

CONNECTIONS = 16
CALIBRATION = 600
"""Number of visits sent as fast as possible to find the maximum rate of the service."""

SAMPLE_SECONDS = 5.0
FAULT_SECONDS = 60.0
"""Seconds from one fault to the next."""

BROKEN_SECONDS = 5.0
SETTLE_SECONDS = 5.0
"""Seconds after a recovery in which a request may still fail."""

RESTART_SECONDS = 600.0
"""Seconds during which workers are killed and replaced."""

WARM_SECONDS = 3600.0
"""Seconds until the caches of a worker are nearly full. It remembers the last 10,000 sessions."""

WINDOW_SECONDS = 600.0
"""Seconds of the first and of the last window whose p99 is compared."""

INTERVALS = 24
"""Number of printed lines, and of points in the chart."""

BACKLOG_SECONDS = 5.0
"""Seconds by which visits may be overdue before further visits are skipped."""

STALL_POLL_SECONDS = 0.5
STALL_SECONDS = 0.4
"""Seconds that a process may wait for a core between two polls. A longer wait means that the
machine stalled."""

ALLOWED_MEGABYTES = 5.0
ALLOWED_DESCRIPTORS = 8
ALLOWED_THREADS = 4

NOT_JUDGED = "Whether memory grows was not judged: the caches of a run this short are not full."

TITLES = {"sqlite": "SQLite", "postgresql": "PostgreSQL"}


@dataclass(frozen=True, slots=True)
class Sample:
    """The state of the service at one moment."""

    seconds: float
    megabytes: float
    """Resident memory of the largest process."""
    descriptors: int
    threads: int
    wal: float
    log: float
    """Sizes of the write-ahead log and of the log in megabytes."""


@dataclass(slots=True)
class Soak:
    """A running service, the visits to it, and what was measured."""

    service: Measured
    node: Measured
    bucket: KeyedBucket
    visitors: Visitors
    log: Path
    wal: Callable[[], int]
    cut: Callable[[], Awaitable[None]]
    """Disturbs the database for a moment."""
    seconds: float
    began: float = field(default_factory=time.monotonic)
    samples: list[Sample] = field(default_factory=list)
    latencies: list[tuple[float, float]] = field(default_factory=list)
    """The time and the latency in seconds of each visit while nothing was broken."""
    visits: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    tolerated: int = 0
    missed: int = 0
    """Number of visits that were not made, because too many were overdue."""
    failures: list[str] = field(default_factory=list)
    stalls: int = 0
    """Number of moments at which the machine was too busy to run a process of this run."""
    _broken: int = 0
    _stalled_until: float = 0.0
    _due: asyncio.Queue[float | None] = field(default_factory=asyncio.Queue)
    """When the next visits are due. None ends a sender."""

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self.began

    @property
    def warm_seconds(self) -> float:
        return min(WARM_SECONDS, self.seconds / 2)

    @property
    def restart_seconds(self) -> float:
        return min(RESTART_SECONDS, self.seconds / 4)

    @property
    def window_seconds(self) -> float:
        return min(WINDOW_SECONDS, (self.seconds - self.warm_seconds) / 3)

    async def calibrate(self) -> float:
        """Send visits as fast as possible, and return half of their rate."""
        left = iter(range(CALIBRATION))

        async def send() -> None:
            connection = Connection(self.service.port)
            for _ in left:
                await self.visitors.draw()[1](connection)
            connection.close()

        began = time.monotonic()
        await asyncio.gather(*(send() for _ in range(CONNECTIONS)))
        return CALIBRATION / (time.monotonic() - began) / 2

    async def run(self, rate: float) -> None:
        """Send visits at this rate, break things, and measure."""
        self.began = time.monotonic()
        senders = [asyncio.create_task(self._send()) for _ in range(CONNECTIONS)]
        watching = (self._sample, self._break_things, self._watch_stalls)
        watchers = [asyncio.create_task(each()) for each in watching]
        sent = 0
        while self.elapsed < self.seconds:
            while sent < self.elapsed * rate:
                if self._due.qsize() < rate * BACKLOG_SECONDS:
                    self._due.put_nowait(self.began + sent / rate)
                else:
                    self.missed += 1
                sent += 1
            await asyncio.sleep(0.01)
        for _ in senders:
            self._due.put_nowait(None)
        await asyncio.gather(*watchers, *senders)

    async def _send(self) -> None:
        connection = Connection(self.service.port)
        while (due := await self._due.get()) is not None:
            kind, visit = self.visitors.draw()
            was_broken = self._is_disturbed
            try:
                await visit(connection)
            except Failed as error:
                # Whether the machine was busy is known only some time later.
                await asyncio.sleep(2 * STALL_POLL_SECONDS)
                if was_broken or self._is_disturbed:
                    self.tolerated += 1
                else:
                    self.failures.append(f"{self.elapsed:.0f} s: {kind}: {error}")
                    print(self.failures[-1], flush=True)
            else:
                if not was_broken and not self._is_disturbed:
                    # Latency counts from when the visit was due, so time spent waiting to be sent
                    # is included.
                    self.latencies.append((due - self.began, time.monotonic() - due))
            self.visits[kind] += 1
        connection.close()

    @property
    def _is_disturbed(self) -> bool:
        return self._broken > 0 or time.monotonic() < self._stalled_until

    async def _watch_stalls(self) -> None:
        """Note when other programs have kept a process of this run from running."""
        before = self._waited()
        while self.elapsed < self.seconds:
            await asyncio.sleep(STALL_POLL_SECONDS)
            now = self._waited()
            if any(now[pid] - before.get(pid, now[pid]) > STALL_SECONDS for pid in now):
                self.stalls += 1
                self._stalled_until = time.monotonic() + SETTLE_SECONDS
            before = now

    def _waited(self) -> dict[int, float]:
        """Return the seconds that each process has waited for a core."""
        found = {}
        for pid in (os.getpid(), *self.node.pids, *self.service.pids):
            with suppress(FileNotFoundError, ProcessLookupError):
                found[pid] = int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9
        return found

    async def _sample(self) -> None:
        shown = 0.0
        while self.elapsed < self.seconds:
            await asyncio.sleep(SAMPLE_SECONDS)
            try:
                self.samples.append(self._measure())
            except (FileNotFoundError, ProcessLookupError):
                # A worker has just ended.
                continue
            if self.elapsed >= shown:
                shown += self.seconds / INTERVALS
                print(self._describe(), flush=True)

    def _measure(self) -> Sample:
        pids = self.service.pids
        return Sample(
            self.elapsed,
            self.service.memory_megabytes,
            sum(_count_entries(Path(f"/proc/{pid}/fd")) for pid in pids),
            sum(_count_entries(Path(f"/proc/{pid}/task")) for pid in pids),
            self.wal() / 1e6,
            self.log.stat().st_size / 1e6,
        )

    def _describe(self) -> str:
        last = self.samples[-1]
        return (
            f"{last.seconds:7.0f} s {self.visits.total():8d} visits {last.megabytes:7.1f} MB"
            f" {last.descriptors:4d} descriptors {last.threads:3d} threads WAL {last.wal:6.1f} MB"
            f" log {last.log:7.1f} MB {self.faults.total():3d} faults"
            f" {self.stalls:3d} stalls {len(self.failures)} failed, {self.tolerated} during those"
        )

    async def _break_things(self) -> None:
        lasting = {
            "node hangs": self._hang_node,
            "database cut": self.cut,
            "store fails": self._fail_store,
        }
        restarting = {"worker killed": self._kill_worker, "reload": self._reload}
        early, later = cycle((restarting | lasting).items()), cycle(lasting.items())
        pause = min(FAULT_SECONDS, self.restart_seconds / 6)
        while self.elapsed + pause + 2 * BROKEN_SECONDS + SETTLE_SECONDS < self.seconds:
            await asyncio.sleep(pause)
            is_late = self.elapsed + BROKEN_SECONDS + SETTLE_SECONDS > self.restart_seconds
            name, fault = next(later if is_late else early)
            self.faults[name] += 1
            if name == "reload":
                # No request may fail.
                await fault()
                continue
            self._broken += 1
            await fault()
            await self._wait_until_ready()
            await asyncio.sleep(SETTLE_SECONDS)
            self._broken -= 1
            pause = FAULT_SECONDS if is_late else pause

    async def _hang_node(self) -> None:
        for pid in self.node.pids:
            os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(BROKEN_SECONDS)
        for pid in self.node.pids:
            os.kill(pid, signal.SIGCONT)

    async def _fail_store(self) -> None:
        self.bucket.is_down = True
        await asyncio.sleep(BROKEN_SECONDS)
        self.bucket.is_down = False

    async def _kill_worker(self) -> None:
        os.kill(self.service.pids[-1], signal.SIGKILL)

    async def _reload(self) -> None:
        old = {*self.service.pids[1:]}
        os.kill(self.service.process.pid, signal.SIGHUP)
        while True:
            await asyncio.sleep(0.2)
            if not old & {*self.service.pids}:
                return

    async def _wait_until_ready(self) -> None:
        connection = Connection(self.service.port)
        await connection.wait_for(get_request("/readyz"))
        connection.close()

    def percentile(self, start: float, end: float) -> float:
        """Return the p99 in milliseconds of the visits due in this period."""
        within = sorted(took for due, took in self.latencies if start <= due < end)
        return within[min(len(within) - 1, int(0.99 * len(within)))] * 1000 if within else 0.0

    @property
    def first_p99(self) -> float:
        return self.percentile(self.warm_seconds, self.warm_seconds + self.window_seconds)

    @property
    def last_p99(self) -> float:
        return self.percentile(self.seconds - self.window_seconds, self.seconds)

    def slope(self, read: Callable[[Sample], float]) -> float:
        """Return the growth per hour since the warm-up, by least squares."""
        after = [s for s in self.samples if s.seconds > self.warm_seconds]
        hours = [s.seconds / 3600 for s in after]
        return statistics.linear_regression(hours, [read(s) for s in after]).slope

    def growth(self, read: Callable[[Sample], float]) -> float:
        """Return by how much the median of the last samples exceeds that of the first ones after
        the warm-up."""
        after = [read(s) for s in self.samples if s.seconds > self.warm_seconds]
        part = max(1, len(after) // 6)
        return statistics.median(after[-part:]) - statistics.median(after[:part])

    @property
    def has_full_caches(self) -> bool:
        """Whether the warm-up was long enough to fill the caches. If not, memory is not judged."""
        return self.warm_seconds == WARM_SECONDS

    def find_faults(self) -> list[str]:
        """Return what is wrong with the service, as sentences."""
        megabytes = ALLOWED_MEGABYTES if self.has_full_caches else math.inf
        limits: tuple[tuple[str, Callable[[Sample], float], float], ...] = (
            ("MB of memory", lambda s: s.megabytes, megabytes),
            ("descriptors", lambda s: s.descriptors, ALLOWED_DESCRIPTORS),
            ("threads", lambda s: s.threads, ALLOWED_THREADS),
        )
        grown = [
            f"{self.growth(read):+.1f} {name} since the warm-up (allowed: {allowed})."
            for name, read, allowed in limits
            if self.growth(read) > allowed
        ]
        failed = f"{len(self.failures)} visits failed while nothing was broken."
        return [*grown, *([failed] if self.failures else [])]


def _count_entries(folder: Path) -> int:
    return sum(1 for _ in folder.iterdir())


def draw(path: Path, soak: Soak, rate: float, database: str) -> None:
    """Draw the largest values and the p99 in each interval, and the log in tens of megabytes."""
    length = soak.seconds / INTERVALS
    reads: dict[str, Callable[[Sample], float]] = {
        "memory, MB": lambda s: s.megabytes,
        "descriptors": lambda s: s.descriptors,
        "threads": lambda s: s.threads,
        "WAL, MB": lambda s: s.wal,
        "log, tens of MB": lambda s: s.log / 10,
    }
    points: dict[str, list[tuple[float, float]]] = {name: [] for name in reads}
    latency = list[tuple[float, float]]()
    for number in range(INTERVALS):
        start, end = number * length, (number + 1) * length
        within = [s for s in soak.samples if start <= s.seconds < end]
        for name, read in reads.items():
            if within:
                points[name].append((end / 60, max(map(read, within))))
        if p99 := soak.percentile(start, end):
            latency.append((end / 60, p99))
    lines = [Line(name, each) for name, each in points.items()] + [Line("p99, ms", latency)]
    title = f"{TITLES[database]} at {rate:.0f} visits a second, with {soak.faults.total()} faults"
    draw_chart(path, title, ("minutes", "MB, ms, number"), lines)


def report(soak: Soak, rate: float, hours: float, database: str) -> list[str]:
    """Print and save the result. Returns what is wrong."""
    slopes = {
        "memory, kB per hour": soak.slope(lambda s: s.megabytes * 1000),
        "descriptors per hour": soak.slope(lambda s: s.descriptors),
        "threads per hour": soak.slope(lambda s: s.threads),
        "WAL, kB per hour": soak.slope(lambda s: s.wal * 1000),
        "log, kB per hour": soak.slope(lambda s: s.log * 1000),
    }
    window = soak.window_seconds / 60
    p99 = {
        f"p99 of the first {window:.0f} minutes, ms": soak.first_p99,
        f"p99 of the last {window:.0f} minutes, ms": soak.last_p99,
    }
    counts = {"visits": soak.visits.total(), "missed": soak.missed, "faults": soak.faults.total()}
    counts |= {"stalls of the machine": soak.stalls}
    counts |= {"failed during those": soak.tolerated, "failed otherwise": len(soak.failures)}
    counts |= {name: round(value) for name, value in (slopes | p99).items()}
    for name, count in counts.items():
        print(f"{count:10,d} {name}")
    wrong = soak.find_faults()
    print(*wrong, sep="\n")
    kinds = ", ".join(f"{name} {count}" for name, count in soak.visits.most_common())
    broken = ", ".join(f"{name} {count}" for name, count in soak.faults.items())
    save_result(
        Result(
            f"Soak on {TITLES[database]}",
            f"{rate:.0f} visits a second ({kinds}), while something breaks every minute"
            f" ({broken}).",
            counts,
            " ".join(wrong) or "nothing",
            f"make soak HOURS={hours:g} DATABASE={database}",
            round(soak.elapsed),
            exceptions=() if soak.has_full_caches else (NOT_JUDGED,),
        )
    )
    return wrong


def _hold_lock(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        time.sleep(BROKEN_SECONDS)
        connection.execute("ROLLBACK")


async def _end_connections(server: Server) -> None:
    connection = await asyncpg.connect(server.url())
    ours = "pid <> pg_backend_pid() AND datname = 'soak'"
    try:
        for _ in range(int(BROKEN_SECONDS)):
            await connection.execute(
                f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {ours}"
            )
            await asyncio.sleep(1)
    finally:
        await connection.close()


def _size_of(paths: Sequence[Path]) -> int:
    return sum(path.stat().st_size for path in paths if path.is_file())


async def soak_service(
    folder: Path, stack: ExitStack, database: str, hours: float, rate: float | None
) -> list[str]:
    """Start everything, run the soak and report it. Returns what is wrong."""
    node, rpc_url = stack.enter_context(run_node(folder / "chain"))
    pin(LOAD_CORE)
    bucket = KeyedBucket(keys={"imprint:imprint"})
    await bucket.start()
    data, log = folder / "data", folder / "service.log"
    if database == "postgresql":
        server = Server()
        stack.callback(server.stop)
        server.make()
        server.start()
        url = await server.create_database("soak")
        wal: Callable[[], int] = lambda: _size_of([*(server.folder / "data/pg_wal").iterdir()])  # noqa: E731
        cut: Callable[[], Awaitable[None]] = lambda: _end_connections(server)  # noqa: E731
    else:
        path = data / "imprint.db"
        url = f"sqlite:///{path}"
        wal = lambda: _size_of([path.with_name("imprint.db-wal")])  # noqa: E731
        cut = lambda: asyncio.to_thread(_hold_lock, path)  # noqa: E731
    settings = {
        "IMPRINT_CHAIN_FOLLOW_SECONDS": "1",
        "IMPRINT_CHAIN_TIMEOUT_SECONDS": "4",
        "IMPRINT_CONTENT_STORE": "s3://soak",
        "IMPRINT_S3_ENDPOINT": bucket.url,
        "IMPRINT_S3_ACCESS_KEY_ID": "imprint",
        "IMPRINT_S3_SECRET_ACCESS_KEY": "imprint",
        "IMPRINT_GRACE_HOURS": "0.02",
        "IMPRINT_JANITOR_SECONDS": "10",
        "IMPRINT_LOG_LEVEL": "info",
    }
    starting = run_service(data, rpc_url, url, 2, settings=settings, log=log)
    # In a thread: while starting, the service sends requests to the bucket, which this event loop
    # serves.
    service = await asyncio.to_thread(stack.enter_context, starting)
    visitors = await asyncio.to_thread(lambda: Visitors(Fixture(service, rpc_url)))
    await visitors.wait_until_listed()
    soak = Soak(service, node, bucket, visitors, log, wal, cut, hours * 3600)
    rate = rate or await soak.calibrate()
    print(f"{service.memory_megabytes:.1f} MB before the first of {rate:.0f} visits a second")
    try:
        await soak.run(rate)
        wrong = report(soak, rate, hours, database)
        pictures = PICTURES if os.environ.get("RECORD") else Path()
        draw(pictures / f"soak-{database}.png", soak, rate, database)
    finally:
        await asyncio.to_thread(stack.close)
        await bucket.stop()
    return wrong


def main() -> int:
    """Run the soak. Returns 1 if something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hours", type=float, default=2)
    parser.add_argument(
        "--rate", type=float, help="visits a second; half of those reached before if unset"
    )
    parser.add_argument("--database", choices=["sqlite", "postgresql"], default="sqlite")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        running = soak_service(Path(name), stack, given.database, given.hours, given.rate)
        return 1 if asyncio.run(running) else 0


if __name__ == "__main__":
    sys.exit(main())
