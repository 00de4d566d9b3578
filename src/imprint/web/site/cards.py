"""Page metadata for other sites: canonical URL, cards, feeds, and the author."""

from dataclasses import dataclass
from urllib.parse import quote

import msgspec

from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import NotACid, parse_cid
from imprint.domain.formats.coins import format_ether
from imprint.domain.posts.feeds import ALL_POSTS, author_path, tag_path
from imprint.domain.posts.indexed_posts import IndexedPost
from imprint.web.api.feed_links import page_path

MAX_DESCRIPTION = 300
"""Maximum number of characters of a description in a card."""


@dataclass(frozen=True, slots=True)
class FeedLink:
    """A feed that a page announces."""

    title: str
    path: str


@dataclass(frozen=True, slots=True)
class Card:
    """The metadata in the head of a page; URLs are paths, which are prefixed with `service`."""

    service: str
    path: str
    title: str
    description: str
    feeds: tuple[FeedLink, ...] = ()
    image: str | None = None
    kind: str = "website"
    post: IndexedPost | None = None
    indexed: bool = True

    @property
    def canonical(self) -> str:
        """The canonical URL of the page."""
        return self.service + self.path

    @property
    def image_url(self) -> str | None:
        """The URL of the page's image."""
        return None if self.image is None else self.service + self.image

    def miniapp(self, name: str) -> str:
        """Return the JSON of `fc:miniapp`."""
        button = {
            "title": "Read",
            "action": {"type": "launch_miniapp", "url": self.canonical, "name": name},
        }
        return msgspec.json.encode(
            {"version": "1", "imageUrl": self.image_url, "button": button}
        ).decode()


@dataclass(frozen=True, slots=True)
class Cards:
    """Builds the page heads of a service with this public URL and name."""

    service: str
    name: str

    @property
    def _site_feed(self) -> FeedLink:
        return FeedLink(f"{self.name}: newest posts", ALL_POSTS)

    def page(self, path: str, title: str, description: str, *, indexed: bool = True) -> Card:
        """Build the head of a page without an image."""
        return Card(self.service, path, title, description, (self._site_feed,), indexed=indexed)

    def tag(self, tag: str, *, indexed: bool) -> Card:
        """Build the head of a hashtag's page."""
        feed = FeedLink(f"{self.name}: #{tag}", quote(tag_path(tag)))
        description = f"Posts with the hashtag #{tag}, the newest first."
        return Card(
            self.service,
            f"/t/{quote(tag)}",
            f"#{tag}",
            description,
            (feed, self._site_feed),
            indexed=indexed,
        )

    def author(self, address: Address, *, indexed: bool = True) -> Card:
        """Build the head of an author's page."""
        feed = FeedLink(f"{self.name}: {short_address(address)}", author_path(address))
        title = f"Posts of {short_address(address)}"
        description = f"Everything that {address} has published."
        feeds = (feed, self._site_feed)
        return Card(
            self.service,
            f"/a/{address}",
            title,
            description,
            feeds,
            kind="profile",
            indexed=indexed,
        )

    def post(self, post: IndexedPost, *, indexed: bool = True) -> Card:
        """Build the head of a post's page."""
        feed = FeedLink(f"{self.name}: {short_address(post.author)}", author_path(post.author))
        return Card(
            self.service,
            page_path(post.post_id),
            post_title(post),
            _description(post),
            (feed, self._site_feed),
            thumbnail_path(post),
            "article",
            post,
            indexed=indexed,
        )


def post_title(post: IndexedPost) -> str:
    """Return the title of a post, or its ID if it has none."""
    return " ".join(post.title.split()) or f"Post {post.post_id}"


def thumbnail_path(post: IndexedPost) -> str | None:
    """Return the path of a post's image; None if it is not stored here."""
    if not post.hosted:
        return None
    try:
        return f"/ipfs/{parse_cid(post.thumbnail_cid)}"
    except NotACid:
        return None


def short_address(address: str) -> str:
    """Shorten an address to its first and last digits."""
    return f"{address[:6]}…{address[-4:]}"


def coin(wei: int) -> str:
    """Format an amount in the chain's coin."""
    return "Free" if wei == 0 else format_ether(wei)


def _description(post: IndexedPost) -> str:
    text = " ".join(post.description.split())
    if not text:
        price = f" {coin(post.price)}." if post.hosted else ""
        return f"A post by {short_address(post.author)}.{price}"
    return text if len(text) <= MAX_DESCRIPTION else f"{text[: MAX_DESCRIPTION - 1]}…"
