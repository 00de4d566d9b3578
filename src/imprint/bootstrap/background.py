"""What runs beside the requests: the janitor, the follower of the chain, the watcher."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from starlette.types import ASGIApp

from imprint.bootstrap.adapters import Adapters
from imprint.metrics import CHORES_PUT_OFF
from imprint.services.chain_sync import Follower
from imprint.services.entitlement import Entitlement, EntitlementWatcher
from imprint.services.garbage_collector import GarbageCollector, StrayScan
from imprint.services.labels import LabelUpdater
from imprint.settings import Settings

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""How long a chore that failed waits before it begins again."""

Chore = Callable[[], Awaitable[None]]
"""Something that runs for ever, if nothing ends it."""


def build_follower(
    settings: Settings, adapters: Adapters, mirror: LabelUpdater | None = None
) -> Follower:
    """The follower of the chain that the settings name."""
    chain = settings.chain
    return Follower(
        adapters.chain,
        adapters.catalog,
        adapters.clock,
        chain.id,
        chain.start_block,
        chain.reorg_depth,
        mirror,
    )


@dataclass(frozen=True, slots=True)
class BackgroundTasks:
    """Begun with the application, and ended with it; the adapters are closed last."""

    settings: Settings
    adapters: Adapters
    entitlement: Entitlement
    mirror: LabelUpdater

    @asynccontextmanager
    async def lifespan(self, app: ASGIApp) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(_keep_up(name, chore)) for name, chore in self._chores()]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await self.adapters.close()

    def _chores(self) -> Iterator[tuple[str, Chore]]:
        adapters, keeping = self.adapters, self.settings.retention
        if keeping.janitor_seconds:
            grace = timedelta(hours=keeping.grace_hours)
            janitor = GarbageCollector(adapters.catalog, adapters.content, adapters.clock, grace)
            yield "janitor", partial(janitor.run, keeping.janitor_seconds)
            if adapters.inventory is not None:
                lease = timedelta(seconds=keeping.lease_seconds)
                stock = StrayScan(adapters.catalog, adapters.inventory, adapters.clock, lease)
                yield "stocktaking", stock.run
        yield "mirror", self.mirror.run
        if pause := self.settings.chain.follow_seconds:
            follower = build_follower(self.settings, adapters, self.mirror)
            yield "follower", partial(follower.run, pause)
            yield (
                "watcher",
                partial(EntitlementWatcher(adapters.chain, self.entitlement).run, pause),
            )


async def _keep_up(name: str, chore: Chore) -> None:
    """Begin a chore again after a defect of ours ended it: what it does cannot be left undone."""
    while True:
        try:
            await chore()
        except Exception as error:
            CHORES_PUT_OFF.labels(name).inc()
            log.error("chore failed and begins again", exc_info=error, extra={"chore": name})
            await asyncio.sleep(PAUSE_SECONDS)
