"""Installation stores: identity, usage, keys, leases, and state for the operator's page."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from imprint.adapters.database.database import UNKNOWN_REACH, Database
from imprint.adapters.database.transaction import (
    Row,
    Sql,
    Transaction,
    Value,
    by_server_time,
    micros,
    moment_of,
)
from imprint.adapters.stores.publication import (
    DEAD_LETTERS,
    EVENTS_OF_STATUS,
    known_event_of,
    letter_of,
)
from imprint.domain.formats.cids import Cid
from imprint.domain.installation import Identity
from imprint.domain.posts.posts import EventStatus
from imprint.ports.installation import DatabaseFacts, EventsToExamine, KeyRecord, Lease, Usage

NOTE_CLAIM = "UPDATE installation SET claimed = 1 WHERE only_row = 1"
RENAME_INSTALLATION = """
UPDATE installation SET id = :id, claimed = 0, owns_unnamed = 0, backed_up_at = NULL
WHERE only_row = 1"""
KNOWN_DOCUMENT = """
SELECT 1 WHERE EXISTS (SELECT 1 FROM files WHERE cid = :cid)
  OR EXISTS (SELECT 1 FROM revisions WHERE cid = :cid)
  OR EXISTS (SELECT 1 FROM file_groups WHERE thumbnail_cid = :cid)
  OR EXISTS (SELECT 1 FROM profiles WHERE avatar_cid = :cid)
  OR EXISTS (SELECT 1 FROM intents WHERE cid = :cid)
  OR EXISTS (SELECT 1 FROM detached WHERE cid = :cid)"""
MEASURE = """
SELECT (SELECT count(*) FROM files WHERE state = 'pending') AS drafts,
       (SELECT count(*) FROM files WHERE state = 'onchain') AS posts,
       (SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM files
        WHERE state IN ('pending', 'onchain'))
       + (SELECT CAST(coalesce(sum(thumbnail_size), 0) AS BIGINT) FROM file_groups
          WHERE thumbnail_cid IS NOT NULL)
       + (SELECT CAST(coalesce(sum(avatar_size), 0) AS BIGINT) FROM profiles)
       + (SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM revisions) AS stored_bytes,
       (SELECT CAST(coalesce(sum(size), 0) AS BIGINT) FROM detached) AS detached_bytes"""
"""Measures usage. Counts walk the draft and post indexes, and sums read every live file once."""


# Keys

_KEYS_OF = """
SELECT id, name, wrapped_key FROM {table}
WHERE wrapped_key IS NOT NULL AND id > :after ORDER BY id LIMIT :limit"""
_REWRAP_KEY_OF = """
UPDATE {table} SET wrapped_key = :new WHERE id = :id AND wrapped_key = :old RETURNING 1"""
WRAPPED_KEYS, WRAPPED_KEYS_OF_REVISIONS = (
    _KEYS_OF.format(table=table) for table in ("files", "revisions")
)
REWRAP_KEY, REWRAP_KEY_OF_REVISION = (
    _REWRAP_KEY_OF.format(table=table) for table in ("files", "revisions")
)
HAS_WRAPPED_KEY = """
SELECT 1 FROM files WHERE wrapped_key IS NOT NULL AND substr(wrapped_key, 1, :length) = :prefix
UNION ALL
SELECT 1 FROM revisions WHERE wrapped_key IS NOT NULL AND substr(wrapped_key, 1, :length) = :prefix
LIMIT 1"""
MASTER_KEYS = "SELECT master_keys FROM installation WHERE only_row = 1"
SET_MASTER_KEYS = "UPDATE installation SET master_keys = :ids WHERE only_row = 1"

MASTER_KEYS_LOCK = "master keys"
"""Lock for changing the ids of master keys."""


@dataclass(frozen=True, slots=True)
class SqlInstallationStore:
    """The installation that owns the database."""

    database: Database

    @property
    def identity(self) -> Identity:
        return self.database.identity

    async def note_claim(self) -> None:
        await self.database.change(NOTE_CLAIM)
        self.database.identity = replace(self.identity, claimed=True)

    async def rename_installation(self, new_id: str) -> None:
        await self.database.change(RENAME_INSTALLATION, {"id": new_id})
        self.database.identity = Identity(new_id)

    async def count_known(self, cids: Sequence[Cid]) -> int:
        async def count(tx: Transaction) -> int:
            found = [await tx.fetchone(KNOWN_DOCUMENT, cid=cid) for cid in cids]
            return len(found) - found.count(None)

        return await self.database.read(count)

    async def measure_usage(self) -> Usage:
        async def measure(tx: Transaction) -> Usage:
            (row,) = await tx.fetchall(MEASURE)
            return Usage(row["drafts"], row["posts"], row["stored_bytes"], row["detached_bytes"])

        async with self.database.snapshot() as snapshot:
            return await snapshot.read(measure)


@dataclass(frozen=True, slots=True)
class SqlKeyStore:
    """Keys of all documents."""

    database: Database

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        values: dict[str, Value] = {"after": after, "limit": limit}
        found = await self.database.fetch(_key_of, WRAPPED_KEYS, values)
        found += await self.database.fetch(_key_of, WRAPPED_KEYS_OF_REVISIONS, values)
        return sorted(found, key=lambda each: each.file_id)[:limit]

    async def replace_keys(self, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
        return await self.database.transact((), _replace_keys, changes)

    async def has_wrapped_key(self, prefix: bytes) -> bool:
        values: dict[str, Value] = {"prefix": prefix, "length": len(prefix)}
        return bool(await self.database.fetch(tuple, HAS_WRAPPED_KEY, values, reach=UNKNOWN_REACH))

    async def master_keys(self) -> frozenset[bytes] | None:
        return await self.database.read(_master_keys)

    async def note_master_keys(self, added: Collection[bytes], dropped: Collection[bytes]) -> None:
        await self.database.transact((MASTER_KEYS_LOCK,), _note_master_keys, added, dropped)


def _key_of(row: Row) -> KeyRecord:
    return KeyRecord(row["id"], row["name"], bytes(row["wrapped_key"]))


async def _replace_keys(tx: Transaction, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
    replaced = 0
    for record, new in changes:
        for statement in (REWRAP_KEY, REWRAP_KEY_OF_REVISION):
            row = await tx.fetchone(statement, id=record.file_id, old=record.wrapped_key, new=new)
            replaced += row is not None
    return replaced


async def _master_keys(tx: Transaction) -> frozenset[bytes] | None:
    row = await tx.fetchone(MASTER_KEYS)
    if row is None or row["master_keys"] is None:
        return None
    return frozenset(bytes.fromhex(each) for each in row["master_keys"].split())


async def _note_master_keys(
    tx: Transaction, added: Collection[bytes], dropped: Collection[bytes]
) -> None:
    known = await _master_keys(tx) or frozenset()
    ids = " ".join(sorted(each.hex() for each in (known - {*dropped}) | {*added}))
    await tx.execute(SET_MASTER_KEYS, ids=ids)


TAKE_LEASE = by_server_time(
    """
INSERT INTO leases (name, holder, length, held_until)
VALUES (:name, :holder, :length, :now + :length)
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, length = excluded.length, held_until = excluded.held_until
WHERE leases.holder = excluded.holder
    OR leases.held_until <= :now OR leases.held_until > :now + leases.length
RETURNING 1"""
)
RELEASE_LEASE = by_server_time(
    """
UPDATE leases SET held_until = :now
WHERE name = :name AND holder = :holder AND held_until > :now"""
)
FIND_LEASE = by_server_time(
    """
SELECT holder, held_until - :now AS microseconds FROM leases
WHERE name = :name AND held_until <= :now + length"""
)

_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class SqlLeaseStore:
    """Leases of all processes that share the database."""

    database: Database

    async def take_lease(self, name: str, holder: str, length: timedelta) -> bool:
        async def take(tx: Transaction) -> bool:
            # The clock is read inside the transaction. Otherwise, a transaction that waited would
            # mistake a lease taken meanwhile for one taken with a wrong clock.
            now, microseconds = self.database.lease_now(), length // _MICROSECOND
            row = await tx.fetchone(
                TAKE_LEASE, name=name, holder=holder, length=microseconds, now=now
            )
            return row is not None

        return await self.database.transact((), take)

    async def release_lease(self, name: str, holder: str) -> None:
        async def release(tx: Transaction) -> None:
            now = self.database.lease_now()
            await tx.execute(RELEASE_LEASE, name=name, holder=holder, now=now)

        await self.database.transact((), release)

    async def find_lease(self, name: str) -> Lease | None:
        async def find(tx: Transaction) -> Lease | None:
            row = await tx.fetchone(FIND_LEASE, name=name, now=self.database.lease_now())
            return None if row is None else Lease(row["holder"], row["microseconds"] * _MICROSECOND)

        return await self.database.read(find)

    async def lease_age(self, name: str) -> timedelta | None:
        found = await self.find_lease(name)
        return None if found is None else max(-found.left, timedelta(0))


COUNT_SOME_EVENTS = """
SELECT count(*) AS count FROM (
    SELECT 1 AS one FROM events WHERE status = :status AND canonical = 1 LIMIT :count_to
) AS counted"""
COUNT_SOME_DEAD_LETTERS = """
SELECT count(*) AS count FROM (
    SELECT 1 AS one FROM dead_letters WHERE seen_at >= 0 LIMIT :count_to
) AS counted"""
LAST_DELIVERY = """
SELECT received_at FROM deliveries WHERE provider = :provider
ORDER BY received_at DESC LIMIT 1"""
LAST_BACKUP = """
SELECT backed_up_at FROM installation WHERE only_row = 1 AND backed_up_at IS NOT NULL"""
NOTE_BACKUP = "UPDATE installation SET backed_up_at = :at WHERE only_row = 1"
SCHEMA_NUMBER = "SELECT coalesce(max(number), 0) AS number FROM schema_migrations"

VERSION = Sql(
    "SELECT sqlite_version() AS version",
    postgresql="SELECT current_setting('server_version') AS version",
)

_EXAMINED = (EventStatus.AUTHOR_MISMATCH, EventStatus.UNKNOWN_FILE)


@dataclass(frozen=True, slots=True)
class SqlOperatorFacts:
    """The state of the service as recorded in the database, and the state of the database
    itself."""

    _database: Database

    async def events_to_examine(self, limit: int, count_to: int) -> EventsToExamine:
        return await self._database.read(_events_to_examine, limit, count_to, reach=3 * count_to)

    async def last_deliveries(self, providers: Sequence[str]) -> dict[str, datetime | None]:
        return await self._database.read(_last_deliveries, providers)

    async def database(self) -> DatabaseFacts:
        return await self._database.read(_describe_database, self._database.name)

    async def last_backup(self) -> datetime | None:
        found = await self._database.fetch(lambda row: moment_of(row["backed_up_at"]), LAST_BACKUP)
        return found[0] if found else None

    async def note_backup(self, made_at: datetime) -> None:
        await self._database.change(NOTE_BACKUP, {"at": micros(made_at)})


async def _events_to_examine(tx: Transaction, limit: int, count_to: int) -> EventsToExamine:
    counts = {}
    for status in _EXAMINED:
        (row,) = await tx.fetchall(COUNT_SOME_EVENTS, status=status.value, count_to=count_to)
        counts[status] = row["count"]
    (row,) = await tx.fetchall(COUNT_SOME_DEAD_LETTERS, count_to=count_to)
    counts[EventStatus.DEAD_LETTER] = row["count"]
    mismatch = EventStatus.AUTHOR_MISMATCH.value
    mismatches = await tx.fetchall(EVENTS_OF_STATUS, status=mismatch, limit=limit)
    letters = await tx.fetchall(DEAD_LETTERS, limit=limit)
    return EventsToExamine(
        counts, tuple(map(known_event_of, mismatches)), tuple(map(letter_of, letters))
    )


async def _last_deliveries(tx: Transaction, providers: Sequence[str]) -> dict[str, datetime | None]:
    found: dict[str, datetime | None] = {}
    for provider in providers:
        row = await tx.fetchone(LAST_DELIVERY, provider=provider)
        found[provider] = None if row is None else moment_of(row["received_at"])
    return found


async def _describe_database(tx: Transaction, name: str) -> DatabaseFacts:
    (found,) = await tx.fetchall(VERSION)
    (schema,) = await tx.fetchall(SCHEMA_NUMBER)
    return DatabaseFacts(name, found["version"], schema["number"])
