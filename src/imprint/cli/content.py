"""`imprint adopt`, `imprint rotate-key`: the owner of the content store, and document keys."""

import asyncio
import sys
from pathlib import Path

import click

from imprint.bootstrap.archives import describe_store
from imprint.cli.errors import FAILED, reporting_errors
from imprint.cli.installation import Installation, config_option, open_installation
from imprint.cli.progress import show_progress
from imprint.domain.errors import CannotStart
from imprint.domain.installation import Access
from imprint.services.content.store_claim import Sample
from imprint.services.installation.master_keys import KeyRotation, MasterKeys, RotationProgress


@click.command()
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@click.option(
    "--new-id",
    is_flag=True,
    help="Give the catalog a new id first, because it is a copy of another one.",
)
@config_option
def adopt(yes: bool, new_id: bool, config: Path | None) -> None:
    """Assign the content store to this catalog.

    Use this command if the service refused to start because of the store, but the store is the
    right one. It shows the current owner and asks for confirmation. No document is changed or
    destroyed.
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
    IMPRINT_ENCRYPTION_KEY_PREVIOUS. Then run this command while the service is running. Then drop
    the old key. Documents are not changed. If the command is interrupted, run it again.
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
                # File ids are random and visited in order, so the last one shows the share done.
                progress(int(rotated.last[:2], 16) * 100 // 256, 100)
            progress(100, 100)
        if accept_loss or not rotated.unreadable:
            adapters = installation.adapters
            await MasterKeys(adapters.stores.keys, adapters.cipher).note_rotation()
        return rotated
