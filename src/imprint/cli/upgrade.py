"""`imprint upgrade`: brings the schema of records and documents up to date."""

import asyncio
import os
import sys
from pathlib import Path

import click

from imprint.bootstrap.upgrade import UpgradePlan, plan_upgrade, upgrade_installation
from imprint.cli.errors import OUTDATED, reporting_errors
from imprint.cli.installation import config_option
from imprint.cli.progress import report_progress
from imprint.logs import configure_logging
from imprint.settings import read_settings


@click.command()
@click.option(
    "--check",
    is_flag=True,
    help="Only show what would be done; exit with status 3 if there is anything to do.",
)
@click.option(
    "--backup",
    type=click.Path(path_type=Path),
    help="Where to copy a SQLite catalog to, or the dump of a PostgreSQL catalog.",
)
@click.option("--no-backup", is_flag=True, help="Upgrade without a backup to go back to.")
@config_option
def upgrade(check: bool, backup: Path | None, no_backup: bool, config: Path | None) -> None:
    """Bring records and documents up to this version's schema.

    A SQLite catalog is copied first, and the service must be stopped. For PostgreSQL, name a dump
    with --backup; services of the previous release may keep running. The command may be killed and
    run again. To roll back, restore the copy or the dump with the previous release.
    """
    if no_backup and backup is not None:
        raise click.UsageError("Give either --backup or --no-backup.")
    with reporting_errors():
        settings = read_settings(os.environ, config)
        configure_logging("warning", "text", settings.secrets)
        if check:
            plan = plan_upgrade(settings, backup)
            _print_plan(plan)
            sys.exit(0 if plan.is_done else OUTDATED)
        done = asyncio.run(
            upgrade_installation(settings, backup, without_copy=no_backup, report=report_progress)
        )
    if done.is_done:
        click.echo(f"{done.place} already has schema {done.schema}: there is nothing to do.")
        return
    click.echo(f"{done.place} now has schema {done.schema}.")
    way_back = None if no_backup else backup or done.copy
    if done.needs_way_back and way_back is not None:
        click.echo(f"To go back, use {way_back} with the previous release: see docs/backup.md.")


def _print_plan(plan: UpgradePlan) -> None:
    if plan.is_done:
        click.echo(f"{plan.place} has schema {plan.schema}: there is nothing to do.")
        return
    if not plan.found:
        click.echo(f"There is no catalog at {plan.place} yet: one will be created.")
    elif plan.migrations:
        click.echo(
            f"{plan.place} has schema {plan.found}, {plan.size / 2**20:.1f} MiB. The upgrade to"
            f" {plan.schema} takes about {plan.seconds} seconds:"
        )
        for each in plan.migrations:
            click.echo(f"  {each.number:04} {each.name}")
    if plan.documents:
        click.echo("The files of small documents get a new column.")
    if plan.needs_way_back and plan.copy is None:
        click.echo("To go back, you need the dump of the database that --backup names.")
    elif plan.needs_way_back:
        click.echo(f"To go back, use the backup {plan.copy}, which the upgrade writes first.")
    click.echo("Nothing was changed.")
