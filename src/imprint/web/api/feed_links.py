"""URLs and IDs in feeds and machine-readable pages."""

from dataclasses import dataclass
from urllib.parse import quote

from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import NotACid, parse_cid
from imprint.domain.formats.coins import format_amount
from imprint.domain.posts.feeds import Feed, FeedEntry
from imprint.domain.posts.indexed_posts import IndexedPost
from imprint.domain.posts.slugs import page_path
from imprint.ports.post_index import PostAddress


@dataclass(frozen=True, slots=True)
class FeedLinks:
    """The URLs of a service with this public URL and name, and IDs that depend on neither."""

    service: str
    name: str
    chain_id: int
    contract: Address
    hub: str | None = None
    has_site: bool = False
    coin: str = "ETH"

    def title(self, feed: Feed) -> str:
        """Return the title of a feed."""
        return f"{self.name}: {feed.title}"

    def home(self, feed: Feed) -> str:
        """Return the URL of the HTML page with a feed's posts, or of llms.txt without HTML
        pages."""
        return f"{self.service}{quote(feed.page) if self.has_site else '/llms.txt'}"

    @property
    def home_type(self) -> str:
        """The media type of the page that `home` returns."""
        return "text/html" if self.has_site else "text/markdown"

    def address(self, feed: Feed, ending: str) -> str:
        """Return the URL of a feed, or of its current page, in one of its formats."""
        return self._page_of(feed, ending, feed.before)

    def next_address(self, feed: Feed, ending: str) -> str | None:
        """Return the URL of the next page of a feed."""
        if feed.next_before is None:
            return None
        return self._page_of(feed, ending, feed.next_before)

    def _page_of(self, feed: Feed, ending: str, before: int | None) -> str:
        query = "" if before is None else f"?before={before}"
        return f"{self.service}{quote(feed.path)}.{ending}{query}"

    def hub_of(self, feed: Feed) -> str | None:
        """Return the hub that notifies the subscribers of a feed."""
        return None if feed.is_private else self.hub

    def header(self, feed: Feed, ending: str) -> str | None:
        """Return the `Link` header of a feed, which WebSub subscribers read first."""
        if self.hub_of(feed) is None:
            return None
        return f'<{self.hub}>; rel="hub", <{self.address(feed, ending)}>; rel="self"'

    def page(self, post: IndexedPost | PostAddress) -> str:
        """Return the URL of a post's page."""
        return f"{self.service}{page_path(post.post_id, post.title)}"

    def amount(self, wei: int) -> str:
        """Format an amount in the coin of the chain."""
        return format_amount(wei, self.coin)

    def picture(self, post: IndexedPost) -> str | None:
        """Return the URL of a post's image, or None if the image is not stored here."""
        path = thumbnail_path(post)
        return None if path is None else f"{self.service}{path}"

    def author(self, post: IndexedPost) -> str:
        """Return the URL of an author."""
        return f"{self.service}/authors/{post.author}"

    def feed_id(self, feed: Feed) -> str:
        """Return the ID of a feed."""
        return f"urn:imprint:feed:{self.chain_id}:{self.contract}:{quote(feed.name, safe=':')}"

    def post_id(self, post: IndexedPost) -> str:
        """Return the ID of a post, which is unique, never changes, and is the same in every
        feed."""
        return f"urn:imprint:post:{self.chain_id}:{self.contract}:{post.post_id}"


def thumbnail_path(post: IndexedPost) -> str | None:
    """Return the path of a post's image, or None if the image is not stored here."""
    if not post.hosted:
        return None
    try:
        return f"/ipfs/{parse_cid(post.thumbnail_cid)}"
    except NotACid:
        return None


def teaser(entry: FeedEntry, links: FeedLinks) -> str:
    """Return the description and a reading hint, for a post whose text is not in the feed."""
    post = entry.post
    if not post.hosted:
        rest = "The text is not stored by this service."
    elif post.free:
        rest = "Read it on its page."
    else:
        rest = f"Price: {links.amount(post.price)}"
    return f"{post.description}\n\n{rest}" if post.description else rest
