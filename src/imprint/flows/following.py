"""Following: the chain read by ourselves, so that no lost delivery and no reorg changes the truth.

Each round reads the last blocks again, as many as a reorg may replace. An event that stands there
is settled, whoever else brought it or did not; an event that we count as canonical and that does
not stand there, or says something else there, is undone. Below that depth everything is final: if
even a final block is another one now, that is an alarm for people, and until they have seen to it
nothing that the chain says is believed.
"""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

from imprint.domain.posts import (
    Advance,
    BlockMark,
    EventStatus,
    KnownEvent,
    LogPlace,
    PostCreated,
)
from imprint.domain.refusals import Unavailable
from imprint.flows.evidence import Identity, Witness, identify, read_events, say_same
from imprint.flows.mirroring import Mirror
from imprint.flows.stretches import Stretch, StretchReader
from imprint.measures import (
    CHORES_PUT_OFF,
    DEEP_REORG,
    EVENTS,
    EVENTS_UNDONE,
    FOLLOWED_BLOCK,
    HEAD_BLOCK,
)
from imprint.ports import Catalog, ChainSource, Clock

log = logging.getLogger(__name__)

LEASE = "follower"
"""The lease that one process at a time holds while it follows."""

LEASE_SECONDS = 6.0
"""How long the lease outlives its last round: a follower that died is replaced after it."""

HEARSAY = timedelta(seconds=30)
"""How long an event that only a delivery speaks of may be ahead of the node that we ask."""

LONGEST_HEARSAY = timedelta(minutes=10)
"""How long it may be if the node knows no block that was made after the delivery came."""

UNCONFIRMED_AT_ONCE = 500
"""How many events of deliveries one round looks into."""

Progress = Callable[[int, int], None]
"""Told after each stretch: the block reached, and the last one."""


@dataclass(slots=True)
class Follower:
    """Keeps the catalog at what the canonical chain says."""

    source: ChainSource
    catalog: Catalog
    clock: Clock
    chain_id: int
    start_block: int
    reorg_depth: int
    mirror: Mirror | None = None
    holder: str = field(default_factory=lambda: uuid4().hex)
    reader: StretchReader = field(init=False)
    witness: Witness = field(init=False)
    alarmed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.reader = StretchReader(self.source)
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
                await self.catalog.release_lease(LEASE, self.holder)
            except Unavailable as problem:
                log.warning("the lease was not given back", extra={"code": problem.code})

    async def follow_once(self) -> bool:
        """One round, if it is this process's turn; whether it was."""
        if not await self._hold_lease():
            return False
        head = await self.source.head()
        HEAD_BLOCK.set(head.number)
        stand = await self.catalog.stand(self.chain_id)
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

    async def _read(self, first: int, head: BlockMark, final: BlockMark | None) -> bool:
        """Settle these blocks; whether it was this process's turn until the end."""
        async for stretch in self.reader.read(first, head.number, head):
            await self._settle(stretch, head, final)
            if not await self._hold_lease():
                return False
        return True

    async def _settle(self, stretch: Stretch, head: BlockMark, final: BlockMark | None) -> None:
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
        self, known: list[KnownEvent], standing: dict[Identity, PostCreated], head: BlockMark
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

    async def _check_hearsay(self, head: BlockMark) -> None:
        """Look into what only deliveries speak of, once the chain has had time to say it too."""
        confirmed, lost = [], []
        for each in await self.catalog.unconfirmed_events(self.chain_id, UNCONFIRMED_AT_ONCE):
            number = each.event.place.block_number
            due = number is not None and number <= head.number
            if not due and self.clock.now() - each.seen_at <= HEARSAY:
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
        if self.clock.now() - known.seen_at > LONGEST_HEARSAY:
            return True
        return await self.source.head_time() > known.seen_at

    async def _is_replaced(self, kept: BlockMark, head: BlockMark) -> bool:
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

    async def _next_final(self, kept: BlockMark | None, head: BlockMark) -> BlockMark | None:
        deep = head.number - self.reorg_depth
        if deep < self.start_block or (kept is not None and deep <= kept.number):
            return None
        return await self._block_at(deep, head)

    async def _block_at(self, number: int, head: BlockMark) -> BlockMark:
        block = await self.source.block_at(number, head)
        if block is None:
            raise Unavailable.chain()
        return block

    async def _advance(self, step: Advance) -> None:
        settlement = await self.catalog.advance(self.chain_id, step, self.clock.now())
        if step.stand is not None:
            FOLLOWED_BLOCK.set(step.stand.number)
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
        now = self.clock.now()
        until = now + timedelta(seconds=LEASE_SECONDS)
        return await self.catalog.take_lease(LEASE, self.holder, now, until)
