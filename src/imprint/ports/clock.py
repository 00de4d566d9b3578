"""The time, as an argument."""

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """This instant, with its zone (UTC)."""
