"""Failpoints: named points at which a test kills the process, as a power cut would.

A failpoint that is not armed costs next to nothing. No setting can arm a failpoint: only a call of
`arm` can, which the crash tests make before they run a command.

    before_intent  after_intent                the record that a document will be stored
    during_put     unsynced_put  after_put     its bytes: written, renamed, durable
    before_commit  during_commit after_commit  the single transaction of the write
    before_response                            everything is done, but the response is not sent
    after_condemn  after_remove  after_purge   the garbage collector, for each document
    during_restart during_step   after_step    the post index: emptied, and filled in steps
    before_migration  during_migration  after_migration  an upgrade: copied, migrated, committed
"""

import os
from collections.abc import Callable
from itertools import count

NAMES = (
    "before_intent",
    "after_intent",
    "during_put",
    "unsynced_put",
    "after_put",
    "before_commit",
    "during_commit",
    "after_commit",
    "before_response",
    "after_condemn",
    "after_remove",
    "after_purge",
    "during_restart",
    "during_step",
    "after_step",
    "before_migration",
    "during_migration",
    "after_migration",
)
"""All failpoints, in the order of a write, the garbage collector, the indexer and an upgrade."""

KILLED = 137
"""The exit status of a process killed at a failpoint, the same as after SIGKILL."""

_armed: Callable[[str], None] | None = None


def reach(name: str) -> None:
    """Pass a failpoint. Exits the process if the failpoint is armed for this pass."""
    if _armed is not None:
        _armed(name)


def arm(where: str) -> None:
    """Arm the failpoint `where`: a name, and optionally a pass, such as `:3` for the third.

    Raises `ValueError` for an unknown name.
    """
    global _armed  # noqa: PLW0603 - a process ends once
    name, _, passes = where.partition(":")
    if name not in NAMES:
        raise ValueError(f"There is no failpoint {name}.")
    last, counted = int(passes or 1), count(1)

    def end_process(reached: str) -> None:
        if reached == name and next(counted) == last:
            # No clean-up: no handler runs, no buffer is flushed, no other thread continues.
            os._exit(KILLED)

    _armed = end_process
