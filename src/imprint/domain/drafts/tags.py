"""Hashtags: normalized, so that each has one spelling, and limited in number and length."""

import unicodedata

MAX_TAGS = 10
"""The most hashtags of a file, and of a list filter."""

MAX_TAG_LENGTH = 32
"""The most characters of a hashtag, counting each combining mark."""

MAX_SPELLING = 8 * MAX_TAG_LENGTH
"""The most characters of a hashtag before normalization, which composes up to four into one.

Normalization takes time quadratic in the number of combining marks.
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
"""Invisible combining marks: with them, two hashtags that look the same would differ."""


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
    spelled = part.strip().removeprefix("#")
    if len(spelled) > MAX_SPELLING:
        raise NotTags(f"A hashtag has 1 to {MAX_TAG_LENGTH} characters.")
    # A lower-case letter may compose with marks that its upper-case form does not: H and U+0331.
    tag = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", spelled).lower())
    if not 1 <= len(tag) <= MAX_TAG_LENGTH:
        raise NotTags(f"A hashtag has 1 to {MAX_TAG_LENGTH} characters.")
    if not _is_word(tag):
        raise NotTags("A hashtag has only letters with their combining marks, digits, '_' and '-'.")
    return tag


def _is_word(tag: str) -> bool:
    """Whether the tag has only letters, digits, `_` and `-`, and marks only on letters."""
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
