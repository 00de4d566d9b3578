"""The files and posts of a filled catalog, by number."""

import random
from bisect import bisect
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import accumulate

from imprint.domain.formats.cids import Cid, Codec, cid_of

OWNERS = 1_000
"""Owners of the files, who are the authors of the posts."""

FILES_OF_A_RARE_TAG = 10
"""Files with the same rare hashtag: a million files have 100 000 rare hashtags."""

TOPICS = 100
"""Hashtags that one file in a hundred has."""

EPOCH = 1_700_000_000_000_000
"""Creation time of the first file, in microseconds."""

WORDS = 50_000
"""Words that occur in posts; the word with the rank n is n times rarer than the first."""

TITLE_WORDS, DESCRIPTION_WORDS, BODY_WORDS = 6, 18, 60
"""Words of a title, of a description, and of the text of a free post."""

Row = tuple[str | bytes | int | None, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows for a table."""

    name: str
    columns: tuple[str, ...]
    rows: Iterable[Row]


def is_draft(number: int) -> bool:
    """Whether the file with this number is a draft; then the post with this number belongs to
    another file."""
    return number % 10 == 0


def owner_of(number: int) -> str:
    """The owner of the file with this number."""
    return f"0x{number // 10 % OWNERS:040x}"


def tags_of(number: int, count: int) -> list[str]:
    """The hashtags of this file among `count`: a common one, one in a hundred, and a rare one."""
    return ["all", f"topic{number % TOPICS}", f"rare{number % rare_tags(count)}"]


def rare_tags(count: int) -> int:
    """Number of rare hashtags among `count` files; files with the same one are far apart."""
    return count // FILES_OF_A_RARE_TAG


def cid_of_file(number: int) -> Cid:
    """The CID of the file with this number."""
    return cid_of(Codec.RAW, sha256(str(number).encode()).digest())


def word(rank: int) -> str:
    """The word with this rank, from 0 on."""
    syllables = []
    while True:
        rank, consonant = divmod(rank, len(_CONSONANTS))
        rank, vowel = divmod(rank, len(_VOWELS))
        syllables.append(_CONSONANTS[consonant] + _VOWELS[vowel])
        if not rank and len(syllables) > 1:
            return "".join(syllables)


def title_of(number: int) -> list[str]:
    """The words of the title of a post."""
    return _words(number * 3, TITLE_WORDS)


def description_of(number: int) -> list[str]:
    """The words of the description of a post."""
    return _words(number * 3 + 1, DESCRIPTION_WORDS)


def body_of(number: int) -> list[str]:
    """The words of the text of a free post."""
    return _words(number * 3 + 2, BODY_WORDS)


_CONSONANTS, _VOWELS = "bdfghklmnprstvz", "aeiou"
_DRAWN = 2_000_003
"""Generated words; texts are slices of these."""


def _words(seed: int, count: int) -> list[str]:
    drawn = _drawn()
    # Texts start far apart, and share a start only if there are many.
    start = seed * 611_953 % (_DRAWN - count)
    return drawn[start : start + count]


@cache
def _drawn() -> list[str]:
    """Words in the order in which texts have them, by Zipf's law."""
    chance, words = random.Random(1), [word(rank) for rank in range(WORDS)]
    weights = list(accumulate(1 / (rank + 1) for rank in range(WORDS)))
    total = weights[-1]
    return [words[bisect(weights, chance.random() * total)] for _ in range(_DRAWN)]
