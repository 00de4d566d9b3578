"""Where documents are kept, and how pictures become documents."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from imprint.domain.cids import Cid
from imprint.domain.files import Label, Network


class ContentStore(Protocol):
    """Documents by their cid; private and public ones are kept apart."""

    async def put(
        self, cid: Cid, document: bytes, network: Network, label: Label | None = None
    ) -> None:
        """Store a document durably under its cid; storing it again is the same as once.

        The adapter makes sure that what it stored has this cid. A label that cannot be attached
        is no reason to fail.
        """

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Tell the store's own console what a document is now.

        A store without a console does nothing; a document that is not there is no error.
        """

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """The bytes of a document, verified against its cid; None if it is not there.

        Bytes that do not match are never returned: they are `Unavailable`.
        """

    async def remove(self, cid: Cid, network: Network) -> None:
        """Destroy a document; one that is not there is no error."""

    async def probe(self) -> None:
        """Return if documents can be stored and read."""

    async def close(self) -> None:
        """Finish what runs and let go."""


class ImageRecoder(Protocol):
    """Proof that bytes are an image, and the same picture without anything else in it."""

    async def recode(self, image: bytes) -> bytes:
        """The picture encoded anew, without metadata, in its own format (PNG or JPEG).

        Refuses `unsupported_media_type`, `too_large`, `invalid_image`.
        """

    async def close(self) -> None:
        """Let go of whatever recodes."""


class Inventory(Protocol):
    """A content store that holds nothing but what this service put there.

    A store that others use too is no inventory: what is unknown there may be theirs.
    """

    def list_documents(
        self, network: Network, before: datetime | None = None
    ) -> AsyncIterator[Cid]:
        """The cids of all documents, or of those stored before then.

        What is stored or destroyed meanwhile may or may not be among them.
        """


class StrayCatalog(Protocol):
    """The catalog, asked for what it does not know."""

    async def detach_strays(self, cids: Sequence[Cid], network: Network, at: datetime) -> int:
        """Detach those of these documents that no version, thumbnail or intent is about.

        From then on they are documents that something let go of. Returns how many were strays.
        """


@dataclass(frozen=True, slots=True)
class EncryptedDocument:
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

    def encrypt(self, document: bytes, name: str) -> EncryptedDocument:
        """The form in which to store the document of this name."""

    def decrypt(self, document: bytes, wrapped_key: bytes | None, name: str) -> bytes:
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
