"""Ranges: a part of a document, if a client asks for exactly one (RFC 9110).

Whoever asks for several gets the whole: putting them together is work that only attackers ask for.
"""

import re
from dataclasses import dataclass

from starlette.requests import Request

from imprint.domain.refusals import OutOfRange

_ONE_RANGE = re.compile(r"bytes=[ \t]*([0-9]{0,15})-([0-9]{0,15})[ \t]*\Z", re.ASCII)
"""One range; what does not match is ignored, as the standard allows. It is matched in one pass."""


@dataclass(frozen=True, slots=True)
class Range:
    """The bytes from `first` to `last`, both included, of `size`."""

    first: int
    last: int
    size: int

    @property
    def header(self) -> str:
        """The range as the answer tells it."""
        return f"bytes {self.first}-{self.last}/{self.size}"


def requested_range(request: Request, tag: str, size: int) -> Range | None:
    """The part of a document that is asked for; None means the whole.

    A range that depends on another version of the document means the whole, too. Refuses, with
    `OutOfRange`, one that begins behind the end.
    """
    given = _ONE_RANGE.match(request.headers.get("range", ""))
    if given is None or request.headers.get("if-range", tag) != tag:
        return None
    first, last = given.groups()
    if not first:
        return _suffix(int(last), size) if last else None
    if last and int(last) < int(first):
        return None
    if int(first) >= size:
        raise OutOfRange(size)
    return Range(int(first), min(int(last or size), size - 1), size)


def _suffix(length: int, size: int) -> Range:
    if not length or not size:
        raise OutOfRange(size)
    return Range(max(size - length, 0), size - 1, size)
