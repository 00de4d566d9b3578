"""Hashtags: one spelling each, few, short, and never mistaken for anything else."""

import unicodedata

MAX_TAGS = 10
"""How many hashtags a file may carry, and a list may ask for."""

MAX_TAG_LENGTH = 32
"""How many characters a hashtag may have."""


class NotTags(ValueError):
    """The text is no list of hashtags."""


def parse_hashtags(text: str) -> tuple[str, ...]:
    """The hashtags in a comma-separated list, in order, each once; an empty text means none."""
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
