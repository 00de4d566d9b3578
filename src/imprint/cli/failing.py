"""Failing: what ends a command that carries files, in plain words and without a traceback."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import click

from imprint.domain.export_records import NotAnExport
from imprint.domain.refusals import Problem
from imprint.flows.exporting import Incomplete
from imprint.flows.importing import Clashes
from imprint.flows.moving import NotMoved
from imprint.flows.saving import NotABackup
from imprint.flows.sparing import NotSpared
from imprint.ports.archives import Clash

FAILED = 1
"""The exit status of a command that could begin, but not end."""


@contextmanager
def failing() -> Iterator[None]:
    """Print why the command could not end well, and end it."""
    try:
        yield
    except Clashes as error:
        click.echo(f"{error} Nothing was written.", err=True)
        for reason in error.reasons:
            click.echo(f"  • {reason}", err=True)
        sys.exit(FAILED)
    except Problem as error:
        click.echo(error.detail, err=True)
        sys.exit(FAILED)
    except (Clash, Incomplete, NotABackup, NotAnExport, NotMoved, NotSpared) as error:
        click.echo(str(error), err=True)
        sys.exit(FAILED)
