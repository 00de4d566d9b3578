"""Rules for ended sessions, with their statements.

A row is about one session, by its id, or about all sessions of an address that have a lower
generation than it has. A login takes the generation of its address in the transaction that spends
its nonce.
"""

from datetime import datetime
from functools import lru_cache

from imprint.adapters.catalog.transaction import Transaction, Value, micros
from imprint.domain.sessions import Session, session_ended

_LAST_GENERATION = 2**62
"""The generation of a row about one session: above that of every session."""

_ENDED = "SELECT 1 FROM ended_sessions WHERE generation > :generation AND subject"

IS_ENDED = f"(EXISTS ({_ENDED} = :session) OR EXISTS ({_ENDED} = :reader))"
"""Whether a session was ended; for SQLite a list of two subjects would be a table of its own."""

IS_ENDED_IN_POSTGRESQL = f"EXISTS ({_ENDED} IN (:session, :reader))"
"""The same for PostgreSQL, which opens the table once for a list."""

FIND_ENDED = f"SELECT {IS_ENDED} AS ended"

END_SESSION = """
INSERT INTO ended_sessions (subject, generation, expires_at)
VALUES (:subject, :generation, :expires_at)
ON CONFLICT (subject) DO UPDATE
SET generation = CASE WHEN excluded.generation > ended_sessions.generation
                      THEN excluded.generation ELSE ended_sessions.generation + 1 END,
    expires_at = CASE WHEN excluded.expires_at > ended_sessions.expires_at
                      THEN excluded.expires_at ELSE ended_sessions.expires_at END"""
"""The generation of an address rises each time, whatever the clocks say."""


@lru_cache(maxsize=64)
def for_session(text: str, is_ended: str = IS_ENDED) -> str:
    """A statement that also says, in its last column, whether the session is `ended`."""
    return text.replace(" FROM ", f", {is_ended} AS ended FROM ", 1)


def session_values(session: Session) -> dict[str, Value]:
    """The values of statements that check a session."""
    return {
        "session": session.id,
        "reader": session.address,
        "generation": session.generation,
    }


async def refuse_ended(tx: Transaction, session: Session) -> None:
    """Return if the session was not ended. Refuses `session_ended`."""
    row = await tx.fetchone(FIND_ENDED, **session_values(session))
    if row is None or row["ended"]:
        raise session_ended()


async def end(tx: Transaction, session: Session, until: datetime) -> None:
    """End one session. Refuses one that was ended."""
    await _end(tx, session, session.id, _LAST_GENERATION, until)


async def end_all(tx: Transaction, session: Session, now: datetime, until: datetime) -> None:
    """End all sessions of an address, in a session of it. Refuses one that was ended."""
    generation = max(micros(now), session.generation + 1)
    await _end(tx, session, session.address, generation, until)


async def _end(
    tx: Transaction, session: Session, subject: str, generation: int, until: datetime
) -> None:
    await refuse_ended(tx, session)
    await tx.execute(END_SESSION, subject=subject, generation=generation, expires_at=micros(until))
