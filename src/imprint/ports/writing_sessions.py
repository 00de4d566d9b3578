"""Port for the writing sessions of authors."""

from datetime import datetime
from typing import Protocol

from imprint.domain.formats.addresses import Address
from imprint.domain.sessions import WritingSession


class WritingSessionStore(Protocol):
    """The writing sessions of all wallets. One that is revoked is gone."""

    async def add_session(self, session: WritingSession, nonce: str, limit: int) -> bool:
        """Add a session and spend the nonce of its wallet; False if that has `limit` live ones.

        Expired sessions of the wallet are removed. Raises `NonceUsed`.
        """

    async def list_sessions(self, wallet: Address, now: datetime) -> list[WritingSession]:
        """The live sessions of a wallet, the oldest first."""

    async def find_session(self, session_id: str) -> WritingSession | None:
        """The session with this id, live or expired."""

    async def revoke_session(self, wallet: Address, session_id: str) -> bool:
        """Revoke a session; False if the wallet has no such session."""

    async def revoke_sessions(self, wallet: Address) -> None:
        """Revoke every session of a wallet."""
