"""`imprint restore`: a backup made an installation again."""

import asyncio
import time
from datetime import UTC, datetime
from pathlib import Path

import click

from imprint.bootstrap.backups import open_backup, open_restoring
from imprint.cli.bars import show_bar
from imprint.cli.complaints import complaining
from imprint.domain.export_records import read_instant
from imprint.flows.saving import BackupManifest


@click.command()
@click.argument("saved", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="The data folder to make; it must be empty or not there.",
)
def restore(saved: Path, folder: Path) -> None:
    """Make a data folder from a backup, and prove that it is whole.

    No settings are needed. Afterwards, start the service with IMPRINT_DATA_DIR set to the folder;
    it learns from the chain what was published since.
    """
    began = time.monotonic()
    with complaining():
        manifest = asyncio.run(_restore(saved, folder))
    documents = manifest.documents
    age = datetime.now(UTC) - read_instant(manifest.made_at)
    click.echo(
        f"{documents.private} documents and {documents.public} thumbnails are in {folder}, with "
        "all records; every one of them was checked."
    )
    click.echo(
        f"The state is of {manifest.made_at}, {age.total_seconds() / 60:.0f} minutes ago; "
        f"restoring it took {time.monotonic() - began:.1f} seconds."
    )


async def _restore(saved: Path, folder: Path) -> BackupManifest:
    with open_restoring(folder) as (restoring, store), show_bar("Checking documents") as tell:
        try:
            return await restoring.run(open_backup(saved), tell)
        finally:
            await store.close()
