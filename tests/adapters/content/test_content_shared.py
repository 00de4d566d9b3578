"""Installations that share a content store see and destroy only their own documents."""

from collections.abc import AsyncIterator

import pytest
from tests.adapters.content.workbenches import FIRST, OLDEST, SECOND, SharedWorkbench, mark

from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import document_cid
from imprint.domain.installation import UNNAMED, Identity
from imprint.ports import ContentStore

PRIVATE, PUBLIC = Network.PRIVATE, Network.PUBLIC
SMALL = b"a picture"
LARGE = b"a large picture".ljust(300_000)
DOCUMENTS = pytest.mark.parametrize("document", [SMALL, LARGE], ids=["small", "large"])


class Installations:
    """Stores of several installations on one backend."""

    def __init__(self, shared: SharedWorkbench) -> None:
        self.shared = shared
        self.stores: list[ContentStore] = []

    async def open(self, identity: Identity) -> ContentStore:
        store = self.shared.open(identity)
        self.stores.append(store)
        await mark(store, identity)
        return store


@pytest.fixture
async def installations(shared: SharedWorkbench) -> AsyncIterator[Installations]:
    opened = Installations(shared)
    yield opened
    for store in opened.stores:
        await store.close()


async def test_a_shared_store_has_the_markers_of_all_its_installations(
    installations: Installations,
) -> None:
    first, second = await installations.open(FIRST), await installations.open(SECOND)
    for store in (first, second):
        assert await store.claimed_by(FIRST.id) == FIRST.id
        assert await store.claimed_by(SECOND.id) == SECOND.id
        assert await store.claimed_by(OLDEST.id) is None


async def test_nothing_is_stored_before_the_store_is_claimed(
    shared: SharedWorkbench, installations: Installations
) -> None:
    store = shared.open(FIRST)
    installations.stores.append(store)
    with pytest.raises(Unavailable):
        await store.put(document_cid(SMALL), SMALL, PUBLIC)
    await store.claim(FIRST.id)
    await store.put(document_cid(SMALL), SMALL, PUBLIC)
    assert await store.read(document_cid(SMALL), PUBLIC) == SMALL


async def test_nothing_is_stored_after_the_node_or_account_was_replaced(
    shared: SharedWorkbench, installations: Installations
) -> None:
    store = await installations.open(FIRST)
    await store.put(document_cid(SMALL), SMALL, PUBLIC)
    await shared.empty()
    assert await store.claimed_by(FIRST.id) is None
    with pytest.raises(Unavailable):
        await store.put(document_cid(SMALL), SMALL, PUBLIC)


@DOCUMENTS
async def test_a_document_is_visible_only_to_its_own_installation(
    installations: Installations, document: bytes
) -> None:
    first, second = await installations.open(FIRST), await installations.open(SECOND)
    cid = document_cid(document)
    await first.put(cid, document, PUBLIC)
    assert await second.read(cid, PUBLIC) is None


@DOCUMENTS
async def test_destroying_a_document_keeps_the_copy_of_another_installation(
    installations: Installations, document: bytes
) -> None:
    first, second = await installations.open(FIRST), await installations.open(SECOND)
    cid = document_cid(document)
    await first.put(cid, document, PUBLIC)
    await second.put(cid, document, PUBLIC)
    await first.remove(cid, PUBLIC)
    assert await first.read(cid, PUBLIC) is None
    assert await second.read(cid, PUBLIC) == document
    await second.remove(cid, PUBLIC)
    assert await second.read(cid, PUBLIC) is None


@DOCUMENTS
async def test_a_document_of_another_installation_cannot_be_destroyed(
    installations: Installations, document: bytes
) -> None:
    first, second = await installations.open(FIRST), await installations.open(SECOND)
    cid = document_cid(document)
    await first.put(cid, document, PRIVATE)
    for network in Network:
        await second.remove(cid, network)
    assert await first.read(cid, PRIVATE) == document


@DOCUMENTS
async def test_documents_without_an_installation_id_belong_to_the_oldest_installation(
    installations: Installations, document: bytes
) -> None:
    before, oldest = await installations.open(UNNAMED), await installations.open(OLDEST)
    first = await installations.open(FIRST)
    cid = document_cid(document)
    await before.put(cid, document, PRIVATE)
    assert await first.read(cid, PRIVATE) is None
    await first.remove(cid, PRIVATE)
    assert await oldest.read(cid, PRIVATE) == document
    await oldest.remove(cid, PRIVATE)
    assert await oldest.read(cid, PRIVATE) is None
    assert await before.read(cid, PRIVATE) is None


@DOCUMENTS
async def test_a_document_stored_with_and_without_an_installation_id_is_destroyed_completely(
    installations: Installations, document: bytes
) -> None:
    before, oldest = await installations.open(UNNAMED), await installations.open(OLDEST)
    first, cid = await installations.open(FIRST), document_cid(document)
    for store in (before, oldest, first):
        await store.put(cid, document, PUBLIC)
    await oldest.remove(cid, PUBLIC)
    assert await oldest.read(cid, PUBLIC) is None
    assert await first.read(cid, PUBLIC) == document


@DOCUMENTS
@pytest.mark.parametrize("network", Network)
async def test_a_document_stored_after_being_marked_for_deletion_is_kept(
    installations: Installations, document: bytes, network: Network
) -> None:
    store, cid = await installations.open(FIRST), document_cid(document)
    await store.put(cid, document, network, fence=7)
    await store.remove(cid, network, fence=6)
    await store.remove(cid, network, fence=7)
    assert await store.read(cid, network) == document
    await store.remove(cid, network, fence=8)
    assert await store.read(cid, network) is None


@DOCUMENTS
async def test_a_document_stored_before_being_marked_for_deletion_is_removed(
    installations: Installations, document: bytes
) -> None:
    store, cid = await installations.open(FIRST), document_cid(document)
    await store.put(cid, document, PUBLIC)
    await store.remove(cid, PUBLIC, fence=1)
    assert await store.read(cid, PUBLIC) is None


@DOCUMENTS
async def test_storing_a_document_again_never_lowers_its_fence(
    installations: Installations, document: bytes
) -> None:
    store, cid = await installations.open(FIRST), document_cid(document)
    for fence in (3, 9, 5, 0):
        await store.put(cid, document, PUBLIC, fence=fence)
    await store.remove(cid, PUBLIC, fence=9)
    assert await store.read(cid, PUBLIC) == document
    await store.remove(cid, PUBLIC, fence=10)
    assert await store.read(cid, PUBLIC) is None


@DOCUMENTS
async def test_the_fence_of_one_installation_does_not_protect_another(
    installations: Installations, document: bytes
) -> None:
    first, second = await installations.open(FIRST), await installations.open(SECOND)
    cid = document_cid(document)
    await first.put(cid, document, PUBLIC, fence=9)
    await second.put(cid, document, PUBLIC, fence=1)
    await second.remove(cid, PUBLIC, fence=2)
    assert await second.read(cid, PUBLIC) is None
    assert await first.read(cid, PUBLIC) == document
