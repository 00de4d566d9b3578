"""Checks whether every post can be found from the block at which chain reading begins."""

from dataclasses import dataclass

from imprint.domain.errors import CannotStart, Unavailable
from imprint.domain.posts.marketplace import POST_CREATED
from imprint.domain.posts.posts import BlockRef
from imprint.ports import ChainReader, MarketplaceReader
from imprint.ports.publication import EventStore

MANY_BLOCKS = 100_000
"""The operator is notified if more than this number of blocks precede the first post."""

USUAL_RANGE = 100
"""Number of blocks whose logs a node should return at once.

If a node allows fewer blocks, catching up takes many requests.
"""

_REMEDY = (
    "Set IMPRINT_CHAIN_START_BLOCK to the block in which the marketplace was deployed, or to an "
    "earlier one."
)


@dataclass(frozen=True, slots=True)
class Concern:
    """A problem with the node or the start block that does not prevent start-up."""

    detail: str
    remedy: str


@dataclass(frozen=True, slots=True)
class StartBlock:
    """The configured start block, compared with the node and the catalog."""

    chain: ChainReader
    events: EventStore
    chain_id: int
    number: int

    async def verify(self) -> BlockRef:
        """Check that posts can be found from this block on, and return the newest block.

        Raises `CannotStart` for a block in the future or after recorded events, and
        `Unavailable`.
        """
        head = await self.chain.head()
        cursor = await self.events.cursor(self.chain_id)
        if self.number > head.number and (cursor is None or cursor.number < self.number):
            raise CannotStart(
                f"IMPRINT_CHAIN_START_BLOCK is {self.number}, but the newest block of chain"
                f" {self.chain_id} is {head.number}: no post would be found.",
                f"{_REMEDY} If it is right, wait until the node has synced.",
            )
        oldest = await self.events.oldest_event_block(self.chain_id)
        if oldest is not None and oldest.number < self.number:
            raise CannotStart(
                f"IMPRINT_CHAIN_START_BLOCK is {self.number}, but a post of block {oldest.number}"
                " is known: others before the start block would be missed.",
                _REMEDY,
            )
        if cursor is not None and cursor.number + 1 < self.number:
            raise CannotStart(
                f"IMPRINT_CHAIN_START_BLOCK is {self.number}, but the chain has been read up to"
                f" block {cursor.number}: posts in between would be missed.",
                _REMEDY,
            )
        return head

    async def find_concerns(
        self, head: BlockRef, marketplace: MarketplaceReader | None = None
    ) -> list[Concern]:
        """Return warnings about this block and the node's history for the operator.

        With `marketplace`, also checks whether that contract was deployed before the block. This
        needs a node that keeps old states. Raises `Unavailable` if the database or the node fails.
        """
        cursor = await self.events.cursor(self.chain_id)
        first = min(self.number if cursor is None else cursor.number, head.number)
        concerns = []
        if cursor is None and self.number == 0 and head.number > MANY_BLOCKS:
            concerns.append(
                Concern(
                    f"All {head.number} blocks must be read before the newest posts appear.",
                    _REMEDY,
                )
            )
        if not await self._returns_logs(first, first, head):
            concerns.append(
                Concern(
                    f"The node does not return the logs of block {first}, where reading continues.",
                    "Use a node that keeps the logs of old blocks.",
                )
            )
        elif not await self._returns_logs(max(first, head.number - USUAL_RANGE), head.number, head):
            concerns.append(
                Concern(
                    f"The node does not return the logs of {USUAL_RANGE} blocks at once: "
                    "catching up after an outage will take long.",
                    "Use a node that does, or ignore this.",
                )
            )
        concerns += await self._examine_oldest(head)
        if marketplace is not None and self.number and cursor is None:
            concerns += await self._examine_deployment(marketplace)
        return concerns

    async def _examine_oldest(self, head: BlockRef) -> list[Concern]:
        oldest = await self.events.oldest_event_block(self.chain_id)
        if oldest is None or oldest.number > head.number:
            return []
        if await self._returns_logs(oldest.number, oldest.number, head, least=1):
            return []
        return [
            Concern(
                f"The node does not return the log of a known post in block {oldest.number}.",
                "Posts stay readable, but `imprint reconcile` and `imprint repair` need a node that"
                " keeps the logs of old blocks.",
            )
        ]

    async def _examine_deployment(self, marketplace: MarketplaceReader) -> list[Concern]:
        try:
            existed = await marketplace.existed_at(self.number - 1)
        except Unavailable:
            # A node without old states cannot tell, and nothing else in the service needs old
            # states.
            return []
        if not existed:
            return []
        detail = f"The marketplace existed before block {self.number}: older posts are not found."
        return [Concern(detail, _REMEDY)]

    async def _returns_logs(self, first: int, last: int, head: BlockRef, least: int = 0) -> bool:
        """Whether the node returns at least `least` logs of these blocks. Raises `Unavailable` if
        the node does not respond."""
        try:
            return len(await self.chain.logs(first, last, (POST_CREATED,), head)) >= least
        except Unavailable:
            await self.chain.block_at(head.number, head)
            return False
