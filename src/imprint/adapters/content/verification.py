"""Verification of documents that travel to or from a remote content store."""

import asyncio

from imprint.adapters.content import embedded
from imprint.domain.cids import Cid
from imprint.domain.documents import SMALL_DOCUMENT
from imprint.domain.files import Network


async def verify_document(cid: Cid, document: bytes, network: Network) -> bytes:
    """The same check as in the embedded store; a large document is hashed in a thread."""
    if len(document) <= SMALL_DOCUMENT:
        return embedded.verify_document(cid, document, network)
    return await asyncio.to_thread(embedded.verify_document, cid, document, network)
