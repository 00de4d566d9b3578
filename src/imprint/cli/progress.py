"""Progress bars of long commands, shown on standard error."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBar

from imprint.ports import Progress

REDRAW_SECONDS = 0.1
"""Seconds between redraws, because commands report progress far more often."""


def report_progress(sentence: str) -> None:
    """Print a sentence while a command continues."""
    Console(stderr=True).print(sentence, highlight=False, markup=False, soft_wrap=True)


@contextmanager
def show_progress(label: str) -> Iterator[Progress]:
    """Show a progress bar until the `with` block exits, and yield the callback that advances it."""
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with ProgressBar(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        drawn_at = 0.0

        def progress(done: int, total: int) -> None:
            nonlocal drawn_at
            if done == total or time.monotonic() - drawn_at > REDRAW_SECONDS:
                bar.update(task, completed=done, total=total)
                drawn_at = time.monotonic()

        yield progress
