"""Content migration: copies all documents to another content store while the service runs.

Documents never change, so a copy stays valid. Copied documents are recorded, and later runs skip
them. Documents written during a run go to the old store and are copied by the next run. Garbage
collection is paused meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from imprint.domain.drafts.files import Network
from imprint.ports import Clock, ContentStore, Progress
from imprint.ports.archives import ArchiveStore, MigrationProgress, StoredDocument
from imprint.ports.drafts import GarbageStore
from imprint.ports.files import FileStore
from imprint.ports.installation import LeaseStore
from imprint.services.content.labels import label_of
from imprint.services.installation.exports import DocumentMissing
from imprint.services.tasks.leases import pause_collection

BATCH = 256
"""Number of documents looked up together."""

CONCURRENT_COPIES = 8
"""Number of documents copied concurrently."""


class NotMigrated(Exception):
    """A document must not be copied to the target store, or could not be read back from it."""


@dataclass(frozen=True, slots=True)
class MigrationResult:
    """The number of documents that a run copied, and the total number."""

    copied: int
    documents: int


@dataclass(frozen=True, slots=True)
class ContentMigration:
    """Copies documents from `source`, which the service uses, to `target`."""

    archives: ArchiveStore
    files: FileStore
    garbage: GarbageStore
    leases: LeaseStore
    source: ContentStore
    target: ContentStore
    clock: Clock
    migrated: MigrationProgress
    publicly_readable: bool = False
    """Whether the target is public, so that only ciphertext may be copied there."""

    async def run(self, progress: Progress) -> MigrationResult:
        """Copy the documents that have not been copied yet, and read each one back.

        Raises `DocumentMissing` and `NotMigrated`.
        """
        async with pause_collection(self.leases, "content migration", self.clock):
            total = sum([len(batch) async for _, batch in self._batches()])
            done = copied = 0
            progress(done, total)
            async for network, batch in self._batches():
                pending = self.migrated.pending(network, batch)
                done += len(batch) - len(pending)
                for start in range(0, len(pending), CONCURRENT_COPIES):
                    group = pending[start : start + CONCURRENT_COPIES]
                    await asyncio.gather(*(self._copy(each, network) for each in group))
                    self.migrated.note(network, group)
                    copied += len(group)
                    done += len(group)
                    progress(min(done, total), total)
        return MigrationResult(copied, done)

    async def _batches(self) -> AsyncIterator[tuple[Network, list[StoredDocument]]]:
        for network in Network:
            after = ""
            while batch := await self.archives.documents_after(network, after, BATCH):
                yield network, batch
                after = batch[-1].cid
                # Let other tasks run, such as the renewal of the lease.
                await asyncio.sleep(0)

    async def _copy(self, stored: StoredDocument, network: Network) -> None:
        cid = stored.cid
        if self.publicly_readable and stored.readable and network is Network.PRIVATE:
            raise NotMigrated(
                f"The document {cid} is not encrypted, and anybody could read it there."
            )
        document = await self.source.read(cid, network)
        if document is None:
            raise DocumentMissing(cid)
        file = await self.files.file_by_cid(cid)
        label = None if file is None else label_of(file)
        await self.target.put(cid, document, network, label, await self.garbage.fence())
        if await self.target.read(cid, network) != document:
            raise NotMigrated(f"The document {cid} could not be read back from the other store.")
