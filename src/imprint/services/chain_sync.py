"""Chain sync: the follower keeps the catalog in agreement with the canonical chain.

Deliveries take effect at once but are only claims. The follower reads the marketplace's logs
itself, applies events that were not delivered, confirms those that were, and undoes those that the
chain does not have. Even if every delivery is lost, the result is the same.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

from imprint.domain.errors import Unavailable
from imprint.domain.marketplace import POST_CREATED, Log, Undecodable, decode_post_created
from imprint.domain.posts import (
    Advance,
    BlockRef,
    DeadLetter,
    EventStatus,
    KnownEvent,
    LogPlace,
    PostCreated,
)
from imprint.metrics import DEEP_REORG, EVENTS, EVENTS_UNDONE, FOLLOWED_BLOCK, HEAD_BLOCK
from imprint.ports import Catalog, ChainReader, Clock, Progress
from imprint.services.block_ranges import BlockRange, BlockRangeReader
from imprint.services.labels import LabelUpdater
from imprint.services.periodic_task import run_periodically
from imprint.services.webhooks import record_event

log = logging.getLogger(__name__)

FOLLOWER_LEASE = "follower"
"""The lease of the process that follows the chain."""

LEASE_SECONDS = 6.0
"""Seconds until the lease expires after it was last taken: then another process takes over."""

UNCONFIRMED_GRACE = timedelta(seconds=30)
"""How long an unconfirmed event may be ahead of the node before it is looked up there."""

UNCONFIRMED_LIMIT = timedelta(minutes=10)
"""How long it may be ahead of a node that knows no block made after the delivery arrived."""

UNCONFIRMED_BATCH = 500
"""How many unconfirmed events one round verifies."""

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
    """The event as the chain has it in its block; None if it is not there or differs."""
    logs = await chain.logs_of_block(event.place.block_hash, head)
    events, _ = read_events(logs or ())
    for each in events:
        if identity_of(each.place) == identity_of(event.place):
            return each if same_content(each, event) else None
    return None


@dataclass(slots=True)
class Follower:
    """Reads the chain in rounds; `deep_reorg` is set while a final block has been replaced."""

    chain: ChainReader
    catalog: Catalog
    clock: Clock
    chain_id: int
    start_block: int
    reorg_depth: int
    labels: LabelUpdater | None = None
    holder: str = field(default_factory=lambda: uuid4().hex)
    reader: BlockRangeReader = field(init=False)
    deep_reorg: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.reader = BlockRangeReader(self.chain)

    async def run(self, interval: float) -> None:
        """Follow until cancelled, then release the lease."""
        try:
            await run_periodically("follower", self.follow_once, interval)
        finally:
            try:
                await self.catalog.release_lease(FOLLOWER_LEASE, self.holder)
            except Unavailable as problem:
                log.warning("the lease was not released", extra={"code": problem.code})

    async def follow_once(self) -> bool:
        """Run one round; False if another process holds the lease."""
        if not await self._take_lease():
            return False
        head = await self.chain.head()
        HEAD_BLOCK.set(head.number)
        cursor = await self.catalog.cursor(self.chain_id)
        final = await self.catalog.final_block(self.chain_id)
        if final is not None and (
            head.number < final.number or await self._is_replaced(final, head)
        ):
            # Final blocks are not read again, least of all from a node that is behind them.
            return True
        next_final = await self._next_final(final, head)
        complete = True
        if cursor is None:
            complete = await self._read(self.start_block, head, next_final)
        elif cursor != head or next_final is not None:
            # The node may be behind the cursor.
            first = min(cursor.number, head.number) - self.reorg_depth + 1
            floor = self.start_block if final is None else max(self.start_block, final.number + 1)
            complete = await self._read(max(first, floor), head, next_final)
        if complete:
            await self._verify_unconfirmed(head)
        return True

    async def rebuild(self, first: int, progress: Progress) -> None:
        """Read everything from `first` on again, final or not, and make the catalog agree.

        It takes no lease: another process may follow meanwhile, since both apply the same chain.
        """
        head = await self.chain.head()
        final = await self._block_at(max(0, head.number - self.reorg_depth), head)
        async for blocks in self.reader.read(first, head.number, head):
            await self._apply(blocks, head, final)
            progress(blocks.last, head.number)
        self.deep_reorg = False

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
        events, dead_letters = read_events(blocks.logs)
        present = {identity_of(event.place): event for event in events}
        known = await self.catalog.known_events(self.chain_id, blocks.first, blocks.last)
        lost = await self._find_lost(known, present, head)
        confirmed = {identity_of(each.event.place) for each in known if each.confirmed}
        confirmed -= {identity_of(place) for place in lost}
        new = tuple(event for event in events if identity_of(event.place) not in confirmed)
        await self._advance(Advance(cursor, final if at_head else None, new, dead_letters, lost))

    async def _find_lost(
        self, known: list[KnownEvent], present: dict[LogIdentity, PostCreated], head: BlockRef
    ) -> tuple[LogPlace, ...]:
        """The places of known events that the chain does not have, or has with other content."""
        lost = []
        for each in known:
            found = present.get(identity_of(each.event.place))
            if found is None:
                # It may have been delivered after the logs were read, so its block is read too.
                found = await verify_event(self.chain, each.event, head)
            if found is None or not same_content(found, each.event):
                lost.append(each.event.place)
        return tuple(lost)

    async def _verify_unconfirmed(self, head: BlockRef) -> None:
        """Confirm or undo events that only deliveries reported, once the node should have them."""
        confirmed, lost = [], []
        for each in await self.catalog.unconfirmed_events(self.chain_id, UNCONFIRMED_BATCH):
            number = each.event.place.block_number
            due = number is not None and number <= head.number
            if not due and self.clock() - each.seen_at <= UNCONFIRMED_GRACE:
                continue
            found = await verify_event(self.chain, each.event, head)
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

    async def _is_replaced(self, final: BlockRef, head: BlockRef) -> bool:
        """Whether the final block has been replaced; logs when that changes."""
        replaced = await self._block_at(final.number, head) != final
        if replaced is not self.deep_reorg:
            self.deep_reorg = replaced
            DEEP_REORG.set(replaced)
            fields = {"block": final.number, "depth": self.reorg_depth}
            if replaced:
                log.critical(
                    "the chain was reorganized deeper than the configured depth; nothing changes "
                    "until 'imprint reconcile --from-block' is run with a block before it",
                    extra=fields,
                )
            else:
                log.warning("the final block is on the chain again", extra=fields)
        return replaced

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

    async def _advance(self, step: Advance) -> None:
        result = await self.catalog.advance(self.chain_id, step, self.clock())
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

    async def _take_lease(self) -> bool:
        now = self.clock()
        until = now + timedelta(seconds=LEASE_SECONDS)
        return await self.catalog.take_lease(FOLLOWER_LEASE, self.holder, now, until)
