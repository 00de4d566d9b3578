"""Documents: the canonical JSON of a file's content, and the limits on content and images."""

import json
import re
from dataclasses import dataclass

MAX_IMAGE_BYTES = 5 * 1024 * 1024
"""Maximum size in bytes of an uploaded image, fixed by the protocol."""

MAX_IMAGE_PIXELS = 16_000_000
"""Maximum number of pixels in an image, which takes 64 MB when decoded."""

MAX_JPEG_PIXELS = 4 * MAX_IMAGE_PIXELS
"""Maximum number of pixels in a JPEG, enough for phone photos. Large JPEGs are scaled down."""

MAX_IMAGE_SIDE = 16_384
"""Maximum width or height of an image in pixels."""

SMALL_DOCUMENT = 64 * 1024
"""Maximum size in bytes of a document that is hashed on the event loop and may be cached."""

SALT_LENGTH = 16
"""Number of random bytes in a document, so that nobody can guess its CID from its content."""

_KEYS = ("content", "name", "salt")
_EARLIER_KEYS = ("content", "lang")
_QUOTE = json.JSONEncoder(ensure_ascii=False).encode
_PAIRS = json.JSONDecoder(object_pairs_hook=tuple)
"""Decodes objects into tuples of pairs, to preserve member order and duplicates."""


_EARLIER_END = re.compile(rb',"lang":"[a-z]{1,16}"}\Z')
_EARLIER_TAIL = 32
"""Maximum length in bytes of `_EARLIER_END` in a document."""

_SALT = re.compile(rb"[0-9a-f]{%d}" % (2 * SALT_LENGTH))


class NotContent(ValueError):
    """The text contains a NUL or a lone surrogate."""


class ContentTooLarge(NotContent):
    """The content is too long."""


class NotADocument(ValueError):
    """The bytes are not a document."""


@dataclass(frozen=True, slots=True)
class Document:
    """The members of a document."""

    content: str
    name: str
    salt: bytes


def check_content(content: str, limit: int) -> None:
    """Check that a text can be used as content.

    Raises `ContentTooLarge` above `limit` bytes of UTF-8, and `NotContent` for NUL and lone
    surrogates.
    """
    if len(content) > limit:
        raise ContentTooLarge(f"The content must have at most {limit} bytes.")
    if "\0" in content:
        raise NotContent("The content must not contain NUL characters.")
    if not content.isascii() and len(_encode(content)) > limit:
        raise ContentTooLarge(f"The content must have at most {limit} bytes.")


def write_document(content: str, name: str, salt: bytes) -> bytes:
    """Encode a document. Raises `NotContent` for NUL and lone surrogates."""
    if "\0" in content:
        raise NotContent("The content must not contain NUL characters.")
    if len(salt) != SALT_LENGTH:
        raise ValueError(f"A salt must have {SALT_LENGTH} bytes.")
    # Join bytes, because a text with one emoji needs four bytes per character.
    rest = f',"name":{_QUOTE(name)},"salt":"{salt.hex()}"}}'
    return b"".join((b'{"content":', _encode(_QUOTE(content)), _encode(rest)))


def read_document(data: bytes) -> Document:
    """Decode a document. Raises `NotADocument` unless it has the expected members in order.

    Documents of the earlier service have the members `content` and `lang`, but no name or
    salt. The encoding is not checked for being canonical, because the caller has verified the CID.
    """
    try:
        pairs = _PAIRS.decode(data.decode())
        keys, values = zip(*pairs, strict=True)
        texts = all(isinstance(value, str) for value in values)
        if not isinstance(pairs, tuple) or keys not in (_KEYS, _EARLIER_KEYS) or not texts:
            raise NotADocument("The stored bytes lack the members of a document.")
        content, name, salt = values if keys == _KEYS else (values[0], "", "")
        if "\0" in content or (keys == _KEYS and len(salt) != 2 * SALT_LENGTH):
            raise NotADocument("A member of the stored document has an invalid value.")
        _encode(content)
        return Document(content, name, bytes.fromhex(salt))
    except (ValueError, TypeError, RecursionError) as error:
        raise NotADocument("The stored bytes are not a document.") from error


def check_document(data: bytes, name: str) -> None:
    """Check that bytes are a document with this name, decoding only its text.

    Documents of the earlier service have no name. Raises `NotADocument`.
    """
    head = b'{"content":'
    tail = f',"name":{_QUOTE(name)},"salt":"'.encode()
    end = len(data) - len(tail) - 2 * SALT_LENGTH - len('"}')
    salt = data[end + len(tail) : -2]
    framed = end > len(head) and data.startswith(head + b'"') and data.startswith(tail, end)
    if not framed or not data.endswith(b'"}') or not _SALT.fullmatch(salt):
        earlier = _EARLIER_END.search(data, len(data) - _EARLIER_TAIL)
        if earlier is None or not data.startswith(head + b'"'):
            raise NotADocument(f"The bytes are not a document named {name}.")
        end = earlier.start()
    try:
        # The content begins with a quotation mark, so it is a string or invalid JSON.
        content = json.loads(data[len(head) : end].decode())
        _encode(content)
    except (ValueError, RecursionError) as error:
        raise NotADocument("The content of a document is not a string.") from error
    if "\0" in content:
        raise NotADocument("The content of a document contains a NUL character.")


def _encode(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise NotContent("The content must not contain lone surrogates.") from None
