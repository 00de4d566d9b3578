"""The port of the catalog: records of files, nonces and events."""

from collections.abc import AsyncIterator, Collection, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from imprint.domain.drafts.files import File, Intent, Network, Quota, Version, Write
from imprint.domain.exports import ExportedFile
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import Identity
from imprint.domain.posts.lists import ListFilter
from imprint.domain.posts.posts import (
    Advance,
    ApplyResult,
    BlockRef,
    DeadLetter,
    DeliveryKey,
    EventReport,
    KnownEvent,
    PostCreated,
)
from imprint.domain.rate_limits import Rate
from imprint.domain.sessions import Session
from imprint.ports.damage import Damage
from imprint.ports.garbage import Condemned, GarbageReport, PurgeOutcome

NO_QUOTA = Quota()
"""Refuses nothing."""


class ImportOutcome(StrEnum):
    """The outcome of importing a file."""

    ADDED = "added"
    PRESENT = "present"
    """It existed before and stays as it is."""
    RETIRED = "retired"
    """It existed before, and has been replaced or deleted; it stays so."""


class ImportConflict(Exception):
    """An exported file contradicts the records of this installation; the text says how."""


class CatalogDamaged(Exception):
    """The records, or a copy of them, are damaged; the text says where."""


@dataclass(frozen=True, slots=True)
class Usage:
    """How much is stored, of all owners together."""

    drafts: int
    posts: int
    stored_bytes: int
    """Bytes of the documents of drafts and posts, with their thumbnails."""
    detached_bytes: int
    """Bytes of documents that were replaced or deleted and are not yet destroyed."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document that the catalog refers to; it is readable if its file has no wrapped key."""

    cid: Cid
    readable: bool
    size: int | None = None
    """How many bytes it has; not known of thumbnails."""


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """The wrapped key of one file, which is bound to the file's name."""

    file_id: str
    name: str
    wrapped_key: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Lease:
    """The holder of a lease, and how much longer it lasts unless it is prolonged."""

    holder: str
    left: timedelta
    """Negative if it has ended: then it was held last that long ago."""


@dataclass(frozen=True, slots=True)
class VerifiedRecord:
    """A record that was verified: its file, or what is damaged; `unchecked` without a checksum."""

    position: int
    file: File | None
    damage: str | None = None
    unchecked: bool = False


class Catalog(Protocol):
    """The records of files, nonces and events. Every change is one transaction.

    A nonce is spent in the transaction of the effect that it signs: a method that takes a `Write`
    raises `NonceUsed` if its signer has spent its nonce, and otherwise spends it if, and only if,
    the change takes effect. A change is durable before its method returns.

    A record that is damaged raises `Damaged`. While the structure of the database is known to be
    damaged, what is not found may exist: `file_by_cid`, `file_by_post_id` and `public_size` raise
    `Unavailable` then instead of returning None, and so do lists.
    """

    @property
    def damage(self) -> Damage:
        """What this process knows to be damaged."""
        ...

    # Signed writes

    async def check_nonce(self, signer: Address, nonce: str) -> None:
        """Raise `NonceUsed` if the signer has spent this nonce on a write.

        It is called before the work of a write begins; the transaction of its effect decides.
        """

    async def open_write(
        self, write: Write, rate: Rate | None, key: str, cid: Cid | None = None
    ) -> File | None:
        """Before the work of a write begins: `admit` it, `check_nonce`, and `file_by_cid`.

        Without a rate nothing is counted, and without a cid the result is None. A write that is
        not admitted raises `RateLimited`, whatever else is wrong with it.
        """

    async def open_create(
        self, write: Write, rate: Rate | None, key: str, intent: Intent, quota: Quota
    ) -> int | None:
        """As `open_write` and then `begin_write`, in one step where the database has one."""

    async def begin_write(self, intent: Intent, quota: Quota = NO_QUOTA) -> int | None:
        """Record that a document is about to be stored for a write, within the signer's quota.

        From then on its size counts for the signer, and a draft that it creates: until the write
        takes effect and beyond, or until the document is destroyed. So no number of simultaneous
        writes exceeds a quota. Refuses `quota_exceeded`, and records nothing then.

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

    async def admit(self, key: str, rate: Rate, now: datetime, cost: int = 1) -> None:
        """Count a request of `key` as `cost` of its rate, for all processes together.

        A cost above the whole rate counts as the whole. Raises `RateLimited`, with the seconds to
        wait rounded up: at least one, and no more than the period of the rate.
        """

    async def charge(self, key: str, rate: Rate, count: int, now: datetime) -> None:
        """Count so many requests of `key` more, at most until its next one has to wait."""

    async def spend_login_nonce(self, address: Address, nonce: str, at: datetime) -> int | None:
        """Spend the nonce of a login, apart from those of writes; None if it was spent before.

        Otherwise the generation of the sessions of this address, for the session that is issued.
        """

    async def add_draft(self, write: Write, intent: Intent, version: Version) -> File:
        """Add a new group with this version as its draft, and end the intent.

        If an event named this cid before and its author is the owner, the file is `onchain`.
        """

    async def replace_draft(
        self,
        write: Write,
        intent: Intent,
        old: Cid,
        version: Version,
        known: File | None = None,
    ) -> File | None:
        """Put `version` in the place of its owner's draft `old`; None if that is no longer one.

        The old version is superseded; hashtags and thumbnail stay with the group. `known` is the
        draft as the caller has read it, with which a database may be quicker; it decides nothing.
        """

    async def prepare_draft(
        self,
        write: Write,
        intent: Intent,
        cid: Cid,
        hashtags: Sequence[str],
        known: File | None = None,
    ) -> File | None:
        """Give the signer's draft the intent's document as thumbnail, and these hashtags.

        What it had before is replaced. None if `cid` is no longer a draft of the signer. `known` is
        as in `replace_draft`.
        """

    async def delete_draft(self, write: Write, cid: Cid, known: File | None = None) -> File | None:
        """Delete the signer's draft; None if `cid` is no longer one. Returns it as it was.

        `known` is as in `replace_draft`.
        """

    # Files and lists

    # With a session these refuse `session_ended` as well, whether they find anything or not. Of the
    # lists, only those of drafts take one.

    async def file_by_cid(self, cid: Cid, session: Session | None = None) -> File | None:
        """The live file with this cid."""

    async def file_by_post_id(self, post_id: int, session: Session | None = None) -> File | None:
        """The `onchain` file bound to this post id."""

    async def list_files(
        self, which: ListFilter, before: int | None, limit: int, session: Session | None = None
    ) -> list[File]:
        """Up to `limit` files with a position below `before`, by falling position."""

    async def public_size(self, cid: Cid) -> int | None:
        """The bytes of the thumbnail with this cid, if a live file has it: anybody may fetch it.

        0 if it was stored before sizes were.
        """

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        """Up to `limit` keys by rising file id, those above `after`, of files in every state."""

    async def replace_keys(self, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
        """Put new wrapped keys in the places of those given, in one transaction.

        A record that changed meanwhile stays as it is. Returns how many were replaced.
        """

    # Events of the chain

    async def apply_events(
        self,
        key: DeliveryKey | None,
        events: Sequence[PostCreated],
        dead_letters: Sequence[DeadLetter],
        at: datetime,
    ) -> ApplyResult:
        """Store and apply the events of a delivery, each once however often it is delivered.

        A delivery whose key was seen before changes nothing and is a duplicate. An event moves the
        file of its cid to `onchain` if its author is the owner; a version superseded or deleted
        whose document still exists is restored, and a newer draft of its group moves to a group of
        its own. Events that match no file are stored for a file that is added later.
        """

    async def cursor(self, chain_id: int) -> BlockRef | None:
        """The block up to which the follower has read this chain; None before the first."""

    async def final_block(self, chain_id: int) -> BlockRef | None:
        """The block that the follower stored last as final."""

    async def known_events(self, chain_id: int, first: int, last: int) -> list[KnownEvent]:
        """The canonical events in these blocks."""

    async def newest_event_block(self, chain_id: int, last: int) -> BlockRef | None:
        """The newest block up to this height that has an event which the follower has read."""

    async def oldest_event_block(self, chain_id: int) -> BlockRef | None:
        """The oldest block that has an event which the follower has read."""

    async def unconfirmed_events(self, chain_id: int, limit: int) -> list[KnownEvent]:
        """Canonical events that only deliveries have reported, the oldest first."""

    async def advance(self, chain_id: int, step: Advance, at: datetime) -> ApplyResult:
        """Apply what the follower read from the chain, in one transaction.

        Lost events are undone first: their files are drafts again, unless another canonical event
        claims them. Then the events are applied, also those that were lost before, and confirmed,
        and what deliveries said about them is corrected; then the cursor and the final block of
        the step are stored, if it has them.
        """

    async def report_events(self, limit: int) -> EventReport:
        """How many events have which status, and up to `limit` of each kind that needs attention.

        The newest come first.
        """

    # Leases and garbage

    async def take_lease(self, name: str, holder: str, length: timedelta) -> bool:
        """Take or prolong a lease for so long from now; False while another holder has it.

        No wall clock of a caller matters: the database's server, or the time since the machine was
        started, says what is now. A lease that ends later than its length from now was taken by a
        wrong clock, and counts as ended.
        """

    async def release_lease(self, name: str, holder: str) -> None:
        """End a lease now, if this holder still has it."""

    async def find_lease(self, name: str) -> Lease | None:
        """Who has a lease or had it last; None if nobody had it, or a wrong clock hides when."""

    async def lease_age(self, name: str) -> timedelta | None:
        """How long nobody has held a lease, zero while somebody does; None as in `find_lease`."""

    async def fence(self) -> int:
        """A number that rises with every transaction that condemns documents.

        Whoever stores a document that may have been condemned before stores it with this number,
        read after the document was taken back.
        """

    async def condemn_documents(
        self, now: datetime, detached_before: datetime, limit: int, after: Condemned | None = None
    ) -> list[Condemned]:
        """Up to `limit` documents to be destroyed; they stay condemned until `purge`.

        They were detached before then or left by an expired intent, and no live file, thumbnail or
        running intent refers to them. Ordered by fence and cid; with `after`, only those behind it.
        Whoever calls it at the same time gets the same documents.
        """

    async def is_condemned(self, condemned: Condemned) -> bool:
        """Whether this condemnation still holds, and nothing refers to the document."""

    async def purge(self, cid: Cid, network: Network, fence: int) -> PurgeOutcome:
        """Delete the record of a condemned document after the document itself is destroyed.

        Deletes nothing if the document was taken back, or condemned again with another fence.
        """

    async def report_garbage(
        self, now: datetime, detached_before: datetime, limit: int
    ) -> GarbageReport:
        """What `condemn_documents` would condemn, and has condemned; up to `limit` of them."""

    async def find_strays(self, cids: Sequence[Cid], network: Network) -> list[Cid]:
        """Those of these documents that `detach_strays` would detach."""

    async def detach_strays(self, cids: Sequence[Cid], network: Network, at: datetime) -> int:
        """Detach those of these documents that no version, thumbnail or intent refers to.

        From then on they can be condemned like any detached document. Returns how many there were.
        """

    async def recount_usage(self) -> int:
        """Correct what counts for each signer where the records say otherwise; returns how many.

        Only a process of an earlier release, which does not count, makes a difference. One caller
        at a time holds a lease for it: a difference must be corrected once.
        """

    async def measure_usage(self) -> Usage:
        """How much is stored; reads all live files, so it is for once in a while."""

    async def prune_replays(self, before: datetime) -> None:
        """Delete what is older and no longer needed.

        That is records of deliveries, logins, rate limits, and sessions that expired before then.
        """

    # Checks of what is stored

    async def check_files(self) -> None:
        """Raise `Unavailable` if the database is not in the files that were opened."""

    async def examine(self) -> list[str]:
        """What is damaged in the structure of the database, up to some findings; notes it.

        A server examines itself: nothing is found there.
        """

    async def warnings(self) -> list[str]:
        """What an operator should change about the database, in sentences."""

    async def verify_records(self, after: int, limit: int) -> list[VerifiedRecord]:
        """Verify up to `limit` records above a position, in any state, by rising position."""

    async def fill_checksums(self, file: File) -> None:
        """Set the checksums of a file, as it is now, that have none."""

    async def compare_tags(self) -> list[str]:
        """Where the index of tags differs from the files; reads all of it."""

    # Archives

    def walk_files(self, owner: Address | None, size: int) -> AsyncIterator[list[ExportedFile]]:
        """Every live file, or those of one owner, as they all are at one moment.

        By rising position, in lists of up to `size`. Writes go on meanwhile and are not seen; the
        database keeps the old state until the walk ends, so callers must not pause it for long.
        """

    async def documents_after(
        self, network: Network, after: str, limit: int
    ) -> list[StoredDocument]:
        """Up to `limit` documents above `after`, by rising cid, of versions in every state.

        Those are all that must be readable: of live files, and of versions that an event may
        still restore. A document that is stored meanwhile may or may not be among them.
        """

    async def compare_file(self, exported: ExportedFile) -> ImportOutcome:
        """What `import_file` would return or raise, without doing it."""

    async def import_file(
        self, exported: ExportedFile, thumbnail_size: int = 0, fence: int | None = None
    ) -> ImportOutcome:
        """Add a file whose documents are stored, with its group and its publication.

        It counts for its owner, but no quota refuses it.

        A publication counts like one that a delivery reported: the follower confirms or undoes it.
        Nonces are not touched. Raises `ImportConflict` where an id, a name, a cid, a group or a
        post id belongs to something else here.

        Condemned documents are taken back. `fence` is the one with which the documents were
        stored; raises `FenceRaised` if it is no longer the newest, because they may have been
        destroyed since.
        """

    # The installation

    @property
    def identity(self) -> Identity:
        """The identity of the installation, as it was when the catalog was opened.

        The first process that opens a catalog without an id gives it a random one. Documents
        without an id are its own if it had records by then.
        """

    async def note_claim(self) -> None:
        """Record that the content store has been marked with the id."""

    async def rename_installation(self, new_id: str) -> None:
        """Make this catalog another installation, which has not marked a store yet."""

    async def count_known(self, cids: Sequence[Cid]) -> int:
        """How many of these documents a version, thumbnail, intent or detached record names."""

    async def master_keys(self) -> frozenset[bytes] | None:
        """The ids of the master keys that documents may be encrypted by; None if not known yet."""

    async def note_master_keys(self, added: Collection[bytes], dropped: Collection[bytes]) -> None:
        """Add and drop ids of master keys; from then on they are known."""

    async def has_wrapped_key(self, prefix: bytes) -> bool:
        """Whether a version, in any state, has a wrapped key that begins like this.

        Reads all of them if there is none.
        """

    # The database

    async def probe_reads(self) -> None:
        """Return if records can be read."""

    async def probe(self, *, grow: bool = False) -> None:
        """Return if the catalog can be written to; with `grow`, also if there is space for more."""

    async def close(self) -> None:
        """Finish running transactions and close every connection."""
