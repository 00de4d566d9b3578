"""The clock of this machine."""

from datetime import UTC, datetime


class SystemClock:
    """The time as the operating system tells it."""

    def now(self) -> datetime:
        """This instant, in UTC."""
        return datetime.now(UTC)
