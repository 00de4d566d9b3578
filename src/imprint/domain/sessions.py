"""Sessions of readers, and writing sessions of authors: who they are of, and until when."""

from dataclasses import dataclass, field
from datetime import datetime

from imprint.domain.drafts.files import Action
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address

SESSION_SECONDS = 7200
"""The longest lifetime of a session: two hours, fixed by the protocol."""

WRITING_SESSION_SECONDS = 24 * 3600
"""How long after it is opened a writing session ends at the latest."""

MAX_WRITING_SESSIONS = 20
"""Live writing sessions of one wallet: enough for its devices and browsers."""

OPENING = "writing_session"
"""The action that spends the nonce of an opened writing session."""

WRITING_ACTIONS = (Action.CREATE, Action.UPDATE)
"""What the key of a writing session may sign at most."""


@dataclass(frozen=True, slots=True)
class Session:
    """A verified session: the address of the reader, and when it expires.

    Its signature says nothing about whether it was ended: only reads that check this with the
    database take one. `generation` is that of its address when it was issued: whoever ends all
    sessions of an address raises it.
    """

    address: Address
    expires_at: datetime
    id: str
    generation: int = 0


@dataclass(frozen=True, slots=True)
class LiveSession(Session):
    """A session that was not ended when the database was asked, in this request."""


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
    """The refusal of a write by a writing session; which of the reasons it is, nobody is told."""
    return Refusal(
        Code.WRITING_SESSION_INVALID,
        "The writing session is unknown or revoked, or its key has not signed this request.",
    )
