"""`imprint reconcile`: reads all events from the chain again, and rebuilds the index of posts."""

import asyncio
from pathlib import Path

import click

from imprint.bootstrap import build_follower, build_indexer, check_chain
from imprint.cli.errors import reporting_errors
from imprint.cli.installation import Installation, config_option, open_installation
from imprint.cli.progress import report_progress, show_progress
from imprint.ports.post_index import IndexMoved
from imprint.services.content.labels import LabelUpdater
from imprint.services.posts.indexer import IndexBusy, take_index


@click.command()
@click.option("--from-block", type=click.IntRange(min=0), required=True, help="Where to begin.")
@config_option
def reconcile(from_block: int, config: Path | None) -> None:
    """Read the events of the chain again from a block on.

    Afterwards the catalog agrees with them. Then the index of posts is rebuilt from the start block
    on, or from this one if it is earlier; until it has reached the newest block, a service finds
    only a part of the posts. It may run beside a running service, as often as you like.
    """
    with reporting_errors():
        reached, indexed = asyncio.run(_reconcile(from_block, config))
    click.echo(f"The catalog agrees with the chain from block {from_block} to {reached}.")
    click.echo(f"The index of posts is rebuilt up to block {indexed}.")


async def _reconcile(from_block: int, config: Path | None) -> tuple[int, int]:
    async with open_installation(config) as installation:
        settings, adapters = installation.settings, installation.adapters
        await check_chain(adapters.marketplace)
        labels = LabelUpdater(adapters.stores.files, adapters.content)
        follower = build_follower(settings, adapters, labels)
        with show_progress("Reading blocks") as progress:
            await follower.rebuild(
                from_block,
                lambda block, last: progress(block - from_block + 1, last - from_block + 1),
            )
            await labels.update_all()
        cursor = await adapters.stores.events.cursor(settings.chain.id)
        reached = from_block if cursor is None else cursor.number
        return reached, await _rebuild_index(installation, from_block)


async def _rebuild_index(installation: Installation, from_block: int) -> int:
    """Rebuild the index; returns the last block in it. Raises `IndexBusy`."""
    settings, adapters = installation.settings, installation.adapters
    indexer = build_indexer(settings, adapters, from_block)
    async with take_index(adapters.stores.leases, report_progress) as lease:
        with show_progress("Indexing posts") as progress:
            try:
                reached = await indexer.rebuild(lease, progress)
            except IndexMoved:
                raise IndexBusy(
                    "Another process changed the index of posts meanwhile. Please try again."
                ) from None
    return from_block if reached is None else reached.number
