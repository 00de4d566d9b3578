"""The indexer: fills the index of posts from the marketplace's logs.

It reads on from the last block that was final, so the newest blocks are read again whenever there
is a new one. Where their logs differ from those that were applied, the index is undone from that
block on. The index is derived: if what was final is no longer on the chain, it is emptied and
filled again.
"""

import asyncio
import logging
import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from itertools import groupby

from imprint.domain.errors import Unavailable
from imprint.domain.posts.market_events import LOGS_PER_BLOCK, block_of
from imprint.domain.posts.posts import BlockRef
from imprint.metrics import (
    INDEX_EVENTS,
    INDEX_LAG,
    INDEX_RESTARTS,
    INDEX_UNDONE,
    INDEXED_BLOCK,
    NODE_CONTRADICTIONS,
)
from imprint.ports import ChainReader, Monotonic, Progress, monotonic
from imprint.ports.leases import LeaseStore
from imprint.ports.post_index import (
    AppliedLog,
    IndexMoved,
    IndexSource,
    IndexState,
    IndexStep,
    PostIndexWriter,
)
from imprint.ports.publication import EventStore
from imprint.services.chain.market_logs import ROUNDS_UNTIL_SKIPPED, LogRange, MarketLogs, PlacedLog
from imprint.services.chain.seen_heads import SeenHeads
from imprint.services.publication.chain_sync import History, compare_history
from imprint.services.tasks.leases import (
    SHORT_LEASE_TIME,
    HeldLease,
    describe_holder,
    hold_lease,
    kept,
    name_holder,
    prolonged,
)
from imprint.services.tasks.periodic_task import run_periodically

log = logging.getLogger(__name__)

INDEXER_LEASE = "indexer"
"""The lease of the process that fills the index."""

REBUILD_LEASE = "indexer rebuild"
"""The lease of a command that wants to rebuild the index: the process that fills it stops then."""

PATIENCE = timedelta(minutes=2)
"""How long a command waits for the process that fills the index."""

LOGS_AT_ONCE = 800
"""Logs of one transaction, unless one block has more, so that signed writes do not wait for it.
A block is never divided, because the index knows only whole blocks as applied."""

SECONDS_PER_HEAD = 10.0
"""Seconds for which the indexer reads up to one head: later, nodes may have lost its state."""

RESTART_GRACE = timedelta(seconds=15)
"""How long the final block must be gone until the index is emptied: a node may be wrong."""

READ_TWICE = 1_000
"""How many blocks the index may be behind and still read them twice before they are final, also if
no reorg reaches them any more. A node that leaves out logs for a moment is noticed then; in a
longer fill it is not."""

_REBUILD_PAUSE = 1.0
"""Seconds until a rebuild tries again what a node did not do."""

_RETRY_SECONDS = 0.2
"""Seconds between two attempts to take the lease."""


class IndexBusy(Exception):
    """The process that fills the index did not stop; the text is for the operator."""


@dataclass(slots=True)
class _Pass:
    """One pass over the blocks up to a head: what was applied, and where the index is."""

    state: IndexState
    head: BlockRef
    target: int
    """The newest block that is final, as seen from the head."""
    applied: Sequence[AppliedLog]
    indexed: int
    """The last block whose logs are in the index."""
    final: BlockRef | None = None

    def applied_between(self, first: int, last: int) -> list[AppliedLog]:
        """The logs in the index in these blocks."""
        first_place, end = first * LOGS_PER_BLOCK, (last + 1) * LOGS_PER_BLOCK
        return [each for each in self.applied if first_place <= each.place < end]


@dataclass(slots=True)
class Indexer:
    """Fills the index in rounds; one process at a time does so."""

    chain: ChainReader
    events: EventStore
    leases: LeaseStore
    writer: PostIndexWriter
    source: IndexSource
    reorg_depth: int
    monotonic: Monotonic = monotonic
    holder: str = field(default_factory=partial(name_holder, "indexer"))
    logs: MarketLogs = field(init=False)
    history: History = field(default=History.AGREES, init=False)
    _heads: SeenHeads = field(init=False)
    _replaced_since: float | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.logs = MarketLogs(self.chain)
        self._heads = SeenHeads(self.monotonic)

    async def run(self, interval: float) -> None:
        """Fill the index until cancelled, then release the lease."""
        try:
            await run_periodically("indexer", self.index_once, interval)
        finally:
            await self._lease().release()

    async def index_once(self) -> bool:
        """Run one round, up to the newest block; False if another process fills the index."""
        lease = self._lease()
        if await self._is_wanted():
            await lease.release()
            return self._leave()
        if not await lease.take():
            return self._leave()
        async with prolonged(lease):
            try:
                while not await self._read_to_head(lease):
                    if lease.lost or await self._is_wanted():
                        break
            except IndexMoved:
                log.warning("another process changed the index; it is read again")
        return True

    async def rebuild(self, lease: HeldLease, progress: Progress) -> BlockRef | None:
        """Empty the index and fill it up to the newest block, under a lease that is held.

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
                # What always fails alone is skipped then; if the node is down, it stays down.
                failures += 1
                if failures > ROUNDS_UNTIL_SKIPPED:
                    raise
                await asyncio.sleep(_REBUILD_PAUSE)
        state = await self.writer.index_state()
        return None if state is None else state.block

    async def _read_to_head(self, lease: HeldLease, progress: Progress | None = None) -> bool:
        """Read on for a while; True once the newest block is reached, or nothing can be read."""
        head = await self.chain.head()
        state = await self._open_state(head)
        if state is None:
            return True
        INDEXED_BLOCK.set(state.block.number if state.block else math.nan)
        reached = state.block.number if state.block else self.source.first_block - 1
        INDEX_LAG.set(max(head.number - reached, 0))
        if state.block == head or head.number < state.source.first_block:
            return True
        final = max(state.final, state.source.first_block - 1)
        target = head.number - self.reorg_depth
        if progress is None and head.number - reached <= READ_TWICE:
            target = min(target, await self._read_before(state, head))
        one_pass = _Pass(
            state,
            head,
            max(final, target),
            await self.writer.applied_logs(),
            reached,
        )
        shrunk = await self._heads.has_shrunk(self.chain, head)
        until = self.monotonic() + SECONDS_PER_HEAD
        async for blocks in self.logs.read(final + 1, head.number, head):
            for part in _divide(blocks):
                if lease.lost:
                    return False
                await self._compare(one_pass, part, shrunk=shrunk)
                if progress is not None:
                    first = state.source.first_block
                    progress(part.last - first + 1, head.number - first + 1)
                if part.last < head.number and self.monotonic() >= until:
                    return False
        self._heads.remember(head)
        INDEX_LAG.set(0)
        return True

    async def _read_before(self, state: IndexState, head: BlockRef) -> int:
        """The last block that an earlier pass has read, -1 if a reorg has replaced blocks since."""
        last = state.block
        if last is None or await self.chain.block_at(last.number, head) != last:
            return -1
        return last.number

    async def _open_state(self, head: BlockRef) -> IndexState | None:
        """The state of the index, which is emptied if it is of another chain; None to wait."""
        state = await self.writer.index_state()
        if state is None:
            return await self._restart("begun")
        source = state.source
        if (source.chain_id, source.contract) != (self.source.chain_id, self.source.contract):
            return await self._restart("other contract")
        if self.source.first_block < source.first_block:
            return await self._restart("earlier block")
        history = History.AGREES
        if state.final_hash is not None:
            final = BlockRef(state.final, state.final_hash)
            history = await compare_history(
                self.chain, self.events, self.source.chain_id, final, head
            )
        self._note_history(history, state, head)
        if history is not History.REPLACED:
            self._replaced_since = None
            return state if history is History.AGREES else None
        now = self.monotonic()
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
            "the index of posts is filled from its first block on",
            extra={"reason": reason, "block": self.source.first_block},
        )
        INDEX_RESTARTS.labels(reason).inc()
        await self.writer.restart_index(self.source)
        return IndexState(self.source, None, complete=False)

    async def _compare(self, one_pass: _Pass, part: LogRange, *, shrunk: bool) -> None:
        """Compare some blocks with the index, and apply those that differ or are new."""
        head, indexed = one_pass.head, one_pass.indexed
        undo_from = await self._find_difference(one_pass, part)
        if undo_from is None and part.last <= indexed:
            at_head = part.last == head.number
            if not at_head or (part.last < indexed and not shrunk):
                # The same as before; a node that is behind the index proves nothing more.
                return
            undo_from = head.number + 1 if part.last < indexed else None
        start = min(indexed + 1, part.last + 1 if undo_from is None else undo_from)
        new = [each for each in part.logs if each.block.number >= start]
        until = await self._ref_of(part, head)
        await self._apply(one_pass, new, until, undo_from)

    async def _find_difference(self, one_pass: _Pass, part: LogRange) -> int | None:
        """The first block whose logs are not those in the index."""
        last = min(part.last, one_pass.indexed)
        known = {each.place: each for each in one_pass.applied_between(part.first, last)}
        shown = {each.place: each.applied for each in part.logs if each.block.number <= last}
        differing = [
            place for place in known.keys() | shown.keys() if known.get(place) != shown.get(place)
        ]
        if not differing:
            return None
        number = block_of(min(differing))
        await self._check_omitted(one_pass.head, number, known, shown)
        log.warning("the chain has other logs than the index", extra={"block": number})
        return number

    async def _check_omitted(
        self,
        head: BlockRef,
        number: int,
        known: dict[int, AppliedLog],
        shown: dict[int, AppliedLog],
    ) -> None:
        """Raise `Unavailable` if a node leaves out a log of a block that is still on the chain.

        The hash of a block commits to its logs. If this goes on, the log that is in the index may
        have been wrong.
        """
        missing = [
            each
            for place, each in known.items()
            if block_of(place) == number and place not in shown
        ]
        if not missing:
            return
        block = await self.chain.block_at(number, head)
        if block is None or block.block_hash != missing[0].block_hash:
            return
        NODE_CONTRADICTIONS.inc()
        if not self.logs.patience.ends(("omitted", block)):
            log.error("a node leaves out a log that it has shown", extra={"block": number})
            raise Unavailable.chain()

    async def _apply(
        self,
        one_pass: _Pass,
        logs: Sequence[PlacedLog],
        until: BlockRef,
        undo_from: int | None,
    ) -> None:
        state, head = one_pass.state, one_pass.head
        events = await self.logs.decode(logs, head)
        final, final_hash = await self._final_of(one_pass, until)
        step = IndexStep(
            until,
            final,
            events,
            [each.applied for each in logs if each.block.number > final],
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
        """The newest final block after a step up to `until`: its number and its hash."""
        state, target = one_pass.state, one_pass.target
        if until.number <= target:
            return until.number, until.block_hash
        if target <= state.final:
            return state.final, state.final_hash
        if target < state.source.first_block:
            # Nothing of the index is final, and nothing of this block is in it.
            return state.final, None
        if one_pass.final is None:
            one_pass.final = await self._block_at(target, one_pass.head)
        return target, one_pass.final.block_hash

    async def _ref_of(self, part: LogRange, head: BlockRef) -> BlockRef:
        if part.last == head.number:
            return head
        if part.logs and part.logs[-1].block.number == part.last:
            return part.logs[-1].block
        return await self._block_at(part.last, head)

    async def _block_at(self, number: int, head: BlockRef) -> BlockRef:
        block = await self.chain.block_at(number, head)
        if block is None:
            raise Unavailable.chain()
        return block

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

    async def _is_wanted(self) -> bool:
        """Whether a command wants to rebuild the index."""
        found = await self.leases.find_lease(REBUILD_LEASE)
        return found is not None and found.left > timedelta(0)

    def _lease(self) -> HeldLease:
        return HeldLease(self.leases, INDEXER_LEASE, SHORT_LEASE_TIME, self.holder, self.monotonic)

    def _leave(self) -> bool:
        """Another process fills the index, and shows where it is."""
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
    """Hold the lease of the indexer for a command; a service that fills the index stops meanwhile.

    `tell` gets a sentence if that takes a while. Raises `IndexBusy` after `patience`.
    """
    holder = name_holder("rebuild of the index")
    lease = HeldLease(leases, INDEXER_LEASE, SHORT_LEASE_TIME, holder, elapsed)
    deadline = elapsed() + patience.total_seconds()
    async with hold_lease(leases, REBUILD_LEASE, SHORT_LEASE_TIME, holder, elapsed) as wish:
        if wish is None:
            raise IndexBusy("Another command rebuilds the index of posts. Please try again later.")
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
                tell(f"Waiting for {who} to let go of the index of posts …")
                told = True
            await asyncio.sleep(_RETRY_SECONDS)
        async with kept(lease):
            yield lease


def _divide(blocks: LogRange) -> Iterator[LogRange]:
    """The same blocks in parts of up to `LOGS_AT_ONCE` logs; a block stays whole."""
    first, logs = blocks.first, list[PlacedLog]()
    for _, group in groupby(blocks.logs, key=lambda each: each.block.number):
        block = list(group)
        if logs and len(logs) + len(block) > LOGS_AT_ONCE:
            yield LogRange(first, logs[-1].block.number, logs)
            first, logs = logs[-1].block.number + 1, []
        logs += block
    yield LogRange(first, blocks.last, logs)
