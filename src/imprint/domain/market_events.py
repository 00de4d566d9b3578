"""What the marketplace's logs say, in the order of the chain: posts, purchases, prices, tokens."""

from dataclasses import dataclass
from datetime import datetime

from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.posts import BlockRef

LOGS_PER_BLOCK = 2**20
"""A place has room for so many logs of one block; no chain has blocks with as many."""

HIGHEST_BLOCK = 2**43 - 1
"""The last block whose places fit into 63 bits."""


def place_of(block_number: int, log_index: int) -> int:
    """The place of a log: one number with the order of the chain. Raises ValueError."""
    if not (0 <= block_number <= HIGHEST_BLOCK and 0 <= log_index < LOGS_PER_BLOCK):
        raise ValueError("The block or the index of the log is too high.")
    return block_number * LOGS_PER_BLOCK + log_index


def block_of(place: int) -> int:
    """The number of the block of a place."""
    return place // LOGS_PER_BLOCK


@dataclass(frozen=True, slots=True)
class Origin:
    """Where and when an event happened."""

    place: int
    block: BlockRef
    tx_hash: str
    at: datetime


@dataclass(frozen=True, slots=True)
class PostPublished:
    """A post was created. Its texts are bytes, because they may be no UTF-8.

    `hashtags` are those of the PostTagged logs of the post, normalized; `description` comes from
    its entry. `cid` is None if the text is not a CID.
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
    """A reader bought the token of a post."""

    origin: Origin
    post_id: int
    buyer: Address
    price: int


@dataclass(frozen=True, slots=True)
class PriceChanged:
    """A post has another price from here on."""

    origin: Origin
    post_id: int
    price: int


@dataclass(frozen=True, slots=True)
class TokensMoved:
    """Tokens of a post moved; the zero address mints and burns."""

    origin: Origin
    post_id: int
    sender: Address
    receiver: Address
    amount: int


MarketEvent = PostPublished | PostPurchased | PriceChanged | TokensMoved
