"""Fences in the embedded store keep late removals from destroying documents."""

import asyncio
import fcntl
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest

from imprint.adapters.content import document_files
from imprint.adapters.content.embedded import EmbeddedStore
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import Cid, document_cid

PUBLIC = Network.PUBLIC
SIZES = {"row": 100, "file": 100_000}

OLD_TABLE = """
CREATE TABLE documents (cid TEXT PRIMARY KEY, stored_at REAL NOT NULL, document BLOB NOT NULL)
STRICT"""


def open_store(folder: Path) -> EmbeddedStore:
    return EmbeddedStore(folder / "content", lambda: datetime.now(UTC))


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[EmbeddedStore]:
    opened = open_store(tmp_path)
    yield opened
    await opened.close()


@pytest.fixture(params=list(SIZES.values()), ids=list(SIZES))
def document(request: pytest.FixtureRequest) -> bytes:
    """A document stored as a row or as a file."""
    return b"x" * int(request.param)


async def is_left(store: EmbeddedStore, document: bytes) -> bool:
    return await store.read(document_cid(document), PUBLIC) is not None


@pytest.mark.parametrize(
    ("stored", "removed", "left"), [(0, 1, False), (4, 5, False), (5, 5, True)]
)
async def test_a_removal_keeps_a_document_with_an_equal_or_higher_fence(
    store: EmbeddedStore, document: bytes, stored: int, removed: int, left: bool
):
    cid = document_cid(document)
    await store.put(cid, document, PUBLIC, None, stored)
    await store.remove(cid, PUBLIC, removed)
    assert await is_left(store, document) is left


async def test_the_higher_fence_of_two_writers_is_kept(store: EmbeddedStore, document: bytes):
    cid = document_cid(document)
    for fence in (3, 7, 5, 0):
        await store.put(cid, document, PUBLIC, None, fence)
    await store.remove(cid, PUBLIC, 7)
    assert await is_left(store, document)
    await store.remove(cid, PUBLIC, 8)
    assert not await is_left(store, document)


async def test_a_removal_without_a_fence_removes_everything(store: EmbeddedStore, document: bytes):
    cid = document_cid(document)
    await store.put(cid, document, PUBLIC, None, 9)
    await store.remove(cid, PUBLIC)
    assert not await is_left(store, document)


async def test_a_document_stored_again_after_its_removal_has_no_fence(
    store: EmbeddedStore, document: bytes
):
    cid = document_cid(document)
    await store.put(cid, document, PUBLIC, None, 9)
    await store.remove(cid, PUBLIC, 10)
    await store.put(cid, document, PUBLIC)
    await store.remove(cid, PUBLIC, 1)
    assert not await is_left(store, document)


async def test_a_fence_is_visible_to_other_processes_and_survives_a_restart(
    tmp_path: Path, document: bytes
):
    cid = document_cid(document)
    first, second = open_store(tmp_path), open_store(tmp_path)
    await first.put(cid, document, PUBLIC, None, 2)
    await first.close()
    await second.remove(cid, PUBLIC, 2)
    assert await is_left(second, document)
    await second.close()


async def test_fences_are_not_listed_and_are_removed_with_their_documents(
    store: EmbeddedStore, document: bytes, tmp_path: Path
):
    cid = document_cid(document)
    await store.put(cid, document, PUBLIC, None, 2)
    assert [each async for each in store.list_documents(PUBLIC)] == [cid]
    await store.remove(cid, PUBLIC, 3)
    assert [each async for each in store.list_documents(PUBLIC)] == []
    assert not list((tmp_path / "content").rglob("*.fence"))
    assert not list((tmp_path / "content" / "public" / ".incoming").iterdir())


async def test_removing_the_file_of_a_small_document_keeps_its_database_row(
    store: EmbeddedStore, tmp_path: Path
):
    """A folder that was once shared between machines holds small documents as files."""
    document = b"small"
    cid = document_cid(document)
    shard = tmp_path / "content" / "public" / cid[-3:-1]
    shard.mkdir()
    (shard / cid).write_bytes(document)
    await store.put(cid, document, PUBLIC, None, 4)
    await store.remove(cid, PUBLIC, 4)
    assert not (shard / cid).exists()
    assert await is_left(store, document)


async def test_a_database_file_from_an_earlier_release_supports_fences(tmp_path: Path):
    document = b"from before"
    cid = document_cid(document)
    folder = tmp_path / "content" / "public"
    folder.mkdir(parents=True, mode=0o700)
    with closing(sqlite3.connect(folder / "small.db")) as old:
        old.execute(OLD_TABLE)
        old.execute("INSERT INTO documents VALUES (?, 0, ?)", (cid, document))
        old.commit()
    store, other = open_store(tmp_path), open_store(tmp_path)
    assert await is_left(store, document)
    await store.put(cid, document, PUBLIC, None, 4)
    await other.remove(cid, PUBLIC, 4)
    assert await is_left(store, document)
    await store.close()
    await other.close()


async def test_waiting_for_the_lock_of_a_stopped_process_times_out(
    store: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(document_files, "LOCK_SECONDS", 0.05)
    document = b"x" * SIZES["file"]
    cid = document_cid(document)
    descriptor = os.open(tmp_path / "content" / "public" / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    with pytest.raises(Unavailable):
        await store.put(cid, document, PUBLIC, None, 1)
    assert not await is_left(store, document)
    assert not list((tmp_path / "content" / "public" / ".incoming").iterdir())
    os.close(descriptor)
    await store.put(cid, document, PUBLIC, None, 1)
    assert await is_left(store, document)


async def test_a_document_survives_concurrent_removals_up_to_its_fence(
    tmp_path: Path, document: bytes
):
    """A document stored with a fence survives any number of removals up to that fence."""
    cid = document_cid(document)
    stores = [open_store(tmp_path) for _ in range(3)]
    for fence in range(1, 12):
        await asyncio.gather(
            stores[0].put(cid, document, PUBLIC, None, fence),
            *(store.remove(cid, PUBLIC, fence) for store in stores),
            stores[1].put(cid, document, PUBLIC, None, fence - 1),
            stores[2].remove(cid, PUBLIC, fence - 1),
        )
        assert await is_left(stores[2], document), fence
    for store in stores:
        await store.close()


async def test_a_document_with_a_damaged_fence_is_not_removed(store: EmbeddedStore, tmp_path: Path):
    document = b"x" * SIZES["file"]
    cid: Cid = document_cid(document)
    await store.put(cid, document, PUBLIC, None, 1)
    (tmp_path / "content" / "public" / cid[-3:-1] / f"{cid}.fence").write_bytes(b"")
    await store.remove(cid, PUBLIC, 100)
    assert await is_left(store, document)
