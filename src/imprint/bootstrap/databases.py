"""The catalog that the settings name; what only PostgreSQL needs is loaded only for it."""

from importlib import import_module

from imprint.adapters.catalog.schema import NewerSchema
from imprint.adapters.catalog.sqlite import open_catalog
from imprint.adapters.catalog.stepped import SteppedCatalog
from imprint.bootstrap.starting import CannotStart
from imprint.domain.refusals import Unavailable
from imprint.settings import PostgresqlDatabase, SqliteDatabase

_POSTGRESQL = "imprint.adapters.catalog.postgresql"


def open_database(
    database: SqliteDatabase | PostgresqlDatabase, connections: int
) -> SteppedCatalog:
    """Open the catalog there, its schema brought up to date. Raises `CannotStart`."""
    try:
        if isinstance(database, PostgresqlDatabase):
            return _open_postgresql(database, connections)
        database.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        return open_catalog(database.path)
    except NewerSchema as error:
        raise CannotStart(str(error)) from error
    except (Unavailable, OSError, ValueError) as error:
        raise CannotStart(f"The database {_describe(database)} cannot be opened.") from error


def _open_postgresql(database: PostgresqlDatabase, connections: int) -> SteppedCatalog:
    try:
        adapter = import_module(_POSTGRESQL)
    except ModuleNotFoundError as error:
        raise CannotStart(
            "PostgreSQL needs a library that is not installed: pip install 'imprint[postgresql]'."
        ) from error
    catalog: SteppedCatalog = adapter.open_catalog(database.url.reveal(), connections)
    return catalog


def _describe(database: SqliteDatabase | PostgresqlDatabase) -> str:
    # The address of a server carries a password.
    return str(database.path) if isinstance(database, SqliteDatabase) else "on PostgreSQL"
