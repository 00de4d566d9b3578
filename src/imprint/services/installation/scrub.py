"""Scrub: slowly reads all stored data, so that damage is found before the data is needed.

Records have checksums, and the name of a document is its checksum. Damage raises an alarm, and
damaged data is never shown. `imprint repair` restores it from backups.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from imprint.domain.drafts.files import File, Network
from imprint.domain.errors import Damaged
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.revisions import Revision
from imprint.domain.profiles import Profile
from imprint.ports import ContentStore
from imprint.ports.damage import Damage, DatabaseHealth
from imprint.ports.files import FileStore
from imprint.ports.installation import LeaseStore, RecordStore, VerifiedRecord
from imprint.services.tasks.leases import LEASE_TIME, hold_lease, name_holder
from imprint.services.tasks.periodic_task import run_periodically

log = logging.getLogger(__name__)

BATCH = 25
"""Number of records verified together."""

SOME_RECORDS = 5000
"""Number of records that a quick check verifies, which takes about a second."""

RATE = 50.0
"""Number of records verified per second with their documents, which is four million per day."""

FIRST_PASS_SECONDS = 60.0
"""Seconds between start-up and the first pass, so that start-up is not slowed down."""

RETRY_SECONDS = 60.0
"""Seconds until an interrupted pass continues."""

SCRUB_LEASE = "scrub"
"""The lease of the process that scrubs."""

FILES_SECONDS = 1.0
"""Seconds between two checks of the database files."""

EXAMINATION_SECONDS = 600.0
"""Minimum seconds between two checks of the database structure."""

EXAMINATION_SHARE = 1000
"""The wait before the next check, as a multiple of the duration of the previous one."""


@dataclass(slots=True)
class Scrub:
    """Verifies all records and all live documents, in one process at a time."""

    records: RecordStore
    files: FileStore
    leases: LeaseStore
    damage: Damage
    content: ContentStore
    rate: float = RATE
    holder: str = field(default_factory=lambda: name_holder("scrub"))
    _after: int = field(default=-1, init=False)
    _records: set[str] = field(default_factory=set, init=False)
    _documents: set[str] = field(default_factory=set, init=False)

    async def run(self, interval: float) -> None:
        """Scrub until cancelled. An interrupted pass continues where it stopped."""
        await asyncio.sleep(FIRST_PASS_SECONDS)
        await run_periodically("scrub", self._scrub_in_turn, interval, retry_after=RETRY_SECONDS)

    async def scrub(self) -> bool:
        """Run one pass, or finish an interrupted one. Returns False if the lease is taken."""
        async with hold_lease(self.leases, SCRUB_LEASE, LEASE_TIME, self.holder) as lease:
            while lease is not None and not lease.lost:
                if not await self._scrub_batch():
                    await self._finish()
                    return True
        return False

    async def _scrub_in_turn(self) -> None:
        """Run one pass as soon as no other process runs one. Every process needs its own pass,
        because it knows only its own findings."""
        while not await self.scrub():  # noqa: ASYNC110  another process ends the wait
            await asyncio.sleep(RETRY_SECONDS)

    async def _scrub_batch(self) -> bool:
        try:
            batch = await self.records.verify_records(self._after, BATCH)
        except Damaged as damaged:
            # The walk cannot continue past a damaged page.
            self._note_record(damaged.what)
            return False
        for record in batch:
            await self._scrub_record(record)
            self._after = record.position
        await asyncio.sleep(len(batch) / self.rate)
        return bool(batch)

    async def _scrub_record(self, record: VerifiedRecord) -> None:
        if record.file is None:
            self._note_record(record.damage or f"the record at position {record.position}")
            return
        if record.unchecked:
            await self.records.fill_checksums(record.file)
        for what in await verify_documents(self.files, self.content, record.file):
            self._documents.add(what)
            self.damage.note_document(what)

    async def _finish(self) -> None:
        async for what, is_record in _verify_others(self.records, self.files, self.content):
            if is_record:
                self._note_record(what)
            else:
                self._documents.add(what)
                self.damage.note_document(what)
        async for what in damaged_decisions(self.records):
            self._note_record(what)
        for finding in await self.records.compare_tags():
            self._note_record(finding)
        self.damage.keep_only(self._records, self._documents)
        log.info(
            "scrub complete",
            extra={"records": len(self._records), "documents": len(self._documents)},
        )
        self._after, self._records, self._documents = -1, set(), set()

    def _note_record(self, what: str) -> None:
        self._records.add(what)
        self.damage.note_record(what)


async def verify_documents(files: FileStore, content: ContentStore, file: File) -> list[str]:
    """Return the documents of a live file that are missing or damaged.

    Raises `Unavailable` if the store does not respond, because that does not prove any damage.
    """
    if not file.state.live:
        return []
    found = []
    # A document that seems missing may have been replaced and destroyed since the file was read.
    if (
        not await _is_sound(content, file.cid, Network.PRIVATE)
        and await files.file_by_cid(file.cid) is not None
    ):
        found.append(f"the private document {file.cid} of file {file.id}")
    if (
        file.thumbnail_cid is not None
        and not await _is_sound(content, file.thumbnail_cid, Network.PUBLIC)
        and await files.public_size(file.thumbnail_cid) is not None
    ):
        found.append(f"the public document {file.thumbnail_cid} of file {file.id}")
    return found


async def _verify_others(
    records: RecordStore, files: FileStore, content: ContentStore
) -> AsyncIterator[tuple[str, bool]]:
    """Yield each damaged profile and revision, and each damaged document of one. The flag is true
    for records."""
    async for found in _verify_profiles(records, files, content):
        yield found
    async for revision_id, revision in walk_revisions(records):
        if revision is None:
            yield f"the revision {revision_id!a}", True
        elif not await _is_sound(content, revision.cid, Network.PRIVATE):
            what = f"revision {revision.number} of {revision.document}"
            yield f"the private document {revision.cid} of {what}", False


async def _verify_profiles(
    records: RecordStore, files: FileStore, content: ContentStore
) -> AsyncIterator[tuple[str, bool]]:
    """Yield each damaged profile, and each bad or missing picture. The flag is true for profiles.

    Raises `Unavailable` if the store does not respond.
    """
    async for address, profile in walk_profiles(records):
        if profile is None:
            yield f"the profile of {address!a}", True
        elif (
            (avatar := profile.avatar_cid) is not None
            and not await _is_sound(content, avatar, Network.PUBLIC)
            and await files.public_size(avatar) is not None
        ):
            yield f"the public document {avatar} of the profile of {address}", False


async def walk_profiles(records: RecordStore) -> AsyncIterator[tuple[str, Profile | None]]:
    """Yield every profile with its address. A damaged profile is yielded as None."""
    after = ""
    while batch := await records.verify_profiles(after, BATCH):
        for each in batch:
            yield each
        after = batch[-1][0]


async def walk_revisions(records: RecordStore) -> AsyncIterator[tuple[str, Revision | None]]:
    """Yield every revision with its ID. A damaged revision is yielded as None."""
    after = ""
    while batch := await records.verify_revisions(after, BATCH):
        for each in batch:
            yield each
        after = batch[-1][0]


async def damaged_decisions(records: RecordStore) -> AsyncIterator[str]:
    """Yield the operator's decisions that are damaged."""
    after = 0
    while batch := await records.verify_decisions(after, BATCH):
        for _, damage in batch:
            if damage is not None:
                yield damage
        after = batch[-1][0]


async def _is_sound(content: ContentStore, cid: Cid, network: Network) -> bool:
    try:
        return await content.read(cid, network) is not None
    except Damaged:
        return False


async def verify_some(
    records: RecordStore, most: int = SOME_RECORDS
) -> AsyncIterator[tuple[int, str | None]]:
    """Verify the oldest records. For each, yields the number verified so far and any damage."""
    async for done, record in _walk(records):
        yield done, record.damage
        if done >= most:
            return


async def verify_everything(
    records: RecordStore, files: FileStore, content: ContentStore
) -> AsyncIterator[tuple[int, str | None]]:
    """Verify all records, live documents, decisions and tags, without changing anything."""
    done = 0
    async for done, record in _walk(records):
        yield done, record.damage
        if record.file is not None:
            for what in await verify_documents(files, content, record.file):
                yield done, what
    async for what, _ in _verify_others(records, files, content):
        yield done, what
    async for what in damaged_decisions(records):
        yield done, what
    for finding in await records.compare_tags():
        yield done, finding


async def _walk(records: RecordStore) -> AsyncIterator[tuple[int, VerifiedRecord]]:
    after, done = -1, 0
    while True:
        try:
            batch = await records.verify_records(after, BATCH)
        except Damaged as damaged:
            # The walk cannot continue past a damaged page.
            yield done, VerifiedRecord(after, None, damaged.what)
            return
        if not batch:
            return
        for record in batch:
            done += 1
            yield done, record
        after = batch[-1].position


@dataclass(slots=True)
class Examination:
    """Checks the database structure repeatedly. The longer a check takes, the longer the pauses."""

    database: DatabaseHealth
    monotonic: Callable[[], float] = time.monotonic
    _due: float = field(default=0.0, init=False)

    async def run(self) -> None:
        """Check the structure until cancelled."""
        await run_periodically("examination", self.examine, EXAMINATION_SECONDS)

    async def examine(self) -> bool:
        """Check the database unless it is too early, and return whether it was checked."""
        started = self.monotonic()
        if started < self._due:
            return False
        await self.database.examine()
        took = self.monotonic() - started
        self._due = started + took * EXAMINATION_SHARE
        return True


async def watch_files(database: DatabaseHealth) -> None:
    """Watch the database files until cancelled."""
    await run_periodically("files", database.check_files, FILES_SECONDS, optional=True)
