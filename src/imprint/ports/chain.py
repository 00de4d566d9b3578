"""Ports for the chain, the marketplace contract on it, and the providers of webhooks."""

from collections.abc import Mapping
from datetime import datetime
from typing import Protocol

from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.marketplace import Log
from imprint.domain.posts import BlockRef, Delivery, PostEntry, PostFacts


class MarketplaceReader(Protocol):
    """The marketplace contract as it is now. An unexpected response raises `Unavailable`."""

    async def post_facts(self, post_id: int, reader: Address | None) -> PostFacts:
        """The entry and the reader's balance (0 without a reader), at one block in one request."""

    async def entry_of_cid(self, cid: Cid) -> PostEntry | None:
        """The entry under which this cid is published; None if it is not."""

    async def probe(self) -> None:
        """Return if the node responds, is on the configured chain, and has the contract."""

    async def close(self) -> None:
        """Close every connection."""


class ChainReader(Protocol):
    """The chain's blocks, and the marketplace's logs in them.

    Nodes differ in how far they have synced, and replace blocks. So the caller names the `head`:
    every result holds for the chain that ends in this block, and a node that does not have it,
    because it is behind or on another branch, is `Unavailable`.
    """

    async def head(self) -> BlockRef:
        """The newest block."""

    async def head_time(self) -> datetime:
        """The timestamp of the newest block."""

    async def block_at(self, number: int, head: BlockRef) -> BlockRef | None:
        """The block at this height; None above the newest one."""

    async def logs(self, first: int, last: int, head: BlockRef) -> list[Log]:
        """The marketplace's logs in these blocks, in order.

        `Unavailable` may mean that the node refuses so large a range.
        """

    async def logs_of_block(self, block_hash: str, head: BlockRef) -> list[Log] | None:
        """The marketplace's logs in this block; None if it is not on this chain."""


class WebhookProvider(Protocol):
    """One provider of deliveries: how it signs, and where its logs are."""

    name: str

    def is_connection_test(self, headers: Mapping[str, str]) -> bool:
        """Whether the provider only tests the URL: it expects 200, and nothing is delivered."""

    def check_headers(self, headers: Mapping[str, str], now: datetime) -> None:
        """Refuse a delivery for its headers alone: compression, time, form of the signature.

        Every delivery passes this before its body is read; `open` does not check these again.
        """

    def open(self, headers: Mapping[str, str], body: bytes) -> Delivery:
        """Verify a delivery that passed `check_headers`, then decode it.

        `headers` has lower-case names. Refuses `webhook_signature_invalid`, `too_large`, and
        `invalid_request` for damaged compression. A signed log that cannot be decoded becomes a
        dead letter; it is never refused.
        """
