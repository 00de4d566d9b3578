"""Repair: a damaged installation gets back what its catalog, documents, backups and chain know.

What each of them knows is on docs/decisions/repair.md. The flow, from top to bottom:

1. Every row that can be read is in a new catalog (`SalvagedCatalog`).
2. Backups give rows that are missing, the newest first.
3. Documents give the files that only indexes know, and those that nothing knows any more.
4. The new catalog takes the place of the damaged one, which is kept.
5. Documents that are missing or damaged come from backups.
6. The chain is read again: it decides which files are posts.
"""

import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from imprint.domain.addresses import NotAnAddress, parse_address
from imprint.domain.cids import Cid
from imprint.domain.documents import NotADocument, check_document, read_document
from imprint.domain.errors import Unavailable
from imprint.domain.files import Network, file_name
from imprint.ports import Catalog, Clock, ContentStore, Progress
from imprint.ports.catalog import CatalogDamaged
from imprint.ports.content import DocumentCipher, Inventory
from imprint.ports.repair import BackupSource, LostFile, SalvageCounts, SalvagedCatalog
from imprint.services.chain_sync import Follower
from imprint.services.installation import expect_own
from imprint.services.scrub import verify_some

BATCH = 256
"""How many documents are looked up at once."""

_LATEST_NUMBER = 2**62
"""Above every number of a name: such a name was not given by this service."""


@dataclass(slots=True)
class RepairReport:
    """What a repair has found and done."""

    dry_run: bool = False
    found: list[str] = field(default_factory=list)
    """What was damaged."""
    kept: int = 0
    from_backups: int = 0
    from_indexes: int = 0
    from_documents: int = 0
    documents_from_backups: int = 0
    followed_to: int | None = None
    """The block up to which the chain was read again."""
    notes: list[str] = field(default_factory=list)
    """What the operator should know."""
    lost: list[str] = field(default_factory=list)
    """What nothing knows any more."""

    @property
    def whole(self) -> bool:
        """Whether nothing is lost."""
        return not self.lost

    def count(self, counts: SalvageCounts) -> None:
        """Take over what a salvaged catalog has counted."""
        self.found += counts.unreadable
        self.kept = sum(counts.kept.values())
        self.from_backups = sum(counts.backup.values())
        self.from_indexes = counts.indexes
        self.from_documents = counts.documents
        self.lost += counts.lost

    def as_json(self) -> dict[str, Any]:
        """The report as members of a JSON object."""
        return asdict(self) | {"whole": self.whole}


@dataclass(frozen=True, slots=True)
class Repair:
    """Repairs records and documents from backups, the newest of which comes first."""

    content: ContentStore
    inventory: Inventory | None
    cipher: DocumentCipher
    clock: Clock
    backups: Sequence[BackupSource]
    report: RepairReport

    async def complete_records(self, salvaged: SalvagedCatalog, installation: str | None) -> None:
        """Give a salvaged catalog what backups, indexes and documents know.

        `installation` is the id in the content store. Raises `CannotStart` for that of another
        installation, and `Unavailable` without the store.
        """
        if salvaged.identity is not None and installation is not None:
            expect_own(installation, salvaged.identity.id)
        salvaged.set_installation(installation)
        await self._probe()
        for backup in self.backups:
            try:
                salvaged.add_backup(backup.catalog())
            except CatalogDamaged as error:
                self.report.notes.append(f"{backup.name} cannot be used for records. {error}")
        await self._rebuild_files(salvaged)
        await self._adopt_strays(salvaged)
        salvaged.finish(self.clock())
        self.report.count(salvaged.counts)

    async def _rebuild_files(self, salvaged: SalvagedCatalog) -> None:
        """Rebuild the files that no backup has, from indexes and their documents."""
        for lost in salvaged.lost_files():
            if lost.cid is None:
                continue
            document = await self._find(lost.cid)
            if document is None:
                self.report.lost.append(f"The file {lost}: neither a record nor its document.")
                continue
            key = self._working_key(lost, document)
            name = lost.name if key is not None else _name_in(document)
            if name is None or name != (lost.name or name):
                self.report.lost.append(
                    f"The file {lost}: its document {lost.cid} is encrypted, and its key is lost."
                )
            elif not salvaged.rebuild_file(lost, name, lost.cid, len(document), key):
                self.report.lost.append(f"The file {lost}: another one has its place.")

    def _working_key(self, lost: LostFile, document: bytes) -> bytes | None:
        """The wrapped key of a damaged record, if it decrypts the document."""
        if lost.wrapped_key is None or lost.name is None:
            return None
        try:
            check_document(self.cipher.decrypt(document, lost.wrapped_key, lost.name), lost.name)
        except (Unavailable, NotADocument):
            return None
        return lost.wrapped_key

    async def _adopt_strays(self, salvaged: SalvagedCatalog) -> None:
        """Make drafts of documents that no record names: their records were lost."""
        found: list[tuple[int, str, Cid, int]] = []
        unreadable = 0
        async for cid in self._unknown_documents(salvaged):
            document = await self._read(cid, Network.PRIVATE)
            name = None if document is None else _name_in(document)
            if document is None or name is None:
                unreadable += 1
                continue
            found.append((int(name.rpartition("_")[2]), name, cid, len(document)))
        lost = {each.name: each for each in salvaged.lost_files() if each.cid is None}
        for _, name, cid, size in sorted(found):
            if name in lost:
                salvaged.rebuild_file(lost.pop(name), name, cid, size, None)
            elif salvaged.add_draft(cid, name, size):
                owner = name.partition("_")[0]
                self.report.notes.append(f"The document {cid} is a draft of {owner} again.")
        if unreadable:
            self.report.notes.append(
                f"{unreadable} documents without a record cannot be read: they are encrypted, and "
                "their keys were in the lost records, or they are damaged."
            )
        # A document that became a draft may be the one of a file of which an index has no more
        # than the position.
        missing = len(lost) - salvaged.counts.documents
        if missing > 0:
            self.report.lost.append(f"{missing} files of which neither name nor document is known.")

    async def _unknown_documents(self, salvaged: SalvagedCatalog) -> AsyncIterator[Cid]:
        batch: list[Cid] = []
        if self.inventory is not None:
            async for cid in self.inventory.list_documents(Network.PRIVATE):
                batch.append(cid)
                if len(batch) == BATCH:
                    for each in salvaged.unknown_documents(batch):
                        yield each
                    batch.clear()
        for each in salvaged.unknown_documents(batch):
            yield each

    async def restore_documents(self, catalog: Catalog, progress: Progress) -> None:
        """Take documents that are missing or damaged from backups, and name those that none has."""
        await self._probe()
        missing: dict[tuple[Cid, Network], None] = {}
        done = 0
        for network in Network:
            after = ""
            while batch := await catalog.documents_after(network, after, BATCH):
                for stored in batch:
                    if await self._read(stored.cid, network) is None:
                        missing[stored.cid, network] = None
                    done += 1
                progress(done, done)
                after = batch[-1].cid
        for cid, network, document in self._saved(missing):
            del missing[cid, network]
            self.report.documents_from_backups += 1
            if not self.report.dry_run:
                # With records on a server, a collector may be about to remove it.
                await self.content.put(cid, document, network, None, await catalog.fence())
        for cid, network in missing:
            self.report.lost.append(await self._describe(catalog, cid, network))

    async def read_chain(self, follower: Follower) -> None:
        """Read the chain again, if a node responds; otherwise the service does when it starts."""
        first = follower.start_block
        try:
            await follower.rebuild(first, lambda done, total: None)
            cursor = await follower.catalog.cursor(follower.chain_id)
        except Unavailable:
            self.report.notes.append(
                "No node responds. Posts whose events were lost are drafts until the service, or "
                f"`imprint reconcile --from-block {first}`, has read the chain again."
            )
            return
        self.report.followed_to = None if cursor is None else cursor.number

    async def verify(self, catalog: Catalog) -> None:
        """Verify all records as they are now; what is still damaged is lost."""
        self.report.lost += await catalog.examine()
        async for _, damage in verify_some(catalog, most=sys.maxsize):
            if damage is not None:
                self.report.lost.append(f"Still damaged: {damage}.")
        self.report.lost += await catalog.compare_tags()

    async def _probe(self) -> None:
        """Raise `Unavailable` without the store: a document would seem to be lost.

        It writes, so a dry run believes the store.
        """
        if not self.report.dry_run:
            await self.content.probe()

    async def _find(self, cid: Cid) -> bytes | None:
        """A private document from the store, or from a backup; then it is stored again."""
        document = await self._read(cid, Network.PRIVATE)
        if document is not None:
            return document
        for _, network, saved in self._saved({(cid, Network.PRIVATE): None}):
            self.report.documents_from_backups += 1
            if not self.report.dry_run:
                await self.content.put(cid, saved, network)
            return saved
        return None

    async def _read(self, cid: Cid, network: Network) -> bytes | None:
        """The bytes of a document; None if it is missing or damaged."""
        try:
            return await self.content.read(cid, network)
        except Unavailable:
            return None

    def _saved(
        self, wanted: dict[tuple[Cid, Network], None]
    ) -> Iterator[tuple[Cid, Network, bytes]]:
        """Those of the wanted documents that a backup has, each once."""
        left = dict(wanted)
        for backup in self.backups if left else ():
            for cid, network, document in backup.documents(left):
                if (cid, network) in left:
                    del left[cid, network]
                    yield cid, network, document

    async def _describe(self, catalog: Catalog, cid: Cid, network: Network) -> str:
        if network is Network.PUBLIC:
            return f"The thumbnail {cid}."
        file = await catalog.file_by_cid(cid)
        owner = "a version that was replaced or deleted" if file is None else file.owner
        return f"The document {cid} of {owner}."


def _name_in(document: bytes) -> str | None:
    """The name in a readable document, if this service has given it."""
    try:
        name = read_document(document).name
        owner, _, number = name.rpartition("_")
        if int(number) < _LATEST_NUMBER and name == file_name(parse_address(owner), int(number)):
            return name
    except (NotADocument, NotAnAddress, ValueError):
        pass
    return None
