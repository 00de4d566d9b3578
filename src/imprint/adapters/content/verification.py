"""Verification of documents that travel to or from a remote content store."""

import asyncio
import logging

from imprint.domain.cids import Cid, document_cid
from imprint.domain.documents import SMALL_DOCUMENT
from imprint.domain.errors import Unavailable
from imprint.domain.files import Network

_log = logging.getLogger(__name__)


async def verify_document(cid: Cid, document: bytes, network: Network) -> bytes:
    """The document, if it has this cid; a large one is hashed in a thread.

    Raises `Unavailable` for other bytes and logs it as critical: only a fault causes that.
    """
    if len(document) <= SMALL_DOCUMENT:
        found = document_cid(document)
    else:
        found = await asyncio.to_thread(document_cid, document)
    if found != cid:
        _log.critical("The bytes for the %s document %s do not match its cid.", network, cid)
        raise Unavailable.storage()
    return document
