"""The operations of writing sessions."""

from imprint.domain.errors import Code
from imprint.domain.sessions import MAX_WRITING_SESSIONS
from imprint.web.docs.operation import (
    BODY_CODES,
    MIDDLEWARE_CODES,
    OWN_CODES,
    SIGNATURE_CODES,
    Body,
    Operation,
    Parameter,
    Response,
    Topic,
)
from imprint.web.docs.writing_session_schemas import SESSION_ID

_ID = Parameter("id", "WritingSessionId", "The id of a writing session.", SESSION_ID, "path")

OPEN_SESSION = Operation(
    "openWritingSession",
    "post",
    "/writing/sessions",
    Topic.DRAFTS,
    "Open a writing session",
    "The wallet signs typed data of the type `WritingSession` once, for a P-256 key that the "
    "client has made. Until it expires, after 24 hours at most, the key may sign creates and "
    "updates of the wallet's drafts: send the `id` as the member `session` of the write.\n\n"
    "What the key signs is typed data of the form `imprint-2`, with ECDSA and SHA-256 over the 66 "
    "bytes that a wallet would hash: `0x1901`, the hash of the domain, the hash of the message. "
    "`signature` is `0x` and the 64 bytes of r and s, as WebCrypto returns them. Publishing, "
    "deleting and logging in always need the wallet.\n\n"
    f"A wallet has at most {MAX_WRITING_SESSIONS} live sessions. The request uses up its nonce and "
    "counts as a write of the wallet.",
    Response("The writing session.", "WritingSessionAnswer", status=201),
    (
        Code.INVALID_JSON,
        Code.INVALID_TYPED_DATA,
        *SIGNATURE_CODES,
        Code.BODY_MISMATCH,
        Code.WRITING_SESSION_EXPIRED,
        Code.NONCE_USED,
        Code.TOO_MANY_WRITING_SESSIONS,
        Code.DATABASE_UNAVAILABLE,
        *BODY_CODES,
        *MIDDLEWARE_CODES,
    ),
    body=Body("WritingSessionBody", "The signed opening."),
)

LIST_SESSIONS = Operation(
    "listWritingSessions",
    "get",
    "/writing/sessions",
    Topic.DRAFTS,
    "List your writing sessions",
    "Returns the live writing sessions of the reader's address, the oldest first.",
    Response("The writing sessions.", "WritingSessionList"),
    OWN_CODES,
    needs_session=True,
)

REVOKE_SESSIONS = Operation(
    "revokeWritingSessions",
    "delete",
    "/writing/sessions",
    Topic.DRAFTS,
    "Revoke all your writing sessions",
    "Revokes every writing session of the reader's address. What their keys sign is refused from "
    "the next request on.",
    Response("The sessions are revoked. There is no body.", None, status=204),
    OWN_CODES,
    needs_session=True,
)

REVOKE_SESSION = Operation(
    "revokeWritingSession",
    "delete",
    "/writing/sessions/{id}",
    Topic.DRAFTS,
    "Revoke a writing session",
    "Revokes one writing session of the reader's address. What its key signs is refused from the "
    "next request on.",
    Response("The session is revoked. There is no body.", None, status=204),
    (Code.NOT_FOUND, *OWN_CODES),
    parameters=(_ID,),
    needs_session=True,
)

WRITING_SESSION_OPERATIONS = (OPEN_SESSION, LIST_SESSIONS, REVOKE_SESSIONS, REVOKE_SESSION)
"""Every operation of writing sessions, in the order in which the docs show them."""
