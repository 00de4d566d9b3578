"""The indexer: maintains the post index, a projection of the marketplace logs.

The indexer continues from the last final block, so the newest blocks are read again whenever a new
block arrives. If the logs of a block differ from the logs in the index, the index is undone from
that block on. The index is derived data: if a final block is no longer on the chain, the index is
emptied and filled again.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Collection, Hashable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import groupby

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import ZERO_ADDRESS
from imprint.domain.posts.market_events import (
    EventDetail,
    MarketEvent,
    PostPublished,
    attach_details,
    block_of,
)
from imprint.domain.posts.marketplace import Undecodable, decode_market_event
from imprint.domain.posts.posts import BlockRef, PostDetails
from imprint.metrics import (
    INDEX_EVENTS,
    INDEX_LAG,
    INDEX_RESTARTS,
    INDEX_UNDECODABLE,
    INDEX_UNDESCRIBED,
    INDEX_UNDONE,
    INDEXED_BLOCK,
    UNREADABLE_RECEIPTS,
)
from imprint.ports import Monotonic, Progress, monotonic
from imprint.ports.installation import LeaseStore
from imprint.ports.post_index import (
    AppliedLog,
    IndexMoved,
    IndexSource,
    IndexState,
    IndexStep,
    PostIndexWriter,
)
from imprint.ports.publication import EventStore
from imprint.services.chain.log_stream import (
    History,
    LogRange,
    LogReader,
    LogStream,
    PlacedLog,
    decode_many,
)
from imprint.services.tasks.leases import (
    SHORT_LEASE_TIME,
    HeldLease,
    describe_holder,
    hold_lease,
    kept,
    name_holder,
    prolonged,
)

log = logging.getLogger(__name__)

INDEXER_LEASE = "indexer"
"""The lease of the process that fills the index."""

REBUILD_LEASE = "indexer rebuild"
"""The lease with which a command that rebuilds the index makes the indexing process stop."""

PATIENCE = timedelta(minutes=2)
"""How long a command waits for the indexing process to stop."""

LOGS_AT_ONCE = 800
"""Maximum number of logs per transaction, unless one block has more.

The limit keeps signed writes from waiting long. A block is never split, because the index
tracks whole blocks.
"""

SECONDS_PER_HEAD = 10.0
"""Seconds for which the indexer reads up to one head. Afterwards, nodes may no longer have the
head's state."""

RESTART_GRACE = timedelta(seconds=15)
"""How long the final block must be missing before the index is emptied, because a node may be
wrong."""

READ_TWICE = 1_000
"""Maximum number of blocks that the index may lag behind while it reads each block twice.

Each block is then read twice before it is final, even if no reorg can reach it anymore. This
detects a node that leaves out logs for a moment. A longer catch-up reads blocks only once.
"""

COMPARE_SECONDS = 3_600.0
"""Seconds between two comparisons of the post IDs in the index with the IDs on the chain."""

DETAILS_AT_ONCE = 50
"""Number of posts whose descriptions are requested together."""

ROUNDS_UNTIL_SKIPPED = 5
"""Number of rounds in which a receipt or description must fail before the index skips it."""

MAX_FAILURES = 10_000
"""Maximum number of tracked failures. The oldest is evicted."""

MAX_CACHED_TIMES = 4_096
"""Number of cached block times, since the newest blocks are read repeatedly."""

_REBUILD_PAUSE = 1.0
"""Seconds before a rebuild retries a request that a node refused."""


_RETRY_SECONDS = 0.2
"""Seconds between two attempts to take the lease."""


class IndexBusy(Exception):
    """The indexing process did not stop. The text is for the operator."""


Failures = BoundedCache[Hashable, int]
"""Number of failures per receipt, description or log."""


@dataclass(slots=True)
class _Decoder:
    """Decodes logs and adds the data they lack: block times and post entries."""

    stream: LogStream
    failures: Failures
    _times: BoundedCache[BlockRef, datetime] = field(
        default_factory=lambda: BoundedCache(MAX_CACHED_TIMES), init=False
    )

    async def decode(self, logs: Sequence[PlacedLog], head: BlockRef) -> list[MarketEvent]:
        """Return the events in these logs, with their details and descriptions.

        Undecodable logs are counted and logged. `logs` must cover whole blocks. Raises
        `Unavailable`.
        """
        times = await self._find_times(logs, head)
        decoded, undecodable = await decode_many(logs, partial(_decode, times))
        described = await self._describe(attach_details(decoded), head)
        for each, reason in undecodable:
            INDEX_UNDECODABLE.inc()
            log.warning(
                "a log of the marketplace cannot be decoded; the index continues without it",
                extra={"block": each.block.number, "place": each.place, "reason": reason},
            )
        return described

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
        found = await self.stream.chain.block_times([*missing], head) if missing else {}
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
                    self.failures.pop(post.origin)
        counts = [_count_failure(self.failures, post.origin) for post in failed]
        if any(count < ROUNDS_UNTIL_SKIPPED for count in counts):
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
        """Return the details of each post, or None for a post that a responding node refuses."""
        try:
            ids = [post.post_id for post in posts]
            return [*await self.stream.chain.post_details(ids, head)]
        except Unavailable:
            # One post may be to blame; if the node is unavailable, this raises too.
            await self.stream.chain.block_at(head.number, head)
        if len(posts) == 1:
            return [None]
        half = len(posts) // 2
        return [
            *await self._find_details(posts[:half], head),
            *await self._find_details(posts[half:], head),
        ]


@dataclass(slots=True)
class _Pass:
    """One pass over the blocks up to a head, with the applied logs and the index's progress."""

    state: IndexState
    head: BlockRef
    target: int
    """The newest block that is final, as seen from the head."""
    applied: Sequence[AppliedLog]
    indexed: int
    """The last block whose logs are in the index."""
    is_open: bool = False

    def hold(self, number: int) -> None:
        """Keep this block and all later blocks from becoming final, because logs may be missing."""
        self.is_open, self.target = True, min(self.target, number - 1)


@dataclass(slots=True)
class Indexer:
    """Fills the index in rounds, in one process at a time."""

    stream: LogStream
    events: EventStore
    leases: LeaseStore
    writer: PostIndexWriter
    source: IndexSource
    reorg_depth: int
    holder: str = field(default_factory=partial(name_holder, "indexer"))
    reader: LogReader = field(init=False)
    history: History = field(default=History.AGREES, init=False)
    _decoder: _Decoder = field(init=False)
    _failures: Failures = field(default_factory=lambda: BoundedCache(MAX_FAILURES), init=False)
    _replaced_since: float | None = field(default=None, init=False)
    _compare_at: float = field(default=-math.inf, init=False)
    _open: bool = field(default=True, init=False)
    """Whether logs may be missing up to the last head that was read."""
    _held: HeldLease | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.reader = LogReader(self.stream)
        self._decoder = _Decoder(self.stream, self._failures)

    async def run(self) -> None:
        """Fill the index until cancelled, then release the lease."""
        try:
            await self.reader.run("indexer", self.index_once)
        finally:
            await self._lease().release()

    async def index_once(self) -> bool:
        """Run one round up to the newest block. Returns False if another process fills the
        index."""
        lease = self._lease()
        if await self._is_due_elsewhere():
            await lease.release()
            return self._leave()
        if not await lease.hold():
            return self._leave()
        async with prolonged(lease):
            try:
                while not await self._read_to_head(lease):
                    if lease.lost or await self._is_due_elsewhere():
                        break
                else:
                    await self._compare_ids()
            except IndexMoved:
                log.warning("another process changed the index; reading it again")
        return True

    async def rebuild(self, lease: HeldLease, progress: Progress) -> BlockRef | None:
        """Empty the index and fill it up to the newest block, while holding the lease.

        Returns that block. Raises `IndexMoved` if the lease was lost, and `Unavailable`.
        """
        INDEX_RESTARTS.labels("rebuild").inc()
        await self.writer.restart_index(self.source)
        failures, done = 0, False
        while not done:
            if lease.lost:
                raise IndexMoved
            try:
                done, failures = await self._read_to_head(lease, progress), 0
            except Unavailable:
                # Single receipts or descriptions that keep failing are skipped eventually. More
                # failures mean that the node is down.
                failures += 1
                if failures > ROUNDS_UNTIL_SKIPPED:
                    raise
                await asyncio.sleep(_REBUILD_PAUSE)
        state = await self.writer.index_state()
        return None if state is None else state.block

    async def _read_to_head(self, lease: HeldLease, progress: Progress | None = None) -> bool:
        """Read for a limited time. Returns True once the newest block is reached or nothing can
        be read."""
        head = await self.stream.head()
        state = await self._open_state(head)
        if state is None:
            return True
        INDEXED_BLOCK.set(state.block.number if state.block else math.nan)
        reached = state.block.number if state.block else self.source.first_block - 1
        INDEX_LAG.set(max(head.number - reached, 0))
        if head.number < state.source.first_block:
            return True
        if state.block == head and not self._open:
            return True
        final = max(state.final, state.source.first_block - 1)
        target = head.number - self.reorg_depth
        if progress is None and head.number - reached <= READ_TWICE:
            # Only blocks that an earlier pass has read may become final, and none after a reorg.
            last = state.block
            agrees = last is not None and await self.stream.is_canonical(last, head)
            target = min(target, reached if agrees else -1)
        applied = await self.writer.applied_logs()
        one_pass = _Pass(state, head, max(final, target), applied, reached)
        shrunk = await self.stream.has_shrunk(head)
        until = self.stream.monotonic() + SECONDS_PER_HEAD
        self._open = True
        async for blocks in self.reader.read(final + 1, head):
            self._note_unreadable(blocks)
            if blocks.open_from is not None:
                one_pass.hold(blocks.open_from)
            for part in _divide(blocks):
                if lease.lost:
                    return False
                await self._compare(one_pass, part, shrunk=shrunk)
                if progress is not None:
                    first = state.source.first_block
                    progress(part.last.number - first + 1, head.number - first + 1)
                if part.last != head and self.stream.monotonic() >= until:
                    return False
        self.stream.remember(head)
        self._open = one_pass.is_open
        INDEX_LAG.set(0)
        return True

    async def _compare_ids(self) -> None:
        """Dispute a final block if the index lacks an earlier post that the chain has.

        Posts have consecutive IDs, so a gap shows that a node has left out logs, even long ago.
        Final blocks are not read again automatically: the operator has to rebuild the index.
        """
        now = self.stream.monotonic()
        if now < self._compare_at or self.history is not History.AGREES:
            return
        state = await self.writer.index_state()
        if state is None or not state.complete:
            return
        self._compare_at = now + COMPARE_SECONDS
        head, missing = await self.stream.head(), dict[BlockRef, int]()
        for gap in await self.writer.find_gaps():
            if gap.block.number <= state.final and await self._exists(gap.post_id, head):
                missing[gap.block] = gap.post_id
        for block in [each for each in self.stream.disputed if each.number <= state.final]:
            if block not in missing:
                self.stream.settle(block)
        for block, post_id in missing.items():
            if block not in self.stream.disputed:
                log.critical(
                    "the index lacks a post that the chain has; run 'imprint reconcile' with a "
                    "node that has its logs",
                    extra={"post_id": str(post_id), "block": block.number},
                )
        self.stream.dispute([*missing])

    async def _exists(self, post_id: int, head: BlockRef) -> bool:
        """Whether the chain has this post. False if the node or the contract does not respond."""
        try:
            (entry,) = await self.stream.chain.post_details([post_id], head)
        except Unavailable:
            return False
        return entry.author != ZERO_ADDRESS

    async def _open_state(self, head: BlockRef) -> IndexState | None:
        """Return the index state, or None to wait. An index of another chain is emptied first."""
        state = await self.writer.index_state()
        if state is None:
            return await self._restart("begun")
        source = state.source
        if (source.chain_id, source.contract) != (self.source.chain_id, self.source.contract):
            return await self._restart("other contract")
        if self.source.first_block < source.first_block:
            return await self._restart("earlier block")
        if source.adapter != self.source.adapter:
            if not await self.writer.adopt_adapter(state, self.source.adapter):
                return await self._restart("other adapter")
            state = replace(state, source=replace(source, adapter=self.source.adapter))
        final = None if state.final_hash is None else BlockRef(state.final, state.final_hash)
        history = await self.stream.compare_history(self.events, source.chain_id, final, head)
        self._note_history(history, state, head)
        if history is not History.REPLACED:
            self._replaced_since = None
            return state if history is History.AGREES else None
        now = self.stream.monotonic()
        if self._replaced_since is None:
            self._replaced_since = now
        if now - self._replaced_since < RESTART_GRACE.total_seconds():
            return None
        self._replaced_since = None
        return await self._restart("deep reorg")

    async def _restart(self, reason: str) -> IndexState:
        level = logging.INFO if reason == "begun" else logging.CRITICAL
        log.log(
            level,
            "the index of posts is being filled from its first block",
            extra={"reason": reason, "block": self.source.first_block},
        )
        INDEX_RESTARTS.labels(reason).inc()
        await self.writer.restart_index(self.source)
        return IndexState(self.source, None, complete=False)

    async def _compare(self, one_pass: _Pass, part: LogRange, *, shrunk: bool) -> None:
        """Compare some blocks with the index, and apply the blocks that differ or are new."""
        head, indexed = one_pass.head, one_pass.indexed
        part, disputed = await self._prove_omitted(one_pass, part)
        undo_from = _find_difference(one_pass, part, disputed)
        if undo_from is not None and any(number >= undo_from for number in disputed):
            # The logs of disputed blocks are unknown, so their events could not be applied again
            # after being undone.
            raise Unavailable.chain()
        last = part.last.number
        if undo_from is None and last <= indexed:
            if part.last != head or (last < indexed and not shrunk):
                # The logs are unchanged. A node that is behind the index does not prove that later
                # blocks are gone.
                return
            undo_from = head.number + 1 if last < indexed else None
        start = min(indexed + 1, last + 1 if undo_from is None else undo_from)
        new = [each for each in part.logs if each.block.number >= start]
        await self._apply(one_pass, new, part.last, undo_from)

    async def _prove_omitted(
        self, one_pass: _Pass, part: LogRange
    ) -> tuple[LogRange, Collection[int]]:
        """Return the range with the logs that the node left out, restored from the index.

        The hash of a block commits to its logs. Also returns the blocks whose logs are
        disputed. The index keeps their logs.
        """
        disputed = set[int]()
        shown = {_applied(each) for each in part.logs}
        omitted = {
            BlockRef(block_of(each.place), each.block_hash)
            for each in _known_in(one_pass, part)
            if each not in shown
        }
        for block in sorted(omitted, key=lambda each: each.number):
            if not await self.stream.is_canonical(block, one_pass.head):
                continue
            proved = await self.stream.prove(block, one_pass.head)
            if proved is not None:
                part = self.stream.restore(part, block, proved)
            else:
                disputed.add(block.number)
                one_pass.hold(block.number)
        return part, disputed

    async def _apply(
        self,
        one_pass: _Pass,
        logs: Sequence[PlacedLog],
        until: BlockRef,
        undo_from: int | None,
    ) -> None:
        state, head = one_pass.state, one_pass.head
        events = await self._decoder.decode(logs, head)
        final, final_hash = await self._final_of(one_pass, until)
        step = IndexStep(
            until,
            final,
            events,
            [_applied(each) for each in logs if each.block.number > final],
            undo_from,
            complete=until == head,
            final_hash=final_hash,
        )
        await self.writer.advance_index(state, step)
        INDEXED_BLOCK.set(until.number)
        INDEX_LAG.set(head.number - until.number)
        INDEX_EVENTS.inc(len(events))
        if undo_from is not None:
            undone = sum(block_of(each.place) >= undo_from for each in one_pass.applied)
            INDEX_UNDONE.inc(undone)
            log.warning("the index was undone", extra={"block": undo_from, "logs": undone})
            one_pass.applied = [
                each for each in one_pass.applied if block_of(each.place) < undo_from
            ]
        complete = state.complete or step.complete
        one_pass.state = IndexState(state.source, until, complete, final, final_hash)
        one_pass.indexed = until.number

    async def _final_of(self, one_pass: _Pass, until: BlockRef) -> tuple[int, str | None]:
        """Return the number and hash of the newest final block after a step up to `until`."""
        state, target = one_pass.state, one_pass.target
        if until.number <= target:
            return until.number, until.block_hash
        if target <= state.final:
            return state.final, state.final_hash
        if target < state.source.first_block:
            # No block in the index is final, and the block `state.final` precedes the index.
            return state.final, None
        return target, (await self.stream.block_at(target, one_pass.head)).block_hash

    def _note_unreadable(self, blocks: LogRange) -> None:
        """Count the unreadable receipts. Raises `Unavailable` to retry for a while."""
        # All receipts are counted in the same round, so that skipping many takes no more rounds
        # than skipping one.
        counts = {each: _count_failure(self._failures, each) for each in blocks.unreadable}
        if any(count < ROUNDS_UNTIL_SKIPPED for count in counts.values()):
            raise Unavailable.chain()
        for each, count in counts.items():
            if count == ROUNDS_UNTIL_SKIPPED:
                UNREADABLE_RECEIPTS.inc()
                log.critical(
                    "a receipt cannot be read; the index lacks its events until 'imprint "
                    "reconcile' is run with a node that returns it",
                    extra={"block": blocks.last.number, "transaction": each},
                )

    def _note_history(self, history: History, state: IndexState, head: BlockRef) -> None:
        if history is self.history:
            return
        self.history = history
        fields = {"block": state.final, "head": head.number}
        if history is History.REPLACED:
            log.critical("a final block of the index is no longer on the chain", extra=fields)
        elif history is History.BEHIND:
            log.error("the node is behind the index; nothing is read from it", extra=fields)
        else:
            log.warning("the node agrees with the index again", extra=fields)

    async def _is_due_elsewhere(self) -> bool:
        """Whether another process follows the chain, or a command is about to rebuild the index."""
        if self.stream.followed_elsewhere:
            return True
        found = await self.leases.find_lease(REBUILD_LEASE)
        return found is not None and found.left > timedelta(0)

    def _lease(self) -> HeldLease:
        if self._held is None:
            self._held = HeldLease(
                self.leases, INDEXER_LEASE, SHORT_LEASE_TIME, self.holder, self.stream.monotonic
            )
        return self._held

    def _leave(self) -> bool:
        """Record that another process fills the index, and its progress."""
        self.history, self._replaced_since = History.AGREES, None
        INDEXED_BLOCK.set(math.nan)
        INDEX_LAG.set(math.nan)
        return False


@asynccontextmanager
async def take_index(
    leases: LeaseStore,
    tell: Callable[[str], None],
    patience: timedelta = PATIENCE,
    elapsed: Monotonic = monotonic,
) -> AsyncIterator[HeldLease]:
    """Hold the indexer's lease for a command. A service that fills the index pauses meanwhile.

    `tell` is called with a message if the pause takes a while to begin. Raises `IndexBusy` after
    `patience`.
    """
    holder = name_holder("rebuild of the index")
    lease = HeldLease(leases, INDEXER_LEASE, SHORT_LEASE_TIME, holder, elapsed)
    deadline = elapsed() + patience.total_seconds()
    async with hold_lease(leases, REBUILD_LEASE, SHORT_LEASE_TIME, holder, elapsed) as wish:
        if wish is None:
            raise IndexBusy(
                "Another command is rebuilding the index of posts. Please try again later."
            )
        told = False
        while not await lease.take():
            found = await leases.find_lease(INDEXER_LEASE)
            who = "another process" if found is None else describe_holder(found.holder)
            if elapsed() >= deadline:
                raise IndexBusy(
                    f"The index of posts is in use: {who} has not stopped in "
                    f"{patience.total_seconds():.0f} seconds. Please try again later."
                )
            if not told:
                tell(f"Waiting for {who} to release the index of posts …")
                told = True
            await asyncio.sleep(_RETRY_SECONDS)
        async with kept(lease):
            yield lease


def _divide(blocks: LogRange) -> Iterator[LogRange]:
    """Split the blocks into chunks of up to `LOGS_AT_ONCE` logs, without splitting a block."""
    first, logs = blocks.first, list[PlacedLog]()
    for _, group in groupby(blocks.logs, key=lambda each: each.block):
        found = list(group)
        if logs and len(logs) + len(found) > LOGS_AT_ONCE:
            yield LogRange(first, logs[-1].block, logs)
            first, logs = logs[-1].block.number + 1, []
        logs += found
    yield LogRange(first, blocks.last, logs)


def _known_in(one_pass: _Pass, part: LogRange) -> list[AppliedLog]:
    """Return the logs in the index that belong to these blocks."""
    blocks = range(part.first, min(part.last.number, one_pass.indexed) + 1)
    return [each for each in one_pass.applied if block_of(each.place) in blocks]


def _find_difference(one_pass: _Pass, part: LogRange, disputed: Collection[int]) -> int | None:
    """Return the first block whose logs differ from the index. Disputed blocks are ignored."""
    last = min(part.last.number, one_pass.indexed)
    shown = {_applied(each) for each in part.logs if each.block.number <= last}
    differing = {
        block_of(each.place) for each in shown.symmetric_difference(_known_in(one_pass, part))
    }
    if not differing.difference(disputed):
        return None
    number = min(differing.difference(disputed))
    log.warning("the chain has other logs than the index", extra={"block": number})
    return number


def _count_failure(failures: Failures, thing: Hashable) -> int:
    """Count a failure of an item and return its number of failures so far."""
    count = failures.get(thing, 0) + 1
    failures.put(thing, count)
    return count


def _applied(each: PlacedLog) -> AppliedLog:
    return AppliedLog(each.place, each.block.block_hash)


def _decode(
    times: dict[BlockRef, datetime], logs: Sequence[PlacedLog]
) -> tuple[list[MarketEvent | EventDetail], list[tuple[PlacedLog, str]]]:
    decoded, undecodable = list[MarketEvent | EventDetail](), list[tuple[PlacedLog, str]]()
    for each in logs:
        try:
            decoded.append(decode_market_event(each.log, times[each.block]))
        except Undecodable as error:
            undecodable.append((each, str(error)))
    return decoded, undecodable


def _agrees(details: PostDetails, post: PostPublished) -> bool:
    """Whether a post's entry matches its event."""
    return (details.author, details.spelled_cid) == (post.author, post.spelled_cid)
