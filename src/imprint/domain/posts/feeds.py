"""Feeds: their paths, and posts with the texts that the one who asks may read."""

from dataclasses import dataclass
from datetime import datetime

from imprint.domain.formats.addresses import Address
from imprint.domain.posts.indexed_posts import IndexedPost

FEED_SIZE = 50
"""Posts of a feed, the newest first; of a private feed, those of one page."""

MAX_ENTRY_BYTES = 64 * 1024
"""Bytes of the largest document whose text is in a public feed; of a larger one there is the
link."""

MAX_FEED_BYTES = 1024 * 1024
"""Bytes of all documents whose texts are in one feed, or on one page of a private one; the newest
are taken first."""

ALL_POSTS = "/feeds/posts"
"""The path of the feed of all posts, without the ending of a format."""

PRIVATE_FEEDS = "/feeds/private/"
"""What the paths of private feeds begin with; their tokens follow, and are never logged."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """A post in a feed; `text` is None where whoever asks may not read it, or it is too large."""

    post: IndexedPost
    updated_at: datetime
    text: str | None = None


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed; `name` tells it apart from all others of the same contract, and never changes.

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
        """Whether both are made of the same posts, dates and texts: the same objects."""
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
