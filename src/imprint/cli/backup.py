"""`imprint backup` and `imprint restore`: save and restore all records and documents."""

import asyncio
import json
import time
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click

from imprint.bootstrap.archives import build_backup, open_backup, open_backup_writer, open_restore
from imprint.cli.errors import reporting_errors
from imprint.cli.installation import config_option, open_installation
from imprint.cli.progress import report_progress, show_progress
from imprint.domain.errors import CannotStart
from imprint.domain.exports import read_instant
from imprint.domain.installation import Access
from imprint.domain.moderation import LoggedDecision, read_decision
from imprint.services.installation.backup import BackupManifest


@click.command()
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    help="The folder to create, or a file whose name ends with .tar.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a summary as JSON.")
@config_option
def backup(out: Path, as_json: bool, config: Path | None) -> None:
    """Back up all records and documents as of one moment.

    The backup includes nonces and the rest of the catalog. The service may keep running: the backup
    captures the state at the moment when it began. If the catalog or a document is damaged, the
    backup fails, so that every backup can be restored. Settings, secrets and the key for exports
    are not included. `imprint restore` restores a backup.
    """
    began = time.monotonic()
    with reporting_errors():
        manifest = asyncio.run(_backup(out, config))
    documents, seconds = manifest.documents, time.monotonic() - began
    if as_json:
        saved = asdict(manifest) | {"out": str(out), "seconds": round(seconds, 3)}
        click.echo(json.dumps(saved, indent=2))
        return
    click.echo(
        f"{documents.private} documents and {documents.public} thumbnails are in {out}, as of "
        f"{manifest.made_at}; that took {seconds:.1f} seconds."
    )


async def _backup(out: Path, config: Path | None) -> BackupManifest:
    async with open_installation(config, Access.WRITE) as installation:
        service = build_backup(installation.adapters)
        with (
            open_backup_writer(out, report_progress) as (writer, scratch),
            show_progress("Saving documents") as progress,
        ):
            manifest = await service.run(writer, scratch, progress)
        # Only now is the backup complete: it has its final name.
        await installation.adapters.stores.operator_facts.note_backup(
            read_instant(manifest.made_at)
        )
        return manifest


@click.command()
@click.argument("saved", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--to",
    "folder",
    type=click.Path(path_type=Path),
    required=True,
    help="The data folder to create; it must be empty or not exist.",
)
@click.option(
    "--measures",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="The output of `imprint moderate log --json`: measures taken since the backup stay.",
)
def restore(saved: Path, folder: Path, measures: Path | None) -> None:
    """Create a data folder from a backup.

    Every record and document in the backup is checked. No settings are needed. Afterwards, start
    the service with IMPRINT_DATA_DIR set to the folder. It then reads from the chain what was
    published since the backup.
    """
    began = time.monotonic()
    with reporting_errors():
        manifest = asyncio.run(_restore(saved, folder, _read_log(measures)))
    documents = manifest.documents
    age = datetime.now(UTC) - read_instant(manifest.made_at)
    click.echo(
        f"{documents.private} documents and {documents.public} thumbnails are in {folder}, with "
        "all records; every one of them was checked."
    )
    click.echo(
        f"This is the state as of {manifest.made_at}, {age.total_seconds() / 60:.0f} minutes "
        f"ago; restoring it took {time.monotonic() - began:.1f} seconds."
    )


def _read_log(path: Path | None) -> list[LoggedDecision]:
    """The decisions in an exported moderation log. Raises `CannotStart`."""
    if path is None:
        return []
    try:
        return [read_decision(each) for each in json.loads(path.read_bytes())]
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise CannotStart(f"{path} is not the output of `imprint moderate log --json`.") from error


async def _restore(saved: Path, folder: Path, log: list[LoggedDecision]) -> BackupManifest:
    with (
        open_restore(folder, report_progress) as (service, store),
        show_progress("Checking documents") as progress,
    ):
        try:
            return await service.run(open_backup(saved), progress, log)
        finally:
            await store.close()
