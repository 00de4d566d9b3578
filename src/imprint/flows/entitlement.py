"""Entitlement: whether the chain lets this reader read this post, asked once for all routes."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from imprint.domain.access import Access, decide_access
from imprint.domain.addresses import Address
from imprint.domain.files import File
from imprint.domain.posts import PostFacts
from imprint.ports import Clock, MarketplaceReader

MAX_REMEMBERED = 50_000
"""How many positive answers are kept; the oldest go first."""


@dataclass(slots=True)
class Entitlement:
    """Access decisions; a yes is kept for `keep`, a no never, so that a buyer reads at once."""

    marketplace: MarketplaceReader
    clock: Clock
    keep: timedelta
    _granted: dict[tuple[int, Address | None], tuple[Access, str, datetime]] = field(
        default_factory=dict
    )

    async def decide(self, file: File, post_id: int, reader: Address | None) -> Access | None:
        """How `reader` may read this file as this post; None if the chain's entry disagrees.

        The entry must name the owner as author and the file's own cid: whatever else stands there
        is somebody else's post, or none.
        """
        key = (post_id, reader)
        kept = self._granted.get(key)
        now = self.clock.now()
        if kept is not None and kept[1] == file.cid and now < kept[2]:
            return kept[0]
        facts = await self.marketplace.post_facts(post_id, reader)
        if not _describes(facts, file):
            return None
        access = decide_access(facts, reader)
        if access is not Access.DENIED and self.keep:
            self._granted.pop(key, None)
            self._granted[key] = (access, file.cid, now + self.keep)
            if len(self._granted) > MAX_REMEMBERED:
                del self._granted[next(iter(self._granted))]
        return access


def _describes(facts: PostFacts, file: File) -> bool:
    entry = facts.entry
    return entry.exists and entry.author == file.owner and entry.cid == file.cid
