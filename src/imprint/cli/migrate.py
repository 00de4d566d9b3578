"""`imprint migrate-catalog` and `imprint migrate-content`: move records or documents elsewhere."""

import asyncio
import os
from pathlib import Path

import click

from imprint.bootstrap.adapters import claim_on, migrate_database, open_content
from imprint.bootstrap.archives import build_migration, describe_store, open_migration_progress
from imprint.cli.errors import reporting_errors
from imprint.cli.installation import config_option, open_installation
from imprint.cli.progress import show_progress
from imprint.domain.errors import CannotStart
from imprint.domain.installation import Access
from imprint.services.installation.content_migration import MigrationResult
from imprint.settings import PostgresqlDatabase, Settings, SqliteDatabase, read_settings
from imprint.settings.declaration import InvalidSetting
from imprint.settings.stores import Database, parse_database

_EMBEDDED = "embedded:"
"""Prefix of a `migrate-content` target that is a data folder."""


def _read_url() -> str:
    """Return the URL in the file that the environment names."""
    path = os.environ.get("IMPRINT_DATABASE_URL_FILE")
    if not path:
        raise click.UsageError("Missing option '--to'.")
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise click.UsageError(f"IMPRINT_DATABASE_URL_FILE cannot be read: {path}.") from error


@click.command("migrate-catalog")
@click.option("--from", "source", required=True, help="The database to move from: sqlite:///…")
@click.option(
    "--to",
    "target",
    envvar="IMPRINT_DATABASE_URL",
    default=_read_url,
    help="The database to move to: postgresql://…; by default the one of IMPRINT_DATABASE_URL or "
    "IMPRINT_DATABASE_URL_FILE.",
)
def migrate_catalog(source: str, target: str) -> None:
    """Move all records from SQLite to PostgreSQL.

    The target must be empty, and both databases are compared at the end. Stop the service first: a
    source or target in use is refused, and no service can use either during the move. If the move
    is interrupted, the next run continues where it stopped. Services cannot open the target before
    the move is complete. The source is not changed.
    """
    with reporting_errors():
        sqlite, postgresql = _parse_database("--from", source), _parse_database("--to", target)
        if not isinstance(sqlite, SqliteDatabase) or not isinstance(postgresql, PostgresqlDatabase):
            raise CannotStart("Records can be moved from sqlite:/// to postgresql:// only.")
        with show_progress("Moving records") as progress:
            rows = asyncio.run(migrate_database(sqlite, postgresql, progress))
    click.echo(f"All {rows} records were moved and verified. Set IMPRINT_DATABASE_URL to use them.")


def _parse_database(option: str, text: str) -> Database:
    try:
        return parse_database(text)
    except InvalidSetting as error:
        raise CannotStart(f"{option} {error}.") from error


@click.command("migrate-content")
@click.option(
    "--to",
    "place",
    required=True,
    help="The other store: a value for IMPRINT_CONTENT_STORE, or `embedded:` followed by a data "
    "folder.",
)
@click.option("--afresh", is_flag=True, help="Also copy documents that were copied before.")
@config_option
def migrate_content(place: str, afresh: bool, config: Path | None) -> None:
    """Copy all documents to another content store.

    Each copied document is read back. The service may keep running. If the command is interrupted,
    the next run copies only what is missing. The settings decide which store the service uses, and
    this command does not change them.
    """
    with reporting_errors():
        moved = asyncio.run(_migrate_content(place, afresh, config))
    click.echo(
        f"{moved.copied} documents were copied; the other store now has all {moved.documents}."
    )
    click.echo(
        "To switch: stop the service, run this once more to copy what was written in the "
        f"meantime, set {_describe_setting(place)}, and start it again. The old store is left "
        "unchanged."
    )


async def _migrate_content(place: str, afresh: bool, config: Path | None) -> MigrationResult:
    async with open_installation(config, Access.WRITE) as installation:
        settings, adapters = installation.settings, installation.adapters
        target = _read_target(place, config)
        if describe_store(target) == describe_store(settings):
            raise CannotStart("The documents are already in this store.")
        identity = adapters.stores.installation.identity
        store = open_content(target, adapters.clock, identity, Access.WRITE)
        try:
            await store.probe()
            await claim_on(adapters.stores, store).mark_copy()
            with (
                open_migration_progress(settings, target, afresh) as migrated,
                show_progress("Copying documents") as progress,
            ):
                return await build_migration(adapters, target, store, migrated).run(progress)
        finally:
            await store.close()


def _read_target(place: str, config: Path | None) -> Settings:
    """The settings of a service that uses the other store, checked like those of any service."""
    options = {"IMPRINT_CONTENT_STORE": place}
    if place.startswith(_EMBEDDED):
        folder = place.removeprefix(_EMBEDDED)
        options = {"IMPRINT_CONTENT_STORE": "embedded", "IMPRINT_DATA_DIR": folder}
    return read_settings(os.environ, config, options=options)


def _describe_setting(place: str) -> str:
    if place.startswith(_EMBEDDED):
        folder = place.removeprefix(_EMBEDDED)
        return f"IMPRINT_CONTENT_STORE=embedded with the documents of {folder}"
    return f"IMPRINT_CONTENT_STORE={place}"
