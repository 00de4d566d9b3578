"""Documents stored as they are, for stores that nobody else can read."""

import logging

from imprint.domain.refusals import Unavailable
from imprint.ports.sealing import DocumentCipher, Sealed

_log = logging.getLogger(__name__)


class PlainCipher:
    """Seals nothing. `before` opens what was encrypted before encryption was switched off."""

    def __init__(self, before: DocumentCipher | None = None) -> None:
        self._before = before

    def seal(self, document: bytes, name: str) -> Sealed:
        return Sealed(document, None)

    def open(self, document: bytes, wrapped_key: bytes | None, name: str) -> bytes:
        if wrapped_key is None:
            return document
        return self._former().open(document, wrapped_key, name)

    def rewrap(self, wrapped_key: bytes, name: str) -> bytes | None:
        return self._former().rewrap(wrapped_key, name)

    def _former(self) -> DocumentCipher:
        if self._before is None:
            _log.critical("A document is encrypted, and IMPRINT_ENCRYPTION_KEY is not given.")
            raise Unavailable.storage()
        return self._before
