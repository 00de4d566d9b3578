"""Ports for sessions: logins and ended sessions of readers, and writing sessions of authors."""

from datetime import datetime
from typing import Protocol

from imprint.domain.formats.addresses import Address
from imprint.domain.sessions import Session, WritingSession


class SessionStore(Protocol):
    """Logins, and sessions of readers that were ended before they expired.

    Nothing is cached between calls: a session that one process has ended is refused by every other
    process from its next call on. `FileStore` has reads that include this check. Methods that take
    a session refuse `session_ended`.
    """

    async def spend_login_nonce(self, address: Address, nonce: str, at: datetime) -> int | None:
        """Spend the nonce of a login, separate from those of writes; None if it was already spent.

        Otherwise the generation of the sessions of this address, for the session that is issued.
        """

    async def refuse_ended(self, session: Session) -> None:
        """Return if the session has not been ended."""

    async def end(self, session: Session, until: datetime) -> None:
        """End this session; the record is needed until the given time."""

    async def end_all(self, session: Session, now: datetime, until: datetime) -> None:
        """End all sessions of this session's address; the record is needed until the given time.

        A session issued after this returns is not affected, however soon it is issued.
        """


class WritingSessionStore(Protocol):
    """The writing sessions of all wallets. A revoked session is deleted."""

    async def add_session(self, session: WritingSession, nonce: str, limit: int) -> bool:
        """Add a session and spend the nonce of its wallet; False if it has `limit` live sessions.

        Expired sessions of the wallet are removed. Raises `NonceUsed`.
        """

    async def check_nonce(self, wallet: Address, nonce: str) -> None:
        """Raise `NonceUsed` if the wallet has spent this nonce; `add_session` has the final say."""

    async def list_sessions(self, wallet: Address, now: datetime) -> list[WritingSession]:
        """The live sessions of a wallet, the oldest first."""

    async def find_session(self, session_id: str) -> WritingSession | None:
        """The session with this id, live or expired."""

    async def revoke_session(self, wallet: Address, session_id: str) -> bool:
        """Revoke a session; False if the wallet has no such session."""

    async def revoke_sessions(self, wallet: Address) -> None:
        """Revoke every session of a wallet."""
