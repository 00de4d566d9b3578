"""`imprint migrate-catalog`: all records, moved from SQLite to PostgreSQL."""

import asyncio

import click

from imprint.bootstrap import CannotStart
from imprint.bootstrap.databases import move_database
from imprint.cli.bars import show_bar
from imprint.cli.complaints import complaining
from imprint.settings import PostgresqlDatabase, SqliteDatabase
from imprint.settings.problems import Unreadable
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
    with complaining():
        file, server = _read("--from", source), _read("--to", target)
        if not isinstance(file, SqliteDatabase) or not isinstance(server, PostgresqlDatabase):
            raise CannotStart("Records can be moved from sqlite:/// to postgresql:// only.")
        with show_bar("Moving records") as tell:
            rows = asyncio.run(move_database(file, server, tell))
    click.echo(f"All {rows} records are there, and the same. Set IMPRINT_DATABASE_URL to use them.")


def _read(option: str, text: str) -> Database:
    try:
        return read_database(text)
    except Unreadable as error:
        raise CannotStart(f"{option} {error}.") from error
