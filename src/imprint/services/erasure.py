"""Erasure: permanently deletes all data stored about a person or a document.

A measure first withholds the data everywhere. Then the records are deleted, and then the documents.
If a process is killed at any step, readers see no partial result, and the next run completes the
erasure.
"""

import asyncio
from dataclasses import dataclass

from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.moderation import (
    ERASED,
    Decision,
    Ground,
    Measure,
    Target,
    TargetKind,
)
from imprint.ports import Clock
from imprint.ports.installation import LeaseStore
from imprint.ports.moderation import ErasureStore, ModerationStore, PersonalRecords
from imprint.services.drafts.garbage_collector import GarbageCollector
from imprint.services.moderation import REFRESH_SECONDS, CurrentMeasures
from imprint.services.tasks.leases import pause_collection

FOLLOW_SECONDS = 2 * REFRESH_SECONDS
"""Seconds after which every running service has applied a measure."""


@dataclass(frozen=True, slots=True)
class Erased:
    """The numbers of erased files, of destroyed documents, and of documents that are still
    stored."""

    files: int
    destroyed: int
    left: int


@dataclass(frozen=True, slots=True)
class Erasure:
    """Erases all data stored about an address or a document."""

    store: ErasureStore
    moderation: ModerationStore
    measures: CurrentMeasures
    leases: LeaseStore
    collector: GarbageCollector
    clock: Clock
    follow_seconds: float = FOLLOW_SECONDS

    async def find(self, target: Target) -> PersonalRecords:
        """Return the data to erase. Refuses a target about which no data is or was stored."""
        if target.kind is TargetKind.AUTHOR:
            found = await self.store.records_of(Address(target.value))
        else:
            found = await self.store.records_with(Cid(target.value))
        if found == PersonalRecords() and not await self._is_withheld(target):
            raise Refusal(Code.NOT_FOUND, f"Nothing of {target.value} is stored here.")
        return found

    async def erase(self, target: Target) -> Erased:
        """Erase everything about a target, and destroy its documents immediately. Refuses the same
        targets as `find`."""
        found = await self.find(target)
        await self._withhold(target, found)
        if target.kind is TargetKind.AUTHOR:
            # Nothing is saved automatically from now on.
            await self.store.erase_account(Address(target.value))
        for cid in found.revisions:
            await self.store.erase_revision(cid)
        # The named document comes last, because the next run finds the others through it.
        files = sorted(
            (*found.versions, *found.drafts, *found.posts), key=lambda cid: cid == target.value
        )
        for cid in files:
            await self.store.erase_file(cid)
        if target.value in found.pictures:
            await self.store.erase_picture(Cid(target.value))
        destroyed, left = await self._destroy()
        return Erased(len(files) + len(found.revisions), destroyed, left)

    async def _withhold(self, target: Target, found: PersonalRecords) -> None:
        targets = [Target(TargetKind.CID, cid) for cid in found.pictures]
        has_files = found.drafts or found.posts or found.versions
        if target.kind is TargetKind.CID or found.profile or has_files:
            targets.insert(0, target)
        new = [each for each in dict.fromkeys(targets) if not await self._is_withheld(each)]
        for each in new:
            decision = Decision(each, Measure.WITHHELD, Ground.POLICY, ERASED, self.clock())
            await self.moderation.add_decision(decision)
        if new:
            await asyncio.sleep(self.follow_seconds)

    async def _is_withheld(self, target: Target) -> bool:
        return Measure.WITHHELD in (await self.measures.current()).on(target)

    async def _destroy(self) -> tuple[int, int]:
        async with pause_collection(self.leases, "imprint erase", self.clock) as lease:
            destroyed = await self.collector.destroy_due(lambda: lease.lost)
        now, garbage = self.clock(), self.collector.garbage
        report = await garbage.report_garbage(now, now - self.collector.grace, 0)
        return destroyed, report.due
