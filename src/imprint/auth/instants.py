"""Instants as RFC 3339 writes them, strictly."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone

_SHAPE = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})"
    r"(?:\.([0-9]+))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)


class NotAnInstant(ValueError):
    """The text is no date and time with a zone, or no such instant exists."""


@dataclass(frozen=True, slots=True)
class Instant:
    """An instant as it was written, and when that is (UTC, cut to microseconds)."""

    text: str
    moment: datetime


def parse_instant(text: str) -> Instant:
    """The instant written as `text`.

    Raises `NotAnInstant` for anything but a full date, time and zone, and for the second 60,
    which clocks here do not have.
    """
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise NotAnInstant("A time is written like 2030-01-31T12:00:00Z.")
    fraction, sign, hours, minutes = match.group(7, 8, 9, 10)
    microsecond = int((fraction or "")[:6].ljust(6, "0"))
    year, month, day, hour, minute, second = map(int, match.group(1, 2, 3, 4, 5, 6))
    try:
        zone = _read_zone(sign, int(hours or 0), int(minutes or 0))
        local = datetime(year, month, day, hour, minute, second, microsecond, tzinfo=zone)
        return Instant(text, local.astimezone(UTC))
    except (ValueError, OverflowError) as error:
        raise NotAnInstant("There is no such date or time.") from error


def _read_zone(sign: str | None, hours: int, minutes: int) -> timezone:
    # A zone refuses a whole day by itself, but not a minute too many.
    if minutes > 59:
        raise NotAnInstant("There is no such zone.")
    offset = timedelta(hours=hours, minutes=minutes)
    return timezone(-offset if sign == "-" else offset)
