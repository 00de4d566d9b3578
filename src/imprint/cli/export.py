"""`imprint export`: all live files in one CAR, with a signed manifest."""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import click

from imprint.bootstrap import CannotStart
from imprint.bootstrap.carrying import build_exporting
from imprint.cli.bars import show_bar
from imprint.cli.complaints import complaining
from imprint.cli.opening import config_option, open_offline
from imprint.domain.addresses import Address, NotAnAddress, parse_address
from imprint.domain.exports import Manifest


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
    with complaining():
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
        exporting = build_exporting(opened.settings, opened.parts)
        with (
            _new_file(out) as file,
            tempfile.TemporaryFile(dir=out.parent) as spool,
            show_bar("Exporting files") as tell,
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
