"""Garbage collector: destroys documents that nothing refers to any more, after a grace period.

It runs in one process at a time, under a lease: a second one could destroy a document that is
stored again between the other's check and its removal. Commands that copy documents take the same
lease to pause it.
"""

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
from imprint.metrics import DOCUMENTS_DESTROYED
from imprint.ports import Catalog, Clock, ContentStore
from imprint.ports.content import Inventory
from imprint.services.periodic_task import run_periodically

log = logging.getLogger(__name__)

BATCH = 100
"""How many documents are condemned in one transaction, so that writes do not wait for long."""

REPLAY_MEMORY = timedelta(hours=24)
"""How long deliveries and logins are remembered: many times as long as they are accepted."""

COLLECTOR_LEASE = "janitor"
"""The lease of the process that collects garbage, or has paused collection."""

LEASE_TIME = timedelta(minutes=10)
"""How long a round may take; one that takes longer stops before it removes anything more."""

RECOUNT_LEASE = "usage"
"""The lease of the process that recounts what counts for each signer."""

RECOUNT_SECONDS = 24 * 3600.0
"""Seconds between two recounts, which read all drafts."""

STRAY_BATCH = 200
"""How many documents are looked up in one transaction."""

STRAY_SECONDS = 24 * 3600.0
"""Seconds between two scans: strays come from a loss of power, so the first scan finds them all."""

PAUSE_TIMEOUT = LEASE_TIME + timedelta(minutes=1)
"""How long to wait for the lease: longer than a process that died can have held it."""

_RETRY_SECONDS = 0.2
"""Seconds between two attempts to take the lease."""

_RENEW_SECONDS = 60.0
"""Seconds between two renewals of the lease, far below its duration."""


@dataclass(frozen=True, slots=True)
class GarbageCollector:
    """Destroys documents that were detached longer than `grace` ago and that nothing refers to."""

    catalog: Catalog
    content: ContentStore
    clock: Clock
    grace: timedelta
    batch: int = BATCH
    holder: str = field(default_factory=lambda: uuid4().hex)

    async def run(self, interval: float) -> None:
        """Collect until cancelled."""
        await run_periodically("janitor", self.collect, interval)

    async def collect(self) -> int:
        """Run one round, if the lease is free; returns how many documents were destroyed."""
        now = self.clock()
        if not await self.catalog.take_lease(COLLECTOR_LEASE, self.holder, now, now + LEASE_TIME):
            return 0
        await self.catalog.prune_replays(now - REPLAY_MEMORY)
        destroyed = 0
        while count := await self._collect_batch(now):
            destroyed += count
        await self.catalog.release_lease(COLLECTOR_LEASE, self.holder)
        DOCUMENTS_DESTROYED.inc(destroyed)
        if destroyed:
            log.info("documents destroyed", extra={"count": destroyed})
        return destroyed

    async def _collect_batch(self, now: datetime) -> int:
        """Destroy the next documents; one that the store cannot remove is left for later."""
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


@dataclass(frozen=True, slots=True)
class StrayScan:
    """Finds documents that the catalog does not know, and hands them to the garbage collector.

    Only documents older than `age`, as long as a write may take, are looked at: younger ones may
    still be recorded. A stray is kept for the grace period of every detached document.
    """

    catalog: Catalog
    inventory: Inventory
    clock: Clock
    age: timedelta

    async def run(self) -> None:
        """Scan once everything that was stored before the start is old enough, and then daily."""
        age = self.age.total_seconds()
        await asyncio.sleep(age)
        await run_periodically("stocktaking", self.scan, STRAY_SECONDS, retry_after=age)

    async def scan(self) -> int:
        """Run one scan; returns how many strays were found."""
        found = 0
        for network in Network:
            async for cids in self._batches(network):
                found += await self.catalog.detach_strays(cids, network, self.clock())
        if found:
            log.warning("stray documents detached", extra={"count": found})
        return found

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


@dataclass(frozen=True, slots=True)
class UsageRecount:
    """Corrects what counts for each signer, which processes of an earlier release do not count."""

    catalog: Catalog
    clock: Clock
    holder: str = field(default_factory=lambda: uuid4().hex)

    async def run(self) -> None:
        """Recount at the start and then daily: after an upgrade both releases may have run."""
        await run_periodically("usage", self.recount, RECOUNT_SECONDS)

    async def recount(self) -> int:
        """Recount once, unless another process does; returns for how many signers it was wrong."""
        now = self.clock()
        if not await self.catalog.take_lease(RECOUNT_LEASE, self.holder, now, now + LEASE_TIME):
            return 0
        corrected = await self.catalog.recount_usage()
        await self.catalog.release_lease(RECOUNT_LEASE, self.holder)
        if corrected:
            log.warning("usage of signers corrected", extra={"count": corrected})
        return corrected


class CollectionNotPaused(Exception):
    """The garbage collector could not be paused, or may have run: documents may be missing."""


@asynccontextmanager
async def pause_collection(catalog: Catalog, clock: Clock) -> AsyncIterator[None]:
    """Hold the collector's lease, so that no process destroys a document meanwhile.

    Raises `CollectionNotPaused` if the lease cannot be taken, or was lost.
    """
    holder = uuid4().hex
    await _take_lease(catalog, clock, holder)
    renewal = asyncio.create_task(_renew_lease(catalog, clock, holder))
    try:
        yield
        if renewal.done():
            raise CollectionNotPaused(
                "Garbage collection may have run meanwhile. Please try again."
            )
    finally:
        renewal.cancel()
        with suppress(asyncio.CancelledError):
            await renewal
        await catalog.release_lease(COLLECTOR_LEASE, holder)


async def _take_lease(catalog: Catalog, clock: Clock, holder: str) -> None:
    for _ in range(int(PAUSE_TIMEOUT.total_seconds() / _RETRY_SECONDS)):
        now = clock()
        if await catalog.take_lease(COLLECTOR_LEASE, holder, now, now + LEASE_TIME):
            return
        await asyncio.sleep(_RETRY_SECONDS)
    raise CollectionNotPaused(
        "The garbage collector is running, or another command is copying documents."
    )


async def _renew_lease(catalog: Catalog, clock: Clock, holder: str) -> None:
    """Renew the lease until it is lost."""
    while True:
        await asyncio.sleep(_RENEW_SECONDS)
        now = clock()
        # If the database is unavailable for a moment, the next renewal comes long before the end.
        with suppress(Unavailable):
            if not await catalog.take_lease(COLLECTOR_LEASE, holder, now, now + LEASE_TIME):
                return
