"""Sessions of readers, and writing sessions of authors: their owners and lifetimes."""

from dataclasses import dataclass, field
from datetime import datetime

from imprint.domain.drafts.files import Action
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address

SESSION_SECONDS = 7200
"""The longest lifetime of a session: two hours, fixed by the protocol."""

WRITING_SESSION_SECONDS = 24 * 3600
"""The longest lifetime of a writing session."""

MAX_WRITING_SESSIONS = 20
"""Live writing sessions of one wallet: enough for its devices and browsers."""

OPENING = "writing_session"
"""The action under which opening a writing session spends its nonce."""

WRITING_ACTIONS = (Action.CREATE, Action.UPDATE)
"""All actions that the key of a writing session may sign."""


@dataclass(frozen=True, slots=True)
class Session:
    """A verified session: the address of the reader, and when it expires.

    Its signature does not show whether it was ended: only reads that check this in the database
    take one. `generation` is that of its address when it was issued: ending all sessions of an
    address raises it.
    """

    address: Address
    expires_at: datetime
    id: str
    generation: int = 0


@dataclass(frozen=True, slots=True)
class LiveSession(Session):
    """A session that the database confirmed as not ended, during this request."""


def session_ended() -> Refusal:
    """The refusal of a session that was ended before it expired."""
    return Refusal(Code.SESSION_ENDED, "This session was ended by a logout: please log in again.")


@dataclass(frozen=True, slots=True)
class WritingSession:
    """A key that may sign some writes for a wallet until it expires or is revoked.

    `public_key` is an uncompressed point of P-256.
    """

    id: str
    wallet: Address
    public_key: bytes = field(repr=False)
    actions: tuple[Action, ...]
    not_before: datetime
    expires_at: datetime
    created_at: datetime


def no_writing_session() -> Refusal:
    """The refusal of a write by a writing session; the caller is not told which reason applies."""
    return Refusal(
        Code.WRITING_SESSION_INVALID,
        "The writing session is unknown or revoked, or its key has not signed this request.",
    )
