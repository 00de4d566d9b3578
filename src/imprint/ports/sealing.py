"""What the flows need to keep stored documents useless to whoever has not their keys.

Calls of a cipher compute and wait for nobody, so they are plain functions; callers take large
documents off the event loop.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Sealed:
    """A document as it is stored, and the wrapped key that opens it; None if it needs none."""

    document: bytes
    wrapped_key: bytes | None = field(repr=False)


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """The wrapped key of one file, which the file's name is part of."""

    file_id: str
    name: str
    wrapped_key: bytes = field(repr=False)


class DocumentCipher(Protocol):
    """How documents are stored. A name belongs to one document, and no other name opens it.

    What cannot be opened or wrapped anew is `Unavailable` for storage, with an alarm in the log:
    a master key is missing or wrong, or somebody has changed what was stored.
    """

    def seal(self, document: bytes, name: str) -> Sealed:
        """The form in which to store the document of this name."""

    def open(self, document: bytes, wrapped_key: bytes | None, name: str) -> bytes:
        """What was sealed; without a wrapped key, the document was stored as it is."""

    def rewrap(self, wrapped_key: bytes, name: str) -> bytes | None:
        """The same key, wrapped by the master key of today; None if it is already."""


class KeyCatalog(Protocol):
    """The wrapped keys in the catalog, for their rotation."""

    async def wrapped_keys(self, after: str, limit: int) -> list[KeyRecord]:
        """Up to `limit` keys by rising file id, those above `after`, of files in every state."""

    async def replace_keys(self, changes: Sequence[tuple[KeyRecord, bytes]]) -> int:
        """Put new wrapped keys in the places of those given, in one transaction.

        A record that changed meanwhile is left alone. Returns how many were replaced.
        """
