"""Base64url without padding; every sequence of bytes has exactly one valid text."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error


class NotBase64Url(ValueError):
    """The text is not base64url, or not the canonical text of its bytes."""


def encode_base64url(data: bytes) -> str:
    """Encode bytes."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """Decode the canonical text of some bytes. Raises `NotBase64Url`."""
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (Error, ValueError) as error:
        raise NotBase64Url("This is not base64url.") from error
    # The decoder ignores foreign characters and stray bits; encoding again reveals both.
    if encode_base64url(data) != text:
        raise NotBase64Url("This is not the canonical base64url of its bytes.")
    return data
