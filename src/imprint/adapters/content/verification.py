"""The check that every store makes of every document, both ways: the bytes have the cid."""

import asyncio
import logging

from imprint.domain.cids import Cid, document_cid
from imprint.domain.documents import SMALL_DOCUMENT
from imprint.domain.errors import Unavailable
from imprint.domain.files import Network

_log = logging.getLogger(__name__)


def check_document(cid: Cid, document: bytes, network: Network) -> bytes:
    """The document, if it has this cid; otherwise an alarm, since only a fault can cause that."""
    if document_cid(document) != cid:
        _log.critical("The bytes for the %s document %s do not match its cid.", network, cid)
        raise Unavailable.storage()
    return document


async def check_aside(cid: Cid, document: bytes, network: Network) -> bytes:
    """The same, in a thread if the document is large."""
    if len(document) <= SMALL_DOCUMENT:
        return check_document(cid, document, network)
    return await asyncio.to_thread(check_document, cid, document, network)
