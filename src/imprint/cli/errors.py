"""Errors that end a command with a message and an exit status instead of a traceback."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import click

from imprint.domain.errors import CannotStart, NeedsUpgrade, Problem
from imprint.domain.exports import NotAnExport
from imprint.ports.archives import ImportConflict, NotExported
from imprint.server.supervisor import MISCONFIGURED
from imprint.services.installation.backup import NotABackup, NotSaved
from imprint.services.installation.content_migration import NotMigrated
from imprint.services.installation.exports import DocumentMissing, ImportConflicts
from imprint.services.posts.indexer import IndexBusy
from imprint.services.posts.proofs import NotProved
from imprint.services.tasks.leases import CollectionNotPaused
from imprint.settings import SettingsProblems

__all__ = ["FAILED", "MISCONFIGURED", "OUTDATED", "report_cannot_start", "reporting_errors"]

FAILED = 1
"""Exit status of a command that started but could not finish."""

OUTDATED = 3
"""Exit status for a schema older than the one this version of Imprint needs."""

_FAILURES = (
    CollectionNotPaused,
    ImportConflict,
    DocumentMissing,
    IndexBusy,
    NotABackup,
    NotAnExport,
    NotExported,
    NotMigrated,
    NotProved,
    NotSaved,
)
"""Errors whose message is printed unchanged."""


@contextmanager
def reporting_errors(*, starts: bool = False) -> Iterator[None]:
    """Print all reasons why the command cannot continue, and exit.

    The exit status is `MISCONFIGURED` if the command could not start, `OUTDATED` if it needs an
    upgrade first, and `FAILED` otherwise. If the command `starts` a service, the message says
    that the service cannot start. Otherwise, only the reason is printed.
    """
    try:
        yield
    except SettingsProblems as error:
        click.secho("These settings are wrong:", err=True, bold=True)
        _print_list(error.problems)
        click.echo("All settings are described in docs/configuration.md.", err=True)
        sys.exit(MISCONFIGURED)
    except CannotStart as error:
        if starts:
            sys.exit(report_cannot_start(error))
        click.echo(str(error), err=True)
        sys.exit(OUTDATED if isinstance(error, NeedsUpgrade) else MISCONFIGURED)
    except ImportConflicts as error:
        click.echo(f"{error} Nothing was written.", err=True)
        _print_list(error.reasons)
        sys.exit(FAILED)
    except Problem as error:
        click.echo(error.detail, err=True)
        sys.exit(FAILED)
    except _FAILURES as error:
        click.echo(str(error), err=True)
        sys.exit(FAILED)


def report_cannot_start(error: CannotStart) -> int:
    """Print why the service cannot start and return the exit status."""
    click.echo(f"Imprint cannot start. {error}", err=True)
    return MISCONFIGURED


def _print_list(reasons: Iterable[str]) -> None:
    for reason in reasons:
        click.echo(f"  • {reason}", err=True)
