"""A backup from which a repair takes single records and documents."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from imprint.domain.cids import Cid, document_cid
from imprint.domain.files import Network
from imprint.ports.archives import BackupEntry
from imprint.ports.catalog import CatalogDamaged
from imprint.services.backup import (
    CATALOG_ENTRY,
    BackupManifest,
    NotABackup,
    read_document_entry,
    read_manifest_entry,
)

MAX_DOCUMENT = 64 * 1024 * 1024
"""The largest entry that is read as a document."""

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class SavedBackup:
    """`BackupSource` over the entries of a backup, manifest and catalog first.

    `check` checks the copy of the catalog, which is put into `copy`. Raises `CatalogDamaged`.
    """

    name: str
    entries: Callable[[], Iterable[BackupEntry]]
    copy: Path
    check: Callable[[Path], None]
    manifest: BackupManifest

    @property
    def made_at(self) -> str:
        return self.manifest.made_at

    def catalog(self) -> Path:
        """The copy of the catalog, checked. Raises `CatalogDamaged`."""
        entries = iter(self.entries())
        next(entries, None)
        entry, digest = next(entries, None), sha256()
        if entry is None or entry.name != CATALOG_ENTRY:
            raise CatalogDamaged(f"There is no {CATALOG_ENTRY} in it.")
        with self.copy.open("wb") as file:
            while chunk := entry.read(_CHUNK):
                digest.update(chunk)
                file.write(chunk)
        if digest.hexdigest() != self.manifest.catalog_sha256:
            raise CatalogDamaged(f"{CATALOG_ENTRY} in it has another checksum.")
        self.check(self.copy)
        return self.copy

    def documents(
        self, wanted: Collection[tuple[Cid, Network]]
    ) -> Iterator[tuple[Cid, Network, bytes]]:
        """Those of these documents that it has, whose bytes match their cids."""
        wanted = set(wanted)
        for entry in self.entries():
            try:
                cid, network = read_document_entry(entry.name)
            except NotABackup:
                continue
            if (cid, network) in wanted and entry.size <= MAX_DOCUMENT:
                document = entry.read(entry.size)
                if document_cid(document) == cid:
                    yield cid, network, document


def open_saved(
    name: str,
    entries: Callable[[], Iterable[BackupEntry]],
    copy: Path,
    check: Callable[[Path], None],
) -> SavedBackup:
    """A backup to take from. Raises `NotABackup` for one that was never finished."""
    opened = iter(entries())
    manifest = read_manifest_entry(next(opened, None))
    return SavedBackup(name, entries, copy, check, manifest)
