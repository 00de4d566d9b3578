"""What the service returns, as frozen records: names in Python's spelling, times as `datetime`.

Amounts are `Wei`, which are integers; post ids are texts of digits, since token ids have 256 bits.
Members that a later version of the service adds are ignored.
"""

from datetime import datetime
from typing import Any, TypeVar

import msgspec

Record = TypeVar("Record")


class Wei(int):
    """An amount of the chain's coin in its smallest unit; a text of digits in JSON."""

    __slots__ = ()


class _Camel(msgspec.Struct, frozen=True, rename="camel"):
    """A record whose members have camel case in JSON."""


class _Plain(msgspec.Struct, frozen=True):
    """A record whose members have the same names in JSON."""


# --- The service ---


class SigningFacts(_Camel, frozen=True):
    """The domain of typed data (EIP-712)."""

    name: str
    version: str
    chain_id: int


class LoginFacts(_Plain, frozen=True):
    """What login messages are checked against."""

    domains: tuple[str, ...]
    freshness_seconds: int


class ChainFacts(_Plain, frozen=True):
    """The chain; `rpc_url` is that of a development chain's node."""

    id: int
    marketplace: str
    rpc_url: str | None = None


class LimitFacts(_Plain, frozen=True):
    """What the service accepts at most."""

    content_bytes: int
    quota_bytes: int
    quota_drafts: int
    thumbnail_bytes: int
    thumbnail_pixels: int
    thumbnail_side: int
    hashtags: int
    hashtag_length: int
    nonce_length: int
    login_message_bytes: int


class PageSizes(_Camel, frozen=True):
    """How many files a page of each list has at most."""

    files_by_tags: int
    files_meta_data: int
    files_by_next_page_token: int
    pending_files_by_owner: int


class ServiceFacts(_Plain, frozen=True):
    """What the service says of itself at `/.well-known/imprint.json`."""

    name: str
    version: str
    service: str
    signing: SigningFacts
    signing_forms: tuple[str, ...]
    features: tuple[str, ...]
    now: int
    login: LoginFacts
    chain: ChainFacts
    limits: LimitFacts
    page_sizes: PageSizes


class MarketplaceFacts(_Camel, frozen=True):
    """The marketplace contract, with its interface as compilers write it."""

    chain_id: int
    address: str
    start_block: int
    abi: list[dict[str, Any]]


class Health(_Plain, frozen=True):
    """That the service runs."""

    status: str


class Readiness(_Plain, frozen=True):
    """Whether the service can work: one word for each dependency, a sentence for each trouble."""

    status: str
    checks: dict[str, str]
    details: tuple[str, ...]


# --- Sessions ---


class Session(_Camel, frozen=True):
    """A session of a reader; `token` is a secret."""

    token: str
    address: str
    expires_at: datetime

    def __repr__(self) -> str:
        return f"Session(address={self.address!r}, expires_at={self.expires_at!r})"


class WritingSessionRecord(_Camel, frozen=True):
    """A writing session as the service lists it."""

    id: str
    wallet: str
    actions: tuple[str, ...]
    not_before: datetime
    expires: datetime
    created_at: datetime


# --- Files ---


class KeyValues(_Camel, frozen=True):
    """The owner of a file and its status, `pending` or `onchain`."""

    owner: str
    status: str
    published_at: str | None = None


class Draft(_Plain, frozen=True):
    """A file as writes return it; every update gives it another cid."""

    id: str
    name: str
    cid: str
    size: int
    created_at: datetime
    group_id: str
    keyvalues: KeyValues


class File(Draft, frozen=True):
    """A file as lists and reads return it."""

    hashtags: tuple[str, ...]
    thumbnail_cid: str | None
    post_id: str | None
    published_at: datetime | None
    tx_hash: str | None


class DeletedDraft(_Plain, frozen=True):
    """A draft that is deleted."""

    id: str
    status: str


class Content(_Plain, frozen=True):
    """A text, and the file that it is of."""

    content: str
    file: File


class Document(_Camel, frozen=True):
    """The bytes of a document, with their media type and entity tag."""

    data: bytes
    media_type: str
    etag: str | None = None


# --- Posts ---


class Block(_Plain, frozen=True):
    """A block of the chain."""

    number: int
    hash: str


class SalesTotal(_Plain, frozen=True):
    """How many were sold, and for how much in all."""

    count: int
    volume: Wei


class PostLinks(_Plain, frozen=True):
    """Where the post, its text and its page are; `itself` is `self` in JSON."""

    itself: str = msgspec.field(name="self")
    content: str
    page: str


class Post(_Camel, frozen=True, kw_only=True):
    """A post as the index has it; `snippet` is there in results of a search."""

    id: str
    author: str
    cid: str
    thumbnail_cid: str
    title: str
    description: str
    price: Wei
    first_price: Wei
    free: bool
    hashtags: tuple[str, ...]
    hosted: bool
    created_at: datetime
    block: Block
    transaction: str
    sales: SalesTotal
    holders: int
    links: PostLinks
    snippet: str | None = None


class Held(_Camel, frozen=True):
    """How a reader holds a post: `paid` is None for a gift."""

    balance: Wei
    bought_at: datetime
    paid: Wei | None


class HeldPost(Post, frozen=True, kw_only=True):
    """A post in a reader's library."""

    held: Held


class Author(_Camel, frozen=True):
    """What an author has published and sold."""

    address: str
    posts: int
    sales: SalesTotal
    readers: int
    first_post_at: datetime | None
    last_post_at: datetime | None


class Sale(_Camel, frozen=True):
    """A purchase of one of the author's posts."""

    post_id: str
    buyer: str
    price: Wei
    at: datetime
    block: Block
    transaction: str


class Day(_Plain, frozen=True):
    """The posts and sales of a day in UTC."""

    day: str
    posts: int
    sales: int
    volume: Wei


class Stats(_Plain, frozen=True):
    """Totals of the whole place, and the last 90 days, the oldest first."""

    posts: int
    authors: int
    readers: int
    sales: int
    volume: Wei
    days: tuple[Day, ...]


class GlobalMetrics(_Camel, frozen=True):
    """Totals in the shape of the earlier service."""

    total_users: int
    total_assets: int
    total_asset_worth: Wei
    total_volume: Wei


class CreatorMetrics(_Camel, frozen=True):
    """An author's totals."""

    total_assets: int
    total_earnings: Wei
    total_subscribers: int
    total_asset_worth: Wei


class HolderMetrics(_Camel, frozen=True):
    """A reader's totals."""

    total_purchases: int
    total_spent: Wei


class UserMetrics(_Plain, frozen=True):
    """Totals of one address, as an author and as a reader."""

    creator: CreatorMetrics
    holder: HolderMetrics


class HeatMap(_Plain, frozen=True):
    """The days (`D/M/YYYY`) on which an address published and bought, one entry for each time."""

    creator: tuple[str, ...]
    holder: tuple[str, ...]


# --- Feeds ---


class FeedPost(_Camel, frozen=True):
    """What JSON Feed has no members for."""

    id: str
    cid: str
    price: Wei
    price_text: str
    free: bool
    hosted: bool
    has_text: bool


class FeedAuthor(_Plain, frozen=True):
    """The author of an item."""

    name: str
    url: str


class FeedItem(_Plain, frozen=True):
    """A post in a feed."""

    id: str
    url: str
    title: str
    summary: str
    content_text: str
    date_published: datetime
    date_modified: datetime
    authors: tuple[FeedAuthor, ...]
    tags: tuple[str, ...]
    post: FeedPost = msgspec.field(name="_imprint")


class FeedHub(_Plain, frozen=True):
    """Where to subscribe to changes."""

    type: str
    url: str


class JsonFeed(_Plain, frozen=True):
    """A feed, or a page of it: `next_url` is on all pages but the last."""

    version: str
    title: str
    home_page_url: str
    feed_url: str
    items: tuple[FeedItem, ...]
    next_url: str | None = None
    hubs: tuple[FeedHub, ...] = ()


class FeedAccess(_Plain, frozen=True):
    """The addresses of a private feed: secrets, shown once."""

    id: str
    atom: str
    json: str

    def __repr__(self) -> str:
        return f"FeedAccess(id={self.id!r})"


class PrivateFeed(_Camel, frozen=True):
    """A private feed, without its addresses."""

    id: str
    created_at: datetime
    fetched_at: datetime | None


def decode_record(data: bytes, kind: type[Record]) -> Record:
    """Decode JSON. Raises `msgspec.DecodeError` if it is not of this kind."""
    return msgspec.json.decode(data, type=kind, dec_hook=_read_amount)


def encode_record(record: object) -> bytes:
    """Encode a record, or a list of them, as the JSON that it came from."""
    return msgspec.json.encode(record, enc_hook=_write_amount)


def _read_amount(kind: type, value: object) -> Wei:
    if kind is not Wei or not isinstance(value, str) or not value.isdecimal():
        raise ValueError("An amount is a text of digits.")
    return Wei(value)


def _write_amount(value: object) -> str:
    if not isinstance(value, Wei):
        raise NotImplementedError(f"{type(value).__name__} is not part of a record.")
    return str(int(value))
