"""Export: all live files in one CAR, with a signed manifest that proves them.

First the records of one moment are written to a spool; then their pages and documents go out, page
by page. Documents never change, and none is destroyed meanwhile, so what goes out is that moment,
whatever authors do until the end. Nothing is kept in memory but one page and a few documents.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from imprint.auth.export_keys import ExportKey, is_signed
from imprint.domain.addresses import Address
from imprint.domain.car import write_header, write_section
from imprint.domain.cids import Cid, NotAssembled, assemble, blocks, take_varint, write_varint
from imprint.domain.dag_json import node_cid
from imprint.domain.documents import NotADocument, read_document
from imprint.domain.exports import (
    FILES_A_PAGE,
    LINKS_A_NODE,
    ExportedFile,
    Manifest,
    NotAnExport,
    SignedRoot,
    read_manifest,
    read_page,
    read_signed_root,
    signed_bytes,
    write_index,
    write_manifest,
    write_page,
    write_signed_root,
)
from imprint.domain.files import File, Label, Network
from imprint.ports import Catalog, Clock, ContentStore, Progress
from imprint.ports.archives import Archive, ImportConflict, ImportOutcome
from imprint.services.garbage_collector import pause_collection

AT_ONCE = 8
"""How many documents are read at the same time, for stores that are far away."""

WriteBytes = Callable[[bytes], object]


class Incomplete(Exception):
    """A document that the catalog names is missing in the content store."""


@dataclass(frozen=True, slots=True)
class Export:
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
        self, owner: Address | None, spool: BinaryIO, write: WriteBytes, tell: Progress
    ) -> Manifest:
        """Write a CAR of all files, or of one owner's. Raises `Incomplete`."""
        async with pause_collection(self.catalog, self.clock):
            made_at = self.clock()
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
        yield write_signed_root(SignedRoot(node_cid(manifest), self.key.public, signature))
        yield manifest
        for level in reversed(indexes):
            yield from level

    async def _write_pages(
        self, spool: BinaryIO, total: int, write: WriteBytes, tell: Progress
    ) -> None:
        done = 0
        tell(done, total)
        while (length := take_varint(spool.read)) is not None:
            page = spool.read(length)
            write(write_section(node_cid(page), page))
            files = [each for each in read_page(page) if isinstance(each, ExportedFile)]
            async for document in self._documents(files):
                for cid, block in blocks(document):
                    write(write_section(cid, block))
            done += len(files)
            tell(done, total)

    async def _documents(self, files: list[ExportedFile]) -> AsyncIterator[bytes]:
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


MAX_THUMBNAIL = 64 * 1024 * 1024
"""Far more bytes than any thumbnail has."""

_PICTURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
"""How thumbnails begin."""


@dataclass(frozen=True, slots=True)
class OpenedExport:
    """What an export says of itself, and whose word that is."""

    manifest: Manifest
    key: bytes


@dataclass(frozen=True, slots=True)
class Carried:
    """A file of an export with the bytes of its documents."""

    exported: ExportedFile
    document: bytes
    thumbnail: bytes | None


def open_export(archive: Archive, trusted: bytes | None = None) -> OpenedExport:
    """The manifest, if its signature holds.

    Refuses, with `NotAnExport`, any other archive, and another key than the trusted one.
    """
    if len(archive.roots) != 1:
        raise NotAnExport("An export has one root.")
    seal = read_signed_root(archive.read(archive.roots[0]))
    if trusted is not None and seal.key != trusted:
        raise NotAnExport(f"The export is signed by another key, {seal.key.hex()}.")
    manifest = archive.read(seal.manifest)
    if not is_signed(seal.key, signed_bytes(manifest), seal.signature):
        raise NotAnExport("The signature of the manifest is wrong.")
    return OpenedExport(read_manifest(manifest), seal.key)


def check_export(archive: Archive, opened: OpenedExport, tell: Progress) -> None:
    """Prove every file of an export, and that it has nothing else. Refuses with `NotAnExport`."""
    manifest, done = opened.manifest, 0
    tell(done, manifest.files)
    for carried in walk_export(archive, manifest):
        _check_file(archive, manifest, carried.exported)
        done += 1
        tell(done, manifest.files)
    if done != manifest.files:
        raise NotAnExport(f"The manifest speaks of {manifest.files} files, but lists {done}.")
    if strangers := archive.unreached():
        raise NotAnExport(f"{strangers} blocks are not those of any file in the manifest.")


def walk_export(archive: Archive, manifest: Manifest) -> Iterator[Carried]:
    """Every file in its order, with its documents. Refuses with `NotAnExport`."""
    waiting = list(reversed(manifest.pages))
    while waiting:
        cid = waiting.pop()
        found = read_page(archive.read(cid))
        if isinstance(found, tuple):
            # An index that links to itself would have to know its own hash, so this ends.
            waiting += reversed(found)
            continue
        for exported in found:
            yield _read_file(archive, exported)


def _read_file(archive: Archive, exported: ExportedFile) -> Carried:
    file = exported.file
    document = _assemble(archive, file.cid, file.size)
    if len(document) != file.size:
        raise NotAnExport(f"The document {file.cid} has {len(document)} bytes, not {file.size}.")
    if file.wrapped_key is None:
        _check_document(file, document)
    if file.thumbnail_cid is None:
        return Carried(exported, document, None)
    thumbnail = _assemble(archive, file.thumbnail_cid, MAX_THUMBNAIL)
    if not thumbnail.startswith(_PICTURES):
        raise NotAnExport(f"The thumbnail {file.thumbnail_cid} is no picture.")
    return Carried(exported, document, thumbnail)


def _assemble(archive: Archive, cid: Cid, limit: int) -> bytes:
    try:
        return assemble(cid, archive.read, limit)
    except NotAssembled as error:
        raise NotAnExport(str(error)) from error


def _check_document(file: File, document: bytes) -> None:
    try:
        name = read_document(document).name
    except NotADocument as error:
        raise NotAnExport(f"The document {file.cid} is none.") from error
    if name != file.name:
        raise NotAnExport(f"The document {file.cid} is named {name}, not {file.name}.")


def _check_file(archive: Archive, manifest: Manifest, exported: ExportedFile) -> None:
    file, event = exported.file, exported.event
    if manifest.owner not in (None, file.owner):
        raise NotAnExport(f"The file {file.id} is not of the owner that the export is of.")
    names = {"id": file.id, "name": file.name, "cid": file.cid, "group": file.group_id}
    if event is not None:
        names["post"] = str(event.post_id)
        if event.place.chain_id != manifest.chain_id:
            raise NotAnExport(f"The file {file.id} is published on another chain.")
    for kind, value in names.items():
        if not archive.note(kind, value):
            raise NotAnExport(f"Two files have the same {kind}, {value}.")


SHOWN_CLASHES = 10
"""How many contradictions are told; whoever has more has the wrong archive."""


class ImportConflicts(Exception):
    """The export contradicts this installation; nothing was written."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("The export does not fit to what is here.")
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Import:
    """Takes exports in."""

    catalog: Catalog
    content: ContentStore
    clock: Clock
    chain_id: int
    marketplace: Address
    strangers_read: bool = False
    """Whether strangers can fetch what is stored, so that only encrypted documents may be."""

    async def run(
        self, archive: Archive, opened: OpenedExport, tell: Progress
    ) -> Counter[ImportOutcome]:
        """Compare an export that `check_export` has proven, and take it in; what came of its files.

        Refuses, with `ImportConflicts`, what contradicts this installation.
        """
        self.refuse_other_chain(opened)
        async with pause_collection(self.catalog, self.clock):
            await self._compare(archive, opened)
            counts: Counter[ImportOutcome] = Counter()
            for carried in walk_export(archive, opened.manifest):
                counts[await self._take_in(carried)] += 1
                tell(counts.total(), opened.manifest.files)
        return counts

    def refuse_other_chain(self, opened: OpenedExport) -> None:
        """Refuse, with `ImportConflicts`, an export of another marketplace."""
        theirs = (opened.manifest.chain_id, opened.manifest.marketplace)
        if theirs != (self.chain_id, self.marketplace):
            raise ImportConflicts(
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
            except ImportConflict as clash:
                reasons.append(str(clash))
            if self.strangers_read and carried.exported.file.wrapped_key is None:
                cid = carried.exported.file.cid
                reasons.append(f"The document {cid} is not encrypted, and strangers could read it.")
            if len(reasons) >= SHOWN_CLASHES:
                break
            # So that the lease is prolonged meanwhile.
            await asyncio.sleep(0)
        if reasons:
            raise ImportConflicts(reasons)

    async def _take_in(self, carried: Carried) -> ImportOutcome:
        file = carried.exported.file
        found = await self.catalog.compare_file(carried.exported)
        if found is ImportOutcome.RETIRED:
            return found
        label = Label(file.name, file.owner, file.group_id, file.state)
        await self.content.put(file.cid, carried.document, Network.PRIVATE, label)
        if file.thumbnail_cid is not None and carried.thumbnail is not None:
            await self.content.put(file.thumbnail_cid, carried.thumbnail, Network.PUBLIC)
        return await self.catalog.import_file(carried.exported)
