"""Installations that share a Pinata account: keyvalues, and shared file records."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from tests.adapters.content.pinata_fake import PinataFake
from tests.adapters.content.workbenches import (
    FIRST,
    SECOND,
    PinataWorkbench,
    mark,
    open_shared_pinata,
)

from imprint.adapters.content.pinata import PinataStore
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import document_cid

PUBLIC = Network.PUBLIC
DOCUMENT = b"a picture"
CID = document_cid(DOCUMENT)
KEYS = [f"imprint_public_{each.id}" for each in (FIRST, SECOND)]


@pytest.fixture
async def shared(tmp_path: Path) -> AsyncIterator[PinataWorkbench]:
    async with open_shared_pinata(tmp_path) as workbench:
        yield workbench


@pytest.fixture
async def stores(shared: PinataWorkbench) -> AsyncIterator[list[PinataStore]]:
    opened = [shared.open(FIRST), shared.open(SECOND)]
    for store, identity in zip(opened, (FIRST, SECOND), strict=True):
        await mark(store, identity)
    yield opened
    for store in opened:
        await store.close()


def keyvalues_of(fake: PinataFake) -> list[dict[str, str]]:
    """Return the keyvalues of every file except the markers."""
    files = [each["keyvalues"] for each in fake.files["public"].values()]
    return [each for each in files if "imprint_installation" not in each]


async def test_a_file_of_two_installations_has_one_keyvalue_for_each(
    shared: PinataWorkbench, stores: list[PinataStore]
) -> None:
    for store in stores:
        await store.put(CID, DOCUMENT, PUBLIC)
    assert keyvalues_of(shared.fake) == [dict.fromkeys(KEYS, CID)]
    await stores[0].remove(CID, PUBLIC)
    assert keyvalues_of(shared.fake) == [{KEYS[1]: CID}]
    await stores[1].remove(CID, PUBLIC)
    assert keyvalues_of(shared.fake) == []


async def test_a_fence_is_a_keyvalue_that_is_removed_with_its_document(
    shared: PinataWorkbench, stores: list[PinataStore]
) -> None:
    fence = f"imprint_fence_public_{FIRST.id}"
    await stores[0].put(CID, DOCUMENT, PUBLIC, fence=7)
    await stores[1].put(CID, DOCUMENT, PUBLIC)
    assert keyvalues_of(shared.fake) == [{**dict.fromkeys(KEYS, CID), fence: "7"}]
    await stores[0].remove(CID, PUBLIC, fence=8)
    assert keyvalues_of(shared.fake) == [{KEYS[1]: CID}]


async def test_a_put_raises_unavailable_if_the_shared_file_is_deleted_during_it(
    shared: PinataWorkbench, stores: list[PinataStore]
) -> None:
    await stores[0].put(CID, DOCUMENT, PUBLIC)

    async def delete(fake: PinataFake, request: web.Request) -> web.StreamResponse:
        response = await fake.handlers["update"](request)
        del fake.files["public"][request.match_info["id"]]
        return response

    shared.fake.faults["update"] = delete
    with pytest.raises(Unavailable):
        await stores[1].put(CID, DOCUMENT, PUBLIC)
    shared.fake.faults.clear()
    await stores[1].put(CID, DOCUMENT, PUBLIC)
    assert await stores[1].read(CID, PUBLIC) == DOCUMENT


async def test_a_marker_is_a_single_small_file(
    shared: PinataWorkbench, stores: list[PinataStore]
) -> None:
    await stores[0].claim(FIRST.id)
    markers = [
        (each["name"], each["keyvalues"])
        for each in shared.fake.files["public"].values()
        if each["keyvalues"].get("imprint_installation") == FIRST.id
    ]
    name = f"imprint installation {FIRST.id}"
    assert markers == [(name, {"imprint_installation": FIRST.id})]


async def test_other_keyvalues_of_a_shared_file_are_kept(
    shared: PinataWorkbench, stores: list[PinataStore]
) -> None:
    for store in stores:
        await store.put(CID, DOCUMENT, PUBLIC)
    (record,) = [each for each in shared.fake.files["public"].values() if each["cid"] == CID]
    record["keyvalues"]["note"] = "by hand"
    await stores[0].remove(CID, PUBLIC)
    assert keyvalues_of(shared.fake) == [{KEYS[1]: CID, "note": "by hand"}]
