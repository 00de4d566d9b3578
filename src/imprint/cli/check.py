"""`imprint check`: whether the service would run, and what to fix if not."""

import asyncio
import json
import os
import sys
import textwrap
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path

import click

from imprint import __version__
from imprint.bootstrap.installation_check import InstallationCheck
from imprint.cli.errors import FAILED, reporting_errors
from imprint.cli.installation import config_option
from imprint.cli.progress import show_progress
from imprint.domain.installation import Access, Finding, Status
from imprint.logs import configure_logging
from imprint.settings import SettingsProblems, read_settings

WIDTH = 80
"""Terminal width that the list fits into."""

INDENT = " " * 13
"""The indentation at which the sentences of the findings begin."""

SYMBOLS = {
    Status.OK: ("✓", "green"),
    Status.WARNING: ("!", "yellow"),
    Status.FAILED: ("✗", "red"),
    Status.SKIPPED: ("-", "bright_black"),
}
"""Symbol and color of each status."""


@click.command()
@config_option
@click.option(
    "--deep",
    is_flag=True,
    help="Also verify every record and every document; the service may keep running.",
)
@click.option(
    "--write", is_flag=True, help="Also write a test record and a test document, then remove them."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of a list.")
def check(config: Path | None, deep: bool, write: bool, as_json: bool) -> None:
    """Check whether the service would run, and what to fix.

    The command inspects settings, database, store, keys, disk, node, contract and clock. It changes
    nothing without --write. The exit status is 0 if all is well, even with warnings (!), 1 if
    something is wrong, and 2 if the settings cannot be read.
    """
    access = Access.WRITE if write else Access.READ
    with reporting_errors():
        try:
            findings = asyncio.run(_check(config, access, deep))
        except SettingsProblems as error:
            if as_json:
                _print_json([Finding("settings", Status.FAILED, each) for each in error.problems])
            raise
    if as_json:
        _print_json(findings)
    else:
        for finding in findings:
            _print_line(finding)
    sys.exit(0 if _is_well(findings) else FAILED)


async def _check(config: Path | None, access: Access, deep: bool) -> list[Finding]:
    settings = read_settings(os.environ, config)
    # Almost nothing is logged, because the findings report what is wrong.
    configure_logging("critical", "text", settings.secrets)
    with show_progress("records") if deep else nullcontext() as progress:
        return await InstallationCheck(settings, access).run(deep, progress)


def _is_well(findings: Sequence[Finding]) -> bool:
    return not any(each.status is Status.FAILED for each in findings)


def _print_json(findings: Sequence[Finding]) -> None:
    checks = [
        {
            "name": each.name,
            "status": each.status.value,
            "detail": each.detail,
            "remedy": each.remedy,
        }
        for each in findings
    ]
    report = {"ok": _is_well(findings), "version": __version__, "checks": checks}
    click.echo(json.dumps(report, ensure_ascii=False))


def _print_line(finding: Finding) -> None:
    symbol, color = SYMBOLS[finding.status]
    first = f"{symbol} {finding.name:<10} "
    lines = _wrap(finding.detail, first)
    if finding.remedy:
        lines += _wrap(finding.remedy, f"{INDENT}→ ", f"{INDENT}  ")
    text = "\n".join(lines)
    click.echo(click.style(symbol, fg=color) + text[len(symbol) :])


def _wrap(text: str, first: str, indent: str = INDENT) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
