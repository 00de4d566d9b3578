"""`imprint repair`: brings back what documents, chain and backups know of a damaged catalog."""

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
from imprint.services.repair import RepairReport
from imprint.settings import read_settings


@click.command()
@click.option(
    "--backup",
    "backups",
    type=click.Path(path_type=Path, exists=True),
    multiple=True,
    help="A backup to take from what is missing; may be given several times.",
)
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@config_option
def repair(backups: tuple[Path, ...], dry_run: bool, as_json: bool, config: Path | None) -> None:
    """Bring back what a catalog or content store has lost.

    Stop the service first. Everything that can be read is kept; the rest comes from the backups,
    the documents and the chain. The damaged catalog stays beside the new one. It may be
    interrupted and run again. It ends with status 1 if something is lost.
    """
    with reporting_errors():
        report = asyncio.run(_repair(backups, dry_run, config))
    if as_json:
        click.echo(json.dumps(report.as_json(), indent=2))
    else:
        _print_report(report)
    sys.exit(0 if report.whole else FAILED)


async def _repair(backups: tuple[Path, ...], dry_run: bool, config: Path | None) -> RepairReport:
    settings = read_settings(os.environ, config)
    configure_logging("critical", "text", settings.secrets)
    with show_progress("Checking documents") as progress:
        return await repair_installation(settings, backups, dry_run, progress)


def _print_report(report: RepairReport) -> None:
    for sentence in report.found:
        click.echo(f"{click.style('✗', fg='red')} {sentence}")
    if report.dry_run:
        click.echo("Nothing was changed. A repair would have this result:")
    click.echo(
        f"{report.kept} records could be read; {report.from_backups} came from backups, "
        f"{report.from_indexes} from indexes and {report.from_documents} from documents."
    )
    if report.documents_from_backups:
        click.echo(f"{report.documents_from_backups} documents came from backups.")
    if report.followed_to is not None:
        click.echo(f"The catalog agrees with the chain up to block {report.followed_to}.")
    for sentence in report.notes:
        click.echo(f"{click.style('!', fg='yellow')} {sentence}")
    if report.whole:
        click.echo(f"{click.style('✓', fg='green')} Nothing is lost.")
    else:
        click.echo("This is lost:")
    for sentence in report.lost:
        click.echo(f"  • {sentence}")
