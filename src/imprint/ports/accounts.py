"""Ports for accounts: sessions, profiles, private feeds, rate limits, contract wallets."""

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from imprint.domain.drafts.files import Intent
from imprint.domain.formats.addresses import Address
from imprint.domain.profiles import Profile, ProfileUpdate
from imprint.domain.rate_limits import Rate
from imprint.domain.sessions import Session, WritingSession


class SessionStore(Protocol):
    """Logins, and reader sessions that were ended before they expired.

    Nothing is cached between calls: once one process has ended a session, every other process
    refuses it from its next call on. `FileStore` also has reads that include this check. Methods
    that take a session refuse an ended session with `session_ended`.
    """

    async def spend_login_nonce(self, address: Address, nonce: str, at: datetime) -> int | None:
        """Spend the nonce of a login. Returns None if it was already spent.

        Login nonces are separate from the nonces of writes. For an unspent nonce, returns the
        session generation of this address, for the session to be issued.
        """

    async def refuse_ended(self, session: Session) -> None:
        """Check that the session has not been ended."""

    async def end(self, session: Session, until: datetime) -> None:
        """End this session. The record that it was ended must be kept until `until`."""

    async def end_all(self, session: Session, now: datetime, until: datetime) -> None:
        """End all sessions of this session's address. The record of this must be kept until
        `until`.

        A session issued after this method returns is not affected, no matter how soon it is issued.
        """


class WritingSessionStore(Protocol):
    """The writing sessions of all wallets. A revoked session is deleted."""

    async def add_session(self, session: WritingSession, nonce: str, limit: int) -> bool:
        """Add a session and spend the wallet's nonce. Returns False if `limit` sessions are live.

        Expired sessions of the wallet are removed. Raises `NonceUsed`.
        """

    async def check_nonce(self, wallet: Address, nonce: str) -> None:
        """Raise `NonceUsed` if the wallet has spent this nonce. `add_session` rechecks it."""

    async def list_sessions(self, wallet: Address, now: datetime) -> list[WritingSession]:
        """Return the live sessions of a wallet, oldest first."""

    async def find_session(self, session_id: str) -> WritingSession | None:
        """Return the session with this ID, live or expired."""

    async def revoke_session(self, wallet: Address, session_id: str) -> bool:
        """Revoke a session. Returns False if the wallet has no such session."""

    async def revoke_sessions(self, wallet: Address) -> None:
        """Revoke every session of a wallet."""


class ProfileStore(Protocol):
    """The profiles of all authors."""

    async def save_profile(self, update: ProfileUpdate, intent: Intent | None) -> Profile:
        """Save the profile of the signer. If an intent is given, it names the new picture.

        In the same transaction the intent ends, the nonce is spent, and a replaced picture is
        detached. Raises `NonceUsed`.
        """


class ContractWallets(Protocol):
    """Contract wallets on the chain, in their current state."""

    async def accepts(self, wallet: Address, digest: bytes, signature: bytes) -> bool:
        """Whether the contract at this address accepts a signature of these 32 bytes (ERC-1271).

        A signature may name a factory that deploys the contract first (ERC-6492). The deployment is
        only simulated. Returns False for an address without code, and for any result other than the
        magic value. An unexpected response from a node raises `Unavailable`.
        """


class RateLimits(Protocol):
    """Recent usage of each rate-limited key, counted across all processes."""

    async def admit(self, key: str, rate: Rate, now: datetime, cost: int = 1) -> None:
        """Count a request of `key`, which uses `cost` units of its rate.

        A cost above the whole rate counts as the whole rate. Raises `RateLimited` with the
        seconds to wait, rounded up: at least one, and at most the period of the rate.
        """

    async def charge(self, key: str, rate: Rate, count: int, now: datetime) -> None:
        """Count more requests of `key`, but only until its next request would have to wait."""


@dataclass(frozen=True, slots=True)
class PrivateFeed:
    """A private feed. Only the hash of the token in its URLs is stored."""

    id: str
    owner: Address
    created_at: datetime
    fetched_at: datetime | None


class PrivateFeeds(Protocol):
    """The private feeds of all readers."""

    async def add_feed(self, feed: PrivateFeed, token_hash: str, limit: int) -> bool:
        """Add a feed. Returns False if its owner already has `limit` feeds."""

    async def list_feeds(self, owner: Address) -> list[PrivateFeed]:
        """Return the feeds of an owner, oldest first."""

    async def replace_token(self, owner: Address, feed_id: str, token_hash: str) -> bool:
        """Give a feed a new token. Returns False if the owner has no such feed."""

    async def remove_feed(self, owner: Address, feed_id: str) -> bool:
        """Remove a feed. Returns False if the owner has no such feed."""

    async def find_feed(self, token_hash: str) -> PrivateFeed | None:
        """Return the feed with this token."""

    async def note_fetch(self, feed_id: str, at: datetime) -> None:
        """Record when a feed was last fetched. The record need not survive a power loss."""
