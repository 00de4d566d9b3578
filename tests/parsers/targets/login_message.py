"""Login messages (EIP-4361), and the URIs and timestamps in them."""

from contextlib import suppress
from datetime import UTC, datetime

from imprint.auth.login_message import (
    NotAnInstant,
    NotAUri,
    parse_instant,
    parse_login_message,
    parse_uri,
    write_login_message,
)
from imprint.auth.logins import LoginClaim, LoginVerifier
from imprint.domain.errors import Refusal

NOW = datetime(2026, 11, 1, 12, 0, 0, tzinfo=UTC)
VERIFIER = LoginVerifier(["imprint.example", "localhost:*"], 31337)


def check(data: bytes) -> None:
    """An accepted message is written exactly as it was read."""
    text = data.decode("latin-1")
    with suppress(NotAUri):
        assert parse_uri(text).text == text
    with suppress(NotAnInstant):
        assert parse_instant(text).moment.tzinfo is UTC
    with suppress(Refusal):
        message = parse_login_message(text)
        assert write_login_message(message) == text
        VERIFIER.verify(LoginClaim(text, message.address, "0x" + "11" * 65), NOW)
