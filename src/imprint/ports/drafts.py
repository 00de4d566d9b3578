"""Ports for drafts: signed writes with their intents and quotas, and garbage collection."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from imprint.domain.drafts.files import File, Intent, Network, Quota, Version, Write
from imprint.domain.formats.cids import Cid
from imprint.domain.rate_limits import Rate

NO_QUOTA = Quota()
"""A check that accepts everything."""


class DraftStore(Protocol):
    """The drafts of all signers.

    Every change is one transaction, which is durable before its method returns. A nonce is spent in
    the same transaction as the change it signs: a method that takes a `Write` raises `NonceUsed` if
    its signer has already spent the nonce, and otherwise spends it if and only if the change takes
    effect.
    """

    async def open_write(
        self, write: Write, rate: Rate | None, key: str, cid: Cid | None = None
    ) -> File | None:
        """Admit a write: count it, check its nonce, and find the file with this cid.

        Without a rate nothing is counted, and without a cid the result is None. A write over the
        rate raises `RateLimited`, whatever else is wrong with it.
        """

    async def open_create(
        self, write: Write, rate: Rate | None, key: str, intent: Intent, quota: Quota
    ) -> int | None:
        """`open_write` and then `begin_write`, in one round trip if the database allows it."""

    async def begin_write(self, intent: Intent, quota: Quota = NO_QUOTA) -> int | None:
        """Record that a document is about to be stored for a write, within the signer's quota.

        From then on its size, and a draft that it creates, count towards the signer's quota, until
        the document is destroyed. So no number of concurrent writes exceeds a quota. Refuses
        `quota_exceeded` without recording anything.

        An intent with a number reserves it for its owner and returns None, if it is higher than
        every earlier number of that owner. Otherwise it records nothing, reserves the next number
        and returns that: the caller begins again with a document of that name, and an intent
        without a number. It does not check the nonce. This record alone need not survive a power
        loss.

        A condemned document is taken back: until this intent ends, it is not condemned again. It
        may still be destroyed once, so the caller stores it with a `fence` that it reads after
        this. Raises `Unavailable` for storage if a process of an earlier release, which knows no
        fences, has condemned it.
        """

    async def add_draft(self, write: Write, intent: Intent, version: Version) -> File:
        """Add a new group with this version as its draft, and end the intent.

        If an earlier event names this cid and its author is the owner, the file is `onchain`.
        """

    async def replace_draft(
        self,
        write: Write,
        intent: Intent,
        old: Cid,
        version: Version,
        known: File | None = None,
    ) -> File | None:
        """Replace its owner's draft `old` with `version`; None if `old` is no longer a draft.

        The old version is superseded; hashtags and thumbnail stay with the group. `known` is the
        draft as the caller has read it; a database may use it to save a read, but it decides
        nothing.
        """

    async def prepare_draft(
        self,
        write: Write,
        intent: Intent,
        cid: Cid,
        hashtags: Sequence[str],
        known: File | None = None,
    ) -> File | None:
        """Set the intent's document as the thumbnail of the signer's draft, and set its hashtags.

        Earlier ones are replaced. None if `cid` is no longer a draft of the signer. `known` is as
        in `replace_draft`.
        """

    async def delete_draft(self, write: Write, cid: Cid, known: File | None = None) -> File | None:
        """Delete the signer's draft and return its last state; None if `cid` is no longer a draft.

        `known` is as in `replace_draft`.
        """


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
