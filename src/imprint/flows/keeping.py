"""Keeping: what nobody can reach any more is destroyed, later, and only without any doubt."""

import asyncio
import logging
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from uuid import uuid4

from imprint import failpoints
from imprint.domain.refusals import Unavailable
from imprint.measures import CHORES_PUT_OFF, DOCUMENTS_DESTROYED
from imprint.ports import Catalog, Clock, ContentStore

log = logging.getLogger(__name__)

BATCH = 100
"""How many documents are condemned at once, so that a sweep never holds anybody up."""

REPLAY_MEMORY = timedelta(hours=24)
"""How long deliveries and logins are remembered: many times as long as they may be old."""

LEASE = "janitor"
"""The lease that one process at a time holds while it sweeps: two at once could destroy a document
that was stored again between the look of the one and the hand of the other."""

LEASE_TIME = timedelta(minutes=10)
"""How long a sweep may take; one that takes longer stops before it touches anything more."""


@dataclass(frozen=True, slots=True)
class Janitor:
    """Destroys documents that were detached longer than `grace` ago and are held by nothing."""

    catalog: Catalog
    content: ContentStore
    clock: Clock
    grace: timedelta
    batch: int = BATCH
    holder: str = field(default_factory=lambda: uuid4().hex)

    async def sweep(self) -> int:
        """One round, if it is this process's turn; how many documents were destroyed."""
        now = self.clock.now()
        if not await self.catalog.take_lease(LEASE, self.holder, now, now + LEASE_TIME):
            return 0
        await self.catalog.forget_replays(now - REPLAY_MEMORY)
        destroyed = 0
        while swept := await self._sweep_some(now):
            destroyed += swept
        await self.catalog.release_lease(LEASE, self.holder)
        return destroyed

    async def _sweep_some(self, now: datetime) -> int:
        """How many of the next documents were destroyed; one that resists holds up no other."""
        destroyed = 0
        for cid, network in await self.catalog.condemn_documents(now, now - self.grace, self.batch):
            if self.clock.now() >= now + LEASE_TIME:
                return 0
            failpoints.reach("after_condemn")
            try:
                await self.content.remove(cid, network)
            except Unavailable:
                log.warning("a document cannot be destroyed yet", extra={"cid": cid})
                continue
            failpoints.reach("after_remove")
            await self.catalog.bury(cid, network)
            failpoints.reach("after_bury")
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
