"""Page tokens: a list position, encrypted and authenticated."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from imprint.auth.sessions import decode_base64url, encode_base64url
from imprint.domain.errors import Code, Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.indexed_posts import ListFilter, OwnDrafts, PublicList
from imprint.domain.sessions import Session

MAX_PAGE_TOKEN_LENGTH = 2048
"""Maximum token length, checked before decoding. Enough for the longest filter of a list."""

_LABEL = b"imprint page token 1"

NONCE_BYTES = 12
"""Length in bytes of the nonce at the start of a token."""


@dataclass(frozen=True, slots=True)
class PagePosition:
    """A list, and the position after which it continues.

    The position in a list of drafts includes the session that read the list. Tokens issued by
    an older release have only `until`, the end of that session.
    """

    filter: ListFilter
    position: int
    until: datetime | None = None
    session: Session | None = None


class _PublicPosition(msgspec.Struct, frozen=True, array_like=True, tag=0):
    expires: int
    position: int
    tags: tuple[str, ...]
    drafts_too: bool


class _DraftsPosition(msgspec.Struct, frozen=True, array_like=True, tag=1):
    expires: int
    position: int
    owner: bytes
    until: int | None
    session: str | None = None
    generation: int = 0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_PublicPosition | _DraftsPosition).decode


class PageTokens:
    """Encodes positions with `secret`, and decodes tokens made with it or the `previous` secret."""

    def __init__(
        self,
        secret: bytes,
        previous: bytes | None = None,
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._ciphers = TokenCiphers(secret, previous, _LABEL)
        self._random_bytes = random_bytes

    def encode(self, page: PagePosition, expires_at: datetime) -> str:
        """Encode a position as a token valid until `expires_at` (in whole seconds)."""
        nonce = self._random_bytes(NONCE_BYTES)
        return self._ciphers.encrypt(nonce, _encode(_pack(page, int(expires_at.timestamp()))))

    def decode(self, text: str, now: datetime) -> PagePosition:
        """Decode a token's position. Refuses invalid and expired tokens with
        `invalid_page_token`."""
        if len(text) > MAX_PAGE_TOKEN_LENGTH:
            raise invalid_page_token()
        try:
            packed = _decode(self._ciphers.decrypt(text))
            if packed.expires <= now.timestamp():
                raise invalid_page_token()
            return _unpack(packed)
        except (ValueError, OverflowError, OSError, InvalidTag) as error:
            raise invalid_page_token() from error


def derive_key(secret: bytes, label: bytes) -> bytes:
    """Derive a key for one purpose, so that one secret may serve several purposes."""
    return HKDF(SHA256(), length=32, salt=None, info=label).derive(secret)


class TokenCiphers:
    """Encrypts text for one purpose with a secret, and decrypts with it or the previous one."""

    def __init__(self, secret: bytes, previous: bytes | None, label: bytes) -> None:
        keys = [derive_key(key, label) for key in (secret, previous) if key is not None]
        self._ciphers = [ChaCha20Poly1305(key) for key in keys]
        self._label = label

    def encrypt(self, nonce: bytes, plain: bytes) -> str:
        """Encrypt a text into a token, in base64url."""
        return encode_base64url(nonce + self._ciphers[0].encrypt(nonce, plain, self._label))

    def decrypt(self, text: str) -> bytes:
        """The contents of a token. Raises ValueError, or `InvalidTag` if it was altered."""
        encrypted = decode_base64url(text)
        nonce, body = encrypted[:NONCE_BYTES], encrypted[NONCE_BYTES:]
        for cipher in self._ciphers[:-1]:
            try:
                return cipher.decrypt(nonce, body, self._label)
            except InvalidTag:
                continue
        return self._ciphers[-1].decrypt(nonce, body, self._label)


def _pack(page: PagePosition, expires: int) -> _PublicPosition | _DraftsPosition:
    which = page.filter
    if isinstance(which, OwnDrafts):
        until = None if page.until is None else int(page.until.timestamp())
        owner, session = bytes.fromhex(which.owner[2:]), page.session
        if session is None:
            return _DraftsPosition(expires, page.position, owner, until)
        return _DraftsPosition(expires, page.position, owner, until, session.id, session.generation)
    return _PublicPosition(expires, page.position, which.tags, which.drafts_too)


def _unpack(packed: _PublicPosition | _DraftsPosition) -> PagePosition:
    if isinstance(packed, _DraftsPosition):
        until = None if packed.until is None else datetime.fromtimestamp(packed.until, UTC)
        owner, session = Address("0x" + packed.owner.hex()), None
        if packed.session is not None and until is not None:
            session = Session(owner, until, packed.session, packed.generation)
        return PagePosition(OwnDrafts(owner), packed.position, until, session)
    return PagePosition(PublicList(packed.tags, packed.drafts_too), packed.position)


def invalid_page_token() -> Refusal:
    """The refusal for a token that was altered, has expired, or belongs to another list."""
    return Refusal(
        Code.INVALID_PAGE_TOKEN,
        "This page token is invalid or has expired. Start again from the first page.",
    )
