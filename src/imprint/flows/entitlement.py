"""Entitlement: whether the chain lets this reader read this post, asked once for all routes."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from imprint.domain.access import Access, decide_access
from imprint.domain.addresses import Address
from imprint.domain.files import File
from imprint.domain.posts import PostFacts
from imprint.flows.flights import SharedFlights
from imprint.measures import ENTITLEMENTS
from imprint.ports import Clock, MarketplaceReader

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
    _flights: SharedFlights[Key, PostFacts] = field(default_factory=SharedFlights)
    _forgotten: int = 0

    async def decide(self, file: File, post_id: int, reader: Address | None) -> Access | None:
        """How `reader` may read this file as this post; None if the chain's entry disagrees.

        The entry must name the owner as author and the file's own cid: whatever else stands there
        is somebody else's post, or none. Who asks the same at the same time shares an exchange.
        """
        key = (post_id, reader)
        kept = self._grants.get(key)
        if kept is not None and self.clock.now() < kept.until and _describes(kept.facts, file):
            _REMEMBERED.inc()
            return decide_access(kept.facts, reader)
        asked_before = self._flights.is_flying(key)
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
        return await self._flights.join(key, partial(self._fetch, key))

    async def _fetch(self, key: Key) -> PostFacts:
        asked_at, forgotten = self.clock.now(), self._forgotten
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
