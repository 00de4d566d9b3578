"""Readiness: whether the dependencies respond, so that traffic is sent only where it is served."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from imprint.domain.errors import Code, Unavailable
from imprint.ports import Catalog, ContentStore, MarketplaceReader, Monotonic
from imprint.ports.content import DiskSpace
from imprint.services.chain_sync import History
from imprint.services.single_flight import SingleFlight
from imprint.services.write_health import WriteHealth

PROBE_TIMEOUT = 2.0
"""Seconds that a dependency has to respond."""

CACHE_TIME = timedelta(seconds=1)
"""How long a condition is cached: anybody may request it, and a probe writes to disk and calls the
node."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Which dependencies respond."""

    database: bool
    storage: bool
    chain: bool
    disk: bool = True
    """Whether there is disk space for more documents."""
    history: bool = True
    """Whether the chain still has what was final."""
    follower: bool = True
    """Whether some process follows the chain, if one should."""
    collector: bool = True
    """Whether some process collects garbage, if one should, and holds nothing back."""
    records: bool = True
    """Whether no damaged record or document is known."""

    @property
    def ready(self) -> bool:
        """Whether requests can be served; most work without the chain or with little disk space."""
        return self.database and self.storage

    @property
    def status(self) -> str:
        """The condition in one word."""
        if not self.ready:
            return "unavailable"
        well = self.chain and self.disk and self.history
        well = well and self.follower and self.collector and self.records
        return "ready" if well else "degraded"


@dataclass(slots=True)
class Readiness:
    """Probes all dependencies at once; concurrent callers share one probe.

    What the probes say is corrected at once by what writes get.
    """

    catalog: Catalog
    content: ContentStore
    marketplace: MarketplaceReader
    monotonic: Monotonic
    disk: DiskSpace
    examine_history: Callable[[], Awaitable[History]] | None = None
    checks: Sequence[tuple[str, Callable[[], bool]]] = ()
    """Names of members of `Condition` beside functions that say whether all is well: background
    tasks know that already. A member may have several, and is true if all of them are."""
    writes: WriteHealth = field(default_factory=WriteHealth)
    _single_flight: SingleFlight[None, Condition] = field(default_factory=SingleFlight, init=False)
    _last: tuple[float, Condition] | None = field(default=None, init=False)

    async def check(self) -> Condition:
        """The condition of the dependencies, at most `CACHE_TIME` old."""
        if self._last is not None:
            checked_at, condition = self._last
            if self.monotonic() - checked_at < CACHE_TIME.total_seconds():
                return self._corrected(condition)
        return self._corrected(await self._single_flight.run(None, self._probe))

    def _corrected(self, condition: Condition) -> Condition:
        database = condition.database and not self.writes.is_failing(Code.DATABASE_UNAVAILABLE)
        storage = condition.storage and not self.writes.is_failing(Code.STORAGE_UNAVAILABLE)
        return replace(condition, database=database, storage=storage)

    async def _probe(self) -> Condition:
        probe_catalog = self.catalog.probe
        if self.writes.is_failing(Code.DATABASE_UNAVAILABLE):
            probe_catalog = partial(self.catalog.probe, grow=True)
        probes = (probe_catalog, self.content.probe, self.marketplace.probe)
        database, storage, chain, history = await asyncio.gather(
            *map(_responds, probes), self._agrees_with_history()
        )
        if database:
            self.writes.note_probe(Code.DATABASE_UNAVAILABLE)
        if storage:
            self.writes.note_probe(Code.STORAGE_UNAVAILABLE)
        found = {"storage": storage}
        for name, is_well in self.checks:
            found[name] = is_well() and found.get(name, True)
        condition = Condition(
            database=database, chain=chain, disk=not self.disk.low, history=history, **found
        )
        self._last = self.monotonic(), condition
        return condition

    async def _agrees_with_history(self) -> bool:
        if self.examine_history is None:
            return True
        try:
            async with asyncio.timeout(PROBE_TIMEOUT):
                return await self.examine_history() is History.AGREES
        except (Unavailable, TimeoutError):
            # The probe of the chain or of the database says so.
            return True


async def _responds(probe: Callable[[], Awaitable[None]]) -> bool:
    try:
        async with asyncio.timeout(PROBE_TIMEOUT):
            await probe()
    except (Unavailable, TimeoutError):
        return False
    return True
