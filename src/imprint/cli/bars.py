"""Bars: how far a long command is, on standard error."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

OFTEN = 0.1
"""Seconds between two moves of a bar: it is told far more often than anybody can see."""

Tell = Callable[[int, int], None]
"""Hears how much is done, and of how much."""


@contextmanager
def show_bar(label: str) -> Iterator[Tell]:
    """A bar that moves with what it is told."""
    columns = (TextColumn(label), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task("", total=None)
        shown = 0.0

        def tell(done: int, total: int) -> None:
            nonlocal shown
            if done == total or time.monotonic() - shown > OFTEN:
                bar.update(task, completed=done, total=total)
                shown = time.monotonic()

        yield tell
