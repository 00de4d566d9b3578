"""Copies all documents from one content store to another, beside a running service.

Documents never change, so a copy is good for ever; what was copied is noted, and not looked at
again. What is written while a move runs goes to the old store and is found by the next run, which
has only that to do. None is destroyed meanwhile.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

from imprint.domain.files import Label, Network
from imprint.ports import Catalog, Clock, ContentStore, Progress
from imprint.ports.archives import Journal, StoredDocument
from imprint.services.exports import Incomplete
from imprint.services.garbage_collector import pause_collection

BATCH = 256
"""How many documents are looked up at once."""

AT_ONCE = 8
"""How many documents are on their way at the same time."""


class NotMoved(Exception):
    """A document must not go to the other store, or did not come back from it as it was."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What a run has done: how many documents it copied, of how many."""

    copied: int
    documents: int


@dataclass(frozen=True, slots=True)
class ContentMigration:
    """Copies from `source`, which the service uses, to `target`."""

    catalog: Catalog
    source: ContentStore
    target: ContentStore
    clock: Clock
    journal: Journal
    strangers_read: bool = False
    """Whether strangers can fetch what the target holds, so that only ciphertext may go there."""

    async def run(self, tell: Progress) -> Moved:
        """Copy what has not been copied, reading each document back.

        Raises `Incomplete` for one that is missing, and `NotMoved`.
        """
        async with pause_collection(self.catalog, self.clock):
            total = sum([len(batch) async for _, batch in self._batches()])
            seen = copied = 0
            tell(seen, total)
            async for network, batch in self._batches():
                wanted = self.journal.pending(network, batch)
                seen += len(batch) - len(wanted)
                for start in range(0, len(wanted), AT_ONCE):
                    few = wanted[start : start + AT_ONCE]
                    await asyncio.gather(*(self._copy(each, network) for each in few))
                    self.journal.note(network, few)
                    copied += len(few)
                    seen += len(few)
                    tell(min(seen, total), total)
        return Moved(copied, seen)

    async def _batches(self) -> AsyncIterator[tuple[Network, list[StoredDocument]]]:
        for network in Network:
            after = ""
            while batch := await self.catalog.documents_after(network, after, BATCH):
                yield network, batch
                after = batch[-1].cid
                # So that the lease is prolonged meanwhile.
                await asyncio.sleep(0)

    async def _copy(self, stored: StoredDocument, network: Network) -> None:
        cid = stored.cid
        if self.strangers_read and stored.readable and network is Network.PRIVATE:
            raise NotMoved(
                f"The document {cid} is not encrypted, and strangers could read it there."
            )
        document = await self.source.read(cid, network)
        if document is None:
            raise Incomplete(f"The document {cid} is missing in the content store.")
        file = await self.catalog.file_by_cid(cid)
        label = None
        if file is not None:
            label = Label(file.name, file.owner, file.group_id, file.state)
        await self.target.put(cid, document, network, label)
        if await self.target.read(cid, network) != document:
            raise NotMoved(f"The document {cid} did not come back from the other store.")
