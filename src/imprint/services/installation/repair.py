"""Repair: restores a damaged installation from a backup and the chain.

The steps, in order (docs/decisions/repair.md explains why there are no more):

1. The readable records, and records from the backup, are in a new catalog, which has replaced
   the damaged one (`adapters/database/sqlite/rebuild.py`).
2. Documents that are missing or damaged are restored from the backup.
3. The chain is read again, which decides which files are posts.
4. Whatever is still missing is reported.
"""

import sys
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from imprint.domain.drafts.documents import NotADocument, read_document
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import Cid
from imprint.ports import ContentStore, Progress
from imprint.ports.archives import ArchiveStore
from imprint.ports.content import Inventory
from imprint.ports.damage import DatabaseHealth
from imprint.ports.drafts import GarbageStore
from imprint.ports.files import FileStore, RevisionStore
from imprint.ports.installation import RecordStore
from imprint.services.installation.scrub import verify_some, walk_profiles, walk_revisions
from imprint.services.publication.chain_sync import Follower

BATCH = 256
"""Number of documents looked up together."""

SavedDocuments = Callable[[Collection[tuple[Cid, Network]]], Iterable[tuple[Cid, Network, bytes]]]
"""Returns the documents of this collection that a backup has."""


@dataclass(slots=True)
class RepairReport:
    """The findings and results of a repair."""

    dry_run: bool = False
    found: list[str] = field(default_factory=list)
    """The damage that was found."""
    kept: int = 0
    """Number of file records that were readable."""
    from_backup: int = 0
    """Number of file records restored from the backup."""
    documents_from_backup: int = 0
    followed_to: int | None = None
    """The block up to which the chain was read again."""
    notes: list[str] = field(default_factory=list)
    """Notes on the repair for the operator."""
    lost: list[str] = field(default_factory=list)
    """The data that could not be recovered."""

    @property
    def whole(self) -> bool:
        """Whether no data is lost."""
        return not self.lost

    def as_json(self) -> dict[str, Any]:
        """Return the report as the members of a JSON object."""
        return asdict(self) | {"whole": self.whole}


@dataclass(frozen=True, slots=True)
class Repair:
    """Repairs a readable catalog from a backup and the chain."""

    database: DatabaseHealth
    records: RecordStore
    archives: ArchiveStore
    files: FileStore
    revisions: RevisionStore
    garbage: GarbageStore
    content: ContentStore
    saved: SavedDocuments | None
    report: RepairReport

    async def restore_documents(self, progress: Progress) -> None:
        """Restore missing or damaged documents from the backup, and report the ones it lacks."""
        if not self.report.dry_run:
            # Without the store, every document would seem lost. A dry run must not probe, because
            # the probe writes.
            await self.content.probe()
        missing: dict[tuple[Cid, Network], str] = {}
        done = 0
        for network in Network:
            after = ""
            while batch := await self.archives.documents_after(network, after, BATCH):
                for stored in batch:
                    if await self._read(stored.cid, network) is None:
                        name = await self._describe(stored.cid, network)
                        missing[stored.cid, network] = name
                        self.report.found.append(f"{name} is missing or damaged.")
                    done += 1
                progress(done, done)
                after = batch[-1].cid
        if missing and self.saved is not None:
            for cid, network, document in self.saved(frozenset(missing)):
                del missing[cid, network]
                self.report.documents_from_backup += 1
                if not self.report.dry_run:
                    # If the records are on a database server, the collector of another process may
                    # be about to remove the document.
                    fence = await self.garbage.fence()
                    await self.content.put(cid, document, network, None, fence)
        self.report.lost += [f"{name}." for name in missing.values()]

    async def read_chain(self, follower: Follower) -> None:
        """Read the chain again if a node responds. If not, the service reads it when it starts."""
        first = follower.start_block
        try:
            await follower.rebuild(first, lambda done, total: None)
            cursor = await follower.events.cursor(follower.chain_id)
        except Unavailable:
            self.report.notes.append(
                "No node responds. Posts whose events were lost stay drafts until the service, "
                f"or `imprint reconcile --from-block {first}`, has read the chain again."
            )
            return
        self.report.followed_to = None if cursor is None else cursor.number

    async def name_strays(self, inventory: Inventory) -> None:
        """Report documents without a record, because their records were lost."""
        strays: list[Cid] = []
        batch: list[Cid] = []
        async for cid in inventory.list_documents(Network.PRIVATE):
            batch.append(cid)
            if len(batch) == BATCH:
                strays += await self.garbage.find_strays(batch, Network.PRIVATE)
                batch.clear()
        strays += await self.garbage.find_strays(batch, Network.PRIVATE)
        named = "\n".join(self.report.lost)
        for cid in strays:
            if cid not in named:
                self.report.lost.append(f"The record of {await self._describe_stray(cid)}.")
        if strays:
            self.report.notes.append(
                f"{len(strays)} documents have no record. They are garbage and will be destroyed "
                "after the grace period; start the service with IMPRINT_JANITOR_SECONDS=0 to "
                "keep them."
            )

    async def _describe_stray(self, cid: Cid) -> str:
        document = await self._read(cid, Network.PRIVATE)
        with suppress(NotADocument):
            if document is not None:
                return f"the file {read_document(document).name!a} with the document {cid}"
        return f"the document {cid}"

    async def verify(self) -> None:
        """Verify all records in their current state. Records that are still damaged are lost."""
        found = await find_damage(self.database, self.records)
        self.report.lost += [f"Still damaged: {each}" for each in found]

    async def _read(self, cid: Cid, network: Network) -> bytes | None:
        """Return the bytes of a document, or None if it is missing or damaged."""
        try:
            return await self.content.read(cid, network)
        except Unavailable:
            return None

    async def _describe(self, cid: Cid, network: Network) -> str:
        if network is Network.PUBLIC:
            return f"The picture {cid}"
        live = await self.files.file_by_cid(cid) or await self.revisions.revision_with_cid(cid)
        owner = "a version that was replaced or deleted" if live is None else live.owner
        return f"The document {cid} of {owner}"


async def find_damage(database: DatabaseHealth, records: RecordStore) -> list[str]:
    """Return the damage in the structure, records and tags of a database."""
    found = await database.examine()
    async for _, damage in verify_some(records, most=sys.maxsize):
        if damage is not None:
            found.append(f"{damage}.")
    found += [
        f"the profile of {address!a}."
        async for address, profile in walk_profiles(records)
        if profile is None
    ]
    found += [
        f"the revision {revision_id!a}."
        async for revision_id, revision in walk_revisions(records)
        if revision is None
    ]
    return found + await records.compare_tags()
