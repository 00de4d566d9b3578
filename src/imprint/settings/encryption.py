"""The settings of encryption: whether stored documents are encrypted, and the master key."""

import base64
import binascii
import re
from dataclasses import dataclass

from imprint.settings.declaration import InvalidSetting, optional, setting
from imprint.settings.parsers import choice, parse_switch
from imprint.settings.secrets import Secret
from imprint.settings.stores import BucketContent, ContentStoreSetting

KEY_BYTES = 32
"""The size of a master key, an AES-256 key."""

_HEX = re.compile(r"[0-9a-fA-F]{64}")


def parse_key(text: str) -> Secret:
    """A master key, as 64 hex digits or base64."""
    decode_key(Secret(text))
    return Secret(text)


def decode_key(secret: Secret) -> bytes:
    """The bytes of a master key. Raises `InvalidSetting` if the text is not 32 bytes."""
    text = secret.reveal()
    if _HEX.fullmatch(text):
        return bytes.fromhex(text)
    try:
        standard = text.replace("-", "+").replace("_", "/").rstrip("=")
        key = base64.b64decode(standard + "=" * (-len(standard) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if len(key) != KEY_BYTES:
        raise InvalidSetting("must be 32 bytes, as 64 hex digits or base64; openssl rand -hex 32")
    return key


@dataclass(frozen=True, slots=True)
class Encryption:
    """Whether stored documents are encrypted, and with what."""

    mode: str = setting(
        "ENCRYPTION",
        "Whether documents are encrypted before they are stored: `on`, `off`, or `auto`, which is "
        "on where stored documents are public, and in a bucket if there is a key.",
        choice("auto", "on", "off"),
        "auto",
    )
    key: Secret | None = optional(
        "ENCRYPTION_KEY",
        "The master key that wraps the keys of documents, needed when they are encrypted: 32 bytes"
        " as 64 hex digits or base64. Without it, encrypted documents are lost.",
        parse_key,
        secret=True,
    )
    key_previous: Secret | None = optional(
        "ENCRYPTION_KEY_PREVIOUS",
        "The previous master key, needed until `imprint rotate-key` is done.",
        parse_key,
        secret=True,
    )
    allow_readable: bool = setting(
        "ALLOW_READABLE_DOCUMENTS",
        "Whether encryption may be `off` although stored documents are public: then everybody who "
        "knows a cid, which every post shows, can read without paying.",
        parse_switch,
        "off",
    )

    def encrypts(self, store: ContentStoreSetting) -> bool:
        """Whether documents in this store are encrypted."""
        if self.mode == "auto":
            # One wrong policy opens a bucket, and the chain reveals the names of documents.
            return store.public or (isinstance(store, BucketContent) and self.key is not None)
        return self.mode == "on"

    def check(self, store: ContentStoreSetting) -> list[str]:
        """What is wrong with these settings for documents in this store, one sentence each."""
        if self.encrypts(store):
            if self.key is None:
                why = "is 'on'" if self.mode == "on" else "is 'auto' and strangers can fetch"
                what = "" if self.mode == "on" else " what IMPRINT_CONTENT_STORE keeps"
                return [
                    f"IMPRINT_ENCRYPTION_KEY is missing, and IMPRINT_ENCRYPTION {why}{what}."
                    " Make one with: openssl rand -hex 32"
                ]
            return []
        if store.public and not self.allow_readable:
            return [
                "IMPRINT_ENCRYPTION is 'off', but strangers can fetch what IMPRINT_CONTENT_STORE"
                " keeps, and would read every post. If that is what you want, say so with"
                " IMPRINT_ALLOW_READABLE_DOCUMENTS=on."
            ]
        return []
