"""Port for the search of posts by words."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from imprint.domain.posts.search import SearchQuery


@dataclass(frozen=True, slots=True)
class PendingText:
    """A post that became free or hosted, whose text is to be looked at.

    `post_id` is None if the post left the chain. `created_at` is the time of its block.
    """

    place: int
    post_id: int | None
    free: bool
    hosted: bool
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Match:
    """A post that matches a query, and how well (`domain.search.score`)."""

    place: int
    score: int


class SearchIndex(Protocol):
    """Words of titles, descriptions and hashtags of all posts, and of the texts of free ones.

    The index of posts keeps the first three itself, and drops the text of a post in the same
    transaction in which its price stops being zero. Texts of other posts never come here.
    """

    async def find_posts(self, query: SearchQuery, before: int | None, limit: int) -> list[Match]:
        """The newest `limit` matches before a place, the newest first."""

    async def free_texts(self, places: Sequence[int]) -> dict[int, str]:
        """The stored texts of those of these posts that are free and hosted now."""

    async def pending_texts(self, after: int, limit: int) -> list[PendingText]:
        """Posts whose text is to be looked at, in order, only those after a place."""

    async def store_text(self, place: int, text: str) -> None:
        """Make the text of a post searchable, if the post is still there, free and hosted.

        The post is no longer pending, whatever its state.
        """

    async def skip_text(self, place: int) -> None:
        """The text of a post need not be looked at; it is no longer pending."""
