"""Bars: how far a long command is, on standard error."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich import progress as rich_progress
from rich.console import Console

from imprint.ports import Progress

OFTEN = 0.1
"""Seconds between two moves of a bar: it is told far more often than anybody can see."""


@contextmanager
def show_progress(label: str) -> Iterator[Progress]:
    """A bar that moves with what it is told."""
    columns = (
        rich_progress.TextColumn(label),
        rich_progress.BarColumn(),
        rich_progress.MofNCompleteColumn(),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        shown = 0.0

        def tell(done: int, total: int) -> None:
            nonlocal shown
            if done == total or time.monotonic() - shown > OFTEN:
                bar.update(task, completed=done, total=total)
                shown = time.monotonic()

        yield tell
