"""Hashtags, which are normalized to one spelling each, and limited in number and length."""

import unicodedata
from contextlib import suppress

MAX_TAGS = 10
"""Maximum number of hashtags on a file or in a list filter."""

MAX_TAG_LENGTH = 32
"""Maximum number of characters in a hashtag, counting each combining mark."""

MAX_SPELLING = 8 * MAX_TAG_LENGTH
"""Maximum number of characters in a hashtag before normalization.

Normalization composes up to four characters into one, and takes time quadratic in the
number of combining marks.
"""

_INVISIBLE_MARKS = frozenset(
    map(
        chr,
        (
            0x034F,  # combining grapheme joiner
            *(0x17B4, 0x17B5),  # Khmer inherent vowels
            *(0x180B, 0x180C, 0x180D, 0x180F),  # Mongolian variation selectors
            *range(0xFE00, 0xFE10),  # variation selectors
            *range(0xE0100, 0xE01F0),  # variation selectors, supplement
        ),
    )
)
"""Invisible combining marks, which would make identical-looking hashtags differ."""


class NotTags(ValueError):
    """The text is not a list of hashtags."""


def parse_hashtags(text: str) -> tuple[str, ...]:
    """Parse a comma-separated list of hashtags, in order and without duplicates.

    Empty items are skipped. Raises `NotTags`, which names the item that is not a hashtag.
    """
    tags = tuple(dict.fromkeys(_normalize(piece) for piece in _pieces(text)))
    if len(tags) > MAX_TAGS:
        raise NotTags(f"At most {MAX_TAGS} hashtags are allowed.")
    return tags


def salvage_hashtags(text: str) -> tuple[str, ...]:
    """Extract the hashtags from a list that may also contain other texts.

    Spaces inside an item become hyphens, items that still are not hashtags are skipped, and
    only the first `MAX_TAGS` hashtags are kept.
    """
    tags: dict[str, None] = {}
    for piece in _pieces(text):
        with suppress(NotTags):
            tags[_normalize("-".join(piece[: 2 * MAX_SPELLING].split()))] = None
        if len(tags) == MAX_TAGS:
            break
    return tuple(tags)


def _pieces(text: str) -> list[str]:
    return [piece for part in text.split(",") if (piece := part.strip())]


def _normalize(piece: str) -> str:
    spelled = piece.removeprefix("#")
    if len(spelled) > MAX_SPELLING:
        raise NotTags(
            f"A hashtag must have 1 to {MAX_TAG_LENGTH} characters, unlike {_quote(piece)}."
        )
    # A lower-case letter may compose with a mark that its upper case cannot: h and U+0331.
    tag = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", spelled).lower())
    if not 1 <= len(tag) <= MAX_TAG_LENGTH:
        raise NotTags(
            f"A hashtag must have 1 to {MAX_TAG_LENGTH} characters, unlike {_quote(piece)}."
        )
    if not _is_word(tag):
        raise NotTags(
            "A hashtag may contain only letters with their combining marks, digits, '_' and "
            f"'-', unlike {_quote(piece)}."
        )
    return tag


def _quote(piece: str) -> str:
    shown = piece if len(piece) <= MAX_TAG_LENGTH + 1 else f"{piece[:MAX_TAG_LENGTH]}…"
    return f"'{shown}'"


def _is_word(tag: str) -> bool:
    """Whether the tag consists of letters, digits, `_` and `-`, with marks only on letters."""
    on_letter = False
    for char in tag:
        kind = unicodedata.category(char)[0]
        if kind == "M":
            if not on_letter or char in _INVISIBLE_MARKS:
                return False
            continue
        on_letter = kind == "L"
        if not (on_letter or kind == "N" or char in "_-"):
            return False
    return True
