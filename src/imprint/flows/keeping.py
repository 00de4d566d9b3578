"""Keeping: what nobody can reach any more is destroyed, later, and only without any doubt."""

import asyncio
import logging
from dataclasses import dataclass
from datetime import timedelta

from imprint.domain.refusals import Unavailable
from imprint.measures import CHORES_PUT_OFF, DOCUMENTS_DESTROYED
from imprint.ports import Catalog, Clock, ContentStore

log = logging.getLogger(__name__)

BATCH = 100
"""How many documents one round destroys at most, so that a sweep never holds anybody up."""

DELIVERY_MEMORY = timedelta(hours=24)
"""How long a delivery is remembered: many times as long as its timestamp may be old."""


@dataclass(frozen=True, slots=True)
class Janitor:
    """Destroys documents that were detached longer than `grace` ago and are held by nothing."""

    catalog: Catalog
    content: ContentStore
    clock: Clock
    grace: timedelta

    async def sweep(self) -> int:
        """One round; how many documents were destroyed."""
        now = self.clock.now()
        condemned = await self.catalog.condemn_documents(now, now - self.grace, BATCH)
        for cid, network in condemned:
            await self.content.remove(cid, network)
            await self.catalog.bury(cid, network)
        await self.catalog.forget_deliveries(now - DELIVERY_MEMORY)
        return len(condemned)

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
