"""Watching: logs that change who may read drop the answers that were kept about it, at once."""

import asyncio
import logging
from dataclasses import dataclass, field

from imprint.domain.marketplace import POST_CREATED, Undecodable, decode_access_changed
from imprint.domain.posts import BlockMark
from imprint.domain.refusals import Unavailable
from imprint.flows.entitlement import Entitlement
from imprint.flows.stretches import StretchReader
from imprint.ports import ChainSource

log = logging.getLogger(__name__)

LONGEST_GAP = 1_000
"""Blocks between two looks after which everything kept is dropped rather than looked through."""


@dataclass(slots=True)
class Watcher:
    """Every process watches for itself, since every process keeps answers of its own."""

    source: ChainSource
    entitlement: Entitlement
    reader: StretchReader = field(init=False)
    _seen: BlockMark | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.reader = StretchReader(self.source)

    async def run(self, interval: float) -> None:
        """Watch for ever. While no node answers, answers grow old and go by themselves."""
        while True:
            try:
                await self.watch_once()
            except Unavailable as problem:
                log.debug("watching put off", extra={"code": problem.code})
            except Exception:  # one bad look must not be the last one
                log.exception("watching failed")
            await asyncio.sleep(interval)

    async def watch_once(self) -> None:
        """Look at the blocks since the last look."""
        head = await self.source.head()
        seen = self._seen
        if seen == head:
            return
        if seen is None or head.number - seen.number > LONGEST_GAP:
            self.entitlement.forget_all()
        elif await self.source.block_at(seen.number, head) != seen:
            # What happened since then happened on a chain that is gone.
            self.entitlement.forget_all()
        else:
            await self._drop_changed(seen.number + 1, head)
        self._seen = head

    async def _drop_changed(self, first: int, head: BlockMark) -> None:
        async for stretch in self.reader.read(first, head.number, head):
            for each in stretch.logs:
                if each.topics[:1] == (POST_CREATED,):
                    continue
                try:
                    change = decode_access_changed(each)
                except Undecodable:
                    self.entitlement.forget_all()
                else:
                    self.entitlement.forget(change.post_id, change.holders)
