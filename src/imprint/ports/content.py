"""Where documents are kept, and how pictures become documents."""

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
