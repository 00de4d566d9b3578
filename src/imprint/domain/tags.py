"""Hashtags: normalized, so that each has one spelling, and limited in number and length."""

import unicodedata

MAX_TAGS = 10
"""The most hashtags of a file, and of a list filter."""

MAX_TAG_LENGTH = 32
"""The most characters of a hashtag."""


class NotTags(ValueError):
    """The text is not a list of hashtags."""


def parse_hashtags(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list into its hashtags, in order and without duplicates.

    An empty text has none. Raises `NotTags`.
    """
    if not text.strip():
        return ()
    tags = tuple(dict.fromkeys(_normalize(part) for part in text.split(",")))
    if len(tags) > MAX_TAGS:
        raise NotTags(f"At most {MAX_TAGS} hashtags are allowed.")
    return tags


def _normalize(part: str) -> str:
    trimmed = part.strip()
    tag = unicodedata.normalize("NFKC", trimmed.removeprefix("#")).lower()
    if not 1 <= len(tag) <= MAX_TAG_LENGTH:
        raise NotTags(f"A hashtag has 1 to {MAX_TAG_LENGTH} characters.")
    if not all(_allowed(char) for char in tag):
        raise NotTags("A hashtag has only letters, digits, '_' and '-'.")
    return tag


def _allowed(char: str) -> bool:
    return char in "_-" or unicodedata.category(char)[0] in "LN"
