"""Ports for the installation: identity, usage, keys, leases, scrubs, the operator's page."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from imprint.domain.drafts.files import File
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import Identity
from imprint.domain.posts.posts import EventStatus, KeptLetter, KnownEvent


@dataclass(frozen=True, slots=True)
class Usage:
    """How much is stored for all owners together."""

    drafts: int
    posts: int
    stored_bytes: int
    """Size in bytes of the documents of drafts and posts, with their thumbnails."""
    detached_bytes: int
    """Size in bytes of documents that were replaced or deleted and are not destroyed yet."""


class InstallationStore(Protocol):
    """The records about the installation itself."""

    @property
    def identity(self) -> Identity:
        """The identity of the installation, as it was when the database was opened.

        The first process that opens a database without an id gives it a random one. Documents
        without an id belong to it if it already had records then.
        """

    async def note_claim(self) -> None:
        """Record that the content store has been marked with the id."""

    async def rename_installation(self, new_id: str) -> None:
        """Turn this into another installation, which has not marked a store yet."""

    async def count_known(self, cids: Sequence[Cid]) -> int:
        """How many of these documents a version, thumbnail, intent or detached record refers to."""

    async def measure_usage(self) -> Usage:
        """How much is stored; reads all live files, so call it rarely."""


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """The wrapped key of one file, which is bound to the file's name."""

    file_id: str
    name: str
    wrapped_key: bytes = field(repr=False)


class KeyStore(Protocol):
    """The wrapped keys of files, and the ids of the master keys that wrap them."""

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        """Up to `limit` keys above `after` in ascending order of file id, of files in every
        state."""

    async def replace_keys(self, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
        """Replace these wrapped keys with new ones, in one transaction.

        A record that has changed meanwhile is left as it is. Returns how many were replaced.
        """

    async def has_wrapped_key(self, prefix: bytes) -> bool:
        """Whether a version, in any state, has a wrapped key with this prefix.

        Reads all of them if there is none.
        """

    async def master_keys(self) -> frozenset[bytes] | None:
        """The ids of the master keys that may encrypt documents; None if not known yet."""

    async def note_master_keys(self, added: Collection[bytes], dropped: Collection[bytes]) -> None:
        """Add and drop ids of master keys; afterwards they are known."""


@dataclass(frozen=True, slots=True)
class VerifiedRecord:
    """A verified record: its file, or what is damaged; `unchecked` if it has no checksum."""

    position: int
    file: File | None
    damage: str | None = None
    unchecked: bool = False


class RecordStore(Protocol):
    """Records with their checksums and their tags."""

    async def verify_records(self, after: int, limit: int) -> list[VerifiedRecord]:
        """Verify up to `limit` records above a position, in any state, in ascending order of
        position."""

    async def fill_checksums(self, file: File) -> None:
        """Set the missing checksums of a file in its current state."""

    async def compare_tags(self) -> list[str]:
        """The differences between the index of tags and the files; reads all of it."""


@dataclass(frozen=True, slots=True)
class EventsToExamine:
    """Events that an operator should look at, the newest first.

    `counts` are of all of them, up to the requested number.
    """

    counts: Mapping[EventStatus, int]
    mismatches: tuple[KnownEvent, ...]
    dead_letters: tuple[KeptLetter, ...]


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """The name and version of a database, and the number of its schema."""

    name: str
    version: str
    schema: int


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """What this process knows about a node; its address is without path and credentials."""

    address: str
    is_failing: bool
    block: int | None
    shown_ago: float | None
    """Seconds since the node first reported this block."""


class OperatorFacts(Protocol):
    """What the database knows about the operation of the service. No query grows with the number of
    files."""

    async def events_to_examine(self, limit: int, count_to: int) -> EventsToExamine:
        """The newest `limit` events of each kind, counted up to `count_to`."""

    async def last_deliveries(self, providers: Sequence[str]) -> dict[str, datetime | None]:
        """When each provider sent its last delivery; None if there is no record of one."""

    async def database(self) -> DatabaseFacts:
        """Name, version and schema number of the database."""

    async def last_backup(self) -> datetime | None:
        """The moment that the last complete backup reflects; None if there is none."""

    async def note_backup(self, made_at: datetime) -> None:
        """Record that a backup with everything up to this moment is complete."""


@runtime_checkable
class NodeReport(Protocol):
    """A reader of the chain that reports the state of its nodes."""

    def nodes(self) -> list[NodeStatus]:
        """The nodes in order of preference."""


class DiskReport(Protocol):
    """The disks that the service writes to."""

    @property
    def floor(self) -> int:
        """The amount of free bytes below which no more documents are stored."""

    def free_bytes(self) -> int | None:
        """The free bytes of the fullest disk; None if no local disk is used."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The holder of a lease, and how long it lasts unless it is renewed."""

    holder: str
    left: timedelta
    """Negative if it has ended: the time since then."""


class LeaseStore(Protocol):
    """The leases of all processes."""

    async def take_lease(self, name: str, holder: str, length: timedelta) -> bool:
        """Take or renew a lease for this long; False while another holder has it.

        No caller's wall clock matters: time comes from the database server, or from the time since
        this machine booted. A lease that ends later than its length from now was taken with a wrong
        clock, and counts as ended.
        """

    async def release_lease(self, name: str, holder: str) -> None:
        """End a lease now, if this holder still has it."""

    async def find_lease(self, name: str) -> Lease | None:
        """The current or last holder of a lease; None if there was none, or a wrong clock hides
        when."""

    async def lease_age(self, name: str) -> timedelta | None:
        """How long a lease has been free; zero while it is held; None as in `find_lease`."""
