"""Complaints: what keeps a command from beginning or ending, in plain words, with no traceback."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from imprint.bootstrap import CannotStart
from imprint.domain.export_records import NotAnExport
from imprint.domain.refusals import Problem
from imprint.flows.exporting import Incomplete
from imprint.flows.importing import Clashes
from imprint.flows.moving import NotMoved
from imprint.flows.saving import NotABackup
from imprint.flows.sparing import NotSpared
from imprint.ports.archives import Clash
from imprint.settings import SettingsProblems

MISCONFIGURED = 2
"""The exit status when the settings are wrong: starting again will not help."""

FAILED = 1
"""The exit status of a command that could begin, but not end."""


@contextmanager
def complaining() -> Iterator[None]:
    """Print why the command cannot go on, all reasons at once, and end it."""
    try:
        yield
    except SettingsProblems as error:
        click.secho("These settings are wrong:", err=True, bold=True)
        _list(error.problems)
        click.echo("All settings are described in docs/configuration.md.", err=True)
        sys.exit(MISCONFIGURED)
    except CannotStart as error:
        sys.exit(complain(error))
    except Clashes as error:
        click.echo(f"{error} Nothing was written.", err=True)
        _list(error.reasons)
        sys.exit(FAILED)
    except Problem as error:
        click.echo(error.detail, err=True)
        sys.exit(FAILED)
    except (Clash, Incomplete, NotABackup, NotAnExport, NotMoved, NotSpared) as error:
        click.echo(str(error), err=True)
        sys.exit(FAILED)


def complain(error: CannotStart) -> int:
    """Print why the service cannot start; the exit status for it."""
    click.echo(f"Imprint cannot start. {error}", err=True)
    return MISCONFIGURED


def _list(reasons: Iterable[str]) -> None:
    for reason in reasons:
        click.echo(f"  • {reason}", err=True)
