"""What runs beside the requests: the janitor, the follower of the chain, the watcher."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from starlette.types import ASGIApp

from imprint.bootstrap.parts import Parts
from imprint.flows.entitlement import Entitlement
from imprint.flows.following import Follower
from imprint.flows.keeping import Janitor
from imprint.flows.mirroring import Mirror
from imprint.flows.stocktaking import Stocktaking
from imprint.flows.watching import Watcher
from imprint.measures import CHORES_PUT_OFF
from imprint.settings import Settings

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""How long a chore that failed waits before it begins again."""

Chore = Callable[[], Awaitable[None]]
"""Something that runs for ever, if nothing ends it."""


def build_follower(settings: Settings, parts: Parts, mirror: Mirror | None = None) -> Follower:
    """The follower of the chain that the settings name."""
    chain = settings.chain
    return Follower(
        parts.source,
        parts.catalog,
        parts.clock,
        chain.id,
        chain.start_block,
        chain.reorg_depth,
        mirror,
    )


@dataclass(frozen=True, slots=True)
class Chores:
    """Begun with the application, and ended with it; the parts are closed last."""

    settings: Settings
    parts: Parts
    entitlement: Entitlement
    mirror: Mirror

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
            await self.parts.close()

    def _chores(self) -> Iterator[tuple[str, Chore]]:
        parts, keeping = self.parts, self.settings.keeping
        if keeping.janitor_seconds:
            grace = timedelta(hours=keeping.grace_hours)
            janitor = Janitor(parts.catalog, parts.content, parts.clock, grace)
            yield "janitor", partial(janitor.run, keeping.janitor_seconds)
            if parts.inventory is not None:
                lease = timedelta(seconds=keeping.lease_seconds)
                stock = Stocktaking(parts.catalog, parts.inventory, parts.clock, lease)
                yield "stocktaking", stock.run
        yield "mirror", self.mirror.run
        if pause := self.settings.chain.follow_seconds:
            follower = build_follower(self.settings, parts, self.mirror)
            yield "follower", partial(follower.run, pause)
            yield "watcher", partial(Watcher(parts.source, self.entitlement).run, pause)


async def _keep_up(name: str, chore: Chore) -> None:
    """Begin a chore again after a defect of ours ended it: what it does cannot be left undone."""
    while True:
        try:
            await chore()
        except Exception as error:
            CHORES_PUT_OFF.labels(name).inc()
            log.error("chore failed and begins again", exc_info=error, extra={"chore": name})
            await asyncio.sleep(PAUSE_SECONDS)
