"""Restoring: a backup made an installation again, proven before anybody may use it."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from imprint.domain.cids import NotACid, parse_cid
from imprint.domain.files import Network
from imprint.domain.unixfs import document_cid
from imprint.flows.exporting import Tell
from imprint.flows.saving import (
    CATALOG_ENTRY,
    MANIFEST_ENTRY,
    BackupManifest,
    NotABackup,
    count_documents,
    document_entry,
    measure_file,
    needed_documents,
    read_backup_manifest,
)
from imprint.ports import Catalog, ContentStore
from imprint.ports.archives import Entry

MAX_DOCUMENT = 256 * 1024 * 1024
"""More bytes than any document has."""

_CHUNK = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Restoring:
    """Restores into an empty store and a file that does not exist yet.

    `open_copy` opens the copy of a catalog after checking it, and raises `NotABackup`.
    """

    content: ContentStore
    catalog_path: Path
    open_copy: Callable[[Path], Catalog]

    async def run(self, entries: Iterable[Entry], tell: Tell) -> BackupManifest:
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

    async def _prove(self, manifest: BackupManifest, tell: Tell) -> None:
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
