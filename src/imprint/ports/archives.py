"""Ports for exports, imports, backups and content migrations: their records and their files."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from imprint.domain.drafts.files import Network
from imprint.domain.exports import ExportedFile
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid


class ImportOutcome(StrEnum):
    """The outcome of importing a file."""

    ADDED = "added"
    PRESENT = "present"
    """It already existed, and is left unchanged."""
    RETIRED = "retired"
    """It already existed and has been replaced or deleted since; it is left unchanged."""


class ImportConflict(Exception):
    """An exported file contradicts the records of this installation; the message says how."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document that a record refers to; it is plaintext if its file has no wrapped key."""

    cid: Cid
    readable: bool
    size: int | None = None
    """Its size in bytes; unknown for thumbnails."""


class ArchiveStore(Protocol):
    """The records of all files and documents, for exports, imports and backups."""

    def walk_files(self, owner: Address | None, size: int) -> AsyncIterator[list[ExportedFile]]:
        """A snapshot of every live file, or of the files of one owner.

        Yields lists of up to `size` files in ascending order of position. Concurrent writes
        continue and are not seen; the database keeps the old state until the walk ends, so callers
        must not pause it for long.
        """

    async def documents_after(
        self, network: Network, after: str, limit: int
    ) -> list[StoredDocument]:
        """Up to `limit` documents above `after` in ascending order of cid, of versions in every
        state.

        These are all documents that must be readable: those of live files, and of versions that an
        event may still restore. A document that is stored during the walk may or may not be
        included.
        """

    async def knows(self, cid: Cid) -> bool:
        """Whether a version in any state has this document."""

    async def last_number(self, owner: Address) -> int:
        """The highest number in a name of this owner's files; 0 if there is none."""

    async def compare_file(self, exported: ExportedFile) -> ImportOutcome:
        """What `import_file` would return or raise; changes nothing."""

    async def import_file(
        self, exported: ExportedFile, thumbnail_size: int = 0, fence: int | None = None
    ) -> ImportOutcome:
        """Add a file whose documents are stored, with its group and its publication.

        It counts towards its owner's usage, but no quota refuses it.

        A publication is treated like one that a delivery reported: the follower confirms or undoes
        it. Nonces are not touched. Raises `ImportConflict` if an id, name, cid, group or post id
        belongs to something else here.

        Condemned documents are reclaimed. `fence` is the fence with which the documents were
        stored; raises `FenceRaised` if it is no longer the newest, because they may have been
        destroyed since.
        """


@dataclass(frozen=True, slots=True)
class EarlierFile:
    """A file of the earlier service, as its account lists it."""

    cid: str
    keyvalues: Mapping[str, str | None]
    created_at: datetime | None = None


class EarlierFiles(Protocol):
    """The private files of an account of the earlier service. Every method may be `Unavailable`."""

    async def page(self, token: str | None) -> tuple[list[EarlierFile], str | None]:
        """A page of all files, the first one without a token; and the token of the next page."""

    async def fetch(self, cid: Cid) -> bytes | None:
        """The bytes of a file, which are not verified; None if it is listed but not there."""

    async def close(self) -> None:
        """Close every connection."""


class Archive(Protocol):
    """Verified blocks by their cids, and a set of values already seen, both of any size."""

    @property
    def roots(self) -> tuple[Cid, ...]:
        """The roots, from which all other blocks are linked."""

    @property
    def size(self) -> int:
        """The size of the whole archive in bytes."""

    def read(self, cid: Cid) -> bytes:
        """A block, which is marked as reached. Raises `NotAnExport` if it is missing."""

    def note(self, kind: str, value: str) -> bool:
        """Record a value of a kind; False if it was already recorded."""

    def unreached(self) -> int:
        """How many blocks have not been read."""


class MigrationProgress(Protocol):
    """The documents that a content migration has copied, recorded durably."""

    def pending(
        self, network: Network, documents: Sequence[StoredDocument]
    ) -> list[StoredDocument]:
        """Those of these documents that are not recorded as copied."""

    def note(self, network: Network, documents: Sequence[StoredDocument]) -> None:
        """Record documents as copied, durably."""


class BackupWriter(Protocol):
    """Writes a backup entry by entry; it appears under its name only when it is complete."""

    def add(self, name: str, data: bytes) -> None:
        """Write an entry."""

    def add_file(self, name: str, path: Path) -> None:
        """Write a file as an entry."""


class BackupEntry(Protocol):
    """An entry of a backup that is being read."""

    @property
    def name(self) -> str:
        """The name under which it was added with `BackupWriter.add`."""

    @property
    def size(self) -> int:
        """Its size in bytes."""

    def read(self, size: int) -> bytes:
        """Up to `size` more bytes; empty at the end."""
