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
"""A quota that limits nothing."""


class DraftStore(Protocol):
    """The drafts of all signers.

    Every change is one transaction, which is durable before its method returns. A nonce is spent in
    the same transaction as the signed change. A method that takes a `Write` raises `NonceUsed` if
    its signer has already spent the nonce, and otherwise spends it if and only if the change takes
    effect.
    """

    async def open_write(
        self, write: Write, rate: Rate | None, key: str, cid: Cid | None = None
    ) -> File | None:
        """Admit a write: count it, check its nonce, and find the file with this CID.

        The nonce is not checked before the file is looked up: if another attempt at the same write
        has replaced the file, this raises `NonceUsed`. Without a rate, nothing is counted. Without
        a CID, the result is None. A write over the rate raises `RateLimited`, regardless of any
        other errors.
        """

    async def open_create(
        self, write: Write, rate: Rate | None, key: str, intent: Intent, quota: Quota
    ) -> int | None:
        """Run `open_write` and then `begin_write`, in one round trip if the database allows it."""

    async def begin_write(self, intent: Intent, quota: Quota = NO_QUOTA) -> int | None:
        """Record that a document is about to be stored for a write, within the signer's quota.

        From then on, its size, and any draft that it creates, count towards the signer's quota
        until the document is destroyed. Therefore, concurrent writes cannot exceed a quota. Refuses
        with `quota_exceeded` without recording anything.

        An intent with a number higher than every earlier number of its owner reserves this number,
        and the method returns None. For any other number, the method records no intent, reserves
        the next number and returns it. The caller then begins again with a document that has this
        number, and an intent without a number. The nonce is not checked. This record alone need not
        survive a power loss.

        A document marked for deletion is reclaimed, and is not marked again until this intent ends.
        The document may still be destroyed once, so the caller stores it with a `fence` that the
        caller reads after this call. Raises `Unavailable` for storage if a process of an earlier
        release, which does not support fences, has marked the document.
        """

    async def add_draft(self, write: Write, intent: Intent, version: Version) -> File:
        """Add a new group with this version as its draft, and end the intent.

        If an earlier event names this CID and its author is the owner, the file is
        `onchain`.
        """

    async def replace_draft(
        self,
        write: Write,
        intent: Intent,
        old: Cid,
        version: Version,
        known: File | None = None,
    ) -> File | None:
        """Replace the owner's draft `old` with `version`. Returns None if `old` is no longer a
        draft.

        The old version is superseded. Hashtags and thumbnail stay with the group. `known` is the
        draft that the caller has read. A database may use `known` to save a read, but no decision
        depends on it.
        """

    async def prepare_draft(
        self,
        write: Write,
        intent: Intent,
        cid: Cid,
        hashtags: Sequence[str],
        known: File | None = None,
    ) -> File | None:
        """Set the thumbnail and hashtags of the signer's draft. The intent names the thumbnail.

        Earlier thumbnails and hashtags are replaced. Returns None if `cid` is no longer a draft of
        the signer. `known` is as in `replace_draft`.
        """

    async def delete_draft(self, write: Write, cid: Cid, known: File | None = None) -> File | None:
        """Delete the signer's draft and return its last state. Returns None if `cid` is no longer a
        draft.

        `known` is as in `replace_draft`.
        """


@dataclass(frozen=True, slots=True)
class Condemned:
    """A document to be destroyed, and the fence of its deletion mark."""

    cid: Cid
    network: Network
    fence: int


class PurgeOutcome(StrEnum):
    """The state of a deletion mark at the time when its document was destroyed."""

    PURGED = "purged"
    PASSED = "passed"
    """Another process purged the mark, and there are no references to the document."""
    PENDING = "pending"
    """A write reclaimed the document but has not committed yet."""
    USED = "used"
    """A live file refers to the document again."""


class FenceRaised(Exception):
    """Documents were marked for deletion after the fence was read. The caller must store again."""


@dataclass(frozen=True, slots=True)
class GarbageReport:
    """The numbers of documents to destroy now and later, and the first documents to destroy now."""

    due: int
    due_bytes: int
    """The total size in bytes of the due documents whose size is known."""
    waiting: int
    """Number of detached documents whose grace period is not over."""
    first: tuple[tuple[Cid, Network], ...] = ()


class GarbageStore(Protocol):
    """Documents that are detached, marked for deletion, or no longer needed."""

    async def fence(self) -> int:
        """Return a number that increases with every transaction that marks documents for deletion.

        A document that may have been marked before is stored with this number, which must
        be read after the document was reclaimed.
        """

    async def condemn_documents(
        self, now: datetime, detached_before: datetime, limit: int, after: Condemned | None = None
    ) -> list[Condemned]:
        """Mark and return up to `limit` documents to destroy. They stay marked until `purge`.

        The documents were detached before a given time or left by an expired intent, and no live
        file, thumbnail or running intent refers to them. The documents are ordered by fence and
        CID. With `after`, only documents after it are returned. Concurrent callers get the same
        documents.
        """

    async def is_condemned(self, condemned: Condemned) -> bool:
        """Whether this deletion mark is still valid and there are no references to the document."""

    async def purge(self, cid: Cid, network: Network, fence: int) -> PurgeOutcome:
        """Delete the record of a document marked for deletion, after its bytes are destroyed.

        Deletes nothing if the document was reclaimed, or marked again with another fence.
        """

    async def report_garbage(
        self, now: datetime, detached_before: datetime, limit: int
    ) -> GarbageReport:
        """Return up to `limit` documents that `condemn_documents` would mark or has marked."""

    async def find_strays(self, cids: Sequence[Cid], network: Network) -> list[Cid]:
        """Return the documents among these that `detach_strays` would detach."""

    async def detach_strays(self, cids: Sequence[Cid], network: Network, at: datetime) -> int:
        """Detach the documents among these to which no version, thumbnail or intent refers.

        From then on, they can be marked for deletion like any detached document. Returns the number
        of documents that were detached.
        """

    async def recount_usage(self) -> int:
        """Recompute each signer's usage from the records, and return the number of corrections.

        Only a process of an earlier release, which does not count usage, causes a
        difference. The caller holds a lease, because each difference must be corrected only
        once.
        """

    async def prune_replays(self, before: datetime) -> None:
        """Delete records that are older than a given time and no longer needed.

        Such records are deliveries, logins, rate limits, and sessions that expired before the given
        time.
        """

    async def prune_feeds(self, before: datetime) -> None:
        """Delete private feeds that were created before a given time and not fetched since."""
