"""Schema upgrades: the plan, the backup copy, and the migration."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from imprint import failpoints
from imprint.adapters.content.embedded import lacks_fences
from imprint.adapters.database.schema import (
    Migration,
    NewerSchema,
    expect_schema,
    find_schema,
    known_migrations,
)
from imprint.adapters.database.sqlite.backup import DamagedCopy, copy_catalog
from imprint.adapters.database.sqlite.connections import connect_looker
from imprint.adapters.database.sqlite.database import open_sqlite, read_schema
from imprint.adapters.database.sqlite.log import DamagedLog, check_log, read_boot
from imprint.adapters.database.sqlite.use_lock import InUse, UseLock
from imprint.adapters.disk_space import sync_path
from imprint.adapters.outages import failure_reason, remedy
from imprint.bootstrap.adapters import (
    content_folder,
    describe_database,
    examine_postgresql,
    make_data_folder,
    open_content,
    open_database,
    refuse_documents,
)
from imprint.domain.errors import CannotStart
from imprint.domain.installation import UNNAMED, Access
from imprint.ports import utc_now
from imprint.settings import EmbeddedContent, PostgresqlDatabase, Settings, SqliteDatabase

BYTES_PER_SECOND = 16 * 1024 * 1024
"""Estimated number of catalog bytes checked, copied and migrated per second. A busy machine with
100 000 files of the first schema reached 19 MiB per second."""


@dataclass(frozen=True, slots=True)
class UpgradePlan:
    """Describes the steps of an upgrade before it runs."""

    place: str
    """Where the records are stored."""
    found: int
    """The current schema version, or 0 without a catalog."""
    migrations: tuple[Migration, ...]
    size: int
    """Size of the catalog in bytes."""
    documents: bool
    """Whether the small documents have the layout of an earlier release."""
    copy: Path | None
    """Path to which the catalog is copied first, or None if the operator must provide a dump."""

    @property
    def is_done(self) -> bool:
        """Whether there is nothing to do."""
        return not self.migrations and not self.documents

    @property
    def needs_way_back(self) -> bool:
        """Whether there are records to migrate."""
        return bool(self.found and self.migrations)

    @property
    def schema(self) -> int:
        """The schema after the upgrade."""
        return self.migrations[-1].number if self.migrations else self.found

    @property
    def seconds(self) -> int:
        """Estimated duration of the upgrade."""
        return 1 + self.size // BYTES_PER_SECOND


def plan_upgrade(settings: Settings, copy: Path | None = None) -> UpgradePlan:
    """Plan an upgrade without changing anything. Raises `CannotStart`, as an upgrade would."""
    database = settings.storage.database
    if isinstance(database, PostgresqlDatabase):
        known, (found, size) = known_migrations("postgresql"), examine_postgresql(database)
    else:
        known, (found, size) = known_migrations(), _examine_file(database.path)
        copy = copy or database.path.with_name(f"{database.path.name}.schema-{found}")
    try:
        expect_schema(found, known, Access.MIGRATE)
    except NewerSchema as error:
        raise CannotStart(str(error)) from error
    if not found:
        refuse_documents(settings)
    is_embedded = isinstance(settings.storage.content, EmbeddedContent)
    return UpgradePlan(
        describe_database(database),
        found,
        tuple(each for each in known if each.number > found),
        size,
        is_embedded and lacks_fences(content_folder(settings)),
        copy,
    )


def _examine_file(path: Path) -> tuple[int, int]:
    """Schema and size of a catalog file. Raises `CannotStart`."""
    with _reporting_refusals():
        if read_schema(path) == 0:
            return 0, 0
        # An error that keeps the file from being read is raised here.
        check_log(path, read_boot())
        with closing(connect_looker(path)) as connection:
            return find_schema(connection), path.stat().st_size


async def upgrade_installation(
    settings: Settings, copy: Path | None, *, without_copy: bool, report: Callable[[str], None]
) -> UpgradePlan:
    """Copy the catalog, then upgrade records and documents, and return the plan that was run.

    The upgrade may be killed at any moment and run again. While it runs, no service can use a
    SQLite catalog. Raises `CannotStart`, for example if a service is using the catalog.
    """
    make_data_folder(settings)
    database = settings.storage.database
    if isinstance(database, SqliteDatabase):
        with _locked(database.path):
            plan = plan_upgrade(settings, copy)
            if plan.needs_way_back and plan.copy is not None and not without_copy:
                report(f"Copying the catalog to {plan.copy} …")
                await asyncio.to_thread(_copy, database.path, plan.found, plan.copy)
            failpoints.reach("before_migration")
            with _reporting_refusals():
                await open_sqlite(database.path, is_copy=True).close()
    else:
        plan = plan_upgrade(settings, copy)
        if plan.needs_way_back and not without_copy and not _is_there(copy):
            raise CannotStart(
                "Going back from an upgrade on PostgreSQL needs a dump of the database. Make one "
                "with pg_dump and name it with --backup, or continue without one with "
                "--no-backup."
            )
        failpoints.reach("before_migration")
        await open_database(settings).close()
    if not plan.is_done:
        await open_content(settings, utc_now, UNNAMED).close()
    failpoints.reach("after_migration")
    return plan


def _is_there(path: Path | None) -> bool:
    return path is not None and path.exists()


def _copy(source: Path, schema: int, target: Path) -> None:
    """Copy a catalog, replacing a copy of the same schema left by an earlier attempt."""
    if target.exists() and (not target.is_file() or _examine_file(target)[0] != schema):
        raise CannotStart(f"{target} already exists and is not a catalog with schema {schema}.")
    new = target.with_name(f"{target.name}.new")
    with _reporting_refusals():
        new.unlink(missing_ok=True)
        copy_catalog(source, new)
        new.replace(target)
        sync_path(target.parent)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    try:
        lock = UseLock(path, exclusive=True)
    except InUse as error:
        processes = ", ".join(map(str, error.processes)) or "unknown"
        raise CannotStart(
            f"The database {path} is in use (processes: {processes}). Stop the service and other"
            " commands that use it, then run this again."
        ) from error
    with closing(lock):
        yield


@contextmanager
def _reporting_refusals() -> Iterator[None]:
    try:
        yield
    except (DamagedCopy, DamagedLog) as error:
        raise CannotStart(f"{error} Nothing was changed.") from error
    except (sqlite3.Error, OSError) as error:
        raise CannotStart(
            f"The upgrade cannot continue: {failure_reason(error)}.{remedy(error)}"
        ) from error
