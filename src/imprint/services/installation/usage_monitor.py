"""Measures storage usage and readiness for the metrics of a deployment.

Only one worker does this, because the values are the same in all of them.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, fields
from typing import NoReturn

from imprint.metrics import (
    DEPENDENCY_UP,
    DETACHED_BYTES,
    DRAFTS,
    POSTS,
    READY,
    STORED_BYTES,
)
from imprint.ports import Monotonic, monotonic
from imprint.ports.installation import InstallationStore
from imprint.services.installation.readiness import Condition
from imprint.services.tasks.periodic_task import run_periodically

MEASURE_SECONDS = 60.0
"""Minimum pause between two measurements, in seconds."""

SHARE = 100
"""The pause as a multiple of the duration of the last measurement.

Measuring therefore takes at most a hundredth of a core, no matter how much is stored.
"""

PROBE_SECONDS = 15.0
"""Seconds between two readiness probes for the metrics."""

_READINESS = {"ready": 2, "degraded": 1}


@dataclass(slots=True)
class UsageMonitor:
    """Sets the gauges for drafts, posts and bytes, and the gauges for readiness."""

    installation: InstallationStore
    check: Callable[[], Awaitable[Condition]]
    monotonic: Monotonic = monotonic

    async def run(self) -> NoReturn:
        """Measure until cancelled, and pause longer after a longer measurement."""
        await run_periodically("usage", self._measure_slowly, MEASURE_SECONDS, optional=True)

    async def run_probes(self) -> NoReturn:
        """Probe readiness until cancelled."""
        await run_periodically("readiness probe", self.probe, PROBE_SECONDS, optional=True)

    async def measure(self) -> None:
        """Measure the stored usage once."""
        usage = await self.installation.measure_usage()
        DRAFTS.set(usage.drafts)
        POSTS.set(usage.posts)
        STORED_BYTES.set(usage.stored_bytes)
        DETACHED_BYTES.set(usage.detached_bytes)

    async def _measure_slowly(self) -> None:
        began = self.monotonic()
        await self.measure()
        await asyncio.sleep(max(SHARE * (self.monotonic() - began) - MEASURE_SECONDS, 0))

    async def probe(self) -> None:
        """Probe readiness once."""
        condition = await self.check()
        READY.set(_READINESS.get(condition.status, 0))
        found = {each.name: getattr(condition, each.name) for each in fields(condition)}
        # `/readyz` reports a replaced history and disputed logs under `chain`.
        history, logs = found.pop("history"), found.pop("logs")
        found["chain"] = found["chain"] and history and logs
        for name, is_well in found.items():
            if isinstance(is_well, bool):
                DEPENDENCY_UP.labels(name).set(is_well)
