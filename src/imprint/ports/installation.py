"""Ports for the installation: identity, usage, keys, leases, scrubs, and the operator page."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol, runtime_checkable

from imprint.domain.drafts.files import File
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import Identity
from imprint.domain.posts.posts import EventStatus, KeptLetter, KnownEvent
from imprint.domain.posts.revisions import Revision
from imprint.domain.profiles import Profile


@dataclass(frozen=True, slots=True)
class Usage:
    """The numbers of drafts and posts, and the bytes stored, of all owners together."""

    drafts: int
    posts: int
    stored_bytes: int
    """Size in bytes of the documents of drafts and posts, including their thumbnails."""
    detached_bytes: int
    """Size in bytes of documents that were replaced or deleted but not yet destroyed."""


class InstallationStore(Protocol):
    """The records about the installation itself."""

    @property
    def identity(self) -> Identity:
        """Return the installation's identity at the time when the database was opened.

        The first process that opens a database without an ID gives it a random ID. Documents
        without an ID belong to the installation if it had records before it got its ID.
        """

    async def note_claim(self) -> None:
        """Record that the content store has been marked with the installation's ID."""

    async def rename_installation(self, new_id: str) -> None:
        """Give this catalog the identity of a new installation that has not marked a store."""

    async def count_known(self, cids: Sequence[Cid]) -> int:
        """Count the documents to which a version, thumbnail, intent or detached record refers."""

    async def measure_usage(self) -> Usage:
        """Return the usage of all owners together. Reads all live files, so call it rarely."""


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """The wrapped key of a file, which is bound to the file's name."""

    file_id: str
    name: str
    wrapped_key: bytes = field(repr=False)


class KeyStore(Protocol):
    """The wrapped keys of files, and the IDs of the master keys that wrap them."""

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        """Return up to `limit` keys after `after`, in ascending order of file ID.

        Files in every state are included.
        """

    async def replace_keys(self, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
        """Replace these wrapped keys with new keys, in one transaction.

        A record that has changed in the meantime is left unchanged. Returns the number of replaced
        keys.
        """

    async def has_wrapped_key(self, prefix: bytes) -> bool:
        """Whether a version, in any state, has a wrapped key with this prefix.

        If no version has one, this reads all keys.
        """

    async def master_keys(self) -> frozenset[bytes] | None:
        """Return the IDs of master keys that may encrypt documents, or None if never recorded."""

    async def note_master_keys(self, added: Collection[bytes], dropped: Collection[bytes]) -> None:
        """Add and remove IDs in the record of master keys, creating it if necessary."""


@dataclass(frozen=True, slots=True)
class VerifiedRecord:
    """The file of a verified record, or the damage found. `unchecked` means without a checksum."""

    position: int
    file: File | None
    damage: str | None = None
    unchecked: bool = False


class RecordStore(Protocol):
    """Records with their checksums and their tags."""

    async def verify_records(self, after: int, limit: int) -> list[VerifiedRecord]:
        """Verify up to `limit` records above a position, in ascending order of position.

        Records in every state are included.
        """

    async def fill_checksums(self, file: File) -> None:
        """Set the missing checksums of a file in its current state."""

    async def verify_profiles(self, after: str, limit: int) -> list[tuple[str, Profile | None]]:
        """Verify up to `limit` profiles above an address. A damaged profile is returned as None."""

    async def verify_revisions(self, after: str, limit: int) -> list[tuple[str, Revision | None]]:
        """Verify up to `limit` revisions above an ID. A damaged revision is returned as None."""

    async def verify_decisions(self, after: int, limit: int) -> list[tuple[int, str | None]]:
        """Verify up to `limit` of the operator's decisions above a number. Returns any damage."""

    async def compare_tags(self) -> list[str]:
        """Return the differences between the tag index and the files. Reads the whole index."""


@dataclass(frozen=True, slots=True)
class EventsToExamine:
    """Events that need the operator's attention, newest first.

    `counts` has the number of all such events by status, up to the requested maximum.
    """

    counts: Mapping[EventStatus, int]
    mismatches: tuple[KnownEvent, ...]
    dead_letters: tuple[KeptLetter, ...]


@dataclass(frozen=True, slots=True)
class DatabaseFacts:
    """The name and version of a database, and its schema number."""

    name: str
    version: str
    schema: int


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """The state of a node as known to this process. Its address omits the path and credentials."""

    address: str
    is_failing: bool
    block: int | None
    shown_ago: float | None
    """Seconds since the node first reported this block."""


class OperatorFacts(Protocol):
    """Operational data from the database.

    No query takes longer as the number of files grows.
    """

    async def events_to_examine(self, limit: int, count_to: int) -> EventsToExamine:
        """Return the newest `limit` events of each category, and their counts up to `count_to`."""

    async def last_deliveries(self, providers: Sequence[str]) -> dict[str, datetime | None]:
        """Return the time of each provider's last delivery, or None if none is recorded."""

    async def database(self) -> DatabaseFacts:
        """Return the name, version and schema number of the database."""

    async def last_backup(self) -> datetime | None:
        """Return the time up to which the last complete backup has all data, or None if there
        is none."""

    async def note_backup(self, made_at: datetime) -> None:
        """Record that a complete backup exists, which contains all data up to this time."""


@runtime_checkable
class NodeReport(Protocol):
    """A chain reader that reports the state of its nodes."""

    def nodes(self) -> list[NodeStatus]:
        """Return the nodes in order of preference."""


class DiskReport(Protocol):
    """The disks that the service writes to."""

    @property
    def floor(self) -> int:
        """The number of free bytes below which no more documents are stored."""

    def free_bytes(self) -> int | None:
        """Return the free bytes on the fullest disk, or None if no local disk is used."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The holder of a lease, and the time until the lease expires unless it is renewed."""

    holder: str
    left: timedelta
    """The remaining time, or if the lease has expired, the negative time since then."""


class LeaseStore(Protocol):
    """The leases of all processes."""

    async def take_lease(self, name: str, holder: str, length: timedelta) -> bool:
        """Take or renew a lease for this long. Returns False while another holder has it.

        Callers' wall clocks do not matter, because the time comes from the database server, or is
        the time since this machine booted. A lease whose remaining time exceeds its full length was
        taken with a wrong clock, and counts as expired.
        """

    async def release_lease(self, name: str, holder: str) -> None:
        """End a lease now, if this holder still has it."""

    async def find_lease(self, name: str) -> Lease | None:
        """Return the current or last holder of a lease, or None if there was none.

        Also returns None if a wrong clock makes the time unknown.
        """

    async def lease_age(self, name: str) -> timedelta | None:
        """Return the time since a lease was last held, or None as in `find_lease`."""
