"""`WritingSessionStore`, `ProfileStore` and `PrivateFeeds` in the database."""

from dataclasses import dataclass
from datetime import datetime

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import (
    Row,
    Transaction,
    Value,
    micros,
    moment_of,
    owner_lock,
    write_locks,
)
from imprint.adapters.stores.files import count_usage, detach, reattach
from imprint.adapters.stores.profiles import (
    FIND_PROFILE,
    is_damaged_profile,
    profile_of,
    store_profile,
)
from imprint.adapters.stores.signed_writes import end_intent, refuse_spent, spend_nonce
from imprint.domain.drafts.files import Action, Intent, Network, Write
from imprint.domain.errors import Damaged
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.profiles import AvatarChange, Profile, ProfileUpdate
from imprint.domain.sessions import OPENING, WritingSession
from imprint.ports.accounts import PrivateFeed

# Writing sessions

_COLUMNS = """
SELECT id, wallet, public_key, actions, not_before, expires_at, created_at FROM writing_sessions"""

REMOVE_EXPIRED = "DELETE FROM writing_sessions WHERE wallet = :wallet AND expires_at <= :now"

COUNT_SESSIONS = "SELECT count(*) AS sessions FROM writing_sessions WHERE wallet = :wallet"

ADD_SESSION = """
INSERT INTO writing_sessions (id, wallet, public_key, actions, not_before, expires_at, created_at)
VALUES (:id, :wallet, :public_key, :actions, :not_before, :expires_at, :created_at)"""

LIST_SESSIONS = _COLUMNS + " WHERE wallet = :wallet AND expires_at > :now ORDER BY created_at, id"

FIND_SESSION = _COLUMNS + " WHERE id = :id"

REVOKE_SESSION = "DELETE FROM writing_sessions WHERE id = :id AND wallet = :wallet RETURNING id"

REVOKE_SESSIONS = "DELETE FROM writing_sessions WHERE wallet = :wallet"


@dataclass(frozen=True, slots=True)
class SqlWritingSessions:
    """Writing sessions of all wallets."""

    database: Database

    async def add_session(self, session: WritingSession, nonce: str, limit: int) -> bool:
        locks = owner_lock(session.wallet)
        return await self.database.transact(locks, _add_session, session, nonce, limit)

    async def check_nonce(self, wallet: Address, nonce: str) -> None:
        await self.database.read(refuse_spent, wallet, nonce)

    async def list_sessions(self, wallet: Address, now: datetime) -> list[WritingSession]:
        values: dict[str, Value] = {"wallet": wallet, "now": micros(now)}
        return await self.database.fetch(_session, LIST_SESSIONS, values)

    async def find_session(self, session_id: str) -> WritingSession | None:
        found = await self.database.fetch(_session, FIND_SESSION, {"id": session_id})
        return found[0] if found else None

    async def revoke_session(self, wallet: Address, session_id: str) -> bool:
        return await self.database.change(REVOKE_SESSION, {"id": session_id, "wallet": wallet})

    async def revoke_sessions(self, wallet: Address) -> None:
        # Runs under the lock of `add_session`, so that sessions added later are not revoked.
        await self.database.change(REVOKE_SESSIONS, {"wallet": wallet}, locks=owner_lock(wallet))


async def _add_session(tx: Transaction, session: WritingSession, nonce: str, limit: int) -> bool:
    await refuse_spent(tx, session.wallet, nonce)
    now = micros(session.created_at)
    await tx.execute(REMOVE_EXPIRED, wallet=session.wallet, now=now)
    (row,) = await tx.fetchall(COUNT_SESSIONS, wallet=session.wallet)
    if row["sessions"] >= limit:
        return False
    await tx.execute(
        ADD_SESSION,
        id=session.id,
        wallet=session.wallet,
        public_key=session.public_key,
        actions=",".join(session.actions),
        not_before=micros(session.not_before),
        expires_at=micros(session.expires_at),
        created_at=now,
    )
    opened_at = session.created_at
    await spend_nonce(tx, session.wallet, nonce, opened_at, action=OPENING, file_id=None)
    return True


def _session(row: Row) -> WritingSession:
    try:
        actions = tuple(map(Action, row["actions"].split(",")))
    except ValueError as error:
        raise Damaged.record(f"writing session {row['id']}") from error
    return WritingSession(
        row["id"],
        Address(row["wallet"]),
        bytes(row["public_key"]),
        actions,
        moment_of(row["not_before"]),
        moment_of(row["expires_at"]),
        moment_of(row["created_at"]),
    )


# Profiles


@dataclass(frozen=True, slots=True)
class SqlProfileStore:
    """The profiles of all authors."""

    database: Database

    async def save_profile(self, update: ProfileUpdate, intent: Intent | None) -> Profile:
        locks = write_locks(update.write, intent)
        return await self.database.transact(locks, _save_update, update, intent)


async def _save_update(tx: Transaction, update: ProfileUpdate, intent: Intent | None) -> Profile:
    write = update.write
    await refuse_spent(tx, write.signer, write.nonce)
    row = await tx.fetchone(FIND_PROFILE, address=write.signer)
    avatar, size = await _change_avatar(tx, update, intent, row)
    saved = Profile(write.signer, update.texts, avatar, write.at)
    await store_profile(tx, saved, size)
    action = write.action.value
    await spend_nonce(tx, write.signer, write.nonce, write.at, action=action, file_id=None)
    return saved


async def _change_avatar(
    tx: Transaction, update: ProfileUpdate, intent: Intent | None, row: Row | None
) -> tuple[Cid | None, int]:
    """The new picture of a profile, and its size in bytes. Raises `Damaged` if the picture of a
    damaged profile is to be kept."""
    if update.avatar is AvatarChange.KEEP:
        return (None, 0) if row is None else (profile_of(row).avatar_cid, row["avatar_size"])
    avatar, size = None, 0
    if intent is not None:
        await end_intent(tx, intent)
        avatar, size = intent.cid, intent.size
    if row is not None and not is_damaged_profile(row):
        await _drop_avatar(tx, row, update.write, avatar)
    if avatar is not None:
        await reattach(tx, avatar, Network.PUBLIC)
    return avatar, size


async def _drop_avatar(tx: Transaction, row: Row, write: Write, successor: Cid | None) -> None:
    """Detach a profile's old picture, unless the new profile has the same picture."""
    old, size = row["avatar_cid"], row["avatar_size"]
    if old is None:
        return
    if old == successor:
        # The picture was already counted, and the intent reserved its bytes a second time.
        await count_usage(tx, write.signer, -size)
        return
    await detach(tx, old, Network.PUBLIC, write.signer, size, micros(write.at))


# Private feeds

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
    """Private feeds of all readers. Nothing is cached, so that a replaced token is refused at
    once."""

    database: Database

    async def add_feed(self, feed: PrivateFeed, token_hash: str, limit: int) -> bool:
        locks = owner_lock(feed.owner)
        return await self.database.transact(locks, _add_feed, feed, token_hash, limit)

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


async def _add_feed(tx: Transaction, feed: PrivateFeed, token_hash: str, limit: int) -> bool:
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
