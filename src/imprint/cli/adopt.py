"""`imprint adopt`: assigns the content store's documents to this catalog."""

import asyncio
from pathlib import Path

import click

from imprint.bootstrap.archives import describe_store
from imprint.cli.errors import reporting_errors
from imprint.cli.installation import Installation, config_option, open_installation
from imprint.domain.installation import Access
from imprint.services.content.store_claim import Sample


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--new-id",
    is_flag=True,
    help="Give the catalog a new id first, because it is a copy of another one.",
)
@config_option
def adopt(yes: bool, new_id: bool, config: Path | None) -> None:
    """Mark the content store as this catalog's.

    Use it if a start was refused because of the store although it is the right one. It shows what
    is there and asks first. No document is changed or deleted.
    """
    with reporting_errors():
        asyncio.run(_adopt(yes, new_id, config))


async def _adopt(yes: bool, new_id: bool, config: Path | None) -> None:
    async with open_installation(config, Access.WRITE, verify=False) as installation:
        claim = installation.adapters.claim
        holder = await claim.holder()
        _show(installation, holder, await claim.take_sample())
        if holder == claim.identity.id and not new_id:
            await claim.adopt(holder)
            click.echo("The content store already belongs to this catalog.")
            return
        if not yes:
            click.confirm("Assign the content store to this catalog?", abort=True)
        await (claim.rename(holder) if new_id else claim.adopt(holder))
        click.echo(f"The content store now belongs to the installation {claim.identity.id}.")


def _show(installation: Installation, holder: str | None, sample: Sample) -> None:
    own = installation.adapters.stores.installation.identity.id
    click.echo(f"Catalog        installation {own}")
    click.echo(f"Content store  {describe_store(installation.settings)}")
    click.echo(f"               {'no marker of this catalog' if holder is None else holder}")
    if installation.adapters.inventory is not None:
        click.echo(
            f"               {sample.stored} documents checked, {sample.known} of them known here"
        )
    click.echo(
        f"               {sample.found} of {sample.named} documents looked up for the catalog"
    )
    if holder not in (None, own):
        click.echo(
            f"Stop the service of {holder} first: it will not be able to start again afterwards."
        )
    if sample.stored > sample.known:
        click.echo(
            "Documents that are not in the catalog become garbage. Run `imprint gc --dry-run` to "
            "see which ones before you start the service."
        )
