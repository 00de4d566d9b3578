"""Totals of the marketplace and of one address, and when an address published and bought."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from imprint.domain.formats.addresses import Address
from imprint.domain.posts.indexed_posts import AccountSummary, MarketTotals, Sales
from imprint.ports import Clock
from imprint.ports.post_index import PostIndexReader
from imprint.services.posts.posts import expect_complete

ACTIVITY_PERIOD = timedelta(days=366)
"""How far back the timestamps of an address are shown."""

MAX_MOMENTS = 10_000
"""How many timestamps of each kind are shown; the oldest are left out."""

_NOTHING = Sales(0, 0)


@dataclass(frozen=True, slots=True)
class Activity:
    """When an address published, and when it bought, each in order."""

    published: list[datetime]
    bought: list[datetime]


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums from the index of posts, for display only."""

    index: PostIndexReader
    clock: Clock

    async def market(self) -> MarketTotals:
        """The totals of the marketplace. Raises `Unavailable` while the index is incomplete."""
        await expect_complete(self.index)
        return await self.index.totals()

    async def account(self, address: Address) -> AccountSummary:
        """The totals of an address, zeros if it did nothing.

        Raises `Unavailable` if an incomplete index does not know the address.
        """
        found = await self.index.account(address)
        if found is not None:
            return found
        await expect_complete(self.index)
        return AccountSummary(address, 0, None, None, _NOTHING, 0, 0, _NOTHING, 0)

    async def activity(self, address: Address) -> Activity:
        """The newest moments at which an address published and bought.

        Raises `Unavailable` if there are none in an incomplete index.
        """
        since = self.clock() - ACTIVITY_PERIOD
        published = await self.index.post_times(address, since, MAX_MOMENTS)
        bought = await self.index.purchase_times(address, since, MAX_MOMENTS)
        if not published and not bought:
            await expect_complete(self.index)
        return Activity(published, bought)
