"""`imprint repair`: reports damage, and repairs it from a backup and the chain."""

import asyncio
import json
import os
import sys
from pathlib import Path

import click

from imprint.bootstrap.repair import repair_installation
from imprint.cli.errors import FAILED, reporting_errors
from imprint.cli.installation import config_option
from imprint.cli.progress import show_progress
from imprint.logs import configure_logging
from imprint.services.installation.repair import RepairReport
from imprint.settings import read_settings


@click.command()
@click.option(
    "--backup",
    type=click.Path(path_type=Path, exists=True),
    help="The backup to restore damaged and missing records and documents from.",
)
@click.option(
    "--accept-loss",
    is_flag=True,
    help="Continue even if records or documents are lost without a backup.",
)
@click.option("--dry-run", is_flag=True, help="Only report what would be done.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@config_option
def repair(
    backup: Path | None, accept_loss: bool, dry_run: bool, as_json: bool, config: Path | None
) -> None:
    """Report damage, and restore it from a backup.

    Stop the service first. Readable records are kept. Unreadable records and damaged documents are
    restored from the backup. Everything derived from records and from the chain is rebuilt. Without
    a backup, a catalog that has lost records is left as it is. The damaged catalog is kept next to
    the new one. The command may be interrupted and run again. If something is lost, it names
    what is lost and exits with status 1.
    """
    with reporting_errors():
        report = asyncio.run(_repair(backup, accept_loss, dry_run, config))
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
    else:
        _print_report(report)
    sys.exit(0 if report.whole else FAILED)


async def _repair(
    backup: Path | None, accept_loss: bool, dry_run: bool, config: Path | None
) -> RepairReport:
    settings = read_settings(os.environ, config)
    configure_logging("critical", "text", settings.secrets)
    with show_progress("Checking documents") as progress:
        return await repair_installation(
            settings, backup, progress, dry_run=dry_run, accept_loss=accept_loss
        )


def _print_report(report: RepairReport) -> None:
    for sentence in report.found:
        click.echo(f"{click.style('✗', fg='red')} {sentence}")
    if report.dry_run:
        click.echo("Nothing was changed. A repair would have this result:")
    click.echo(
        f"{report.kept} records could be read; {report.from_backup} came from the backup, and so "
        f"did {report.documents_from_backup} documents."
    )
    if report.followed_to is not None:
        click.echo(f"The catalog matches the chain up to block {report.followed_to}.")
    for sentence in report.notes:
        click.echo(f"{click.style('!', fg='yellow')} {sentence}")
    if report.whole:
        click.echo(f"{click.style('✓', fg='green')} Nothing is lost.")
    else:
        click.echo("This could not be recovered:")
    for sentence in report.lost:
        click.echo(f"  • {sentence}")
