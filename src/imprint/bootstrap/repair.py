"""Wires repairs to the adapters."""

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from imprint.adapters.content.embedded import rebuild_small_documents
from imprint.adapters.database.schema import NewerSchema
from imprint.adapters.database.sqlite.damaged_file import FileInUse, copy_locked, replace_file
from imprint.adapters.database.sqlite.database import open_sqlite
from imprint.adapters.database.sqlite.log import DamagedLog
from imprint.adapters.database.sqlite.rebuild import (
    DamagedCatalog,
    examine_copy,
    open_saved,
    rebuild_catalog,
)
from imprint.adapters.database.sqlite.use_lock import InUse, UseLock
from imprint.adapters.database.transaction import micros
from imprint.bootstrap.adapters import (
    check_chain,
    content_folder,
    open_adapters,
    open_content,
    open_database,
    read_marker,
)
from imprint.bootstrap.archives import open_backup
from imprint.bootstrap.background import build_follower
from imprint.bootstrap.stores import Stores, open_stores
from imprint.domain.errors import CannotStart
from imprint.domain.exports import read_instant
from imprint.domain.installation import Access, Identity
from imprint.ports import ContentStore, Progress, utc_now
from imprint.ports.damage import CatalogDamaged
from imprint.services.content.labels import LabelUpdater
from imprint.services.content.store_claim import expect_own
from imprint.services.installation.backup import (
    CATALOG_ENTRY,
    NotABackup,
    find_documents,
    read_manifest_entry,
    restore_catalog,
)
from imprint.services.installation.repair import Repair, RepairReport, SavedDocuments, find_damage
from imprint.settings import EmbeddedContent, Settings, SqliteDatabase

_NOTHING_CHANGED = (
    "Nothing was changed. Name a backup to restore the rest from with --backup, or continue "
    "without it with --accept-loss."
)


@dataclass(frozen=True, slots=True)
class _Backup:
    """A backup whose catalog was copied and checked."""

    place: Path
    made_at: datetime
    catalog: Path
    identity: Identity | None

    def find_documents(self) -> SavedDocuments:
        return lambda wanted: find_documents(open_backup(self.place), wanted)

    def expect_of(self, installation: str | None) -> None:
        """Raise `CannotStart` if the backup belongs to another installation."""
        if self.identity is not None and installation not in (None, self.identity.id):
            raise CannotStart(
                f"The backup {self.place} is of the installation {self.identity.id}, but this is "
                f"{installation}. Nothing was changed. To restore that backup as a whole, use "
                "imprint restore."
            )


async def repair_installation(
    settings: Settings,
    place: Path | None,
    progress: Progress,
    *,
    dry_run: bool = False,
    accept_loss: bool = False,
) -> RepairReport:
    """Repair records and documents with the backup at this path.

    Raises `CannotStart`, for example while a service is using the files.
    """
    report = RepairReport(dry_run=dry_run)
    with _reporting_refusals(), TemporaryDirectory(prefix="imprint-repair-") as scratch:
        backup = None if place is None else await asyncio.to_thread(_open, place, Path(scratch))
        database = settings.storage.database
        if isinstance(database, SqliteDatabase):
            repair = _RecordRepair(settings, backup, report, progress, accept_loss)
            with _locked(database.path, makes_file=not dry_run):
                is_readable = await repair.run(database.path)
            if not is_readable:
                return report
        else:
            is_whole = await asyncio.to_thread(_rebuild_small_documents, settings, report)
            if dry_run and is_whole:
                stores = open_stores(open_database(settings, Access.READ))
                await _check_documents(settings, stores, backup, report, progress)
        if not dry_run:
            await _repair_rest(settings, backup, report, progress)
    return report


def _open(place: Path, scratch: Path) -> _Backup:
    """Copy and check a backup's catalog. Raises `CannotStart`."""
    entries, copy = iter(open_backup(place)), scratch / CATALOG_ENTRY
    try:
        manifest = read_manifest_entry(next(entries, None))
        restore_catalog(next(entries, None), manifest, copy)
        return _Backup(place, read_instant(manifest.made_at), copy, open_saved(copy))
    except (CatalogDamaged, NewerSchema, NotABackup) as error:
        raise CannotStart(f"The backup {place} cannot be used. {error}") from error


@contextmanager
def _locked(path: Path, *, makes_file: bool) -> Iterator[None]:
    """Keep services from opening a catalog. Raises `FileInUse` if a service is using it."""
    if makes_file:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        lock = UseLock(path, exclusive=True, makes_file=makes_file)
    except InUse as error:
        raise FileInUse(path) from error
    with closing(lock):
        yield


@dataclass(frozen=True, slots=True)
class _RecordRepair:
    """Repairs a SQLite catalog and its small documents before they are opened."""

    settings: Settings
    backup: _Backup | None
    report: RepairReport
    progress: Progress
    accept_loss: bool

    async def run(self, path: Path) -> bool:
        """Repair the files. Returns whether the catalog can be opened now."""
        with copy_locked(path, dry_run=self.report.dry_run) as copy:
            damaged = await asyncio.to_thread(examine_copy, copy)
            holder = await read_marker(self.settings)
            if damaged.identity is not None and holder is not None:
                expect_own(holder, damaged.identity.id)
            if self.backup is not None:
                self.backup.expect_of(damaged.identity.id if damaged.identity else holder)
            if not damaged.is_damaged:
                damaged = await self._look_deeper(damaged)
            usable = copy
            if damaged.is_damaged:
                usable = copy.with_name("new.db")
                if not await asyncio.to_thread(self._rebuild, damaged, usable, holder):
                    return False
            is_whole = await asyncio.to_thread(_rebuild_small_documents, self.settings, self.report)
            if self.report.dry_run and is_whole:
                stores = open_stores(open_sqlite(usable, is_copy=True))
                await _check_documents(
                    self.settings, stores, self.backup, self.report, self.progress
                )
            elif damaged.is_damaged and not self.report.dry_run:
                self._replace(usable, path)
        return True

    async def _look_deeper(self, damaged: DamagedCatalog) -> DamagedCatalog:
        """Verify the records of a catalog whose file is intact."""
        stores = open_stores(open_sqlite(damaged.path, is_copy=True))
        try:
            found = await find_damage(stores.database, stores.records)
            usage = await stores.installation.measure_usage()
        finally:
            await stores.close()
        self.report.found += found
        self.report.kept = usage.drafts + usage.posts
        return replace(damaged, file_damage=found[0] if found else None)

    def _rebuild(self, damaged: DamagedCatalog, new: Path, holder: str | None) -> bool:
        """Write a new catalog. Returns False if it would lose records that a backup may have."""
        backup = self.backup
        if backup is not None and damaged.log_damage is not None:
            # Without its last commits, the catalog may be older than the backup.
            is_newer = (damaged.backed_up_at or 0) >= micros(backup.made_at)
            if damaged.schema is not None and not is_newer:
                damaged = replace(damaged, schema=None, file_damage=damaged.log_damage)
        saved = None if backup is None else backup.catalog
        rebuilt = rebuild_catalog(damaged, new, saved, holder, utc_now())
        self.report.found += [each for each in rebuilt.found if each not in self.report.found]
        self.report.kept, self.report.from_backup = rebuilt.kept, rebuilt.from_backup
        self.report.lost += rebuilt.lost
        may_lose = backup is not None or (self.accept_loss and damaged.schema is not None)
        if rebuilt.lost and not may_lose:
            self.report.notes.append(_NOTHING_CHANGED)
            return False
        return True

    def _replace(self, new: Path, path: Path) -> None:
        self.report.notes += [
            f"The damaged catalog is kept as {replace_file(new, path, utc_now())}.",
            "The index of posts is rebuilt: the service fills it from the chain.",
            "All writing sessions were ended, so that no revoked one comes back: authors open "
            "new ones.",
        ]


def _rebuild_small_documents(settings: Settings, report: RepairReport) -> bool:
    """Rebuild damaged files of small documents. Returns whether documents can be looked up."""
    if not isinstance(settings.storage.content, EmbeddedContent):
        return True
    said = rebuild_small_documents(content_folder(settings), utc_now(), dry_run=report.dry_run)
    report.found += said
    if said and report.dry_run:
        report.notes.append(
            "Documents without a record were not searched for: their file is damaged."
        )
    return not said or not report.dry_run


async def _check_documents(
    settings: Settings,
    stores: Stores,
    backup: _Backup | None,
    report: RepairReport,
    progress: Progress,
) -> None:
    """Report which documents would be restored from the backup."""
    try:
        content = open_content(settings, utc_now, stores.installation.identity, Access.READ)
        try:
            await _build_repair(stores, content, backup, report).restore_documents(progress)
        finally:
            await content.close()
    finally:
        await stores.close()


def _build_repair(
    stores: Stores, content: ContentStore, backup: _Backup | None, report: RepairReport
) -> Repair:
    return Repair(
        stores.database,
        stores.records,
        stores.archives,
        stores.files,
        stores.revisions,
        stores.garbage,
        content,
        None if backup is None else backup.find_documents(),
        report,
    )


async def _repair_rest(
    settings: Settings, backup: _Backup | None, report: RepairReport, progress: Progress
) -> None:
    """Repair documents, usage and posts with the adapters of the service."""
    lost_records = bool(report.lost)
    adapters = open_adapters(settings, access=Access.WRITE)
    try:
        if backup is not None:
            backup.expect_of(adapters.stores.installation.identity.id)
        repair = _build_repair(adapters.stores, adapters.content, backup, report)
        await adapters.claim.verify()
        await repair.restore_documents(progress)
        await adapters.stores.garbage.recount_usage()
        await check_chain(adapters.marketplace)
        labels = LabelUpdater(adapters.stores.files, adapters.content)
        await repair.read_chain(build_follower(settings, adapters, labels))
        if lost_records and adapters.inventory is not None:
            await repair.name_strays(adapters.inventory)
        await repair.verify()
    finally:
        await adapters.close()


@contextmanager
def _reporting_refusals() -> Iterator[None]:
    try:
        yield
    except (CatalogDamaged, DamagedLog, FileInUse, NewerSchema) as error:
        raise CannotStart(str(error)) from error
    except OSError as error:
        raise CannotStart(f"The repair cannot continue: {error.strerror}.") from error
