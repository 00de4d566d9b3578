"""Garbage collector: destroys documents that are no longer referenced, after a grace period.

It is correct with any number of concurrent collectors, no matter how long a process pauses between
two steps: see docs/decisions/collector-without-lease.md. Its lease only avoids duplicate work.
Commands that copy documents take the lease to pause collection.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial

from imprint import failpoints
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import Cid
from imprint.metrics import DOCUMENTS_DESTROYED, STRAYS_HELD
from imprint.ports import Clock, ContentStore
from imprint.ports.content import Inventory
from imprint.ports.drafts import Condemned, GarbageStore, PurgeOutcome
from imprint.ports.installation import InstallationStore, LeaseStore
from imprint.services.content.store_claim import is_own_store
from imprint.services.tasks.leases import COLLECTOR_LEASE, LEASE_TIME, hold_lease, name_holder
from imprint.services.tasks.periodic_task import run_periodically

log = logging.getLogger(__name__)

BATCH = 100
"""Number of documents marked for deletion per transaction. A small number keeps writes fast."""

REPLAY_MEMORY = timedelta(hours=24)
"""How long records of deliveries and logins are kept, far longer than the service accepts them."""

FEED_MEMORY = timedelta(days=180)
"""How long an unused private feed is kept."""

RECOUNT_LEASE = "usage"
"""The lease of the process that recounts each signer's usage."""

RECOUNT_SECONDS = 24 * 3600.0
"""Seconds between two recounts, each of which reads all drafts."""

STRAY_BATCH = 200
"""Number of documents looked up in one transaction."""

STRAY_SECONDS = 24 * 3600.0
"""Seconds between scans for strays. Power losses leave strays, which the first scan finds."""

HELD_SECONDS = 60.0
"""Seconds between checks of held strays, since an operator may have dealt with them."""

FREE_STRAYS = 20
"""Number of strays per network that are detached without asking an operator."""

STRAY_SHARE = 100
"""Strays are detached automatically if at most one document in this many is a stray."""

SAMPLE = 100
"""Maximum number of held strays listed per network."""

NEEDED = {PurgeOutcome.USED, PurgeOutcome.PENDING}
"""Outcomes of a purge if a live file or a running write refers to the document."""

PUT_BACK_ATTEMPTS = 6
"""Number of attempts to restore a document that was destroyed by mistake."""

_LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""The detachment time given to strays that are to be destroyed immediately."""


@dataclass(frozen=True, slots=True)
class GarbageCollector:
    """Destroys documents that were detached more than `grace` ago and have no references."""

    garbage: GarbageStore
    leases: LeaseStore
    installation: InstallationStore
    content: ContentStore
    clock: Clock
    grace: timedelta
    batch: int = BATCH
    holder: str = field(default_factory=partial(name_holder, "garbage collection"))

    async def run(self, interval: float) -> None:
        """Collect garbage until cancelled."""
        await run_periodically("janitor", self.collect, interval)

    async def collect(self) -> int:
        """Run one round if the lease is free, and return the number of destroyed documents."""
        async with hold_lease(self.leases, COLLECTOR_LEASE, LEASE_TIME, self.holder) as lease:
            if lease is None:
                return 0
            now = self.clock()
            await self.garbage.prune_replays(now - REPLAY_MEMORY)
            await self.garbage.prune_feeds(now - FEED_MEMORY)
            return await self.destroy_due(lambda: lease.lost)

    async def destroy_due(
        self,
        is_over: Callable[[], bool] = lambda: False,
        progress: Callable[[int], None] = lambda destroyed: None,
    ) -> int:
        """Destroy everything that is due, until `is_over` returns true, and return the number of
        destroyed documents.

        A document that the store cannot remove is left for the next round. If the store fails for a
        whole batch and does not respond, the remaining documents are left, too. Nothing is
        destroyed in a store that is not marked as this installation's. Raises `Unavailable` if that
        cannot be checked.
        """
        now = self.clock()
        destroyed, last = 0, None
        while await is_own_store(self.installation, self.content) and (
            batch := await self.garbage.condemn_documents(now, now - self.grace, self.batch, last)
        ):
            removed = 0
            for condemned in batch:
                if is_over():
                    return destroyed
                try:
                    gone = await self._destroy(condemned)
                except Unavailable:
                    log.warning("a document cannot be destroyed yet", extra={"cid": condemned.cid})
                    continue
                removed += 1
                destroyed += gone
                DOCUMENTS_DESTROYED.inc(gone)
                progress(destroyed)
            if not removed and not await self._is_store_there():
                break
            last = batch[-1]
        if destroyed:
            log.info("documents destroyed", extra={"count": destroyed})
        return destroyed

    async def _is_store_there(self) -> bool:
        """Whether the store responds. If not, no more documents are marked for deletion."""
        try:
            await self.content.probe()
        except Unavailable:
            return False
        return True

    async def _destroy(self, condemned: Condemned) -> bool:
        """Destroy a document unless it is needed again, and return whether it was destroyed."""
        cid, network, fence = condemned.cid, condemned.network, condemned.fence
        failpoints.reach("after_condemn")
        if not await self.garbage.is_condemned(condemned):
            return False
        kept = await self._keep(condemned)
        await self.content.remove(cid, network, fence)
        failpoints.reach("after_remove")
        outcome = await self.garbage.purge(cid, network, fence)
        failpoints.reach("after_purge")
        if outcome in NEEDED:
            await self._put_back(condemned, kept, outcome)
        return outcome is PurgeOutcome.PURGED

    async def _keep(self, condemned: Condemned) -> bytes | None:
        """Return the bytes of a public document, in case a write needs it again during removal.

        Some stores compare the fence and destroy the document in two steps. If a document were
        written in between, it would be lost.
        """
        if condemned.network is Network.PRIVATE:
            return None
        # A damaged or unreadable document is destroyed anyway.
        with suppress(Unavailable):
            return await self.content.read(condemned.cid, condemned.network)
        return None

    async def _put_back(
        self, condemned: Condemned, kept: bytes | None, outcome: PurgeOutcome
    ) -> None:
        """Store a document again if it was needed during its removal and the store has lost it."""
        cid, network = condemned.cid, condemned.network
        pause = 1.0
        for attempt in range(PUT_BACK_ATTEMPTS):
            with suppress(Unavailable):
                if await self.content.read(cid, network) is not None:
                    return
                # Meanwhile, the document may have been dropped, and destroyed by another collector.
                outcome = await self.garbage.purge(cid, network, condemned.fence)
                if outcome not in NEEDED:
                    return
                if kept is None:
                    break
                fence = await self.garbage.fence()
                await self.content.put(cid, kept, network, None, fence)
                if outcome is PurgeOutcome.USED:
                    log.critical(
                        "a document in use was destroyed, and is restored", extra={"cid": cid}
                    )
                # This detaches the document only if it is no longer needed by now. Otherwise, an
                # unneeded document would stay forever.
                await self.garbage.detach_strays([cid], network, self.clock())
                return
            if attempt < PUT_BACK_ATTEMPTS - 1:
                await asyncio.sleep(pause)
                pause *= 2
        if outcome is PurgeOutcome.USED:
            log.critical(
                "a document in use was destroyed, and cannot be restored", extra={"cid": cid}
            )


@dataclass(slots=True)
class StrayScan:
    """Finds documents that the catalog does not list, and hands them to the garbage collector.

    Only documents older than `age`, the longest duration of a write, are checked, because younger
    documents may not be recorded yet. A stray is kept for the same grace period as every detached
    document.

    If there are more strays than a power loss would leave, the catalog is probably the wrong one,
    or an old copy. In this case, the strays are `held` until an operator decides.
    """

    garbage: GarbageStore
    installation: InstallationStore
    inventory: Inventory
    clock: Clock
    age: timedelta
    held: int = 0
    _sample: dict[Network, list[Cid]] = field(default_factory=dict)

    async def run(self) -> None:
        """Scan as soon as all documents stored before the start are old enough, and then daily.

        While strays are held, check every minute whether they are still there.
        """
        age = self.age.total_seconds()
        await asyncio.sleep(age)
        await run_periodically("stocktaking", self._scan_and_wait, 0.0, retry_after=age)

    def holds_nothing(self) -> bool:
        """Whether no strays are held for an operator."""
        return not self.held

    async def _scan_and_wait(self) -> None:
        await self.scan()
        left = STRAY_SECONDS
        while left > 0:
            await asyncio.sleep(HELD_SECONDS)
            left -= HELD_SECONDS
            if self.held and not await self._still_held():
                return

    async def scan(self) -> int:
        """Run one scan and return the number of detached strays.

        Detaches nothing in a store that is not marked as this installation's. Raises
        `Unavailable`.
        """
        detached, held = 0, 0
        if not await is_own_store(self.installation, self.inventory):
            return 0
        sample: dict[Network, list[Cid]] = {}
        for network in Network:
            found = await self.count(network)
            if found.held:
                held += found.strays
                sample[network] = found.first
            elif found.strays:
                detached += await self._detach(network, found.bound)
        self._note(held, sample)
        if detached:
            log.warning("stray documents detached", extra={"count": detached})
        return detached

    async def count(self, network: Network) -> "Strays":
        """Count the documents of a network and the strays among them."""
        listed, strays = 0, 0
        first: list[Cid] = []
        async for cids in self._batches(network):
            listed += len(cids)
            found = await self.garbage.find_strays(cids, network)
            strays += len(found)
            first += found[: SAMPLE - len(first)]
        return Strays(listed, strays, first)

    async def detach_all(self, progress: Callable[[int], None]) -> int:
        """Detach all strays for immediate destruction, on an operator's command."""
        detached = 0
        for network in Network:
            async for cids in self._batches(network):
                detached += await self.garbage.detach_strays(cids, network, _LONG_AGO)
                progress(detached)
        self._note(0, {})
        return detached

    async def _detach(self, network: Network, bound: int) -> int:
        """Detach at most `bound` strays, because there may be more by now."""
        detached = 0
        async for cids in self._batches(network):
            strays = await self.garbage.find_strays(cids, network)
            if chosen := strays[: bound - detached]:
                detached += await self.garbage.detach_strays(chosen, network, self.clock())
            if detached >= bound:
                break
        return detached

    async def _still_held(self) -> bool:
        for network, cids in self._sample.items():
            if await self.garbage.find_strays(cids, network):
                return True
        return False

    def _note(self, held: int, sample: dict[Network, list[Cid]]) -> None:
        if held and held != self.held:
            log.error(
                "%d documents are not in the catalog. None of them is destroyed, because this "
                "may be the wrong catalog or an old one. Run imprint gc --dry-run to list them.",
                held,
            )
        elif self.held and not held:
            log.warning("no stray documents are held any longer")
        self.held, self._sample = held, sample
        STRAYS_HELD.set(held)

    async def _batches(self, network: Network) -> AsyncIterator[list[Cid]]:
        before = self.clock() - self.age
        batch: list[Cid] = []
        async for cid in self.inventory.list_documents(network, before):
            batch.append(cid)
            if len(batch) == STRAY_BATCH:
                yield batch
                batch = []
        if batch:
            yield batch


@dataclass(frozen=True, slots=True)
class Strays:
    """The numbers of documents and strays in a network, with a list of the first strays."""

    listed: int
    strays: int
    first: list[Cid]

    @property
    def bound(self) -> int:
        """Maximum number of strays that are detached without an operator's decision."""
        return max(FREE_STRAYS, self.listed // STRAY_SHARE)

    @property
    def held(self) -> bool:
        """Whether an operator must decide what to do with the strays."""
        return self.strays > self.bound


@dataclass(frozen=True, slots=True)
class UsageRecount:
    """Corrects the recorded usage of each signer, which older releases do not update."""

    garbage: GarbageStore
    leases: LeaseStore
    holder: str = field(default_factory=partial(name_holder, "usage recount"))

    async def run(self) -> None:
        """Recount at start-up and then daily, because an older release may run next to this one."""
        await run_periodically("usage", self.recount, RECOUNT_SECONDS)

    async def recount(self) -> int:
        """Recount once, unless another process does. Returns the number of corrected signers."""
        async with hold_lease(self.leases, RECOUNT_LEASE, LEASE_TIME, self.holder) as lease:
            if lease is None:
                return 0
            corrected = await self.garbage.recount_usage()
        if corrected:
            log.warning("usage of signers corrected", extra={"count": corrected})
        return corrected
