"""Sessions of the operator's page: opened by a secret, and carried by a cookie without it."""

import hmac
import re
from datetime import datetime, timedelta
from hashlib import sha256

LIFETIME = timedelta(hours=12)
"""How long the page stays open after signing in."""

_PURPOSE = b"imprint operator session 1"
_COOKIE = re.compile(r"([0-9]{1,12})\.([0-9a-f]{64})")


class OperatorSessions:
    """Verifies the operator's secret, and issues and verifies the session in the cookie.

    A session is its expiry time and a keyed hash of it. Nothing is stored: changing the secret ends
    all sessions.
    """

    def __init__(self, secret: bytes) -> None:
        self._expected = sha256(secret).digest()
        self._key = hmac.digest(secret, _PURPOSE, "sha256")

    def is_secret(self, given: bytes) -> bool:
        """Whether this is the secret, in constant time."""
        return hmac.compare_digest(sha256(given).digest(), self._expected)

    def issue(self, now: datetime) -> str:
        """A session that ends `LIFETIME` from now."""
        expires = str(int((now + LIFETIME).timestamp()))
        return f"{expires}.{self._sign(expires)}"

    def is_valid(self, session: str, now: datetime) -> bool:
        """Whether this session was issued with the current secret, and has not expired."""
        found = _COOKIE.fullmatch(session)
        if found is None:
            return False
        expires, signature = found.groups()
        is_ours = hmac.compare_digest(signature, self._sign(expires))
        return is_ours and now.timestamp() < int(expires)

    def _sign(self, expires: str) -> str:
        return hmac.digest(self._key, expires.encode(), "sha256").hex()
