"""Marketplace events in chain order: posts, purchases, price changes and token transfers."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime

from imprint.domain.drafts.tags import MAX_TAGS, NotTags, parse_hashtags
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.posts import BlockRef

LOGS_PER_BLOCK = 2**20
"""Number of logs per block that a position can represent. No chain has as many in a block."""

HIGHEST_BLOCK = 2**43 - 1
"""The highest block number whose positions fit in 63 bits."""

_DECIMAL = re.compile(r"(0|[1-9][0-9]{0,17})\Z")
"""Matches a number of up to 18 digits, which fits in 63 bits."""


def position_of(block_number: int, log_index: int) -> int:
    """Return the position of a log, a number that sorts in chain order. Raises ValueError."""
    if not (0 <= block_number <= HIGHEST_BLOCK and 0 <= log_index < LOGS_PER_BLOCK):
        raise ValueError("The block number or the log index is too high.")
    return block_number * LOGS_PER_BLOCK + log_index


def parse_position(text: str) -> int | None:
    """Parse a decimal position. Returns None for any other text."""
    return int(text) if _DECIMAL.match(text) else None


def block_of(place: int) -> int:
    """Return the block number of a position."""
    return place // LOGS_PER_BLOCK


def log_index_of(place: int) -> int:
    """Return the index, within its block, of the log at a position."""
    return place % LOGS_PER_BLOCK


@dataclass(frozen=True, slots=True)
class Origin:
    """The position and time of an event."""

    place: int
    block: BlockRef
    tx_hash: str
    at: datetime


@dataclass(frozen=True, slots=True)
class PostPublished:
    """A post was created. Its texts are bytes, because they may be invalid UTF-8.

    `hashtags` come from the post's PostTagged logs and are normalized. `description` comes
    from the post's entry in the contract. `cid` is None if its text is not a CID.
    """

    origin: Origin
    post_id: int
    author: Address
    spelled_cid: bytes
    cid: Cid | None
    thumbnail_cid: bytes
    title: bytes
    price: int
    description: bytes = b""
    hashtags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PostPurchased:
    """A reader bought a post's token.

    If the purchase went through a purchase `adapter`, the token was minted to the adapter and
    passed on to the `receiver`.
    """

    origin: Origin
    post_id: int
    buyer: Address
    price: int
    adapter: Address | None = None
    receiver: Address | None = None

    @property
    def is_gift(self) -> bool:
        return self.receiver is not None and self.receiver != self.buyer


@dataclass(frozen=True, slots=True)
class PriceChanged:
    """The price of a post changed."""

    origin: Origin
    post_id: int
    price: int


@dataclass(frozen=True, slots=True)
class TokensMoved:
    """Tokens of a post were transferred.

    Transfers from the zero address mint tokens, and transfers to it burn them.
    """

    origin: Origin
    post_id: int
    sender: Address
    receiver: Address
    amount: int


@dataclass(frozen=True, slots=True)
class PostTagged:
    """A hashtag recorded on the chain. The log belongs to the event that published the post."""

    origin: Origin
    post_id: int
    hashtag: bytes


@dataclass(frozen=True, slots=True)
class AdapterPurchase:
    """A purchase adapter made the purchase in the event just before this one, for a payer."""

    origin: Origin
    post_id: int
    adapter: Address
    payer: Address
    receiver: Address
    price: int


MarketEvent = PostPublished | PostPurchased | PriceChanged | TokensMoved

EventDetail = PostTagged | AdapterPurchase
"""Events that only complete another event of the same transaction."""


def attach_details(events: Iterable[MarketEvent | EventDetail]) -> list[MarketEvent]:
    """Return the events with hashtags merged into posts, and payers and receivers into purchases.

    A detail counts only if its log is in the transaction of the event that it completes.
    Invalid or excess hashtags are dropped.
    """
    tags: dict[tuple[str, int], dict[str, None]] = {}
    purchases: dict[tuple[str, int, Address, int], tuple[int, PostPurchased]] = {}
    attached: list[MarketEvent] = []
    for event in events:
        tx_hash = event.origin.tx_hash
        if isinstance(event, PostTagged):
            kept = tags.setdefault((tx_hash, event.post_id), {})
            if len(kept) < MAX_TAGS and (tag := _tag_of(event.hashtag)) is not None:
                kept[tag] = None
        elif isinstance(event, AdapterPurchase):
            key = (tx_hash, event.post_id, event.adapter, event.price)
            if (found := purchases.pop(key, None)) is not None:
                index, purchase = found
                attached[index] = replace(
                    purchase, buyer=event.payer, adapter=event.adapter, receiver=event.receiver
                )
        else:
            if isinstance(event, PostPurchased):
                key = (tx_hash, event.post_id, event.buyer, event.price)
                purchases[key] = (len(attached), event)
            attached.append(event)
    return [
        replace(event, hashtags=tuple(own))
        if isinstance(event, PostPublished)
        and (own := tags.get((event.origin.tx_hash, event.post_id)))
        else event
        for event in attached
    ]


def _tag_of(spelled: bytes) -> str | None:
    try:
        tags = parse_hashtags(spelled.decode())
    except (UnicodeDecodeError, NotTags):
        return None
    return tags[0] if len(tags) == 1 else None
