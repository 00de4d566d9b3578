"""Replicas of the service in separate processes with one node, each with its own clock."""

import asyncio
import os
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import httpx2
from tests.crash.victim import PresentClock, settings_beside
from tests.postgresql import records_of
from tests.processes import PLAIN, Process, free_port
from tests.world import Node, Wallet, World

from imprint.devchain.chain import Chain
from imprint.devchain.deployment import deploy_marketplace
from imprint.settings import read_settings

LONG = bool(os.environ.get("LONG"))
"""Whether to run all cases rather than only a share of them."""

POLL_SECONDS = 0.05
TIMEOUT = 60.0


def find_faketime() -> Path:
    """Find the library that changes the clock of a process."""
    found = next(Path("/usr/lib").rglob("libfaketimeMT.so.1"), None)
    assert found is not None, "needs the package libfaketime: run `make test-faults`"
    return found


@dataclass(slots=True)
class WrongClock:
    """A wall clock ahead of the real one by `ahead` seconds, adjustable at run time.

    The time since boot stays correct. A process reads the clock's file each time it asks for the
    time, or once a second if `lags`, which costs much less.
    """

    file: Path
    ahead: float = 0.0
    lags: bool = False

    def set(self, ahead: float) -> None:
        """Set the clock ahead by the given number of seconds from now on."""
        self.ahead = ahead
        written = self.file.with_suffix(".new")
        written.write_text(f"{ahead:+f}\n")
        written.replace(self.file)

    @property
    def environ(self) -> dict[str, str]:
        self.set(self.ahead)
        paths = [str(Path(__file__).with_name("wrong_clock")), os.environ.get("PYTHONPATH", "")]
        return {
            "LD_PRELOAD": str(find_faketime()),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            **({"FAKETIME_CACHE_DURATION": "1"} if self.lags else {"FAKETIME_NO_CACHE": "1"}),
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
            "DONT_FAKE_MONOTONIC": "1",
            "FAKETIME_DONT_RESET": "1",
            # Otherwise, faketime makes every wait of a thread milliseconds longer.
            "FAKETIME_FORCE_MONOTONIC_FIX": "0",
            "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        }


@dataclass(slots=True)
class PresentClockAhead(PresentClock):
    """The clock of a wallet that matches a service whose clock is ahead."""

    ahead: float = 0.0

    def now(self) -> datetime:
        return PresentClock.now(self) + timedelta(seconds=self.ahead)

    @property
    def seconds(self) -> int:
        return int(time.time() + self.ahead)


def signing_ahead(wallet: Wallet, seconds: float) -> Wallet:
    """Return the same wallet for a service whose clock is ahead by `seconds`."""
    return Wallet(wallet.account, PresentClockAhead(ahead=seconds))


@dataclass(slots=True)
class Replica:
    """`imprint serve` with these settings, named without their prefix."""

    name: str
    folder: Path
    given: Mapping[str, str]
    clock: WrongClock | None = None
    command: Sequence[str] = (sys.executable, "-m", "imprint", "serve")
    port: int = field(default_factory=free_port)
    process: Process = field(init=False)

    def __post_init__(self) -> None:
        settings = {**self.given, "PORT": str(self.port)}
        environ = {f"IMPRINT_{name}": text for name, text in settings.items()}
        environ |= {} if self.clock is None else self.clock.environ
        self.process = Process(self.command, self.folder / f"{self.name}.log", environ)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def log(self) -> str:
        """Everything the replica has logged."""
        return self.process.log.read_text("utf-8", "replace")

    async def start(self, path: str = "/readyz") -> None:
        """Start the replica and wait until it responds with 200 at `path`."""
        self.process.spawn()
        await self.wait_for(200, path)

    async def wait_for(self, status: int, path: str = "/readyz", seconds: float = TIMEOUT) -> None:
        """Wait until the replica responds with this status at `path`."""
        deadline = time.monotonic() + seconds
        async with httpx2.AsyncClient(base_url=self.url, timeout=5, verify=PLAIN) as client:
            while time.monotonic() < deadline:
                assert self.process.runs, self.process.tail()
                with suppress(httpx2.TransportError):
                    if (await client.get(path)).status_code == status:
                        return
                await asyncio.sleep(POLL_SECONDS)
        raise TimeoutError(self.process.tail())

    async def wait_for_log(self, *texts: str) -> None:
        """Wait for a line with all these texts, which a worker writes shortly after an event."""
        deadline = time.monotonic() + TIMEOUT
        while not any(all(text in line for text in texts) for line in self.log.splitlines()):
            assert time.monotonic() < deadline, self.log
            await asyncio.sleep(POLL_SECONDS)


@dataclass(slots=True)
class Scene:
    """A chain with a node, wallets, and any number of replicas that share records and documents.

    `world.client` sends requests to the first replica.
    """

    folder: Path
    given: Mapping[str, str]
    world: World
    replicas: list[Replica] = field(default_factory=list)

    def replica(self, *, ahead: float | None = None, lags: bool = False, **given: str) -> Replica:
        """Create a replica, not yet running, with a clock that is wrong by `ahead` seconds."""
        name = f"replica-{len(self.replicas)}"
        clock = None if ahead is None else WrongClock(self.folder / f"{name}.clock", ahead, lags)
        made = Replica(name, self.folder, {**self.given, **given}, clock)
        self.replicas.append(made)
        if len(self.replicas) == 1:
            self.world.client.base_url = made.url
        return made


@asynccontextmanager
async def open_scene(folder: Path, **given: str) -> AsyncIterator[Scene]:
    """Open a scene in this folder, with records in SQLite or on the server of `records`.

    Background tasks are disabled unless `given` enables them.
    """
    clock = PresentClock()
    chain = Chain.open(folder / "chain.jsonl", lambda: clock.seconds)
    marketplace = deploy_marketplace(chain)
    node = Node(chain)
    await node.start()
    database = await records_of(folder)
    settings = {
        **settings_beside(node, marketplace),
        "DATA_DIR": str(folder / "data"),
        **{name.removeprefix("IMPRINT_"): text for name, text in database.items()},
        **given,
    }
    read = read_settings({f"IMPRINT_{name}": text for name, text in settings.items()})
    # Keep no idle connections, because a stopping replica would wait for them.
    limits = httpx2.Limits(max_connections=64, max_keepalive_connections=0)
    client = httpx2.AsyncClient(timeout=20, limits=limits, verify=PLAIN)
    world = World(chain, node, marketplace, read, None, None, client, clock)
    scene = Scene(folder, settings, world)
    try:
        yield scene
    finally:
        for replica in scene.replicas:
            replica.process.kill()
        await client.aclose()
        await node.stop()
        chain.close()
