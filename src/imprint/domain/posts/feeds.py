"""Feeds: their paths, and their posts with the text that the subscriber may read."""

from dataclasses import dataclass
from datetime import datetime

from imprint.domain.formats.addresses import Address
from imprint.domain.posts.indexed_posts import IndexedPost

FEED_SIZE = 50
"""Number of posts in a feed, newest first, or per page in a private feed."""

MAX_ENTRY_BYTES = 64 * 1024
"""Size in bytes of the largest document whose text a public feed includes. Larger ones are
linked."""

MAX_FEED_BYTES = 1024 * 1024
"""Maximum total size in bytes of the documents included in one feed.

In a private feed, the limit applies to each page. The newest documents come first.
"""

ALL_POSTS = "/feeds/posts"
"""The path of the feed of all posts, without the format extension."""

PRIVATE_FEEDS = "/feeds/private/"
"""The path prefix of private feeds. It is followed by a token, which is never logged."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """A post in a feed. `text` is None if it is too large or the subscriber may not read it."""

    post: IndexedPost
    updated_at: datetime
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed. `name` is unique per contract and never changes.

    `path` is its path without the format extension, and `page` is the path of the web page with the
    same posts. The name of the service is put before `title`. A private feed links only to itself,
    has no hub, and is split into pages. A page has the posts before position `before`, and the next
    page those before `next_before`.
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
        """Whether both feeds have the same posts, dates and texts (identical objects)."""
        return len(self.entries) == len(other.entries) and all(
            ours.post is theirs.post
            and ours.text is theirs.text
            and ours.updated_at == theirs.updated_at
            for ours, theirs in zip(self.entries, other.entries, strict=True)
        )

    @property
    def updated_at(self) -> datetime | None:
        """The time of the latest change, or None if there are no entries."""
        return max((entry.updated_at for entry in self.entries), default=None)


def tag_path(tag: str) -> str:
    """Return the path of a hashtag's feed."""
    return f"/feeds/tags/{tag}"


def author_path(author: Address) -> str:
    """Return the path of an author's feed."""
    return f"/feeds/authors/{author}"
