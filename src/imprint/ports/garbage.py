"""Port for garbage collection: documents that nothing refers to, until they are destroyed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid


@dataclass(frozen=True, slots=True)
class Condemned:
    """A document to be destroyed, and the fence of its condemnation."""

    cid: Cid
    network: Network
    fence: int


class PurgeOutcome(StrEnum):
    """The state of a condemnation at the time its document was destroyed."""

    PURGED = "purged"
    PASSED = "passed"
    """Another process purged it, and nothing refers to the document."""
    PENDING = "pending"
    """A write reclaimed the document, and has not committed yet."""
    USED = "used"
    """A live file refers to the document again."""


class FenceRaised(Exception):
    """Documents were condemned since the caller read the fence: it must store its own again."""


@dataclass(frozen=True, slots=True)
class GarbageReport:
    """Documents that would be destroyed now, with the first of them, and those that will be
    later."""

    due: int
    due_bytes: int
    """The total size of those whose size is known."""
    waiting: int
    """Detached ones whose grace period is not over."""
    first: tuple[tuple[Cid, Network], ...] = ()


class GarbageStore(Protocol):
    """Documents that are detached, condemned or no longer needed."""

    async def fence(self) -> int:
        """A number that rises with every transaction that condemns documents.

        A document that may have been condemned before is stored with this number, read after the
        document was reclaimed.
        """

    async def condemn_documents(
        self, now: datetime, detached_before: datetime, limit: int, after: Condemned | None = None
    ) -> list[Condemned]:
        """Up to `limit` documents to be destroyed; they stay condemned until `purge`.

        They were detached before a moment or left by an expired intent, and no live file, thumbnail
        or running intent refers to them. Ordered by fence and cid; with `after`, only those behind
        it. Concurrent callers get the same documents.
        """

    async def is_condemned(self, condemned: Condemned) -> bool:
        """Whether this condemnation still holds, and nothing refers to the document."""

    async def purge(self, cid: Cid, network: Network, fence: int) -> PurgeOutcome:
        """Delete the record of a condemned document after the document itself is destroyed.

        Deletes nothing if the document was reclaimed, or condemned again with another fence.
        """

    async def report_garbage(
        self, now: datetime, detached_before: datetime, limit: int
    ) -> GarbageReport:
        """Up to `limit` documents that `condemn_documents` would condemn or has condemned."""

    async def find_strays(self, cids: Sequence[Cid], network: Network) -> list[Cid]:
        """Those of these documents that `detach_strays` would detach."""

    async def detach_strays(self, cids: Sequence[Cid], network: Network, at: datetime) -> int:
        """Detach those of these documents that no version, thumbnail or intent refers to.

        From then on they can be condemned like any detached document. Returns their number.
        """

    async def recount_usage(self) -> int:
        """Recompute the usage of each signer from the records, and return how many were corrected.

        Only a process of an earlier release, which does not count, causes a difference. The caller
        holds a lease: a difference must be corrected once.
        """

    async def prune_replays(self, before: datetime) -> None:
        """Delete records that are older than a moment and no longer needed.

        These are deliveries, logins, rate limits, and sessions that expired before then.
        """

    async def prune_feeds(self, before: datetime) -> None:
        """Delete private feeds that were created before then and not fetched since."""
