"""`imprint migrate-catalog`: all records, moved from SQLite to PostgreSQL."""

import asyncio
import os
from pathlib import Path

import click

from imprint.bootstrap import CannotStart
from imprint.bootstrap.adapters import move_database, open_content
from imprint.bootstrap.archives import build_moving, describe_place, open_move_journal
from imprint.cli.errors import reporting_errors
from imprint.cli.offline import config_option, open_offline
from imprint.cli.progress import show_progress
from imprint.services.content_migration import Moved
from imprint.settings import PostgresqlDatabase, Settings, SqliteDatabase, read_settings
from imprint.settings.setting import Unreadable
from imprint.settings.stores import Database, read_database


@click.command("migrate-catalog")
@click.option("--from", "source", required=True, help="Where the records are: sqlite:///…")
@click.option(
    "--to",
    "target",
    required=True,
    envvar="IMPRINT_DATABASE_URL",
    help="Where they go: postgresql://…, or what IMPRINT_DATABASE_URL says.",
)
def migrate_catalog(source: str, target: str) -> None:
    """Move all records from SQLite to an empty PostgreSQL database, and compare both.

    Stop the service first. It may be interrupted: a further run goes on where it stopped. Services
    cannot open the target before it has ended well. The source stays as it is.
    """
    with reporting_errors():
        file, server = _read_database("--from", source), _read_database("--to", target)
        if not isinstance(file, SqliteDatabase) or not isinstance(server, PostgresqlDatabase):
            raise CannotStart("Records can be moved from sqlite:/// to postgresql:// only.")
        with show_progress("Moving records") as tell:
            rows = asyncio.run(move_database(file, server, tell))
    click.echo(f"All {rows} records are there, and the same. Set IMPRINT_DATABASE_URL to use them.")


def _read_database(option: str, text: str) -> Database:
    try:
        return read_database(text)
    except Unreadable as error:
        raise CannotStart(f"{option} {error}.") from error


_EMBEDDED = "embedded:"


@click.command("migrate-content")
@click.option(
    "--to",
    "place",
    required=True,
    help="The other store: as in IMPRINT_CONTENT_STORE, or embedded: and a data folder.",
)
@click.option("--afresh", is_flag=True, help="Copy also what was copied before.")
@config_option
def migrate_content(place: str, afresh: bool, config: Path | None) -> None:
    """Copy all documents to another content store, and read each of them back.

    It may run beside a running service, and be interrupted: a further run copies only what is new.
    The settings decide where the service looks; this changes none of them.
    """
    with reporting_errors():
        moved = asyncio.run(_migrate(place, afresh, config))
    click.echo(f"{moved.copied} documents were copied; all {moved.documents} are there.")
    click.echo(
        "To switch: stop the service, run this once more for what was written meanwhile, set "
        f"{_setting(place)}, and start it again. The old store stays as it is."
    )


async def _migrate(place: str, afresh: bool, config: Path | None) -> Moved:
    async with open_offline(config) as opened:
        target = _read_target(place, config)
        if describe_place(target) == describe_place(opened.settings):
            raise CannotStart("The documents are in this store already.")
        store = open_content(target, opened.adapters.clock)
        try:
            await store.probe()
            with (
                open_move_journal(opened.settings, target, afresh) as journal,
                show_progress("Copying documents") as tell,
            ):
                return await build_moving(opened.adapters, target, store, journal).run(tell)
        finally:
            await store.close()


def _read_target(place: str, config: Path | None) -> Settings:
    # Read like the settings of a service that uses the other store, so that they are as good.
    options = {"IMPRINT_CONTENT_STORE": place}
    if place.startswith(_EMBEDDED):
        folder = place.removeprefix(_EMBEDDED)
        options = {"IMPRINT_CONTENT_STORE": "embedded", "IMPRINT_DATA_DIR": folder}
    return read_settings(os.environ, config, options=options)


def _setting(place: str) -> str:
    if place.startswith(_EMBEDDED):
        folder = place.removeprefix(_EMBEDDED)
        return f"IMPRINT_CONTENT_STORE=embedded with the documents of {folder}"
    return f"IMPRINT_CONTENT_STORE={place}"
