"""Arbitrary tokens signed like sessions, to test that only genuine sessions are trusted."""

import base64
import hmac
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from imprint.auth.sessions import SessionKeys, Sessions, key_id
from imprint.domain.errors import Code
from imprint.domain.formats.addresses import Address
from imprint.domain.sessions import Session

KEY, OTHER = b"k" * 32, b"o" * 32
ISSUER, AUDIENCE = "https://imprint.example", "imprint:31337"
READER = Address("0x" + "ab" * 20)
NOW = datetime(2030, 1, 31, 12, 0, 0, 999_999, tzinfo=UTC)
AT = int(NOW.timestamp())
SESSIONS = Sessions(SessionKeys(KEY), ISSUER, AUDIENCE)
HEADER = {"alg": "HS256", "typ": "JWT", "kid": key_id(KEY)}
CLAIMS = {
    "sub": READER,
    "iss": ISSUER,
    "aud": AUDIENCE,
    "iat": AT,
    "exp": AT + 7200,
    "jti": "00" * 16,
}
Refused = Callable[[Callable[[], object]], Code | None]


def b64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def sign(header: Any = None, claims: Any = None, key: bytes = KEY, how: str = "sha256") -> str:
    """Sign a token with any header and claims. Strings and bytes are used unchanged."""
    parts = [
        part if isinstance(part, bytes) else json.dumps(part).encode()
        for part in (HEADER if header is None else header, CLAIMS if claims is None else claims)
    ]
    signed = ".".join(map(b64, parts))
    return f"{signed}.{b64(hmac.digest(key, signed.encode(), how))}"


def read(token: str, now: datetime = NOW, sessions: Sessions = SESSIONS) -> Session:
    return sessions.read(f"Bearer {token}", now)
