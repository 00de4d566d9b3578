"""Stretches: the chain read in pieces as large as the node lets them be."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from imprint.domain.errors import Unavailable
from imprint.domain.marketplace import Log
from imprint.domain.posts import BlockRef
from imprint.ports import ChainReader

FIRST_SIZE = 2_000
"""How many blocks are asked for at first: most nodes allow it."""

LARGEST_SIZE = 10_000
"""How many blocks are asked for at most: no node allows more by default."""

SHRINKING = 2
"""What a size is divided by after a refusal; it grows back by half of itself after each success."""

RESPECT = 100
"""After how many successes a size that was refused is tried again: its cause may be gone."""


@dataclass(frozen=True, slots=True)
class BlockRange:
    """Consecutive blocks, and the marketplace's logs in them."""

    first: int
    last: int
    logs: list[Log]


@dataclass(slots=True)
class BlockRangeReader:
    """Reads logs; remembers between two readings how many blocks the node takes at once."""

    source: ChainReader
    size: int = FIRST_SIZE
    ceiling: int = LARGEST_SIZE
    _successes: int = 0

    async def read(self, first: int, last: int, head: BlockRef) -> AsyncIterator[BlockRange]:
        """The blocks from `first` to `last`, in order. Raises `Unavailable` if a node is away."""
        while first <= last:
            until = min(first + self.size - 1, last)
            try:
                logs = await self.source.logs(first, until, head)
            except Unavailable:
                # Too many blocks or results, or too slow? Then the node still knows the head, and
                # asking for less may do. If it does not, this raises what there is to raise.
                if until == first:
                    raise
                await self.source.block_at(until, head)
                self._shrink(until - first + 1)
                continue
            yield BlockRange(first, until, logs)
            self._grow()
            first = until + 1

    def _shrink(self, refused: int) -> None:
        self.ceiling = refused - 1
        self.size = max(1, refused // SHRINKING)
        self._successes = 0

    def _grow(self) -> None:
        self._successes += 1
        if self._successes >= RESPECT:
            self.ceiling, self._successes = LARGEST_SIZE, 0
        self.size = min(self.ceiling, self.size + max(1, self.size // SHRINKING))
