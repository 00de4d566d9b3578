"""Feeds: their paths, and posts with the texts that the subscriber may read."""

from dataclasses import dataclass
from datetime import datetime

from imprint.domain.formats.addresses import Address
from imprint.domain.posts.indexed_posts import IndexedPost

FEED_SIZE = 50
"""Posts in a feed, the newest first; in a private feed, posts per page."""

MAX_ENTRY_BYTES = 64 * 1024
"""The largest document in bytes whose text is in a public feed; larger ones are only linked."""

MAX_FEED_BYTES = 1024 * 1024
"""Total bytes of documents whose texts are in one feed, or on one page of a private one; the newest
come first."""

ALL_POSTS = "/feeds/posts"
"""The path of the feed of all posts, without the ending of a format."""

PRIVATE_FEEDS = "/feeds/private/"
"""The prefix of the paths of private feeds; their tokens follow, and are never logged."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """A post in a feed; `text` is None if the subscriber may not read it, or if it is too large."""

    post: IndexedPost
    updated_at: datetime
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed; `name` is unique per contract and never changes.

    `path` is its address without the ending of the format, `page` that of the page for people with
    the same posts; the name of the service is put before `title`. A private one has the addresses
    of nothing but itself, and no hub. It has pages: this one has the posts before the place
    `before`, the next one those before `next_before`.
    """

    name: str
    title: str
    path: str
    page: str
    entries: tuple[FeedEntry, ...] = ()
    is_private: bool = False
    before: int | None = None
    next_before: int | None = None

    def has_entries_of(self, other: "Feed") -> bool:
        """Whether both were built from the same posts, dates and texts (identical objects)."""
        return len(self.entries) == len(other.entries) and all(
            ours.post is theirs.post
            and ours.text is theirs.text
            and ours.updated_at == theirs.updated_at
            for ours, theirs in zip(self.entries, other.entries, strict=True)
        )

    @property
    def updated_at(self) -> datetime | None:
        """When the newest change was; None without entries."""
        return max((entry.updated_at for entry in self.entries), default=None)


def tag_path(tag: str) -> str:
    """The path of the feed of a hashtag."""
    return f"/feeds/tags/{tag}"


def author_path(author: Address) -> str:
    """The path of the feed of an author."""
    return f"/feeds/authors/{author}"
