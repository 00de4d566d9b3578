"""Ports for the installation: its identity and usage, its keys, and the scrub of its records."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from imprint.domain.drafts.files import File
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import Identity


@dataclass(frozen=True, slots=True)
class Usage:
    """How much is stored, of all owners together."""

    drafts: int
    posts: int
    stored_bytes: int
    """Bytes of the documents of drafts and posts, with their thumbnails."""
    detached_bytes: int
    """Bytes of documents that were replaced or deleted and are not yet destroyed."""


class InstallationStore(Protocol):
    """What the records say about the installation that they belong to."""

    @property
    def identity(self) -> Identity:
        """The identity of the installation, as it was when the database was opened.

        The first process that opens a database without an id gives it a random one. Documents
        without an id are its own if it had records by then.
        """

    async def note_claim(self) -> None:
        """Record that the content store has been marked with the id."""

    async def rename_installation(self, new_id: str) -> None:
        """Make this another installation, which has not marked a store yet."""

    async def count_known(self, cids: Sequence[Cid]) -> int:
        """How many of these documents a version, thumbnail, intent or detached record names."""

    async def measure_usage(self) -> Usage:
        """How much is stored; reads all live files, so it is for once in a while."""


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """The wrapped key of one file, which is bound to the file's name."""

    file_id: str
    name: str
    wrapped_key: bytes = field(repr=False)


class KeyStore(Protocol):
    """The wrapped keys of files, and the ids of the master keys that wrap them."""

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        """Up to `limit` keys by rising file id, those above `after`, of files in every state."""

    async def replace_keys(self, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
        """Put new wrapped keys in the places of those given, in one transaction.

        A record that changed meanwhile stays as it is. Returns how many were replaced.
        """

    async def has_wrapped_key(self, prefix: bytes) -> bool:
        """Whether a version, in any state, has a wrapped key that begins like this.

        Reads all of them if there is none.
        """

    async def master_keys(self) -> frozenset[bytes] | None:
        """The ids of the master keys that documents may be encrypted by; None if not known yet."""

    async def note_master_keys(self, added: Collection[bytes], dropped: Collection[bytes]) -> None:
        """Add and drop ids of master keys; from then on they are known."""


@dataclass(frozen=True, slots=True)
class VerifiedRecord:
    """A record that was verified: its file, or what is damaged; `unchecked` without a checksum."""

    position: int
    file: File | None
    damage: str | None = None
    unchecked: bool = False


class RecordStore(Protocol):
    """Records with their checksums and their tags."""

    async def verify_records(self, after: int, limit: int) -> list[VerifiedRecord]:
        """Verify up to `limit` records above a position, in any state, by rising position."""

    async def fill_checksums(self, file: File) -> None:
        """Set the checksums of a file, as it is now, that have none."""

    async def compare_tags(self) -> list[str]:
        """Where the index of tags differs from the files; reads all of it."""
