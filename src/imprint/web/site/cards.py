"""Page metadata for other sites: canonical URL, cards, feeds, and the author."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import msgspec

from imprint.domain.formats.coins import format_amount
from imprint.domain.formats.instants import format_instant
from imprint.domain.posts.feeds import ALL_POSTS, author_path, tag_path
from imprint.domain.posts.indexed_posts import AccountSummary, IndexedPost
from imprint.domain.posts.slugs import page_path
from imprint.web.api.feed_links import thumbnail_path
from imprint.web.site.words import page_words

MAX_DESCRIPTION = 300
"""Maximum number of characters in the description on a card."""


@dataclass(frozen=True, slots=True)
class FeedLink:
    """A feed that a page announces."""

    title: str
    path: str


@dataclass(frozen=True, slots=True)
class Card:
    """The metadata in the head of a page. URLs are paths, to which `service` is prefixed."""

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

    def article(self, publisher: str) -> dict[str, Any] | None:
        """The structured data (schema.org) of a post, or None on other pages."""
        post = self.post
        if post is None:
            return None
        author = {
            "@type": "Person",
            "name": author_name(post),
            "identifier": post.author,
            "url": f"{self.service}/a/{post.author}",
        }
        found: dict[str, Any] = {
            "@context": "https://schema.org",
            "@type": "Article",
            "headline": self.title,
            "description": self.description,
            "url": self.canonical,
            "mainEntityOfPage": self.canonical,
            "datePublished": format_instant(post.created_at),
            "author": author,
            "publisher": {"@type": "Organization", "name": publisher, "url": f"{self.service}/"},
            "keywords": list(post.hashtags),
            "isAccessibleForFree": post.free,
        }
        if self.image_url is not None:
            found["image"] = [self.image_url]
        if not post.free:
            # Search engines require this, so that they do not mistake a paywall for cloaking.
            part = {"@type": "WebPageElement", "isAccessibleForFree": False, "cssSelector": "#text"}
            found["hasPart"] = part
        return found

    def miniapp(self, name: str) -> str:
        """Return the JSON of `fc:miniapp`."""
        button = {
            "title": page_words().text("post.read"),
            "action": {"type": "launch_miniapp", "url": self.canonical, "name": name},
        }
        return msgspec.json.encode(
            {"version": "1", "imageUrl": self.image_url, "button": button}
        ).decode()


@dataclass(frozen=True, slots=True)
class Cards:
    """Builds page heads for the service with this public URL and name.

    `description` describes the whole site, and `coin` is the symbol of the chain's coin.
    """

    service: str
    name: str
    description: str | None = None
    coin: str = "ETH"

    @property
    def _site_feed(self) -> FeedLink:
        return FeedLink(page_words().text("feeds.newest", name=self.name), ALL_POSTS)

    def page(
        self,
        path: str,
        title: str,
        description: str,
        *,
        image: str | None = None,
        indexed: bool = True,
    ) -> Card:
        """Build the head of a page of the site."""
        feeds = (self._site_feed,)
        return Card(self.service, path, title, description, feeds, image, indexed=indexed)

    def front(self, image: str | None, *, indexed: bool, feeds: tuple[FeedLink, ...] = ()) -> Card:
        """Build the head of the front page. If it shows an author, `feeds` has their feeds."""
        about = self.description or page_words().text("front.about", name=self.name)
        card = self.page("/", self.name, about, image=image, indexed=indexed)
        return replace(card, feeds=feeds or card.feeds)

    def tag(self, tag: str, *, indexed: bool) -> Card:
        """Build the head of a hashtag's page."""
        feed = FeedLink(f"{self.name}: #{tag}", quote(tag_path(tag)))
        description = page_words().text("tag.about", tag=tag)
        return Card(
            self.service,
            f"/t/{quote(tag)}",
            f"#{tag}",
            description,
            (feed, self._site_feed),
            indexed=indexed,
        )

    def author(self, author: AccountSummary, image: str | None, *, indexed: bool) -> Card:
        """Build the head of an author's page. `image` is used if the author has no picture."""
        address, profile, words = author.address, author.profile, page_words()
        name = short_address(address)
        title = words.text("author.title", name=name)
        description = words.text("author.about", address=address)
        if profile is not None:
            title = name = f"{profile.texts.name} ({name})"
            description = _shortened(profile.texts.bio) or description
            image = image if profile.avatar_cid is None else f"/ipfs/{profile.avatar_cid}"
        feeds = (FeedLink(f"{self.name}: {name}", author_path(address)), self._site_feed)
        path = f"/a/{address}"
        return Card(
            self.service, path, title, description, feeds, image, "profile", indexed=indexed
        )

    def post(self, post: IndexedPost, about: str = "", *, indexed: bool = True) -> Card:
        """Build the head of a post's page. `about` replaces a missing description."""
        feed = FeedLink(f"{self.name}: {author_name(post)}", author_path(post.author))
        return Card(
            self.service,
            post_page(post),
            post_title(post),
            _description(post, about, self.coin),
            (feed, self._site_feed),
            thumbnail_path(post),
            "article",
            post,
            indexed=indexed,
        )


def post_page(post: IndexedPost) -> str:
    """Return the path of a post's page."""
    return page_path(post.post_id, post.title)


def post_title(post: IndexedPost) -> str:
    """Return the title of a post, or its ID if it has none."""
    return " ".join(post.title.split()) or page_words().text("posts.untitled", id=post.post_id)


def author_name(post: IndexedPost) -> str:
    """Return the name of a post's author, or their short address."""
    return short_address(post.author) if post.byline is None else post.byline.name


def first_picture(posts: Iterable[IndexedPost]) -> str | None:
    """Return the path of the first picture of these posts."""
    return next((path for post in posts if (path := thumbnail_path(post)) is not None), None)


def short_address(address: str) -> str:
    """Shorten an address to its first and last digits."""
    return f"{address[:6]}…{address[-4:]}"


def price_text(wei: int, symbol: str) -> str:
    """Format a price in the coin of the chain."""
    return page_words().text("posts.free") if wei == 0 else format_amount(wei, symbol)


def _description(post: IndexedPost, about: str, symbol: str) -> str:
    if text := _shortened(post.description) or _shortened(about):
        return text
    key = "post.about_price" if post.hosted else "post.about"
    price = price_text(post.price, symbol)
    return page_words().text(key, author=author_name(post), price=price)


def _shortened(description: str) -> str:
    text = " ".join(description.split())
    return text if len(text) <= MAX_DESCRIPTION else f"{text[: MAX_DESCRIPTION - 1]}…"
