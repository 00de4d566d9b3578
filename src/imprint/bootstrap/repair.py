"""Wiring of repairs."""

import asyncio
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from imprint.adapters.catalog.salvaged_catalog import Salvaged, open_salvaged, read_identity
from imprint.adapters.catalog.schema import NewerSchema
from imprint.adapters.catalog.sqlite import open_catalog
from imprint.adapters.catalog.sqlite_backup import check_copy
from imprint.adapters.content.document_salvage import salvage_documents
from imprint.adapters.content.installation_marker import MARKER, InstallationMarker
from imprint.adapters.sqlite_connections import connect_untrusted
from imprint.adapters.sqlite_swap import FileInUse, copy_locked
from imprint.bootstrap.adapters import (
    check_chain,
    inventory_of,
    make_cipher,
    open_adapters,
    open_content,
)
from imprint.bootstrap.archives import open_backup
from imprint.bootstrap.background import build_follower
from imprint.domain.errors import CannotStart
from imprint.domain.installation import INSTALLATION_ID, UNNAMED, Identity
from imprint.ports import ContentStore, Progress, utc_now
from imprint.ports.catalog import CatalogDamaged
from imprint.services.backup import NotABackup
from imprint.services.labels import LabelUpdater
from imprint.services.repair import Repair, RepairReport
from imprint.services.saved_backup import SavedBackup, open_saved
from imprint.settings import BucketContent, EmbeddedContent, Settings, SqliteDatabase


async def repair_installation(
    settings: Settings, backups: Sequence[Path], dry_run: bool, progress: Progress
) -> RepairReport:
    """Repair records and documents. Raises `CannotStart`, also while a service runs on them."""
    report = RepairReport(dry_run=dry_run)
    with _reporting_refusals(), TemporaryDirectory(prefix="imprint-repair-") as scratch:
        saved = _open_backups(backups, Path(scratch))
        await asyncio.to_thread(_salvage_documents, settings, report)
        if isinstance(settings.storage.database, SqliteDatabase):
            await _RecordRepair(settings, saved, report, progress).run(settings.storage.database)
        if not dry_run:
            await _repair_rest(settings, saved, report, progress)
    return report


@dataclass(frozen=True, slots=True)
class _RecordRepair:
    """Repairs a catalog in SQLite, without opening it."""

    settings: Settings
    backups: Sequence[SavedBackup]
    report: RepairReport
    progress: Progress

    async def run(self, database: SqliteDatabase) -> None:
        with copy_locked(database.path) as scratch:
            salvaged = await asyncio.to_thread(open_salvaged, database.path, scratch)
            content = open_content(self.settings, utc_now, self._find_identity(salvaged))
            try:
                repair = Repair(
                    content,
                    inventory_of(content),
                    make_cipher(self.settings),
                    utc_now,
                    self.backups,
                    self.report,
                )
                await repair.complete_records(salvaged, await self._read_marker(content))
                await self._end(repair, salvaged)
            finally:
                await content.close()

    def _find_identity(self, salvaged: Salvaged) -> Identity:
        """The identity whose documents are in the store. Raises `CannotStart` if it is lost."""
        if salvaged.identity is not None:
            return salvaged.identity
        for backup in self.backups:
            with (
                suppress(CatalogDamaged, sqlite3.Error),
                closing(connect_untrusted(backup.catalog())) as saved,
            ):
                if (found := read_identity(saved)) is not None:
                    return found
        if isinstance(self.settings.storage.content, EmbeddedContent | BucketContent):
            # A folder or a prefix holds one installation, whatever its id.
            return UNNAMED
        raise CannotStart(
            "The catalog has lost the id of its installation, by which its documents are found. "
            "Name a backup that has it with --backup."
        )

    async def _read_marker(self, content: ContentStore) -> str | None:
        """The id in the store; None without one, or if the marker is damaged, or in a shared one.

        Raises `Unavailable` for a bucket that cannot be reached.
        """
        place = self.settings.storage.content
        if isinstance(place, EmbeddedContent):
            try:
                marker = InstallationMarker(self.settings.storage.data_dir / "content" / MARKER)
                found = marker.read()
            except FileNotFoundError:
                return None
        else:
            found = await content.claimed_by("") if isinstance(place, BucketContent) else None
        return found if found is not None and INSTALLATION_ID.fullmatch(found) else None

    async def _end(self, repair: Repair, salvaged: Salvaged) -> None:
        if self.report.dry_run:
            catalog = open_catalog(salvaged.new, is_copy=True)
            try:
                await repair.restore_documents(catalog, self.progress)
            finally:
                await catalog.close()
        elif not salvaged.whole or salvaged.counts.documents:
            kept = salvaged.replace(utc_now())
            self.report.notes.append(f"The catalog as it was is in {kept}.")
            self.report.notes.append(
                "The index of posts begins again: the service fills it from the chain."
            )
            self.report.notes.append(
                "Writing sessions have ended, since one that was revoked must not come back: "
                "authors open new ones."
            )


async def _repair_rest(
    settings: Settings, backups: Sequence[SavedBackup], report: RepairReport, progress: Progress
) -> None:
    """Repair documents, usage and posts with the adapters of the service."""
    adapters = open_adapters(settings)
    try:
        repair = Repair(
            adapters.content, adapters.inventory, adapters.cipher, utc_now, backups, report
        )
        await adapters.claim.verify()
        await repair.restore_documents(adapters.catalog, progress)
        await adapters.catalog.recount_usage()
        await check_chain(adapters.marketplace)
        labels = LabelUpdater(adapters.catalog, adapters.content)
        await repair.read_chain(build_follower(settings, adapters, labels))
        await repair.verify(adapters.catalog)
    finally:
        await adapters.close()


def _salvage_documents(settings: Settings, report: RepairReport) -> None:
    if isinstance(settings.storage.content, EmbeddedContent):
        folder = settings.storage.data_dir / "content"
        report.found += salvage_documents(folder, utc_now(), dry_run=report.dry_run)


def _open_backups(paths: Sequence[Path], scratch: Path) -> list[SavedBackup]:
    """The backups, the newest first. Raises `NotABackup`."""
    saved = [
        open_saved(str(path), partial(open_backup, path), scratch / f"{number}.db", check_copy)
        for number, path in enumerate(paths)
    ]
    return sorted(saved, key=lambda each: each.made_at, reverse=True)


@contextmanager
def _reporting_refusals() -> Iterator[None]:
    try:
        yield
    except (FileInUse, NewerSchema, NotABackup) as error:
        raise CannotStart(str(error)) from error
    except OSError as error:
        raise CannotStart(f"The repair cannot go on: {error.strerror}.") from error
