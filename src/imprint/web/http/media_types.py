"""Media types, and which of them a client prefers."""

from functools import lru_cache

from starlette.requests import Request

JSON_TYPE = "application/json"
CSV_TYPE = "text/csv"
HTML_TYPE = "text/html"


def prefers(request: Request, media_type: str) -> bool:
    """Whether a client accepts this media type and prefers it to JSON."""
    accept = request.headers.get("accept", "")
    if media_type not in accept.lower():
        return False
    wanted = _qualities(accept)
    quality = wanted.get(media_type, 0.0)
    return quality > 0 and quality > wanted.get(JSON_TYPE, 0.0)


@lru_cache(maxsize=256)
def _qualities(accept: str) -> dict[str, float]:
    """The media types in an `Accept` header, with their quality values."""
    found: dict[str, float] = {}
    for part in accept.lower().split(","):
        name, *parameters = (piece.strip() for piece in part.split(";"))
        quality = next((each[2:] for each in parameters if each.startswith("q=")), "1")
        try:
            found[name] = min(max(float(quality), 0.0), 1.0)
        except ValueError:
            found[name] = 0.0
    return found
