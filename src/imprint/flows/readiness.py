"""Readiness: whether the dependencies answer, so that traffic goes only where it is served."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from imprint.domain.refusals import Unavailable
from imprint.ports import Catalog, ContentStore, MarketplaceReader

PATIENCE = 2.0
"""Seconds a dependency has to answer."""


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


@dataclass(frozen=True, slots=True)
class Readiness:
    """Asks all dependencies at once."""

    catalog: Catalog
    content: ContentStore
    marketplace: MarketplaceReader

    async def examine(self) -> Condition:
        """How the dependencies are, now."""
        probes = (self.catalog.probe, self.content.probe, self.marketplace.probe)
        return Condition(*await asyncio.gather(*map(_answers, probes)))


async def _answers(probe: Callable[[], Awaitable[None]]) -> bool:
    try:
        async with asyncio.timeout(PATIENCE):
            await probe()
    except (Unavailable, TimeoutError):
        return False
    return True
