"""Complaints: what keeps a command from running, in plain words and without a traceback."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from imprint.bootstrap import CannotStart
from imprint.settings import SettingsProblems

MISCONFIGURED = 2
"""The exit status when the settings are wrong: starting again will not help."""


@contextmanager
def complaining() -> Iterator[None]:
    """Print why the command cannot run, all reasons at once, and end it."""
    try:
        yield
    except SettingsProblems as error:
        click.secho("These settings are wrong:", err=True, bold=True)
        for problem in error.problems:
            click.echo(f"  • {problem}", err=True)
        click.echo("All settings are described in docs/configuration.md.", err=True)
        sys.exit(MISCONFIGURED)
    except CannotStart as error:
        sys.exit(complain(error))


def complain(error: CannotStart) -> int:
    """Print why the service cannot start; the exit status for it."""
    click.echo(f"Imprint cannot start. {error}", err=True)
    return MISCONFIGURED
