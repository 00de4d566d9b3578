"""Generates the numbered files and posts of a benchmark catalog."""

import random
from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import accumulate

from imprint.domain.formats.cids import Cid, Codec, cid_of

OWNERS = 1_000
"""Number of file owners, who are also the authors of the posts."""

FILES_OF_A_RARE_TAG = 10
"""Number of files per rare hashtag. A million files have 100 000 rare hashtags."""

TOPICS = 100
"""Number of hashtags that each appear on one file in a hundred."""

EPOCH = 1_700_000_000_000_000
"""Creation time of the first file, in microseconds."""

WORDS = 50_000
"""Vocabulary size. Word frequencies follow Zipf's law."""

TITLE_WORDS, DESCRIPTION_WORDS, BODY_WORDS = 6, 18, 60
"""Number of words in a title, in a description, and in the text of a free post."""

DOCUMENT = 4096
"""Length of a document in bytes."""

Row = tuple[str | bytes | int | None, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of a table."""

    name: str
    columns: tuple[str, ...]
    rows: Iterable[Row]


def is_draft(number: int) -> bool:
    """Whether file `number` is a draft. If so, post `number` belongs to another file."""
    return number % 10 == 0


def owner_of(number: int) -> str:
    """Return the owner of file `number`."""
    return f"0x{number // 10 % OWNERS:040x}"


def tags_of(number: int, count: int) -> list[str]:
    """Return a file's three hashtags: common, less common and rare. `count` files share them."""
    return ["all", f"topic{number % TOPICS}", f"rare{number % rare_tags(count)}"]


def rare_tags(count: int) -> int:
    """Return how many rare hashtags `count` files have. Files that share a rare hashtag are far
    apart."""
    return count // FILES_OF_A_RARE_TAG


def document_of(number: int) -> bytes:
    """Return the document of file `number`."""
    return f"{number:0{DOCUMENT}}".encode()


def cid_of_file(number: int) -> Cid:
    """Return the CID of file `number`."""
    return cid_of(Codec.RAW, sha256(document_of(number)).digest())


def word(rank: int) -> str:
    """Return the word with this rank, counted from 0."""
    syllables = []
    while True:
        rank, consonant = divmod(rank, len(_CONSONANTS))
        rank, vowel = divmod(rank, len(_VOWELS))
        syllables.append(_CONSONANTS[consonant] + _VOWELS[vowel])
        if not rank and len(syllables) > 1:
            return "".join(syllables)


def title_of(number: int) -> list[str]:
    """Return the words of a post's title."""
    return _words(number * 3, TITLE_WORDS)


def description_of(number: int) -> list[str]:
    """Return the words of a post's description."""
    return _words(number * 3 + 1, DESCRIPTION_WORDS)


def body_of(number: int) -> list[str]:
    """Return the words of a free post's text."""
    return _words(number * 3 + 2, BODY_WORDS)


_CONSONANTS, _VOWELS = "bdfghklmnprstvz", "aeiou"
_DRAWN = 2_000_003
"""Number of generated words, from which texts are sliced."""


def _words(seed: int, count: int) -> list[str]:
    drawn = _drawn()
    # Texts are slices that start far apart. Two texts share a start only if there are many texts.
    start = seed * 611_953 % (_DRAWN - count)
    return drawn[start : start + count]


@cache
def _drawn() -> list[str]:
    """Return random words whose frequencies follow Zipf's law, in the order in which texts use
    them."""
    chance, words = random.Random(1), [word(rank) for rank in range(WORDS)]
    weights = list(accumulate(1 / (rank + 1) for rank in range(WORDS)))
    total = weights[-1]
    return [words[bisect(weights, chance.random() * total)] for _ in range(_DRAWN)]
