"""Entitlement: whether the chain lets this reader read this post, asked once for all routes."""

import asyncio
import logging
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from imprint.domain.access import Access, decide_access
from imprint.domain.addresses import Address
from imprint.domain.errors import Unavailable
from imprint.domain.files import File
from imprint.domain.marketplace import POST_CREATED, Undecodable, decode_access_changed
from imprint.domain.posts import BlockRef, PostFacts
from imprint.metrics import ENTITLEMENTS
from imprint.ports import ChainReader, Clock, MarketplaceReader
from imprint.services.block_ranges import BlockRangeReader
from imprint.services.single_flight import SingleFlight

MAX_GRANTS = 20_000
"""How many answers are kept; the oldest go first."""

_REMEMBERED = ENTITLEMENTS.labels("memory")
_ASKED = ENTITLEMENTS.labels("chain")

Key = tuple[int, Address | None]
"""A post id, and who wants to read it; None is nobody in particular."""


@dataclass(frozen=True, slots=True)
class _Grant:
    """Facts that let the reader in, and until when they are believed."""

    facts: PostFacts
    until: datetime


@dataclass(slots=True)
class Entitlement:
    """Access decisions; a yes is kept for `keep`, a no never, so that a buyer reads at once."""

    marketplace: MarketplaceReader
    clock: Clock
    keep: timedelta
    _grants: dict[Key, _Grant] = field(default_factory=dict)
    _single_flight: SingleFlight[Key, PostFacts] = field(default_factory=SingleFlight)
    _forgotten: int = 0

    async def decide(self, file: File, post_id: int, reader: Address | None) -> Access | None:
        """How `reader` may read this file as this post; None if the chain's entry disagrees.

        The entry must name the owner as author and the file's own cid: whatever else stands there
        is somebody else's post, or none. Who asks the same at the same time shares an exchange.
        """
        key = (post_id, reader)
        kept = self._grants.get(key)
        if kept is not None and self.clock() < kept.until and _describes(kept.facts, file):
            _REMEMBERED.inc()
            return decide_access(kept.facts, reader)
        asked_before = self._single_flight.is_running(key)
        access = _judge(await self._ask(key), file, reader)
        if asked_before and access in (None, Access.DENIED):
            # That question was older than this reader's, who may have bought in between. What
            # flies for this key now, if anything, began after it.
            access = _judge(await self._ask(key), file, reader)
        return access

    def forget(self, post_id: int, readers: Collection[Address] | None) -> None:
        """Drop what is kept about a post: for these readers, or for all of them."""
        self._forgotten += 1
        if readers is None:
            stale = [key for key in self._grants if key[0] == post_id]
        else:
            stale = [(post_id, reader) for reader in readers]
        for key in stale:
            self._grants.pop(key, None)

    def forget_all(self) -> None:
        """Drop everything that is kept."""
        self._forgotten += 1
        self._grants.clear()

    async def _ask(self, key: Key) -> PostFacts:
        return await self._single_flight.run(key, partial(self._fetch, key))

    async def _fetch(self, key: Key) -> PostFacts:
        asked_at, forgotten = self.clock(), self._forgotten
        facts = await self.marketplace.post_facts(*key)
        _ASKED.inc()
        # What was forgotten while the chain was asked may be what it answered.
        granted = decide_access(facts, key[1]) is not Access.DENIED
        if granted and self.keep and forgotten == self._forgotten:
            self._remember(key, _Grant(facts, asked_at + self.keep))
        return facts

    def _remember(self, key: Key, grant: _Grant) -> None:
        self._grants.pop(key, None)
        self._grants[key] = grant
        if len(self._grants) > MAX_GRANTS:
            del self._grants[next(iter(self._grants))]


def _judge(facts: PostFacts, file: File, reader: Address | None) -> Access | None:
    return decide_access(facts, reader) if _describes(facts, file) else None


def _describes(facts: PostFacts, file: File) -> bool:
    entry = facts.entry
    return entry.exists and entry.author == file.owner and entry.cid == file.cid


log = logging.getLogger(__name__)

LONGEST_GAP = 1_000
"""Blocks between two looks after which everything kept is dropped rather than looked through."""


@dataclass(slots=True)
class EntitlementWatcher:
    """Every process watches for itself, since every process keeps answers of its own."""

    source: ChainReader
    entitlement: Entitlement
    reader: BlockRangeReader = field(init=False)
    _seen: BlockRef | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.reader = BlockRangeReader(self.source)

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

    async def _drop_changed(self, first: int, head: BlockRef) -> None:
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
