"""Posts, authors, readers and sales as recorded on the chain, and feeds of posts."""

from typing import Annotated, Any

from msgspec import Struct, field

from imprint.domain.moderation import MAX_CONTACT, MAX_REPORT_TEXT, ReportReason
from imprint.domain.posts.revisions import MAX_NOTE, MAX_REVISIONS
from imprint.domain.profiles import AVATAR_SIDE
from imprint.interface.drafts import Hashtags
from imprint.interface.values import (
    POST_ID_PATTERN,
    TRANSACTION_PATTERN,
    Address,
    Amount,
    Cid,
    Count,
    LowerAddress,
    Moment,
    PostId,
    PostPageToken,
    Signature,
    Total,
    TransactionHash,
    Wei,
    doc,
)

# Posts, authors, libraries, sales and statistics

Volume = Annotated[Total, doc("What was paid in all, in wei.")]

RevisionNumber = Annotated[Count, doc(f"Its number, from 1 to {MAX_REVISIONS}.")]

RevisionNote = Annotated[
    str, doc(f"What the author says about it: one line of at most {MAX_NOTE} characters.")
]


class Block(Struct, frozen=True):
    """A block on the chain."""

    number: Annotated[Count, doc("The number of the block.")]
    hash: Annotated[str, doc("The hash of the block.", TRANSACTION_PATTERN)]


class SalesTotal(Struct, frozen=True):
    """The number of purchases and the total paid."""

    count: Annotated[Count, doc("How many purchases.")]
    volume: Volume


class PostLinks(Struct, frozen=True):
    """Absolute URLs of a post."""

    itself: Annotated[str, doc("The address of this record.")] = field(name="self")
    content: Annotated[str, doc("The address of the content.")]
    page: Annotated[str, doc("The address of the page for readers.")]


class PricePoint(Struct, frozen=True):
    """A price of a post and when it was set."""

    price: Annotated[Amount, doc("The price in wei.")]
    since: Annotated[Moment, doc("Since when it had this price: the time of a block.")]


class Byline(Struct, frozen=True, rename="camel"):
    """How an author is named next to a post. Names are not unique: only addresses are."""

    name: Annotated[str, doc("The name in the author's profile: any visible characters.")]
    avatar_cid: Annotated[
        Cid | None, doc("The cid of the author's picture, at `/ipfs/{cid}`; null without one.")
    ]


class RevisionSummary(Struct, frozen=True, rename="camel"):
    """The newest revision of a post."""

    number: RevisionNumber
    note: RevisionNote
    created_at: Annotated[Moment, doc("When the author added it.")]


class RevisionRecord(Struct, frozen=True, rename="camel"):
    """A corrected version of a post, as the author has just added it."""

    number: RevisionNumber
    cid: Cid
    note: RevisionNote
    created_at: Annotated[Moment, doc("When the author added it.")]


class ListedRevision(RevisionRecord, frozen=True):
    """A corrected version of a post."""

    words: Annotated[Count | None, doc("How many words it has; null if that is not known.")]


class RevisionResponse(Struct, frozen=True):
    """The revision that was added."""

    revision: RevisionRecord


class RevisionsResponse(Struct, frozen=True):
    """The revisions of a post."""

    revisions: Annotated[tuple[ListedRevision, ...], doc("The revisions, newest first.")]


class Post(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A post in the index."""

    id: PostId
    author: LowerAddress
    cid: Annotated[str, doc("The cid of the document, in its canonical spelling if it is one.")]
    thumbnail_cid: Annotated[str, doc("The cid of the thumbnail, as the chain has it.")]
    title: Annotated[str, doc("The title, as the author wrote it: any characters.")]
    description: Annotated[str, doc("The description, as the author wrote it: any characters.")]
    price: Annotated[Amount, doc("The price in wei.")]
    first_price: Annotated[Amount, doc("The price in wei when it was published.")]
    free: Annotated[bool, doc("Whether the price is zero.")]
    hashtags: Hashtags
    hosted: Annotated[bool, doc("Whether its document is here.")]
    created_at: Annotated[Moment, doc("The time of its block.")]
    block: Block
    transaction: TransactionHash
    sales: SalesTotal
    holders: Annotated[Count, doc("How many addresses hold its token now.")]
    links: PostLinks
    byline: Annotated[Byline | None, doc("The author's name and picture; null without a profile.")]
    words: Annotated[
        Count | None,
        doc(
            "How many words the whole text has; null if it is not here, or was published a moment "
            "ago."
        ),
    ]
    opening: Annotated[
        bool, doc("Whether everybody may read its beginning, at `/posts/{id}/opening`.")
    ]
    revision: Annotated[RevisionSummary | None, doc("The newest revision; null without one.")]
    snippet: Annotated[
        str | None,
        doc("Only in a search: HTML in which everything but `<mark>` around the words is text."),
    ] = None
    price_history: Annotated[
        tuple[PricePoint, ...] | None,
        doc("Only of a single post: its latest 20 prices, the newest first."),
    ] = None


PROOF_TYPE = "imprint-proof-1"
"""The file format of a proof, as stated in its member `type`."""


class ProofLog(Struct, frozen=True):
    """The log of the event `PostCreated`, whose topics name the post and its author."""

    address: Annotated[LowerAddress, doc("The marketplace.")]
    topics: Annotated[
        tuple[Annotated[str, doc("32 bytes in hexadecimal digits.", TRANSACTION_PATTERN)], ...],
        doc("The topics: the event, the id of the post and its author."),
    ]
    index: Annotated[Count, doc("The index of the log in its block.")]


class PostProof(Struct, frozen=True, rename="camel"):
    """Where a final block of the chain records who published which document.

    Any node of the chain can confirm it.
    """

    type: Annotated[str, doc(f"`{PROOF_TYPE}`.")]
    id: PostId
    author: LowerAddress
    cid: Cid
    created_at: Annotated[Moment, doc("The time of the block.")]
    chain_id: Annotated[Count, doc("The id of the chain.")]
    log: ProofLog
    transaction: TransactionHash
    block: Block


class Opening(Struct, frozen=True):
    """The beginning of a post, which everybody may read."""

    content: Annotated[str, doc("The Markdown above the line `<!--more-->`.")]
    words: Annotated[Count, doc("How many words it has.")]


class Held(Struct, frozen=True, rename="camel"):
    """A reader's holding of a post."""

    balance: Annotated[Wei, doc("How many tokens.", POST_ID_PATTERN)]
    bought_at: Annotated[Moment, doc("When the first of the tokens held now arrived.")]
    paid: Annotated[Amount | None, doc("What was paid; null if it was not bought.")]


class HeldPost(Post, frozen=True, kw_only=True):
    """A post in a reader's library."""

    held: Held


class PostsResponse(Struct, frozen=True):
    """One page of posts."""

    posts: Annotated[tuple[Post, ...], doc("The posts.")]
    next_page_token: PostPageToken | None


class LibraryResponse(Struct, frozen=True):
    """One page of the posts that a reader holds."""

    posts: Annotated[tuple[HeldPost, ...], doc("The posts, the latest arrival first.")]
    next_page_token: PostPageToken | None


class Profile(Struct, frozen=True, rename="camel"):
    """What an author says about themselves."""

    address: LowerAddress
    name: Annotated[str, doc("1 to 64 characters. Names are not unique: only addresses are.")]
    bio: Annotated[str, doc("At most 500 characters, with line feeds; may be empty.")]
    links: Annotated[
        tuple[Annotated[str, doc("An address that begins with `https:` or `mailto:`.")], ...],
        doc("At most 5 addresses of the author elsewhere."),
    ]
    avatar_cid: Annotated[
        Cid | None, doc("The cid of the picture, at `/ipfs/{cid}`; null without one.")
    ]
    updated_at: Annotated[Moment, doc("When the author last changed it.")]


class ProfileForm(Struct, frozen=True, omit_defaults=True):
    """A signed profile, and its new picture if there is one.

    Every part except `file` is text, and may be sent with a file name, as browsers do for a
    `Blob`. `salt` is JSON.
    """

    salt: Annotated[Any, doc("The signed typed data (EIP-712).")]
    address: Address
    signature: Signature
    file: Annotated[
        str | None,
        doc(
            "A PNG, JPEG or WebP, sent as a file, within the limits of thumbnails. The square in "
            f"its middle becomes the picture, made smaller to {AVATAR_SIDE} pixels on a side.",
            format="binary",
        ),
    ] = None


class ProfileResponse(Struct, frozen=True):
    """The profile after an update."""

    profile: Profile


class Author(Struct, frozen=True, rename="camel"):
    """What an author has published and sold, and their profile."""

    address: LowerAddress
    posts: Annotated[Count, doc("How many posts.")]
    sales: SalesTotal
    readers: Annotated[Count, doc("How many addresses hold one of them now.")]
    first_post_at: Annotated[Moment | None, doc("When the first was published.")]
    last_post_at: Annotated[Moment | None, doc("When the last was published.")]
    profile: Annotated[Profile | None, doc("Null if the author has none.")]


class Sale(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A purchase of one of the author's posts."""

    post_id: PostId
    buyer: LowerAddress
    price: Annotated[Amount, doc("What was paid, in wei.")]
    at: Annotated[Moment, doc("The time of its block.")]
    block: Block
    transaction: TransactionHash
    title: Annotated[
        str | None, doc("The title of the post, as the author wrote it: any characters.")
    ] = None
    receiver: Annotated[
        LowerAddress | None, doc("Who got the post, if the buyer bought it as a gift.")
    ] = None


class SalesResponse(Struct, frozen=True):
    """One page of sales."""

    sales: Annotated[tuple[Sale, ...], doc("The sales, the newest first.")]
    next_page_token: PostPageToken | None


class Day(Struct, frozen=True):
    """The activity of one UTC day."""

    day: Annotated[str, doc("The day, in UTC.", "^[0-9]{4}-[0-9]{2}-[0-9]{2}$")]
    posts: Annotated[Count, doc("How many posts.")]
    sales: Annotated[Count, doc("How many purchases.")]
    volume: Volume


class Stats(Struct, frozen=True):
    """Totals of the whole marketplace, and its most recent days."""

    posts: Annotated[Count, doc("How many posts.")]
    authors: Annotated[Count, doc("How many authors.")]
    readers: Annotated[Count, doc("How many addresses hold a post now.")]
    sales: Annotated[Count, doc("How many purchases.")]
    volume: Volume
    days: Annotated[tuple[Day, ...], doc("The last 90 days, the oldest first.")]


# Totals in the shape of an earlier service

StatusCode = Annotated[int, doc("The status of the response, 200.", format="int64", minimum=200)]

Days = Annotated[
    tuple[Annotated[str, doc("A day.", "^[1-9][0-9]?/[1-9][0-9]?/[0-9]{4}$")], ...],
    doc("Days as `D/M/YYYY`, in UTC, without leading zeros."),
]


class MarketMetrics(Struct, frozen=True, rename="camel"):
    """The totals of the marketplace."""

    total_users: Annotated[Count, doc("Addresses that published, bought or hold a post.")]
    total_assets: Annotated[Count, doc("Posts.")]
    total_asset_worth: Total
    total_volume: Total


class CreatorMetrics(Struct, frozen=True, rename="camel"):
    """The totals of an address as an author."""

    total_assets: Annotated[Count, doc("Posts.")]
    total_earnings: Total
    total_subscribers: Annotated[Count, doc("Addresses that hold one of the posts.")]
    total_asset_worth: Total


class HolderMetrics(Struct, frozen=True, rename="camel"):
    """The totals of an address as a reader."""

    total_purchases: Annotated[Count, doc("Purchases.")]
    total_spent: Total


class UserMetrics(Struct, frozen=True):
    """The totals of an address."""

    creator: CreatorMetrics
    holder: HolderMetrics


class HeatMap(Struct, frozen=True):
    """The days of all posts and purchases of an address, in order."""

    creator: Days
    holder: Days


class GlobalMetricsResponse(Struct, frozen=True, rename="camel"):
    """The marketplace totals, and a status."""

    status_code: StatusCode
    data: MarketMetrics


class UserMetricsResponse(Struct, frozen=True, rename="camel"):
    """The totals of an address, with a status."""

    status_code: StatusCode
    data: UserMetrics


class HeatMapResponse(Struct, frozen=True, rename="camel"):
    """The active days of an address, with a status."""

    status_code: StatusCode
    data: HeatMap


# Feeds

JSON_FEED = "https://jsonfeed.org/version/1.1"
"""The JSON Feed version that feeds declare."""


class EmptyBody(Struct, frozen=True, forbid_unknown_fields=True):
    """An empty object."""


class FeedPost(Struct, frozen=True, rename="camel"):
    """Fields that are not part of the JSON Feed standard."""

    id: PostId
    cid: Annotated[str, doc("The cid of the document, as the chain has it.")]
    price: Annotated[Wei, doc("The price in wei, in decimal digits.")]
    price_text: Annotated[str, doc("The price in ETH.")]
    free: Annotated[bool, doc("Whether the price is zero.")]
    hosted: Annotated[bool, doc("Whether the document is stored here.")]
    has_text: Annotated[bool, doc("Whether the item has the text of the post.")]


class FeedAuthor(Struct, frozen=True, omit_defaults=True):
    """An author."""

    name: Annotated[str, doc("The name in the author's profile, or the address without one.")]
    url: Annotated[str, doc("About the author.")]
    avatar: Annotated[str | None, doc("The address of the author's picture.")] = None


class FeedItem(Struct, frozen=True, omit_defaults=True):
    """A post in a feed; it has either `content_html` or `content_text`."""

    id: Annotated[str, doc("An id that never changes.")]
    url: Annotated[str, doc("The page of the post.")]
    title: Annotated[str, doc("The title.")]
    summary: Annotated[str, doc("The description.")]
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
    content_html: Annotated[
        str | None, doc("The text as HTML; a long one ends with a link to its page.")
    ] = None
    content_text: Annotated[str | None, doc("Without the text, description and price.")] = None
    image: Annotated[str | None, doc("The address of its picture.")] = None


class FeedHub(Struct, frozen=True):
    """A WebSub hub."""

    type: Annotated[str, doc("`WebSub`.")]
    url: Annotated[str, doc("The address of the hub.")]


class JsonFeed(Struct, frozen=True, omit_defaults=True):
    """A JSON Feed, version 1.1."""

    version: Annotated[str, doc(f"`{JSON_FEED}`.")]
    title: Annotated[str, doc("The title of the feed.")]
    home_page_url: Annotated[str, doc("The page with the same posts.")]
    feed_url: Annotated[str, doc("The address of the feed, or of this page of it.")]
    items: Annotated[tuple[FeedItem, ...], doc("The posts, the newest first.")]
    next_url: Annotated[
        str | None, doc("The address of the next page, on all pages but the last.")
    ] = None
    hubs: Annotated[tuple[FeedHub, ...], doc("Where to subscribe to changes.")] = ()


class FeedAccess(Struct, frozen=True):
    """A private feed and its URLs, which are secret and shown only once."""

    id: Annotated[str, doc("The id of the feed.")]
    atom: Annotated[str, doc("The address of the feed as Atom.")]
    json: Annotated[str, doc("The address of the feed as JSON Feed.")]

    def __repr__(self) -> str:
        return f"FeedAccess(id={self.id!r})"


class PrivateFeed(Struct, frozen=True, rename="camel"):
    """A private feed, without its URLs."""

    id: Annotated[str, doc("The id of the feed.")]
    created_at: Annotated[Moment, doc("When it was made.")]
    fetched_at: Annotated[Moment | None, doc("When it was last fetched.")]


class FeedsResponse(Struct, frozen=True):
    """A list of private feeds."""

    feeds: Annotated[tuple[PrivateFeed, ...], doc("The feeds, the oldest first.")]


class MeasureRecord(Struct, frozen=True, rename="camel"):
    """A measure of the operator on an author, or on one of their posts."""

    post_id: Annotated[PostId | None, doc("The post; `null` for the author.")]
    measure: Annotated[str, doc("What.", enum=["unlisted", "withheld", "refused"])]
    ground: Annotated[str, doc("Why.", enum=["legal", "policy"])]
    statement: Annotated[str, doc("What the operator says about it; may be empty.")]
    since: Annotated[Moment, doc("Since when.")]


class MeasuresResponse(Struct, frozen=True):
    """The measures on the author of this session."""

    measures: Annotated[tuple[MeasureRecord, ...], doc("Those on the author come first.")]


class OwnPost(Post, frozen=True, kw_only=True):
    """A post of the session's author.

    The title, description and thumbnail of a withheld post are empty, because nobody may see them.
    """

    measure: Annotated[
        MeasureRecord | None,
        doc("Why it is in no list, or withheld; its `postId` is null if it is on the author."),
    ]


class OwnPostsResponse(Struct, frozen=True):
    """One page of the author's own posts."""

    posts: Annotated[tuple[OwnPost, ...], doc("The posts, the newest first.")]
    next_page_token: PostPageToken | None


class ReportBody(Struct, frozen=True, rename="camel", omit_defaults=True):
    """A report of a post to the operator."""

    post_id: PostId
    reason: Annotated[str, doc("Why.", enum=[each.value for each in ReportReason])]
    text: Annotated[str, doc("What is wrong, as plain text.", maxLength=MAX_REPORT_TEXT)]
    contact: Annotated[str, doc("How the operator can reach you.", maxLength=MAX_CONTACT)] = ""


class ReportId(Struct, frozen=True):
    """An accepted report."""

    id: Annotated[str, doc("The id of the report.")]


class ReportResponse(Struct, frozen=True):
    """An accepted report, which only the operator reads."""

    report: ReportId
