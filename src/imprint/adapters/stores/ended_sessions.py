"""`SessionStore` in the database: logins and ended sessions.

A row ends one session, by its id, or all sessions of an address whose generation is lower than the
row's. A login takes its address's generation in the transaction that spends its nonce.
"""

from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from imprint.adapters.database.database import Database
from imprint.adapters.database.transaction import Sql, Transaction, Value, key_text, micros
from imprint.domain.formats.addresses import Address
from imprint.domain.sessions import Session, session_ended

_LAST_GENERATION = 2**62
"""Generation of a row about one session, above the generation of every session."""

_ENDED = "SELECT 1 FROM ended_sessions WHERE generation > :generation AND subject"

IS_ENDED = f"(EXISTS ({_ENDED} = :session) OR EXISTS ({_ENDED} = :reader))"
"""Condition that a session was ended. Not an `IN` list, for which SQLite would build a table."""

IS_ENDED_IN_POSTGRESQL = f"EXISTS ({_ENDED} IN (:session, :reader))"
"""Like `IS_ENDED`, for PostgreSQL, which opens the table only once for an `IN` list."""

FIND_ENDED = f"SELECT {IS_ENDED} AS ended"

_END = """
INSERT INTO ended_sessions (subject, generation, expires_at)
VALUES (:subject, :generation, :expires_at)
ON CONFLICT (subject) DO UPDATE
SET generation = CASE WHEN excluded.generation > ended_sessions.generation
                      THEN excluded.generation ELSE ended_sessions.generation + 1 END,
    expires_at = CASE WHEN excluded.expires_at > ended_sessions.expires_at
                      THEN excluded.expires_at ELSE ended_sessions.expires_at END"""

_MARK_END = """
WITH marked AS (
    INSERT INTO counters (name, value)
    VALUES ('ended_sessions', CAST(random() * 4611686018427387904 AS BIGINT))
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
)"""
"""Additional statement that every logout runs on PostgreSQL (see `postgresql_files`)."""

END_SESSION = Sql(_END, postgresql=_MARK_END + _END)
"""Raises the generation of an address with every logout, independently of the clocks."""

SPEND_LOGIN_NONCE = """
INSERT INTO login_nonces (address, nonce, spent_at) VALUES (:address, :nonce, :spent_at)
ON CONFLICT DO NOTHING
RETURNING (SELECT generation FROM ended_sessions WHERE subject = :address) AS generation"""


@dataclass(frozen=True, slots=True)
class SqlSessionStore:
    """Logins and ended sessions of all readers. Nothing is cached, because other processes end
    sessions, too."""

    database: Database

    async def spend_login_nonce(self, address: Address, nonce: str, at: datetime) -> int | None:
        return await self.database.transact((), _spend_login_nonce, address, nonce, at)

    async def refuse_ended(self, session: Session) -> None:
        await self.database.read(refuse_ended, session)

    async def end(self, session: Session, until: datetime) -> None:
        subject, generation = session.id, _LAST_GENERATION
        await self.database.transact((), _end, session, subject, generation, until)

    async def end_all(self, session: Session, now: datetime, until: datetime) -> None:
        subject, generation = session.address, max(micros(now), session.generation + 1)
        await self.database.transact((), _end, session, subject, generation, until)


@lru_cache(maxsize=64)
def for_session(text: str, is_ended: str = IS_ENDED) -> str:
    """A statement whose last column says whether the session is `ended`."""
    return text.replace(" FROM ", f", {is_ended} AS ended FROM ", 1)


def session_values(session: Session) -> dict[str, Value]:
    """Parameters of statements that check a session."""
    return {
        "session": session.id,
        "reader": session.address,
        "generation": session.generation,
    }


async def refuse_ended(tx: Transaction, session: Session) -> None:
    """Check that the session was not ended. Refuses with `session_ended`."""
    row = await tx.fetchone(FIND_ENDED, **session_values(session))
    if row is None or row["ended"]:
        raise session_ended()


async def _spend_login_nonce(
    tx: Transaction, address: Address, nonce: str, at: datetime
) -> int | None:
    row = await tx.fetchone(
        SPEND_LOGIN_NONCE, address=address, nonce=key_text(nonce), spent_at=micros(at)
    )
    return None if row is None else int(row["generation"] or 0)


async def _end(
    tx: Transaction, session: Session, subject: str, generation: int, until: datetime
) -> None:
    await refuse_ended(tx, session)
    await tx.execute(END_SESSION, subject=subject, generation=generation, expires_at=micros(until))
