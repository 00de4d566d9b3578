"""Faults that strike replicas, their database, store, node, clock and disk, and then end."""

import asyncio
import os
import random
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, closing, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tests.faults.disks import FragileDisk, fill
from tests.faults.scene import Replica, Scene
from tests.histories.clients import Stage
from tests.histories.history import FEWEST_A_SECOND, Amount
from tests.kubo.node import KuboNode
from tests.postgresql import Server
from tests.processes import has_ended
from tests.s3.server import MinioServer

SHORTEST, LONGEST = 0.1, 0.7
"""Seconds that a fault lasts."""

BEYOND_LEASE = 2.5
"""Seconds that a process is sometimes frozen, longer than the lease of its writes."""

WHOLE_REPLICAS = 8
"""One of this many kills ends a whole replica, and the others a worker that is replaced."""

CLOCKS = (-3600.0, -30.0, 30.0, 3600.0)
CLOCK_SECONDS = 1.0
"""Seconds after which a replica sees a shift of its clock."""

SLOWNESS = 3
"""A machine is too slow to load the replicas if a history has taken this many times as long as it
may take at `FEWEST_A_SECOND`."""

STUCK_SECONDS = 180.0
"""Seconds without a confirmed operation, or without a response of a replica that is about to be
killed, after which the service counts as stuck."""

POLL_SECONDS = 0.01

OPTIONAL = {"clock", "full disk", "power loss"}
"""Faults that need libfaketime or the right to mount a disk."""

Fault = Callable[[], AbstractAsyncContextManager[None]]


@dataclass(slots=True)
class Nemesis:
    """Kills replicas and causes every other fault that this machine allows, in random order."""

    scene: Scene
    stage: Stage
    chance: random.Random
    data: Path
    server: Server | None = None
    store: MinioServer | KuboNode | None = None
    disk: FragileDisk | None = None
    patience: float = STUCK_SECONDS
    happened: Counter[str] = field(default_factory=Counter)

    @property
    def faults(self) -> dict[str, Fault]:
        """The faults besides kills, by name."""
        found: dict[str, Fault] = {
            "freeze": self.freeze,
            "database": self.lock_records if self.server is None else self.kill_database,
            "store": self.lock_documents if self.store is None else self.stop_store,
            "node": self.stop_node,
        }
        if any(replica.clock is not None for replica in self.scene.replicas):
            found["clock"] = self.shift_clock
        if self.disk is not None:
            found |= {"full disk": self.fill_disk, "power loss": self.lose_power}
        return found

    async def strike(self, goal: Amount) -> None:
        """Cause faults until so many operations were confirmed and so many kills have happened.

        Both count under load. On a machine that is too slow for that, all of them count.
        Every third fault is one other than a kill, and often a kill happens during it.
        """
        began, wanted, pending = time.monotonic(), goal.operations / goal.kills, [""]
        while (progress := self.progress(goal, time.monotonic() - began)) < 1:
            self.stage.progress = progress
            await self._wait_for_operations(self.chance.uniform(0.3, 0.7) * wanted)
            if not pending:
                pending = [*self.faults, *[""] * (2 * len(self.faults))]
                self.chance.shuffle(pending)
            name = pending.pop()
            if not name:
                await self.kill()
                continue
            self.happened[name] += 1
            async with self.faults[name]():
                if self.chance.random() < 0.5:
                    await self._end_worker(self.chance.choice(self.scene.replicas))
                await self._wait()

    def progress(self, goal: Amount, seconds: float) -> float:
        """Return which part of the history is done after this many seconds, from 0 to 1."""
        history = self.stage.history
        patience = SLOWNESS * goal.operations / FEWEST_A_SECOND
        slowly = min(_share_of(goal, history.total), seconds / patience)
        return min(1.0, max(_share_of(goal, history.under_load), slowly))

    async def _wait_for_operations(self, number: float) -> None:
        """Wait until this many operations were confirmed."""
        history = self.stage.history
        goal, last, since = history.acknowledged + number, history.acknowledged, time.monotonic()
        while history.acknowledged < goal:
            if history.acknowledged > last:
                last, since = history.acknowledged, time.monotonic()
            if time.monotonic() > since + self.patience:
                raise TimeoutError("\n".join(each.process.tail() for each in self.scene.replicas))
            await asyncio.sleep(POLL_SECONDS)

    async def _wait(self) -> None:
        await asyncio.sleep(self.chance.uniform(SHORTEST, LONGEST))

    # Replicas

    async def kill(self) -> None:
        """Kill a replica that has served requests since it was last killed."""
        served = self.stage.served
        replica = self.chance.choice(self.scene.replicas)
        deadline = time.monotonic() + self.patience
        while not served[replica.url]:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{replica.name} serves nothing.\n{replica.process.tail()}")
            await asyncio.sleep(POLL_SECONDS)
        if self.chance.randrange(WHOLE_REPLICAS) == 0:
            await asyncio.to_thread(replica.process.kill)
            replica.process.spawn()
            served[replica.url] = 0
            self.stage.history.add_kill()
        else:
            await self._end_worker(replica)

    async def _end_worker(self, replica: Replica) -> None:
        """Kill the worker of a replica, which counts if it has served requests."""
        is_killed = False
        for worker in _workers_of(replica):
            with suppress(ProcessLookupError):
                os.kill(worker, signal.SIGKILL)
                is_killed = True
        if is_killed and self.stage.served[replica.url]:
            self.stage.history.add_kill()
        self.stage.served[replica.url] = 0

    @asynccontextmanager
    async def freeze(self) -> AsyncIterator[None]:
        workers = _workers_of(self.chance.choice(self.scene.replicas))
        try:
            for worker in workers:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGSTOP)
            if self.chance.random() < 0.2:
                await asyncio.sleep(BEYOND_LEASE)
            yield
        finally:
            for worker in workers:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGCONT)

    @asynccontextmanager
    async def shift_clock(self) -> AsyncIterator[None]:
        clocks = [replica.clock for replica in self.scene.replicas if replica.clock is not None]
        for clock in clocks:
            clock.set(self.chance.choice(CLOCKS))
        await asyncio.sleep(CLOCK_SECONDS)
        yield
        for clock in clocks:
            clock.set(0.0)

    # What replicas depend on

    @asynccontextmanager
    async def kill_database(self) -> AsyncIterator[None]:
        assert self.server is not None
        if self.chance.random() < 0.5:
            self.server.freeze()
            try:
                yield
            finally:
                self.server.thaw()
        else:
            await asyncio.to_thread(self.server.kill)
            yield
            await asyncio.to_thread(self.server.start)

    def lock_records(self) -> AbstractAsyncContextManager[None]:
        return _locking(self.data / "imprint.db")

    def lock_documents(self) -> AbstractAsyncContextManager[None]:
        return _locking(self.data / "content" / "private" / "small.db")

    @asynccontextmanager
    async def stop_store(self) -> AsyncIterator[None]:
        assert self.store is not None
        if isinstance(self.store, MinioServer) and self.chance.random() < 0.5:
            self.store.kill()
            yield
            await asyncio.to_thread(self.store.start)
        else:
            self.store.freeze()
            try:
                yield
            finally:
                self.store.thaw()

    @asynccontextmanager
    async def stop_node(self) -> AsyncIterator[None]:
        node = self.scene.world.node
        node.fault = lambda said: b"no JSON"
        yield
        node.fault = None

    # Disks

    @asynccontextmanager
    async def fill_disk(self) -> AsyncIterator[None]:
        assert self.disk is not None
        others = await asyncio.to_thread(fill, self.disk.folder)
        yield
        others.unlink()
        if self.server is not None and not await asyncio.to_thread(self.server.accepts):
            # PostgreSQL exits if it cannot even write its log.
            await asyncio.to_thread(self.server.kill)
            await asyncio.to_thread(self.server.start)

    @asynccontextmanager
    async def lose_power(self) -> AsyncIterator[None]:
        """Stop the disk and everything that uses it at once, and start again with what it kept."""
        assert self.disk is not None
        self.disk.lose_power()
        for replica in self.scene.replicas:
            await asyncio.to_thread(replica.process.kill)
            self.stage.served[replica.url] = 0
        if self.server is not None:
            await asyncio.to_thread(self.server.kill)
        await asyncio.to_thread(self.disk.restore_power)
        if self.server is not None:
            await asyncio.to_thread(self.server.start)
        for replica in self.scene.replicas:
            replica.process.spawn()
        yield


def _share_of(goal: Amount, reached: Amount) -> float:
    return min(reached.operations / goal.operations, reached.kills / goal.kills)


def _workers_of(replica: Replica) -> list[int]:
    """The ids of the workers of a replica that are running."""
    return [pid for pid in replica.process.children if not has_ended(pid)]


@asynccontextmanager
async def _locking(database: Path) -> AsyncIterator[None]:
    """Hold the write lock of a SQLite database, as a backup or an operator may."""
    opened = sqlite3.connect(database, 60, isolation_level=None, check_same_thread=False)
    with closing(opened) as connection:
        await asyncio.to_thread(connection.execute, "BEGIN IMMEDIATE")
        yield
        connection.execute("ROLLBACK")
