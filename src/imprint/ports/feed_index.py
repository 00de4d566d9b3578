"""Ports for what feeds and sitemaps need besides the lists of posts, and for a WebSub hub."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class PostAddress:
    """A post in a sitemap."""

    place: int
    post_id: int
    created_at: datetime


class FeedIndex(Protocol):
    """The index of posts, as feeds and sitemaps see it."""

    async def price_changes(self, post_ids: Sequence[int]) -> Mapping[int, datetime]:
        """When the prices of these posts, at most `FEED_SIZE`, were last changed, if ever."""

    async def place_after(self, after: int, count: int) -> int | None:
        """The place of the post that many posts after a place; None if there are fewer."""

    async def addresses(self, after: int, limit: int) -> list[PostAddress]:
        """The first posts after a place, in the order of the chain."""


class Hub(Protocol):
    """A WebSub hub, which fetches feeds and passes them on to their subscribers."""

    async def publish(self, topics: Sequence[str]) -> bool:
        """Tell the hub that these feeds have changed; False if it did not accept that."""
