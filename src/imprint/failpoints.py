"""Failpoints: named places where a test ends the process, as a power cut would.

A service passes them for nothing. No setting arms them: only a program that calls `arm` itself,
which the tests of crashes do before they run a command.

    before_intent  after_intent                the note that a document will be stored
    during_put     unsynced_put  after_put     its bytes: written, named, known to be durable
    before_commit  during_commit after_commit  the one transaction of the effect
    before_response                              all is done, and nobody has been told
    after_condemn  after_remove  after_purge    the janitor, for each document
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
)
"""Every failpoint, in the order in which a write and then the janitor pass them."""

KILLED = 137
"""The exit status of a process that ended at a failpoint: that of one that was killed."""

_armed: Callable[[str], None] | None = None


def reach(name: str) -> None:
    """Pass a failpoint; the process ends here if it is armed for this pass."""
    if _armed is not None:
        _armed(name)


def arm(where: str) -> None:
    """End this process at `where`: the name of a failpoint, and `:3` for the third pass of it.

    Refuses, with `ValueError`, a name that no failpoint has.
    """
    global _armed  # noqa: PLW0603 - one process, one end
    name, _, passes = where.partition(":")
    if name not in NAMES:
        raise ValueError(f"There is no failpoint {name}.")
    last, counted = int(passes or 1), count(1)

    def end_here(reached: str) -> None:
        if reached == name and next(counted) == last:
            # Without any cleaning up: no handler, no buffer, no other thread gets a turn.
            os._exit(KILLED)

    _armed = end_here
