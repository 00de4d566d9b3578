"""Chain sync: the follower keeps the catalog in agreement with the canonical chain.

Deliveries take effect at once but are only claims. The follower reads the marketplace's logs
itself, applies events that were not delivered, confirms those that were, and undoes those that the
chain does not have. Even if every delivery is lost, the result is the same.
"""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from enum import Enum, auto
from functools import partial

from imprint.domain.errors import Unavailable
from imprint.domain.posts.marketplace import POST_CREATED, Log, Undecodable, decode_post_created
from imprint.domain.posts.posts import (
    Advance,
    BlockRef,
    DeadLetter,
    EventStatus,
    KnownEvent,
    LogPlace,
    PostCreated,
)
from imprint.metrics import (
    CURSOR_LAG,
    DEEP_REORG,
    EVENTS,
    EVENTS_UNDONE,
    FOLLOWED_BLOCK,
    HEAD_BELOW_FINAL,
    HEAD_BLOCK,
    UNREADABLE_RECEIPTS,
)
from imprint.ports import ChainReader, Clock, Monotonic, Progress, monotonic
from imprint.ports.chain import Unproved
from imprint.ports.leases import LeaseStore
from imprint.ports.publication import EventStore
from imprint.services.chain.block_ranges import FEW_LOGS, BlockRange, BlockRangeReader
from imprint.services.chain.seen_heads import BlockHashes, SeenHeads, keep_below, remembered_blocks
from imprint.services.content.labels import LabelUpdater
from imprint.services.publication.webhooks import record_event
from imprint.services.tasks.leases import RENEWALS, SHORT_LEASE_TIME, name_holder
from imprint.services.tasks.periodic_task import run_periodically

log = logging.getLogger(__name__)

FOLLOWER_LEASE = "follower"
"""The lease of the process that follows the chain."""

UNCONFIRMED_GRACE = timedelta(seconds=30)
"""How long an unconfirmed event may be ahead of the node before it is looked up there."""

UNCONFIRMED_LIMIT = timedelta(minutes=10)
"""How long it may be ahead of a node that knows no block made after the delivery arrived."""

UNCONFIRMED_BATCH = 500
"""How many unconfirmed events one round verifies."""

EVENTS_AT_ONCE = 200
"""How many events one transaction applies; a block may have thousands."""

HIGHEST_BLOCK = 2**63 - 1
"""Above every block."""

UNREADABLE = "The receipt of a transaction cannot be read."
"""The reason of a dead letter for a transaction whose logs are not known."""

LogIdentity = tuple[str, int]
"""Identifies a log of one chain: the hash of its block, and its index there."""


def identity_of(place: LogPlace) -> LogIdentity:
    """The identity of the log at this place."""
    return place.block_hash, place.log_index


def same_content(one: PostCreated, other: PostCreated) -> bool:
    """Whether two events publish the same cid of the same author under the same post id."""
    content = (one.post_id, one.author, one.spelled_cid)
    return content == (other.post_id, other.author, other.spelled_cid)


def read_events(logs: Iterable[Log]) -> tuple[list[PostCreated], tuple[DeadLetter, ...]]:
    """The PostCreated events among the logs, and dead letters for those that cannot be decoded."""
    events, dead_letters = [], []
    for each in logs:
        if each.topics[:1] != (POST_CREATED,):
            continue
        try:
            events.append(decode_post_created(each))
        except Undecodable as error:
            dead_letters.append(DeadLetter(each.place, str(error), each.data.hex()))
    return events, tuple(dead_letters)


async def verify_event(
    chain: ChainReader, event: PostCreated, head: BlockRef
) -> PostCreated | None:
    """The event as the chain has it at its place; None if it is not there or differs.

    Raises `Unproved` if the nodes contradict themselves about that.
    """
    found = await chain.find_log(event.place, POST_CREATED, head)
    events, _ = read_events(() if found is None else (found,))
    return events[0] if events and same_content(events[0], event) else None


class History(Enum):
    """How the chain of a node relates to the block that was stored as final."""

    AGREES = auto()
    """The final block is on it, or none is stored yet."""

    BEHIND = auto()
    """It ends before the final block, and nothing says that it is another chain."""

    REPLACED = auto()
    """It has other blocks than those that were final: a deep reorg, or a chain that was reset."""


async def examine_history(chain: ChainReader, events: EventStore, chain_id: int) -> History:
    """How the chain relates to what was stored as final, now. Raises `Unavailable`."""
    final = await events.final_block(chain_id)
    if final is None:
        return History.AGREES
    return await compare_history(chain, events, chain_id, final, await chain.head())


async def compare_history(
    chain: ChainReader, events: EventStore, chain_id: int, final: BlockRef, head: BlockRef
) -> History:
    """Compare the chain that ends in `head` with the final block and with blocks of events."""
    if head.number >= final.number:
        found = await chain.block_at(final.number, head)
        return History.AGREES if found == final else History.REPLACED
    if chain.highest_shown() >= final.number:
        # This node has shown the final block, or another one in its place, so it does not lag.
        return History.REPLACED
    known = await events.newest_event_block(chain_id, head.number)
    if known is not None and await chain.block_at(known.number, head) != known:
        return History.REPLACED
    return History.BEHIND


@dataclass(slots=True)
class Follower:
    """Reads the chain in rounds; `history` says whether the node agrees with what was final."""

    chain: ChainReader
    events: EventStore
    leases: LeaseStore
    clock: Clock
    chain_id: int
    start_block: int
    reorg_depth: int
    labels: LabelUpdater | None = None
    monotonic: Monotonic = monotonic
    lease_time: timedelta = SHORT_LEASE_TIME
    holder: str = field(default_factory=partial(name_holder, "chain follower"))
    reader: BlockRangeReader = field(init=False)
    history: History = field(default=History.AGREES, init=False)
    _seen_heads: SeenHeads = field(init=False)
    _read_by_receipts: BlockHashes = field(default_factory=remembered_blocks, init=False)

    def __post_init__(self) -> None:
        self.reader = BlockRangeReader(self.chain, (POST_CREATED,))
        self._seen_heads = SeenHeads(self.monotonic)

    @property
    def deep_reorg(self) -> bool:
        """Whether a final block has been replaced."""
        return self.history is History.REPLACED

    async def run(self, interval: float) -> None:
        """Follow until cancelled, then release the lease."""
        try:
            await run_periodically("follower", self.follow_once, interval)
        finally:
            try:
                await self.leases.release_lease(FOLLOWER_LEASE, self.holder)
            except Unavailable as problem:
                log.warning("the lease was not released", extra={"code": problem.code})

    async def follow_once(self) -> bool:
        """Run one round; False if another process holds the lease."""
        if not await self._take_lease():
            return False
        keeping = asyncio.create_task(self._keep_lease())
        try:
            await self._follow()
        finally:
            keeping.cancel()
        return True

    async def _follow(self) -> None:
        head = await self.chain.head()
        HEAD_BLOCK.set(head.number)
        keep_below(self._read_by_receipts, head)
        cursor = await self.events.cursor(self.chain_id)
        CURSOR_LAG.set(max(head.number - (cursor.number if cursor else self.start_block), 0))
        final = await self.events.final_block(self.chain_id)
        history = History.AGREES
        if final is not None:
            history = await compare_history(self.chain, self.events, self.chain_id, final, head)
        self._note_history(history, final, head)
        if history is not History.AGREES:
            # Final blocks are not read again, least of all from a node that is behind them.
            return
        shrunk = await self._seen_heads.has_shrunk(self.chain, head)
        next_final = await self._next_final(final, head)
        complete = True
        if cursor is None:
            complete = await self._read(self.start_block, head, next_final)
        elif cursor != head or next_final is not None:
            # The node may be behind the cursor.
            first = min(cursor.number, head.number) - self.reorg_depth + 1
            floor = self.start_block if final is None else max(self.start_block, final.number + 1)
            complete = await self._read(max(first, floor), head, next_final)
        if complete and shrunk:
            await self._undo_above(head)
        if complete:
            await self._verify_unconfirmed(head)
            self._seen_heads.remember(head)

    async def rebuild(self, first: int, progress: Progress) -> None:
        """Read everything from `first` on again, final or not, and make the catalog agree.

        If the chain is another one than before, events above its newest block are undone too. It
        takes no lease: another process may follow meanwhile, since both apply the same chain.
        """
        head = await self.chain.head()
        before = await self.events.final_block(self.chain_id)
        before = before or await self.events.cursor(self.chain_id)
        history = History.AGREES
        if before is not None:
            history = await compare_history(self.chain, self.events, self.chain_id, before, head)
        final = await self._block_at(max(0, head.number - self.reorg_depth), head)
        async for blocks in self.reader.read(first, head.number, head):
            await self._apply(blocks, head, final)
            progress(blocks.last, head.number)
        if history is History.REPLACED:
            await self._undo_above(head)
        self._note_history(History.AGREES, final, head)

    async def _read(self, first: int, head: BlockRef, final: BlockRef | None) -> bool:
        """Apply these blocks; False if the lease was lost before the end."""
        async for blocks in self.reader.read(first, head.number, head):
            await self._apply(blocks, head, final)
            if not await self._take_lease():
                return False
        return True

    async def _apply(self, blocks: BlockRange, head: BlockRef, final: BlockRef | None) -> None:
        at_head = blocks.last == head.number
        cursor = head if at_head else await self._block_at(blocks.last, head)
        found = await self.events.known_events(self.chain_id, blocks.first, blocks.last)
        known = {identity_of(each.event.place): each for each in found}
        events: list[PostCreated] = []
        dead_letters: tuple[DeadLetter, ...] = ()
        if blocks.logs is not None:
            events, dead_letters = await _read_many(blocks.logs)
        elif self._read_by_receipts.get(cursor.number) != cursor.block_hash:
            await self._apply_receipts(cursor, known, head)
        else:
            # What was read from this block is still in it.
            known = {key: each for key, each in known.items() if not each.confirmed}
        new, lost = _compare(events, known)
        lost += await self._find_lost(known.values(), head)
        final = final if at_head else None
        await self._advance(Advance(cursor, final, new, dead_letters, tuple(lost)))

    async def _apply_receipts(
        self, block: BlockRef, known: dict[LogIdentity, KnownEvent], head: BlockRef
    ) -> None:
        """Apply one block from the receipts of its transactions; each one by itself is small."""
        unreadable = False
        async for some in self.chain.logs_by_receipts(block.number, self.reader.topics, head):
            events, dead_letters = await _read_many(some.logs)
            if some.unreadable is not None:
                unreadable = True
                payload = f"block {block.block_hash} transaction {some.unreadable}"
                dead_letters = (DeadLetter(None, UNREADABLE, payload),)
            new, lost = _compare(events, known)
            if not (new or lost or dead_letters):
                continue
            step = Advance(None, None, new, dead_letters, tuple(lost))
            if await self._advance(step) and some.unreadable is not None:
                UNREADABLE_RECEIPTS.inc()
                log.critical(
                    "a receipt cannot be read; if it has a post, 'imprint reconcile --from-block' "
                    "finds it with a node that returns the receipt",
                    extra={"block": block.number, "transaction": some.unreadable},
                )
        if not unreadable:
            self._read_by_receipts.put(block.number, block.block_hash)

    async def _find_lost(self, missing: Iterable[KnownEvent], head: BlockRef) -> list[LogPlace]:
        """The places of known events that the chain provably does not have, or has otherwise."""
        lost = []
        for each in missing:
            # It may have been delivered after the logs were read, or the node may have left it out.
            try:
                found = await verify_event(self.chain, each.event, head)
            except Unproved:
                _note_unproved(each.event.place)
                continue
            if found is None:
                lost.append(each.event.place)
        return lost

    async def _verify_unconfirmed(self, head: BlockRef) -> None:
        """Confirm or undo events that only deliveries reported, once the node should have them."""
        confirmed, lost = [], []
        for each in await self.events.unconfirmed_events(self.chain_id, UNCONFIRMED_BATCH):
            number = each.event.place.block_number
            due = number is not None and number <= head.number
            if not due and self.clock() - each.seen_at <= UNCONFIRMED_GRACE:
                continue
            try:
                found = await verify_event(self.chain, each.event, head)
            except Unproved:
                _note_unproved(each.event.place)
                continue
            if found is not None:
                confirmed.append(found)
            elif due or await self._is_overdue(each):
                lost.append(each.event.place)
        if confirmed or lost:
            await self._advance(Advance(events=tuple(confirmed), lost=tuple(lost)))

    async def _is_overdue(self, known: KnownEvent) -> bool:
        """Whether the node should have this event, because it has blocks that were made later.

        A node that has stopped, or is far behind, proves nothing about an event it cannot know yet.
        """
        if self.clock() - known.seen_at > UNCONFIRMED_LIMIT:
            return True
        return await self.chain.head_time() > known.seen_at

    async def _undo_above(self, head: BlockRef) -> None:
        """Undo the events that were read from blocks above the head, which are gone."""
        above = await self.events.known_events(self.chain_id, head.number + 1, HIGHEST_BLOCK)
        gone = [each for each in above if each.confirmed]
        if gone:
            log.warning("the chain is shorter than before", extra={"block": head.number})
            lost = await self._find_lost(gone, head)
            await self._advance(Advance(lost=tuple(lost)))

    def _note_history(self, history: History, final: BlockRef | None, head: BlockRef) -> None:
        """Log and count when the chain begins or ceases to disagree with what was final."""
        HEAD_BELOW_FINAL.set(final is not None and head.number < final.number)
        if history is self.history or (self.deep_reorg and history is History.BEHIND):
            # A node that lags does not end the alarm about one that disagrees.
            return
        self.history = history
        DEEP_REORG.set(self.deep_reorg)
        fields = {"block": final and final.number, "head": head.number, "depth": self.reorg_depth}
        if history is History.REPLACED:
            log.critical(
                "the chain was reset, or reorganized deeper than the configured depth; nothing "
                "changes until 'imprint reconcile --from-block' is run with a block before it",
                extra=fields,
            )
        elif history is History.BEHIND:
            log.error("the node is behind the final block; nothing is read from it", extra=fields)
        else:
            log.warning("the final block is on the chain again", extra=fields)

    async def _next_final(self, final: BlockRef | None, head: BlockRef) -> BlockRef | None:
        number = head.number - self.reorg_depth
        if number < self.start_block or (final is not None and number <= final.number):
            return None
        return await self._block_at(number, head)

    async def _block_at(self, number: int, head: BlockRef) -> BlockRef:
        block = await self.chain.block_at(number, head)
        if block is None:
            raise Unavailable.chain()
        return block

    async def _advance(self, step: Advance) -> int:
        """Apply a step, many events in several transactions; returns how many letters are new."""
        events, new_letters = step.events, 0
        while len(events) > EVENTS_AT_ONCE:
            part = Advance(None, None, events[:EVENTS_AT_ONCE], (), step.lost)
            new_letters += await self._advance_once(part)
            events = events[EVENTS_AT_ONCE:]
            step = replace(step, events=events, lost=())
        return new_letters + await self._advance_once(step)

    async def _advance_once(self, step: Advance) -> int:
        result = await self.events.advance(self.chain_id, step, self.clock())
        if step.cursor is not None:
            FOLLOWED_BLOCK.set(step.cursor.number)
        for event, status in zip(step.events, result.statuses, strict=True):
            record_event("follower", event.post_id, status)
            if self.labels is not None:
                self.labels.enqueue(event.cid)
        if result.new_letters:
            EVENTS.labels("follower", EventStatus.DEAD_LETTER.value).inc(result.new_letters)
            log.warning("events kept as dead letters", extra={"count": result.new_letters})
        EVENTS_UNDONE.inc(len(step.lost))
        for place in step.lost:
            log.warning("event undone", extra={"block": place.block_number})
        return result.new_letters

    async def _take_lease(self) -> bool:
        taken = await self.leases.take_lease(FOLLOWER_LEASE, self.holder, self.lease_time)
        if not taken:
            # The process that follows now may undo what this one has read, and raises the alarms.
            self._read_by_receipts.clear()
            self.history = History.AGREES
            HEAD_BELOW_FINAL.set(0)
            DEEP_REORG.set(0)
            CURSOR_LAG.set(float("nan"))
        return taken

    async def _keep_lease(self) -> None:
        """Prolong the lease until it is lost: one request to a slow node may take longer."""
        taken = True
        while taken:
            await asyncio.sleep(self.lease_time.total_seconds() / RENEWALS)
            with suppress(Unavailable):
                taken = await self._take_lease()


async def _read_many(logs: list[Log]) -> tuple[list[PostCreated], tuple[DeadLetter, ...]]:
    if len(logs) > FEW_LOGS:
        return await asyncio.to_thread(read_events, logs)
    return read_events(logs)


def _compare(
    events: Iterable[PostCreated], known: dict[LogIdentity, KnownEvent]
) -> tuple[tuple[PostCreated, ...], list[LogPlace]]:
    """The events to apply, and the places of known ones with other content; removes those found."""
    new, lost = [], []
    for event in events:
        each = known.pop(identity_of(event.place), None)
        if each is not None and not same_content(each.event, event):
            lost.append(event.place)
        elif each is not None and each.confirmed:
            continue
        new.append(event)
    return tuple(new), lost


def _note_unproved(place: LogPlace) -> None:
    text = "nodes contradict themselves about an event, which stays as it is"
    log.error(text, extra={"block": place.block_number})
