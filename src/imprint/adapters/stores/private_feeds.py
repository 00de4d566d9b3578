"""`PrivateFeeds` in the database."""

from dataclasses import dataclass
from datetime import datetime

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import Row, Transaction, micros, moment_of, owner_lock
from imprint.domain.formats.addresses import Address
from imprint.ports.private_feeds import PrivateFeed

COUNT_FEEDS = "SELECT count(*) AS feeds FROM private_feeds WHERE owner = :owner"

ADD_FEED = """
INSERT INTO private_feeds (id, owner, token, created_at, fetched_at)
VALUES (:id, :owner, :token, :created_at, NULL)"""

LIST_FEEDS = """
SELECT id, owner, created_at, fetched_at FROM private_feeds
WHERE owner = :owner ORDER BY created_at, id"""

FIND_FEED = """
SELECT id, owner, created_at, fetched_at FROM private_feeds WHERE token = :token"""

REPLACE_TOKEN = """
UPDATE private_feeds SET token = :token WHERE id = :id AND owner = :owner RETURNING id"""

REMOVE_FEED = "DELETE FROM private_feeds WHERE id = :id AND owner = :owner RETURNING id"

NOTE_FETCH = "UPDATE private_feeds SET fetched_at = :at WHERE id = :id"


@dataclass(frozen=True, slots=True)
class SqlPrivateFeeds:
    """The private feeds of all readers. Nothing is cached: a replaced token is refused at once."""

    database: Database

    async def add_feed(self, feed: PrivateFeed, token_hash: str, limit: int) -> bool:
        locks = owner_lock(feed.owner)
        return await self.database.transact(locks, _add, feed, token_hash, limit)

    async def list_feeds(self, owner: Address) -> list[PrivateFeed]:
        return await self.database.fetch(_feed, LIST_FEEDS, {"owner": owner})

    async def replace_token(self, owner: Address, feed_id: str, token_hash: str) -> bool:
        values = {"id": feed_id, "owner": owner, "token": token_hash}
        return await self.database.change(REPLACE_TOKEN, values)

    async def remove_feed(self, owner: Address, feed_id: str) -> bool:
        return await self.database.change(REMOVE_FEED, {"id": feed_id, "owner": owner})

    async def find_feed(self, token_hash: str) -> PrivateFeed | None:
        found = await self.database.fetch(_feed, FIND_FEED, {"token": token_hash})
        return found[0] if found else None

    async def note_fetch(self, feed_id: str, at: datetime) -> None:
        await self.database.change(NOTE_FETCH, {"id": feed_id, "at": micros(at)}, durable=False)


async def _add(tx: Transaction, feed: PrivateFeed, token_hash: str, limit: int) -> bool:
    row = await tx.fetchone(COUNT_FEEDS, owner=feed.owner)
    if row is None or row["feeds"] >= limit:
        return False
    created_at = micros(feed.created_at)
    await tx.execute(
        ADD_FEED, id=feed.id, owner=feed.owner, token=token_hash, created_at=created_at
    )
    return True


def _feed(row: Row) -> PrivateFeed:
    fetched_at = row["fetched_at"]
    return PrivateFeed(
        row["id"],
        Address(row["owner"]),
        moment_of(row["created_at"]),
        None if fetched_at is None else moment_of(fetched_at),
    )
