"""`imprint verify`: an export proven from its own bytes."""

import asyncio
import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from imprint.auth.export_keys import SEED_BYTES
from imprint.bootstrap import CannotStart
from imprint.bootstrap.archives import build_exporting, build_importing, open_archive
from imprint.cli.errors import reporting_errors
from imprint.cli.offline import config_option, open_offline
from imprint.cli.progress import show_progress
from imprint.domain.addresses import Address, NotAnAddress, parse_address
from imprint.domain.exports import Manifest
from imprint.ports.archives import Archive, ImportOutcome
from imprint.services.exports import check_export, open_export

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
    with reporting_errors(), read_export(file) as archive:
        opened = open_export(archive, key)
        with show_progress("Checking files") as tell:
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
        tell = bars.enter_context(show_progress("Reading bytes"))
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


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The file to write.")
@click.option("--owner", help="The address whose files to export; without it, all.")
@config_option
def export(out: Path, owner: str | None, config: Path | None) -> None:
    """Write all drafts and posts, with their thumbnails, to a CAR file.

    It may run beside a running service, and holds the files of the moment when it began. It
    contains drafts, so keep it to yourself. `imprint verify` proves it; `imprint import` takes it
    in elsewhere.
    """
    with reporting_errors():
        chosen = None if owner is None else _parse_owner(owner)
        manifest, key = asyncio.run(_export(out, chosen, config))
    click.echo(f"{manifest.files} files are in {out}.")
    click.echo(f"They are signed by the key {key.hex()}")
    click.echo(f"To verify them: imprint verify {out} --key {key.hex()}")


def _parse_owner(text: str) -> Address:
    try:
        return parse_address(text)
    except NotAnAddress as error:
        raise click.BadParameter(str(error), param_hint="--owner") from error


async def _export(out: Path, owner: Address | None, config: Path | None) -> tuple[Manifest, bytes]:
    async with open_offline(config) as opened:
        exporting = build_exporting(opened.settings, opened.adapters)
        with (
            _new_file(out) as file,
            tempfile.TemporaryFile(dir=out.parent) as spool,
            show_progress("Exporting files") as tell,
        ):
            manifest = await exporting.run(owner, spool, file.write, tell)
        return manifest, exporting.key.public


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name when it is complete, for its owner's eyes only."""
    partial = path.with_name(path.name + ".partial")
    try:
        if path.exists():
            raise CannotStart(f"{path} exists already.")
        partial.unlink(missing_ok=True)
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except OSError as error:
        raise CannotStart(f"{path} cannot be written: {error.strerror}.") from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        partial.rename(path)
    finally:
        partial.unlink(missing_ok=True)


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@key_option
@config_option
def import_(file: Path, key_text: str | None, config: Path | None) -> None:
    """Take the files of an export in: drafts, posts, hashtags and thumbnails.

    The whole export is checked first, and nothing is written if it contradicts what is here. What
    is here already stays as it is, so that an import that was interrupted can be run again.
    """
    key = parse_key(key_text)
    with reporting_errors():
        counts = asyncio.run(_import(file, key, config))
    click.echo(f"{counts[ImportOutcome.ADDED]} files were taken in.")
    if counts[ImportOutcome.PRESENT]:
        click.echo(f"{counts[ImportOutcome.PRESENT]} were here before, and stay as they are.")
    if counts[ImportOutcome.RETIRED]:
        click.echo(f"{counts[ImportOutcome.RETIRED]} were replaced or deleted here since.")
    click.echo("The follower will confirm the posts; `imprint reconcile` does so at once.")


async def _import(file: Path, key: bytes | None, config: Path | None) -> Counter[ImportOutcome]:
    async with open_offline(config) as opened:
        importing = build_importing(opened.settings, opened.adapters)
        with read_export(file) as archive:
            export = open_export(archive, key)
            importing.refuse_other_chain(export)
            with show_progress("Checking files") as tell:
                check_export(archive, export, tell)
            with show_progress("Taking files in") as tell:
                return await importing.run(archive, export, tell)
