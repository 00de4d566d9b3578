"""Keeping: what nobody can reach any more is destroyed, later, and only without any doubt."""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

from imprint import failpoints
from imprint.domain.cids import Cid
from imprint.domain.errors import Unavailable
from imprint.domain.files import Network
from imprint.metrics import CHORES_PUT_OFF, DOCUMENTS_DESTROYED
from imprint.ports import Catalog, Clock, ContentStore
from imprint.ports.content import Inventory, StrayCatalog

log = logging.getLogger(__name__)

PURGE_BATCH = 100
"""How many documents are condemned at once, so that a sweep never holds anybody up."""

REPLAY_MEMORY = timedelta(hours=24)
"""How long deliveries and logins are remembered: many times as long as they may be old."""

COLLECTOR_LEASE = "janitor"
"""The lease that one process at a time holds while it sweeps: two at once could destroy a document
that was stored again between the look of the one and the hand of the other."""

LEASE_TIME = timedelta(minutes=10)
"""How long a sweep may take; one that takes longer stops before it touches anything more."""


@dataclass(frozen=True, slots=True)
class GarbageCollector:
    """Destroys documents that were detached longer than `grace` ago and are held by nothing."""

    catalog: Catalog
    content: ContentStore
    clock: Clock
    grace: timedelta
    batch: int = PURGE_BATCH
    holder: str = field(default_factory=lambda: uuid4().hex)

    async def sweep(self) -> int:
        """One round, if it is this process's turn; how many documents were destroyed."""
        now = self.clock()
        if not await self.catalog.take_lease(COLLECTOR_LEASE, self.holder, now, now + LEASE_TIME):
            return 0
        await self.catalog.prune_replays(now - REPLAY_MEMORY)
        destroyed = 0
        while swept := await self._sweep_some(now):
            destroyed += swept
        await self.catalog.release_lease(COLLECTOR_LEASE, self.holder)
        return destroyed

    async def _sweep_some(self, now: datetime) -> int:
        """How many of the next documents were destroyed; one that resists holds up no other."""
        destroyed = 0
        for cid, network in await self.catalog.condemn_documents(now, now - self.grace, self.batch):
            if self.clock() >= now + LEASE_TIME:
                return 0
            failpoints.reach("after_condemn")
            try:
                await self.content.remove(cid, network)
            except Unavailable:
                log.warning("a document cannot be destroyed yet", extra={"cid": cid})
                continue
            failpoints.reach("after_remove")
            await self.catalog.purge(cid, network)
            failpoints.reach("after_purge")
            destroyed += 1
        return destroyed

    async def run(self, interval: float) -> None:
        """Sweep for ever; a dependency that is away is asked again next time."""
        while True:
            try:
                destroyed = await self.sweep()
            except Unavailable as problem:
                CHORES_PUT_OFF.labels("janitor").inc()
                log.warning("sweep put off", extra={"code": problem.code})
            else:
                DOCUMENTS_DESTROYED.inc(destroyed)
                if destroyed:
                    log.info("documents destroyed", extra={"count": destroyed})
            await asyncio.sleep(interval)


STRAY_BATCH = 200
"""How many documents one transaction looks up."""

STRAY_INTERVAL = 24 * 3600.0
"""Seconds between two rounds: strays come from a loss of power, so the first one finds them all."""


@dataclass(frozen=True, slots=True)
class StrayScan:
    """Looks at documents older than `age`, as long as a write may take: younger ones may yet be
    claimed. A stray is kept for as long as any document that something let go of."""

    catalog: StrayCatalog
    inventory: Inventory
    clock: Clock
    age: timedelta

    async def take(self) -> int:
        """One round; how many strays were found."""
        found = 0
        for network in Network:
            async for cids in self._batches(network):
                found += await self.catalog.detach_strays(cids, network, self.clock())
        return found

    async def run(self) -> None:
        """Take stock as soon as whatever was cut off at the start is old enough, and every day."""
        pause = self.age.total_seconds()
        while True:
            await asyncio.sleep(pause)
            pause = STRAY_INTERVAL
            try:
                found = await self.take()
            except Unavailable as problem:
                log.warning("stocktaking put off", extra={"code": problem.code})
                pause = self.age.total_seconds()
            else:
                if found:
                    log.warning("stray documents detached", extra={"count": found})

    async def _batches(self, network: Network) -> AsyncIterator[list[Cid]]:
        before = self.clock() - self.age
        batch: list[Cid] = []
        async for cid in self.inventory.list_documents(network, before):
            batch.append(cid)
            if len(batch) == STRAY_BATCH:
                yield batch
                batch = []
        if batch:
            yield batch


PAUSE_TIMEOUT = LEASE_TIME + timedelta(minutes=1)
"""How long to wait for the janitor: as long as a lease lasts whose holder has died."""

_RETRY_SECONDS = 0.2
"""Seconds between two attempts to take the lease."""

_RENEW_SECONDS = 60.0
"""Seconds between two prolongations: many in the time of one lease."""


class CollectionNotPaused(Exception):
    """The janitor would not wait, or did not: documents may be gone that should be copied."""


@asynccontextmanager
async def pause_collection(catalog: Catalog, clock: Clock) -> AsyncIterator[None]:
    """Hold the janitor's lease, so that no process destroys a document meanwhile.

    Raises `CollectionNotPaused` if the lease cannot be had, or was lost.
    """
    holder = uuid4().hex
    await _take_lease(catalog, clock, holder)
    keeper = asyncio.create_task(_renew_lease(catalog, clock, holder))
    try:
        yield
        if keeper.done():
            raise CollectionNotPaused("The janitor went on meanwhile. Please try again.")
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError, CollectionNotPaused):
            await keeper
        await catalog.release_lease(COLLECTOR_LEASE, holder)


async def _take_lease(catalog: Catalog, clock: Clock, holder: str) -> None:
    for _ in range(int(PAUSE_TIMEOUT.total_seconds() / _RETRY_SECONDS)):
        now = clock()
        if await catalog.take_lease(COLLECTOR_LEASE, holder, now, now + LEASE_TIME):
            return
        await asyncio.sleep(_RETRY_SECONDS)
    raise CollectionNotPaused("The janitor is at work, or somebody else copies documents.")


async def _renew_lease(catalog: Catalog, clock: Clock, holder: str) -> None:
    while True:
        await asyncio.sleep(_RENEW_SECONDS)
        now = clock()
        # A database that is away for a moment is asked again, long before the lease ends.
        with suppress(Unavailable):
            if not await catalog.take_lease(COLLECTOR_LEASE, holder, now, now + LEASE_TIME):
                return
