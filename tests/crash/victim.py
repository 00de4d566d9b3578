"""A service in a separate process that crashes where or when a test wants it to."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import httpx2
from tests.canaries import CANARIES, RPC_PATH
from tests.crash.fork_server import Child, ForkServer
from tests.processes import Process, free_port
from tests.world import MovableClock, Node, World

from imprint.devchain.chain import Chain
from imprint.devchain.deployment import deploy_marketplace
from imprint.settings import DEVELOPMENT, read_settings

READY_POLL = 0.005
TIMEOUT = 60.0
LEASE_SECONDS = 2


class PresentClock(MovableClock):
    """The system time, for wallets that sign for a service in another process."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def __call__(self) -> datetime:
        return self.now()

    @property
    def seconds(self) -> int:
        return int(time.time())


class Running(Protocol):
    """A process, regardless of how it was started."""

    @property
    def runs(self) -> bool: ...

    def spawn(self) -> None: ...

    def wait(self, seconds: float) -> int: ...

    def kill(self) -> None: ...

    def stop(self, seconds: float = 20) -> int: ...

    def tail(self, lines: int = 40) -> str: ...


@dataclass(slots=True)
class Victim:
    """`imprint serve` on a folder, restarted as often as it is killed.

    It is started with `command` if given, and otherwise forked by the fork server.
    """

    folder: Path
    given: Mapping[str, str]
    fork_server: ForkServer
    failpoint: str = ""
    command: Sequence[str] = ()
    port: int = field(default_factory=free_port)
    process: Running = field(init=False)

    def __post_init__(self) -> None:
        settings = {"PORT": str(self.port), "DATA_DIR": str(self.folder), **self.given}
        environ = {f"IMPRINT_{name}": text for name, text in settings.items()}
        log = self.folder.with_name(f"{self.folder.name}.log")
        if self.command:
            self.process = Process(self.command, log, environ)
        else:
            self.process = Child(self.fork_server, log, environ, self.failpoint)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def start(self, client: httpx2.AsyncClient, path: str = "/readyz") -> float:
        """Start the service and wait until it responds with 200 at `path`.

        Returns the start-up time in seconds.
        """
        began = time.monotonic()
        self.process.spawn()
        while time.monotonic() < began + TIMEOUT:
            assert self.process.runs, self.process.tail()
            with suppress(httpx2.TransportError):
                if (await client.get(path)).status_code == 200:
                    return time.monotonic() - began
            await asyncio.sleep(READY_POLL)
        raise TimeoutError(self.process.tail())

    async def end(self) -> int:
        """Wait until the service ends on its own and return the exit status."""
        return await asyncio.to_thread(self.process.wait, TIMEOUT)


@dataclass(slots=True)
class Scene:
    """A service to be killed, and a world that sends requests to this service."""

    victim: Victim
    world: World


def settings_beside(node: Node, marketplace: str) -> dict[str, str]:
    """Return the settings of a service with this node. Its background tasks are disabled."""
    settings = {
        **{name.removeprefix("IMPRINT_"): text for name, text in DEVELOPMENT.items()},
        "CHAIN_RPC_URL": node.url + RPC_PATH,
        "MARKETPLACE_ADDRESS": marketplace,
        "LOGIN_DOMAINS": "imprint.test",
        "JWT_SECRET": CANARIES["JWT_SECRET"],
        "WEBHOOK_A_SECRET": "",
        "WEBHOOK_B_SECRET": "",
        "CHAIN_FOLLOW_SECONDS": "0",
        "JANITOR_SECONDS": "0",
        "SCRUB_SECONDS": "0",
    }
    settings.pop("PORT", None)
    return settings


@asynccontextmanager
async def open_scene(
    folder: Path,
    fork_server: ForkServer,
    failpoint: str = "",
    command: Sequence[str] = (),
    **given: str,
) -> AsyncIterator[Scene]:
    """Open a chain with a node, and a victim that is not running yet."""
    clock = PresentClock()
    chain = Chain.open(folder / "chain.jsonl", lambda: clock.seconds)
    marketplace = deploy_marketplace(chain)
    node = Node(chain)
    await node.start()
    environ = {
        **settings_beside(node, marketplace),
        "WRITE_LEASE_SECONDS": str(LEASE_SECONDS),
        # Any other value would cause a commit at startup, where a failpoint may be armed.
        "SHOW": "all",
        **given,
    }
    victim = Victim(folder, environ, fork_server, failpoint, command)
    settings = read_settings({f"IMPRINT_{name}": text for name, text in environ.items()})
    limits = httpx2.Limits(max_connections=64)
    try:
        async with httpx2.AsyncClient(base_url=victim.url, timeout=20, limits=limits) as client:
            adapters, app = None, None
            yield Scene(
                victim, World(chain, node, marketplace, settings, adapters, app, client, clock)
            )
    finally:
        victim.process.kill()
        await node.stop()
        chain.close()
