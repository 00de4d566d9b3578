"""What runs beside the requests: the janitor, the follower of the chain, the watcher."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

from starlette.types import ASGIApp

from imprint.bootstrap.parts import Parts
from imprint.flows.entitlement import Entitlement
from imprint.flows.following import Follower
from imprint.flows.keeping import Janitor
from imprint.flows.watching import Watcher
from imprint.settings import Settings


def build_follower(settings: Settings, parts: Parts) -> Follower:
    """The follower of the chain that the settings name."""
    chain = settings.chain
    return Follower(
        parts.source, parts.catalog, parts.clock, chain.id, chain.start_block, chain.reorg_depth
    )


@dataclass(frozen=True, slots=True)
class Chores:
    """Begun with the application, and ended with it; the parts are closed last."""

    settings: Settings
    parts: Parts
    entitlement: Entitlement

    @asynccontextmanager
    async def lifespan(self, app: ASGIApp) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(chore) for chore in self._begin()]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            await self.parts.close()

    def _begin(self) -> Iterator[Coroutine[None, None, None]]:
        parts, keeping = self.parts, self.settings.keeping
        if keeping.janitor_seconds:
            grace = timedelta(hours=keeping.grace_hours)
            janitor = Janitor(parts.catalog, parts.content, parts.clock, grace)
            yield janitor.run(keeping.janitor_seconds)
        if pause := self.settings.chain.follow_seconds:
            yield build_follower(self.settings, parts).run(pause)
            yield Watcher(parts.source, self.entitlement).run(pause)
