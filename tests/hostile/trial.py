"""One attack on a separate service that an honest client uses from another address."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx2
import msgspec
from tests.hostile.attacker import Report
from tests.hostile.honest_client import Facts, Orders, Sample
from tests.hostile.installation import Installation
from tests.hostile.registry import MAX_P99_SECONDS, MAX_RECOVERY_SECONDS, Attack, Observation
from tests.postgresql import Server
from tests.processes import PLAIN, Service

WARM_UP_SECONDS = 1.5
"""Seconds before the attack in which only the honest client is active, to warm up the service."""

RECOVERED_SECONDS = 0.5
"""Seconds for which everything must be back to normal to count as recovered."""

MAX_LEFT_OPEN = 12
"""Additional open descriptors tolerated after the attack: the honest client opens and closes
connections."""

ATTACKER, HONEST = "127.0.0.1", "127.0.0.2"
ROOT = Path(__file__).parents[2]
POLL_SECONDS = 0.1
ATTACKER_PATIENCE = 45.0
"""Seconds after which an attack that should have stopped on its own is killed."""


MOST_STARVED = 0.05
"""The fraction of an attack during which a service may wait for a CPU. Above it, the machine
is too busy, and response times say nothing about the service."""

MOST_TRIALS = 3


def try_attack(
    installation: Installation, attack: Attack, postgresql: Server | None = None
) -> Observation:
    """Attack a new service, and retry if the machine was too busy for a meaningful result."""
    for _ in range(MOST_TRIALS):
        seen = run_trial(installation, attack, postgresql)
        if not (seen.is_late and seen.starved > MOST_STARVED) and seen.took_place:
            break
    return seen


def run_trial(
    installation: Installation, attack: Attack, postgresql: Server | None = None
) -> Observation:
    """Attack a new service, and return the observations."""
    seen = Observation(attack)
    with (
        installation.serve(attack, postgresql) as (service, facts),
        _reading_honestly(service, facts) as lines,
        _attacking(service, attack) as begin,
    ):
        time.sleep(WARM_UP_SECONDS)
        _check_peace(lines)
        node, pid = installation.node, service.process.worker
        node.enlarge(facts.other_post, attack.node_bytes)
        memory_before, open_before = memory(pid), descriptors(pid)
        node_before, stored_before = node.counts, stored(service)
        Path(f"/proc/{pid}/clear_refs").write_text("5")  # reset the peak
        waited_before = waited(pid)
        report = begin()
        seen.tally, seen.began, seen.ended = report.tally, report.began, report.ended
        seen.survived = service.process.runs and service.process.children == [pid]
        if seen.survived:
            seen.starved = (waited(pid) - waited_before) / (report.ended - report.began)
            most_open = open_before + MAX_LEFT_OPEN + attack.kept_open
            ended, waited_before = time.monotonic(), waited(pid)
            seen.recovery = _await_recovery(service, lines, report.ended, most_open)
            while_recovering = (waited(pid) - waited_before) / (time.monotonic() - ended)
            seen.starved = max(seen.starved, while_recovering)
            seen.growth = memory(pid, "VmHWM") - memory_before
            seen.descriptors = (open_before, descriptors(pid))
        seen.node = (node_before, node.counts)
        seen.stored = (stored_before, stored(service))
        seen.samples, seen.log = lines.all(), service.tail(5)
    return seen


# The service's process


def memory(pid: int, name: str = "VmRSS") -> float:
    """Memory of a process in megabytes: current resident size, or peak."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    raise LookupError(name)


def waited(pid: int) -> float:
    """Seconds for which the main thread of a process, its event loop, waited for a CPU."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[1]) / 1e9


def descriptors(pid: int) -> int:
    """How many files and sockets a process has open.

    Excludes the file of small documents: each reading thread opens it once, and keeps it
    open.
    """
    opened = 0
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        # It may be closed meanwhile.
        with suppress(FileNotFoundError):
            opened += "small.db" not in descriptor.readlink().name
    return opened


def stored(service: Service) -> int:
    """Bytes in the service's folder. Files may appear and disappear while they are counted."""
    size = 0
    for file in (service.folder / "data").rglob("*"):
        with suppress(FileNotFoundError):
            size += file.stat().st_size if file.is_file() else 0
    return size


# The honest client's process


@dataclass(slots=True)
class Lines:
    """The samples that the honest client has written so far."""

    path: Path

    def all(self) -> list[Sample]:
        lines = self.path.read_bytes().split(b"\n")[:-1]
        return [msgspec.json.decode(line, type=Sample) for line in lines]

    def since(self, moment: float) -> list[Sample]:
        """Samples of requests that were sent after `moment`."""
        return [each for each in self.all() if each.at >= moment]


@contextmanager
def _reading_honestly(service: Service, facts: Facts) -> Iterator[Lines]:
    orders = Orders("127.0.0.1", service.port, HONEST, facts)
    path = service.folder / "honest.jsonl"
    command = [sys.executable, "-m", "tests.hostile.honest_client", msgspec.json.encode(orders)]
    with path.open("wb") as sink, (service.folder / "honest.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=ROOT, stdout=sink, stderr=log)
    try:
        deadline = time.monotonic() + 60
        while not path.stat().st_size:
            assert process.poll() is None, (service.folder / "honest.log").read_text()
            assert time.monotonic() < deadline, "the honest client did not start"
            time.sleep(POLL_SECONDS)
        yield Lines(path)
    finally:
        process.kill()
        process.wait()


def _check_peace(lines: Lines) -> None:
    """Check that nothing is refused before the attack. Otherwise the attack would prove nothing."""
    refused = [each for each in lines.all() if each.status != 200]
    assert not refused, f"refused before the attack: {refused[:3]}"


# The attacker's process


@contextmanager
def _attacking(service: Service, attack: Attack) -> Iterator[Callable[[], Report]]:
    """Start an idle attacker. Yields a function that runs the attack and returns its report."""
    command = [sys.executable, "-m", "tests.hostile", attack.name, "--address", service.url]
    command += ["--source", ATTACKER, "--seconds", str(attack.seconds), "--wait", "--json"]
    path = service.folder / "attacker.log"
    with path.open("wb") as log:
        # A real attacker has its own machine: here it must not take processor time from the
        # processes that are measured.
        process = subprocess.Popen(
            ["nice", "-n", "10", *command],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )

    def begin() -> Report:
        said, _ = process.communicate(b"\n", timeout=attack.seconds + ATTACKER_PATIENCE)
        assert process.returncode == 0, path.read_text()[-4000:]
        return msgspec.json.decode(said, type=Report)

    try:
        yield begin
    finally:
        process.kill()
        process.communicate()


def _await_recovery(service: Service, lines: Lines, ended: float, most_open: int) -> float | None:
    """Return the seconds from the end of the attack to full recovery, or None if it took too
    long."""
    since = ended
    while (now := time.monotonic()) < ended + MAX_RECOVERY_SECONDS + RECOVERED_SECONDS:
        samples = lines.since(since)
        bad = [each for each in samples if not _is_normal(each)]
        if bad:
            since = max(each.ended for each in bad)
        elif descriptors(service.process.worker) > most_open:
            since = now
        elif now >= since + RECOVERED_SECONDS and _is_served(samples) and _responds(service):
            return since - ended
        time.sleep(POLL_SECONDS)
    return None


def _is_normal(sample: Sample) -> bool:
    return sample.status == 200 and sample.seconds <= MAX_P99_SECONDS


def _is_served(samples: Sequence[Sample]) -> bool:
    return len(samples) >= 10


def _responds(service: Service) -> bool:
    """Whether the attacker's address is served again on a path without a rate limit."""
    try:
        return httpx2.get(f"{service.url}/healthz", timeout=1, verify=PLAIN).status_code == 200
    except httpx2.TransportError:
        return False
