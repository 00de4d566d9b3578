"""Entitlement: whether a reader may read a post, decided from the chain for every route.

A positive decision is reused for a few seconds (IMPRINT_CHAIN_CACHE_SECONDS, 5 by default) unless
a log that may change it is seen earlier; a negative one is never reused, so that a buyer can read
at once.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from imprint.domain.access import Access, decide_access
from imprint.domain.addresses import Address
from imprint.domain.files import File
from imprint.domain.marketplace import POST_CREATED, Undecodable, decode_access_changed
from imprint.domain.posts import BlockRef, PostFacts
from imprint.metrics import ENTITLEMENTS
from imprint.ports import ChainReader, Clock, MarketplaceReader
from imprint.services.block_ranges import BlockRangeReader
from imprint.services.periodic_task import run_periodically
from imprint.services.single_flight import SingleFlight

MAX_GRANTS = 20_000
"""How many positive decisions are cached; the oldest is evicted first."""

LONGEST_GAP = 1_000
"""Blocks between two rounds of the watcher above which it clears the cache without reading them."""

_FROM_CACHE = ENTITLEMENTS.labels("memory")
_FROM_CHAIN = ENTITLEMENTS.labels("chain")

Key = tuple[int, Address | None]
"""A post id and its reader; None is a reader without an address."""


@dataclass(frozen=True, slots=True)
class _Grant:
    """Facts that entitle the reader, and when they expire."""

    facts: PostFacts
    until: datetime


@dataclass(slots=True)
class Entitlement:
    """Access decisions; positive ones are cached for `cache_time`."""

    marketplace: MarketplaceReader
    clock: Clock
    cache_time: timedelta
    _grants: dict[Key, _Grant] = field(default_factory=dict)
    _single_flight: SingleFlight[Key, PostFacts] = field(default_factory=SingleFlight)
    _invalidations: int = 0

    async def decide(self, file: File, post_id: int, reader: Address | None) -> Access | None:
        """How `reader` may read this file as this post; None if the chain's entry disagrees.

        The entry must name the owner as author and the file's own cid: any other entry is somebody
        else's post, or no post. Concurrent calls for the same post and reader share one exchange
        with the chain.
        """
        key = (post_id, reader)
        grant = self._grants.get(key)
        if grant is not None and self.clock() < grant.until and _describes(grant.facts, file):
            _FROM_CACHE.inc()
            return decide_access(grant.facts, reader)
        shared = self._single_flight.is_running(key)
        access = await self._ask_chain(file, key)
        if shared and access in (None, Access.DENIED):
            # That exchange began before this request, and the reader may have bought in between.
            # An exchange that runs for this key now began after this request.
            access = await self._ask_chain(file, key)
        return access

    def invalidate(self, post_id: int, readers: Collection[Address] | None) -> None:
        """Drop what is cached about a post: for these readers, or for all of them."""
        self._invalidations += 1
        if readers is None:
            stale = [key for key in self._grants if key[0] == post_id]
        else:
            stale = [(post_id, reader) for reader in readers]
        for key in stale:
            self._grants.pop(key, None)

    def invalidate_all(self) -> None:
        """Drop everything that is cached."""
        self._invalidations += 1
        self._grants.clear()

    async def _ask_chain(self, file: File, key: Key) -> Access | None:
        facts = await self._single_flight.run(key, partial(self._fetch, key))
        return decide_access(facts, key[1]) if _describes(facts, file) else None

    async def _fetch(self, key: Key) -> PostFacts:
        asked_at, invalidations = self.clock(), self._invalidations
        facts = await self.marketplace.post_facts(*key)
        _FROM_CHAIN.inc()
        granted = decide_access(facts, key[1]) is not Access.DENIED
        # An invalidation during the exchange may concern the facts that were returned.
        if granted and self.cache_time and invalidations == self._invalidations:
            self._grants.pop(key, None)
            self._grants[key] = _Grant(facts, asked_at + self.cache_time)
            if len(self._grants) > MAX_GRANTS:
                del self._grants[next(iter(self._grants))]
        return facts


def _describes(facts: PostFacts, file: File) -> bool:
    entry = facts.entry
    return entry.exists and entry.author == file.owner and entry.cid == file.cid


@dataclass(slots=True)
class EntitlementWatcher:
    """Invalidates cached decisions that new logs may change, in every process for its own cache."""

    chain: ChainReader
    entitlement: Entitlement
    reader: BlockRangeReader = field(init=False)
    _seen: BlockRef | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.reader = BlockRangeReader(self.chain)

    async def run(self, interval: float) -> None:
        """Watch until cancelled. While no node responds, cached decisions expire by themselves."""
        await run_periodically("watcher", self.watch_once, interval, optional=True)

    async def watch_once(self) -> None:
        """Read the blocks since the last round."""
        head = await self.chain.head()
        seen = self._seen
        if seen == head:
            return
        if seen is None or head.number - seen.number > LONGEST_GAP:
            self.entitlement.invalidate_all()
        elif await self.chain.block_at(seen.number, head) != seen:
            # A reorg: the logs of the replaced blocks are not known.
            self.entitlement.invalidate_all()
        else:
            await self._invalidate_changed(seen.number + 1, head)
        self._seen = head

    async def _invalidate_changed(self, first: int, head: BlockRef) -> None:
        async for blocks in self.reader.read(first, head.number, head):
            for each in blocks.logs:
                if each.topics[:1] == (POST_CREATED,):
                    continue
                try:
                    change = decode_access_changed(each)
                except Undecodable:
                    self.entitlement.invalidate_all()
                else:
                    self.entitlement.invalidate(change.post_id, change.holders)
