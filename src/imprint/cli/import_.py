"""`imprint import`: the files of an export, taken into this installation."""

import asyncio
from collections import Counter
from pathlib import Path

import click

from imprint.bootstrap.carrying import build_importing
from imprint.cli.bars import show_bar
from imprint.cli.complaints import complaining
from imprint.cli.opening import config_option, open_offline
from imprint.cli.verify import key_option, parse_key, read_export
from imprint.flows.verifying import check_export, open_export
from imprint.ports.archives import Adoption


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
    with complaining():
        counts = asyncio.run(_import(file, key, config))
    click.echo(f"{counts[Adoption.ADDED]} files were taken in.")
    if counts[Adoption.PRESENT]:
        click.echo(f"{counts[Adoption.PRESENT]} were here before, and stay as they are.")
    if counts[Adoption.RETIRED]:
        click.echo(f"{counts[Adoption.RETIRED]} were replaced or deleted here since.")
    click.echo("The follower will confirm the posts; `imprint reconcile` does so at once.")


async def _import(file: Path, key: bytes | None, config: Path | None) -> Counter[Adoption]:
    async with open_offline(config) as opened:
        importing = build_importing(opened.settings, opened.parts)
        with read_export(file) as archive:
            export = open_export(archive, key)
            importing.refuse_other_chain(export)
            with show_bar("Checking files") as tell:
                check_export(archive, export, tell)
            with show_bar("Taking files in") as tell:
                return await importing.run(archive, export, tell)
