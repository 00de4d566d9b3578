"""Evidence: what the chain itself says about events that somebody speaks of."""

import asyncio
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
from imprint.metrics import (
    CHORES_PUT_OFF,
    DEEP_REORG,
    EVENTS,
    EVENTS_UNDONE,
    FOLLOWED_BLOCK,
    HEAD_BLOCK,
)
from imprint.ports import Catalog, ChainReader, Clock, Progress
from imprint.services.block_ranges import BlockRange, BlockRangeReader
from imprint.services.labels import LabelUpdater

Identity = tuple[str, int]
"""What makes a log of one chain the same log: its block's hash, and its index there."""


def identify(place: LogPlace) -> Identity:
    """The identity of the log that stands here."""
    return place.block_hash, place.log_index


def say_same(one: PostCreated, other: PostCreated) -> bool:
    """Whether two accounts of an event agree in what it does, wherever they place it."""
    said = (one.post_id, one.author, one.spelled_cid)
    return said == (other.post_id, other.author, other.spelled_cid)


def read_events(logs: Iterable[Log]) -> tuple[list[PostCreated], tuple[DeadLetter, ...]]:
    """The PostCreated among the logs, and those that cannot be decoded."""
    events, dead_letters = [], []
    for each in logs:
        if each.topics[:1] != (POST_CREATED,):
            continue
        try:
            events.append(decode_post_created(each))
        except Undecodable as error:
            dead_letters.append(DeadLetter(each.place, str(error), each.data.hex()))
    return events, tuple(dead_letters)


@dataclass(frozen=True, slots=True)
class Witness:
    """Asks the chain for the very blocks that events are said to stand in."""

    source: ChainReader

    async def find(self, event: PostCreated, head: BlockRef) -> PostCreated | None:
        """The event as the chain has it; None if it has none there, or one that says otherwise."""
        logs = await self.source.logs_of_block(event.place.block_hash, head)
        standing, _ = read_events(logs or ())
        for each in standing:
            if identify(each.place) == identify(event.place):
                return each if say_same(each, event) else None
        return None


log = logging.getLogger(__name__)

FOLLOWER_LEASE = "follower"
"""The lease that one process at a time holds while it follows."""

LEASE_SECONDS = 6.0
"""How long the lease outlives its last round: a follower that died is replaced after it."""

UNCONFIRMED_GRACE = timedelta(seconds=30)
"""How long an event that only a delivery speaks of may be ahead of the node that we ask."""

UNCONFIRMED_LIMIT = timedelta(minutes=10)
"""How long it may be if the node knows no block that was made after the delivery came."""

UNCONFIRMED_AT_ONCE = 500
"""How many events of deliveries one round looks into."""


@dataclass(slots=True)
class Follower:
    """Keeps the catalog at what the canonical chain says."""

    source: ChainReader
    catalog: Catalog
    clock: Clock
    chain_id: int
    start_block: int
    reorg_depth: int
    mirror: LabelUpdater | None = None
    holder: str = field(default_factory=lambda: uuid4().hex)
    reader: BlockRangeReader = field(init=False)
    witness: Witness = field(init=False)
    alarmed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.reader = BlockRangeReader(self.source)
        self.witness = Witness(self.source)

    async def run(self, interval: float) -> None:
        """Follow for ever; gives the lease back at the end."""
        try:
            while True:
                try:
                    await self.follow_once()
                except Unavailable as problem:
                    CHORES_PUT_OFF.labels("follower").inc()
                    log.warning("following put off", extra={"code": problem.code})
                except Exception:  # one bad round must not be the last one
                    log.exception("following failed")
                await asyncio.sleep(interval)
        finally:
            try:
                await self.catalog.release_lease(FOLLOWER_LEASE, self.holder)
            except Unavailable as problem:
                log.warning("the lease was not given back", extra={"code": problem.code})

    async def follow_once(self) -> bool:
        """One round, if it is this process's turn; whether it was."""
        if not await self._hold_lease():
            return False
        head = await self.source.head()
        HEAD_BLOCK.set(head.number)
        stand = await self.catalog.cursor(self.chain_id)
        kept = await self.catalog.final_block(self.chain_id)
        if kept is not None and (head.number < kept.number or await self._is_replaced(kept, head)):
            # What is final is not up for reading again, least of all by a node so far behind.
            return True
        final = await self._next_final(kept, head)
        whole = True
        if stand is None:
            whole = await self._read(self.start_block, head, final)
        elif stand != head or final is not None:
            # A node that is behind what was read before has less to read again.
            first = min(stand.number, head.number) - self.reorg_depth + 1
            floor = self.start_block if kept is None else max(self.start_block, kept.number + 1)
            whole = await self._read(max(first, floor), head, final)
        if whole:
            await self._check_hearsay(head)
        return True

    async def rebuild(self, first: int, progress: Progress) -> None:
        """Read everything from `first` on again, whatever is final, and make the catalog agree.

        It takes no turn: another process may follow meanwhile, since both tell what stands.
        """
        head = await self.source.head()
        final = await self._block_at(max(0, head.number - self.reorg_depth), head)
        async for stretch in self.reader.read(first, head.number, head):
            await self._settle(stretch, head, final)
            progress(stretch.last, head.number)
        self.alarmed = False

    async def _read(self, first: int, head: BlockRef, final: BlockRef | None) -> bool:
        """Settle these blocks; whether it was this process's turn until the end."""
        async for stretch in self.reader.read(first, head.number, head):
            await self._settle(stretch, head, final)
            if not await self._hold_lease():
                return False
        return True

    async def _settle(self, stretch: BlockRange, head: BlockRef, final: BlockRef | None) -> None:
        at_head = stretch.last == head.number
        end = head if at_head else await self._block_at(stretch.last, head)
        events, dead_letters = read_events(stretch.logs)
        standing = {identify(event.place): event for event in events}
        known = await self.catalog.known_events(self.chain_id, stretch.first, stretch.last)
        lost = await self._find_lost(known, standing, head)
        settled = {identify(each.event.place) for each in known if each.confirmed}
        settled -= {identify(place) for place in lost}
        news = tuple(event for event in events if identify(event.place) not in settled)
        await self._advance(Advance(end, final if at_head else None, news, dead_letters, lost))

    async def _find_lost(
        self, known: list[KnownEvent], standing: dict[Identity, PostCreated], head: BlockRef
    ) -> tuple[LogPlace, ...]:
        """The places of events that do not stand, or say something else where they stand."""
        lost = []
        for each in known:
            there = standing.get(identify(each.event.place))
            if there is None:
                # It came after the logs were read, perhaps: its very block decides.
                there = await self.witness.find(each.event, head)
            if there is None or not say_same(there, each.event):
                lost.append(each.event.place)
        return tuple(lost)

    async def _check_hearsay(self, head: BlockRef) -> None:
        """Look into what only deliveries speak of, once the chain has had time to say it too."""
        confirmed, lost = [], []
        for each in await self.catalog.unconfirmed_events(self.chain_id, UNCONFIRMED_AT_ONCE):
            number = each.event.place.block_number
            due = number is not None and number <= head.number
            if not due and self.clock() - each.seen_at <= UNCONFIRMED_GRACE:
                continue
            there = await self.witness.find(each.event, head)
            if there is not None:
                confirmed.append(there)
            elif due or await self._is_overdue(each):
                lost.append(each.event.place)
        if confirmed or lost:
            await self._advance(Advance(events=tuple(confirmed), lost=tuple(lost)))

    async def _is_overdue(self, known: KnownEvent) -> bool:
        """Whether the node should have this event: it has blocks that were made later.

        A node that has stopped, or is far behind, is no witness against what it cannot know yet.
        """
        if self.clock() - known.seen_at > UNCONFIRMED_LIMIT:
            return True
        return await self.source.head_time() > known.seen_at

    async def _is_replaced(self, kept: BlockRef, head: BlockRef) -> bool:
        """Whether the block that was final is another one now; says so when that changes."""
        replaced = await self._block_at(kept.number, head) != kept
        if replaced is not self.alarmed:
            self.alarmed = replaced
            DEEP_REORG.set(replaced)
            said = {"block": kept.number, "depth": self.reorg_depth}
            if self.alarmed:
                log.critical(
                    "the chain was reorganized deeper than the configured depth; nothing changes "
                    "until 'imprint reconcile --from-block' is run with a block before it",
                    extra=said,
                )
            else:
                log.warning("the chain has its final block again", extra=said)
        return self.alarmed

    async def _next_final(self, kept: BlockRef | None, head: BlockRef) -> BlockRef | None:
        deep = head.number - self.reorg_depth
        if deep < self.start_block or (kept is not None and deep <= kept.number):
            return None
        return await self._block_at(deep, head)

    async def _block_at(self, number: int, head: BlockRef) -> BlockRef:
        block = await self.source.block_at(number, head)
        if block is None:
            raise Unavailable.chain()
        return block

    async def _advance(self, step: Advance) -> None:
        settlement = await self.catalog.advance(self.chain_id, step, self.clock())
        if step.cursor is not None:
            FOLLOWED_BLOCK.set(step.cursor.number)
        EVENTS_UNDONE.inc(len(step.lost))
        for event, status in zip(step.events, settlement.statuses, strict=True):
            EVENTS.labels("follower", status.value).inc()
            if self.mirror is not None:
                self.mirror.note(event.cid)
            quiet = status in (EventStatus.ONCHAIN, EventStatus.ALREADY_ONCHAIN)
            log.log(
                logging.INFO if quiet else logging.WARNING,
                "event followed",
                extra={"post_id": str(event.post_id), "status": status},
            )
        if settlement.new_letters:
            dead = EventStatus.DEAD_LETTER
            EVENTS.labels("follower", dead.value).inc(settlement.new_letters)
            log.warning("events kept as dead letters", extra={"count": settlement.new_letters})
        for place in step.lost:
            log.warning("event undone", extra={"block": place.block_number})

    async def _hold_lease(self) -> bool:
        now = self.clock()
        until = now + timedelta(seconds=LEASE_SECONDS)
        return await self.catalog.take_lease(FOLLOWER_LEASE, self.holder, now, until)
