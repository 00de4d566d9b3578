"""Chain sync: a projection of the chain's logs that decides which files are published.

Deliveries take effect immediately but are only claims. The follower reads the marketplace logs
itself, applies undelivered events, confirms delivered events, and undoes events that are not on the
chain. Even if every delivery is lost, the result is the same.
"""

import logging
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial

from imprint.domain.posts.market_events import HIGHEST_BLOCK
from imprint.domain.posts.marketplace import POST_CREATED, Log, Undecodable, decode_post_created
from imprint.domain.posts.posts import (
    Advance,
    ApplyResult,
    BlockRef,
    DeadLetter,
    Delivery,
    EventStatus,
    KnownEvent,
    LogPosition,
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
from imprint.ports import ChainReader, Clock, Progress
from imprint.ports.chain import Unproved
from imprint.ports.installation import LeaseStore
from imprint.ports.publication import EventStore
from imprint.services.chain.log_stream import (
    History,
    LogRange,
    LogReader,
    LogStream,
    decode_many,
)
from imprint.services.content.labels import LabelUpdater
from imprint.services.tasks.leases import SHORT_LEASE_TIME, HeldLease, name_holder, prolonged

log = logging.getLogger(__name__)

FOLLOWER_LEASE = "follower"
"""The lease of the process that follows the chain."""

UNCONFIRMED_GRACE = timedelta(seconds=30)
"""How long an unconfirmed event may be ahead of the node before the event is looked up."""

UNCONFIRMED_LIMIT = timedelta(minutes=10)
"""How long an event may stay unconfirmed if the node has no block newer than its delivery."""

UNCONFIRMED_BATCH = 500
"""Maximum number of unconfirmed events that one round verifies."""

EVENTS_AT_ONCE = 200
"""Maximum number of events applied in one transaction. A block may have thousands of events."""

LogIdentity = tuple[str, int]
"""Identifies a log on one chain by its block hash and its index in that block."""


def same_content(one: PostCreated, other: PostCreated) -> bool:
    """Whether two events publish the same CID by the same author under the same post ID."""
    content = (one.post_id, one.author, one.spelled_cid)
    return content == (other.post_id, other.author, other.spelled_cid)


def read_events(logs: Iterable[Log]) -> tuple[list[PostCreated], tuple[DeadLetter, ...]]:
    """Return the PostCreated events among the logs, and dead letters for undecodable logs."""
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
    """Return the event at its position on the chain, or None if it is missing or differs.

    Raises `Unproved` if the nodes give contradictory responses about the event.
    """
    found = await chain.find_log(event.place, POST_CREATED, head)
    events, _ = read_events(() if found is None else (found,))
    return events[0] if events and same_content(events[0], event) else None


@dataclass(frozen=True, slots=True)
class Publications:
    """Applies PostCreated events to the files, from deliveries and from the chain.

    Each event is applied only once, no matter how often it is reported.
    """

    events: EventStore
    clock: Clock
    labels: LabelUpdater | None = None

    async def deliver(self, delivery: Delivery) -> ApplyResult:
        """Apply the events of a delivery as unconfirmed, unless it is a replay."""
        result = await self.events.apply_events(
            delivery.key, delivery.events, delivery.dead_letters, self.clock()
        )
        if not result.duplicate:
            letters = len(delivery.dead_letters)
            self._record(delivery.provider, delivery.events, result.statuses, letters)
        return result

    async def advance(self, chain_id: int, step: Advance) -> int:
        """Apply a step, split into several transactions if it has many events.

        Returns the number of new dead letters.
        """
        events, new_letters = step.events, 0
        while len(events) > EVENTS_AT_ONCE:
            part = Advance(None, None, events[:EVENTS_AT_ONCE], (), step.lost)
            new_letters += await self._advance_once(chain_id, part)
            events = events[EVENTS_AT_ONCE:]
            step = replace(step, events=events, lost=())
        return new_letters + await self._advance_once(chain_id, step)

    async def _advance_once(self, chain_id: int, step: Advance) -> int:
        result = await self.events.advance(chain_id, step, self.clock())
        if step.cursor is not None:
            FOLLOWED_BLOCK.set(step.cursor.number)
        self._record("follower", step.events, result.statuses, result.new_letters)
        EVENTS_UNDONE.inc(len(step.lost))
        for place in step.lost:
            log.warning("event undone", extra={"block": place.block_number})
        return result.new_letters

    def _record(
        self,
        source: str,
        events: Sequence[PostCreated],
        statuses: Sequence[EventStatus],
        letters: int,
    ) -> None:
        """Count and log the statuses of events, and queue label updates for their files."""
        for event, status in zip(events, statuses, strict=True):
            EVENTS.labels(source, status.value).inc()
            suspicious = status in (EventStatus.AUTHOR_MISMATCH, EventStatus.DEAD_LETTER)
            log.log(
                logging.WARNING if suspicious else logging.INFO,
                "event applied" if status is EventStatus.ONCHAIN else "event not applied",
                extra={"provider": source, "post_id": str(event.post_id), "status": status},
            )
            if self.labels is not None:
                self.labels.enqueue(event.cid)
        if letters:
            EVENTS.labels(source, EventStatus.DEAD_LETTER.value).inc(letters)
            log.warning("events kept as dead letters", extra={"provider": source, "count": letters})


@dataclass(slots=True)
class Follower:
    """Reads the log stream in rounds. `history` says whether the node agrees with the stored final
    block."""

    stream: LogStream
    events: EventStore
    leases: LeaseStore
    clock: Clock
    chain_id: int
    start_block: int
    reorg_depth: int
    labels: LabelUpdater | None = None
    lease_time: timedelta = SHORT_LEASE_TIME
    holder: str = field(default_factory=partial(name_holder, "chain follower"))
    reader: LogReader = field(init=False)
    history: History = field(default=History.AGREES, init=False)
    _open: bool = field(default=True, init=False)
    """Whether logs may be missing up to the last head that was read."""
    _stored_disputes: frozenset[BlockRef] | None = field(default=None, init=False)
    _publications: Publications = field(init=False)
    _held: HeldLease | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.reader = LogReader(self.stream, (POST_CREATED,))
        self._publications = Publications(self.events, self.clock, self.labels)

    @property
    def deep_reorg(self) -> bool:
        """Whether a final block has been replaced."""
        return self.history is History.REPLACED

    async def run(self) -> None:
        """Follow the log stream until cancelled, then release the lease."""
        try:
            await self.reader.run("follower", self.follow_once)
        finally:
            await self._lease().release()

    async def follow_once(self) -> bool:
        """Run one round. Returns False if another process holds the lease."""
        lease = self._lease()
        self.stream.followed_elsewhere = not await lease.hold()
        if self.stream.followed_elsewhere:
            return self._leave()
        async with prolonged(lease):
            await self._follow(lease)
        return True

    async def _follow(self, lease: HeldLease) -> None:
        head = await self.stream.head()
        HEAD_BLOCK.set(head.number)
        cursor = await self.events.cursor(self.chain_id)
        CURSOR_LAG.set(max(head.number - (cursor.number if cursor else self.start_block), 0))
        final = await self.events.final_block(self.chain_id)
        history = await self.stream.compare_history(self.events, self.chain_id, final, head)
        self._note_history(history, final, head)
        if history is not History.AGREES:
            # Final blocks are not read again, least of all from a node that is behind them.
            return
        await self._load_disputes()
        shrunk = await self.stream.has_shrunk(head)
        target = head.number - self.reorg_depth
        first = self.start_block
        if final is not None:
            first = max(first, final.number + 1)
        elif cursor is not None:
            # The node may be behind the cursor.
            first = max(first, min(cursor.number, head.number) - self.reorg_depth + 1)
        if cursor != head or target >= first or self._open:
            async for _ in self._apply_from(first, head, target, least_final=first):
                if lease.lost:
                    return
        await self._store_disputes()
        if shrunk:
            await self._undo_above(head)
        await self._verify_unconfirmed(head)
        self.stream.remember(head)

    async def rebuild(self, first: int, progress: Progress) -> None:
        """Read all blocks from `first` on again, final or not, and correct the catalog.

        If the chain has been replaced, events above its newest block are undone too. No
        lease is needed: another process may follow the chain meanwhile, since both apply
        the same chain.
        """
        head = await self.stream.head()
        before = await self.events.final_block(self.chain_id)
        before = before or await self.events.cursor(self.chain_id)
        history = await self.stream.compare_history(self.events, self.chain_id, before, head)
        target = max(0, head.number - self.reorg_depth)
        async for blocks in self._apply_from(first, head, target, least_final=0):
            progress(blocks.last.number, head.number)
        if history is History.REPLACED:
            await self._undo_above(head)
        self._note_history(History.AGREES, await self.events.final_block(self.chain_id), head)

    async def _apply_from(
        self, first: int, head: BlockRef, target: int, least_final: int
    ) -> AsyncIterator[LogRange]:
        """Apply the blocks from `first` on. The last step also stores the new final block.

        The final block is the block at `target`, unless logs may be missing before it.
        """
        is_open, self._open = False, True
        async for blocks in self.reader.read(first, head):
            if blocks.open_from is not None:
                is_open, target = True, min(target, blocks.open_from - 1)
            final = None
            if blocks.last == head and target >= least_final:
                final = await self.stream.block_at(target, head)
            await self._apply(blocks, head, final)
            yield blocks
        self._open = is_open

    async def _apply(self, blocks: LogRange, head: BlockRef, final: BlockRef | None) -> None:
        found = await self.events.known_events(self.chain_id, blocks.first, blocks.last.number)
        known = {(each.event.place.block_hash, each.event.place.log_index): each for each in found}
        plain = [each.log for each in blocks.logs]
        events, dead_letters = await decode_many(plain, read_events)
        new, lost = _compare(events, known)
        lost += await self._find_lost(known.values(), head)
        for tx_hash in blocks.unreadable:
            await self._note_unreadable(blocks.last, tx_hash)
        await self._advance(Advance(blocks.last, final, new, dead_letters, tuple(lost)))

    async def _note_unreadable(self, block: BlockRef, tx_hash: str) -> None:
        """Store a dead letter for a transaction whose logs are unknown."""
        reason = "The receipt of a transaction is unreadable."
        letter = DeadLetter(None, reason, f"block {block.block_hash} transaction {tx_hash}")
        if await self._advance(Advance(dead_letters=(letter,))):
            UNREADABLE_RECEIPTS.inc()
            log.critical(
                "a receipt cannot be read; if it has a post, 'imprint reconcile --from-block' "
                "finds it with a node that returns the receipt",
                extra={"block": block.number, "transaction": tx_hash},
            )

    async def _find_lost(self, missing: Iterable[KnownEvent], head: BlockRef) -> list[LogPosition]:
        """Return the positions of recorded events that the chain provably lacks or has changed."""
        lost = []
        for each in missing:
            # The event may have been delivered after the logs were read, or the node left it out.
            try:
                found = await verify_event(self.stream.chain, each.event, head)
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
                found = await verify_event(self.stream.chain, each.event, head)
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
        """Whether the node should have this event, because it has later blocks.

        A node that has stopped or is far behind proves nothing about an event it cannot
        have yet.
        """
        if self.clock() - known.seen_at > UNCONFIRMED_LIMIT:
            return True
        return await self.stream.chain.head_time() > known.seen_at

    async def _undo_above(self, head: BlockRef) -> None:
        """Undo events in blocks above the head, which no longer exist."""
        above = await self.events.known_events(self.chain_id, head.number + 1, HIGHEST_BLOCK)
        gone = [each for each in above if each.confirmed]
        if gone:
            log.warning("the chain is shorter than before", extra={"block": head.number})
            lost = await self._find_lost(gone, head)
            await self._advance(Advance(lost=tuple(lost)))

    def _note_history(self, history: History, final: BlockRef | None, head: BlockRef) -> None:
        """Log and count when the chain starts or stops contradicting the final blocks."""
        HEAD_BELOW_FINAL.set(final is not None and head.number < final.number)
        if history is self.history or (self.deep_reorg and history is History.BEHIND):
            # A lagging node does not end the alarm about a node that contradicts final blocks.
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

    async def _load_disputes(self) -> None:
        """Load the disputed blocks that an earlier process stored, once this one takes over."""
        if self._stored_disputes is None:
            found = await self.events.disputed_blocks(self.chain_id)
            self.stream.dispute(found)
            self._stored_disputes = frozenset(found)

    async def _store_disputes(self) -> None:
        """Store which blocks are disputed, for the readiness check of all processes."""
        disputes = frozenset(self.stream.disputed)
        if disputes != self._stored_disputes:
            await self.events.set_disputed(self.chain_id, disputes)
            self._stored_disputes = disputes

    async def _advance(self, step: Advance) -> int:
        return await self._publications.advance(self.chain_id, step)

    def _lease(self) -> HeldLease:
        if self._held is None:
            self._held = HeldLease(
                self.leases, FOLLOWER_LEASE, self.lease_time, self.holder, self.stream.monotonic
            )
        return self._held

    def _leave(self) -> bool:
        """Reset the state and alarms, because another process follows the chain. Returns False."""
        self.history, self._stored_disputes = History.AGREES, None
        self.stream.forget_disputes()
        HEAD_BELOW_FINAL.set(0)
        DEEP_REORG.set(0)
        CURSOR_LAG.set(float("nan"))
        return False


def _compare(
    events: Iterable[PostCreated], known: dict[LogIdentity, KnownEvent]
) -> tuple[tuple[PostCreated, ...], list[LogPosition]]:
    """Return the events to apply, and the positions of recorded events that differ from them.

    Each event that is found is removed from `known`.
    """
    new, lost = [], []
    for event in events:
        each = known.pop((event.place.block_hash, event.place.log_index), None)
        if each is not None and not same_content(each.event, event):
            lost.append(event.place)
        elif each is not None and each.confirmed:
            continue
        new.append(event)
    return tuple(new), lost


def _note_unproved(place: LogPosition) -> None:
    text = "nodes contradict themselves about an event, which is left unchanged"
    log.error(text, extra={"block": place.block_number})
