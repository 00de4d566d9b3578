"""Page tokens: as clients send them, and with any contents that decrypt."""

from contextlib import suppress
from datetime import UTC, datetime

from imprint.auth.page_tokens import _LABEL, PageTokens, TokenCiphers
from imprint.auth.post_page_tokens import _LABEL as _POST_LABEL
from imprint.auth.post_page_tokens import PostPageTokens
from imprint.domain.errors import Refusal

NOW = datetime(2026, 11, 1, 12, 0, 0, tzinfo=UTC)
LATER = datetime(2026, 11, 2, 12, 0, 0, tzinfo=UTC)
SECRET = b"s" * 32
NONCE = b"n" * 12
TOKENS = PageTokens(SECRET, b"p" * 32, lambda size: b"r" * size)
POST_TOKENS = PostPageTokens(SECRET, b"p" * 32)
CIPHERS = TokenCiphers(SECRET, None, _LABEL)
POST_CIPHERS = TokenCiphers(SECRET, None, _POST_LABEL)


def check(data: bytes) -> None:
    """An accepted position is encoded and decoded without a change."""
    text = data.decode("latin-1")
    for token in (text, CIPHERS.encrypt(NONCE, data)):
        with suppress(Refusal):
            page = TOKENS.decode(token, NOW)
            assert TOKENS.decode(TOKENS.encode(page, LATER), NOW) == page
    for token in (text, POST_CIPHERS.encrypt(NONCE, data)):
        with suppress(Refusal):
            posts = POST_TOKENS.decode(token, NOW)
            assert POST_TOKENS.decode(POST_TOKENS.encode(posts, LATER), NOW) == posts
