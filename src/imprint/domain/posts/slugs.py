"""Slugs: the readable last part of the URL of a post's page, derived from the title."""

import re
import unicodedata

MAX_SLUG = 60
"""Maximum number of characters in a slug."""

READ_CHARACTERS = 256
"""Number of characters at the start of a title that determine its slug."""

PAGE_PATHS = frozenset({"text", "document", "changes", "first"})
"""Paths below a post's page that are not slugs."""

_FOLDED = str.maketrans(
    {
        "ß": "ss",
        "æ": "ae",
        "œ": "oe",
        "ø": "o",
        "ð": "d",
        "đ": "d",
        "þ": "th",
        "ł": "l",
        "ħ": "h",
        "ı": "i",
        "ŋ": "n",
        # Words are not split at apostrophes.
        "'": None,
        "\u2019": None,
        "\u02bc": None,
    }
)
"""Letters that Unicode does not decompose into ASCII."""

_COMBINING = re.compile("[\u0300-\u036f]+")
_SEPARATORS = re.compile("[^a-z0-9]+")


def post_slug(title: str) -> str:
    """Return the slug of a title, which consists of ASCII words and hyphens, or is empty."""
    folded = unicodedata.normalize("NFKD", title[:READ_CHARACTERS].lower()).lower()
    letters = _COMBINING.sub("", folded).translate(_FOLDED)
    slug = _SEPARATORS.sub("-", letters).strip("-")
    if len(slug) > MAX_SLUG:
        slug = slug[: MAX_SLUG + 1].rpartition("-")[0] or slug[:MAX_SLUG]
    return "" if slug in PAGE_PATHS else slug


def page_path(post_id: int, title: str) -> str:
    """Return the path of a post's page."""
    slug = post_slug(title)
    return f"/p/{post_id}/{slug}" if slug else f"/p/{post_id}"
