"""Stocktaking: documents that the catalog knows nothing of are handed to the janitor."""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

from imprint.domain.cids import Cid
from imprint.domain.files import Network
from imprint.domain.refusals import Unavailable
from imprint.ports import Clock
from imprint.ports.inventory import Inventory, StrayCatalog

log = logging.getLogger(__name__)

BATCH = 200
"""How many documents one transaction looks up."""

INTERVAL = 24 * 3600.0
"""Seconds between two rounds: strays come from a loss of power, so the first one finds them all."""


@dataclass(frozen=True, slots=True)
class Stocktaking:
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
                found += await self.catalog.detach_strays(cids, network, self.clock.now())
        return found

    async def run(self) -> None:
        """Take stock as soon as whatever was cut off at the start is old enough, and every day."""
        pause = self.age.total_seconds()
        while True:
            await asyncio.sleep(pause)
            pause = INTERVAL
            try:
                found = await self.take()
            except Unavailable as problem:
                log.warning("stocktaking put off", extra={"code": problem.code})
                pause = self.age.total_seconds()
            else:
                if found:
                    log.warning("stray documents detached", extra={"count": found})

    async def _batches(self, network: Network) -> AsyncIterator[list[Cid]]:
        before = self.clock.now() - self.age
        batch: list[Cid] = []
        async for cid in self.inventory.list_documents(network, before):
            batch.append(cid)
            if len(batch) == BATCH:
                yield batch
                batch = []
        if batch:
            yield batch
