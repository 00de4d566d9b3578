"""Wires exports, imports, content migrations and backups."""

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import asynccontextmanager, contextmanager
from hashlib import sha256
from pathlib import Path

from imprint.adapters.archives.backup_files import (
    BackupUnusable,
    NoKey,
    create_backup,
    load_seed,
    make_folder,
    read_entries,
)
from imprint.adapters.archives.car_file import open_car
from imprint.adapters.archives.migration_progress import open_progress
from imprint.adapters.content.embedded import EmbeddedStore
from imprint.adapters.database.schema import NewerSchema
from imprint.adapters.database.sqlite.backup import (
    DamagedCopy,
    check_copy,
    check_schema,
    remove_writing_sessions,
)
from imprint.adapters.database.sqlite.database import open_sqlite
from imprint.auth.export_keys import SEED_BYTES, ExportKey
from imprint.bootstrap.adapters import Adapters, pinata_account
from imprint.bootstrap.stores import Stores, open_stores
from imprint.domain.errors import CannotStart, Unavailable
from imprint.ports import ContentStore, Progress, utc_now
from imprint.ports.archives import Archive, BackupEntry, BackupWriter, MigrationProgress
from imprint.services.installation.backup import (
    CATALOG_ENTRY,
    MANIFEST_ENTRY,
    Backup,
    NotABackup,
    Restore,
)
from imprint.services.installation.content_migration import ContentMigration
from imprint.services.installation.earlier_files import EarlierImport
from imprint.services.installation.exports import Export, Import
from imprint.settings import BucketContent, EmbeddedContent, KuboContent, Settings

EXPORT_KEY = "export.key"
"""Name of the file with the export key in the data folder."""


def build_export(settings: Settings, adapters: Adapters) -> Export:
    """Exports from the stores of these adapters. Raises `CannotStart` without a signing key."""
    chain = settings.chain
    # A service with PostgreSQL and a bucket has not created the data folder.
    settings.storage.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        seed = load_seed(settings.storage.data_dir / EXPORT_KEY, SEED_BYTES, os.urandom)
    except NoKey as error:
        raise CannotStart(str(error)) from error
    return Export(
        adapters.stores.archives,
        adapters.stores.leases,
        adapters.content,
        adapters.clock,
        ExportKey(seed),
        chain.id,
        chain.marketplace,
    )


def build_import(settings: Settings, adapters: Adapters) -> Import:
    """Imports into the stores of these adapters."""
    return Import(
        adapters.stores.archives,
        adapters.stores.leases,
        adapters.stores.garbage,
        adapters.content,
        adapters.clock,
        settings.chain.id,
        settings.chain.marketplace,
        _is_publicly_readable(settings),
    )


@asynccontextmanager
async def open_earlier_import(
    settings: Settings, adapters: Adapters
) -> AsyncIterator[EarlierImport]:
    """An import from the configured Pinata account. Raises `CannotStart` without a key."""
    from imprint.adapters.content.pinata import PinataEarlierFiles

    storage, stores = settings.storage, adapters.stores
    if storage.pinata_jwt is None or storage.pinata_gateway is None:
        raise CannotStart(
            "Set IMPRINT_PINATA_JWT and IMPRINT_PINATA_GATEWAY to those of the account that has "
            "the files. The account is only read from and need not be the content store."
        )
    source = PinataEarlierFiles(pinata_account(storage), adapters.clock)
    try:
        yield EarlierImport(
            source,
            stores.archives,
            stores.files,
            stores.leases,
            stores.garbage,
            adapters.content,
            adapters.clock,
            _is_publicly_readable(settings),
        )
    finally:
        await source.close()


@contextmanager
def open_archive(path: Path, progress: Progress) -> Iterator[Archive]:
    """Open an export file. Raises `NotAnExport`, and `CannotStart` if the file cannot be read."""
    try:
        with open_car(path, progress) as archive:
            yield archive
    except OSError as error:
        raise CannotStart(f"The file {path} cannot be read: {error.strerror}.") from error


def build_migration(
    adapters: Adapters, target: Settings, store: ContentStore, migrated: MigrationProgress
) -> ContentMigration:
    """A migration from the current store to the store that other settings name."""
    stores = adapters.stores
    return ContentMigration(
        stores.archives,
        stores.files,
        stores.garbage,
        stores.leases,
        adapters.content,
        store,
        adapters.clock,
        migrated,
        _is_publicly_readable(target),
    )


@contextmanager
def open_migration_progress(
    settings: Settings, target: Settings, restart: bool
) -> Iterator[MigrationProgress]:
    """Documents that the target already has, as recorded in the data folder."""
    name = sha256(describe_store(target).encode()).hexdigest()[:16]
    path = settings.storage.data_dir / f"moved-{name}.db"
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if restart:
        path.unlink(missing_ok=True)
    with open_progress(path) as migrated:
        yield migrated


def describe_store(settings: Settings) -> str:
    """Text that identifies a content store, spelled as in the settings."""
    store = settings.storage.content
    if isinstance(store, EmbeddedContent):
        return f"embedded in {settings.storage.data_dir.absolute()}"
    if isinstance(store, BucketContent):
        endpoint = settings.storage.s3_endpoint if store.scheme == "s3" else None
        place = f"{store.scheme}://{store.bucket}/{store.prefix}".rstrip("/")
        return place if endpoint is None else f"{place} at {endpoint}"
    if isinstance(store, KuboContent):
        return f"kubo:{store.api}"
    return "pinata-public" if store.public else "pinata"


def _is_publicly_readable(settings: Settings) -> bool:
    return settings.storage.content.public and not settings.encryption.allow_readable


def build_backup(adapters: Adapters) -> Backup:
    """Backups of the stores of these adapters."""
    stores = adapters.stores
    return Backup(stores.database, stores.leases, adapters.content, adapters.clock, _open_own)


@contextmanager
def open_backup_writer(
    path: Path, report: Callable[[str], None]
) -> Iterator[tuple[BackupWriter, Path]]:
    """Create a backup, and a folder for the copy of its catalog. `report` prints a sentence.

    Raises `CannotStart` if the backup cannot be written there.
    """
    try:
        with create_backup(path, report) as opened:
            yield opened
    except BackupUnusable as error:
        raise CannotStart(str(error)) from error


@contextmanager
def open_restore(
    folder: Path, report: Callable[[str], None]
) -> Iterator[tuple[Restore, ContentStore]]:
    """Prepare a restore into an empty or new folder. `report` prints a sentence.

    Raises `CannotStart`.
    """
    try:
        with make_folder(folder, report) as partial:
            store = EmbeddedStore(partial / "content", utc_now)
            yield Restore(store, partial / CATALOG_ENTRY, _open_checked), store
    except BackupUnusable as error:
        raise CannotStart(str(error)) from error


def open_backup(path: Path) -> Iterable[BackupEntry]:
    """The entries of a backup, for `Restore`. Raises `CannotStart` if it is unusable."""
    try:
        yield from read_entries(path, (MANIFEST_ENTRY, CATALOG_ENTRY))
    except BackupUnusable as error:
        raise CannotStart(str(error)) from error


def _open_own(path: Path) -> Stores:
    """Open the copy of our own catalog to check that it could be restored.

    Raises `CatalogDamaged`, and `CannotStart` for another schema.
    """
    try:
        check_schema(path)
    except DamagedCopy as error:
        raise CannotStart(f"A backup of this catalog could not be restored. {error}") from error
    check_copy(path)
    return open_stores(open_sqlite(path, is_copy=True))


def _open_checked(path: Path) -> Stores:
    try:
        check_copy(path)
        remove_writing_sessions(path)
        return open_stores(open_sqlite(path, is_copy=True))
    except (DamagedCopy, Unavailable) as error:
        raise NotABackup(str(error)) from error
    except NewerSchema as error:
        raise CannotStart(str(error)) from error
