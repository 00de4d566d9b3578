"""Feeds as JSON Feed 1.1, and the private feeds of a reader."""

from typing import Annotated

from msgspec import Struct, field

from imprint.interface.values import Moment, PostId, Wei, doc

VERSION = "https://jsonfeed.org/version/1.1"


class EmptyBody(Struct, frozen=True, forbid_unknown_fields=True):
    """An empty object."""


class FeedPost(Struct, frozen=True, rename="camel"):
    """What JSON Feed has no members for."""

    id: PostId
    cid: Annotated[str, doc("The cid of the document, as the chain has it.")]
    price: Annotated[Wei, doc("The price in wei, in decimal digits.")]
    price_text: Annotated[str, doc("The price in ETH.")]
    free: Annotated[bool, doc("Whether the price is zero.")]
    hosted: Annotated[bool, doc("Whether the document is stored here.")]
    has_text: Annotated[bool, doc("Whether `content_text` is the text of the post.")]


class FeedAuthor(Struct, frozen=True):
    """An author."""

    name: Annotated[str, doc("The address.")]
    url: Annotated[str, doc("About the author.")]


class FeedItem(Struct, frozen=True):
    """A post in a feed."""

    id: Annotated[str, doc("An id that never changes.")]
    url: Annotated[str, doc("The page of the post.")]
    title: Annotated[str, doc("The title.")]
    summary: Annotated[str, doc("The description.")]
    content_text: Annotated[str, doc("The text, or else description and price.")]
    date_published: Annotated[Moment, doc("When it was published.")]
    date_modified: Annotated[
        Moment,
        doc(
            "When it was published or its price was changed; in a private feed also when its "
            "token arrived."
        ),
    ]
    authors: Annotated[tuple[FeedAuthor, ...], doc("Its author.")]
    tags: Annotated[tuple[str, ...], doc("Its hashtags.")]
    post: FeedPost = field(name="_imprint")


class FeedHub(Struct, frozen=True):
    """A WebSub hub."""

    type: Annotated[str, doc("`WebSub`.")]
    url: Annotated[str, doc("The address of the hub.")]


class JsonFeed(Struct, frozen=True, omit_defaults=True):
    """A JSON Feed of version 1.1."""

    version: Annotated[str, doc(f"`{VERSION}`.")]
    title: Annotated[str, doc("The title of the feed.")]
    home_page_url: Annotated[str, doc("Where a stranger begins.")]
    feed_url: Annotated[str, doc("The address of the feed, or of this page of it.")]
    items: Annotated[tuple[FeedItem, ...], doc("The posts, the newest first.")]
    next_url: Annotated[
        str | None, doc("The address of the next page, on all pages but the last.")
    ] = None
    hubs: Annotated[tuple[FeedHub, ...], doc("Where to subscribe to changes.")] = ()


class FeedAccess(Struct, frozen=True):
    """A private feed and its addresses, which are secret and shown once."""

    id: Annotated[str, doc("The id of the feed.")]
    atom: Annotated[str, doc("The address of the feed as Atom.")]
    json: Annotated[str, doc("The address of the feed as JSON Feed.")]

    def __repr__(self) -> str:
        return f"FeedAccess(id={self.id!r})"


class PrivateFeed(Struct, frozen=True, rename="camel"):
    """A private feed, without its addresses."""

    id: Annotated[str, doc("The id of the feed.")]
    created_at: Annotated[Moment, doc("When it was made.")]
    fetched_at: Annotated[Moment | None, doc("When it was last fetched.")]


class FeedsResponse(Struct, frozen=True):
    """Private feeds."""

    feeds: Annotated[tuple[PrivateFeed, ...], doc("The feeds, the oldest first.")]
