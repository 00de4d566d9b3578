"""Ports for content stores, document encryption, and image recoding."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol, runtime_checkable

from imprint.domain.drafts.files import Label, Network
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid


class ContentStore(Protocol):
    """Stores documents by CID. Private and public documents are kept separate."""

    shows_labels: bool
    """Whether the store has a console of its own that shows labels."""

    async def put(
        self,
        cid: Cid,
        document: bytes,
        network: Network,
        label: Label | None = None,
        fence: int = 0,
    ) -> None:
        """Store a document durably under its CID. Storing a document again only raises its fence.

        The adapter ensures that the stored bytes have this CID. Failing to attach a label
        is not an error.
        """

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Replace the label that the store's own console shows for a document.

        Does nothing unless the store `shows_labels`. A missing document is not an error.
        """

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """Return the bytes of a document, verified against its CID, or None if it is missing.

        Raises `Unavailable` for bytes that do not match the CID, so they are never returned.
        """

    async def remove(self, cid: Cid, network: Network, fence: int | None = None) -> None:
        """Destroy a document. A missing document is not an error.

        With a fence, a document stored with that fence or a higher one is kept, because it
        was stored again after being marked for deletion.
        """

    async def claimed_by(self, installation: str) -> str | None:
        """Return the ID of the installation that has marked this store, or None.

        A store for a single installation has one marker, which may belong to another installation.
        A shared store may have many markers. For a shared store, the result is `installation` or
        None.
        """

    async def claim(self, installation: str, instead_of: str | None = None) -> str:
        """Mark the store durably, and return the new result of `claimed_by`.

        A store for a single installation keeps another installation's marker, unless
        `instead_of` names that installation. If several processes claim at the same time,
        one wins.
        """

    async def probe(self) -> None:
        """Check that documents can be stored and read."""

    async def close(self) -> None:
        """Finish the operations in progress and release all resources."""


@runtime_checkable
class Inventory(Protocol):
    """A content store that holds only documents of this service.

    A shared store is not an inventory, because its unknown documents may belong to other services.
    """

    async def claimed_by(self, installation: str) -> str | None:
        """Like `ContentStore.claimed_by`."""

    def list_documents(
        self, network: Network, before: datetime | None = None
    ) -> AsyncIterator[Cid]:
        """Yield the CIDs of all documents, or of all documents stored before a given time.

        A document that is stored or destroyed during the walk may or may not be included.
        """


@runtime_checkable
class ReadProbe(Protocol):
    """A content store that can check readability even when no documents can be stored."""

    async def probe_reads(self) -> None:
        """Check that documents can be read."""


class DiskSpace(Protocol):
    """The local disks that the service writes to."""

    @property
    def low(self) -> bool:
        """Whether the disks are too full to store more documents."""


class ImageRecoder(Protocol):
    """Checks that bytes are an image, and re-encodes it without metadata."""

    async def recode(self, image: bytes, signer: Address) -> bytes:
        """Return the image re-encoded as PNG or JPEG, without metadata.

        Images of one signer are recoded one at a time. Refuses with
        `unsupported_media_type`, `too_large`, `invalid_image`, and `rate_limited` if too
        many of this signer's images are waiting.
        """

    async def crop_square(self, image: bytes, side: int, signer: Address) -> bytes:
        """Return the square in the middle of an image, scaled down to at most this side length.

        Encodes and refuses as `recode` does.
        """

    async def scale(self, image: bytes, box: tuple[int, int], client: str) -> bytes:
        """Scale down a PNG or JPEG from `recode` to fit the box.

        An image is never enlarged. Refuses with `invalid_image`, and `rate_limited` if too many
        images of this client are waiting.
        """

    async def close(self) -> None:
        """Stop the processes that recode images."""


@dataclass(frozen=True, slots=True)
class EncryptedDocument:
    """A document in its stored form, and its wrapped key, which is None without encryption."""

    document: bytes
    wrapped_key: bytes | None = field(repr=False)


KEY_ID_BYTES = 9
"""Length in bytes of a master key's ID.

The ID consists of a format and a keyed fingerprint that does not reveal the key.
"""


class DocumentCipher(Protocol):
    """Encrypts documents. Each document is bound to its name and decrypts under no other name.

    A wrapped key begins with the ID of the master key that wrapped it.

    If a document cannot be decrypted, or a key cannot be rewrapped, `Unavailable` is raised
    for storage and an error is logged: a master key is missing or wrong, or the stored
    bytes were changed.
    """

    @property
    def key_ids(self) -> tuple[bytes, ...]:
        """The IDs of the configured master keys, with the current one first."""

    @property
    def encrypts(self) -> bool:
        """Whether new documents are encrypted."""

    def encrypt(self, document: bytes, name: str) -> EncryptedDocument:
        """Return this document in its stored form, bound to this name."""

    def decrypt(self, document: bytes, wrapped_key: bytes | None, name: str) -> bytes:
        """Decrypt and return the document. Without a wrapped key, return it as it is."""

    def rewrap(self, wrapped_key: bytes, name: str) -> bytes | None:
        """Return the same key wrapped by the current master key, or None if it already is."""
