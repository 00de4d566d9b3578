"""`imprint rotate-key`: the keys of all documents, wrapped by the new master key."""

import asyncio
import sys
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from imprint.bootstrap import CannotStart
from imprint.cli.errors import reporting_errors
from imprint.cli.offline import Opened, config_option, open_offline
from imprint.services.key_rotation import KeyRotation
from imprint.services.key_rotation import Progress as Stand

INCOMPLETE = 1
"""The exit status when keys remain that no given master key opens."""

_ID_DIGITS = 8
_IDS = 16**_ID_DIGITS


@click.command("rotate-key")
@config_option
def rotate_key(config: Path | None) -> None:
    """Wrap the keys of all documents anew, by IMPRINT_ENCRYPTION_KEY.

    First restart the service with the new key there and the old one in
    IMPRINT_ENCRYPTION_KEY_PREVIOUS; then run this, beside it; then drop the old key. Documents are
    not touched. If it is interrupted, run it again.
    """
    with reporting_errors():
        stand = asyncio.run(_rotate(config))
    click.echo(f"{stand.rewrapped} keys are wrapped anew, {stand.current} already were.")
    if stand.unreadable:
        click.echo(
            f"{stand.unreadable} keys open with neither of the given master keys and stay as they"
            " are. Put the master key that wrapped them into IMPRINT_ENCRYPTION_KEY_PREVIOUS, and"
            " run this again.",
            err=True,
        )
        sys.exit(INCOMPLETE)
    click.echo("IMPRINT_ENCRYPTION_KEY_PREVIOUS is no longer needed.")


async def _rotate(config: Path | None) -> Stand:
    async with open_offline(config) as opened:
        if opened.settings.encryption.key is None:
            raise CannotStart("IMPRINT_ENCRYPTION_KEY, the new master key, is not given.")
        return await _show(opened)


async def _show(opened: Opened) -> Stand:
    stand = Stand()
    columns = (TextColumn("Wrapping keys"), BarColumn(), TaskProgressColumn())
    with Progress(*columns, TextColumn("{task.fields[keys]}"), console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=_IDS, keys=0)
        async for stand in KeyRotation(opened.adapters.catalog, opened.adapters.cipher).run():
            # Ids are random and come in order, so the one reached says how much is done.
            bar.update(task, completed=int(stand.last[:_ID_DIGITS], 16), keys=stand.rewrapped)
        bar.update(task, completed=_IDS)
    return stand
