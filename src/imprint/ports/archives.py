"""What the flows need to carry files elsewhere: out into archives, in from them, between stores."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.exports import ExportedFile
from imprint.domain.files import Network


class ImportOutcome(StrEnum):
    """What became of a file from an archive."""

    ADDED = "added"
    PRESENT = "present"
    """It was here before; what this installation says of it stays as it is."""
    RETIRED = "retired"
    """It was here before and has been replaced or deleted since, which stays so."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document that the catalog needs; one of a file without a wrapped key is readable."""

    cid: Cid
    readable: bool


class ImportConflict(Exception):
    """A file of an archive contradicts what is here; the text says how."""


class ArchiveCatalog(Protocol):
    """The catalog, for whoever carries files out or in."""

    def walk_files(self, owner: Address | None, size: int) -> AsyncIterator[list[ExportedFile]]:
        """Every live file, or those of one owner, as they all are at one moment.

        By rising position, in lists of up to `size`. What is written meanwhile is not waited for
        and not seen; so whoever walks must not dawdle.
        """

    async def documents_after(
        self, network: Network, after: str, limit: int
    ) -> list[StoredDocument]:
        """Up to `limit` documents above `after`, by rising cid, of versions in every state.

        Those are all that must be readable: of live files, and of versions that an event may
        still restore. A document that is stored meanwhile may or may not be among them.
        """

    async def compare_file(self, exported: ExportedFile) -> ImportOutcome:
        """What `import_file` would say, without doing it."""

    async def import_file(self, exported: ExportedFile) -> ImportOutcome:
        """Take a file in whose documents are stored, with its group and its publication.

        A publication counts like one that a delivery told of: the follower confirms it, or undoes
        it. Nonces are not touched. Raises `ImportConflict` where an id, a name, a cid, a group or
        a post id belongs to something else here, and `Unavailable` for storage while one of the
        documents is being destroyed.
        """


class Archive(Protocol):
    """Blocks by their cids, each verified, and a memory of what was seen, both of any size."""

    @property
    def roots(self) -> tuple[Cid, ...]:
        """The blocks that lead to all others."""

    def read(self, cid: Cid) -> bytes:
        """A block, which counts as reached from then on. Raises `NotAnExport` if it is missing."""

    def note(self, kind: str, value: str) -> bool:
        """Remember a value of a kind; False if it was remembered before."""

    def unreached(self) -> int:
        """How many blocks nobody has read."""


class Journal(Protocol):
    """Which documents have been copied, kept where an interruption cannot touch it."""

    def pending(
        self, network: Network, documents: Sequence[StoredDocument]
    ) -> list[StoredDocument]:
        """Those of these documents that have not been noted."""

    def note(self, network: Network, documents: Sequence[StoredDocument]) -> None:
        """Note documents as copied, durably."""


class BackupWriter(Protocol):
    """Where a backup is written to, entry by entry; it counts only when it is complete."""

    def add(self, name: str, data: bytes) -> None:
        """Write an entry."""

    def add_file(self, name: str, path: Path) -> None:
        """Write a file as an entry."""


class Entry(Protocol):
    """An entry of a backup that is read."""

    @property
    def name(self) -> str:
        """What it is, as `BackupWriter.add` was told."""

    def read(self, size: int) -> bytes:
        """Up to so many bytes more; none at the end."""
