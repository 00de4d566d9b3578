"""Block ranges: reads logs from as many blocks at once as the node allows."""

from collections.abc import AsyncIterator, Collection
from dataclasses import dataclass, field

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.errors import Unavailable
from imprint.domain.posts.marketplace import Log
from imprint.domain.posts.posts import BlockRef
from imprint.ports import ChainReader

FIRST_SIZE = 2_000
"""Blocks in the first request: most nodes allow it."""

LARGEST_SIZE = 10_000
"""Blocks in the largest request: no node allows more by default."""

SHRINK_DIVISOR = 2
"""The size is divided by this after a refusal, and grows by its half after each success."""

SUCCESSES_UNTIL_RETRY = 100
"""Successes after which a size that was refused is tried again: the cause may be gone."""

FEW_LOGS = 500
"""Logs above which a thread decodes them, so that the event loop serves requests meanwhile."""

MAX_OVERSIZED = 1_024
"""How many blocks are remembered whose logs the node does not return; the oldest is forgotten."""


@dataclass(frozen=True, slots=True)
class BlockRange:
    """Consecutive blocks, and the marketplace's logs in them.

    `logs` is None for a single block whose logs the node refuses to return, although it responds.
    """

    first: int
    last: int
    logs: list[Log] | None


@dataclass(slots=True)
class BlockRangeReader:
    """Reads logs with some first topics, and remembers how many blocks the node takes at once."""

    chain: ChainReader
    topics: Collection[bytes]
    size: int = FIRST_SIZE
    ceiling: int = LARGEST_SIZE
    _successes: int = 0
    _oversized: BoundedCache[int, None] = field(default_factory=lambda: BoundedCache(MAX_OVERSIZED))

    async def read(self, first: int, last: int, head: BlockRef) -> AsyncIterator[BlockRange]:
        """The blocks from `first` to `last`, in order. Raises `Unavailable`."""
        before = self.size, self.ceiling
        while first <= last:
            if first in self._oversized:
                yield BlockRange(first, first, None)
                first += 1
                continue
            until = self._end_of_range(first, last)
            try:
                logs = await self.chain.logs(first, until, self.topics, head)
            except Unavailable:
                # Either the range is too large, and the node still knows the head, so that a
                # smaller range may succeed; or the node is unavailable, and `block_at` raises too.
                await self.chain.block_at(until, head)
                if until > first:
                    self._shrink(until - first + 1)
                    continue
                if first - 1 not in self._oversized:
                    # This block is to blame, not the size of the ranges. If the one before it is
                    # too, the node may refuse every range.
                    self.size, self.ceiling = before
                self._oversized.put(first, None)
                yield BlockRange(first, first, None)
            else:
                yield BlockRange(first, until, logs)
                self._grow()
            first = until + 1

    def _end_of_range(self, first: int, last: int) -> int:
        until = min(first + self.size - 1, last)
        return min([until, *(number - 1 for number in self._oversized if first < number <= until)])

    def _shrink(self, refused: int) -> None:
        self.ceiling = refused - 1
        self.size = max(1, refused // SHRINK_DIVISOR)
        self._successes = 0

    def _grow(self) -> None:
        self._successes += 1
        if self._successes >= SUCCESSES_UNTIL_RETRY:
            self.ceiling, self._successes = LARGEST_SIZE, 0
        self.size = min(self.ceiling, self.size + max(1, self.size // SHRINK_DIVISOR))
