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

        The adapter makes sure that what it stored has this cid. A label that cannot be attached
        does not make it fail.
        """

    async def relabel(self, cid: Cid, network: Network, label: Label) -> None:
        """Replace the label that the store's own console shows for a document.

        A store without a console does nothing; a missing document is not an error.
        """

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        """The bytes of a document, verified against its cid; None if it is missing.

        Raises `Unavailable` for bytes that do not match: they are never returned.
        """

    async def remove(self, cid: Cid, network: Network, fence: int | None = None) -> None:
        """Destroy a document; a missing one is not an error.

        With a fence, a document that was stored with that fence or a higher one stays: it was
        stored again after it had been condemned.
        """

    async def claimed_by(self, installation: str) -> str | None:
        """The id of the installation that has marked this store; None if there is no marker.

        A store that belongs to one installation has one marker, perhaps of another installation.
        A shared store has any number of them: then it is `installation` or None.
        """

    async def claim(self, installation: str, instead_of: str | None = None) -> str:
        """Mark the store durably, and return what `claimed_by` says afterwards.

        A store that belongs to one installation keeps the marker of another one, unless
        `instead_of` names that. Of several processes that claim at the same time one wins.
        """

    async def probe(self) -> None:
        """Return if documents can be stored and read."""

    async def close(self) -> None:
        """Finish running operations and release every resource."""


@runtime_checkable
class Inventory(Protocol):
    """A content store that holds only documents of this service.

    A store that others use too is not an inventory: an unknown document there may be theirs.
    """

    async def claimed_by(self, installation: str) -> str | None:
        """As `ContentStore.claimed_by`."""

    def list_documents(
        self, network: Network, before: datetime | None = None
    ) -> AsyncIterator[Cid]:
        """The cids of all documents, or of those stored before then.

        A document that is stored or destroyed meanwhile may or may not be among them.
        """


@runtime_checkable
class ReadProbe(Protocol):
    """A content store that can tell whether documents can be read, even if none can be stored."""

    async def probe_reads(self) -> None:
        """Return if documents can be read."""


class DiskSpace(Protocol):
    """The disks of this machine that the service writes to."""

    @property
    def low(self) -> bool:
        """Whether so little is free that no more documents may be stored."""


class ImageRecoder(Protocol):
    """Checks that bytes are an image, and encodes it again without metadata."""

    async def recode(self, image: bytes, signer: Address) -> bytes:
        """The image, encoded again as PNG or JPEG, without metadata.

        Images of one signer are recoded one after the other. Refuses `unsupported_media_type`,
        `too_large`, `invalid_image`, and `rate_limited` if too many of this signer are waiting.
        """

    async def scale(self, image: bytes, box: tuple[int, int], client: str) -> bytes:
        """A PNG or JPEG that `recode` returned, made smaller until it fits into the box.

        It is never made larger. Refuses `invalid_image`, and `rate_limited` if too many of this
        client are waiting.
        """

    async def close(self) -> None:
        """End the processes that recode."""


@dataclass(frozen=True, slots=True)
class EncryptedDocument:
    """A document as it is stored, and its wrapped key, which is None if it is not encrypted."""

    document: bytes
    wrapped_key: bytes | None = field(repr=False)


KEY_ID_BYTES = 9
"""Bytes of the id of a master key: a format, and a keyed fingerprint that does not reveal it."""


class DocumentCipher(Protocol):
    """Encrypts documents. A name belongs to one document, and no other name decrypts it.

    A wrapped key begins with the id of the master key that has wrapped it.

    A document that cannot be decrypted, or a key that cannot be rewrapped, is `Unavailable` for
    storage, with an error in the log: a master key is missing or wrong, or the stored bytes were
    changed.
    """

    @property
    def key_ids(self) -> tuple[bytes, ...]:
        """The ids of the master keys that are given, the current one first."""

    @property
    def encrypts(self) -> bool:
        """Whether new documents are encrypted."""

    def encrypt(self, document: bytes, name: str) -> EncryptedDocument:
        """The form in which to store the document of this name."""

    def decrypt(self, document: bytes, wrapped_key: bytes | None, name: str) -> bytes:
        """The document; without a wrapped key, it was stored as it is."""

    def rewrap(self, wrapped_key: bytes, name: str) -> bytes | None:
        """The same key, wrapped by the current master key; None if it already is."""
