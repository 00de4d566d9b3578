"""Import of the earlier service's files: drafts and posts stored in a Pinata account.

The bytes keep their existing CID, because posts refer to it on the chain. Only the chain's events
decide whether an imported file is a post.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from enum import StrEnum

from imprint.domain.drafts.documents import SMALL_DOCUMENT, NotADocument, check_document
from imprint.domain.drafts.files import File, Network, State, file_name, new_id
from imprint.domain.drafts.tags import salvage_hashtags
from imprint.domain.errors import CannotStart
from imprint.domain.exports import ExportedFile
from imprint.domain.formats.addresses import Address, NotAnAddress, parse_address
from imprint.domain.formats.cids import Cid, NotACid, layout_of, parse_cid
from imprint.ports import Clock, ContentStore, Progress
from imprint.ports.archives import ArchiveStore, EarlierFile, EarlierFiles, ImportConflict
from imprint.ports.drafts import FenceRaised, GarbageStore
from imprint.ports.files import FileStore
from imprint.ports.installation import LeaseStore
from imprint.services.content.labels import label_of
from imprint.services.installation.exports import add_with_fence
from imprint.services.tasks.leases import pause_collection

_NOT_HASHTAGS = ("owner", "status")
"""Keyvalues of the earlier service with a special meaning. All other keyvalues are hashtags."""


class Outcome(StrEnum):
    """The outcome of importing a file."""

    DRAFT = "draft"
    POST = "post"
    KNOWN = "known"
    """The CID already exists in the catalog, in any state, so nothing is changed."""
    SKIPPED = "skipped"


@dataclass(slots=True)
class EarlierReport:
    """The number of files by outcome, and the reason for each file that was not imported."""

    counts: dict[Outcome, int] = field(default_factory=lambda: dict.fromkeys(Outcome, 0))
    left_out: list[tuple[str, str]] = field(default_factory=list)

    def add(self, cid: str, outcome: Outcome, reason: str = "") -> None:
        """Count a file, and list it if it was not imported."""
        self.counts[outcome] += 1
        if reason:
            self.left_out.append((cid, reason))


class _Skipped(Exception):
    """A file cannot be imported. The text gives the reason."""


@dataclass(frozen=True, slots=True)
class EarlierImport:
    """Imports the files of an earlier service into one installation.

    An import can be interrupted and run again, because files whose CID already exists are skipped.
    """

    source: EarlierFiles
    archives: ArchiveStore
    files: FileStore
    leases: LeaseStore
    garbage: GarbageStore
    content: ContentStore
    clock: Clock
    publicly_readable: bool = False
    """Whether anybody can fetch stored documents, so that only encrypted ones may be stored."""

    async def run(self, progress: Progress) -> EarlierReport:
        """Import every file. Raises `CannotStart` if third parties could read the documents."""
        if self.publicly_readable:
            raise CannotStart(
                "Imported documents keep their cids, so they cannot be encrypted, and anybody "
                "could read them in this content store."
            )
        report = EarlierReport()
        async with pause_collection(self.leases, "import", self.clock):
            listed = [file async for file in self._walk()]
            for done, file in enumerate(listed):
                progress(done, len(listed))
                try:
                    outcome = await self._import(file)
                    known = "It is already here." if outcome is Outcome.KNOWN else ""
                    report.add(file.cid, outcome, known)
                except _Skipped as reason:
                    report.add(file.cid, Outcome.SKIPPED, str(reason))
            progress(len(listed), len(listed))
        return report

    async def _walk(self) -> AsyncIterator[EarlierFile]:
        token = None
        while True:
            page, token = await self.source.page(token)
            for file in page:
                yield file
            if token is None:
                return

    async def _import(self, earlier: EarlierFile) -> Outcome:
        cid = _parse(earlier.cid)
        if await self.archives.knows(cid):
            return Outcome.KNOWN
        owner = _owner_of(earlier)
        if await self.archives.is_withheld(owner, cid):
            raise _Skipped("A measure of the operator withholds it here.")
        document = await self.source.fetch(cid)
        if document is None:
            raise _Skipped("Pinata lists it, but does not have its bytes.")
        if len(document) > SMALL_DOCUMENT:
            await asyncio.to_thread(_check, cid, document)
        else:
            _check(cid, document)

        async def attempt(fence: int) -> None:
            name = file_name(owner, await self.archives.last_number(owner) + 1)
            at = self.clock()
            at = min(earlier.created_at or at, at)
            tags, size = _hashtags_of(earlier), len(document)
            file = File(
                new_id(), new_id(), owner, name, cid, size, at, State.PENDING, 0, hashtags=tags
            )
            await self.content.put(cid, document, Network.PRIVATE, label_of(file), fence)
            await self.archives.import_file(ExportedFile(file), 0, fence)

        # Repeat the attempt if the author's own draft has taken the number meanwhile.
        await add_with_fence(self.garbage, attempt, (FenceRaised, ImportConflict))
        added = await self.files.file_by_cid(cid)
        is_post = added is not None and added.state is State.ONCHAIN
        return Outcome.POST if is_post else Outcome.DRAFT


def _parse(text: str) -> Cid:
    try:
        return parse_cid(text)
    except NotACid as error:
        raise _Skipped(f"Its cid cannot be used: {error}") from None


def _owner_of(earlier: EarlierFile) -> Address:
    try:
        return parse_address(earlier.keyvalues.get("owner") or "")
    except NotAnAddress:
        raise _Skipped("Its keyvalues name no owner: it is not a file of that service.") from None


def _check(cid: Cid, document: bytes) -> None:
    if layout_of(cid, document) is None:
        raise _Skipped("Its bytes have another cid here, or are damaged.")
    try:
        check_document(document, "")
    except NotADocument:
        raise _Skipped("Its bytes are not a text of that service.") from None


def _hashtags_of(earlier: EarlierFile) -> tuple[str, ...]:
    return salvage_hashtags(",".join(key for key in earlier.keyvalues if key not in _NOT_HASHTAGS))
