"""Feeds: their paths, and their posts with the documents that the subscriber may read."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from imprint.domain.drafts.files import File
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import IndexedPost

FEED_SIZE = 50
"""Number of posts in a feed, or on a page of a private feed."""

MAX_ENTRY_BYTES = 128 * 1024
"""Maximum size in bytes of the HTML of one entry. A longer text ends with a link to its page."""

MAX_FEED_BYTES = 1024 * 1024
"""Maximum total size in bytes of the HTML in one feed. Entries beyond it are only linked.

In a private feed, the limit applies to each page. The newest posts come first.
"""

MAX_PAGE_BYTES = MAX_FEED_BYTES // 2
"""Total size in bytes of documents after which a page of a private feed ends.

HTML is longer than Markdown, so this leaves room for all texts of the page.
"""

ALL_POSTS = "/feeds/posts"
"""The path of the feed of all posts, without the format extension."""

PRIVATE_FEEDS = "/feeds/private/"
"""The path prefix of private feeds. A token, which is never logged, follows the prefix."""


@dataclass(frozen=True, slots=True)
class FeedEntry:
    """A post in a feed. `file` is None if the subscriber may not read its text.

    With `is_opening`, the subscriber may read only the opening of the file.
    """

    post: IndexedPost
    updated_at: datetime
    file: File | None = None
    is_opening: bool = False


@dataclass(frozen=True, slots=True)
class FeedTexts:
    """The texts of a feed as HTML, by post ID. `is_complete` is False if a text was unreadable."""

    html: Mapping[int, str]
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed. `name` is unique per contract and never changes.

    `path` is its path without the format extension, and `page` is the path of the web page with the
    same posts. The name of the service is put before `title`. A private feed links only to itself,
    has no hub, and is split into pages. A page has the posts before position `before`, and the next
    page has the posts before `next_before`.
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
        """Whether both feeds have the same posts, dates and documents."""
        return len(self.entries) == len(other.entries) and all(
            ours.post is theirs.post
            and ours.is_opening == theirs.is_opening
            and ours.updated_at == theirs.updated_at
            and _cid(ours.file) == _cid(theirs.file)
            for ours, theirs in zip(self.entries, other.entries, strict=True)
        )

    @property
    def updated_at(self) -> datetime | None:
        """The time of the latest change, or None if there are no entries."""
        return max((entry.updated_at for entry in self.entries), default=None)


def _cid(file: File | None) -> Cid | None:
    return None if file is None else file.cid


def tag_path(tag: str) -> str:
    """Return the path of a hashtag's feed."""
    return f"/feeds/tags/{tag}"


def author_path(author: Address) -> str:
    """Return the path of an author's feed."""
    return f"/feeds/authors/{author}"
