"""Sessions: JWTs that this service issues and verifies itself (RFC 7519, HS256).

There is one algorithm, one header and one set of claims. Everything else is refused.
"""

import hashlib
import hmac
import os
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Literal

import msgspec

from imprint.domain.bounded_cache import BoundedCache
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address, parse_address
from imprint.domain.sessions import SESSION_SECONDS, Session


class NotBase64Url(ValueError):
    """The text is not base64url, or is not the canonical encoding of its bytes."""


def encode_base64url(data: bytes) -> str:
    """Encode bytes as base64url."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """Decode canonical base64url. Raises `NotBase64Url`."""
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (Error, ValueError) as error:
        raise NotBase64Url("This is not base64url.") from error
    # The decoder ignores foreign characters and stray bits. Encoding again reveals both.
    if encode_base64url(data) != text:
        raise NotBase64Url("This is not the canonical base64url of its bytes.")
    return data


MAX_AUTHORIZATION_LENGTH = 2048
"""Maximum length of an Authorization header to decode. A session has about 400 characters."""

MAX_KNOWN = 10_000
"""Number of verified sessions that are cached. The oldest are evicted first."""

CLOCK_SKEW_SECONDS = 5
"""Seconds by which the clock of another process may be ahead of ours."""

_SHAPE = re.compile(r"[Bb][Ee][Aa][Rr][Ee][Rr] (([\w-]{1,400})\.([\w-]+))\.([\w-]{43})", re.ASCII)

_SCHEME = re.compile(r"bearer(?: |\Z)", re.IGNORECASE | re.ASCII)


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    alg: Literal["HS256"]
    typ: Literal["JWT"]
    kid: str


class _Claims(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """JWT claims. `address` repeats `sub` for pages that decode the token.

    Tokens of older releases lack `address`.
    """

    sub: str
    iss: str
    aud: str
    iat: int
    exp: int
    jti: str
    address: str | None = None


_encode = msgspec.json.Encoder().encode
_decode_header = msgspec.json.Decoder(_Header).decode
_decode_claims = msgspec.json.Decoder(_Claims).decode


@dataclass(frozen=True, slots=True)
class SessionKeys:
    """The signing key, and the previous one, whose sessions are still accepted.

    The settings enforce a minimum length, so only an empty key is refused here.
    """

    current: bytes = field(repr=False)
    previous: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not all(self.all):
            raise ValueError("A session key must not be empty.")

    @property
    def all(self) -> tuple[bytes, ...]:
        """All keys whose sessions are accepted."""
        return (self.current,) if self.previous is None else (self.current, self.previous)


@dataclass(frozen=True, slots=True)
class IssuedSession:
    """A new session to send to its reader."""

    token: str = field(repr=False)
    expires_at: datetime
    seconds: int
    """The lifetime of the session in seconds."""


class Sessions:
    """Issues and verifies sessions of one issuer for one audience.

    Sessions last for `seconds`. Sessions issued before this setting changed keep their expiry.
    """

    def __init__(
        self,
        keys: SessionKeys,
        issuer: str,
        audience: str,
        seconds: int = SESSION_SECONDS,
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._issuer = issuer
        self._audience = audience
        self._seconds = seconds
        self._random_bytes = random_bytes
        self._key = keys.current
        self._keys = {key_id(key): key for key in keys.all}
        header = _encode(_Header("HS256", "JWT", key_id(keys.current)))
        self._header = encode_base64url(header)
        self._known: BoundedCache[str, Session] = BoundedCache(MAX_KNOWN)

    def issue(self, address: Address, now: datetime, generation: int = 0) -> IssuedSession:
        """Issue a session for `address` that starts now, with the address's current generation."""
        issued = int(now.timestamp())
        expires = issued + self._seconds
        jti = f"{generation}-{self._random_bytes(16).hex()}"
        claims = _Claims(address, self._issuer, self._audience, issued, expires, jti, address)
        signed = f"{self._header}.{encode_base64url(_encode(claims))}"
        token = f"{signed}.{_sign(self._key, signed)}"
        return IssuedSession(token, datetime.fromtimestamp(expires, UTC), self._seconds)

    def read(self, authorization: str | None, now: datetime) -> Session:
        """Return the session in an Authorization header, which is None if the header is missing.

        Refuses with `session_missing`, `session_invalid` for anything not issued here, and
        `session_expired`.
        """
        if authorization is None:
            raise Refusal(Code.SESSION_MISSING, "This requires a session. Please log in.")
        session = self._known.get(authorization)
        if session is None:
            session = self._verify(authorization, now)
            self._known.put(authorization, session)
        if session.expires_at <= now:
            self._known.pop(authorization)
            raise Refusal(Code.SESSION_EXPIRED, "This session has expired. Please log in again.")
        return session

    def _verify(self, authorization: str, now: datetime) -> Session:
        try:
            claims = self._open(authorization)
            address = parse_address(claims.sub)
            generation = _generation(claims.jti)
        except ValueError as error:
            # Invalid base64, JSON, UTF-8 and addresses all raise a ValueError.
            raise _invalid() from error
        lasts = claims.exp - claims.iat
        ours = claims.iss == self._issuer and claims.aud == self._audience
        if not ours or address != claims.sub or not 0 < lasts <= SESSION_SECONDS:
            raise _invalid()
        if claims.address not in (None, claims.sub):
            raise _invalid()
        if claims.iat > now.timestamp() + CLOCK_SKEW_SECONDS:
            raise _invalid()
        expires_at = datetime.fromtimestamp(claims.exp, UTC)
        return Session(address, expires_at, claims.jti, generation)

    def _open(self, authorization: str) -> _Claims:
        match = _SHAPE.fullmatch(authorization[: MAX_AUTHORIZATION_LENGTH + 1])
        if match is None or len(authorization) > MAX_AUTHORIZATION_LENGTH:
            raise _invalid() if _SCHEME.match(authorization) else _unnamed()
        signed, header, claims, signature = match.groups()
        key = self._keys.get(_decode_header(decode_base64url(header)).kid)
        # Comparing the encoded texts is enough: these bytes have only one base64url encoding.
        if key is None or not hmac.compare_digest(_sign(key, signed), signature):
            raise _invalid()
        return _decode_claims(decode_base64url(claims))


def key_id(key: bytes) -> str:
    """Return a key's `kid`: a digest that does not reveal the key."""
    return hashlib.sha256(b"imprint session key id" + key).hexdigest()[:8]


def _generation(jti: str) -> int:
    """The generation in a session id, which session ids of older releases lack."""
    generation, dash, _ = jti.partition("-")
    return int(generation) if dash else 0


def _sign(key: bytes, text: str) -> str:
    return encode_base64url(hmac.digest(key, text.encode(), "sha256"))


def _unnamed() -> Refusal:
    text = "The word Bearer is missing: send 'Authorization: Bearer', a space, and the session."
    return Refusal(Code.SESSION_INVALID, text)


def _invalid() -> Refusal:
    return Refusal(Code.SESSION_INVALID, "This session is not valid. Please log in again.")


LIFETIME = timedelta(hours=12)
"""How long the operator's page stays open after signing in."""

_PURPOSE = b"imprint operator session 1"
_COOKIE = re.compile(r"([0-9]{1,12})\.([0-9a-f]{64})")


class OperatorSessions:
    """Verifies the operator's secret, and issues and verifies the session in the cookie.

    A session consists of its expiry time and a keyed hash of that time. Nothing is stored: changing
    the secret ends all sessions, except while the old one is given as `previous`.
    """

    def __init__(self, secret: bytes, previous: bytes | None = None) -> None:
        accepted = (secret,) if previous is None else (secret, previous)
        self._expected = [sha256(each).digest() for each in accepted]
        self._keys = [hmac.digest(each, _PURPOSE, "sha256") for each in accepted]

    def is_secret(self, given: bytes) -> bool:
        """Compare the secret in constant time."""
        digest = sha256(given).digest()
        return any(hmac.compare_digest(digest, each) for each in self._expected)

    def issue(self, now: datetime) -> str:
        """Issue a session that ends `LIFETIME` from now."""
        expires = str(int((now + LIFETIME).timestamp()))
        return f"{expires}.{_sign_expiry(self._keys[0], expires)}"

    def is_valid(self, session: str, now: datetime) -> bool:
        """Whether this session was issued with an accepted secret and has not expired."""
        found = _COOKIE.fullmatch(session)
        if found is None:
            return False
        expires, signature = found.groups()
        signed = [_sign_expiry(key, expires) for key in self._keys]
        is_ours = any(hmac.compare_digest(signature, each) for each in signed)
        return is_ours and now.timestamp() < int(expires)


def _sign_expiry(key: bytes, expires: str) -> str:
    return hmac.digest(key, expires.encode(), "sha256").hex()
