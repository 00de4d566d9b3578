"""Exporting: all live files in one CAR, with a signed manifest that proves them.

First the records of one moment are written to a spool; then their pages and documents go out, page
by page. Documents never change, and none is destroyed meanwhile, so what goes out is that moment,
whatever authors do until the end. Nothing is kept in memory but one page and a few documents.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from imprint.auth.export_keys import ExportKey
from imprint.domain.addresses import Address
from imprint.domain.car import write_header, write_section
from imprint.domain.cids import Cid
from imprint.domain.dag_json import node_cid
from imprint.domain.export_records import Exported
from imprint.domain.exports import (
    FILES_A_PAGE,
    LINKS_A_NODE,
    Manifest,
    Seal,
    read_page,
    signed_bytes,
    write_index,
    write_manifest,
    write_page,
    write_seal,
)
from imprint.domain.files import File, Network
from imprint.domain.unixfs import blocks
from imprint.domain.varints import take_varint, write_varint
from imprint.flows.sparing import spare_documents
from imprint.ports import Catalog, Clock, ContentStore

AT_ONCE = 8
"""How many documents are read at the same time, for stores that are far away."""

Write = Callable[[bytes], object]
Tell = Callable[[int, int], None]
"""Hears how many files are done, and of how many."""


class Incomplete(Exception):
    """A document that the catalog names is missing in the content store."""


@dataclass(frozen=True, slots=True)
class Exporting:
    """Writes exports of one installation."""

    catalog: Catalog
    content: ContentStore
    clock: Clock
    key: ExportKey
    chain_id: int
    marketplace: Address
    page_size: int = FILES_A_PAGE
    width: int = LINKS_A_NODE

    async def run(
        self, owner: Address | None, spool: BinaryIO, write: Write, tell: Tell
    ) -> Manifest:
        """Write a CAR of all files, or of one owner's. Raises `Incomplete`."""
        async with spare_documents(self.catalog, self.clock):
            made_at = self.clock.now()
            files, pages = await self._spool(owner, spool)
            indexes = list(_raise_indexes(pages, self.width))
            top = [node_cid(block) for block in indexes[-1]] if indexes else pages
            manifest = Manifest(made_at, self.chain_id, self.marketplace, owner, files, tuple(top))
            root, *nodes = self._top_nodes(write_manifest(manifest), indexes)
            write(write_header([node_cid(root)]))
            for node in (root, *nodes):
                write(write_section(node_cid(node), node))
            await self._write_pages(spool, files, write, tell)
        return manifest

    async def _spool(self, owner: Address | None, spool: BinaryIO) -> tuple[int, list[Cid]]:
        count, pages = 0, []
        async for files in self.catalog.walk_files(owner, self.page_size):
            page = write_page(files)
            spool.write(write_varint(len(page)) + page)
            pages.append(node_cid(page))
            count += len(files)
        spool.seek(0)
        return count, pages

    def _top_nodes(self, manifest: bytes, indexes: list[list[bytes]]) -> Iterator[bytes]:
        signature = self.key.sign(signed_bytes(manifest))
        yield write_seal(Seal(node_cid(manifest), self.key.public, signature))
        yield manifest
        for level in reversed(indexes):
            yield from level

    async def _write_pages(self, spool: BinaryIO, total: int, write: Write, tell: Tell) -> None:
        done = 0
        tell(done, total)
        while (length := take_varint(spool.read)) is not None:
            page = spool.read(length)
            write(write_section(node_cid(page), page))
            files = [each for each in read_page(page) if isinstance(each, Exported)]
            async for document in self._documents(files):
                for cid, block in blocks(document):
                    write(write_section(cid, block))
            done += len(files)
            tell(done, total)

    async def _documents(self, files: list[Exported]) -> AsyncIterator[bytes]:
        named = [each for file in files for each in held(file.file)]
        for start in range(0, len(named), AT_ONCE):
            wanted = named[start : start + AT_ONCE]
            found = await asyncio.gather(*(self.content.read(*each) for each in wanted))
            for (cid, _), document in zip(wanted, found, strict=True):
                if document is None:
                    raise Incomplete(f"The document {cid} is missing in the content store.")
                yield document


def held(file: File) -> Iterator[tuple[Cid, Network]]:
    """The documents that a file needs."""
    yield file.cid, Network.PRIVATE
    if file.thumbnail_cid is not None:
        yield file.thumbnail_cid, Network.PUBLIC


def _raise_indexes(cids: list[Cid], width: int) -> Iterator[list[bytes]]:
    """Levels of indexes, until one node can link to all of the last."""
    while len(cids) > width:
        starts = range(0, len(cids), width)
        level = [write_index(cids[start : start + width]) for start in starts]
        cids = [node_cid(block) for block in level]
        yield level
