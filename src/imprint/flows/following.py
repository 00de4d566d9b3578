"""Following: the chain read by ourselves, so that no lost delivery and no reorg changes the truth.

Each round reads the last blocks again, as many as a reorg may replace. An event that stands there
is settled, whoever else brought it or did not; an event that we count as canonical and that does
not stand there is undone. Below that depth everything is final: if even a final block is another
one now, that is an alarm for people, and nothing that is final changes by itself.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from uuid import uuid4

from imprint.domain.marketplace import POST_CREATED, Log, Undecodable, decode_post_created
from imprint.domain.posts import (
    Advance,
    BlockMark,
    DeadLetter,
    EventStatus,
    KnownEvent,
    LogPlace,
    PostCreated,
)
from imprint.domain.refusals import Unavailable
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

UNCONFIRMED_AT_ONCE = 500
"""How many events of deliveries one round looks into."""

Progress = Callable[[int, int], None]
"""Told after each stretch: the block reached, and the last one."""

GoOn = Callable[[int, int], Awaitable[bool]]
"""Asked after each stretch whether to read the next."""


@dataclass(slots=True)
class Follower:
    """Keeps the catalog at what the canonical chain says."""

    source: ChainSource
    catalog: Catalog
    clock: Clock
    chain_id: int
    start_block: int
    reorg_depth: int
    holder: str = field(default_factory=lambda: uuid4().hex)
    reader: StretchReader = field(init=False)
    alarmed: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self.reader = StretchReader(self.source)

    async def run(self, interval: float) -> None:
        """Follow for ever; gives the lease back at the end."""
        try:
            while True:
                try:
                    await self.follow_once()
                except Unavailable as problem:
                    CHORES_PUT_OFF.labels("follower").inc()
                    log.warning("following put off", extra={"code": problem.code})
                await asyncio.sleep(interval)
        finally:
            await self.catalog.release_lease(LEASE, self.holder)

    async def follow_once(self) -> bool:
        """One round, if it is this process's turn; whether it was."""
        if not await self._hold_lease():
            return False
        head = await self.source.head()
        HEAD_BLOCK.set(head.number)
        stand = await self.catalog.stand(self.chain_id)
        final = await self._check_final(head)
        if stand is None:
            await self._read(self.start_block, head, final, self._still_ours)
        elif stand != head or final is not None:
            # A node that is behind what was read before has less to read again.
            first = min(stand.number, head.number) - self.reorg_depth + 1
            await self._read(max(first, self.start_block), head, final, self._still_ours)
        await self._check_hearsay(head)
        return True

    async def rebuild(self, first: int, progress: Progress) -> None:
        """Read everything from `first` on again, whatever is final, and make the catalog agree.

        It may run beside a follower: both say what the chain says.
        """

        async def go_on(reached: int, last: int) -> bool:
            progress(reached, last)
            return True

        head = await self.source.head()
        final = await self._block_at(max(0, head.number - self.reorg_depth))
        await self._read(first, head, final, go_on)
        self.alarmed = False

    async def _read(
        self, first: int, head: BlockMark, final: BlockMark | None, go_on: GoOn
    ) -> None:
        async for stretch in self.reader.read(first, head.number):
            at_head = stretch.last == head.number
            end = head if at_head else await self._block_at(stretch.last)
            await self._settle(stretch, end, final if at_head else None)
            if not await go_on(stretch.last, head.number):
                return

    async def _settle(self, stretch: Stretch, end: BlockMark, final: BlockMark | None) -> None:
        events, dead_letters = read_events(stretch.logs)
        standing = {identity(event.place) for event in events}
        known = await self.catalog.known_events(self.chain_id, stretch.first, stretch.last)
        suspects = [each.event.place for each in known]
        lost = await self._lost(place for place in suspects if identity(place) not in standing)
        settled = {identity(each.event.place) for each in known if each.confirmed}
        news = tuple(event for event in events if identity(event.place) not in settled)
        step = Advance(end, final, news, dead_letters, lost)
        settlement = await self.catalog.advance(self.chain_id, step, self.clock.now())
        FOLLOWED_BLOCK.set(end.number)
        self._report(step, settlement.statuses)

    async def _lost(self, suspects: Iterable[LogPlace]) -> tuple[LogPlace, ...]:
        """Those that the chain denies when it is asked for their very block."""
        return tuple([place for place in suspects if not await self._stands(place)])

    async def _stands(self, place: LogPlace) -> bool:
        logs = await self.source.logs_of_block(place.block_hash)
        if not logs or identity(place) not in {identity(each.place) for each in logs}:
            return False
        number = logs[0].place.block_number
        canonical = None if number is None else await self.source.block_at(number)
        return canonical is not None and canonical.block_hash == place.block_hash

    async def _check_hearsay(self, head: BlockMark) -> None:
        """Look into what only deliveries speak of, once the chain has had time to say it too."""
        now = self.clock.now()
        doubtful = [
            each.event
            for each in await self.catalog.unconfirmed_events(self.chain_id, UNCONFIRMED_AT_ONCE)
            if _is_due(each, head) or now - each.seen_at > HEARSAY
        ]
        if not doubtful:
            return
        confirmed = tuple([event for event in doubtful if await self._stands(event.place)])
        lost = tuple(event.place for event in doubtful if event not in confirmed)
        step = Advance(head, None, confirmed, (), lost)
        settlement = await self.catalog.advance(self.chain_id, step, now)
        self._report(step, settlement.statuses)

    async def _check_final(self, head: BlockMark) -> BlockMark | None:
        """The next final block, if there is one; the last one is looked at again, and if it has
        been replaced it stays, with the alarm, until people have seen to it."""
        kept = await self.catalog.final_block(self.chain_id)
        if kept is not None:
            canonical = await self.source.block_at(kept.number)
            self.alarmed = canonical is not None and canonical != kept
        DEEP_REORG.set(self.alarmed)
        if self.alarmed:
            log.critical(
                "the chain was reorganized deeper than the configured depth; "
                "run 'imprint reconcile --from-block' with a block before it",
                extra={"block": kept and kept.number, "depth": self.reorg_depth},
            )
            return None
        deep = head.number - self.reorg_depth
        if deep < self.start_block or (kept is not None and deep <= kept.number):
            return None
        return await self.source.block_at(deep)

    async def _block_at(self, number: int) -> BlockMark:
        block = await self.source.block_at(number)
        if block is None:
            raise Unavailable.chain()
        return block

    async def _still_ours(self, reached: int, last: int) -> bool:
        if reached < last:
            log.info("blocks read", extra={"reached": reached, "last": last})
        return await self._hold_lease()

    async def _hold_lease(self) -> bool:
        now = self.clock.now()
        until = now + timedelta(seconds=LEASE_SECONDS)
        return await self.catalog.take_lease(LEASE, self.holder, now, until)

    def _report(self, step: Advance, statuses: tuple[EventStatus, ...]) -> None:
        for event, status in zip(step.events, statuses, strict=True):
            EVENTS.labels("follower", status.value).inc()
            log.info("event followed", extra={"post_id": str(event.post_id), "status": status})
        for place in step.lost:
            EVENTS_UNDONE.inc()
            log.warning("event undone", extra={"block": place.block_number})


def _is_due(known: KnownEvent, head: BlockMark) -> bool:
    number = known.event.place.block_number
    return number is not None and number <= head.number


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


def identity(place: LogPlace) -> tuple[str, int]:
    """What makes a log of one chain the same log."""
    return place.block_hash, place.log_index
