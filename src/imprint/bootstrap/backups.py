"""Backups, put together: of a catalog in SQLite and documents in any store."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from imprint.adapters.archives.vaults import NoVault, make_folder, make_vault, read_entries
from imprint.adapters.catalog.backup import DamagedCopy, check_copy
from imprint.adapters.catalog.schema import NewerSchema
from imprint.adapters.catalog.sqlite import SqliteCatalog, open_catalog
from imprint.adapters.clock import SystemClock
from imprint.adapters.content.embedded import EmbeddedStore
from imprint.bootstrap.parts import Parts
from imprint.bootstrap.starting import CannotStart
from imprint.domain.refusals import Unavailable
from imprint.flows.restoring import Restoring
from imprint.flows.saving import CATALOG_ENTRY, NotABackup, Saving
from imprint.ports import Catalog, ContentStore
from imprint.ports.archives import Entry, Vault


def build_saving(parts: Parts) -> Saving:
    """Backups of these parts. Raises `CannotStart` for records in PostgreSQL."""
    if not isinstance(parts.catalog, SqliteCatalog):
        raise CannotStart(
            "This backs up records in SQLite. For those in PostgreSQL use pg_dump, and "
            "`imprint export` or the content store's own means for documents."
        )
    return Saving(parts.catalog, parts.content, parts.clock, open_catalog)


@contextmanager
def open_vault(path: Path) -> Iterator[Vault]:
    """A new backup. Raises `CannotStart` if it cannot be written there."""
    try:
        with make_vault(path) as vault:
            yield vault
    except NoVault as error:
        raise CannotStart(str(error)) from error


@contextmanager
def open_restoring(folder: Path) -> Iterator[tuple[Restoring, ContentStore]]:
    """A restoration into a folder that is empty or not there. Raises `CannotStart`."""
    try:
        with make_folder(folder) as partial:
            store = EmbeddedStore(partial / "content", SystemClock())
            yield Restoring(store, partial / CATALOG_ENTRY, _open_checked), store
    except NoVault as error:
        raise CannotStart(str(error)) from error


def open_backup(path: Path) -> Iterable[Entry]:
    """The entries of a backup, which raise `CannotStart` when they cannot be read."""
    try:
        yield from read_entries(path)
    except NoVault as error:
        raise CannotStart(str(error)) from error


def _open_checked(path: Path) -> Catalog:
    try:
        check_copy(path)
        return open_catalog(path)
    except (DamagedCopy, Unavailable) as error:
        raise NotABackup(str(error)) from error
    except NewerSchema as error:
        raise CannotStart(str(error)) from error
