"""Backup and restore: the catalog and all documents of one moment, saved while the service runs.

The catalog is copied first, as it is at one moment, and then every document that the copy names.
That order is safe: a document is stored before the catalog names it, it never changes, and only
the garbage collector destroys it, which is paused. In the other order the catalog could name
documents that did not exist yet when documents were copied.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterable
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from imprint.domain.cids import Cid, NotACid, document_cid, parse_cid
from imprint.domain.exports import read_instant, write_instant
from imprint.domain.files import Network
from imprint.ports import Catalog, Clock, ContentStore, Progress
from imprint.ports.archives import BackupEntry, BackupWriter
from imprint.services.exports import DocumentMissing
from imprint.services.garbage_collector import pause_collection

CATALOG_ENTRY = "imprint.db"
"""The copy of the catalog in a backup: as in a data folder."""

MANIFEST_ENTRY = "backup.json"
"""The manifest, which is written last: a backup without it was never finished."""

BATCH = 256
"""How many documents are looked up at once."""

MAX_DOCUMENT = 256 * 1024 * 1024
"""More bytes than any document has."""

_CHUNK = 1024 * 1024

_KIND, _VERSION = "imprint-backup", 1


class NotABackup(ValueError):
    """What was read is not a backup, or is damaged or incomplete."""


class CopyableCatalog(Catalog, Protocol):
    """A catalog that can write a copy of itself."""

    async def backup_to(self, path: Path) -> None:
        """Write a consistent copy while others write."""
        ...


@dataclass(frozen=True, slots=True)
class DocumentCount:
    """How many documents a catalog names, and the digest of their list."""

    private: int
    public: int
    digest: str

    @property
    def total(self) -> int:
        return self.private + self.public


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """When a backup was made, and what it must contain."""

    made_at: str
    catalog_bytes: int
    catalog_sha256: str
    documents: DocumentCount

    def write(self) -> bytes:
        """The bytes of the manifest's entry."""
        return json.dumps({"kind": _KIND, "version": _VERSION, **asdict(self)}, indent=2).encode()


def read_backup_manifest(data: bytes) -> BackupManifest:
    """Parse the manifest's entry. Raises `NotABackup`."""
    try:
        members: dict[str, Any] = json.loads(data)
        if (members.pop("kind"), members.pop("version")) != (_KIND, _VERSION):
            raise NotABackup("The backup was made by a newer version of Imprint.")
        documents = DocumentCount(**members["documents"])
        manifest = BackupManifest(**{**members, "documents": documents})
        read_instant(manifest.made_at)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise NotABackup(f"{MANIFEST_ENTRY} is damaged.") from error
    return manifest


@dataclass(frozen=True, slots=True)
class Backup:
    """Makes backups; `open_copy` opens the copy of a catalog."""

    catalog: CopyableCatalog
    content: ContentStore
    clock: Clock
    open_copy: Callable[[Path], Catalog]

    async def run(self, writer: BackupWriter, scratch: Path, progress: Progress) -> BackupManifest:
        """Write a backup, with a copy of the catalog in `scratch`. Raises `DocumentMissing`."""
        async with pause_collection(self.catalog, self.clock):
            made_at = write_instant(self.clock())
            copy = scratch / CATALOG_ENTRY
            await self.catalog.backup_to(copy)
            writer.add_file(CATALOG_ENTRY, copy)
            size, digest = _measure_file(copy)
            catalog = self.open_copy(copy)
            try:
                documents = await self._write_documents(catalog, writer, progress)
            finally:
                await catalog.close()
            manifest = BackupManifest(made_at, size, digest, documents)
            writer.add(MANIFEST_ENTRY, manifest.write())
        return manifest

    async def _write_documents(
        self, catalog: Catalog, writer: BackupWriter, progress: Progress
    ) -> DocumentCount:
        count, done = await _count_documents(catalog), 0
        async for cid, network in _named_documents(catalog):
            document = await self.content.read(cid, network)
            if document is None:
                raise DocumentMissing(cid)
            writer.add(_document_entry(cid, network), document)
            done += 1
            progress(done, count.total)
        return count


@dataclass(frozen=True, slots=True)
class Restore:
    """Restores into an empty store and a file that does not exist yet.

    `open_copy` opens the copy of a catalog after checking it, and raises `NotABackup`.
    """

    content: ContentStore
    catalog_path: Path
    open_copy: Callable[[Path], Catalog]

    async def run(self, entries: Iterable[BackupEntry], progress: Progress) -> BackupManifest:
        """Restore every entry, then verify that nothing is missing. Raises `NotABackup`."""
        manifest = None
        for entry in entries:
            if entry.name == CATALOG_ENTRY:
                self._restore_catalog(entry)
            elif entry.name == MANIFEST_ENTRY:
                manifest = read_backup_manifest(entry.read(_CHUNK))
            else:
                await self._restore_document(entry)
        if manifest is None:
            raise NotABackup(f"There is no {MANIFEST_ENTRY}: the backup was never finished.")
        await self._verify(manifest, progress)
        return manifest

    def _restore_catalog(self, entry: BackupEntry) -> None:
        with self.catalog_path.open("xb") as file:
            self.catalog_path.chmod(0o600)
            while chunk := entry.read(_CHUNK):
                file.write(chunk)

    async def _restore_document(self, entry: BackupEntry) -> None:
        try:
            _, network_name, _, text = entry.name.split("/")
            network, cid = Network(network_name), parse_cid(text)
        except (ValueError, NotACid) as error:
            raise NotABackup(f"{entry.name} does not belong in a backup.") from error
        if entry.name != _document_entry(cid, network):
            raise NotABackup(f"{entry.name} does not belong in a backup.")
        document = entry.read(MAX_DOCUMENT)
        if document_cid(document) != cid:
            raise NotABackup(f"The document {cid} is damaged: its bytes have another hash.")
        await self.content.put(cid, document, network)

    async def _verify(self, manifest: BackupManifest, progress: Progress) -> None:
        if not self.catalog_path.exists():
            raise NotABackup(f"There is no {CATALOG_ENTRY}.")
        if _measure_file(self.catalog_path) != (manifest.catalog_bytes, manifest.catalog_sha256):
            raise NotABackup(f"{CATALOG_ENTRY} is damaged: it has another checksum.")
        catalog = self.open_copy(self.catalog_path)
        try:
            if await _count_documents(catalog) != manifest.documents:
                raise NotABackup("The catalog names other documents than the manifest.")
            done = 0
            async for cid, network in _named_documents(catalog):
                if await self.content.read(cid, network) is None:
                    raise NotABackup(f"The document {cid} is missing.")
                done += 1
                progress(done, manifest.documents.total)
        finally:
            await catalog.close()


def _document_entry(cid: Cid, network: Network) -> str:
    """The name of a document's entry: the path that a data folder would give its file."""
    return f"content/{network}/{cid[-3:-1]}/{cid}"


async def _named_documents(catalog: Catalog) -> AsyncIterator[tuple[Cid, Network]]:
    """Every document that a catalog names, in order."""
    for network in Network:
        after = ""
        while batch := await catalog.documents_after(network, after, BATCH):
            for stored in batch:
                yield stored.cid, network
            after = batch[-1].cid


async def _count_documents(catalog: Catalog) -> DocumentCount:
    counts = dict.fromkeys(Network, 0)
    digest = sha256()
    async for cid, network in _named_documents(catalog):
        counts[network] += 1
        digest.update(f"{network} {cid}\n".encode())
    return DocumentCount(counts[Network.PRIVATE], counts[Network.PUBLIC], digest.hexdigest())


def _measure_file(path: Path) -> tuple[int, str]:
    """The size of a file, and its SHA-256 digest."""
    digest, size = sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()
