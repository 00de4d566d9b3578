"""The panels of the operator's page, and the formats of their numbers and times."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum


class Mark(StrEnum):
    """How a fact is shown."""

    PLAIN = "plain"
    GOOD = "good"
    WARN = "warn"
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Fact:
    """One line of a panel."""

    label: str
    value: str
    mark: Mark = Mark.PLAIN


@dataclass(frozen=True, slots=True)
class Listing:
    """A table; every row has a text for each column."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do, and the command for it."""

    sentence: str
    command: str | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """One part of the page. `problem` says why its facts are unknown."""

    key: str = ""
    title: str = ""
    facts: tuple[Fact, ...] = ()
    listing: Listing | None = None
    advice: tuple[Advice, ...] = ()
    problem: str | None = None

    def named(self, key: str, title: str) -> "Panel":
        """The same panel with this name."""
        return replace(self, key=key, title=title)

    @property
    def mark(self) -> Mark:
        """The worst mark of its facts."""
        marks = {each.mark for each in self.facts} | ({Mark.BAD} if self.problem else set())
        return next(
            (each for each in (Mark.BAD, Mark.WARN, Mark.GOOD) if each in marks), Mark.PLAIN
        )


_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB")
_SPANS = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def write_number(number: int) -> str:
    """A number with spaces between thousands."""
    return f"{number:,}".replace(",", "\N{NO-BREAK SPACE}")


def write_count(number: int, noun: str) -> str:
    """A count with its noun."""
    return f"{write_number(number)} {noun}{'' if number == 1 else 's'}"


def write_bytes(size: int) -> str:
    """A size in its largest unit."""
    if size < 1024:
        return write_count(size, "byte")
    amount = float(size)
    for unit in _UNITS:
        amount /= 1024
        if amount < 1024 or unit == _UNITS[-1]:
            break
    return f"{amount:.1f} {unit}"


def write_duration(span: timedelta | float) -> str:
    """A duration in its largest unit, and the next smaller one if that matters: 2 hours 5
    minutes."""
    seconds = max(int(span.total_seconds() if isinstance(span, timedelta) else span), 0)
    parts = list[tuple[int, str]]()
    for length, noun in _SPANS:
        count, seconds = divmod(seconds, length)
        if count or (parts and len(parts) < 2):
            parts.append((count, noun))
        if len(parts) == 2:
            break
    written = [write_count(count, noun) for count, noun in parts if count]
    return " ".join(written) or "0 seconds"


def write_moment(moment: datetime) -> str:
    """A moment in UTC, to the second."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
