"""Deterministic page tokens for lists of posts, libraries and sales.

A page that has not changed must keep its entity tag, and its body contains the next page's token.
The nonce is therefore derived from the position instead of chosen at random, and tokens expire at
the end of a day instead of a fixed time after they were issued. Equal positions give equal tokens,
which reveals no more than the page itself does.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from hmac import digest
from typing import Any

import msgspec
from cryptography.exceptions import InvalidTag

from imprint.auth.page_tokens import NONCE_BYTES, TokenCiphers, derive_key, invalid_page_token
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.indexed_posts import PostFilter, PostOrder, PostPosition, PostScope

MAX_POST_TOKEN_LENGTH = 4096
"""Maximum token length, checked before decoding. Enough for the longest filter of a list."""

TOKEN_DAYS = timedelta(days=1)
"""A token expires at the end of the first UTC day that ends at least this far in the future."""

_LABEL = b"imprint post page token 1"
_NONCE_LABEL = b"imprint post page token nonce 1"
_DAY = 24 * 60 * 60


@dataclass(frozen=True, slots=True)
class PostsPage:
    """The position from which a list of posts continues. `query` is the search text."""

    which: PostFilter
    position: PostPosition
    limit: int
    query: str | None = None


class OwnList(StrEnum):
    """Lists that belong to an address."""

    LIBRARY = "library"
    POSTS = "posts"
    SALES = "sales"


@dataclass(frozen=True, slots=True)
class OwnPage:
    """A position in a list that belongs to an address. The list continues before the position."""

    name: OwnList
    address: Address
    before: int
    limit: int
    query: str | None = None


class _Posts(msgspec.Struct, frozen=True, array_like=True, tag=0):
    expires: int
    place: int
    value: bytes
    tags: tuple[str, ...]
    author: bytes | None
    free: bool | None
    min_price: bytes | None
    max_price: bytes | None
    order: str
    limit: int
    query: str | None
    scope: str = PostScope.SHOWN.value


class _Own(msgspec.Struct, frozen=True, array_like=True, tag=1):
    expires: int
    name: str
    address: bytes
    before: int
    limit: int
    query: str | None


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Posts | _Own).decode


def token_expiry(now: datetime) -> datetime:
    """The expiry of tokens that are issued at this time. The expiry changes once a day."""
    days = -(-int((now + TOKEN_DAYS).timestamp()) // _DAY)
    return datetime.fromtimestamp(days * _DAY, UTC)


class PostPageTokens:
    """Encodes positions with `secret`, and decodes tokens made with it or the `previous` secret."""

    def __init__(self, secret: bytes, previous: bytes | None = None) -> None:
        self._ciphers = TokenCiphers(secret, previous, _LABEL)
        self._nonce_key = derive_key(secret, _NONCE_LABEL)

    def encode(self, page: PostsPage | OwnPage, expires_at: datetime) -> str:
        """Encode a position as a token valid until `expires_at` (in whole seconds)."""
        plain = _encode(_pack(page, int(expires_at.timestamp())))
        nonce = digest(self._nonce_key, plain, sha256)[:NONCE_BYTES]
        return self._ciphers.encrypt(nonce, plain)

    def decode(self, text: str, now: datetime) -> PostsPage | OwnPage:
        """Decode a token's position. Refuses invalid and expired tokens with
        `invalid_page_token`."""
        if len(text) > MAX_POST_TOKEN_LENGTH:
            raise invalid_page_token()
        try:
            packed = _decode(self._ciphers.decrypt(text))
            if packed.expires <= now.timestamp():
                raise invalid_page_token()
            return _unpack(packed)
        except (ValueError, InvalidTag) as error:
            raise invalid_page_token() from error


def _pack(page: PostsPage | OwnPage, expires: int) -> _Posts | _Own:
    if isinstance(page, OwnPage):
        address = bytes.fromhex(page.address[2:])
        return _Own(expires, page.name.value, address, page.before, page.limit, page.query)
    which, position = page.which, page.position
    return _Posts(
        expires,
        position.place,
        _bytes(position.value),
        which.tags,
        None if which.author is None else bytes.fromhex(which.author[2:]),
        which.free,
        None if which.min_price is None else _bytes(which.min_price),
        None if which.max_price is None else _bytes(which.max_price),
        which.order.value,
        page.limit,
        page.query,
        which.scope.value,
    )


def _unpack(packed: Any) -> PostsPage | OwnPage:
    if isinstance(packed, _Own):
        address = Address("0x" + packed.address.hex())
        name = OwnList(packed.name)
        return OwnPage(name, address, packed.before, packed.limit, packed.query)
    which = PostFilter(
        packed.tags,
        None if packed.author is None else Address("0x" + packed.author.hex()),
        packed.free,
        None if packed.min_price is None else _number(packed.min_price),
        None if packed.max_price is None else _number(packed.max_price),
        PostOrder(packed.order),
        PostScope(packed.scope),
    )
    position = PostPosition(packed.place, _number(packed.value))
    return PostsPage(which, position, packed.limit, packed.query)


def _bytes(number: int) -> bytes:
    """Encode a number of up to 256 bits, which msgpack cannot encode as an integer."""
    return number.to_bytes((number.bit_length() + 7) // 8, "big")


def _number(packed: bytes) -> int:
    return int.from_bytes(packed, "big")
