"""Complaints: what keeps a command from beginning or ending, in plain words, with no traceback."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from imprint.bootstrap import CannotStart
from imprint.domain.errors import Problem
from imprint.domain.exports import NotAnExport
from imprint.ports.archives import ImportConflict
from imprint.server.supervisor import MISCONFIGURED
from imprint.services.backup import NotABackup
from imprint.services.content_migration import NotMoved
from imprint.services.exports import ImportConflicts, Incomplete
from imprint.services.garbage_collector import CollectionNotPaused
from imprint.settings import SettingsProblems

FAILED = 1
"""The exit status of a command that could begin, but not end."""


@contextmanager
def reporting_errors() -> Iterator[None]:
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
    except ImportConflicts as error:
        click.echo(f"{error} Nothing was written.", err=True)
        _list(error.reasons)
        sys.exit(FAILED)
    except Problem as error:
        click.echo(error.detail, err=True)
        sys.exit(FAILED)
    except (
        ImportConflict,
        Incomplete,
        NotABackup,
        NotAnExport,
        NotMoved,
        CollectionNotPaused,
    ) as error:
        click.echo(str(error), err=True)
        sys.exit(FAILED)


def complain(error: CannotStart) -> int:
    """Print why the service cannot start; the exit status for it."""
    click.echo(f"Imprint cannot start. {error}", err=True)
    return MISCONFIGURED


def _list(reasons: Iterable[str]) -> None:
    for reason in reasons:
        click.echo(f"  • {reason}", err=True)
