"""Garbage collector: destroys documents that nothing refers to any more, after a grace period.

It runs in one process at a time, under a lease: a second one could destroy a document that is
stored again between the other's check and its removal. Commands that copy documents take the same
lease to pause it.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from imprint import failpoints
from imprint.domain.cids import Cid
from imprint.domain.errors import Unavailable
from imprint.domain.files import Network
from imprint.metrics import DOCUMENTS_DESTROYED
from imprint.ports import Catalog, Clock, ContentStore
from imprint.ports.content import Inventory
from imprint.services.leases import (
    COLLECTOR_LEASE,
    LEASE_TIME,
    HeldLease,
    hold_lease,
    name_holder,
)
from imprint.services.periodic_task import run_periodically

log = logging.getLogger(__name__)

BATCH = 100
"""How many documents are condemned in one transaction, so that writes do not wait for long."""

REPLAY_MEMORY = timedelta(hours=24)
"""How long deliveries and logins are remembered: many times as long as they are accepted."""

RECOUNT_LEASE = "usage"
"""The lease of the process that recounts what counts for each signer."""

RECOUNT_SECONDS = 24 * 3600.0
"""Seconds between two recounts, which read all drafts."""

STRAY_BATCH = 200
"""How many documents are looked up in one transaction."""

STRAY_SECONDS = 24 * 3600.0
"""Seconds between two scans: strays come from a loss of power, so the first scan finds them all."""


@dataclass(frozen=True, slots=True)
class GarbageCollector:
    """Destroys documents that were detached longer than `grace` ago and that nothing refers to."""

    catalog: Catalog
    content: ContentStore
    clock: Clock
    grace: timedelta
    batch: int = BATCH
    holder: str = field(default_factory=partial(name_holder, "garbage collection"))

    async def run(self, interval: float) -> None:
        """Collect until cancelled."""
        await run_periodically("janitor", self.collect, interval)

    async def collect(self) -> int:
        """Run one round, if the lease is free; returns how many documents were destroyed."""
        async with hold_lease(self.catalog, COLLECTOR_LEASE, LEASE_TIME, self.holder) as lease:
            if lease is None:
                return 0
            now = self.clock()
            await self.catalog.prune_replays(now - REPLAY_MEMORY)
            destroyed = 0
            while count := await self._collect_batch(now, lease):
                destroyed += count
        DOCUMENTS_DESTROYED.inc(destroyed)
        if destroyed:
            log.info("documents destroyed", extra={"count": destroyed})
        return destroyed

    async def _collect_batch(self, now: datetime, lease: HeldLease) -> int:
        """Destroy the next documents; one that the store cannot remove is left for later."""
        destroyed = 0
        for cid, network in await self.catalog.condemn_documents(now, now - self.grace, self.batch):
            if lease.lost:
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
    holder: str = field(default_factory=partial(name_holder, "usage recount"))

    async def run(self) -> None:
        """Recount at the start and then daily: after an upgrade both releases may have run."""
        await run_periodically("usage", self.recount, RECOUNT_SECONDS)

    async def recount(self) -> int:
        """Recount once, unless another process does; returns for how many signers it was wrong."""
        async with hold_lease(self.catalog, RECOUNT_LEASE, LEASE_TIME, self.holder) as lease:
            if lease is None:
                return 0
            corrected = await self.catalog.recount_usage()
        if corrected:
            log.warning("usage of signers corrected", extra={"count": corrected})
        return corrected
