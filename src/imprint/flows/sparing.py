"""Sparing: while somebody copies documents, none is destroyed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import timedelta
from uuid import uuid4

from imprint.domain.refusals import Unavailable
from imprint.flows.keeping import LEASE, LEASE_TIME
from imprint.ports import Catalog, Clock

PATIENCE = LEASE_TIME + timedelta(minutes=1)
"""How long to wait for the janitor: as long as a lease lasts whose holder has died."""

_PAUSE = 0.2
"""Seconds between two attempts to take the lease."""

_PROLONGED = 60.0
"""Seconds between two prolongations: many in the time of one lease."""


class NotSpared(Exception):
    """The janitor would not wait, or did not: documents may be gone that should be copied."""


@asynccontextmanager
async def spare_documents(catalog: Catalog, clock: Clock) -> AsyncIterator[None]:
    """Hold the janitor's lease, so that no process destroys a document meanwhile.

    Raises `NotSpared` if the lease cannot be had, or was lost.
    """
    holder = uuid4().hex
    await _take(catalog, clock, holder)
    keeper = asyncio.create_task(_prolong(catalog, clock, holder))
    try:
        yield
        if keeper.done():
            raise NotSpared("The janitor went on meanwhile. Please try again.")
    finally:
        keeper.cancel()
        with suppress(asyncio.CancelledError, NotSpared):
            await keeper
        await catalog.release_lease(LEASE, holder)


async def _take(catalog: Catalog, clock: Clock, holder: str) -> None:
    for _ in range(int(PATIENCE.total_seconds() / _PAUSE)):
        now = clock.now()
        if await catalog.take_lease(LEASE, holder, now, now + LEASE_TIME):
            return
        await asyncio.sleep(_PAUSE)
    raise NotSpared("The janitor is at work, or somebody else copies documents.")


async def _prolong(catalog: Catalog, clock: Clock, holder: str) -> None:
    while True:
        await asyncio.sleep(_PROLONGED)
        now = clock.now()
        # A database that is away for a moment is asked again, long before the lease ends.
        with suppress(Unavailable):
            if not await catalog.take_lease(LEASE, holder, now, now + LEASE_TIME):
                return
