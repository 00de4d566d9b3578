"""Backup and restore: a consistent copy of the catalog and all documents of a running service.

A snapshot of the catalog is copied first, and then every document that the copy refers to. That
order is safe: a document is stored before the catalog refers to it, it never changes, and only the
garbage collector, which is paused, destroys documents. In the reverse order, the catalog could
refer to documents that did not exist yet when documents were copied.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.domain.exports import read_instant, write_instant
from imprint.domain.formats.cids import Cid, NotACid, layout_of, parse_cid
from imprint.domain.moderation import LoggedDecision
from imprint.ports import Clock, ContentStore, Progress
from imprint.ports.archives import ArchiveStore, BackupEntry, BackupWriter, StoredDocument
from imprint.ports.damage import CatalogDamaged
from imprint.ports.installation import InstallationStore, LeaseStore
from imprint.ports.moderation import ModerationStore
from imprint.services.content.store_claim import InstallationClaim
from imprint.services.installation.exports import MAX_THUMBNAIL, DocumentMissing
from imprint.services.moderation import keep_newer_log
from imprint.services.tasks.leases import pause_collection

CATALOG_ENTRY = "imprint.db"
"""The name of the catalog's copy in a backup. A catalog in a data folder has the same name."""

MANIFEST_ENTRY = "backup.json"
"""The name of the manifest, which is written last, so that a backup without it is incomplete."""

BATCH = 256
"""Number of documents looked up together."""

MAX_DOCUMENT = 64 * 1024 * 1024
"""Maximum size in bytes of an entry that a repair reads as a document."""

MAX_MANIFEST = 64 * 1024
"""Maximum size of a manifest in bytes, far above the size of any real manifest."""

_CHUNK = 1024 * 1024
_LARGEST = 2**63
_DIGEST = re.compile("[0-9a-f]{64}")

_KIND, _VERSION = "imprint-backup", 1


class NotABackup(ValueError):
    """The file is not a backup, or is damaged or incomplete."""


class NotSaved(Exception):
    """No backup was made because data is damaged. The text names the data and says what to do."""

    def __init__(self, damage: str) -> None:
        super().__init__(
            f"{damage} Nothing was saved, and earlier backups are unchanged. List all damage "
            "with `imprint check --deep`, and repair it with `imprint repair --backup` and the "
            "newest backup."
        )


class CopyableDatabase(Protocol):
    """A database that can write a copy of itself."""

    async def backup_to(self, path: Path) -> None:
        """Write a consistent copy, even during concurrent writes. Raises `CatalogDamaged`."""


class CatalogCopy(Protocol):
    """The records in a copy of a database."""

    @property
    def archives(self) -> ArchiveStore:
        """The documents that the records refer to."""

    @property
    def installation(self) -> InstallationStore:
        """The installation that the records belong to."""

    @property
    def moderation(self) -> ModerationStore:
        """The operator's decisions that the copy contains."""

    async def close(self) -> None:
        """Close the copy of the catalog."""


@dataclass(frozen=True, slots=True)
class DocumentCount:
    """The number of documents that a catalog refers to, and a digest of their list."""

    private: int
    public: int
    digest: str

    @property
    def total(self) -> int:
        return self.private + self.public


@dataclass(frozen=True, slots=True)
class BackupManifest:
    """The time of a backup, and the data that the backup must contain."""

    made_at: str
    catalog_bytes: int
    catalog_sha256: str
    documents: DocumentCount

    def write(self) -> bytes:
        """Return the bytes of the manifest entry."""
        return json.dumps({"kind": _KIND, "version": _VERSION, **asdict(self)}, indent=2).encode()


def read_backup_manifest(data: bytes) -> BackupManifest:
    """Parse the manifest entry. Raises `NotABackup`."""
    try:
        members = json.loads(data, object_pairs_hook=_read_members)
        if (members.pop("kind"), members.pop("version")) != (_KIND, _VERSION):
            raise NotABackup("The backup was made by a newer version of Imprint.")
        documents = DocumentCount(**members["documents"])
        manifest = BackupManifest(**{**members, "documents": documents})
        read_instant(manifest.made_at)
        counts = (manifest.catalog_bytes, documents.private, documents.public)
        if not all(type(count) is int and 0 <= count < _LARGEST for count in counts):
            raise ValueError("A number is malformed.")
        if not all(_DIGEST.fullmatch(each) for each in (manifest.catalog_sha256, documents.digest)):
            raise ValueError("A digest is malformed.")
    except NotABackup:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise NotABackup(f"{MANIFEST_ENTRY} is damaged.") from error
    return manifest


def _read_members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("An object has two members with the same name.")
    return members


@dataclass(frozen=True, slots=True)
class Backup:
    """Creates backups.

    `open_copy` opens the copy of a catalog after checking it as a restore would, and raises
    `CatalogDamaged`.
    """

    database: CopyableDatabase
    leases: LeaseStore
    content: ContentStore
    clock: Clock
    open_copy: Callable[[Path], CatalogCopy]

    async def run(self, writer: BackupWriter, scratch: Path, progress: Progress) -> BackupManifest:
        """Write a backup, with a copy of the catalog in `scratch`.

        Raises `NotSaved` for a damaged catalog or document, and `DocumentMissing`.
        """
        async with pause_collection(self.leases, "backup", self.clock):
            made_at = write_instant(self.clock())
            copy = scratch / CATALOG_ENTRY
            try:
                await self.database.backup_to(copy)
                writer.add_file(CATALOG_ENTRY, copy)
                size, digest = _measure_file(copy)
                opened = await asyncio.to_thread(self.open_copy, copy)
            except CatalogDamaged as error:
                raise NotSaved(str(error)) from error
            try:
                documents = await self._write_documents(opened.archives, writer, progress)
            finally:
                await opened.close()
            manifest = BackupManifest(made_at, size, digest, documents)
            writer.add(MANIFEST_ENTRY, manifest.write())
        return manifest

    async def _write_documents(
        self, archives: ArchiveStore, writer: BackupWriter, progress: Progress
    ) -> DocumentCount:
        try:
            (count, _), done = await _measure_documents(archives), 0
        except NotABackup as error:
            raise NotSaved(str(error)) from error
        async for stored, network in _named_documents(archives):
            writer.add(_document_entry(stored.cid, network), await self._read(stored, network))
            done += 1
            progress(done, count.total)
        return count

    async def _read(self, stored: StoredDocument, network: Network) -> bytes:
        try:
            document = await self.content.read(stored.cid, network)
        except Unavailable as error:
            raise NotSaved(f"The document {stored.cid} cannot be read, or is damaged.") from error
        if document is None:
            raise DocumentMissing(stored.cid)
        if stored.size not in (None, len(document)):
            raise NotSaved(f"The size of the document {stored.cid} differs from the catalog.")
        if network is Network.PUBLIC and len(document) > MAX_THUMBNAIL:
            raise NotSaved(f"The thumbnail {stored.cid} is too large.")
        return document


@dataclass(frozen=True, slots=True)
class Restore:
    """Restores into an empty store and a file that does not exist yet.

    A backup is untrusted, so its claims are checked before they are acted on.

    `open_copy` opens the copy of a catalog after checking it, and raises `NotABackup`.
    """

    content: ContentStore
    catalog_path: Path
    open_copy: Callable[[Path], CatalogCopy]

    async def run(
        self,
        entries: Iterable[BackupEntry],
        progress: Progress,
        log: Sequence[LoggedDecision] = (),
    ) -> BackupManifest:
        """Restore every entry, then verify that nothing is missing. Raises `NotABackup`.

        `log` contains the operator's decisions up to now. Decisions made after the backup are
        added.

        The manifest comes first and the catalog second: the manifest gives the catalog's size, and
        the catalog gives the number and sizes of the documents. Nothing beyond these sizes is
        written.
        """
        entries = iter(entries)
        manifest = read_manifest_entry(next(entries, None))
        restore_catalog(next(entries, None), manifest, self.catalog_path)
        copy = self.open_copy(self.catalog_path)
        try:
            count, size = await _measure_documents(copy.archives)
            if count != manifest.documents:
                raise NotABackup("The documents in the catalog differ from those in the manifest.")
            await self._restore_documents(entries, count.total, size)
            await self._verify(copy.archives, count.total, progress)
            if not await keep_newer_log(copy.moderation, log):
                raise NotABackup("The log of measures is of another installation.")
            # The installation that was backed up may still be running, so the restored one needs
            # another ID.
            await InstallationClaim(copy.installation, copy.archives, self.content).rename()
        finally:
            await copy.close()
        return manifest

    async def _restore_documents(
        self, entries: Iterable[BackupEntry], count: int, size: int
    ) -> None:
        """Restore up to `count` documents. Private documents may take up to `size` bytes in
        total."""
        for entry in entries:
            cid, network = read_document_entry(entry.name)
            if count == 0:
                raise NotABackup("There are more documents than the manifest counts.")
            if entry.size > (size if network is Network.PRIVATE else MAX_THUMBNAIL):
                raise NotABackup(f"The document {cid} is larger than the catalog says.")
            count -= 1
            if network is Network.PRIVATE:
                size -= entry.size
            document = entry.read(entry.size)
            if layout_of(cid, document) is None:
                raise NotABackup(f"The document {cid} is damaged: its bytes have another hash.")
            await self.content.put(cid, document, network)

    async def _verify(self, archives: ArchiveStore, total: int, progress: Progress) -> None:
        """Verify every document that the catalog refers to.

        The backup has no more documents than the catalog, so it contains each document exactly
        once, and no others.
        """
        done = 0
        async for stored, network in _named_documents(archives):
            document = await self.content.read(stored.cid, network)
            if document is None:
                raise NotABackup(f"The document {stored.cid} is missing.")
            if stored.size not in (None, len(document)):
                raise NotABackup(f"The size of the document {stored.cid} differs from the catalog.")
            done += 1
            progress(done, total)


def read_manifest_entry(entry: BackupEntry | None) -> BackupManifest:
    """Read the manifest in the first entry of a backup. Raises `NotABackup`."""
    if entry is None or entry.name != MANIFEST_ENTRY:
        raise NotABackup(f"There is no {MANIFEST_ENTRY}: the backup was never finished.")
    if entry.size > MAX_MANIFEST:
        raise NotABackup(f"{MANIFEST_ENTRY} has more than {MAX_MANIFEST} bytes.")
    return read_backup_manifest(entry.read(MAX_MANIFEST))


def restore_catalog(entry: BackupEntry | None, manifest: BackupManifest, path: Path) -> None:
    """Write the catalog in the second entry of a backup to a new file. Raises `NotABackup`."""
    if entry is None or entry.name != CATALOG_ENTRY:
        raise NotABackup(f"There is no {CATALOG_ENTRY}.")
    if entry.size != manifest.catalog_bytes:
        raise NotABackup(f"{CATALOG_ENTRY} is damaged: its size is wrong.")
    digest = sha256()
    with path.open("xb") as file:
        path.chmod(0o600)
        while chunk := entry.read(_CHUNK):
            digest.update(chunk)
            file.write(chunk)
    if digest.hexdigest() != manifest.catalog_sha256:
        raise NotABackup(f"{CATALOG_ENTRY} is damaged: its checksum is wrong.")


def find_documents(
    entries: Iterable[BackupEntry], wanted: Collection[tuple[Cid, Network]]
) -> Iterator[tuple[Cid, Network, bytes]]:
    """Yield the wanted documents for which a backup has bytes that match the CID."""
    for entry in entries:
        with suppress(NotABackup):
            cid, network = read_document_entry(entry.name)
            if (cid, network) in wanted and entry.size <= MAX_DOCUMENT:
                document = entry.read(entry.size)
                if layout_of(cid, document) is not None:
                    yield cid, network, document


def read_document_entry(name: str) -> tuple[Cid, Network]:
    """Return the CID and network in the name of a document's entry. Raises `NotABackup`."""
    try:
        _, network_name, _, text = name.split("/")
        network, cid = Network(network_name), parse_cid(text)
        if name == _document_entry(cid, network):
            return cid, network
    except (ValueError, NotACid):
        pass
    # The name may contain anything, even control characters of a terminal.
    raise NotABackup(f"{name[:100]!a} does not belong in a backup, or occurs twice.")


def _document_entry(cid: Cid, network: Network) -> str:
    """Return the name of a document's entry, which is its path in a data folder."""
    return f"content/{network}/{cid[-3:-1]}/{cid}"


async def _named_documents(archives: ArchiveStore) -> AsyncIterator[tuple[StoredDocument, Network]]:
    """Yield every document that a catalog refers to, in order."""
    for network in Network:
        after = ""
        while batch := await archives.documents_after(network, after, BATCH):
            for stored in batch:
                yield stored, network
            after = batch[-1].cid


async def _measure_documents(archives: ArchiveStore) -> tuple[DocumentCount, int]:
    """Count the documents that a catalog refers to, and sum their recorded sizes.

    Raises `NotABackup` for a name that is not a CID, because a content store would use it
    as a path.
    """
    counts = dict.fromkeys(Network, 0)
    digest, size = sha256(), 0
    async for stored, network in _named_documents(archives):
        if not _is_cid(stored.cid):
            raise NotABackup("The catalog has a document whose name is not a CID.")
        counts[network] += 1
        digest.update(f"{network} {stored.cid}\n".encode())
        size += stored.size or 0
    count = DocumentCount(counts[Network.PRIVATE], counts[Network.PUBLIC], digest.hexdigest())
    return count, size


def _is_cid(text: str) -> bool:
    try:
        return parse_cid(text) == text
    except NotACid:
        return False


def _measure_file(path: Path) -> tuple[int, str]:
    """Return the size of a file and its SHA-256 digest."""
    digest, size = sha256(), 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
            size += len(chunk)
    return size, digest.hexdigest()
