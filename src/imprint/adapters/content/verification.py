"""Verification of documents that travel to or from a remote content store."""

import asyncio

from imprint.adapters.content import embedded
from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.drafts.files import Network
from imprint.domain.formats.cids import Cid


async def verify_document(cid: Cid, document: bytes, network: Network) -> bytes:
    """The same check as in the embedded store; a large document is hashed in a thread."""
    if len(document) <= SMALL_DOCUMENT:
        return embedded.verify_document(cid, document, network)
    return await asyncio.to_thread(embedded.verify_document, cid, document, network)
