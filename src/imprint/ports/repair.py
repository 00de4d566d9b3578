"""Ports for the repair of a damaged catalog and its documents."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Protocol

from imprint.domain.cids import Cid
from imprint.domain.files import Network
from imprint.domain.installation import Identity


@dataclass(frozen=True, slots=True)
class LostFile:
    """A file whose record was lost, with what other records still say about it."""

    position: int
    cid: Cid | None = None
    id: str | None = None
    name: str | None = None
    wrapped_key: bytes | None = field(default=None, repr=False)

    def __str__(self) -> str:
        return self.id or self.name or self.cid or f"position {self.position}"


@dataclass(slots=True)
class SalvageCounts:
    """How many rows of each table were kept, and where the others came from."""

    kept: dict[str, int] = field(default_factory=dict)
    backup: dict[str, int] = field(default_factory=dict)
    indexes: int = 0
    documents: int = 0
    unreadable: list[str] = field(default_factory=list)
    """What could not be read, as sentences."""
    lost: list[str] = field(default_factory=list)
    """What nothing knows any more, as sentences."""


class SalvagedCatalog(Protocol):
    """A new catalog with every row that a damaged one still has; nothing replaces that one yet."""

    counts: SalvageCounts

    @property
    def whole(self) -> bool:
        """Whether nothing is wrong with the damaged catalog, not even with its indexes."""

    @property
    def identity(self) -> Identity | None:
        """The identity of the installation, if its row could be read."""

    def set_installation(self, installation: str | None) -> None:
        """Take over the id in the content store, if the catalog has lost its own."""

    def add_backup(self, copy: Path) -> None:
        """Add the records that are missing from the copy of the catalog in a backup."""

    def lost_files(self) -> Sequence[LostFile]:
        """The files that are known to be missing."""

    def rebuild_file(
        self, lost: LostFile, name: str, cid: Cid, size: int, wrapped_key: bytes | None
    ) -> bool:
        """Add a file that was lost, from its readable document and what else is known about it.

        False if something else has its place.
        """

    def unknown_documents(self, cids: Sequence[Cid]) -> list[Cid]:
        """Those of these private documents that no record names."""

    def add_draft(self, cid: Cid, name: str, size: int) -> bool:
        """Add a document that no record names, as a draft of the owner in its name."""

    def finish(self, at: datetime) -> None:
        """Make the records consistent: events, usage, tags."""

    def replace(self, at: datetime) -> Path:
        """Put the new catalog in the place of the damaged one; returns where that is kept."""


class BackupSource(Protocol):
    """A backup from which records and documents are taken."""

    @property
    def name(self) -> str:
        """How the operator called it."""

    @property
    def made_at(self) -> str:
        """When it was made."""

    def catalog(self) -> Path:
        """The copy of the catalog, checked. Raises `CatalogDamaged`."""

    def documents(
        self, wanted: Collection[tuple[Cid, Network]]
    ) -> Iterator[tuple[Cid, Network, bytes]]:
        """Those of these documents that it has, whose bytes match their cids."""
