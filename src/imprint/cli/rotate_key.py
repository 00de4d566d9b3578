"""`imprint rotate-key`: wraps all document keys with the new master key."""

import asyncio
import sys
from pathlib import Path

import click

from imprint.cli.errors import FAILED, reporting_errors
from imprint.cli.installation import config_option, open_installation
from imprint.cli.progress import show_progress
from imprint.domain.errors import CannotStart
from imprint.domain.installation import Access
from imprint.services.installation.master_keys import KeyRotation, MasterKeys, RotationProgress


@click.command("rotate-key")
@click.option(
    "--accept-loss",
    is_flag=True,
    help="Give up the documents whose master key is lost, so that the service can start without "
    "it.",
)
@config_option
def rotate_key(accept_loss: bool, config: Path | None) -> None:
    """Wrap the keys of all documents with a new master key.

    First restart the service with the new key in IMPRINT_ENCRYPTION_KEY and the old one in
    IMPRINT_ENCRYPTION_KEY_PREVIOUS; then run this while the service is running; then drop the old
    key. Documents are not touched. If it is interrupted, run it again.
    """
    with reporting_errors():
        rotated = asyncio.run(_rotate(config, accept_loss))
    click.echo(f"{rotated.rewrapped} keys were rewrapped; {rotated.current} were already current.")
    if rotated.unreadable and accept_loss:
        click.echo(f"{rotated.unreadable} documents are given up: nobody can read them.")
    elif rotated.unreadable:
        click.echo(
            f"{rotated.unreadable} keys can be opened with neither of the given master keys and "
            "were left unchanged. Put the master key that wrapped them into "
            "IMPRINT_ENCRYPTION_KEY_PREVIOUS, and run this again; if that key is lost for good, "
            "add --accept-loss.",
            err=True,
        )
        sys.exit(FAILED)
    click.echo("IMPRINT_ENCRYPTION_KEY_PREVIOUS is no longer needed.")


async def _rotate(config: Path | None, accept_loss: bool) -> RotationProgress:
    async with open_installation(config, Access.WRITE) as installation:
        if installation.settings.encryption.key is None:
            raise CannotStart("IMPRINT_ENCRYPTION_KEY, the new master key, is not set.")
        rotation = KeyRotation(installation.adapters.stores.keys, installation.adapters.cipher)
        rotated = RotationProgress()
        with show_progress("Wrapping keys") as progress:
            async for rotated in rotation.run():
                # File ids are random and sorted, so the last one tells how many are done.
                progress(int(rotated.last[:2], 16) * 100 // 256, 100)
            progress(100, 100)
        if accept_loss or not rotated.unreadable:
            adapters = installation.adapters
            await MasterKeys(adapters.stores.keys, adapters.cipher).note_rotation()
        return rotated
