"""Images: how large a thumbnail may be; the protocol's numbers."""

import json
from dataclasses import dataclass

MAX_IMAGE_BYTES = 5_000_000
"""How many bytes an image may have when it comes in."""

MAX_IMAGE_PIXELS = 16_000_000
"""How many pixels it may have: those of a good camera, 64 MB when decoded."""


SMALL_DOCUMENT = 64 * 1024
"""Up to how many bytes a document is small: hashing it holds nobody up, and many fit in memory."""

SALT_LENGTH = 16
"""How many random bytes the salt has: too many to guess."""

_KEYS = ("content", "name", "salt")
_QUOTE = json.JSONEncoder(ensure_ascii=False).encode
_PAIRS = json.JSONDecoder(object_pairs_hook=tuple)
"""Keeps the order of members and those that come twice; no other JSON becomes a tuple."""


class NotContent(ValueError):
    """The text cannot be content: it has a NUL or half a surrogate pair in it."""


class ContentTooLarge(NotContent):
    """The text is longer than content may be."""


class NotADocument(ValueError):
    """The bytes are no canonical document."""


@dataclass(frozen=True, slots=True)
class Document:
    """What a document holds."""

    content: str
    name: str
    salt: bytes


def check_content(content: str, limit: int) -> None:
    """Refuse what cannot be content.

    `ContentTooLarge` above `limit` bytes of UTF-8, `NotContent` for NUL and lone surrogates.
    """
    if len(content) > limit:
        raise ContentTooLarge(f"Content has at most {limit} bytes.")
    if "\0" in content:
        raise NotContent("Content has no NUL characters.")
    if not content.isascii() and len(_encode(content)) > limit:
        raise ContentTooLarge(f"Content has at most {limit} bytes.")


def write_document(content: str, name: str, salt: bytes) -> bytes:
    """The document of this content; refuses, with `NotContent`, NUL and lone surrogates."""
    if "\0" in content:
        raise NotContent("Content has no NUL characters.")
    if len(salt) != SALT_LENGTH:
        raise ValueError(f"A salt has {SALT_LENGTH} bytes.")
    return _encode(f'{{"content":{_QUOTE(content)},"name":{_QUOTE(name)},"salt":"{salt.hex()}"}}')


def read_document(data: bytes) -> Document:
    """What the document holds; refuses, with `NotADocument`, what has not its members and order.

    That the bytes are canonical is not proven again: whoever reads has checked their cid.
    """
    try:
        pairs = _PAIRS.decode(data.decode())
        keys, values = zip(*pairs, strict=True)
        texts = all(isinstance(value, str) for value in values)
        if not isinstance(pairs, tuple) or keys != _KEYS or not texts:
            raise NotADocument("The stored bytes have not the members of a document.")
        content, name, salt = values
        if "\0" in content or len(salt) != 2 * SALT_LENGTH:
            raise NotADocument("The stored bytes have not the values of a document.")
        _encode(content)
        return Document(content, name, bytes.fromhex(salt))
    except (ValueError, TypeError, RecursionError) as error:
        raise NotADocument("The stored bytes are no document.") from error


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise NotContent("Content has no lone surrogates.") from None
