"""The embedded store: permissions, durability, failing disks, and document sizes."""

import asyncio
import errno
import logging
import os
import shutil
import stat
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.adapters.content.workbenches import EmbeddedWorkbench

from imprint.adapters.content import embedded as embedded_module
from imprint.adapters.content.embedded import EmbeddedStore
from imprint.domain.drafts.documents import SMALL_DOCUMENT
from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import document_cid
from imprint.domain.installation import Access
from imprint.ports import utc_now

PRIVATE, PUBLIC = Network.PRIVATE, Network.PUBLIC
DOCUMENT = b"some document"
CID = document_cid(DOCUMENT)
LARGE_DOCUMENT = b"large" * SMALL_DOCUMENT
LARGE_CID = document_cid(LARGE_DOCUMENT)


def leftovers(root: Path) -> list[Path]:
    return [path for path in root.rglob(".incoming/*") if path.is_file()]


def fail_with(number: int) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


async def test_files_and_folders_are_readable_by_their_owner_only(
    embedded: EmbeddedWorkbench,
) -> None:
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    modes = {
        stat.S_IMODE(path.stat().st_mode) for path in [embedded.root, *embedded.root.rglob("*")]
    }
    assert modes == {0o700, 0o600}


async def test_overly_broad_permissions_are_narrowed(
    tmp_path: Path, embedded: EmbeddedWorkbench
) -> None:
    (embedded.root / "private").chmod(0o755)
    await embedded.reopen()
    assert stat.S_IMODE((embedded.root / "private").stat().st_mode) == 0o700


async def test_a_path_that_is_a_file_is_refused(
    tmp_path: Path, embedded: EmbeddedWorkbench
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for root in (file, file / "below"):
        with pytest.raises(ValueError, match="not a folder"):
            EmbeddedStore(root, clock=utc_now)


async def test_a_put_syncs_the_file_then_renames_it_then_syncs_the_folder(
    embedded: EmbeddedWorkbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    fsync, rename = os.fsync, os.rename

    def watch_fsync(descriptor: int) -> None:
        steps.append("sync " + Path(f"/proc/self/fd/{descriptor}").readlink().parent.name)
        fsync(descriptor)

    def watch_rename(source: Path, target: Path) -> None:
        steps.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", watch_fsync)
    monkeypatch.setattr(os, "rename", watch_rename)
    await embedded.store.put(LARGE_CID, LARGE_DOCUMENT, PRIVATE)
    assert steps == ["sync .incoming", "sync content", "rename", "sync private"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
async def test_a_failing_disk_raises_unavailable_and_leaves_no_files(
    embedded: EmbeddedWorkbench, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fail_with(number))
        with pytest.raises(Unavailable):
            await embedded.store.put(LARGE_CID, LARGE_DOCUMENT, PRIVATE)
        with pytest.raises(Unavailable):
            await embedded.store.probe()
    assert await embedded.store.read(LARGE_CID, PRIVATE) is None
    assert leftovers(embedded.root) == []
    await embedded.store.put(LARGE_CID, LARGE_DOCUMENT, PRIVATE)


async def test_an_unmounted_disk_raises_unavailable_instead_of_seeming_empty(
    embedded: EmbeddedWorkbench,
) -> None:
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    embedded.root.rename(embedded.root.with_name("elsewhere"))
    embedded.root.mkdir()
    with pytest.raises(Unavailable):
        await embedded.store.read(CID, PRIVATE)
    with pytest.raises(Unavailable):
        await embedded.store.remove(CID, PRIVATE)
    with pytest.raises(Unavailable):
        await embedded.store.put(CID, DOCUMENT, PRIVATE)
    with pytest.raises(Unavailable):
        await embedded.store.probe()


async def test_tampering_is_logged_as_critical(
    embedded: EmbeddedWorkbench, caplog: pytest.LogCaptureFixture
) -> None:
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    embedded.tamper(CID, PRIVATE, b"garbage")
    with pytest.raises(Unavailable):
        await embedded.store.read(CID, PRIVATE)
    (record,) = caplog.records
    assert record.levelno == logging.CRITICAL
    assert CID in record.getMessage()


async def test_a_symbolic_link_in_place_of_a_document_is_not_followed(
    embedded: EmbeddedWorkbench, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").write_bytes(LARGE_DOCUMENT)
    await embedded.store.put(LARGE_CID, LARGE_DOCUMENT, PRIVATE)
    (path,) = (embedded.root / "private").rglob(LARGE_CID)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unavailable):
        await embedded.store.read(LARGE_CID, PRIVATE)


async def test_old_leftovers_of_a_crash_are_removed_when_the_store_is_opened(
    embedded: EmbeddedWorkbench,
) -> None:
    old, new = (embedded.root / "private" / ".incoming" / name for name in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"half a docu")
    hours_ago = time.time() - 2 * 3600
    os.utime(old, (hours_ago, hours_ago))
    await embedded.reopen()
    assert leftovers(embedded.root) == [new]


async def test_a_removed_shard_folder_is_created_again(embedded: EmbeddedWorkbench) -> None:
    await embedded.store.put(LARGE_CID, LARGE_DOCUMENT, PRIVATE)
    await embedded.store.remove(LARGE_CID, PRIVATE)
    for path in (embedded.root / "private").glob("??"):
        path.rmdir()
    await embedded.store.put(LARGE_CID, LARGE_DOCUMENT, PRIVATE)
    assert await embedded.store.read(LARGE_CID, PRIVATE) == LARGE_DOCUMENT


async def test_the_documents_in_a_network_can_be_listed(embedded: EmbeddedWorkbench) -> None:
    documents = [f"document {number}".encode() for number in range(40)]
    cids = {document_cid(document) for document in documents}
    await asyncio.gather(*(embedded.store.put(document_cid(d), d, PRIVATE) for d in documents))
    await embedded.store.put(CID, DOCUMENT, PUBLIC)
    listed = [cid async for cid in embedded.store.list_documents(PRIVATE)]
    assert len(listed) == 40
    assert set(listed) == cids


async def test_files_that_are_not_documents_are_not_listed(embedded: EmbeddedWorkbench) -> None:
    await embedded.store.put(LARGE_CID, LARGE_DOCUMENT, PRIVATE)
    (path,) = (embedded.root / "private").rglob(LARGE_CID)
    (path.parent / "notes.txt").write_text("not mine")
    (path.parent / LARGE_CID.upper()).write_text("not its canonical name")
    (embedded.root / "private" / "lost+found").write_text("not a folder of mine")
    assert [cid async for cid in embedded.store.list_documents(PRIVATE)] == [LARGE_CID]


async def test_a_copy_of_the_folder_is_a_usable_backup(
    embedded: EmbeddedWorkbench, tmp_path: Path
) -> None:
    for cid, document in ((CID, DOCUMENT), (LARGE_CID, LARGE_DOCUMENT)):
        await embedded.store.put(cid, document, PRIVATE)
    await embedded.store.close()
    shutil.copytree(embedded.root, tmp_path / "restored")
    restored = EmbeddedStore(tmp_path / "restored", clock=utc_now)
    assert await restored.read(CID, PRIVATE) == DOCUMENT
    assert await restored.read(LARGE_CID, PRIVATE) == LARGE_DOCUMENT
    await restored.close()


async def test_small_documents_are_not_stored_as_files(embedded: EmbeddedWorkbench) -> None:
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    await embedded.store.put(LARGE_CID, LARGE_DOCUMENT, PRIVATE)
    files = [path.name for path in (embedded.root / "private").glob("??/*")]
    assert files == [LARGE_CID]


async def test_a_put_raises_unavailable_if_the_database_of_small_documents_is_full(
    embedded: EmbeddedWorkbench,
) -> None:
    small, large = DOCUMENT, os.urandom(SMALL_DOCUMENT)
    small_documents = embedded.store._small[PRIVATE]
    small_documents._writer.execute("PRAGMA max_page_count = 5")
    with pytest.raises(Unavailable):
        await embedded.store.put(document_cid(large), large, PRIVATE)
    assert await embedded.store.read(document_cid(large), PRIVATE) is None
    await embedded.store.put(CID, small, PRIVATE)
    small_documents._writer.execute("PRAGMA max_page_count = 1000")
    await embedded.store.put(document_cid(large), large, PRIVATE)
    assert await embedded.store.read(CID, PRIVATE) == small


async def test_concurrent_puts_share_commits(embedded: EmbeddedWorkbench) -> None:
    documents = [f"document {number}".encode() for number in range(200)]
    commits = []
    small_documents = embedded.store._small[PRIVATE]
    small_documents._writer.set_trace_callback(
        lambda statement: commits.append(1) if statement == "COMMIT" else None
    )
    await asyncio.gather(*(embedded.store.put(document_cid(d), d, PRIVATE) for d in documents))
    assert 200 / embedded_module.MAX_BATCH <= len(commits) < 100


async def test_the_bytes_of_a_removed_document_are_erased_from_the_disk(
    embedded: EmbeddedWorkbench,
) -> None:
    secret = b"a secret that nobody else has written: " + os.urandom(16).hex().encode()
    cid = document_cid(secret)
    await embedded.store.put(cid, secret, PRIVATE)
    await embedded.store.remove(cid, PRIVATE)
    await embedded.store.close()
    left = b"".join(path.read_bytes() for path in embedded.root.rglob("*") if path.is_file())
    assert secret not in left


async def test_on_a_shared_disk_every_document_is_stored_as_a_file(
    tmp_path: Path, embedded: EmbeddedWorkbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded_module, "is_local", lambda _: False)
    store = EmbeddedStore(tmp_path / "shared", utc_now)
    await store.put(CID, DOCUMENT, PRIVATE)
    assert [path.name for path in (tmp_path / "shared/private").glob("??/*")] == [CID]
    assert await store.read(CID, PRIVATE) == DOCUMENT
    assert [cid async for cid in store.list_documents(PRIVATE)] == [CID]
    await store.probe()
    await store.remove(CID, PRIVATE)
    assert await store.read(CID, PRIVATE) is None
    await store.close()


async def test_a_small_document_stored_as_a_file_is_found(
    tmp_path: Path, embedded: EmbeddedWorkbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as shared:
        shared.setattr(embedded_module, "is_local", lambda _: False)
        store = EmbeddedStore(tmp_path / "moved", utc_now)
        await store.put(CID, DOCUMENT, PRIVATE)
        await store.close()
    store = EmbeddedStore(tmp_path / "moved", utc_now)
    assert await store.read(CID, PRIVATE) == DOCUMENT
    await store.remove(CID, PRIVATE)
    assert await store.read(CID, PRIVATE) is None
    await store.close()


async def test_a_document_stored_again_counts_as_new(embedded: EmbeddedWorkbench) -> None:
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    await asyncio.sleep(0.05)
    between = utc_now()
    await asyncio.sleep(0.05)
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    assert [cid async for cid in embedded.store.list_documents(PRIVATE, between)] == []


async def test_a_read_only_store_stores_and_destroys_nothing(tmp_path: Path) -> None:
    document = b"Words."
    cid = document_cid(document)
    store = EmbeddedStore(tmp_path, utc_now)
    await store.put(cid, document, Network.PRIVATE)
    await store.close()
    reading = EmbeddedStore(tmp_path, utc_now, access=Access.READ)
    try:
        assert await reading.read(cid, Network.PRIVATE) == document
        assert [each async for each in reading.list_documents(Network.PRIVATE)] == [cid]
        for change in (
            reading.put(cid, document, Network.PRIVATE),
            reading.remove(cid, Network.PRIVATE),
            reading.claim("0" * 32),
        ):
            with pytest.raises(Unavailable):
                await change
    finally:
        await reading.close()
