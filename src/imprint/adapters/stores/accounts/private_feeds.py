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
        return await self.database.read(_list, owner)

    async def replace_token(self, owner: Address, feed_id: str, token_hash: str) -> bool:
        return await self.database.transact((), _replace_token, owner, feed_id, token_hash)

    async def remove_feed(self, owner: Address, feed_id: str) -> bool:
        return await self.database.transact((), _remove, owner, feed_id)

    async def find_feed(self, token_hash: str) -> PrivateFeed | None:
        return await self.database.read(_find, token_hash)

    async def note_fetch(self, feed_id: str, at: datetime) -> None:
        await self.database.transact((), _note_fetch, feed_id, at, durable=False)


async def _add(tx: Transaction, feed: PrivateFeed, token_hash: str, limit: int) -> bool:
    row = await tx.fetchone(COUNT_FEEDS, owner=feed.owner)
    if row is None or row["feeds"] >= limit:
        return False
    created_at = micros(feed.created_at)
    await tx.execute(
        ADD_FEED, id=feed.id, owner=feed.owner, token=token_hash, created_at=created_at
    )
    return True


async def _list(tx: Transaction, owner: Address) -> list[PrivateFeed]:
    return [_feed(row) for row in await tx.fetchall(LIST_FEEDS, owner=owner)]


async def _replace_token(tx: Transaction, owner: Address, feed_id: str, token_hash: str) -> bool:
    row = await tx.fetchone(REPLACE_TOKEN, id=feed_id, owner=owner, token=token_hash)
    return row is not None


async def _remove(tx: Transaction, owner: Address, feed_id: str) -> bool:
    return await tx.fetchone(REMOVE_FEED, id=feed_id, owner=owner) is not None


async def _find(tx: Transaction, token_hash: str) -> PrivateFeed | None:
    row = await tx.fetchone(FIND_FEED, token=token_hash)
    return None if row is None else _feed(row)


async def _note_fetch(tx: Transaction, feed_id: str, at: datetime) -> None:
    await tx.execute(NOTE_FETCH, id=feed_id, at=micros(at))


def _feed(row: Row) -> PrivateFeed:
    fetched_at = row["fetched_at"]
    return PrivateFeed(
        row["id"],
        Address(row["owner"]),
        moment_of(row["created_at"]),
        None if fetched_at is None else moment_of(fetched_at),
    )
