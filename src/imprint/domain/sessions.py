"""Reader sessions and authors' writing sessions: their owners and lifetimes."""

from dataclasses import dataclass, field
from datetime import datetime

from imprint.domain.drafts.files import Action
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address

SESSION_SECONDS = 7200
"""Maximum lifetime of a session in seconds, which is fixed by the protocol."""

WRITING_SESSION_SECONDS = 24 * 3600
"""Maximum lifetime of a writing session in seconds."""

MAX_WRITING_SESSIONS = 20
"""Maximum number of live writing sessions per wallet, enough for its devices and browsers."""

OPENING = "writing_session"
"""The action that is recorded with the nonce of a request to open a writing session."""

WRITING_ACTIONS = (Action.CREATE, Action.UPDATE)
"""All actions that a writing session's key may sign."""


@dataclass(frozen=True, slots=True)
class Session:
    """A verified session: the reader's address and the expiry time.

    The signature does not show whether the session was ended, so only reads that check this in the
    database accept a `Session`. `generation` is the address's generation when the session was
    issued. Ending all sessions of an address increments it.
    """

    address: Address
    expires_at: datetime
    id: str
    generation: int = 0


@dataclass(frozen=True, slots=True)
class LiveSession(Session):
    """A session that the database confirmed during this request as not ended."""


def session_ended() -> Refusal:
    """Return the refusal for a session that was ended before it expired."""
    return Refusal(Code.SESSION_ENDED, "This session was ended by a logout. Please log in again.")


@dataclass(frozen=True, slots=True)
class WritingSession:
    """A key that may sign some writes for a wallet until it expires or is revoked.

    `public_key` is an uncompressed P-256 point.
    """

    id: str
    wallet: Address
    public_key: bytes = field(repr=False)
    actions: tuple[Action, ...]
    not_before: datetime
    expires_at: datetime
    created_at: datetime


def no_writing_session() -> Refusal:
    """Return the refusal for an invalid writing session, which does not reveal the reason."""
    return Refusal(
        Code.WRITING_SESSION_INVALID,
        "The writing session is unknown or revoked, or its key did not sign this request.",
    )
