"""A limit on the work of converting a text, because texts are untrusted."""

import time

MAX_STEPS = 1_000_000
"""Maximum number of steps per conversion.

An ordinary text of a million characters takes less than half of these steps, and a third of a
second.
"""

MAX_SECONDS = 2.0
"""Maximum processor time in seconds, for texts whose steps take unusually long."""

_CHECKED_EVERY = 64
"""Number of calls to `spend` between two readings of the clock."""


class TooIntricate(Exception):
    """The conversion would take too much work."""


class Abandoned(Exception):
    """Nobody is waiting for the conversion anymore."""


class TextWork:
    """Counts the steps of one conversion, which runs in one thread. Any thread may abandon it."""

    __slots__ = ("_calls", "_deadline", "_left", "_seconds", "is_abandoned")

    def __init__(self, steps: int = MAX_STEPS, seconds: float = MAX_SECONDS) -> None:
        self._left = steps
        self._seconds = seconds
        self._deadline: float | None = None
        self._calls = 0
        self.is_abandoned = False

    def spend(self, steps: int = 1) -> None:
        """Count steps. Raises `TooIntricate` above the limit, and `Abandoned` after an
        abandonment."""
        self._left -= steps
        if self._left < 0:
            raise TooIntricate("Converting the text takes too many steps.")
        if self._calls % _CHECKED_EVERY == 0:
            self._check()
        self._calls += 1

    def _check(self) -> None:
        if self.is_abandoned:
            raise Abandoned
        now = time.thread_time()
        if self._deadline is None:
            self._deadline = now + self._seconds
        elif now > self._deadline:
            raise TooIntricate("Converting the text takes too long.")
