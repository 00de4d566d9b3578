"""Ports for the chain, its marketplace contract, and the webhook providers."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.marketplace import Log
from imprint.domain.posts.posts import (
    BlockRef,
    Delivery,
    LogPosition,
    PostDetails,
    PostEntry,
    PostFacts,
    Purchase,
)


class Unproved(Unavailable):
    """Nodes contradict themselves or each other about a log, so nothing may be undone."""

    def __init__(self) -> None:
        unavailable = Unavailable.chain()
        super().__init__(unavailable.code, unavailable.detail)


@dataclass(frozen=True, slots=True)
class ReceiptLogs:
    """Logs from some of a block's receipts, or the transaction whose receipt is unreadable."""

    logs: list[Log]
    unreadable: str | None = None


@dataclass(frozen=True, slots=True)
class BlockTopics:
    """A block, and the first topics of marketplace logs that its bloom filter indicates.

    Filters have false positives, so there may be no log with an indicated topic. A filter that is
    too full indicates no topics.
    """

    ref: BlockRef
    parent_hash: str
    topics: frozenset[bytes]


class MarketplaceReader(Protocol):
    """Reads the current state of the marketplace contract.

    An unexpected response raises `Unavailable`.
    """

    async def post_facts(self, post_id: int, reader: Address | None) -> PostFacts:
        """Return a post's entry in the contract and the reader's balance (0 without a reader).

        Entry and balance are read at one block in one request.
        """

    async def entry_of_cid(self, cid: Cid) -> PostEntry | None:
        """Return the contract entry that publishes this CID, or None."""

    async def find_purchase(self, tx_hash: str, post_id: int, buyer: Address) -> Purchase | None:
        """Return the purchase in this transaction, or None if it is not in a block yet."""

    async def existed_at(self, number: int) -> bool:
        """Whether the contract existed at the end of this block.

        `Unavailable` may mean that the node no longer has the state of this old block.
        """

    async def probe(self) -> None:
        """Check that the node responds, is on the configured chain, and has the contracts."""

    async def code(self) -> bytes:
        """Return the contract's code. For an ERC-1967 proxy, return its implementation's code."""

    async def close(self) -> None:
        """Close every connection."""


class ChainReader(Protocol):
    """The chain's blocks, and the marketplace logs in them.

    Nodes may be synced to different blocks, and may replace blocks. The caller therefore names the
    `head`: every result is valid for the chain that ends in this block. If a node lacks this block,
    because the node is behind or on another branch, the call raises `Unavailable`.
    """

    async def head(self) -> BlockRef:
        """Return the newest block."""

    def highest_shown(self) -> int:
        """Return the highest block ever reported by the node that served the last `head`, or -1.

        A node that has reported a higher block than its current head is not merely lagging.
        """

    async def head_time(self) -> datetime:
        """Return the timestamp of the newest block."""

    async def block_at(self, number: int, head: BlockRef) -> BlockRef | None:
        """Return the block at this height, or None if the height is above the newest block."""

    async def block_times(
        self, blocks: Sequence[BlockRef], head: BlockRef
    ) -> dict[BlockRef, datetime]:
        """Return the timestamps of these blocks, which must be on the chain."""

    async def post_details(self, post_ids: Sequence[int], head: BlockRef) -> list[PostDetails]:
        """Return the contract entry details of these posts as of `head`, in the same order.

        `Unavailable` may mean that the node refuses a request of this size.
        """

    async def logs(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        """Return the marketplace logs in these blocks with one of these first topics, in order.

        `Unavailable` may mean that the node refuses a range of this size.
        """

    async def other_logs(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        """Like `logs`, but from a different node than the one last queried for logs.

        `Unavailable` may mean that there is no other node.
        """

    def logs_by_receipts(
        self, number: int, topics: Collection[bytes], head: BlockRef
    ) -> AsyncIterator[ReceiptLogs]:
        """Like `logs` for one block, but from its receipts, a few transactions at a time.

        Use this for a block whose logs the node refuses to return in one response. If a node
        responds but a receipt cannot be read, the receipt is reported and skipped.
        """

    async def block_topics(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[BlockTopics]:
        """Return these blocks in order, each with the topics that its bloom filter indicates."""

    async def prove_logs(
        self, block: BlockRef, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        """Return the proven marketplace logs in one block with these first topics, in order.

        The logs come from receipts that account for every bit of the block's bloom filter. Raises
        `Unproved` if no node has such receipts, or if nodes disagree.
        """

    async def find_log(self, place: LogPosition, topic: bytes, head: BlockRef) -> Log | None:
        """Return the marketplace log with this first topic at this position, or None if absent.

        A result of None is proven: another block is at that height, or the block's bloom filter or
        receipts show that the block has no such log. Raises `Unproved` if the responses of nodes
        contradict each other.
        """


class WebhookProvider(Protocol):
    """A provider of webhook deliveries, with its signature scheme and log format."""

    name: str

    def is_connection_test(self, headers: Mapping[str, str]) -> bool:
        """Whether this is only the provider's test of the URL, which carries no logs.

        The provider expects status 200.
        """

    def check_headers(self, headers: Mapping[str, str], now: datetime) -> None:
        """Refuse a delivery whose headers show an invalid compression, time or signature format.

        Runs before the body is read. `open` does not repeat these checks.
        """

    def open(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        """Verify a delivery that passed `check_headers`, then decode it.

        `headers` has lower-case names. Refuses with `webhook_signature_invalid`, `too_large`, and
        `invalid_request` for damaged compression. A signed log that cannot be decoded is not
        refused but becomes a dead letter.
        """
