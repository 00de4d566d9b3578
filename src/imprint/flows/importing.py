"""Importing: the files of an export, taken into this installation.

Nothing is written before the whole export is proven and compared with what is here. Each file is
then stored and recorded on its own; an import that was interrupted is simply run again.

Nonces are no part of an export. They keep a signed write from taking effect twice, and no signed
write is good for longer than a minute; a backup, which continues an installation, has them.
"""

import asyncio
from collections import Counter
from dataclasses import dataclass

from imprint.domain.addresses import Address
from imprint.domain.files import Label, Network
from imprint.flows.exporting import Tell
from imprint.flows.sparing import spare_documents
from imprint.flows.verifying import Carried, OpenedExport, walk_export
from imprint.ports import Catalog, Clock, ContentStore
from imprint.ports.archives import Adoption, Archive, Clash

SHOWN_CLASHES = 10
"""How many contradictions are told; whoever has more has the wrong archive."""


class Clashes(Exception):
    """The export contradicts this installation; nothing was written."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("The export does not fit to what is here.")
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Importing:
    """Takes exports in."""

    catalog: Catalog
    content: ContentStore
    clock: Clock
    chain_id: int
    marketplace: Address
    strangers_read: bool = False
    """Whether strangers can fetch what is stored, so that only encrypted documents may be."""

    async def run(self, archive: Archive, opened: OpenedExport, tell: Tell) -> Counter[Adoption]:
        """Compare an export that `check_export` has proven, and take it in; what came of its files.

        Refuses, with `Clashes`, what contradicts this installation.
        """
        self.refuse_other_chain(opened)
        async with spare_documents(self.catalog, self.clock):
            await self._compare(archive, opened)
            counts: Counter[Adoption] = Counter()
            for carried in walk_export(archive, opened.manifest):
                counts[await self._take_in(carried)] += 1
                tell(counts.total(), opened.manifest.files)
        return counts

    def refuse_other_chain(self, opened: OpenedExport) -> None:
        """Refuse, with `Clashes`, an export of another marketplace."""
        theirs = (opened.manifest.chain_id, opened.manifest.marketplace)
        if theirs != (self.chain_id, self.marketplace):
            raise Clashes(
                [
                    f"It is of the marketplace {theirs[1]} on chain {theirs[0]}; the settings name "
                    f"{self.marketplace} on chain {self.chain_id}."
                ]
            )

    async def _compare(self, archive: Archive, opened: OpenedExport) -> None:
        reasons: list[str] = []
        for carried in walk_export(archive, opened.manifest):
            try:
                await self.catalog.compare_file(carried.exported)
            except Clash as clash:
                reasons.append(str(clash))
            if self.strangers_read and carried.exported.file.wrapped_key is None:
                cid = carried.exported.file.cid
                reasons.append(f"The document {cid} is not encrypted, and strangers could read it.")
            if len(reasons) >= SHOWN_CLASHES:
                break
            # So that the lease is prolonged meanwhile.
            await asyncio.sleep(0)
        if reasons:
            raise Clashes(reasons)

    async def _take_in(self, carried: Carried) -> Adoption:
        file = carried.exported.file
        found = await self.catalog.compare_file(carried.exported)
        if found is Adoption.RETIRED:
            return found
        label = Label(file.name, file.owner, file.group_id, file.state)
        await self.content.put(file.cid, carried.document, Network.PRIVATE, label)
        if file.thumbnail_cid is not None and carried.thumbnail is not None:
            await self.content.put(file.thumbnail_cid, carried.thumbnail, Network.PUBLIC)
        return await self.catalog.adopt_file(carried.exported)
