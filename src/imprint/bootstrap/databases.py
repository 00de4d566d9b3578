"""The catalog that the settings name; what only PostgreSQL needs is loaded only for it."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from imprint.adapters.catalog.schema import NewerSchema
from imprint.adapters.catalog.sqlite import open_catalog
from imprint.adapters.catalog.stepped import SteppedCatalog
from imprint.bootstrap.starting import CannotStart
from imprint.domain.refusals import Unavailable
from imprint.settings import PostgresqlDatabase, SqliteDatabase

_POSTGRESQL = "imprint.adapters.catalog.postgresql"
_MOVING = "imprint.adapters.catalog.moving"


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
    adapter = _load(_POSTGRESQL)
    try:
        catalog: SteppedCatalog = adapter.open_catalog(database.url.reveal(), connections)
    except adapter.Unfinished as error:
        raise CannotStart(str(error)) from error
    return catalog


def _load(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise CannotStart(
            "PostgreSQL needs a library that is not installed: pip install 'imprint[postgresql]'."
        ) from error


def _describe(database: SqliteDatabase | PostgresqlDatabase) -> str:
    # The address of a server carries a password.
    return str(database.path) if isinstance(database, SqliteDatabase) else "on PostgreSQL"


async def move_database(
    source: SqliteDatabase, target: PostgresqlDatabase, tell: Callable[[int, int], None]
) -> int:
    """Move a catalog to an empty database; how many rows it has. Raises `CannotStart`."""
    moving = _load(_MOVING)
    try:
        moved: int = await moving.move_catalog(source.path, target.url.reveal(), tell)
    except (moving.CannotMove, NewerSchema) as error:
        raise CannotStart(str(error)) from error
    except moving.TROUBLE as error:
        raise CannotStart(
            f"The move stopped ({type(error).__name__}); run it again to go on."
        ) from error
    return moved
