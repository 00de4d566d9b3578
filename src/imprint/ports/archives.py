"""Ports for exports, imports, backups and content migrations: their records and files."""

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
from imprint.domain.posts.revisions import Revision
from imprint.domain.profiles import Profile


class ImportOutcome(StrEnum):
    """The outcome of importing a file."""

    ADDED = "added"
    PRESENT = "present"
    """The file already existed and is left unchanged."""
    RETIRED = "retired"
    """The file was replaced or deleted in this installation, and is not restored."""


class ImportConflict(Exception):
    """An exported file conflicts with the records of this installation. The message says how."""


class NotExported(Exception):
    """A page of the site could not be exported. The message says which one and why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path} cannot be exported. {reason}")


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document that a record refers to, in plaintext if its file has no wrapped key."""

    cid: Cid
    readable: bool
    size: int | None = None
    """The size in bytes. None for thumbnails, whose size is unknown."""


class ArchiveStore(Protocol):
    """The records of all files and documents, for exports, imports and backups."""

    def walk_files(self, owner: Address | None, size: int) -> AsyncIterator[list[ExportedFile]]:
        """Yield a snapshot of every live file, or of one owner's files.

        Yields lists of up to `size` files in ascending order of position. Concurrent writes
        continue but are not seen. The database keeps the old state until the walk ends, so
        callers must not pause it for long.
        """

    def walk_profiles(self, owner: Address | None, size: int) -> AsyncIterator[list[Profile]]:
        """Yield a snapshot of all profiles by ascending address, or of one author's profile."""

    def walk_revisions(
        self, owner: Address | None, newest: int, size: int
    ) -> AsyncIterator[list[Revision]]:
        """Yield a snapshot of all revisions, or of one owner's revisions, in ascending ID order.

        Only revisions of live files are included, whose position is at most `newest`.
        """

    async def documents_after(
        self, network: Network, after: str, limit: int
    ) -> list[StoredDocument]:
        """Return up to `limit` documents after `after`, in ascending CID order.

        These are all documents that must be readable: the documents of live files, of revisions,
        and of versions in any state that an event may still restore. A document stored during the
        walk may or may not be included.
        """

    async def knows(self, cid: Cid) -> bool:
        """Whether a version in any state has this document."""

    async def is_withheld(self, author: Address, cid: Cid | None) -> bool:
        """Whether this author or document is withheld by a measure, and so must not be imported."""

    async def last_number(self, owner: Address) -> int:
        """Return the highest number in this owner's file names, or 0 if there is none."""

    async def compare_file(self, exported: ExportedFile) -> ImportOutcome:
        """Return or raise the same as `import_file`, without changing anything."""

    async def import_file(
        self, exported: ExportedFile, thumbnail_size: int = 0, fence: int | None = None
    ) -> ImportOutcome:
        """Add a file whose documents are stored, with its group and its publication.

        The file counts towards its owner's usage, but no quota refuses it.

        A publication is treated as if a delivery had reported it: the follower confirms or undoes
        it. Nonces are not affected. Raises `ImportConflict` if an ID, name, CID, group or post ID
        already belongs to another record.

        Documents marked for deletion are reclaimed. `fence` is the fence with which the documents
        were stored. Raises `FenceRaised` if there is a newer fence, because the documents may have
        been destroyed since.
        """

    async def import_profile(self, profile: Profile, avatar_size: int, fence: int) -> None:
        """Add a profile whose picture is stored, unless its author already has a profile.

        Counts towards usage, and raises errors, as `import_file` does.
        """

    async def compare_revision(self, revision: Revision) -> ImportOutcome:
        """Return what `import_revision` would do, which needs the file. Raises the same errors."""

    async def import_revision(self, revision: Revision, fence: int) -> None:
        """Add a revision whose document is stored, unless it already exists or its file is missing.

        Counts towards usage, and raises errors, as `import_file` does.
        """


@dataclass(frozen=True, slots=True)
class EarlierFile:
    """A file of the earlier service, as listed by its account."""

    cid: str
    keyvalues: Mapping[str, str | None]
    created_at: datetime | None = None


class EarlierFiles(Protocol):
    """The private files of an account of the earlier service.

    Every method may raise `Unavailable`.
    """

    async def page(self, token: str | None) -> tuple[list[EarlierFile], str | None]:
        """Return a page of files and the token of the next page. Without a token, return the
        first page."""

    async def fetch(self, cid: Cid) -> bytes | None:
        """Return the unverified bytes of a file, or None if it is listed but missing."""

    async def close(self) -> None:
        """Close every connection."""


class Archive(Protocol):
    """Verified blocks keyed by CID, and a set of values already seen, both of any size."""

    @property
    def roots(self) -> tuple[Cid, ...]:
        """The root CIDs, from which all other blocks are reachable."""

    @property
    def size(self) -> int:
        """The size of the whole archive in bytes."""

    def read(self, cid: Cid) -> bytes:
        """Return a block and mark it as reached. Raises `NotAnExport` if it is missing."""

    def note(self, kind: str, value: str) -> bool:
        """Record a value of this type. Returns False if it was already recorded."""

    def unreached(self) -> int:
        """Return the number of blocks that have not been read."""


class MigrationProgress(Protocol):
    """A durable record of the documents that a content migration has copied."""

    def pending(
        self, network: Network, documents: Sequence[StoredDocument]
    ) -> list[StoredDocument]:
        """Return the documents among these that are not yet recorded as copied."""

    def note(self, network: Network, documents: Sequence[StoredDocument]) -> None:
        """Durably record documents as copied."""


class BackupWriter(Protocol):
    """Writes a backup entry by entry. The file gets its final name only when it is complete."""

    def add(self, name: str, data: bytes) -> None:
        """Write an entry of the backup."""

    def add_file(self, name: str, path: Path) -> None:
        """Write a file as an entry."""


class SiteFolder(Protocol):
    """The folder of a static site. The folder gets its final name only when it is complete."""

    def has(self, path: str) -> bool:
        """Whether a file was written at this path."""

    def write(self, path: str, content: bytes) -> None:
        """Write a file at a path relative to the folder."""


class BackupEntry(Protocol):
    """An entry of a backup being read."""

    @property
    def name(self) -> str:
        """The name with which `BackupWriter.add` added the entry."""

    @property
    def size(self) -> int:
        """The size of the entry in bytes."""

    def read(self, size: int) -> bytes:
        """Return up to `size` more bytes, or no bytes at the end."""
