"""Entitlement: whether the chain lets this reader read this post, asked once for all routes."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from imprint.domain.access import Access, decide_access
from imprint.domain.addresses import Address
from imprint.domain.cids import Cid
from imprint.domain.files import File
from imprint.domain.posts import PostFacts
from imprint.measures import ENTITLEMENTS
from imprint.ports import Clock, MarketplaceReader

MAX_GRANTS = 20_000
"""How many answers are kept; the oldest go first."""


@dataclass(frozen=True, slots=True)
class _Grant:
    """A yes that was given, for which file, and until when it is believed."""

    access: Access
    cid: Cid
    until: datetime


@dataclass(slots=True)
class Entitlement:
    """Access decisions; a yes is kept for `keep`, a no never, so that a buyer reads at once."""

    marketplace: MarketplaceReader
    clock: Clock
    keep: timedelta
    _grants: dict[tuple[int, Address | None], _Grant] = field(default_factory=dict)
    _forgotten: int = 0

    async def decide(self, file: File, post_id: int, reader: Address | None) -> Access | None:
        """How `reader` may read this file as this post; None if the chain's entry disagrees.

        The entry must name the owner as author and the file's own cid: whatever else stands there
        is somebody else's post, or none.
        """
        kept = self._grants.get((post_id, reader))
        if kept is not None and kept.cid == file.cid and self.clock.now() < kept.until:
            ENTITLEMENTS.labels("memory").inc()
            return kept.access
        ENTITLEMENTS.labels("chain").inc()
        asked_at, forgotten = self.clock.now(), self._forgotten
        facts = await self.marketplace.post_facts(post_id, reader)
        if not _describes(facts, file):
            return None
        access = decide_access(facts, reader)
        # What was forgotten while the chain was asked may be what it answered.
        if access is not Access.DENIED and self.keep and forgotten == self._forgotten:
            self._remember((post_id, reader), _Grant(access, file.cid, asked_at + self.keep))
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

    def _remember(self, key: tuple[int, Address | None], grant: _Grant) -> None:
        self._grants.pop(key, None)
        self._grants[key] = grant
        if len(self._grants) > MAX_GRANTS:
            del self._grants[next(iter(self._grants))]


def _describes(facts: PostFacts, file: File) -> bool:
    entry = facts.entry
    return entry.exists and entry.author == file.owner and entry.cid == file.cid
