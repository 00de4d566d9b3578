"""`FeedIndex` in the database."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import Transaction, moment_of
from imprint.adapters.stores.posts.index_reader import refuse_damaged_index
from imprint.domain.posts.feeds import FEED_SIZE
from imprint.ports.post_index import PostAddress

_IDS = ", ".join(f":id{number}" for number in range(FEED_SIZE))

PRICE_CHANGES = f"""
SELECT p.post_id,
       (SELECT c.at FROM price_changes c WHERE c.post_id = p.post_id ORDER BY c.place DESC LIMIT 1)
       AS at
FROM posts p WHERE p.post_id IN ({_IDS})"""  # noqa: S608
"""The last change of each price, however many there are: anybody can change theirs all day.

The same text for any number of posts, so that a database prepares it once."""

PLACE_AFTER = """
SELECT place FROM posts WHERE place > :after ORDER BY place LIMIT 1 OFFSET :skipped"""

ADDRESSES = """
SELECT place, post_id, created_at FROM posts WHERE place > :after ORDER BY place LIMIT :limit"""


@dataclass(frozen=True, slots=True)
class SqlFeedIndex:
    """The dates and places of posts."""

    database: Database

    async def price_changes(self, post_ids: Sequence[int]) -> Mapping[int, datetime]:
        if not post_ids:
            return {}
        refuse_damaged_index(self.database)
        return await self.database.read(_price_changes, tuple(post_ids))

    async def place_after(self, after: int, count: int) -> int | None:
        refuse_damaged_index(self.database)
        return await self.database.read(_place_after, after, count, reach=count)

    async def addresses(self, after: int, limit: int) -> list[PostAddress]:
        refuse_damaged_index(self.database)
        return await self.database.read(_addresses, after, limit, reach=limit)


async def _price_changes(tx: Transaction, post_ids: tuple[int, ...]) -> dict[int, datetime]:
    padded = post_ids + post_ids[-1:] * (FEED_SIZE - len(post_ids))
    values = {f"id{number}": str(post_id) for number, post_id in enumerate(padded)}
    rows = await tx.fetchall(PRICE_CHANGES, **values)
    return {int(row["post_id"]): moment_of(row["at"]) for row in rows if row["at"] is not None}


async def _place_after(tx: Transaction, after: int, count: int) -> int | None:
    row = await tx.fetchone(PLACE_AFTER, after=after, skipped=count - 1)
    return None if row is None else row["place"]


async def _addresses(tx: Transaction, after: int, limit: int) -> list[PostAddress]:
    return [
        PostAddress(row["place"], int(row["post_id"]), moment_of(row["created_at"]))
        for row in await tx.fetchall(ADDRESSES, after=after, limit=limit)
    ]
