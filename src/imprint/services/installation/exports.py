"""Exports: all live files in one CAR with a signed manifest, written, verified and imported.

An export first writes a snapshot of the records to a spool, then their pages and documents,
page by page. Documents never change, and garbage collection is paused, so the export is
consistent even while authors write. Only one page and a few documents are in memory at a
time.
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import BinaryIO, TypeVar

from imprint.auth.export_keys import ExportKey, is_signed
from imprint.auth.signed_revisions import read_stated
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.documents import NotADocument, check_document, read_document
from imprint.domain.drafts.files import File, Network
from imprint.domain.errors import Refusal
from imprint.domain.exports import (
    FILES_PER_PAGE,
    INDEX_LEVELS,
    LINKS_PER_NODE,
    REVISIONS_PER_PAGE,
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
    write_profiles,
    write_revisions,
    write_signed_root,
)
from imprint.domain.formats.addresses import Address, keccak256
from imprint.domain.formats.car import write_header, write_section
from imprint.domain.formats.cids import (
    Cid,
    NotAssembled,
    assemble,
    blocks_of,
    take_varint,
    write_varint,
)
from imprint.domain.formats.dag_json import node_cid
from imprint.domain.posts.revisions import Revision
from imprint.domain.profiles import Profile
from imprint.ports import Clock, ContentStore, Progress
from imprint.ports.archives import Archive, ArchiveStore, ImportConflict, ImportOutcome
from imprint.ports.drafts import FenceRaised, GarbageStore
from imprint.ports.installation import LeaseStore
from imprint.services.content.labels import label_of
from imprint.services.tasks.leases import CollectionNotPaused, pause_collection

CONCURRENT_READS = 8
"""Number of documents read concurrently, for remote stores."""

MAX_DOCUMENT = 256 * 1024 * 1024
"""Maximum number of bytes in a document. Larger than any real document."""

MAX_THUMBNAIL = 64 * 1024 * 1024
"""Maximum number of bytes in a thumbnail. Larger than any real thumbnail."""

MAX_REPETITION = 16
"""Maximum ratio of the total size of the documents to the size of the export file.

Imprint writes a repeated block every time, but other tools that copy a CAR write it only once.
"""

FREE_REPETITION = 16 * 1024 * 1024
"""Bytes of documents allowed on top of the maximum ratio, for small export files."""

MAX_REMEMBERED = 10_000
"""Maximum number of stored thumbnails that an import tracks. More may be stored twice."""

Added = TypeVar("Added")

MAX_ATTEMPTS = 5
"""Number of attempts to store a file's documents if documents are being deleted meanwhile."""

MAX_CONFLICTS = 10
"""Maximum number of conflicts to report. An archive with more is probably the wrong one."""

_IMAGE_SIGNATURES = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff")
"""The signatures of PNG and JPEG, the thumbnail formats."""

ExportedRecord = ExportedFile | Profile | Revision
"""A record on a page of an export."""

WriteBytes = Callable[[bytes], object]


class DocumentMissing(Exception):
    """A document that the catalog refers to is missing from the content store."""

    def __init__(self, cid: Cid) -> None:
        super().__init__(f"The document {cid} is missing from the content store.")


@dataclass(frozen=True, slots=True)
class Export:
    """Writes exports of one installation."""

    archives: ArchiveStore
    leases: LeaseStore
    content: ContentStore
    clock: Clock
    key: ExportKey
    chain_id: int
    marketplace: Address
    page_size: int = FILES_PER_PAGE
    width: int = LINKS_PER_NODE

    async def run(
        self, owner: Address | None, spool: BinaryIO, write: WriteBytes, progress: Progress
    ) -> Manifest:
        """Write a CAR of all files, or of one owner's files. Raises `DocumentMissing`."""
        async with pause_collection(self.leases, "export", self.clock):
            made_at = self.clock()
            counts, pages = await self._write_spool(owner, spool)
            indexes = list(_build_indexes(pages, self.width))
            top = [node_cid(block) for block in indexes[-1]] if indexes else pages
            files, profiles, revisions = counts
            manifest = Manifest(
                made_at,
                self.chain_id,
                self.marketplace,
                owner,
                files,
                tuple(top),
                profiles,
                revisions,
            )
            root, *nodes = self._top_nodes(write_manifest(manifest), indexes)
            write(write_header([node_cid(root)]))
            for node in (root, *nodes):
                write(write_section(node_cid(node), node))
            await self._write_pages(spool, files, write, progress)
        return manifest

    async def _write_spool(
        self, owner: Address | None, spool: BinaryIO
    ) -> tuple[tuple[int, int, int], list[Cid]]:
        """Write the pages of files, profiles and revisions. Returns the counts and the pages."""
        count, listed, revisions, pages = 0, 0, 0, []
        newest = -1

        def add(page: bytes) -> None:
            spool.write(write_varint(len(page)) + page)
            pages.append(node_cid(page))

        async for files in self.archives.walk_files(owner, self.page_size):
            add(write_page(files))
            count += len(files)
            newest = files[-1].file.position
        async for profiles in self.archives.walk_profiles(owner, self.page_size):
            add(write_profiles(profiles))
            listed += len(profiles)
        size = min(self.page_size, REVISIONS_PER_PAGE)
        # A file that was added since the walk of files has its revisions in the next export.
        async for found in self.archives.walk_revisions(owner, newest, size):
            add(write_revisions(found))
            revisions += len(found)
        spool.seek(0)
        return (count, listed, revisions), pages

    def _top_nodes(self, manifest: bytes, indexes: list[list[bytes]]) -> Iterator[bytes]:
        signature = self.key.sign(signed_bytes(manifest))
        yield write_signed_root(SignedRoot(node_cid(manifest), self.key.public, signature))
        yield manifest
        for level in reversed(indexes):
            yield from level

    async def _write_pages(
        self, spool: BinaryIO, total: int, write: WriteBytes, progress: Progress
    ) -> None:
        done = 0
        progress(done, total)
        while (length := take_varint(spool.read)) is not None:
            page = spool.read(length)
            write(write_section(node_cid(page), page))
            records = [each for each in read_page(page) if not isinstance(each, str)]
            async for named, document in self._documents(records):
                for cid, block in blocks_of(named, document):
                    write(write_section(cid, block))
            done += sum(isinstance(each, ExportedFile) for each in records)
            progress(done, total)

    async def _documents(
        self, records: Sequence[ExportedRecord]
    ) -> AsyncIterator[tuple[Cid, bytes]]:
        named = [each for record in records for each in _documents_of(record)]
        for start in range(0, len(named), CONCURRENT_READS):
            batch = named[start : start + CONCURRENT_READS]
            documents = await asyncio.gather(*(self.content.read(*each) for each in batch))
            for (cid, _), document in zip(batch, documents, strict=True):
                if document is None:
                    raise DocumentMissing(cid)
                yield cid, document


def _documents_of(record: ExportedRecord) -> Iterator[tuple[Cid, Network]]:
    if isinstance(record, Profile):
        if record.avatar_cid is not None:
            yield record.avatar_cid, Network.PUBLIC
        return
    if isinstance(record, Revision):
        yield record.cid, Network.PRIVATE
        return
    file = record.file
    yield file.cid, Network.PRIVATE
    if file.thumbnail_cid is not None:
        yield file.thumbnail_cid, Network.PUBLIC


def _build_indexes(cids: list[Cid], width: int) -> Iterator[list[bytes]]:
    """Yield levels of index nodes. One node can link to all nodes of the last level."""
    while len(cids) > width:
        starts = range(0, len(cids), width)
        level = [write_index(cids[start : start + width]) for start in starts]
        cids = [node_cid(block) for block in level]
        yield level


@dataclass(frozen=True, slots=True)
class OpenedExport:
    """The manifest of an export, and the public key that signed it."""

    manifest: Manifest
    key: bytes


def open_export(archive: Archive, trusted: bytes | None = None) -> OpenedExport:
    """Read the manifest and verify its signature.

    Raises `NotAnExport`, for example if a key other than `trusted` signed the manifest.
    """
    if len(archive.roots) != 1:
        raise NotAnExport("An export must have exactly one root.")
    root = read_signed_root(archive.read(archive.roots[0]))
    if trusted is not None and root.key != trusted:
        raise NotAnExport(f"The export is signed by a different key, {root.key.hex()}.")
    manifest = archive.read(root.manifest)
    if not is_signed(root.key, signed_bytes(manifest), root.signature):
        raise NotAnExport("The signature of the manifest is wrong.")
    return OpenedExport(read_manifest(manifest), root.key)


def check_export(archive: Archive, opened: OpenedExport, progress: Progress) -> int:
    """Verify every file of an export, and that the export contains nothing else.

    Returns how many revisions are signed by contracts, which only the chain can verify. Raises
    `NotAnExport`.
    """
    manifest, done, profiles, revisions, unproved = opened.manifest, 0, 0, 0, 0
    left = MAX_REPETITION * archive.size + FREE_REPETITION
    progress(done, manifest.files)
    for exported in walk_records(archive, manifest, partial(archive.note, "page")):
        if isinstance(exported, Profile):
            left -= _check_profile(archive, manifest, exported, left)
            profiles += 1
            continue
        if isinstance(exported, Revision):
            unproved += not check_revision(archive, manifest, exported, left)
            left -= exported.size
            revisions += 1
            continue
        file = exported.file
        _check_record(archive, manifest, exported)
        if file.size > left:
            raise NotAnExport(f"The file is too small for its documents: {file.cid} is too large.")
        left -= len(read_file(archive, file))
        if file.thumbnail_cid is not None and archive.note("thumbnail", file.thumbnail_cid):
            left -= len(read_thumbnail(archive, file.thumbnail_cid, left))
        done += 1
        progress(done, manifest.files)
    if done != manifest.files:
        raise NotAnExport(f"The manifest counts {manifest.files} files, but lists {done}.")
    if profiles != manifest.profiles:
        raise NotAnExport(f"The manifest counts {manifest.profiles} profiles, lists {profiles}.")
    if revisions != manifest.revisions:
        raise NotAnExport(f"The manifest counts {manifest.revisions} revisions, lists {revisions}.")
    if unreached := archive.unreached():
        raise NotAnExport(f"{unreached} blocks belong to no file in the manifest.")
    return unproved


def walk_records(
    archive: Archive, manifest: Manifest, is_new: Callable[[Cid], bool] = lambda _: True
) -> Iterator[ExportedRecord]:
    """Yield every record in order. Raises `NotAnExport`.

    `is_new` returns whether a page or an index has not been read before.
    """
    waiting, listed = [(cid, 0) for cid in reversed(manifest.pages)], 0
    while waiting:
        cid, level = waiting.pop()
        if not is_new(cid):
            raise NotAnExport(f"The page {cid} is listed twice.")
        page = read_page(archive.read(cid))
        if isinstance(page, tuple):
            if level == INDEX_LEVELS:
                raise NotAnExport(f"There are more than {INDEX_LEVELS} indexes above a page.")
            waiting += [(each, level + 1) for each in reversed(page)]
            continue
        listed += len(page)
        if listed > manifest.files + manifest.profiles + manifest.revisions:
            raise NotAnExport(f"The manifest counts {manifest.files} files, but lists more.")
        yield from page


def read_file(archive: Archive, file: File | Revision) -> bytes:
    """Return the document of a file or a revision. Raises `NotAnExport`."""
    document = _assemble(archive, file.cid, min(file.size, MAX_DOCUMENT))
    if len(document) != file.size:
        raise NotAnExport(f"The document {file.cid} has {len(document)} bytes, not {file.size}.")
    if file.wrapped_key is None:
        try:
            check_document(document, file.name)
        except NotADocument as error:
            raise NotAnExport(
                f"The bytes of {file.cid} are not a document with the name {file.name}."
            ) from error
    return document


def read_thumbnail(archive: Archive, cid: Cid, limit: int = MAX_THUMBNAIL) -> bytes:
    """Return a thumbnail of up to `limit` bytes. Raises `NotAnExport`."""
    thumbnail = _assemble(archive, cid, min(limit, MAX_THUMBNAIL))
    if not thumbnail.startswith(_IMAGE_SIGNATURES):
        raise NotAnExport(f"The thumbnail {cid} is not an image.")
    return thumbnail


def _assemble(archive: Archive, cid: Cid, limit: int) -> bytes:
    try:
        return assemble(cid, archive.read, limit)
    except NotAssembled as error:
        raise NotAnExport(str(error)) from error


def _check_profile(archive: Archive, manifest: Manifest, profile: Profile, left: int) -> int:
    """Verify a profile and return the size of its picture in bytes, which is at most `left`."""
    if manifest.owner not in (None, profile.address):
        raise NotAnExport(f"The profile of {profile.address} is not of the export's owner.")
    if not archive.note("profile", profile.address):
        raise NotAnExport(f"There are two profiles of {profile.address}.")
    if profile.avatar_cid is None or not archive.note("thumbnail", profile.avatar_cid):
        return 0
    return len(read_thumbnail(archive, profile.avatar_cid, left))


def check_revision(archive: Archive, manifest: Manifest, revision: Revision, left: int) -> bool:
    """Verify a revision, its text and its signature. Returns whether a key signed it.

    Otherwise, a contract may have signed it, which only the chain can verify.
    """
    what = f"revision {revision.number} of {revision.document}"
    if manifest.owner not in (None, revision.owner):
        raise NotAnExport(f"The {what} belongs to another owner than the export.")
    if archive.note("cid", revision.document):
        raise NotAnExport(f"The {what} is of no file in the export.")
    unique = {"id": revision.id, "name": revision.name, "cid": revision.cid, "revision": what}
    for kind, value in unique.items():
        if not archive.note(kind, value):
            raise NotAnExport(f"Two files have the same {kind}, {value}.")
    if revision.size > left:
        raise NotAnExport(f"The file is too small for its documents: {revision.cid} is too large.")
    document = read_file(archive, revision)
    try:
        salt = json.loads(revision.salt)
        stated = read_stated(salt, revision.owner, revision.signature)
        chain_id = int(str(salt["domain"]["chainId"]), 0)
    except (Refusal, ValueError) as error:
        raise NotAnExport(f"What the author of {what} signed is malformed.") from error
    if (stated.document, stated.note) != (revision.document, revision.note):
        raise NotAnExport(f"The author of {what} signed another document or another note.")
    if chain_id != manifest.chain_id:
        raise NotAnExport(f"The {what} is signed for another chain.")
    if revision.wrapped_key is None:
        content = read_document(document).content
        if keccak256(content.encode()) != stated.content_hash:
            raise NotAnExport(f"The author of {what} signed another text.")
    return stated.is_signed


def _check_record(archive: Archive, manifest: Manifest, exported: ExportedFile) -> None:
    file, event = exported.file, exported.event
    if manifest.owner not in (None, file.owner):
        raise NotAnExport(f"The file {file.id} belongs to another owner than the export.")
    unique = {"id": file.id, "name": file.name, "cid": file.cid, "group": file.group_id}
    if event is not None:
        unique["post"] = str(event.post_id)
        if event.place.chain_id != manifest.chain_id:
            raise NotAnExport(f"The file {file.id} is published on another chain.")
    for kind, value in unique.items():
        if not archive.note(kind, value):
            raise NotAnExport(f"Two files have the same {kind}, {value}.")


class ImportConflicts(Exception):
    """The export conflicts with this installation. Nothing was written."""

    def __init__(self, reasons: list[str]) -> None:
        super().__init__("The export conflicts with this installation.")
        self.reasons = reasons


@dataclass(frozen=True, slots=True)
class Import:
    """Imports exports into one installation."""

    archives: ArchiveStore
    leases: LeaseStore
    garbage: GarbageStore
    content: ContentStore
    clock: Clock
    chain_id: int
    marketplace: Address
    publicly_readable: bool = False
    """Whether the store is public, so that only encrypted documents may be stored."""

    async def run(
        self, archive: Archive, opened: OpenedExport, progress: Progress
    ) -> Counter[ImportOutcome]:
        """Import an export that `check_export` has verified, and return the file count by outcome.

        Raises `ImportConflicts` before anything is written.
        """
        self.check_marketplace(opened)
        async with pause_collection(self.leases, "import", self.clock):
            await self._check_conflicts(archive, opened)
            counts: Counter[ImportOutcome] = Counter()
            stored = _Stored(await self.garbage.fence())
            for exported in walk_records(archive, opened.manifest):
                if isinstance(exported, Profile):
                    await self._import_profile(archive, exported, stored)
                    continue
                if isinstance(exported, Revision):
                    await self._import_revision(archive, exported)
                    continue
                counts[await self._import_file(archive, exported, stored)] += 1
                progress(counts.total(), opened.manifest.files)
        return counts

    def check_marketplace(self, opened: OpenedExport) -> None:
        """Raise `ImportConflicts` for an export of another marketplace."""
        theirs = (opened.manifest.chain_id, opened.manifest.marketplace)
        if theirs != (self.chain_id, self.marketplace):
            raise ImportConflicts(
                [
                    f"It is from the marketplace {theirs[1]} on chain {theirs[0]}; the settings "
                    f"name {self.marketplace} on chain {self.chain_id}."
                ]
            )

    async def _check_conflicts(self, archive: Archive, opened: OpenedExport) -> None:
        reasons: list[str] = []
        for exported in walk_records(archive, opened.manifest):
            if isinstance(exported, Profile):
                continue
            file = exported if isinstance(exported, Revision) else exported.file
            try:
                if isinstance(exported, Revision):
                    await self.archives.compare_revision(exported)
                else:
                    await self.archives.compare_file(exported)
            except ImportConflict as conflict:
                reasons.append(str(conflict))
            if self.publicly_readable and file.wrapped_key is None:
                reasons.append(
                    f"The document {file.cid} is not encrypted, and anybody could read it."
                )
            if len(reasons) >= MAX_CONFLICTS:
                break
            # Let other tasks run, such as the renewal of the lease.
            await asyncio.sleep(0)
        if reasons:
            raise ImportConflicts(reasons)

    async def _import_file(
        self, archive: Archive, exported: ExportedFile, stored: "_Stored"
    ) -> ImportOutcome:
        file = exported.file
        outcome = await self.archives.compare_file(exported)
        if outcome is ImportOutcome.RETIRED:
            return outcome
        document = read_file(archive, file)

        async def attempt(fence: int) -> ImportOutcome:
            stored.renew(fence)
            await self.content.put(file.cid, document, Network.PRIVATE, label_of(file), fence)
            size = await self._store_thumbnail(archive, file.thumbnail_cid, stored)
            return await self.archives.import_file(exported, size, fence)

        return await add_with_fence(self.garbage, attempt)

    async def _import_profile(self, archive: Archive, profile: Profile, stored: "_Stored") -> None:
        """Add a profile with its picture, unless its author is withheld or has a profile."""
        if await self.archives.is_withheld(profile.address, profile.avatar_cid):
            return

        async def attempt(fence: int) -> None:
            stored.renew(fence)
            size = await self._store_thumbnail(archive, profile.avatar_cid, stored)
            await self.archives.import_profile(profile, size, fence)

        await add_with_fence(self.garbage, attempt)

    async def _import_revision(self, archive: Archive, revision: Revision) -> None:
        """Add a revision or restore its document, unless its post is missing."""
        if await self.archives.compare_revision(revision) is ImportOutcome.RETIRED:
            return
        document = read_file(archive, revision)

        async def attempt(fence: int) -> None:
            await self.content.put(revision.cid, document, Network.PRIVATE, None, fence)
            await self.archives.import_revision(revision, fence)

        await add_with_fence(self.garbage, attempt)

    async def _store_thumbnail(self, archive: Archive, cid: Cid | None, stored: "_Stored") -> int:
        """Store a thumbnail and return its size. Many files may share one thumbnail."""
        if cid is None:
            return 0
        size = stored.thumbnails.get(cid)
        if size is None:
            thumbnail = read_thumbnail(archive, cid)
            await self.content.put(cid, thumbnail, Network.PUBLIC, None, stored.fence)
            size = len(thumbnail)
            stored.thumbnails.put(cid, size)
        return size


async def add_with_fence(
    garbage: GarbageStore,
    attempt: Callable[[int], Awaitable[Added]],
    again: tuple[type[Exception], ...] = (FenceRaised,),
) -> Added:
    """Call `attempt` with the current fence, to store the documents of a record and add the record.

    The attempt is repeated after exceptions in `again`. They are rare: most of them mean that a
    garbage collector that has not noticed the pause marked documents for deletion meanwhile. Raises
    `CollectionNotPaused`.
    """
    for _ in range(MAX_ATTEMPTS):
        try:
            return await attempt(await garbage.fence())
        except again:
            continue
    raise CollectionNotPaused("Documents keep being destroyed. Please try again.")


@dataclass(slots=True)
class _Stored:
    """The thumbnails that an import has stored with this fence, and their sizes."""

    fence: int
    thumbnails: BoundedCache[Cid, int] = field(default_factory=lambda: BoundedCache(MAX_REMEMBERED))

    def renew(self, fence: int) -> None:
        """Forget the thumbnails if the fence was raised, so that they are stored again."""
        if fence != self.fence:
            self.fence = fence
            self.thumbnails.clear()
