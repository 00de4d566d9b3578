"""Backup: a whole backup of an installation, taken while it is used.

The catalog is copied first, as it is at one moment; then every document that this copy needs. That
order is safe: a document is stored before the catalog knows of it, so all that the copy names is
there; it never changes; and it is destroyed only by the janitor, who must wait until the end. The
other order could name documents that were not there yet when documents were copied.
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
from imprint.ports.archives import BackupWriter, Entry
from imprint.services.exports import Incomplete
from imprint.services.garbage_collector import pause_collection

CATALOG_ENTRY = "imprint.db"
"""The copy of the catalog in a backup: as in a data folder."""

MANIFEST_ENTRY = "backup.json"
"""What must be in a backup; written last, so that one without it was never finished."""

BATCH = 256
"""How many documents are looked up at once."""

_KIND, _VERSION = "imprint-backup", 1


class NotABackup(ValueError):
    """What was read is no backup, or one that is damaged or not complete."""


class CopyableCatalog(Catalog, Protocol):
    """A catalog that can write a copy of itself."""

    async def backup_to(self, path: Path) -> None:
        """Write a whole copy, as it is at one moment, while others write."""
        ...


@dataclass(frozen=True, slots=True)
class Tally:
    """What a backup holds: the digest is of the list of its documents."""

    private: int
    public: int
    digest: str


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """What must be in a backup, and of when it is."""

    made_at: str
    catalog_bytes: int
    catalog_sha256: str
    documents: Tally

    def write(self) -> bytes:
        """As an entry."""
        return json.dumps({"kind": _KIND, "version": _VERSION, **asdict(self)}, indent=2).encode()


def read_backup_manifest(data: bytes) -> BackupManifest:
    """Refuses, with `NotABackup`, what is none."""
    try:
        members: dict[str, Any] = json.loads(data)
        if (members.pop("kind"), members.pop("version")) != (_KIND, _VERSION):
            raise NotABackup("The backup was made by a newer version of Imprint.")
        manifest = BackupManifest(**{**members, "documents": Tally(**members["documents"])})
        read_instant(manifest.made_at)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise NotABackup(f"{MANIFEST_ENTRY} is damaged.") from error
    return manifest


@dataclass(frozen=True, slots=True)
class Backup:
    """Takes backups; `open_copy` opens the copy of a catalog."""

    catalog: CopyableCatalog
    content: ContentStore
    clock: Clock
    open_copy: Callable[[Path], Catalog]

    async def run(self, vault: BackupWriter, scratch: Path, tell: Progress) -> BackupManifest:
        """Write a backup; `scratch` is a folder for the catalog's copy. Raises `Incomplete`."""
        async with pause_collection(self.catalog, self.clock):
            made_at = write_instant(self.clock())
            copy = scratch / CATALOG_ENTRY
            await self.catalog.backup_to(copy)
            vault.add_file(CATALOG_ENTRY, copy)
            size, digest = measure_file(copy)
            catalog = self.open_copy(copy)
            try:
                tally = await self._save_documents(catalog, vault, tell)
            finally:
                await catalog.close()
            manifest = BackupManifest(made_at, size, digest, tally)
            vault.add(MANIFEST_ENTRY, manifest.write())
        return manifest

    async def _save_documents(self, catalog: Catalog, vault: BackupWriter, tell: Progress) -> Tally:
        expected = await count_documents(catalog)
        total, done = expected.private + expected.public, 0
        async for cid, network in needed_documents(catalog):
            document = await self.content.read(cid, network)
            if document is None:
                raise Incomplete(f"The document {cid} is missing in the content store.")
            vault.add(document_entry(cid, network), document)
            done += 1
            tell(done, total)
        return expected


def document_entry(cid: Cid, network: Network) -> str:
    """The name of a document's entry: where a data folder has it, if it has a file of its own."""
    return f"content/{network}/{cid[-3:-1]}/{cid}"


async def needed_documents(catalog: Catalog) -> AsyncIterator[tuple[Cid, Network]]:
    """Every document that a catalog names, in order."""
    for network in Network:
        after = ""
        while batch := await catalog.documents_after(network, after, BATCH):
            for stored in batch:
                yield stored.cid, network
            after = batch[-1].cid


async def count_documents(catalog: Catalog) -> Tally:
    """How many documents a catalog names, and which."""
    counts = dict.fromkeys(Network, 0)
    digest = sha256()
    async for cid, network in needed_documents(catalog):
        counts[network] += 1
        digest.update(f"{network} {cid}\n".encode())
    return Tally(counts[Network.PRIVATE], counts[Network.PUBLIC], digest.hexdigest())


def measure_file(path: Path) -> tuple[int, str]:
    """The size of a file, and its SHA-256 digest."""
    digest, size = sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(1024 * 1024):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()


MAX_DOCUMENT = 256 * 1024 * 1024
"""More bytes than any document has."""

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Restore:
    """Restores into an empty store and a file that does not exist yet.

    `open_copy` opens the copy of a catalog after checking it, and raises `NotABackup`.
    """

    content: ContentStore
    catalog_path: Path
    open_copy: Callable[[Path], Catalog]

    async def run(self, entries: Iterable[Entry], tell: Progress) -> BackupManifest:
        """Take in every entry, then prove the whole. Refuses, with `NotABackup`, what is wrong."""
        manifest = None
        for entry in entries:
            if entry.name == CATALOG_ENTRY:
                self._keep_catalog(entry)
            elif entry.name == MANIFEST_ENTRY:
                manifest = read_backup_manifest(entry.read(_CHUNK))
            else:
                await self._keep_document(entry)
        if manifest is None:
            raise NotABackup(f"There is no {MANIFEST_ENTRY}: the backup was never finished.")
        await self._prove(manifest, tell)
        return manifest

    def _keep_catalog(self, entry: Entry) -> None:
        with self.catalog_path.open("xb") as file:
            self.catalog_path.chmod(0o600)
            while chunk := entry.read(_CHUNK):
                file.write(chunk)

    async def _keep_document(self, entry: Entry) -> None:
        try:
            _, network_name, _, text = entry.name.split("/")
            network, cid = Network(network_name), parse_cid(text)
        except (ValueError, NotACid) as error:
            raise NotABackup(f"{entry.name} does not belong into a backup.") from error
        if entry.name != document_entry(cid, network):
            raise NotABackup(f"{entry.name} does not belong into a backup.")
        document = entry.read(MAX_DOCUMENT)
        if document_cid(document) != cid:
            raise NotABackup(f"The document {cid} is damaged: its bytes have another hash.")
        await self.content.put(cid, document, network)

    async def _prove(self, manifest: BackupManifest, tell: Progress) -> None:
        if not self.catalog_path.exists():
            raise NotABackup(f"There is no {CATALOG_ENTRY}.")
        if measure_file(self.catalog_path) != (manifest.catalog_bytes, manifest.catalog_sha256):
            raise NotABackup(f"{CATALOG_ENTRY} is damaged: it has another checksum.")
        catalog = self.open_copy(self.catalog_path)
        try:
            if await count_documents(catalog) != manifest.documents:
                raise NotABackup("The catalog names other documents than the backup should have.")
            total, done = manifest.documents.private + manifest.documents.public, 0
            async for cid, network in needed_documents(catalog):
                if await self.content.read(cid, network) is None:
                    raise NotABackup(f"The document {cid} is missing.")
                done += 1
                tell(done, total)
        finally:
            await catalog.close()
