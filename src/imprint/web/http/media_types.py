"""Media types, and which of them a client prefers (RFC 9110, section 12.5.1)."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from starlette.requests import Request

JSON_TYPE = "application/json"
PROBLEM_TYPE = "application/problem+json"
CSV_TYPE = "text/csv"
HTML_TYPE = "text/html"

MAX_ACCEPT = 1024
"""Characters of `Accept` that are read: browsers send 200."""

_QUALITY = re.compile(r"(?:0(?:\.[0-9]*)?|1(?:\.0*)?)\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class MediaRange:
    """A media type that a client accepts, or a kind of them; one with a bad quality has zero."""

    name: str
    parameters: Mapping[str, str]
    quality: float


def prefers(request: Request, media_type: str) -> bool:
    """Whether a client likes this media type more than JSON."""
    return _prefers(_accept(request), media_type)


def accepted(request: Request) -> tuple[MediaRange, ...]:
    """What a client accepts, in the order of its header `Accept`."""
    return _media_ranges(_accept(request))


def quality(wanted: tuple[MediaRange, ...], media_type: str) -> float:
    """How much a client likes a media type, by the most specific range that has it."""
    named = {each.name: each.quality for each in wanted}
    kind = media_type.partition("/")[0]
    ranges = (media_type, f"{kind}/*", "*/*")
    return next((named[each] for each in ranges if each in named), 0.0)


def _accept(request: Request) -> str:
    return ",".join(request.headers.getlist("accept"))[:MAX_ACCEPT]


@lru_cache(maxsize=256)
def _prefers(accept: str, media_type: str) -> bool:
    wanted = _media_ranges(accept)
    as_json = max(quality(wanted, JSON_TYPE), quality(wanted, PROBLEM_TYPE))
    return quality(wanted, media_type) > as_json


@lru_cache(maxsize=256)
def _media_ranges(accept: str) -> tuple[MediaRange, ...]:
    return tuple(_media_range(part) for part in accept.lower().split(",") if part.strip())


def _media_range(part: str) -> MediaRange:
    name, *rest = (piece.strip() for piece in part.split(";"))
    pairs = (piece.split("=", 1) for piece in rest if "=" in piece)
    parameters = {key.strip(): value.strip() for key, value in pairs}
    given = parameters.get("q", "1")
    return MediaRange(name, parameters, float(given) if _QUALITY.match(given) else 0.0)
