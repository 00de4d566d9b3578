"""`OperatorFacts` in the database: the facts on the operator's page."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import Sql, Transaction, micros, moment_of
from imprint.adapters.stores.publication import (
    DEAD_LETTERS,
    EVENTS_OF_STATUS,
    known_event_of,
    letter_of,
)
from imprint.domain.posts.posts import EventStatus
from imprint.ports.operator_page import DatabaseFacts, EventsToExamine

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
    """The state of the service as recorded in the database, and the database itself."""

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
