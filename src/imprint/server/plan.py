"""A plan: what a supervisor runs from one reading of the settings to the next."""

import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from imprint.server.link import Link

STOP_SECONDS = 60.0
"""How long workers may take to stop before they are killed."""


class ReloadRefused(Exception):
    """A reload cannot begin; one sentence for each reason."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__(" ".join(reasons))
        self.reasons = list(reasons)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run: how many workers, what each does, and the sockets that are open for it.

    `work` runs in the worker: it gets the worker's place and its link to the supervisor, and
    returns its exit status. `changes` are the names of the settings in which the plan differs from
    the one before, and `adopt` is called when it takes over.
    """

    count: int
    work: Callable[[int, Link], int]
    listeners: tuple[socket.socket, ...] = ()
    metrics: socket.socket | None = None
    stop_seconds: float = STOP_SECONDS
    changes: tuple[str, ...] = ()
    adopt: Callable[[], None] = lambda: None

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """All sockets of the plan."""
        return self.listeners if self.metrics is None else (*self.listeners, self.metrics)
