"""A hanging disk: operations time out, the queue is bounded, and nothing takes effect late."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.world import MovableClock

from imprint.adapters.content.document_files import DocumentFiles
from imprint.adapters.content.embedded import MAX_QUEUED, EmbeddedStore
from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import Cid, document_cid
from imprint.settings.declaration import declared_in
from imprint.settings.limits import Limits

WORDS = b"Words."
STUCK = document_cid(b"A document whose disk hangs.")


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    """A store with one thread and a short timeout, in which reading `STUCK` blocks.

    Opening a named pipe blocks until it is opened for writing, like a hanging disk.
    """
    store = EmbeddedStore(tmp_path, MovableClock(), threads=1, seconds=1.5)
    shard = tmp_path / "private" / STUCK[-3:-1]
    shard.mkdir()
    pipe = shard / STUCK
    os.mkfifo(pipe)
    yield store
    await asyncio.to_thread(release, pipe)
    await store.close()


def release(pipe: Path) -> None:
    """Release all current and future readers of the pipe."""
    keeping = os.open(pipe, os.O_RDWR)
    pipe.unlink()
    os.close(keeping)


async def read(store: EmbeddedStore, cid: Cid) -> bytes | None:
    return await store.read(cid, Network.PRIVATE)


async def test_an_operation_on_a_hanging_disk_times_out(store: EmbeddedStore) -> None:
    with pytest.raises(Unavailable):
        await read(store, STUCK)


async def test_operations_beyond_the_queue_limit_fail_immediately(store: EmbeddedStore) -> None:
    waiting = [asyncio.create_task(read(store, STUCK)) for _ in range(MAX_QUEUED)]
    await asyncio.sleep(0)
    with pytest.raises(Unavailable):
        await read(store, document_cid(WORDS))
    # The refusal was immediate: none of the queued reads has timed out yet.
    assert not any(task.done() for task in waiting)
    results = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(isinstance(result, Unavailable) for result in results)


async def test_a_large_document_is_not_stored_after_its_put_timed_out(
    store: EmbeddedStore, tmp_path: Path
) -> None:
    document = b"x" * (SMALL_DOCUMENT + 1)
    cid = document_cid(document)
    stuck = asyncio.create_task(read(store, STUCK))
    await asyncio.sleep(0)  # the read occupies the only thread before the put
    with pytest.raises(Unavailable):
        await store.put(cid, document, Network.PRIVATE)
    with pytest.raises(Unavailable):
        await stuck
    await asyncio.to_thread(release, tmp_path / "private" / STUCK[-3:-1] / STUCK)
    os.mkfifo(tmp_path / "private" / STUCK[-3:-1] / STUCK)
    # When this read returns, the only thread has finished all operations queued before it.
    assert await read(store, document_cid(WORDS)) is None
    assert DocumentFiles(tmp_path / "private").load(cid) is None


async def test_a_large_document_is_not_held_in_memory_after_its_put_timed_out(
    store: EmbeddedStore,
) -> None:
    document = b"x" * (SMALL_DOCUMENT + 1)
    cid = document_cid(document)
    before = sys.getrefcount(document)
    stuck = asyncio.create_task(read(store, STUCK))
    await asyncio.sleep(0)  # the read occupies the only thread before the put
    try:
        await store.put(cid, document, Network.PRIVATE)
    except Unavailable as problem:
        # Drop the traceback: its frames hold references to the document.
        problem.__traceback__ = None
    else:
        pytest.fail("the disk hangs")
    assert sys.getrefcount(document) == before
    with pytest.raises(Unavailable):
        await stuck


async def test_requests_within_the_concurrency_limits_do_not_fill_the_queue(tmp_path: Path) -> None:
    limits = declared_in(Limits)
    at_once = sum(int(limits[name].default or 0) for name in ("concurrent", "concurrent_webhooks"))
    patient = EmbeddedStore(tmp_path / "patient", MovableClock(), threads=1, seconds=60)
    try:
        missing = document_cid(WORDS)
        found = await asyncio.gather(*(read(patient, missing) for _ in range(at_once)))
    finally:
        await patient.close()
    assert found == [None] * at_once
