"""Measure readers during a flood of bad contract-wallet signatures: python -m bench.flood

Readers on several local addresses use a service with default limits. In every other phase, other
addresses send contract-wallet logins with bad signatures. Needs Linux, where every address of
127.0.0.0/8 is local.
"""

import argparse
import asyncio
import random
import re
import tempfile
import time
import urllib.request
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.databases import open_databases
from bench.fixture import Fixture
from bench.loads import Outcome
from bench.processes import LOAD_CORE, free_port, pin, run_chain, run_service
from bench.wallets import get_request

READERS, READS = 4, 40
"""Number of addresses that read, and reads per second from each, below the per-client limit."""

FLOODERS = 8
"""Number of addresses that send bad signatures."""

CHECKS_PER_CLIENT = (30, 60)
CHECKS_PER_WALLET = (120, 60)
"""Default limit of signature checks per wallet, as a count and a period in seconds."""

PHASES = 6
"""Number of phases with the flood, and number without. The two kinds alternate."""

_CHANCE = random.Random(6)
"""Random generator with a fixed seed, so that every run has the same arrival times."""


@dataclass(slots=True)
class Phases:
    """Results of readers and flooders over all phases of one kind."""

    reads: Outcome = field(default_factory=Outcome)
    floods: Counter[int] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Flood:
    """Readers of one post, and flooders who together send `rate` bad signatures per second."""

    fixture: Fixture
    metrics_port: int
    read: bytes
    seconds: float
    rate: float

    async def run(self, phases: Phases, *, flooding: bool) -> None:
        """Run readers, and flooders if any, for one phase."""
        bad = self.fixture.bad_contract_logins(int(self.rate * self.seconds)) if flooding else []
        tasks = [
            self._send(f"127.0.1.{n + 1}", [self.read] * int(READS * self.seconds), phases.reads)
            for n in range(READERS)
        ]
        flood = Outcome()
        tasks += [self._send(f"127.0.2.{n + 1}", bad[n::FLOODERS], flood) for n in range(FLOODERS)]
        await asyncio.gather(*tasks)
        phases.floods += flood.statuses

    async def _send(self, address: str, requests: list[bytes], outcome: Outcome) -> None:
        """Send the requests from one address sequentially, at random times within the phase.

        Real clients are independent. If the intervals were regular, all clients would send at the
        same moment, and the same reader would always be last in the queue.
        """
        if not requests:
            return
        due = sorted(_CHANCE.uniform(0, self.seconds) for _ in requests)
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", self.fixture.service.port, local_addr=(address, 0)
        )
        began = time.perf_counter()
        for at, request in zip(due, requests, strict=True):
            await asyncio.sleep(max(0, began + at - time.perf_counter()))
            sent = time.perf_counter()
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: *(\d+)", head)
            await reader.readexactly(int(length[1]) if length else 0)
            outcome.latencies.append(time.perf_counter() - sent)
            outcome.statuses[int(head[9:12])] += 1
        writer.close()

    def questions(self) -> Counter[str]:
        """Return the number of contract signatures checked so far, by result."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics") as response:
            text = response.read().decode()
        found = re.findall(r'imprint_wallet_checks_total\{result="(\w+)"\} ([\d.]+)', text)
        return Counter({result: int(float(value)) for result, value in found})


def main() -> None:
    """Measure readers with and without the flood, and print both results and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--phases", type=int, default=PHASES, help="phases of each kind")
    parser.add_argument("--seconds", type=float, default=5.0, help="length of a phase")
    parser.add_argument("--rate", type=float, default=200.0, help="bad signatures a second")
    parser.add_argument("--only", choices=["sqlite", "postgresql"], help="one database")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        pin(LOAD_CORE)
        rpc_url = stack.enter_context(run_chain(folder / "chain"))
        for database in open_databases(stack, folder, options.only):
            port = free_port()
            settings = {"IMPRINT_RATE_LIMITS": "on", "IMPRINT_METRICS_PORT": str(port)}
            content = folder / f"content-{database.name}"
            with run_service(content, rpc_url, database.make(), settings=settings) as service:
                fixture = Fixture(service, rpc_url)
                paid, session = fixture.publish(1), fixture.session(fixture.alice)
                path = f"/fileByPostId?user={fixture.alice.address}&postId={paid}"
                read = get_request(path, session)
                flood = Flood(fixture, port, read, options.seconds, options.rate)
                _measure(database.name, flood, options.phases)


def _measure(database: str, flood: Flood, number: int) -> None:
    kinds = {False: Phases(), True: Phases()}
    asyncio.run(flood.run(Phases(), flooding=False))
    began = time.monotonic()
    for flooding, phases in list(kinds.items()) * number:
        asyncio.run(flood.run(phases, flooding=flooding))
    _print(database, kinds, flood, time.monotonic() - began)


def _print(database: str, kinds: dict[bool, Phases], flood: Flood, elapsed: float) -> None:
    table = Table(title=f"Gated reads on {database} during bad contract-wallet signatures")
    for heading in ("", "without", "with", "with / without"):
        table.add_column(heading, justify="right")
    for name, share in (("p50 ms", 0.5), ("p99 ms", 0.99)):
        without, during = (kinds[flooding].reads.percentile(share) for flooding in (False, True))
        table.add_row(name, f"{without:.2f}", f"{during:.2f}", f"{during / without:.2f}")
    table.add_row("statuses", *(str(dict(phases.reads.statuses)) for phases in kinds.values()))
    console, checks = Console(width=120), flood.questions()
    console.print(table)
    console.print(f"Flood by status: {dict(kinds[True].floods)}; signatures: {dict(checks)}.")
    asked = sum(checks[result] for result in ("accepted", "refused", "unavailable"))
    allowed = min(
        FLOODERS * _allowed(CHECKS_PER_CLIENT, elapsed),
        len(flood.fixture.contract_wallets()) * _allowed(CHECKS_PER_WALLET, elapsed),
    )
    console.print(f"A node was asked {asked} times in {elapsed:.0f} s; the limits allow {allowed}.")


def _allowed(rate: tuple[int, int], elapsed: float) -> int:
    count, seconds = rate
    return count + int(count * elapsed / seconds)


if __name__ == "__main__":
    main()
