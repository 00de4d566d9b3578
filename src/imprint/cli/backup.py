"""`imprint backup`: records and documents of one moment, while the service runs."""

import asyncio
import tempfile
import time
from pathlib import Path

import click

from imprint.bootstrap.backups import build_saving, open_vault
from imprint.cli.bars import show_bar
from imprint.cli.complaints import complaining
from imprint.cli.opening import config_option, open_offline
from imprint.flows.saving import BackupManifest


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="A folder to make, or a file that ends with .tar.",
)
@config_option
def backup(out: Path, config: Path | None) -> None:
    """Save everything that the service keeps: records, nonces, documents.

    It may run beside a running service, and holds the state of the moment when it began. Settings,
    secrets and the key for exports are not in it. `imprint restore` brings it back.
    """
    began = time.monotonic()
    with complaining():
        manifest = asyncio.run(_backup(out, config))
    documents = manifest.documents
    click.echo(
        f"{documents.private} documents and {documents.public} thumbnails are in {out}, as of "
        f"{manifest.made_at}; that took {time.monotonic() - began:.1f} seconds."
    )


async def _backup(out: Path, config: Path | None) -> BackupManifest:
    async with open_offline(config) as opened:
        saving = build_saving(opened.parts)
        with (
            open_vault(out) as vault,
            tempfile.TemporaryDirectory(dir=out.parent, prefix=".imprint-") as scratch,
            show_bar("Saving documents") as tell,
        ):
            return await saving.run(vault, Path(scratch), tell)
