"""Words of posts in the search index, kept by the same transactions that keep the posts."""

from collections.abc import Sequence
from dataclasses import dataclass

from imprint.adapters.catalog.transaction import Transaction

_WANT_TEXT = "INSERT INTO pending_texts (place) VALUES (:place) ON CONFLICT (place) DO NOTHING"
_UNWANT_TEXT = "DELETE FROM pending_texts WHERE place = :place"


@dataclass(frozen=True, slots=True)
class PostWords:
    """What is searchable of every post."""

    place: int
    title: str
    description: str
    hashtags: tuple[str, ...]


async def add_words(tx: Transaction, posts: Sequence[PostWords]) -> None:
    """Make new posts searchable by title, description and hashtags."""


async def drop_words(tx: Transaction, places: Sequence[int]) -> None:
    """Forget posts that left the chain, with their texts."""
    await drop_texts(tx, places)


async def drop_texts(tx: Transaction, places: Sequence[int]) -> None:
    """Forget the texts of posts that are no longer free."""
    for place in places:
        await tx.execute(_UNWANT_TEXT, place=place)


async def want_texts(tx: Transaction, places: Sequence[int]) -> None:
    """Note posts that became free, so that their texts are looked at."""
    for place in places:
        await tx.execute(_WANT_TEXT, place=place)
