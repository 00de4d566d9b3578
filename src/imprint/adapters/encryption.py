"""Envelope encryption of documents: AES-256-GCM with one key per document, wrapped by a master key.

    stored document   nonce (12 bytes), ciphertext, tag (16); indistinguishable from random bytes
    wrapped key       format (1), id of the master key (8), nonce (12), ciphertext (32), tag (16)

Both authenticate the file's name, which includes its owner. A document or key moved to another file
therefore does not decrypt.
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
"""Size in bytes of a master key and of a document key: AES-256."""

KEY_ID_BYTES = 8
"""Size in bytes of a master key's id: enough to distinguish an operator's keys."""

NONCE_BYTES = 12
"""Size in bytes of the random nonce at the start of each ciphertext, as GCM recommends."""

OVERHEAD = NONCE_BYTES + 16
"""Bytes by which encryption enlarges a document."""

_FORMAT = b"\x01"
_HEADER = len(_FORMAT) + KEY_ID_BYTES
_WRAPPED = _HEADER + NONCE_BYTES + KEY_BYTES + 16
_DOCUMENT_LABEL = b"imprint document 1\0"
_KEY_LABEL = b"imprint document key 1\0"
_ID_LABEL = b"imprint master key id 1"

_log = logging.getLogger(__name__)


class AesCipher:
    """`DocumentCipher` that encrypts with `master` and also decrypts keys wrapped by `previous`."""

    def __init__(self, master: bytes, previous: bytes | None = None) -> None:
        if previous == master:
            raise ValueError("The previous master key is the same as the current one.")
        self._current = identify_key(master)
        self._masters = {identify_key(key): AESGCM(key) for key in (master, previous) if key}
        self.key_ids = tuple(_FORMAT + key_id for key_id in self._masters)
        self.encrypts = True

    def encrypt(self, document: bytes, name: str) -> EncryptedDocument:
        """Encrypt a document with a new key, and wrap the key."""
        key = secrets.token_bytes(KEY_BYTES)
        nonce = secrets.token_bytes(NONCE_BYTES)
        ciphertext = AESGCM(key).encrypt(nonce, document, _DOCUMENT_LABEL + name.encode())
        return EncryptedDocument(nonce + ciphertext, self._wrap(key, name))

    def decrypt(self, document: bytes, wrapped_key: bytes | None, name: str) -> bytes:
        """Decrypt a document. A document without a wrapped key was stored in plaintext."""
        if wrapped_key is None:
            return document
        key = AESGCM(self._unwrap(wrapped_key, name))
        nonce, ciphertext = document[:NONCE_BYTES], memoryview(document)[NONCE_BYTES:]
        try:
            return key.decrypt(nonce, ciphertext, _DOCUMENT_LABEL + name.encode())
        except (InvalidTag, ValueError) as error:
            _log.critical("A document does not decrypt with its own key.", extra={"file": name})
            raise Unavailable.storage() from error

    def rewrap(self, wrapped_key: bytes, name: str) -> bytes | None:
        """Wrap a key with the current master key, or return None if that key already wraps it."""
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
            _log.critical("A wrapped key has an unknown format.", extra={"file": name})
            raise Unavailable.storage()
        if master is None:
            facts = {"file": name, "key_id": key_id.hex()}
            _log.critical("The master key of a document is not set.", extra=facts)
            raise Unavailable.storage()
        try:
            bound = _KEY_LABEL + header + name.encode()
            return master.decrypt(rest[:NONCE_BYTES], rest[NONCE_BYTES:], bound)
        except InvalidTag as error:
            _log.critical("A wrapped key does not decrypt.", extra={"file": name})
            raise Unavailable.storage() from error


def identify_key(master: bytes) -> bytes:
    """A master key's id, which does not reveal the key. Raises ValueError for a wrong key size."""
    if len(master) != KEY_BYTES:
        raise ValueError(f"A master key has {KEY_BYTES} bytes.")
    return hmac.new(master, _ID_LABEL, hashlib.sha256).digest()[:KEY_ID_BYTES]


class PlainCipher:
    """`DocumentCipher` that does not encrypt.

    `cipher` decrypts documents that were encrypted before encryption was switched off.
    """

    def __init__(self, cipher: DocumentCipher | None = None) -> None:
        self._cipher = cipher
        self.key_ids: tuple[bytes, ...] = () if cipher is None else cipher.key_ids
        self.encrypts = False

    def encrypt(self, document: bytes, name: str) -> EncryptedDocument:
        return EncryptedDocument(document, None)

    def decrypt(self, document: bytes, wrapped_key: bytes | None, name: str) -> bytes:
        if wrapped_key is None:
            return document
        return self._require_cipher().decrypt(document, wrapped_key, name)

    def rewrap(self, wrapped_key: bytes, name: str) -> bytes | None:
        return self._require_cipher().rewrap(wrapped_key, name)

    def _require_cipher(self) -> DocumentCipher:
        if self._cipher is None:
            _log.critical("A document is encrypted, but IMPRINT_ENCRYPTION_KEY is not set.")
            raise Unavailable.storage()
        return self._cipher
