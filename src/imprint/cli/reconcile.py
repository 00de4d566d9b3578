"""`imprint reconcile`: reads all events from the chain again."""

import asyncio
from pathlib import Path

import click

from imprint.bootstrap import build_follower, check_chain
from imprint.cli.errors import reporting_errors
from imprint.cli.installation import config_option, open_installation
from imprint.cli.progress import show_progress
from imprint.services.labels import LabelUpdater


@click.command()
@click.option("--from-block", type=click.IntRange(min=0), required=True, help="Where to begin.")
@config_option
def reconcile(from_block: int, config: Path | None) -> None:
    """Read the events of the chain again from a block on.

    Afterwards the catalog agrees with them. It may run beside a running service, as often as you
    like.
    """
    with reporting_errors():
        reached = asyncio.run(_reconcile(from_block, config))
    click.echo(f"The catalog agrees with the chain from block {from_block} to {reached}.")


async def _reconcile(from_block: int, config: Path | None) -> int:
    async with open_installation(config) as installation:
        settings, adapters = installation.settings, installation.adapters
        await check_chain(adapters.marketplace)
        labels = LabelUpdater(adapters.catalog, adapters.content)
        follower = build_follower(settings, adapters, labels)
        with show_progress("Reading blocks") as progress:
            await follower.rebuild(
                from_block,
                lambda block, last: progress(block - from_block + 1, last - from_block + 1),
            )
            await labels.update_all()
        cursor = await adapters.catalog.cursor(settings.chain.id)
        return from_block if cursor is None else cursor.number
