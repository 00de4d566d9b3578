"""Page tokens: the encrypted and authenticated position in a list."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

import msgspec
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from imprint.auth.base64url import decode_base64url, encode_base64url
from imprint.domain.addresses import Address
from imprint.domain.errors import Code, Refusal
from imprint.domain.lists import ListFilter, OwnDrafts, PublicList

MAX_PAGE_TOKEN_LENGTH = 2048
"""Longer tokens are refused undecoded; the longest filter that a list accepts fits."""

_LABEL = b"imprint page token 1"
_NONCE_BYTES = 12


@dataclass(frozen=True, slots=True)
class Cursor:
    """A list, and the position after which it continues; `until` is the end of the session."""

    filter: ListFilter
    position: int
    until: datetime | None = None


class _PublicCursor(msgspec.Struct, frozen=True, array_like=True, tag=0):
    expires: int
    position: int
    tags: tuple[str, ...]
    drafts_too: bool


class _DraftsCursor(msgspec.Struct, frozen=True, array_like=True, tag=1):
    expires: int
    position: int
    owner: bytes
    until: int | None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_PublicCursor | _DraftsCursor).decode


class PageTokens:
    """Encodes cursors with `secret`, and decodes tokens of it and of the `previous` secret."""

    def __init__(
        self,
        secret: bytes,
        previous: bytes | None = None,
        random_bytes: Callable[[int], bytes] = os.urandom,
    ) -> None:
        self._ciphers = [_derive_cipher(key) for key in (secret, previous) if key is not None]
        self._random_bytes = random_bytes

    def encode(self, cursor: Cursor, expires_at: datetime) -> str:
        """Encode a cursor as a token that is valid until `expires_at` (in whole seconds)."""
        nonce = self._random_bytes(_NONCE_BYTES)
        plain = _encode(_pack(cursor, int(expires_at.timestamp())))
        return encode_base64url(nonce + self._ciphers[0].encrypt(nonce, plain, _LABEL))

    def decode(self, text: str, now: datetime) -> Cursor:
        """Decode the cursor of a token. Refuses `invalid_page_token`, also after its expiry."""
        if len(text) > MAX_PAGE_TOKEN_LENGTH:
            raise _invalid()
        try:
            packed = _decode(self._decrypt(decode_base64url(text)))
        except (ValueError, InvalidTag) as error:
            raise _invalid() from error
        if packed.expires <= now.timestamp():
            raise _invalid()
        return _unpack(packed)

    def _decrypt(self, encrypted: bytes) -> bytes:
        nonce, body = encrypted[:_NONCE_BYTES], encrypted[_NONCE_BYTES:]
        for cipher in self._ciphers[:-1]:
            try:
                return cipher.decrypt(nonce, body, _LABEL)
            except InvalidTag:
                continue
        return self._ciphers[-1].decrypt(nonce, body, _LABEL)


def _derive_cipher(secret: bytes) -> ChaCha20Poly1305:
    # The key is derived, so that one secret may serve several purposes.
    return ChaCha20Poly1305(HKDF(SHA256(), length=32, salt=None, info=_LABEL).derive(secret))


def _pack(cursor: Cursor, expires: int) -> _PublicCursor | _DraftsCursor:
    which = cursor.filter
    if isinstance(which, OwnDrafts):
        until = None if cursor.until is None else int(cursor.until.timestamp())
        return _DraftsCursor(expires, cursor.position, bytes.fromhex(which.owner[2:]), until)
    return _PublicCursor(expires, cursor.position, which.tags, which.drafts_too)


def _unpack(packed: _PublicCursor | _DraftsCursor) -> Cursor:
    if isinstance(packed, _DraftsCursor):
        until = None if packed.until is None else datetime.fromtimestamp(packed.until, UTC)
        return Cursor(OwnDrafts(Address("0x" + packed.owner.hex())), packed.position, until)
    return Cursor(PublicList(packed.tags, packed.drafts_too), packed.position)


def _invalid() -> Refusal:
    return Refusal(Code.INVALID_PAGE_TOKEN, "This page token is not valid, or has expired.")
