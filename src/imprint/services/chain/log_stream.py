"""The stream of marketplace logs, shared by all projections of a process.

Only this module requests logs from nodes. Each response is checked here once. The checks cover the
node's chain and head, the order of the logs, the hash of each block, and logs that a block's bloom
filter indicates but the response lacks. A block whose logs the node refuses or leaves out is read
from the receipts of its transactions. A range that one projection has requested is not requested
again by the others. Each projection has its own cursor, so a projection that is far behind does not
delay the others.
"""

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import Enum, auto
from functools import partial
from typing import NoReturn, TypeVar

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.errors import Unavailable
from imprint.domain.posts.market_events import position_of
from imprint.domain.posts.marketplace import MARKET_TOPICS, Log
from imprint.domain.posts.posts import BlockRef
from imprint.metrics import DISPUTED_BLOCKS, NODE_CONTRADICTIONS
from imprint.ports import ChainReader, Monotonic, monotonic
from imprint.ports.chain import BlockTopics, Unproved
from imprint.ports.publication import EventStore
from imprint.services.tasks.periodic_task import SingleFlight, run_periodically

log = logging.getLogger(__name__)

Each = TypeVar("Each")
Decoded = TypeVar("Decoded")

FIRST_SIZE = 2_000
"""Number of blocks in the first request, which most nodes allow."""

LARGEST_SIZE = 10_000
"""Maximum number of blocks in a request. No node allows more by default."""

SHRINK_DIVISOR = 2
"""A refusal divides the range size by this number. A success adds the size divided by this
number."""

SUCCESSES_UNTIL_RETRY = 100
"""Number of successes after which a refused range size is tried again, in case it works now."""

FEW_LOGS = 500
"""Number of logs above which a thread decodes them, to keep the event loop responsive."""

FEW_BLOCKS = 500
"""Maximum number of blocks in a running request that another reader waits for. Larger requests may
take a while."""

MAX_OVERSIZED = 1_024
"""Maximum number of tracked blocks whose logs a node refused. The oldest is evicted."""

MAX_REQUESTS = 16
"""Maximum number of log requests kept for projections that have not read the responses."""

MAX_RECEIPT_LOGS = 20_000
"""Maximum number of cached logs from receipts. The newest blocks are read repeatedly."""

MAX_BLOCKS = 128
"""Maximum number of entries in each cache of blocks or heads. The oldest entry is evicted."""

CHECKED_BLOCKS = 10_000
"""Number of newest blocks that are compared with their bloom filters.

Each of these blocks is requested once for the comparison. This takes half a minute for this many
blocks, but would take days for the millions of blocks of a long history.
"""

CHECKED_AT_ONCE = 1_000
"""Maximum number of checked blocks in one range, so that a range is used soon after it is read."""

MAX_FILTERS = 2_000
"""Number of blocks whose bloom filter topics are cached. The newest are read repeatedly."""

PROOFS_AT_ONCE = 8
"""Maximum number of blocks per range that are proven from receipts at a time.

Blocks need proof if their logs lack a topic that their filters indicate. Blocks beyond the maximum
stay open until the next round.
"""

MAX_DISPUTED = 1_000
"""Maximum number of tracked blocks whose logs are disputed or were left out.

The oldest is evicted.
"""

LAGGING_BLOCKS = 16
"""Maximum number of blocks that another node may lag behind and still be compared."""

SHRUNK_GRACE = timedelta(seconds=15)
"""How long a node must report a lower head before blocks count as gone.

There may be several nodes behind one address, and one of them may lag.
"""


class History(Enum):
    """How a node's chain relates to the stored final block."""

    AGREES = auto()
    """The final block is on the chain, or none is stored yet."""

    BEHIND = auto()
    """The chain ends before the final block, and nothing indicates that it is a different chain."""

    REPLACED = auto()
    """Final blocks have been replaced by a deep reorg, or the chain was reset."""


@dataclass(frozen=True, slots=True)
class PlacedLog:
    """A log with its position in chain order."""

    place: int
    block: BlockRef
    log: Log


@dataclass(frozen=True, slots=True)
class LogRange:
    """The marketplace logs in consecutive blocks, in order.

    A single block is `refused` if the node responds but does not return its logs, and the logs were
    not read from receipts. `unreadable` are the transactions whose receipts cannot be read. From
    the block `open_from` on, logs may be missing, so no block from there on is final yet.
    """

    first: int
    last: BlockRef
    logs: Sequence[PlacedLog] = ()
    unreadable: Sequence[str] = ()
    refused: bool = False
    open_from: int | None = None

    def with_logs_of(self, block: BlockRef, logs: Sequence[PlacedLog]) -> "LogRange":
        """Return a copy of this range with the logs of one block replaced."""
        others = [each for each in self.logs if each.block.number != block.number]
        return replace(self, logs=sorted([*others, *logs], key=lambda each: each.place))

    def opened_from(self, block: BlockRef) -> "LogRange":
        """Return a copy of this range in which no block from this one on counts as final."""
        number = block.number if self.open_from is None else min(self.open_from, block.number)
        return replace(self, open_from=number)


@dataclass(slots=True, eq=False)
class _Request:
    """A running or finished request for logs, kept for readers that have not read its response."""

    first: int
    last: int
    head: BlockRef
    had_by: "set[LogReader]"
    done: asyncio.Event = field(default_factory=asyncio.Event)
    blocks: LogRange | None = None

    def serves(self, reader: "LogReader", head: BlockRef) -> bool:
        """Whether a reader may use the response. If the request was made for another head, both
        heads must be above the requested blocks.

        No reader gets the same response twice, because a reader requests the newest blocks again to
        find out whether the node left out a log.
        """
        if reader in self.had_by or self.last > head.number:
            return False
        if self.done.is_set() and self.blocks is None:
            return False
        return self.head == head or self.last < self.head.number


def _weigh_logs(logs: Sequence[PlacedLog]) -> int:
    """Return the weight of a block's logs in a cache, which is at most the capacity of the
    cache."""
    return min(max(1, len(logs)), MAX_RECEIPT_LOGS)


class LogStream:
    """The marketplace logs on the chain that this process's nodes report."""

    def __init__(self, chain: ChainReader, monotonic: Monotonic = monotonic) -> None:
        self.chain = chain
        self.monotonic = monotonic
        self.followed_elsewhere = False
        """Whether another process follows the chain.

        The other process then also fills the index, so that both tasks share the logs that they
        read.
        """
        self.requests: deque[_Request] = deque(maxlen=MAX_REQUESTS)
        self.oversized = BoundedCache[int, None](MAX_OVERSIZED)
        self.rounds = 0
        """How many times `run` has fetched the newest block."""
        self.round_began = asyncio.Condition()
        self._head: asyncio.Task[BlockRef] | None = None
        self._blocks = BoundedCache[tuple[int, BlockRef], BlockRef](MAX_BLOCKS)
        self._receipts = BoundedCache[BlockRef, Sequence[PlacedLog]](MAX_RECEIPT_LOGS, _weigh_logs)
        self._receipts_flight = SingleFlight[BlockRef, LogRange]()
        self.disputed = BoundedCache[BlockRef, None](MAX_DISPUTED)
        """Blocks whose logs nodes omit, or about whose logs nodes disagree."""
        self._suspected = BoundedCache[BlockRef, bool](MAX_DISPUTED)
        """Blocks for which a node may have left out logs, and whether receipts have proven it."""
        self._compared: BlockRef | None = None
        self._compared_history = BoundedCache[tuple[int, BlockRef], None](MAX_BLOCKS)
        """Ranges of old blocks whose logs were compared with the logs of another node."""
        self._topics = BoundedCache[str, BlockTopics](MAX_FILTERS)
        self._filters = SingleFlight[str, None]()
        self._proofs = SingleFlight[BlockRef, Sequence[PlacedLog] | None]()
        self._seen_heads = BoundedCache[int, str](MAX_BLOCKS)
        self._shrunk_since: float | None = None
        self._shrunk_to: BlockRef | None = None

    async def run(self, interval: float) -> None:
        """Fetch the newest block every `interval` seconds, which starts a round of every reader.

        Runs until cancelled.
        """
        try:
            while True:
                self._head = asyncio.create_task(self.chain.head())
                self.rounds += 1
                async with self.round_began:
                    self.round_began.notify_all()
                await asyncio.wait([self._head])
                # Retrieve the error, so that asyncio does not warn when every reader is busy.
                self._head.exception()
                await asyncio.sleep(interval)
        finally:
            if self._head is not None:
                self._head.cancel()
            self._head = None

    async def head(self) -> BlockRef:
        """Return the newest block, or this round's block while `run` is running.

        Raises `Unavailable`.
        """
        return await (self.chain.head() if self._head is None else asyncio.shield(self._head))

    async def block_at(self, number: int, head: BlockRef) -> BlockRef:
        """Return the block at this height, fetched once per head. Raises `Unavailable`."""
        block = self._blocks.get((number, head)) or await self.chain.block_at(number, head)
        if block is None:
            raise Unavailable.chain()
        self._blocks.put((number, head), block)
        return block

    async def is_canonical(self, block: BlockRef, head: BlockRef) -> bool:
        """Whether a block is on the chain that ends in `head`, and was not replaced by a reorg."""
        return block.number <= head.number and await self.block_at(block.number, head) == block

    async def compare_history(
        self, events: EventStore, chain_id: int, final: BlockRef | None, head: BlockRef
    ) -> History:
        """Compare the chain that ends in `head` with the stored final block and events."""
        if final is None:
            return History.AGREES
        if head.number >= final.number:
            found = await self.is_canonical(final, head)
            return History.AGREES if found else History.REPLACED
        if self.chain.highest_shown() >= final.number:
            # This node has shown the final block, or another one at its height, so it does not lag.
            return History.REPLACED
        known = await events.newest_event_block(chain_id, head.number)
        if known is not None and not await self.is_canonical(known, head):
            return History.REPLACED
        return History.BEHIND

    async def has_shrunk(self, head: BlockRef) -> bool:
        """Whether blocks above the head are gone, although nothing has replaced them yet.

        A node that merely lags has not reported higher blocks, or reports them again a
        moment later.
        """
        if self.chain.highest_shown() <= head.number:
            self._shrunk_since = self._shrunk_to = None
            return False
        if head == self._shrunk_to:
            return True
        below = [number for number in self._seen_heads if number <= head.number]
        if below:
            block = await self.block_at(max(below), head)
            if block.block_hash != self._seen_heads.get(block.number):
                self._shrunk_to = head
                return True
        now = self.monotonic()
        if self._shrunk_since is None:
            self._shrunk_since = now
        return now - self._shrunk_since >= SHRUNK_GRACE.total_seconds()

    def remember(self, head: BlockRef) -> None:
        """Record a head up to which all blocks were read, and drop higher recorded heads."""
        for number in [number for number in self._seen_heads if number > head.number]:
            self._seen_heads.pop(number)
        self._seen_heads.put(head.number, head.block_hash)
        for block in [block for block in self.disputed if block.number > head.number]:
            self.settle(block)

    async def read_receipts(self, block: BlockRef, head: BlockRef) -> LogRange:
        """Return the logs of one block from its transaction receipts. Raises `Unavailable`."""
        known = self._receipts.get(block)
        if known is not None:
            return LogRange(block.number, block, known)
        return await self._receipts_flight.run(block, partial(self._ask_receipts, block, head))

    async def _ask_receipts(self, block: BlockRef, head: BlockRef) -> LogRange:
        logs, unreadable = list[Log](), list[str]()
        async for some in self.chain.logs_by_receipts(block.number, MARKET_TOPICS, head):
            logs += some.logs
            if some.unreadable is not None:
                unreadable.append(some.unreadable)
        placed = await decode_many(logs, partial(_arrange, head))
        if any(each.block != block for each in placed):
            raise Unavailable.chain()
        if not unreadable:
            self._receipts.put(block, placed)
        return LogRange(block.number, block, placed, unreadable)

    async def complete(self, blocks: LogRange, head: BlockRef) -> LogRange:
        """Return the same blocks, adding any logs that the node is found to have left out.

        If a block's bloom filter indicates a topic that none of its logs has, the block is read
        from receipts. Raises `Unavailable`.
        """
        for block in [block for block in self.disputed if block.number in _numbers(blocks)]:
            if not await self.is_canonical(block, head):
                self.settle(block)
        shown = dict[int, set[bytes]]()
        for each in blocks.logs:
            shown.setdefault(each.block.number, set()).add(each.log.topics[0])
        first = max(blocks.first, head.number - CHECKED_BLOCKS + 1)
        found = await self._find_topics(first, blocks.last, head)
        refs = [each.ref for each in found]
        await self._compare_nodes(blocks, refs)
        if blocks.first < first:
            await self._compare_history(blocks, min(first - 1, blocks.last.number), head)
        suspects = {block for block in self.disputed if block.number in _numbers(blocks)}
        suspects.update(
            block
            for block in self._suspected
            if block in refs or blocks.first <= block.number < first
        )
        for named in found:
            if not named.topics <= shown.get(named.ref.number, set()):
                suspects.add(named.ref)
        left = PROOFS_AT_ONCE
        for block in sorted(suspects, key=lambda each: each.number):
            if block not in self._receipts:
                if not left:
                    return blocks.opened_from(block)
                left -= 1
            proved = await self.prove(block, head)
            if proved is None:
                blocks = blocks.opened_from(block)
            else:
                blocks = self.restore(blocks, block, proved)
        return blocks

    async def _compare_nodes(self, blocks: LogRange, refs: Sequence[BlockRef]) -> None:
        """Mark blocks for which another node returns different logs.

        `refs` has the newest block first. Each block is compared once. A node that is slightly
        behind is queried only for the blocks that it has.
        """
        if self._compared in refs:
            refs = refs[: refs.index(self._compared)]
        for newest in refs[::LAGGING_BLOCKS][:2]:
            first, last = refs[-1].number, newest.number
            try:
                logs = await self.chain.other_logs(first, last, MARKET_TOPICS, newest)
                other = await decode_many(logs, partial(_arrange, newest))
            except Unavailable:
                # Another node that fails or contradicts itself must not stop this node.
                continue
            mine = [each for each in blocks.logs if first <= each.block.number <= last]
            for block in _differing(mine, other).intersection(refs):
                self._suspect(block)
            self._compared = newest
            return

    async def _compare_history(self, blocks: LogRange, last: int, head: BlockRef) -> None:
        """Mark blocks up to `last` as suspect if another node returns different logs for them.

        There are too many of these blocks to request their filters. Each range is compared once,
        unless the other node fails.
        """
        key = blocks.first, blocks.last
        if key in self._compared_history:
            return
        for start in range(blocks.first, last + 1, FIRST_SIZE):
            end = min(start + FIRST_SIZE - 1, last)
            try:
                logs = await self.chain.other_logs(start, end, MARKET_TOPICS, head)
                other = await decode_many(logs, partial(_arrange, head))
            except Unavailable:
                return
            mine = [each for each in blocks.logs if start <= each.block.number <= end]
            for block in _differing(mine, other):
                if await self.is_canonical(block, head):
                    self._suspect(block)
        self._compared_history.put(key, None)

    def _suspect(self, block: BlockRef) -> None:
        if block not in self._suspected:
            self._suspected.put(block, False)

    def restore(self, blocks: LogRange, block: BlockRef, proved: Sequence[PlacedLog]) -> LogRange:
        """Return a copy of the range with the proven logs of one block."""
        restored = blocks.with_logs_of(block, proved)
        if len(restored.logs) > len(blocks.logs) and not self._suspected.get(block):
            self._suspected.put(block, True)
            NODE_CONTRADICTIONS.inc()
            log.error("a node leaves out logs that receipts have", extra={"block": block.number})
        return restored

    async def prove(self, block: BlockRef, head: BlockRef) -> Sequence[PlacedLog] | None:
        """Return the logs of one block, proven by receipts, or None while they are disputed.

        Raises `Unavailable`.
        """
        known = self._receipts.get(block)
        if known is None:
            known = await self._proofs.run(block, partial(self._prove, block, head))
        return known

    async def _prove(self, block: BlockRef, head: BlockRef) -> Sequence[PlacedLog] | None:
        try:
            logs = await self.chain.prove_logs(block, MARKET_TOPICS, head)
        except Unproved:
            if block not in self.disputed:
                log.error("the logs of a block are disputed", extra={"block": block.number})
            self.dispute([block])
            return None
        placed = await decode_many(logs, partial(_arrange, head))
        if any(each.block != block for each in placed):
            raise Unavailable.chain()
        self._receipts.put(block, placed)
        self.settle(block)
        return placed

    def dispute(self, blocks: Sequence[BlockRef]) -> None:
        """Mark these blocks as disputed, so that their logs are rechecked until they are proven."""
        for block in blocks:
            self.disputed.put(block, None)
        DISPUTED_BLOCKS.set(len(self.disputed))

    def forget_disputes(self) -> None:
        """Drop all disputed blocks, because another process now follows the chain."""
        self.disputed.clear()
        DISPUTED_BLOCKS.set(0)

    def settle(self, block: BlockRef) -> None:
        """Stop tracking a block as disputed."""
        if block in self.disputed:
            log.warning("the logs of a block are no longer disputed", extra={"block": block.number})
        self.disputed.pop(block)
        DISPUTED_BLOCKS.set(len(self.disputed))

    async def _find_topics(self, first: int, last: BlockRef, head: BlockRef) -> list[BlockTopics]:
        """Return the blocks up to `last` with the topics of their filters, cached if possible.

        Each block contains its parent's hash, so cached blocks belong to the same chain.
        """
        found = list[BlockTopics]()
        number, block_hash, size = last.number, last.block_hash, 1
        while number >= first:
            known = self._topics.get(block_hash)
            if known is None:
                ask = partial(self._ask_topics, max(first, number - size + 1), number, head)
                await self._filters.run(block_hash, ask)
                known, size = self._topics.get(block_hash), min(2 * size, CHECKED_AT_ONCE)
            if known is None or known.ref.number != number:
                raise Unavailable.chain()
            found.append(known)
            number, block_hash = number - 1, known.parent_hash
        return found

    async def _ask_topics(self, first: int, last: int, head: BlockRef) -> None:
        for each in await self.chain.block_topics(first, last, MARKET_TOPICS, head):
            self._topics.put(each.ref.block_hash, each)


async def examine_history(chain: ChainReader, events: EventStore, chain_id: int) -> History:
    """Return how the chain relates to the stored final block. Raises `Unavailable`."""
    final = await events.final_block(chain_id)
    if final is None:
        return History.AGREES
    return await LogStream(chain).compare_history(events, chain_id, final, await chain.head())


@dataclass(slots=True, eq=False)
class LogReader:
    """Reads logs by first topic for a projection, in the largest ranges that nodes allow."""

    stream: LogStream
    topics: Collection[bytes] = MARKET_TOPICS
    size: int = FIRST_SIZE
    ceiling: int = LARGEST_SIZE
    _successes: int = field(default=0, init=False)
    _rounds: int = field(default=0, init=False)
    _receipts: BoundedCache[BlockRef, Sequence[PlacedLog]] = field(
        default_factory=lambda: BoundedCache(MAX_RECEIPT_LOGS, _weigh_logs), init=False
    )

    async def run(
        self, name: str, run_round: Callable[[], Awaitable[object]], *, optional: bool = False
    ) -> NoReturn:
        """Run a round whenever the stream fetches the newest block, until cancelled."""

        async def run_next() -> None:
            async with self.stream.round_began:
                await self.stream.round_began.wait_for(lambda: self.stream.rounds > self._rounds)
            self._rounds = self.stream.rounds
            await run_round()

        await run_periodically(name, run_next, 0, optional=optional)

    async def read(
        self, first: int, head: BlockRef, *, receipts: bool = True
    ) -> AsyncIterator[LogRange]:
        """Yield all logs from block `first` to the head, in order.

        With `receipts`, logs that the node refuses or leaves out are read from receipts. Raises
        `Unavailable`, including for logs that contradict each other.
        """
        while first <= head.number:
            blocks = await self._take(first, head) or await self._ask(first, head)
            if blocks.refused and receipts:
                yield await self._read_receipts(blocks.last, head)
            elif receipts:
                yield self._select(await self.stream.complete(blocks, head))
            else:
                yield self._select(blocks)
            first = blocks.last.number + 1

    async def _read_receipts(self, block: BlockRef, head: BlockRef) -> LogRange:
        """Read a refused block from its receipts, and cache its logs with the reader's topics."""
        known = self._receipts.get(block)
        if known is not None:
            return LogRange(block.number, block, known)
        found = self._select(await self.stream.read_receipts(block, head))
        if not found.unreadable:
            self._receipts.put(block, found.logs)
        return found

    def _select(self, blocks: LogRange) -> LogRange:
        logs = [each for each in blocks.logs if each.log.topics[0] in self.topics]
        return replace(blocks, logs=logs)

    async def _take(self, first: int, head: BlockRef) -> LogRange | None:
        """Return the blocks starting at `first` that another reader has requested, if any."""
        found = [
            each
            for each in self._usable(head)
            if each.first <= first <= each.last
            and (each.done.is_set() or each.first == first or each.last - each.first < FEW_BLOCKS)
        ]
        if not found:
            return None
        request = max(found, key=lambda each: each.last)
        request.had_by.add(self)
        await request.done.wait()
        blocks = request.blocks
        if blocks is None:
            return None
        if request.head != head and not await self.stream.is_canonical(blocks.last, head):
            return None
        logs = [each for each in blocks.logs if each.block.number >= first]
        return LogRange(first, blocks.last, logs)

    async def _ask(self, first: int, head: BlockRef) -> LogRange:
        stream, before = self.stream, (self.size, self.ceiling)
        while first not in stream.oversized:
            last = self._end_of_range(first, head)
            request = _Request(first, last, head, {self})
            stream.requests.append(request)
            try:
                request.blocks = await self._ask_once(first, last, head)
            finally:
                request.done.set()
            if request.blocks is not None:
                self._grow()
                return request.blocks
            if last > first:
                self._shrink(last - first + 1)
                continue
            if first - 1 not in stream.oversized:
                # This block is to blame, not the size of the range. If the previous block was
                # refused too, the node may refuse every range.
                self.size, self.ceiling = before
            stream.oversized.put(first, None)
        return LogRange(first, await stream.block_at(first, head), refused=True)

    async def _ask_once(self, first: int, last: int, head: BlockRef) -> LogRange | None:
        """Return the logs of these blocks, or None if the node refuses the range.

        Raises `Unavailable`.
        """
        try:
            logs = await self.stream.chain.logs(first, last, MARKET_TOPICS, head)
        except Unavailable:
            # If the node knows the head, a smaller range may succeed; if not, this raises too.
            await self.stream.chain.block_at(last, head)
            return None
        placed = await decode_many(logs, partial(_arrange, head))
        return LogRange(first, await self._block_of(last, placed, head), placed)

    async def _block_of(self, number: int, logs: Sequence[PlacedLog], head: BlockRef) -> BlockRef:
        if number == head.number:
            return head
        if logs and logs[-1].block.number == number:
            return logs[-1].block
        return await self.stream.block_at(number, head)

    def _end_of_range(self, first: int, head: BlockRef) -> int:
        unchecked = head.number - CHECKED_BLOCKS
        size = self.size if first <= unchecked else min(self.size, CHECKED_AT_ONCE)
        last = min(first + size - 1, unchecked if first <= unchecked else head.number)
        ends = [each.first for each in self._usable(head)] + list(self.stream.oversized)
        return min([last, *(number - 1 for number in ends if first < number <= last)])

    def _usable(self, head: BlockRef) -> list[_Request]:
        return [each for each in self.stream.requests if each.serves(self, head)]

    def _shrink(self, refused: int) -> None:
        self.ceiling = refused - 1
        self.size = max(1, refused // SHRINK_DIVISOR)
        self._successes = 0

    def _grow(self) -> None:
        self._successes += 1
        if self._successes >= SUCCESSES_UNTIL_RETRY:
            self.ceiling, self._successes = LARGEST_SIZE, 0
        self.size = min(self.ceiling, self.size + max(1, self.size // SHRINK_DIVISOR))


def _content(each: PlacedLog) -> tuple[BlockRef, int, tuple[bytes, ...], bytes]:
    """Return the values of a log that nodes must agree on. Not all nodes send block times."""
    return each.block, each.place, each.log.topics, each.log.data


def _differing(one: Sequence[PlacedLog], other: Sequence[PlacedLog]) -> set[BlockRef]:
    """Return the blocks for which two nodes return different logs."""
    contents = set(map(_content, one)).symmetric_difference(map(_content, other))
    return {block for block, *_ in contents}


def _numbers(blocks: LogRange) -> range:
    return range(blocks.first, blocks.last.number + 1)


async def decode_many(logs: Sequence[Each], decode: Callable[[Sequence[Each]], Decoded]) -> Decoded:
    """Decode logs, in a thread if there are many."""
    return await asyncio.to_thread(decode, logs) if len(logs) > FEW_LOGS else decode(logs)


def _arrange(head: BlockRef, logs: Sequence[Log]) -> list[PlacedLog]:
    """Return the logs in chain order.

    Raises `Unavailable` if a node sent a log twice, or logs of two blocks at one height.
    """
    placed = list[PlacedLog]()
    blocks = {head.number: head}
    try:
        for each in logs:
            number = -1 if each.place.block_number is None else each.place.block_number
            place = position_of(number, each.place.log_index)
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
