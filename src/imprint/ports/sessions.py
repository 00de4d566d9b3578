"""Ports for sessions: logins and ended sessions of readers, and writing sessions of authors."""

from datetime import datetime
from typing import Protocol

from imprint.domain.formats.addresses import Address
from imprint.domain.sessions import Session, WritingSession


class SessionStore(Protocol):
    """Logins, and sessions of readers that were ended before they expired.

    Nothing is remembered between two calls: what one process has ended, every other one refuses
    from its next call on. `FileStore` has reads that do this check as well. Methods that take a
    session refuse `session_ended`.
    """

    async def spend_login_nonce(self, address: Address, nonce: str, at: datetime) -> int | None:
        """Spend the nonce of a login, apart from those of writes; None if it was spent before.

        Otherwise the generation of the sessions of this address, for the session that is issued.
        """

    async def refuse_ended(self, session: Session) -> None:
        """Return if the session was not ended."""

    async def end(self, session: Session, until: datetime) -> None:
        """End this session; the record is needed until then."""

    async def end_all(self, session: Session, now: datetime, until: datetime) -> None:
        """End all sessions that the address of this one has; the record is needed until then.

        A session that is issued after this returns is not ended, however soon it is issued.
        """


class WritingSessionStore(Protocol):
    """The writing sessions of all wallets. One that is revoked is gone."""

    async def add_session(self, session: WritingSession, nonce: str, limit: int) -> bool:
        """Add a session and spend the nonce of its wallet; False if that has `limit` live ones.

        Expired sessions of the wallet are removed. Raises `NonceUsed`.
        """

    async def check_nonce(self, wallet: Address, nonce: str) -> None:
        """Raise `NonceUsed` if the wallet has spent this nonce; `add_session` decides."""

    async def list_sessions(self, wallet: Address, now: datetime) -> list[WritingSession]:
        """The live sessions of a wallet, the oldest first."""

    async def find_session(self, session_id: str) -> WritingSession | None:
        """The session with this id, live or expired."""

    async def revoke_session(self, wallet: Address, session_id: str) -> bool:
        """Revoke a session; False if the wallet has no such session."""

    async def revoke_sessions(self, wallet: Address) -> None:
        """Revoke every session of a wallet."""
