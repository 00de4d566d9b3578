"""Ports for files outside the service: exports, backups, progress of a content migration."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid
from imprint.ports.catalog import StoredDocument


class Archive(Protocol):
    """Verified blocks by their cids, and a record of values already seen, both of any size."""

    @property
    def roots(self) -> tuple[Cid, ...]:
        """The blocks that lead to all others."""

    @property
    def size(self) -> int:
        """Bytes of the whole archive."""

    def read(self, cid: Cid) -> bytes:
        """A block, which counts as reached from then on. Raises `NotAnExport` if it is missing."""

    def note(self, kind: str, value: str) -> bool:
        """Record a value of a kind; False if it was recorded before."""

    def unreached(self) -> int:
        """How many blocks have not been read."""


class MigrationProgress(Protocol):
    """Which documents a content migration has copied, stored so that it survives interruption."""

    def pending(
        self, network: Network, documents: Sequence[StoredDocument]
    ) -> list[StoredDocument]:
        """Those of these documents that are not noted as copied."""

    def note(self, network: Network, documents: Sequence[StoredDocument]) -> None:
        """Note documents as copied, durably."""


class BackupWriter(Protocol):
    """Writes a backup entry by entry; it appears under its name only when it is complete."""

    def add(self, name: str, data: bytes) -> None:
        """Write an entry."""

    def add_file(self, name: str, path: Path) -> None:
        """Write a file as an entry."""


class BackupEntry(Protocol):
    """An entry of a backup that is read."""

    @property
    def name(self) -> str:
        """The name that was given to `BackupWriter.add`."""

    @property
    def size(self) -> int:
        """How many bytes it has."""

    def read(self, size: int) -> bytes:
        """Up to `size` bytes more; none at the end."""
