"""Readiness: whether the dependencies answer, so that traffic goes only where it is served."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from imprint.domain.errors import Unavailable
from imprint.ports import Catalog, Clock, ContentStore, MarketplaceReader
from imprint.services.single_flight import SingleFlight

PATIENCE = 2.0
"""Seconds a dependency has to answer."""

KEPT = timedelta(seconds=1)
"""How long a condition is told again: anybody may ask, and a probe writes to disks and calls."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Which dependencies answer."""

    database: bool
    storage: bool
    chain: bool

    @property
    def ready(self) -> bool:
        """Without the chain most reads still work: taking every replica out would end those too."""
        return self.database and self.storage

    @property
    def word(self) -> str:
        """The condition in one word."""
        if not self.ready:
            return "unavailable"
        return "ready" if self.chain else "degraded"


@dataclass(slots=True)
class Readiness:
    """Asks all dependencies at once, and for all who want to know at about the same time once."""

    catalog: Catalog
    content: ContentStore
    marketplace: MarketplaceReader
    clock: Clock
    _single_flight: SingleFlight[None, Condition] = field(default_factory=SingleFlight, init=False)
    _last: tuple[datetime, Condition] | None = field(default=None, init=False)

    async def examine(self) -> Condition:
        """How the dependencies are, as of at most a second ago."""
        if self._last is not None:
            seen_at, condition = self._last
            if abs(self.clock() - seen_at) < KEPT:
                return condition
        return await self._single_flight.run(None, self._probe)

    async def _probe(self) -> Condition:
        probes = (self.catalog.probe, self.content.probe, self.marketplace.probe)
        condition = Condition(*await asyncio.gather(*map(_answers, probes)))
        self._last = self.clock(), condition
        return condition


async def _answers(probe: Callable[[], Awaitable[None]]) -> bool:
    try:
        async with asyncio.timeout(PATIENCE):
            await probe()
    except (Unavailable, TimeoutError):
        return False
    return True
