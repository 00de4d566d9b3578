"""Bytes as text that fits into headers and addresses: base64url without padding, one spelling."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error


class NotBase64Url(ValueError):
    """The text is no base64url, or not the one spelling of its bytes."""


def encode_base64url(data: bytes) -> str:
    """The one spelling of these bytes."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def decode_base64url(text: str) -> bytes:
    """The bytes spelled by `text`; raises `NotBase64Url` for any second spelling of them."""
    try:
        data = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except (Error, ValueError) as error:
        raise NotBase64Url("This is no base64url.") from error
    # The decoder skips foreign characters and stray bits; encoding again shows both.
    if encode_base64url(data) != text:
        raise NotBase64Url("This is another spelling than the canonical one.")
    return data
