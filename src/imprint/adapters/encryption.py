"""Documents encrypted with AES-256-GCM, each with a key of its own, which a master key wraps.

    stored document   nonce (12 bytes), ciphertext, tag (16); nothing tells it from random bytes
    wrapped key       format (1), id of the master key (8), nonce (12), ciphertext (32), tag (16)

Both are bound to the name of the file, and so to its owner: neither a document nor a key opens
anything in another file's place.
"""

import hashlib
import hmac
import logging
import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from imprint.domain.errors import Unavailable
from imprint.ports.content import DocumentCipher, EncryptedDocument

KEY_BYTES = 32
"""How many bytes a master key has, and the key of a document: those of AES-256."""

KEY_ID_BYTES = 8
"""How many bytes name a master key: enough that no two of an operator's keys share them."""

NONCE_BYTES = 12
"""How many random bytes begin each ciphertext: what GCM is made for."""

OVERHEAD = NONCE_BYTES + 16
"""How many bytes a stored document is longer than what it holds."""

_FORMAT = b"\x01"
_HEADER = len(_FORMAT) + KEY_ID_BYTES
_WRAPPED = _HEADER + NONCE_BYTES + KEY_BYTES + 16
_DOCUMENT_LABEL = b"imprint document 1\0"
_KEY_LABEL = b"imprint document key 1\0"
_ID_LABEL = b"imprint master key id 1"

_log = logging.getLogger(__name__)


class AesCipher:
    """Encrypts with `master`; opens also what `previous`, the master key until lately, wrapped."""

    def __init__(self, master: bytes, previous: bytes | None = None) -> None:
        if previous == master:
            raise ValueError("The previous master key is the same as the current one.")
        self._current = identify_key(master)
        self._masters = {identify_key(key): AESGCM(key) for key in (master, previous) if key}

    def encrypt(self, document: bytes, name: str) -> EncryptedDocument:
        key = secrets.token_bytes(KEY_BYTES)
        nonce = secrets.token_bytes(NONCE_BYTES)
        ciphertext = AESGCM(key).encrypt(nonce, document, _DOCUMENT_LABEL + name.encode())
        return EncryptedDocument(nonce + ciphertext, self._wrap(key, name))

    def decrypt(self, document: bytes, wrapped_key: bytes | None, name: str) -> bytes:
        if wrapped_key is None:
            return document
        key = AESGCM(self._unwrap(wrapped_key, name))
        nonce, ciphertext = document[:NONCE_BYTES], memoryview(document)[NONCE_BYTES:]
        try:
            return key.decrypt(nonce, ciphertext, _DOCUMENT_LABEL + name.encode())
        except (InvalidTag, ValueError) as error:
            _log.critical("A document does not open with its own key.", extra={"file": name})
            raise Unavailable.storage() from error

    def rewrap(self, wrapped_key: bytes, name: str) -> bytes | None:
        if wrapped_key[:_HEADER] == _FORMAT + self._current:
            return None
        return self._wrap(self._unwrap(wrapped_key, name), name)

    def _wrap(self, key: bytes, name: str) -> bytes:
        header = _FORMAT + self._current
        nonce = secrets.token_bytes(NONCE_BYTES)
        bound = _KEY_LABEL + header + name.encode()
        return header + nonce + self._masters[self._current].encrypt(nonce, key, bound)

    def _unwrap(self, wrapped_key: bytes, name: str) -> bytes:
        header, rest = wrapped_key[:_HEADER], wrapped_key[_HEADER:]
        key_id = header[len(_FORMAT) :]
        master = self._masters.get(key_id)
        if len(wrapped_key) != _WRAPPED or header[:1] != _FORMAT:
            _log.critical("A wrapped key has another form.", extra={"file": name})
            raise Unavailable.storage()
        if master is None:
            facts = {"file": name, "key_id": key_id.hex()}
            _log.critical("The master key of a document is not among the settings.", extra=facts)
            raise Unavailable.storage()
        try:
            bound = _KEY_LABEL + header + name.encode()
            return master.decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], bound)
        except InvalidTag as error:
            _log.critical("A wrapped key does not open.", extra={"file": name})
            raise Unavailable.storage() from error


def identify_key(master: bytes) -> bytes:
    """The id of a master key, which says nothing of it. Refuses one that has not 32 bytes."""
    if len(master) != KEY_BYTES:
        raise ValueError(f"A master key has {KEY_BYTES} bytes.")
    return hmac.new(master, _ID_LABEL, hashlib.sha256).digest()[:KEY_ID_BYTES]


class PlainCipher:
    """Seals nothing. `before` opens what was encrypted before encryption was switched off."""

    def __init__(self, before: DocumentCipher | None = None) -> None:
        self._before = before

    def encrypt(self, document: bytes, name: str) -> EncryptedDocument:
        return EncryptedDocument(document, None)

    def decrypt(self, document: bytes, wrapped_key: bytes | None, name: str) -> bytes:
        if wrapped_key is None:
            return document
        return self._former().decrypt(document, wrapped_key, name)

    def rewrap(self, wrapped_key: bytes, name: str) -> bytes | None:
        return self._former().rewrap(wrapped_key, name)

    def _former(self) -> DocumentCipher:
        if self._before is None:
            _log.critical("A document is encrypted, and IMPRINT_ENCRYPTION_KEY is not given.")
            raise Unavailable.storage()
        return self._before
