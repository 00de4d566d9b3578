"""`imprint migrate-content`: all documents, copied to another content store."""

import asyncio
import os
from pathlib import Path

import click

from imprint.bootstrap import CannotStart
from imprint.bootstrap.carrying import build_moving, describe_place, open_move_journal
from imprint.bootstrap.contents import open_content
from imprint.cli.bars import show_bar
from imprint.cli.complaints import complaining
from imprint.cli.opening import config_option, open_offline
from imprint.flows.moving import Moved
from imprint.settings import Settings, read_settings

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
    with complaining():
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
        store = open_content(target, opened.parts.clock)
        try:
            await store.probe()
            with (
                open_move_journal(opened.settings, target, afresh) as journal,
                show_bar("Copying documents") as tell,
            ):
                return await build_moving(opened.parts, target, store, journal).run(tell)
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
