"""Ports for content stores, encryption of documents, and recoding of images."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

from imprint.domain.drafts.files import Label, Network
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid


class ContentStore(Protocol):
    """Documents by their cid; private and public ones are kept apart."""

    async def put(
        self,
        cid: Cid,
        document: bytes,
        network: Network,
        label: Label | None = None,
        fence: int = 0,
    ) -> None:
        """Store a document durably under its cid; storing it again only raises its fence.

        The adapter ensures that the stored bytes have this cid. Failing to attach a label is not an
        error.
        """

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Replace the label that the store's own console shows for a document.

        Does nothing for a store without a console; a missing document is not an error.
        """

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """The bytes of a document, verified against its cid; None if it is missing.

        Raises `Unavailable` for bytes that do not match: they are never returned.
        """

    async def remove(self, cid: Cid, network: Network, fence: int | None = None) -> None:
        """Destroy a document; a missing one is not an error.

        With a fence, a document stored with that fence or a higher one is kept: it was stored again
        after it had been condemned.
        """

    async def claimed_by(self, installation: str) -> str | None:
        """The id of the installation that has marked this store; None if there is no marker.

        A store of a single installation has one marker, possibly of another installation. A shared
        store has any number of markers: then the result is `installation` or None.
        """

    async def claim(self, installation: str, instead_of: str | None = None) -> str:
        """Mark the store durably, and return what `claimed_by` returns afterwards.

        A store of a single installation keeps the marker of another one, unless `instead_of` names
        that one. If several processes claim at the same time, one wins.
        """

    async def probe(self) -> None:
        """Return if documents can be stored and read."""

    async def close(self) -> None:
        """Finish the operations in progress and release all resources."""


@runtime_checkable
class Inventory(Protocol):
    """A content store that holds only documents of this service.

    A store shared with others is not an inventory: an unknown document there may be theirs.
    """

    async def claimed_by(self, installation: str) -> str | None:
        """As `ContentStore.claimed_by`."""

    def list_documents(
        self, network: Network, before: datetime | None = None
    ) -> AsyncIterator[Cid]:
        """The cids of all documents, or of those stored before a moment.

        A document that is stored or destroyed during the walk may or may not be included.
        """


@runtime_checkable
class ReadProbe(Protocol):
    """A content store that can tell whether documents are readable even if none can be stored."""

    async def probe_reads(self) -> None:
        """Return if documents can be read."""


class DiskSpace(Protocol):
    """The disks of this machine that the service writes to."""

    @property
    def low(self) -> bool:
        """Whether the disks are too full to store more documents."""


class ImageRecoder(Protocol):
    """Checks that bytes are an image, and encodes it again without metadata."""

    async def recode(self, image: bytes, signer: Address) -> bytes:
        """The image, encoded again as PNG or JPEG, without metadata.

        Images of one signer are recoded one at a time. Refuses `unsupported_media_type`,
        `too_large`, `invalid_image`, and `rate_limited` if too many of this signer are waiting.
        """

    async def scale(self, image: bytes, box: tuple[int, int], client: str) -> bytes:
        """A PNG or JPEG that `recode` returned, made smaller until it fits into the box.

        It is never made larger. Refuses `invalid_image`, and `rate_limited` if too many of this
        client are waiting.
        """

    async def close(self) -> None:
        """Stop the processes that recode images."""


@dataclass(frozen=True, slots=True)
class EncryptedDocument:
    """A document in its stored form, and its wrapped key; None if it is not encrypted."""

    document: bytes
    wrapped_key: bytes | None = field(repr=False)


KEY_ID_BYTES = 9
"""Length in bytes of the id of a master key: a format, and a keyed fingerprint that does not reveal
the key."""


class DocumentCipher(Protocol):
    """Encrypts documents. A name belongs to one document, and no other name decrypts it.

    A wrapped key begins with the id of the master key that wrapped it.

    If a document cannot be decrypted, or a key cannot be rewrapped, storage is `Unavailable` and an
    error is logged: a master key is missing or wrong, or the stored bytes were changed.
    """

    @property
    def key_ids(self) -> tuple[bytes, ...]:
        """The ids of the configured master keys, the current one first."""

    @property
    def encrypts(self) -> bool:
        """Whether new documents are encrypted."""

    def encrypt(self, document: bytes, name: str) -> EncryptedDocument:
        """Return the document of this name in the form in which to store it."""

    def decrypt(self, document: bytes, wrapped_key: bytes | None, name: str) -> bytes:
        """Return the document; without a wrapped key, it was stored in plaintext."""

    def rewrap(self, wrapped_key: bytes, name: str) -> bytes | None:
        """The same key wrapped by the current master key; None if it already is."""
