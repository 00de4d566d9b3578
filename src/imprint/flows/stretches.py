"""Stretches: the chain read in pieces as large as the node lets them be."""

from collections.abc import AsyncIterator
from dataclasses import dataclass

from imprint.domain.marketplace import Log
from imprint.domain.refusals import Unavailable
from imprint.ports import ChainSource

FIRST_SIZE = 2_000
"""How many blocks are asked for at first: most nodes allow it."""

LARGEST_SIZE = 10_000
"""How many blocks are asked for at most: no node allows more by default."""

GROWTH = 2
"""What a size is divided by after a refusal; it grows back by half as much after each success."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Consecutive blocks, and the marketplace's logs in them."""

    first: int
    last: int
    logs: list[Log]


@dataclass(slots=True)
class StretchReader:
    """Reads logs; remembers between two readings how many blocks the node takes at once."""

    source: ChainSource
    size: int = FIRST_SIZE

    async def read(self, first: int, last: int) -> AsyncIterator[Stretch]:
        """The blocks from `first` to `last`, in order. Raises `Unavailable` if a node is away."""
        while first <= last:
            until = min(first + self.size - 1, last)
            try:
                logs = await self.source.logs(first, until)
            except Unavailable:
                # Too many blocks or results, or too slow? Then the node still knows its head, and
                # asking for less may do. If it does not, this raises what there is to raise.
                if until == first:
                    raise
                await self.source.head()
                self.size = max(1, (until - first + 1) // GROWTH)
                continue
            yield Stretch(first, until, logs)
            self.size = min(LARGEST_SIZE, self.size + max(1, self.size // GROWTH))
            first = until + 1
