"""Conformance tests of the `ContentStore` port, run against every store."""

import asyncio

import pytest
from tests.adapters.content.workbenches import Workbench

from imprint.domain.drafts.files import Network
from imprint.domain.errors import Code, Unavailable
from imprint.domain.formats.cids import document_cid

PRIVATE, PUBLIC = Network.PRIVATE, Network.PUBLIC
DOCUMENT = b'{"content":"Hi","name":"n","salt":"00"}'
CID = document_cid(DOCUMENT)
ID = "0123456789abcdef" * 2


async def test_a_stored_document_is_read_back(bench: Workbench) -> None:
    await bench.store.put(CID, DOCUMENT, PRIVATE)
    assert await bench.store.read(CID, PRIVATE) == DOCUMENT


@pytest.mark.parametrize("network", Network)
async def test_reading_a_document_that_was_never_stored_returns_none(
    bench: Workbench, network: Network
) -> None:
    assert await bench.store.read(CID, network) is None


async def test_a_private_document_is_not_public(bench: Workbench) -> None:
    await bench.store.put(CID, DOCUMENT, PRIVATE)
    assert await bench.store.read(CID, PUBLIC) is None


async def test_a_public_document_is_not_private(bench: Workbench) -> None:
    await bench.store.put(CID, DOCUMENT, PUBLIC)
    assert await bench.store.read(CID, PRIVATE) is None


async def test_removing_a_public_document_keeps_the_private_one(bench: Workbench) -> None:
    for network in Network:
        await bench.store.put(CID, DOCUMENT, network)
    await bench.store.remove(CID, PUBLIC)
    assert await bench.store.read(CID, PUBLIC) is None
    assert await bench.store.read(CID, PRIVATE) == DOCUMENT


@pytest.mark.parametrize(
    "size", [0, 1, 65_535, 65_536, 65_537, 262_144, 262_145, 1_048_577, 5_000_000, 25_000_000]
)
async def test_documents_of_any_size_can_be_stored(bench: Workbench, size: int) -> None:
    document = (b"0123456789abcdef" * (size // 16 + 1))[:size]
    cid = document_cid(document)
    await bench.store.put(cid, document, PRIVATE)
    assert await bench.store.read(cid, PRIVATE) == document


@pytest.mark.parametrize("document", [b"other", b"", DOCUMENT + b" ", bytes(300_000)])
async def test_bytes_that_do_not_match_the_cid_are_not_stored(
    bench: Workbench, document: bytes
) -> None:
    with pytest.raises(Unavailable):
        await bench.store.put(CID, document, PRIVATE)
    assert await bench.store.read(CID, PRIVATE) is None


@pytest.mark.parametrize("size", [40, 300_000])
async def test_tampered_bytes_are_never_served(bench: Workbench, size: int) -> None:
    document = b"x" * size
    cid = document_cid(document)
    await bench.store.put(cid, document, PRIVATE)
    bench.tamper(cid, PRIVATE, b"y" + document[1:])
    with pytest.raises(Unavailable) as refused:
        await bench.store.read(cid, PRIVATE)
    assert refused.value.code is Code.STORAGE_UNAVAILABLE


@pytest.mark.parametrize("left", [b"", DOCUMENT[:-1], DOCUMENT + b"\0"])
async def test_a_document_of_the_wrong_length_is_never_served(
    bench: Workbench, left: bytes
) -> None:
    await bench.store.put(CID, DOCUMENT, PRIVATE)
    bench.tamper(CID, PRIVATE, left)
    with pytest.raises(Unavailable):
        await bench.store.read(CID, PRIVATE)


async def test_storing_a_tampered_document_again_repairs_it(bench: Workbench) -> None:
    await bench.store.put(CID, DOCUMENT, PRIVATE)
    bench.tamper(CID, PRIVATE, b"garbage")
    await bench.store.put(CID, DOCUMENT, PRIVATE)
    assert await bench.store.read(CID, PRIVATE) == DOCUMENT


async def test_storing_a_document_twice_has_the_same_effect_as_once(bench: Workbench) -> None:
    await bench.store.put(CID, DOCUMENT, PRIVATE)
    await bench.store.put(CID, DOCUMENT, PRIVATE)
    await bench.store.remove(CID, PRIVATE)
    assert await bench.store.read(CID, PRIVATE) is None


async def test_concurrent_puts_of_the_same_document_succeed(bench: Workbench) -> None:
    document = bytes(500_000)
    cid = document_cid(document)
    puts = [bench.store.put(cid, document, PRIVATE) for _ in range(12)]
    await asyncio.gather(*puts)
    assert await bench.store.read(cid, PRIVATE) == document


async def test_a_read_during_a_put_returns_the_whole_document_or_none(bench: Workbench) -> None:
    document = b"abc" * 700_000
    cid = document_cid(document)
    storing = asyncio.ensure_future(bench.store.put(cid, document, PRIVATE))
    while not storing.done():
        assert await bench.store.read(cid, PRIVATE) in (None, document)
    await storing
    assert await bench.store.read(cid, PRIVATE) == document


async def test_removing_a_missing_document_is_not_an_error(bench: Workbench) -> None:
    await bench.store.remove(CID, PRIVATE)
    await bench.store.remove(CID, PUBLIC)


async def test_a_removed_document_can_be_stored_again(bench: Workbench) -> None:
    await bench.store.put(CID, DOCUMENT, PRIVATE)
    await bench.store.remove(CID, PRIVATE)
    await bench.store.put(CID, DOCUMENT, PRIVATE)
    assert await bench.store.read(CID, PRIVATE) == DOCUMENT


async def test_a_cancelled_put_leaves_the_whole_document_or_nothing(bench: Workbench) -> None:
    document = b"abcd" * 2_500_000
    cid = document_cid(document)
    storing = asyncio.ensure_future(bench.store.put(cid, document, PRIVATE))
    await asyncio.sleep(0)
    storing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await storing
    await bench.reopen()
    # A thread may already have stored the whole document when the put was cancelled.
    assert await bench.store.read(cid, PRIVATE) in (None, document)


async def test_documents_survive_reopening_the_store(bench: Workbench) -> None:
    await bench.store.put(CID, DOCUMENT, PRIVATE)
    await bench.store.put(CID, DOCUMENT, PUBLIC)
    await bench.store.remove(CID, PUBLIC)
    await bench.reopen()
    assert await bench.store.read(CID, PRIVATE) == DOCUMENT
    assert await bench.store.read(CID, PUBLIC) is None


async def test_a_store_without_a_marker_is_unclaimed(bench: Workbench) -> None:
    await bench.store.put(CID, DOCUMENT, PRIVATE)
    assert await bench.store.claimed_by(ID) is None


async def test_a_marker_survives_reopening_the_store(bench: Workbench) -> None:
    assert await bench.store.claim(ID) == ID
    await bench.reopen()
    assert await bench.store.claimed_by(ID) == ID
    assert await bench.store.claim(ID) == ID


async def test_processes_of_one_installation_may_claim_a_store_concurrently(
    bench: Workbench,
) -> None:
    assert set(await asyncio.gather(*(bench.store.claim(ID) for _ in range(8)))) == {ID}
    assert await bench.store.claimed_by(ID) == ID


async def test_claiming_a_store_changes_no_documents(bench: Workbench) -> None:
    await bench.store.put(CID, DOCUMENT, PUBLIC)
    await bench.store.claim(ID)
    assert await bench.store.read(CID, PUBLIC) == DOCUMENT
    await bench.store.remove(CID, PUBLIC)
    assert await bench.store.claimed_by(ID) == ID


async def test_a_closed_store_cannot_be_claimed(bench: Workbench) -> None:
    await bench.store.close()
    with pytest.raises(Unavailable):
        await bench.store.claimed_by(ID)
    with pytest.raises(Unavailable):
        await bench.store.claim(ID)


async def test_a_healthy_store_passes_its_probe(bench: Workbench) -> None:
    await bench.store.probe()


async def test_a_closed_store_is_unavailable(bench: Workbench) -> None:
    await bench.store.put(CID, DOCUMENT, PRIVATE)
    await bench.store.close()
    with pytest.raises(Unavailable):
        await bench.store.read(CID, PRIVATE)
    with pytest.raises(Unavailable):
        await bench.store.put(CID, DOCUMENT, PRIVATE)


async def test_a_store_may_be_closed_twice(bench: Workbench) -> None:
    await bench.store.close()
    await bench.store.close()
