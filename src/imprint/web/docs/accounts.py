"""The operations of accounts: logins of readers, writing sessions and profiles of authors.

The signatures in the examples are valid: the owner signs the request to open a writing session,
whose key is the number 1 on P-256.
"""

from datetime import datetime, timedelta
from hashlib import sha256
from typing import Any

import msgspec
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from imprint.auth.sessions import encode_base64url
from imprint.auth.signatures import personal_digest
from imprint.auth.signed_profiles import PROFILE_TYPE
from imprint.auth.writing_sessions import OPENING_TYPE
from imprint.domain.errors import Code
from imprint.domain.formats.addresses import checksum_address, keccak256
from imprint.domain.sessions import MAX_WRITING_SESSIONS, WRITING_ACTIONS
from imprint.interface.accounts import (
    LoginBody,
    LogoutBody,
    OpeningBody,
    Session,
    WritingSessionRecord,
    WritingSessionResponse,
    WritingSessionsResponse,
)
from imprint.interface.posts import ProfileForm, ProfileResponse
from imprint.web.api.post_records import profile_record
from imprint.web.docs.examples import (
    DOMAIN,
    FACTS,
    LOGIN_DOMAIN,
    MOMENT,
    OWNER,
    PROFILE,
    THUMBNAIL,
    TIMESTAMP,
    sign_digest,
)
from imprint.web.docs.operation import (
    JSON_CODES,
    MIDDLEWARE_CODES,
    OWN_CODES,
    SESSION_CODES,
    Body,
    Operation,
    Parameter,
    Response,
    Topic,
)

SESSION_ID = "019bc0f2-3f40-7c1d-8a55-6e2b90d4f7a1"
"""The ID of the example writing session."""

EXPIRES = MOMENT + timedelta(hours=12)
"""When the example writing session expires."""

_KEY = ec.derive_private_key(1, ec.SECP256R1())
_POINT = _KEY.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _login() -> LoginBody:
    message = "\n".join(
        [
            f"{LOGIN_DOMAIN} wants you to sign in with your Ethereum account:",
            checksum_address(OWNER),
            "",
            "Read what you hold.",
            "",
            f"URI: https://{LOGIN_DOMAIN}",
            "Version: 1",
            f"Chain ID: {FACTS.signing.chain_id}",
            "Nonce: 7Gq2mVb4Xz",
            f"Issued At: {MOMENT:%Y-%m-%dT%H:%M:%SZ}",
        ]
    )
    signature = sign_digest(personal_digest(message.encode()))
    return LoginBody(signature, message, checksum_address(OWNER))


def _token(expires: datetime) -> str:
    """Return a text that looks like a session's JWT, but is refused by the service."""
    header = {"alg": "HS256", "typ": "JWT", "kid": "sample"}
    claims = {
        "sub": OWNER,
        "iat": int(MOMENT.timestamp()),
        "exp": int(expires.timestamp()),
        "address": OWNER,
    }
    signed = ".".join(encode_base64url(msgspec.json.encode(part)) for part in (header, claims))
    return f"{signed}.{encode_base64url(keccak256(signed.encode()))}"


def _opening() -> OpeningBody:
    values: dict[str, Any] = {
        "service": FACTS.service,
        "wallet": OWNER,
        "publicKey": _POINT,
        "actions": WRITING_ACTIONS,
        "notBefore": int(MOMENT.timestamp()),
        "expires": int(EXPIRES.timestamp()),
        "nonce": sha256(b"nonce").hexdigest()[:32],
    }
    salt = {
        "domain": FACTS.signing,
        "types": {OPENING_TYPE.name: OPENING_TYPE.declared},
        "primaryType": OPENING_TYPE.name,
        "message": values | {"publicKey": "0x" + _POINT.hex()},
    }
    digest = keccak256(DOMAIN.signed_bytes(OPENING_TYPE.hash_struct(values)))
    return OpeningBody(salt, checksum_address(OWNER), sign_digest(digest))


def _profile() -> ProfileForm:
    texts = PROFILE.texts
    message: dict[str, Any] = {
        "service": FACTS.service,
        "name": texts.name,
        "bio": texts.bio,
        "links": "\n".join(texts.links),
        "avatar": f"0x{keccak256(THUMBNAIL).hex()}",
        "nonce": keccak256(PROFILE_TYPE.name.encode())[:16].hex(),
        "timestamp": int(TIMESTAMP),
    }
    salt = {
        "domain": FACTS.signing,
        "types": {PROFILE_TYPE.name: PROFILE_TYPE.declared},
        "primaryType": PROFILE_TYPE.name,
        "message": message,
    }
    digest = keccak256(DOMAIN.signed_bytes(PROFILE_TYPE.hash_struct(message)))
    return ProfileForm(salt, checksum_address(OWNER), sign_digest(digest), file="portrait.png")


_SESSION = WritingSessionRecord(SESSION_ID, OWNER, WRITING_ACTIONS, MOMENT, EXPIRES, MOMENT)

OPENING = _opening()
"""An example body that opens a writing session."""

_EXPIRES_AT = MOMENT + timedelta(hours=2)

_ID = Parameter("id", "WritingSessionId", "The id of a writing session.", SESSION_ID, "path")

LOG_IN = Operation(
    "login",
    "post",
    "/auth/login",
    Topic.SESSIONS,
    "Log in",
    "Sign a login message (EIP-4361) with `personal_sign` and send its exact text as `salt`.\n\n"
    "The message names one of the `login.domains` of `GET /.well-known/imprint.json`, the chain, "
    "and the address that signs. "
    "`Issued At` is at most 60 seconds old, and the address has never used the nonce before. "
    "The `URI` line is optional. A contract wallet logs in with a signature that its contract "
    "accepts (ERC-1271), also before it is deployed (ERC-6492).",
    Response(
        "A session. Keep it secret: it is the only credential for reads.",
        Session,
        Session(_token(_EXPIRES_AT), OWNER, "2h", _EXPIRES_AT),
    ),
    (*JSON_CODES, Code.INVALID_LOGIN_MESSAGE, Code.NONCE_USED, Code.DATABASE_UNAVAILABLE),
    body=Body(LoginBody, "The signed message.", _login()),
)

LOG_OUT = Operation(
    "logout",
    "post",
    "/auth/logout",
    Topic.SESSIONS,
    "Log out",
    "Ends this session, or with `all` every session that the address has. Every replica of the "
    "service refuses them at once (`session_ended`), together with the page tokens that they "
    "received for lists of drafts. Private feeds and writing sessions stay valid, and the address "
    "can log in again.",
    Response("The session is ended. There is no body.", None, status=204),
    (Code.INVALID_JSON, Code.REQUEST_TIMEOUT, Code.TOO_LARGE, *SESSION_CODES, *MIDDLEWARE_CODES),
    body=Body(
        LogoutBody, "Nothing, or which sessions to end.", LogoutBody(all=True), required=False
    ),
    needs_session=True,
)

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
    Response(
        "The writing session.", WritingSessionResponse, WritingSessionResponse(_SESSION), status=201
    ),
    (
        Code.AUTHOR_REFUSED,
        *JSON_CODES,
        Code.INVALID_TYPED_DATA,
        Code.BODY_MISMATCH,
        Code.WRITING_SESSION_EXPIRED,
        Code.NONCE_USED,
        Code.TOO_MANY_WRITING_SESSIONS,
        Code.DATABASE_UNAVAILABLE,
    ),
    body=Body(OpeningBody, "The signed opening.", OPENING),
)

LIST_SESSIONS = Operation(
    "listWritingSessions",
    "get",
    "/writing/sessions",
    Topic.DRAFTS,
    "List your writing sessions",
    "Returns the live writing sessions of the reader's address, the oldest first.",
    Response(
        "The writing sessions.", WritingSessionsResponse, WritingSessionsResponse((_SESSION,))
    ),
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

UPDATE_PROFILE = Operation(
    "updateProfile",
    "post",
    "/update/profile",
    Topic.POSTS,
    "Update your profile",
    "Replaces the name, the bio, the links and, if `avatar` says so, the picture of the author who "
    "signs. Sign typed data of the type `UpdateProfile`, and send its JSON as the form field "
    "`salt`. Every post of the author has the new `byline` from then on.\n\n"
    "The picture is re-encoded without metadata, as thumbnails are. Names are not unique: show the "
    "address beside a name wherever it matters who somebody is. The key of a writing session "
    "cannot sign a profile.",
    Response("The profile.", ProfileResponse, ProfileResponse(profile_record(PROFILE))),
    (
        *JSON_CODES,
        Code.INVALID_TYPED_DATA,
        Code.INVALID_PROFILE,
        Code.INVALID_IMAGE,
        Code.BODY_MISMATCH,
        Code.WRITING_SESSION_SCOPE,
        Code.NONCE_USED,
        Code.QUOTA_EXCEEDED,
        Code.DATABASE_UNAVAILABLE,
        Code.STORAGE_UNAVAILABLE,
    ),
    body=Body(
        ProfileForm,
        "The signed profile, and its picture.",
        _profile(),
        "multipart/form-data",
        (("file", "image/png, image/jpeg, image/webp"), ("salt", "application/json")),
    ),
)

LOGIN_OPERATIONS = (LOG_IN, LOG_OUT)
"""The login operations."""

WRITING_SESSION_OPERATIONS = (OPEN_SESSION, LIST_SESSIONS, REVOKE_SESSIONS, REVOKE_SESSION)
"""All operations on writing sessions, in docs order."""
