"""Seen heads: tells a chain that has become shorter from a node that lags."""

from dataclasses import dataclass, field
from datetime import timedelta

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.errors import Unavailable
from imprint.domain.posts.posts import BlockRef
from imprint.ports import ChainReader, Monotonic

SHRUNK_GRACE = timedelta(seconds=15)
"""How long a node must show a lower block than before until blocks count as gone: behind one
address there may be several nodes, and one of them may lag."""

MAX_REMEMBERED = 128
"""How many heads, and blocks read by their receipts, are remembered; the oldest are forgotten."""

BlockHashes = BoundedCache[int, str]
"""Hashes of blocks by their numbers."""


def remembered_blocks() -> BlockHashes:
    """An empty cache of the size that blocks are remembered in."""
    return BoundedCache(MAX_REMEMBERED)


@dataclass(slots=True)
class SeenHeads:
    """The heads up to which everything was read, by their heights."""

    monotonic: Monotonic
    _hashes: BlockHashes = field(default_factory=remembered_blocks, init=False)
    _shrunk_since: float | None = field(default=None, init=False)

    async def has_shrunk(self, chain: ChainReader, head: BlockRef) -> bool:
        """Whether blocks above the head are gone, though nothing has taken their place yet.

        A node that lags has not shown higher blocks, or shows them again a moment later.
        """
        if chain.highest_shown() <= head.number:
            self._shrunk_since = None
            return False
        below = [number for number in self._hashes if number <= head.number]
        if below:
            block = await chain.block_at(max(below), head)
            if block is None:
                raise Unavailable.chain()
            if block.block_hash != self._hashes.get(block.number):
                return True
        now = self.monotonic()
        if self._shrunk_since is None:
            self._shrunk_since = now
        return now - self._shrunk_since >= SHRUNK_GRACE.total_seconds()

    def remember(self, head: BlockRef) -> None:
        """Remember a head, and forget those above it."""
        keep_below(self._hashes, head)
        self._hashes.put(head.number, head.block_hash)


def keep_below(remembered: BlockHashes, head: BlockRef) -> None:
    """Forget the blocks above the head: when they come back, they are read again."""
    for number in [number for number in remembered if number > head.number]:
        remembered.pop(number)
