"""Ports for the chain, the marketplace contract on it, and the providers of webhooks."""

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
)


class Unproved(Unavailable):
    """The nodes contradict themselves or each other about a log, so nothing may be undone."""

    def __init__(self) -> None:
        unavailable = Unavailable.chain()
        super().__init__(unavailable.code, unavailable.detail)


@dataclass(frozen=True, slots=True)
class ReceiptLogs:
    """Logs from some receipts of a block, or the transaction whose receipt is unreadable."""

    logs: list[Log]
    unreadable: str | None = None


@dataclass(frozen=True, slots=True)
class BlockTopics:
    """A block, and the first topics of the marketplace's logs that its bloom filter names.

    There may be no such log: filters have false positives. One that is too full names nothing.
    """

    ref: BlockRef
    parent_hash: str
    topics: frozenset[bytes]


class MarketplaceReader(Protocol):
    """The current state of the marketplace contract. An unexpected response raises
    `Unavailable`."""

    async def post_facts(self, post_id: int, reader: Address | None) -> PostFacts:
        """The entry and the reader's balance (0 without a reader), read at one block in one
        request."""

    async def entry_of_cid(self, cid: Cid) -> PostEntry | None:
        """The entry under which this cid is published; None if it is not."""

    async def existed_at(self, number: int) -> bool:
        """Whether the contract existed at the end of this block.

        `Unavailable` may mean that the node no longer has the state of such an old block.
        """

    async def probe(self) -> None:
        """Return if the node responds, is on the configured chain, and has the contract."""

    async def code(self) -> bytes:
        """The code of the contract; that of the implementation behind a proxy of ERC-1967."""

    async def close(self) -> None:
        """Close every connection."""


class ChainReader(Protocol):
    """The chain's blocks, and the marketplace's logs in them.

    Nodes are synced to different blocks, and replace blocks. So the caller names the `head`: every
    result holds for the chain that ends in this block, and a node that does not have it, because it
    is behind or on another branch, is `Unavailable`.
    """

    async def head(self) -> BlockRef:
        """The newest block."""

    def highest_shown(self) -> int:
        """The highest block that the node of the last `head` has ever shown, or -1.

        A node that has shown a higher block than its current head is not merely lagging.
        """

    async def head_time(self) -> datetime:
        """The timestamp of the newest block."""

    async def block_at(self, number: int, head: BlockRef) -> BlockRef | None:
        """The block at this height; None above the newest one."""

    async def block_times(
        self, blocks: Sequence[BlockRef], head: BlockRef
    ) -> dict[BlockRef, datetime]:
        """The timestamps of these blocks, which must be on the chain."""

    async def post_details(self, post_ids: Sequence[int], head: BlockRef) -> list[PostDetails]:
        """The descriptions of these posts at the head, in the same order.

        `Unavailable` may mean that the node refuses a request of this size.
        """

    async def logs(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        """The marketplace's logs with one of these first topics in these blocks, in order.

        `Unavailable` may mean that the node refuses a range of this size.
        """

    async def other_logs(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        """The same logs as another node shows them than the one that was asked for logs last.

        `Unavailable` may mean that there is no other node.
        """

    def logs_by_receipts(
        self, number: int, topics: Collection[bytes], head: BlockRef
    ) -> AsyncIterator[ReceiptLogs]:
        """The same logs of one block that the node refuses to return at once, a few transactions at
        a time.

        If a node responds but a receipt cannot be read, it is reported and skipped.
        """

    async def block_topics(
        self, first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[BlockTopics]:
        """These blocks in order, with those of these topics that their bloom filters name."""

    async def prove_logs(
        self, block: BlockRef, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        """The marketplace's logs with these first topics in one block, in order, proved.

        They are from receipts that explain every bit of the block's bloom filter. Raises `Unproved`
        if those of no node do, or if nodes disagree.
        """

    async def find_log(self, place: LogPosition, topic: bytes, head: BlockRef) -> Log | None:
        """The marketplace's log with this first topic at this position; None if it is not there.

        None is proven: another block is at that height, or the block's bloom filter or receipts
        show that it has no such log. Raises `Unproved` if nodes contradict themselves.
        """


class WebhookProvider(Protocol):
    """A provider of webhook deliveries: how it signs, and where its logs are."""

    name: str

    def is_connection_test(self, headers: Mapping[str, str]) -> bool:
        """Whether this is only the provider's test of the URL: it expects 200, and delivers
        nothing."""

    def check_headers(self, headers: Mapping[str, str], now: datetime) -> None:
        """Refuse a delivery by its headers alone: compression, time, form of the signature.

        Runs before the body of a delivery is read; `open` does not repeat these checks.
        """

    def open(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        """Verify a delivery that passed `check_headers`, then decode it.

        `headers` has lower-case names. Refuses `webhook_signature_invalid`, `too_large`, and
        `invalid_request` for damaged compression. A signed log that cannot be decoded becomes a
        dead letter; it is never refused.
        """
