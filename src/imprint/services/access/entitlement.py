"""Entitlement: whether a reader may read a post, decided from the chain for every route.

A positive decision is reused for a few seconds (IMPRINT_CHAIN_CACHE_SECONDS, 5 by default) unless a
log that may change it is seen earlier. A negative one is never reused, so that a buyer can read
immediately. The only exception is anonymous requests, which no purchase can entitle. Anonymous
requests may get a negative decision that is up to a second old, so that not every one of them calls
the node. Cache times are measured by a monotonic clock, so setting the machine's clock does not
prolong access.

While the chain is unreachable, pages and feeds rely on the price in the index
(`trusts_index`), for at most an hour, unless this process knows that the chain refused the
post or that its price changed.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial

from imprint.domain.access import Access, decide_access
from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.drafts.files import File
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.marketplace import (
    POST_PRICE_UPDATED,
    POST_SUBSCRIBED,
    TRANSFER,
    Undecodable,
    decode_access_changed,
)
from imprint.domain.posts.posts import BlockRef, PostFacts
from imprint.metrics import ENTITLEMENTS
from imprint.ports import MarketplaceReader, Monotonic
from imprint.services.chain.log_stream import LogReader, LogStream
from imprint.services.tasks.periodic_task import SingleFlight

MAX_GRANTS = 20_000
"""Maximum number of cached positive decisions. The oldest is evicted first."""

MAX_ANONYMOUS = 10_000
"""Maximum number of posts whose on-chain values are cached for anonymous requests.

The oldest entry is evicted first.
"""

ANONYMOUS_TIME = timedelta(seconds=1)
"""How long on-chain values are reused for anonymous requests, unless a new block arrives."""

TRUSTED_TIME = timedelta(hours=1)
"""How long the index is trusted after the last contact with the chain."""

SILENT_TIME = timedelta(seconds=2)
"""How long pages and feeds wait after a failure before they query the chain again."""

LONGEST_GAP = 1_000
"""Number of new blocks above which the watcher clears the cache without reading their logs."""

MOST_CHANGES = 256
"""Number of logs in a round above which the watcher clears the whole cache.

With fewer logs, it checks each of them.
"""

WATCHED = (TRANSFER, POST_SUBSCRIBED, POST_PRICE_UPDATED)
"""The first topics of logs that may change a decision."""

_FROM_CACHE = ENTITLEMENTS.labels("memory")
_FROM_CHAIN = ENTITLEMENTS.labels("chain")

Key = tuple[int, Address | None]
"""A post ID and the address of a reader. The address is None for an anonymous reader."""


@dataclass(frozen=True, slots=True)
class _CachedFacts:
    """On-chain values of a post for one reader, and their expiry on the monotonic clock."""

    facts: PostFacts
    until: float


@dataclass(frozen=True, slots=True)
class AccessDecision:
    """The access of a reader to a post, and the post's price, both as of the same block."""

    access: Access
    price: int


@dataclass(slots=True)
class Entitlement:
    """Decides access to posts. Positive decisions are cached for `cache_time`.

    The cache is per process. `invalidate` is called for the logs in webhook deliveries to this
    process, and by its `EntitlementWatcher`, which reads the logs of every block.
    """

    marketplace: MarketplaceReader
    monotonic: Monotonic
    cache_time: timedelta
    _grants: BoundedCache[Key, _CachedFacts] = field(
        default_factory=lambda: BoundedCache(MAX_GRANTS)
    )
    _readers: dict[int, set[Address | None]] = field(default_factory=dict)
    """Readers in `_grants` by post, so that a price change need not search all of `_grants`."""
    _anonymous: BoundedCache[int, _CachedFacts] = field(
        default_factory=lambda: BoundedCache(MAX_ANONYMOUS)
    )
    _doubtful: BoundedCache[int, None] = field(default_factory=lambda: BoundedCache(MAX_ANONYMOUS))
    """Posts that the index may show as free although they are not."""
    _single_flight: SingleFlight[Key, PostFacts] = field(default_factory=SingleFlight)
    _invalidations: int = 0
    _blocks: int = 0
    _heard_at: float | None = None
    _failed_at: float | None = None

    async def decide(
        self, file: File, post_id: int, reader: Address | None
    ) -> AccessDecision | None:
        """Return the access of `reader` to a post, or None if `file` is not the post's document.

        The chain's entry must name the file's owner as author and contain the file's CID.
        Otherwise, the result is None. Concurrent calls for the same post and reader share one
        request to the chain.
        """
        key = (post_id, reader)
        grant = self._grants.get(key)
        if grant is not None and self.monotonic() < grant.until and _describes(grant.facts, file):
            _FROM_CACHE.inc()
            return AccessDecision(decide_access(grant.facts, reader), grant.facts.entry.price)
        if reader is None and (facts := self._recent_refusal(file, post_id)) is not None:
            _FROM_CACHE.inc()
            return _decide(facts, file, None)
        shared = self._single_flight.is_running(key)
        decision = await self._ask_chain(file, key)
        if shared and (decision is None or decision.access is Access.DENIED):
            # The shared request to the chain began before this call, and the reader may have bought
            # the post since. Any request that is now running for this key began after this call.
            if reader is None and (facts := self._recent_refusal(file, post_id)) is not None:
                return _decide(facts, file, None)
            decision = await self._ask_chain(file, key)
        return decision

    def has_grant(self, post_id: int, reader: Address | None) -> bool:
        """Whether a positive decision about a post is cached. If so, the chain is not queried."""
        grant = self._grants.get((post_id, reader))
        return grant is not None and self.monotonic() < grant.until

    @property
    def is_silent(self) -> bool:
        """Whether the chain has failed to respond in the last few moments."""
        return self._is_recent(self._failed_at, SILENT_TIME)

    def trusts_index(self, post_id: int) -> bool:
        """Whether to show a post that is free in the index while the chain is unreachable."""
        return self._is_recent(self._heard_at, TRUSTED_TIME) and post_id not in self._doubtful

    def note_contact(self) -> None:
        """Record that the chain has responded."""
        self._heard_at, self._failed_at = self.monotonic(), None

    def _is_recent(self, moment: float | None, within: timedelta) -> bool:
        return moment is not None and self.monotonic() - moment < within.total_seconds()

    def invalidate(self, post_id: int, readers: Collection[Address] | None) -> None:
        """Drop the cached decisions about a post for these readers, or for all readers if None."""
        self._invalidations += 1
        self._anonymous.pop(post_id)
        if readers is None:
            self._doubtful.put(post_id, None)
        cached = self._readers.get(post_id)
        if cached is None:
            return
        for reader in tuple(cached) if readers is None else readers:
            if self._grants.pop((post_id, reader)) is not None:
                self._forget_reader((post_id, reader))

    def invalidate_all(self) -> None:
        """Clear the cache of access decisions."""
        self._invalidations += 1
        self._grants.clear()
        self._readers.clear()
        self._anonymous.clear()
        self._heard_at = None

    def on_new_block(self) -> None:
        """Drop the on-chain values cached for anonymous requests. Positive decisions stay
        cached."""
        self._blocks += 1
        self._anonymous.clear()

    def _recent_refusal(self, file: File, post_id: int) -> PostFacts | None:
        """Return the on-chain values cached for anonymous requests if they deny access to this
        file."""
        cached = self._anonymous.get(post_id)
        if cached is None or self.monotonic() >= cached.until:
            return None
        decision = _decide(cached.facts, file, None)
        is_free = decision is not None and decision.access is Access.FREE
        return None if is_free else cached.facts

    async def _ask_chain(self, file: File, key: Key) -> AccessDecision | None:
        facts = await self._single_flight.run(key, partial(self._fetch, key))
        return _decide(facts, file, key[1])

    async def _fetch(self, key: Key) -> PostFacts:
        asked_at, invalidations, blocks = self.monotonic(), self._invalidations, self._blocks
        try:
            facts = await self.marketplace.post_facts(*key)
        except Unavailable:
            self._failed_at = self.monotonic()
            raise
        _FROM_CHAIN.inc()
        self.note_contact()
        # If the cache was invalidated during the request, these facts may be outdated already.
        if invalidations != self._invalidations:
            return facts
        post_id, reader = key
        if facts.entry.price:
            self._doubtful.put(post_id, None)
        else:
            self._doubtful.pop(post_id)
        if self.cache_time and decide_access(facts, reader) is not Access.DENIED:
            self._grant(key, _CachedFacts(facts, asked_at + self.cache_time.total_seconds()))
        if reader is None and blocks == self._blocks:
            until = asked_at + ANONYMOUS_TIME.total_seconds()
            self._anonymous.put(post_id, _CachedFacts(facts, until))
        return facts

    def _grant(self, key: Key, facts: _CachedFacts) -> None:
        self._readers.setdefault(key[0], set()).add(key[1])
        for evicted in self._grants.put(key, facts):
            self._forget_reader(evicted)

    def _forget_reader(self, key: Key) -> None:
        readers = self._readers[key[0]]
        readers.discard(key[1])
        if not readers:
            del self._readers[key[0]]


def _decide(facts: PostFacts, file: File, reader: Address | None) -> AccessDecision | None:
    if not _describes(facts, file):
        return None
    return AccessDecision(decide_access(facts, reader), facts.entry.price)


def _describes(facts: PostFacts, file: File) -> bool:
    entry = facts.entry
    return entry.exists and entry.author == file.owner and entry.cid == file.cid


@dataclass(slots=True)
class EntitlementWatcher:
    """Invalidates cached decisions that new logs may change.

    Each process has a watcher for its own cache.
    """

    stream: LogStream
    entitlement: Entitlement
    reader: LogReader = field(init=False)
    _seen: BlockRef | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.reader = LogReader(self.stream, WATCHED)

    async def run(self) -> None:
        """Watch until cancelled. While no node responds, cached decisions simply expire."""
        await self.reader.run("watcher", self.watch_once, optional=True)

    async def watch_once(self) -> None:
        """Process the blocks since the last round."""
        head = await self.stream.head()
        seen = self._seen
        if seen == head:
            self.entitlement.note_contact()
            return
        self.entitlement.on_new_block()
        if seen is None or head.number - seen.number > LONGEST_GAP:
            self.entitlement.invalidate_all()
        elif not await self.stream.is_canonical(seen, head):
            # A reorg: the logs of the replaced blocks are unknown.
            self.entitlement.invalidate_all()
        else:
            await self._invalidate_changed(seen.number + 1, head)
        self._seen = head
        self.entitlement.note_contact()

    async def _invalidate_changed(self, first: int, head: BlockRef) -> None:
        async for blocks in self.reader.read(first, head, receipts=False):
            if blocks.refused or len(blocks.logs) > MOST_CHANGES:
                self.entitlement.invalidate_all()
                continue
            for each in blocks.logs:
                try:
                    change = decode_access_changed(each.log)
                except Undecodable:
                    self.entitlement.invalidate_all()
                else:
                    self.entitlement.invalidate(change.post_id, change.holders)
