"""The bucket content store: fences, copies, the marker, listing, and public access."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from obstore.exceptions import GenericError
from obstore.store import MemoryStore
from tests.adapters.content.workbenches import FIRST, SECOND, SHORT_PAUSES, BucketWorkbench

from imprint.adapters.content.bucket import MARKER, BucketStore
from imprint.adapters.content.bucket_client import CIRCUIT_FAILURES, PAGE, BucketClient
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Damaged, StoreMisconfigured, Unavailable
from imprint.domain.formats.cids import document_cid

PRIVATE, PUBLIC = Network.PRIVATE, Network.PUBLIC
DOCUMENT = b"a picture"
CID = document_cid(DOCUMENT)
NETWORKS = pytest.mark.parametrize("network", Network)


def open_store(objects: Any, **given: Any) -> BucketStore:
    client = BucketClient("memory", objects, SHORT_PAUSES)
    return BucketStore(client, policy=SHORT_PAUSES, **given)


def keys(objects: MemoryStore) -> list[str]:
    return sorted(each["path"] for page in objects.list() for each in page)


class Interrupted:
    """A bucket that runs a callback before the first call of one method."""

    def __init__(self, objects: MemoryStore, kind: str, event: Callable[[], Awaitable[object]]):
        self.objects, self.kind, self.event = objects, kind, event

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.objects, name)
        if name != self.kind:
            return method

        async def interrupted(*args: Any, **given: Any) -> Any:
            self.kind = ""
            await self.event()
            return await method(*args, **given)

        return interrupted


@NETWORKS
async def test_a_document_stored_after_being_marked_for_deletion_is_kept(
    bucket: BucketWorkbench, network: Network
) -> None:
    await bucket.store.put(CID, DOCUMENT, network, fence=7)
    await bucket.store.remove(CID, network, fence=6)
    await bucket.store.remove(CID, network, fence=7)
    assert await bucket.store.read(CID, network) == DOCUMENT
    await bucket.store.remove(CID, network, fence=8)
    assert await bucket.store.read(CID, network) is None
    assert keys(bucket.objects) == []


@NETWORKS
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["put", "remove", "reopen"]), st.integers(0, 12)), max_size=12
    )
)
async def test_a_document_exists_until_it_is_removed_with_a_higher_fence(
    network: Network, steps: list[tuple[str, int]]
) -> None:
    objects = MemoryStore()
    store, highest = open_store(objects), -1
    for step, fence in steps:
        if step == "put":
            await store.put(CID, DOCUMENT, network, fence=fence)
            highest = max(highest, fence)
        elif step == "remove":
            await store.remove(CID, network, fence=fence)
            highest = -1 if highest < fence else highest
        else:
            store = open_store(objects)
        assert await store.read(CID, network) == (DOCUMENT if highest >= 0 else None)
        assert await open_store(objects).read(CID, network) == (DOCUMENT if highest >= 0 else None)
        assert [cid async for cid in store.list_documents(network)] == [CID] * (highest >= 0)


async def test_removal_does_not_destroy_a_document_stored_after_the_fence_check() -> None:
    objects = MemoryStore()
    writer = open_store(objects)
    await writer.put(CID, DOCUMENT, PUBLIC, fence=3)
    late = open_store(
        Interrupted(objects, "delete_async", lambda: writer.put(CID, DOCUMENT, PUBLIC, fence=5))
    )
    await late.remove(CID, PUBLIC, fence=5)
    assert await writer.read(CID, PUBLIC) == DOCUMENT
    assert keys(objects) == [f"public/{CID}/5"]


async def test_a_document_is_read_even_if_its_copy_is_replaced_after_listing() -> None:
    objects = MemoryStore()
    writer = open_store(objects)
    await writer.put(CID, DOCUMENT, PUBLIC, fence=3)
    reader = open_store(
        Interrupted(objects, "get_async", lambda: writer.put(CID, DOCUMENT, PUBLIC, fence=5))
    )
    assert await reader.read(CID, PUBLIC) == DOCUMENT


async def test_another_process_finds_a_document_whose_fence_was_raised(
    bucket: BucketWorkbench,
) -> None:
    other = bucket.open(bucket.identity)
    await bucket.store.put(CID, DOCUMENT, PUBLIC, fence=1)
    assert await other.read(CID, PUBLIC) == DOCUMENT
    await bucket.store.put(CID, DOCUMENT, PUBLIC, fence=4)
    assert keys(bucket.objects) == [f"public/{CID}/4"]
    assert await other.read(CID, PUBLIC) == DOCUMENT


async def test_a_damaged_copy_is_skipped_after_the_document_is_stored_again(
    bucket: BucketWorkbench,
) -> None:
    await bucket.store.put(CID, DOCUMENT, PRIVATE, fence=9)
    bucket.tamper(CID, PRIVATE, b"other")
    with pytest.raises(Damaged):
        await bucket.store.read(CID, PRIVATE)
    await bucket.store.put(CID, DOCUMENT, PRIVATE)
    await bucket.reopen()
    assert await bucket.store.read(CID, PRIVATE) == DOCUMENT


async def test_reading_a_draft_needs_one_request_and_no_listing(bucket: BucketWorkbench) -> None:
    await bucket.store.put(CID, DOCUMENT, PRIVATE)
    assert keys(bucket.objects) == [f"private/{CID}/0"]

    async def fail() -> None:
        raise AssertionError("It is listed.")

    unlisted = Interrupted(bucket.objects, "list", fail)
    assert await open_store(unlisted).read(CID, PRIVATE) == DOCUMENT


async def test_a_long_listing_contains_every_document_once() -> None:
    objects = MemoryStore()
    cids = sorted(document_cid(b"%d" % number) for number in range(PAGE + 50))
    for cid in cids:
        objects.put(f"private/{cid}/0", b"")
        objects.put(f"private/{cid}/17", b"")
    for stranger in ("private/installation", "private/x/0", f"private/{CID}/y", f"public/{CID}/0"):
        objects.put(stranger, b"")
    listed = [cid async for cid in open_store(objects).list_documents(PRIVATE)]
    assert listed == cids


async def test_a_listing_continues_after_a_failed_page() -> None:
    objects = MemoryStore()
    for number in range(2 * PAGE + 50):
        objects.put(f"private/{document_cid(b'%d' % number)}/0", b"")

    class Broken:
        """A bucket whose first listing fails after one page."""

        whole = False

        def list(self, *args: Any, **given: Any) -> Any:
            pages = objects.list(*args, **given)
            if self.whole:
                return pages
            self.whole = True

            async def one_page() -> Any:
                async for page in pages:
                    yield page
                    await asyncio.sleep(0)
                    raise TimeoutError

            return one_page()

    listed = [cid async for cid in open_store(Broken()).list_documents(PRIVATE)]
    assert len(listed) == len(set(listed)) == 2 * PAGE + 50


async def test_recently_stored_documents_are_left_out_on_request(bucket: BucketWorkbench) -> None:
    await bucket.store.put(CID, DOCUMENT, PRIVATE)
    now = datetime.now(UTC)
    for before, expected in ((now - timedelta(hours=1), []), (now + timedelta(hours=1), [CID])):
        assert [cid async for cid in bucket.store.list_documents(PRIVATE, before)] == expected


async def test_a_prefix_belongs_to_one_installation(bucket: BucketWorkbench) -> None:
    first, second = bucket.open(FIRST), bucket.open(SECOND)
    assert await first.claim(FIRST.id) == FIRST.id
    assert await second.claim(SECOND.id) == FIRST.id
    assert await second.claimed_by(SECOND.id) == FIRST.id
    with pytest.raises(Unavailable):
        await second.put(CID, DOCUMENT, PRIVATE)
    await first.put(CID, DOCUMENT, PRIVATE)


async def test_concurrent_claims_assign_the_prefix_to_one_installation(
    bucket: BucketWorkbench,
) -> None:
    ids = [f"{number:032x}" for number in range(8)]
    holders = await asyncio.gather(*(bucket.open(bucket.identity).claim(each) for each in ids))
    assert len(set(holders)) == 1


async def test_a_marker_is_replaced_only_if_it_is_the_expected_one(
    bucket: BucketWorkbench,
) -> None:
    await bucket.store.claim(FIRST.id)
    assert await bucket.store.claim(SECOND.id, instead_of=SECOND.id) == FIRST.id
    assert await bucket.store.claim(SECOND.id, instead_of=FIRST.id) == SECOND.id
    assert await bucket.store.claim(FIRST.id, instead_of=FIRST.id) == SECOND.id


async def test_a_store_without_its_marker_refuses_documents(bucket: BucketWorkbench) -> None:
    store = bucket.open(FIRST)
    with pytest.raises(Unavailable):
        await store.put(CID, DOCUMENT, PRIVATE)
    await store.claim(FIRST.id)
    await store.put(CID, DOCUMENT, PRIVATE)
    bucket.objects.delete(MARKER)
    assert await store.claimed_by(FIRST.id) is None
    with pytest.raises(Unavailable):
        await store.put(CID, DOCUMENT, PRIVATE)


async def test_a_publicly_readable_bucket_is_refused(bucket: BucketWorkbench) -> None:
    strangers = BucketClient("memory", bucket.objects, SHORT_PAUSES)
    store = open_store(bucket.objects, strangers=strangers)
    with pytest.raises(StoreMisconfigured) as refused:
        await store.claim(FIRST.id)
    assert "IMPRINT_ENCRYPTION=on" in refused.value.sentence
    with pytest.raises(StoreMisconfigured):
        await store.claimed_by(FIRST.id)


async def test_public_access_is_checked_once(bucket: BucketWorkbench) -> None:
    elsewhere = MemoryStore()
    strangers = BucketClient("memory", elsewhere, SHORT_PAUSES)
    store = open_store(bucket.objects, strangers=strangers)
    assert await store.claim(FIRST.id) == FIRST.id
    elsewhere.put(MARKER, b"")
    assert await store.claimed_by(FIRST.id) == FIRST.id


async def test_a_probe_leaves_nothing_behind(bucket: BucketWorkbench) -> None:
    await bucket.store.probe()
    await bucket.store.probe()
    assert keys(bucket.objects) == []


async def test_a_probe_detects_a_store_that_is_readable_but_not_writable() -> None:
    objects = MemoryStore()
    await open_store(objects).put(CID, DOCUMENT, PRIVATE)
    full = GenericError("Server returned non-2xx status code: 507 XMinioStorageFull")

    async def refuse() -> None:
        bucket.kind = "put_async"
        raise full

    bucket = Interrupted(objects, "", refuse)
    store = open_store(bucket)
    await store.probe()
    bucket.kind = "put_async"
    # After a successful write, a probe does not write again until a write has failed.
    await store.probe()
    with pytest.raises(Unavailable):
        await store.put(CID, DOCUMENT, PUBLIC)
    for _ in range(2):
        with pytest.raises(Unavailable):
            await store.probe()
        await store.probe_reads()
    assert await store.read(CID, PRIVATE) == DOCUMENT
    bucket.kind = ""
    await store.probe()


async def test_a_bucket_can_be_claimed_after_repeated_refused_writes(
    bucket: BucketWorkbench,
) -> None:
    store = bucket.open(FIRST)
    for _ in range(2 * CIRCUIT_FAILURES):
        with pytest.raises(Unavailable):
            await store.put(CID, DOCUMENT, PRIVATE)
    assert await store.claim(FIRST.id) == FIRST.id
    await store.put(CID, DOCUMENT, PRIVATE)
