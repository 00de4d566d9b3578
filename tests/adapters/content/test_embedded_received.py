"""Verification of documents: wrong bytes raise `Unavailable` and are logged as critical."""

import asyncio
import logging

import pytest

from imprint.adapters.content.embedded import verify_received
from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Code, Unavailable
from imprint.domain.formats.cids import document_cid

SMALL = b"s" * SMALL_DOCUMENT
LARGE = b"l" * (SMALL_DOCUMENT + 1)


@pytest.mark.parametrize("document", [b"", b"a poem", SMALL, LARGE], ids=len)
async def test_a_document_that_matches_its_cid_is_returned(document, caplog):
    assert await verify_received(document_cid(document), document, Network.PUBLIC) == document
    assert caplog.records == []


@pytest.mark.parametrize("document", [SMALL, LARGE], ids=len)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda document: document[:-1],
        lambda document: document + b"\0",
        lambda document: b"x" + document[1:],
        lambda document: b"",
    ],
    ids=["cut off", "longer", "changed", "empty"],
)
async def test_a_document_that_does_not_match_its_cid_is_unavailable(document, spoil):
    with pytest.raises(Unavailable) as caught:
        await verify_received(document_cid(document), spoil(document), Network.PRIVATE)
    assert caught.value.code is Code.STORAGE_UNAVAILABLE


async def test_mismatching_bytes_are_logged_as_critical_but_not_shown(caplog):
    cid = document_cid(b"a poem")
    with pytest.raises(Unavailable):
        await verify_received(cid, b"a secret", Network.PRIVATE)
    (record,) = caplog.records
    assert record.levelno == logging.CRITICAL
    assert cid in record.getMessage()
    assert "private" in record.getMessage()
    assert "secret" not in record.getMessage()


@pytest.mark.parametrize(
    ("document", "others_run"), [(SMALL, False), (LARGE, True)], ids=["small", "large"]
)
async def test_verifying_a_large_document_does_not_block_the_event_loop(document, others_run):
    cid, ran = document_cid(document), asyncio.Event()
    asyncio.get_running_loop().call_soon(ran.set)
    await verify_received(cid, document, Network.PUBLIC)
    assert ran.is_set() == others_run
