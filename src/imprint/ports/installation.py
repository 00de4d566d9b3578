"""Ports for the installation: its identity and usage, its keys, and the scrub of its records."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from imprint.domain.drafts.files import File
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import Identity


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
