"""Port for the private feeds of readers."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from imprint.domain.formats.addresses import Address


@dataclass(frozen=True, slots=True)
class PrivateFeed:
    """A private feed; only the hash of the token in its URLs is stored."""

    id: str
    owner: Address
    created_at: datetime
    fetched_at: datetime | None


class PrivateFeeds(Protocol):
    """The private feeds of all readers."""

    async def add_feed(self, feed: PrivateFeed, token_hash: str, limit: int) -> bool:
        """Add a feed; False if its owner already has `limit` feeds."""

    async def list_feeds(self, owner: Address) -> list[PrivateFeed]:
        """The feeds of an owner, the oldest first."""

    async def replace_token(self, owner: Address, feed_id: str, token_hash: str) -> bool:
        """Give a feed a new token; False if the owner has no such feed."""

    async def remove_feed(self, owner: Address, feed_id: str) -> bool:
        """Remove a feed; False if the owner has no such feed."""

    async def find_feed(self, token_hash: str) -> PrivateFeed | None:
        """The feed with this token."""

    async def note_fetch(self, feed_id: str, at: datetime) -> None:
        """Record when a feed was last fetched; need not survive a power loss."""
