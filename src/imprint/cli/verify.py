"""`imprint verify`: an export proven from its own bytes."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import click

from imprint.auth.export_keys import SEED_BYTES
from imprint.bootstrap.carrying import open_archive
from imprint.cli.bars import show_bar
from imprint.cli.complaints import complaining
from imprint.flows.verifying import check_export, open_export
from imprint.ports.archives import Archive

key_option = click.option(
    "--key", "key_text", help="The public key that must have signed it, in hexadecimal digits."
)
"""The option of the commands that read exports."""


@click.command()
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@key_option
def verify(file: Path, key_text: str | None) -> None:
    """Check an export: its signature, every block, every document, every record.

    No service, no network and no settings are needed. Without a key, it is only shown whose
    signature it is.
    """
    key = parse_key(key_text)
    with complaining(), read_export(file) as archive:
        opened = open_export(archive, key)
        with show_bar("Checking files") as tell:
            check_export(archive, opened, tell)
    manifest = opened.manifest
    click.echo(f"All is well: {manifest.files} files, as of {manifest.made_at:%Y-%m-%d %H:%M:%S}Z.")
    click.echo(f"Chain {manifest.chain_id}, marketplace {manifest.marketplace}.")
    click.echo(f"Signed by the key {opened.key.hex()}")
    if key is None:
        click.echo("Whether that is the right key only you can tell: give it with --key.")


@contextmanager
def read_export(file: Path) -> Iterator[Archive]:
    """An export's file, read through once under a bar of its own."""
    with ExitStack() as bars:
        tell = bars.enter_context(show_bar("Reading bytes"))
        with open_archive(file, tell) as archive:
            # Two bars cannot move at the same time.
            bars.close()
            yield archive


def parse_key(text: str | None) -> bytes | None:
    """The public key that was given. Refuses what is none."""
    if text is None:
        return None
    try:
        key = bytes.fromhex(text)
    except ValueError:
        key = b""
    if len(key) != SEED_BYTES:
        raise click.BadParameter("A key is 64 hexadecimal digits.", param_hint="--key")
    return key
