"""What the flows need to find documents that the catalog has no word of.

Such a stray is left only by a loss of power: the note that a document is about to be stored need
not be on the disk before the document is.
"""

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Protocol

from imprint.domain.cids import Cid
from imprint.domain.files import Network


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
