"""The stream of the marketplace's logs, which all projections of a process share.

Only this module requests logs from a node. Responses are checked here, once: which chain the node
has, how much of it, the order of the logs, and one hash per block. A block whose logs the node
refuses is read from the receipts of its transactions. A range that one projection has requested is
not requested by the others; each has its own cursor, so one that is far behind delays nobody.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import Enum, auto
from functools import partial
from typing import NoReturn, TypeVar

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.errors import Unavailable
from imprint.domain.posts.market_events import place_of
from imprint.domain.posts.marketplace import MARKET_TOPICS, Log
from imprint.domain.posts.posts import BlockRef
from imprint.ports import ChainReader, Monotonic, monotonic
from imprint.ports.publication import EventStore
from imprint.services.tasks.periodic_task import run_periodically
from imprint.services.tasks.single_flight import SingleFlight

Each = TypeVar("Each")
Decoded = TypeVar("Decoded")

FIRST_SIZE = 2_000
"""Blocks in the first request: most nodes allow it."""

LARGEST_SIZE = 10_000
"""Blocks in the largest request: no node allows more by default."""

SHRINK_DIVISOR = 2
"""The range is divided by this after a refusal, and grows by half of it after each success."""

SUCCESSES_UNTIL_RETRY = 100
"""Successes after which a refused size is tried again: the cause may be gone."""

FEW_LOGS = 500
"""The number of logs above which a thread decodes them, so that the event loop keeps serving."""

FEW_BLOCKS = 500
"""The size of a running request up to which another reader waits for it: more may take a while."""

MAX_OVERSIZED = 1_024
"""How many blocks with refused logs are remembered; the oldest is forgotten."""

MAX_REQUESTS = 16
"""How many requests for logs are kept for projections that have not read their responses."""

MAX_RECEIPT_LOGS = 20_000
"""Cached logs from receipts: the newest blocks are read again."""

MAX_BLOCKS = 128
"""How many heads and other blocks are remembered; the oldest is forgotten."""

SHRUNK_GRACE = timedelta(seconds=15)
"""How long a node must show a lower head before blocks count as gone: behind one address there may
be several nodes, and one of them may lag."""


class History(Enum):
    """How the chain of a node relates to the stored final block."""

    AGREES = auto()
    """The final block is on it, or none is stored yet."""

    BEHIND = auto()
    """It ends before the final block, and nothing shows that it is another chain."""

    REPLACED = auto()
    """It has other blocks than the final ones: a deep reorg, or a chain that was reset."""


@dataclass(frozen=True, slots=True)
class PlacedLog:
    """A log with its position in chain order."""

    place: int
    block: BlockRef
    log: Log


@dataclass(frozen=True, slots=True)
class LogRange:
    """The logs of the marketplace in consecutive blocks, in order.

    A single block is `refused` if the node responds but does not return its logs, and they were not
    read from receipts. `unreadable` are the transactions whose receipts cannot be read.
    """

    first: int
    last: BlockRef
    logs: Sequence[PlacedLog] = ()
    unreadable: Sequence[str] = ()
    refused: bool = False


@dataclass(slots=True, eq=False)
class _Request:
    """A request for logs, running or done, for the readers that have not read its response."""

    first: int
    last: int
    head: BlockRef
    had_by: "set[LogReader]"
    done: asyncio.Event = field(default_factory=asyncio.Event)
    blocks: LogRange | None = None

    def serves(self, reader: "LogReader", head: BlockRef) -> bool:
        """Whether a reader may use the response: for another head, only blocks older than both.

        No reader gets a response twice: it requests the newest blocks again to find out whether the
        node has left out a log.
        """
        if reader in self.had_by or self.last > head.number:
            return False
        if self.done.is_set() and self.blocks is None:
            return False
        return self.head == head or self.last < self.head.number


def _weigh_logs(logs: Sequence[PlacedLog]) -> int:
    """Logs of a block; a block with more logs than the cache holds is kept alone."""
    return min(max(1, len(logs)), MAX_RECEIPT_LOGS)


class LogStream:
    """The marketplace's logs, on the chain that the nodes of this process show."""

    def __init__(self, chain: ChainReader, monotonic: Monotonic = monotonic) -> None:
        self.chain = chain
        self.monotonic = monotonic
        self.followed_elsewhere = False
        """Whether another process follows the chain: then that one also fills the index, so that
        both share what they read."""
        self.requests: deque[_Request] = deque(maxlen=MAX_REQUESTS)
        self.oversized = BoundedCache[int, None](MAX_OVERSIZED)
        self.rounds = 0
        """How often `run` has fetched the newest block."""
        self.round_began = asyncio.Condition()
        self._head: asyncio.Task[BlockRef] | None = None
        self._blocks = BoundedCache[tuple[int, BlockRef], BlockRef](MAX_BLOCKS)
        self._receipts = BoundedCache[BlockRef, Sequence[PlacedLog]](MAX_RECEIPT_LOGS, _weigh_logs)
        self._receipts_flight = SingleFlight[BlockRef, LogRange]()
        self._seen_heads = BoundedCache[int, str](MAX_BLOCKS)
        self._shrunk_since: float | None = None
        self._shrunk_to: BlockRef | None = None

    async def run(self, interval: float) -> None:
        """Fetch the newest block every `interval` seconds; the rounds of all readers begin then.

        Runs until cancelled.
        """
        try:
            while True:
                self._head = asyncio.create_task(self.chain.head())
                self.rounds += 1
                async with self.round_began:
                    self.round_began.notify_all()
                await asyncio.wait([self._head])
                # Retrieved here, so that asyncio does not warn when every reader is busy.
                self._head.exception()
                await asyncio.sleep(interval)
        finally:
            if self._head is not None:
                self._head.cancel()
            self._head = None

    async def head(self) -> BlockRef:
        """The newest block: the one of this round, if `run` is running. Raises `Unavailable`."""
        return await (self.chain.head() if self._head is None else asyncio.shield(self._head))

    async def block_at(self, number: int, head: BlockRef) -> BlockRef:
        """The block at this height, fetched once per head. Raises `Unavailable`."""
        block = self._blocks.get((number, head)) or await self.chain.block_at(number, head)
        if block is None:
            raise Unavailable.chain()
        self._blocks.put((number, head), block)
        return block

    async def is_canonical(self, block: BlockRef, head: BlockRef) -> bool:
        """Whether a block is on the chain that ends in `head`, that is, no reorg has replaced
        it."""
        return block.number <= head.number and await self.block_at(block.number, head) == block

    async def compare_history(
        self, events: EventStore, chain_id: int, final: BlockRef | None, head: BlockRef
    ) -> History:
        """Compare the chain that ends in `head` with the final block and with blocks of events."""
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

        A lagging node has not shown higher blocks, or shows them again a moment later.
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
        """Remember a head up to which everything was read, and forget higher ones."""
        for number in [number for number in self._seen_heads if number > head.number]:
            self._seen_heads.pop(number)
        self._seen_heads.put(head.number, head.block_hash)

    async def read_receipts(self, block: BlockRef, head: BlockRef) -> LogRange:
        """The logs of one block from the receipts of its transactions. Raises `Unavailable`."""
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


async def examine_history(chain: ChainReader, events: EventStore, chain_id: int) -> History:
    """How the chain currently relates to the stored final block. Raises `Unavailable`."""
    final = await events.final_block(chain_id)
    if final is None:
        return History.AGREES
    return await LogStream(chain).compare_history(events, chain_id, final, await chain.head())


@dataclass(slots=True, eq=False)
class LogReader:
    """Reads logs with these first topics for one projection, in the largest ranges that nodes
    allow."""

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
        """All logs from block `first` to the head, in order; `receipts` are read if necessary.

        Raises `Unavailable`, also for contradictory logs.
        """
        while first <= head.number:
            blocks = await self._take(first, head) or await self._ask(first, head)
            if blocks.refused and receipts:
                yield await self._read_receipts(blocks.last, head)
            else:
                yield self._select(blocks)
            first = blocks.last.number + 1

    async def _read_receipts(self, block: BlockRef, head: BlockRef) -> LogRange:
        """A refused block. Its logs of these topics are kept, however many others it has."""
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
        """The blocks from `first` on of another reader's request, if there is one."""
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
                # This block is to blame, not the size of the range. If the previous one is too, the
                # node may refuse every range.
                self.size, self.ceiling = before
            stream.oversized.put(first, None)
        return LogRange(first, await stream.block_at(first, head), refused=True)

    async def _ask_once(self, first: int, last: int, head: BlockRef) -> LogRange | None:
        """The logs of these blocks; None if the node refuses the range. Raises `Unavailable`."""
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
        last = min(first + self.size - 1, head.number)
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


async def decode_many(logs: Sequence[Each], decode: Callable[[Sequence[Each]], Decoded]) -> Decoded:
    """Decode logs, in a thread if there are many."""
    return await asyncio.to_thread(decode, logs) if len(logs) > FEW_LOGS else decode(logs)


def _arrange(head: BlockRef, logs: Sequence[Log]) -> list[PlacedLog]:
    """The logs in chain order.

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
