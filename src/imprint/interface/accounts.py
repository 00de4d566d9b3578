"""Logins, reader sessions and writing sessions."""

from typing import Annotated, Any

from msgspec import Struct

from imprint.auth.login_message import MAX_MESSAGE_BYTES
from imprint.domain.sessions import WRITING_ACTIONS
from imprint.interface.values import (
    LOGIN_MESSAGE_PATTERN,
    Address,
    LowerAddress,
    Moment,
    Signature,
    WritingSessionId,
    doc,
)

LoginMessage = Annotated[
    str,
    doc(
        "The exact text of a login message (EIP-4361) for one of `login.domains` and the chain "
        f"`signing.chainId`, at most {MAX_MESSAGE_BYTES} bytes. Lines are separated by LF, "
        "with none at the end. Its address is the one in `address`.",
        LOGIN_MESSAGE_PATTERN,
        title="LoginMessage",
        maxLength=MAX_MESSAGE_BYTES,
    ),
]

WritingAction = Annotated[str, doc("An action.", enum=[each.value for each in WRITING_ACTIONS])]


class LoginBody(Struct, frozen=True):
    """A signed login message."""

    signature: Signature
    salt: LoginMessage
    address: Address


class LogoutBody(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """Selects which sessions to end."""

    all: Annotated[bool, doc("Whether all sessions of the address are ended, not only this.")] = (
        False
    )


class Session(Struct, frozen=True, rename="camel"):
    """A reader's session. `token` is a secret."""

    token: Annotated[str, doc("The session, a JWT for the Authorization header.")]
    address: LowerAddress
    expires_in: Annotated[
        str,
        doc(
            "How long the session is valid: `2h`, or less in hours, minutes or seconds.",
            "^[1-9][0-9]*[hms]$",
        ),
    ]
    expires_at: Annotated[Moment, doc("When the session ends.")]

    def __repr__(self) -> str:
        return f"Session(address={self.address!r}, expires_at={self.expires_at!r})"


class OpeningBody(Struct, frozen=True):
    """Signed typed data that opens a writing session."""

    salt: Annotated[Any, doc("The signed typed data (EIP-712).")]
    address: Address
    signature: Signature


class WritingSessionRecord(Struct, frozen=True, rename="camel"):
    """A writing session. Its key is not included."""

    id: WritingSessionId
    wallet: Annotated[LowerAddress, doc("The wallet that its key signs for.")]
    actions: Annotated[tuple[WritingAction, ...], doc("What its key may sign.")]
    not_before: Annotated[Moment, doc("When it begins.")]
    expires: Annotated[Moment, doc("When it ends, unless it is revoked before.")]
    created_at: Annotated[Moment, doc("When it was opened.")]


class WritingSessionResponse(Struct, frozen=True):
    """A new writing session."""

    session: WritingSessionRecord


class WritingSessionsResponse(Struct, frozen=True):
    """A list of writing sessions."""

    sessions: Annotated[tuple[WritingSessionRecord, ...], doc("The live ones, the oldest first.")]
