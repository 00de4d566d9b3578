"""Block ranges: reads logs from as many blocks at once as the node allows."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from imprint.domain.errors import Unavailable
from imprint.domain.marketplace import Log
from imprint.domain.posts import BlockRef
from imprint.ports import ChainReader

FIRST_SIZE = 2_000
"""Blocks in the first request: most nodes allow it."""

LARGEST_SIZE = 10_000
"""Blocks in the largest request: no node allows more by default."""

SHRINK_DIVISOR = 2
"""The size is divided by this after a refusal, and grows by its half after each success."""

SUCCESSES_UNTIL_RETRY = 100
"""Successes after which a size that was refused is tried again: the cause may be gone."""


@dataclass(frozen=True, slots=True)
class BlockRange:
    """Consecutive blocks, and the marketplace's logs in them."""

    first: int
    last: int
    logs: list[Log]


@dataclass(slots=True)
class BlockRangeReader:
    """Reads logs, and remembers between calls how many blocks the node takes at once."""

    chain: ChainReader
    size: int = FIRST_SIZE
    ceiling: int = LARGEST_SIZE
    _successes: int = 0

    async def read(self, first: int, last: int, head: BlockRef) -> AsyncIterator[BlockRange]:
        """The blocks from `first` to `last`, in order. Raises `Unavailable`."""
        while first <= last:
            until = min(first + self.size - 1, last)
            try:
                logs = await self.chain.logs(first, until, head)
            except Unavailable:
                # Either the range is too large, and the node still knows the head, so that a
                # smaller range may succeed; or the node is unavailable, and `block_at` raises too.
                if until == first:
                    raise
                await self.chain.block_at(until, head)
                self._shrink(until - first + 1)
                continue
            yield BlockRange(first, until, logs)
            self._grow()
            first = until + 1

    def _shrink(self, refused: int) -> None:
        self.ceiling = refused - 1
        self.size = max(1, refused // SHRINK_DIVISOR)
        self._successes = 0

    def _grow(self) -> None:
        self._successes += 1
        if self._successes >= SUCCESSES_UNTIL_RETRY:
            self.ceiling, self._successes = LARGEST_SIZE, 0
        self.size = min(self.ceiling, self.size + max(1, self.size // SHRINK_DIVISOR))
