"""The URLs and ids in feeds and machine-readable pages."""

from dataclasses import dataclass
from urllib.parse import quote

from imprint.domain.formats.addresses import Address
from imprint.domain.formats.coins import format_amount
from imprint.domain.posts.feeds import Feed, FeedEntry
from imprint.domain.posts.indexed_posts import IndexedPost


@dataclass(frozen=True, slots=True)
class FeedLinks:
    """The addresses of a service with this public URL and name, and ids that need neither."""

    service: str
    name: str
    chain_id: int
    contract: Address
    hub: str | None = None
    has_site: bool = False
    coin: str = "ETH"

    def title(self, feed: Feed) -> str:
        """The title of a feed."""
        return f"{self.name}: {feed.title}"

    def home(self, feed: Feed) -> str:
        """The page for people with the posts of a feed, or what stands for it without pages."""
        return f"{self.service}{quote(feed.page) if self.has_site else '/llms.txt'}"

    @property
    def home_type(self) -> str:
        """The media type of that page."""
        return "text/html" if self.has_site else "text/markdown"

    def address(self, feed: Feed, ending: str) -> str:
        """The URL of a feed, or of this page of it, in one of its formats."""
        return self._page_of(feed, ending, feed.before)

    def next_address(self, feed: Feed, ending: str) -> str | None:
        """The URL of the next page of a feed."""
        if feed.next_before is None:
            return None
        return self._page_of(feed, ending, feed.next_before)

    def _page_of(self, feed: Feed, ending: str, before: int | None) -> str:
        query = "" if before is None else f"?before={before}"
        return f"{self.service}{quote(feed.path)}.{ending}{query}"

    def hub_of(self, feed: Feed) -> str | None:
        """The hub that notifies the subscribers of a feed."""
        return None if feed.is_private else self.hub

    def header(self, feed: Feed, ending: str) -> str | None:
        """The `Link` header of a feed, which WebSub subscribers read first."""
        if self.hub_of(feed) is None:
            return None
        return f'<{self.hub}>; rel="hub", <{self.address(feed, ending)}>; rel="self"'

    def page(self, post_id: int) -> str:
        """The page of a post."""
        return f"{self.service}{page_path(post_id)}"

    def amount(self, wei: int) -> str:
        """An amount in the coin of the chain."""
        return format_amount(wei, self.coin)

    def author(self, post: IndexedPost) -> str:
        """The URL of an author."""
        return f"{self.service}/authors/{post.author}"

    def feed_id(self, feed: Feed) -> str:
        """The id of a feed."""
        return f"urn:imprint:feed:{self.chain_id}:{self.contract}:{quote(feed.name, safe=':')}"

    def post_id(self, post: IndexedPost) -> str:
        """The id of a post in every feed: chain and contract make it unique, and never change."""
        return f"urn:imprint:post:{self.chain_id}:{self.contract}:{post.post_id}"


def page_path(post_id: int | str) -> str:
    """The path of the page of a post."""
    return f"/p/{post_id}"


def teaser(entry: FeedEntry, links: FeedLinks) -> str:
    """The substitute for a text that is not in the feed: the description, and how to read on."""
    post = entry.post
    if not post.hosted:
        rest = "The text is not stored at this service."
    elif post.free:
        rest = "Read it on its page."
    else:
        rest = f"Price: {links.amount(post.price)}"
    return f"{post.description}\n\n{rest}" if post.description else rest
