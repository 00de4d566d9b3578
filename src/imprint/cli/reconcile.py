"""`imprint reconcile`: everything about posts, read from the chain again."""

import asyncio
from pathlib import Path

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from imprint.bootstrap import build_follower, check_chain
from imprint.cli.errors import reporting_errors
from imprint.cli.offline import config_option, open_offline
from imprint.services.labels import LabelUpdater


@click.command()
@click.option("--from-block", type=click.IntRange(min=0), required=True, help="Where to begin.")
@config_option
def reconcile(from_block: int, config: Path | None) -> None:
    """Read the marketplace's logs from a block on, and make the catalog agree with them.

    It may run beside a running service, as often as you like.
    """
    with reporting_errors():
        asyncio.run(_reconcile(from_block, config))


async def _reconcile(from_block: int, config: Path | None) -> None:
    async with open_offline(config) as opened:
        await check_chain(opened.adapters.marketplace)
        mirror = LabelUpdater(opened.adapters.catalog, opened.adapters.content)
        follower = build_follower(opened.settings, opened.adapters, mirror)
        columns = (
            TextColumn("Reading blocks"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task("", total=None)

            def show(reached: int, last: int) -> None:
                bar.update(task, total=last - from_block + 1, completed=reached - from_block + 1)

            await follower.rebuild(from_block, show)
            await mirror.show()
            stand = await opened.adapters.catalog.cursor(opened.settings.chain.id)
    reached = from_block if stand is None else stand.number
    click.echo(f"The catalog agrees with the chain from block {from_block} to {reached}.")
