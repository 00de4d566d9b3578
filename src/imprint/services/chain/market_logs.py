"""Market logs: reads all logs of the marketplace with the times of their blocks, and decodes them.

What a node sends is checked before it is used: the order of the logs, one hash for each block, and
that the entry of a post is the one of its event. A block whose logs the node refuses is read from
the receipts of its transactions.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Hashable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.errors import Unavailable
from imprint.domain.posts.market_events import (
    MarketEvent,
    PostPublished,
    PostTagged,
    attach_hashtags,
    place_of,
)
from imprint.domain.posts.marketplace import MARKET_TOPICS, Log, Undecodable, decode_market_event
from imprint.domain.posts.posts import BlockRef, PostDetails
from imprint.metrics import INDEX_UNDECODABLE, INDEX_UNDESCRIBED, UNREADABLE_RECEIPTS
from imprint.ports import ChainReader
from imprint.ports.post_index import AppliedLog
from imprint.services.chain.block_ranges import FEW_LOGS, BlockRangeReader

log = logging.getLogger(__name__)

DETAILS_AT_ONCE = 50
"""Posts whose descriptions are asked for at once."""

ROUNDS_UNTIL_SKIPPED = 5
"""Rounds in which the same receipt or description fails until the index goes on without it."""

MAX_FAILURES = 10_000
"""How many failures are counted; the oldest is forgotten."""

MAX_CACHED_LOGS = 20_000
"""Logs of blocks read from receipts that are kept, because the newest blocks are read again."""

MAX_CACHED_TIMES = 4_096
"""Times of blocks that are kept, for the same reason."""


@dataclass(frozen=True, slots=True)
class PlacedLog:
    """A log with its place in the order of the chain."""

    place: int
    block: BlockRef
    log: Log

    @property
    def applied(self) -> AppliedLog:
        return AppliedLog(self.place, self.block.block_hash)


@dataclass(frozen=True, slots=True)
class LogRange:
    """All logs of the marketplace in consecutive blocks, in order."""

    first: int
    last: int
    logs: list[PlacedLog]


@dataclass(slots=True)
class Patience:
    """Counts the rounds in which a thing fails, until it is to be skipped."""

    limit: int = ROUNDS_UNTIL_SKIPPED
    _failures: BoundedCache[Hashable, int] = field(
        default_factory=lambda: BoundedCache(MAX_FAILURES), init=False
    )

    def ends(self, thing: Hashable) -> bool:
        """Note that a thing has failed; True if that was often enough."""
        count = self._failures.get(thing, 0) + 1
        self._failures.put(thing, count)
        return count >= self.limit

    def forget(self, thing: Hashable) -> None:
        """Note that a thing works."""
        self._failures.pop(thing)


def _weigh_logs(logs: list[PlacedLog]) -> int:
    """Logs of a block, which is kept alone if it has more than are kept of all blocks."""
    return min(max(1, len(logs)), MAX_CACHED_LOGS)


@dataclass(slots=True)
class MarketLogs:
    """Reads and decodes the logs of the marketplace."""

    chain: ChainReader
    reader: BlockRangeReader = field(init=False)
    patience: Patience = field(default_factory=Patience)
    _by_receipts: BoundedCache[str, list[PlacedLog]] = field(
        default_factory=lambda: BoundedCache(MAX_CACHED_LOGS, _weigh_logs), init=False
    )
    _times: BoundedCache[BlockRef, datetime] = field(
        default_factory=lambda: BoundedCache(MAX_CACHED_TIMES), init=False
    )

    def __post_init__(self) -> None:
        self.reader = BlockRangeReader(self.chain, MARKET_TOPICS)

    async def read(self, first: int, last: int, head: BlockRef) -> AsyncIterator[LogRange]:
        """The logs of these blocks. Raises `Unavailable`, also for logs that contradict."""
        async for blocks in self.reader.read(first, last, head):
            if blocks.logs is None:
                logs = await self._read_receipts(blocks.first, head)
            else:
                logs = arrange_logs(blocks.logs, head)
            yield LogRange(blocks.first, blocks.last, logs)

    async def decode(self, logs: Sequence[PlacedLog], head: BlockRef) -> list[MarketEvent]:
        """The events of these logs, with hashtags and descriptions; others are counted and logged.

        `logs` are of whole blocks. Raises `Unavailable`.
        """
        times = await self._find_times(logs, head)
        if len(logs) > FEW_LOGS:
            decoded, undecodable = await asyncio.to_thread(_decode, logs, times)
        else:
            decoded, undecodable = _decode(logs, times)
        described = await self._describe(attach_hashtags(decoded), head)
        for each, reason in undecodable:
            INDEX_UNDECODABLE.inc()
            log.warning(
                "a log of the marketplace cannot be decoded; the index goes on without it",
                extra={"block": each.block.number, "place": each.place, "reason": reason},
            )
        return described

    async def _read_receipts(self, number: int, head: BlockRef) -> list[PlacedLog]:
        block = await self.chain.block_at(number, head)
        if block is None:
            raise Unavailable.chain()
        if (known := self._by_receipts.get(block.block_hash)) is not None:
            return known
        logs, unreadable = list[Log](), list[str]()
        async for some in self.chain.logs_by_receipts(number, MARKET_TOPICS, head):
            logs += some.logs
            if some.unreadable is not None:
                unreadable.append(some.unreadable)
        # All are counted in the same round, so that many do not take many times as long.
        waiting = [each for each in unreadable if not self.patience.ends(each)]
        if waiting:
            raise Unavailable.chain()
        for each in unreadable:
            UNREADABLE_RECEIPTS.inc()
            log.critical(
                "a receipt cannot be read; the index lacks its events until 'imprint reconcile' "
                "is run with a node that returns it",
                extra={"block": number, "transaction": each},
            )
        found = arrange_logs(logs, head)
        if any(each.block != block for each in found):
            raise Unavailable.chain()
        self._by_receipts.put(block.block_hash, found)
        return found

    async def _find_times(
        self, logs: Sequence[PlacedLog], head: BlockRef
    ) -> dict[BlockRef, datetime]:
        times, missing = dict[BlockRef, datetime](), dict[BlockRef, None]()
        for each in logs:
            if each.block in times:
                continue
            if each.log.timestamp is not None:
                times[each.block] = datetime.fromtimestamp(each.log.timestamp, UTC)
            elif (known := self._times.get(each.block)) is not None:
                times[each.block] = known
            else:
                missing[each.block] = None
        found = await self.chain.block_times([*missing], head) if missing else {}
        for block, time in found.items():
            self._times.put(block, time)
        return times | found

    async def _describe(self, events: Sequence[MarketEvent], head: BlockRef) -> list[MarketEvent]:
        posts = [event for event in events if isinstance(event, PostPublished)]
        found = dict[int, bytes]()
        failed = list[PostPublished]()
        for start in range(0, len(posts), DETAILS_AT_ONCE):
            some = posts[start : start + DETAILS_AT_ONCE]
            for post, details in zip(some, await self._find_details(some, head), strict=True):
                if details is None or not _agrees(details, post):
                    failed.append(post)
                else:
                    found[post.origin.place] = details.description
                    self.patience.forget(post.origin)
        waiting = [post for post in failed if not self.patience.ends(post.origin)]
        if waiting:
            # The node refuses these entries, or its chain has moved since the logs were read.
            raise Unavailable.chain()
        for post in failed:
            INDEX_UNDESCRIBED.inc()
            log.error(
                "the entry of a post cannot be read; it is indexed without its description",
                extra={"post_id": post.post_id, "block": post.origin.block.number},
            )
        return [
            replace(event, description=found.get(event.origin.place, b""))
            if isinstance(event, PostPublished)
            else event
            for event in events
        ]

    async def _find_details(
        self, posts: Sequence[PostPublished], head: BlockRef
    ) -> list[PostDetails | None]:
        """The details of these posts, None for those that the node refuses although it responds."""
        try:
            return [*await self.chain.post_details([post.post_id for post in posts], head)]
        except Unavailable:
            # One post may be to blame; if the node is unavailable, this raises too.
            await self.chain.block_at(head.number, head)
        if len(posts) == 1:
            return [None]
        half = len(posts) // 2
        return [
            *await self._find_details(posts[:half], head),
            *await self._find_details(posts[half:], head),
        ]


def arrange_logs(logs: Sequence[Log], head: BlockRef) -> list[PlacedLog]:
    """The logs in the order of the chain.

    Raises `Unavailable` if a node sent a log twice, or logs of two blocks at one height.
    """
    placed = list[PlacedLog]()
    blocks = {head.number: head}
    try:
        for each in logs:
            number = -1 if each.place.block_number is None else each.place.block_number
            place = place_of(number, each.place.log_index)
            block = blocks.get(number)
            if block is None:
                block = blocks[number] = BlockRef(number, each.place.block_hash)
            elif block.block_hash != each.place.block_hash:
                raise Unavailable.chain()
            placed.append(PlacedLog(place, block, each))
    except ValueError as error:
        raise Unavailable.chain() from error
    placed.sort(key=lambda each: each.place)
    if len({each.place for each in placed}) != len(placed):
        raise Unavailable.chain()
    return placed


def _decode(
    logs: Sequence[PlacedLog], times: dict[BlockRef, datetime]
) -> tuple[list[MarketEvent | PostTagged], list[tuple[PlacedLog, str]]]:
    decoded, undecodable = list[MarketEvent | PostTagged](), list[tuple[PlacedLog, str]]()
    for each in logs:
        try:
            decoded.append(decode_market_event(each.log, times[each.block]))
        except Undecodable as error:
            undecodable.append((each, str(error)))
    return decoded, undecodable


def _agrees(details: PostDetails, post: PostPublished) -> bool:
    """Whether an entry is that of the event."""
    return (details.author, details.spelled_cid) == (post.author, post.spelled_cid)
