"""What is particular to documents on this machine's disk."""

import asyncio
import errno
import logging
import os
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from imprint.adapters.content.embedded import EmbeddedStore
from imprint.domain.files import Network
from imprint.domain.refusals import Unavailable
from imprint.domain.unixfs import document_cid

PRIVATE, PUBLIC = Network.PRIVATE, Network.PUBLIC
DOCUMENT = b"some document"
CID = document_cid(DOCUMENT)

Embedded = Any  # the workbench of conftest.py, which cannot be imported from here


def leftovers(root: Path) -> list[Path]:
    return [path for path in root.rglob(".incoming/*") if path.is_file()]


def fail_with(number: int) -> Callable[..., None]:
    def fail(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


async def test_nothing_on_disk_is_open_to_other_accounts(embedded: Embedded) -> None:
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    modes = {
        stat.S_IMODE(path.stat().st_mode) for path in [embedded.root, *embedded.root.rglob("*")]
    }
    assert modes == {0o700, 0o600}


async def test_folders_that_are_too_open_are_closed(tmp_path: Path, embedded: Embedded) -> None:
    (embedded.root / "private").chmod(0o755)
    await embedded.reopen()
    assert stat.S_IMODE((embedded.root / "private").stat().st_mode) == 0o700


async def test_a_path_that_is_a_file_is_refused(tmp_path: Path, embedded: Embedded) -> None:
    file = tmp_path / "file"
    file.write_text("")
    for root in (file, file / "below"):
        with pytest.raises(ValueError, match="not a folder"):
            EmbeddedStore(root, clock=embedded.clock)


async def test_a_put_syncs_the_bytes_before_their_name_and_the_name_before_it_returns(
    embedded: Embedded, monkeypatch: pytest.MonkeyPatch
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
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    assert steps == ["sync .incoming", "sync content", "rename", "sync private"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT])
async def test_a_disk_that_fails_is_unavailable_and_leaves_nothing(
    embedded: Embedded, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fail_with(number))
        with pytest.raises(Unavailable):
            await embedded.store.put(CID, DOCUMENT, PRIVATE)
        with pytest.raises(Unavailable):
            await embedded.store.probe()
    assert await embedded.store.read(CID, PRIVATE) is None
    assert leftovers(embedded.root) == []
    await embedded.store.put(CID, DOCUMENT, PRIVATE)


async def test_a_disk_that_is_not_mounted_is_unavailable_and_not_empty(
    embedded: Embedded,
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


async def test_tampering_raises_an_alarm(
    embedded: Embedded, caplog: pytest.LogCaptureFixture
) -> None:
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    embedded.tamper(CID, PRIVATE, b"garbage")
    with pytest.raises(Unavailable):
        await embedded.store.read(CID, PRIVATE)
    (record,) = caplog.records
    assert record.levelno == logging.CRITICAL
    assert CID in record.getMessage()


async def test_a_link_in_the_place_of_a_document_is_not_followed(
    embedded: Embedded, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").write_bytes(DOCUMENT)
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    (path,) = (embedded.root / "private").rglob(CID)
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(Unavailable):
        await embedded.store.read(CID, PRIVATE)


async def test_old_leftovers_of_a_crash_are_removed_at_opening(embedded: Embedded) -> None:
    old, new = (embedded.root / "private" / ".incoming" / name for name in ("old", "new"))
    for path in (old, new):
        path.write_bytes(b"half a docu")
    hours_ago = time.time() - 2 * 3600
    os.utime(old, (hours_ago, hours_ago))
    await embedded.reopen()
    assert leftovers(embedded.root) == [new]


async def test_a_folder_that_was_emptied_is_made_again(embedded: Embedded) -> None:
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    await embedded.store.remove(CID, PRIVATE)
    for path in (embedded.root / "private").iterdir():
        if path.name != ".incoming":
            path.rmdir()
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    assert await embedded.store.read(CID, PRIVATE) == DOCUMENT


async def test_the_documents_of_a_network_can_be_listed(embedded: Embedded) -> None:
    documents = [f"document {number}".encode() for number in range(40)]
    cids = {document_cid(document) for document in documents}
    await asyncio.gather(*(embedded.store.put(document_cid(d), d, PRIVATE) for d in documents))
    await embedded.store.put(CID, DOCUMENT, PUBLIC)
    listed = [cid async for cid in embedded.store.list_documents(PRIVATE)]
    assert len(listed) == 40
    assert set(listed) == cids


async def test_what_is_no_document_is_not_listed(embedded: Embedded) -> None:
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    (path,) = (embedded.root / "private").rglob(CID)
    (path.parent / "notes.txt").write_text("not mine")
    (path.parent / CID.upper()).write_text("not its canonical name")
    (embedded.root / "private" / "lost+found").write_text("not a folder of mine")
    assert [cid async for cid in embedded.store.list_documents(PRIVATE)] == [CID]


async def test_a_copy_of_the_folder_is_a_backup(embedded: Embedded, tmp_path: Path) -> None:
    await embedded.store.put(CID, DOCUMENT, PRIVATE)
    (path,) = (embedded.root / "private").rglob(CID)
    copy = tmp_path / "restored" / path.relative_to(embedded.root)
    copy.parent.mkdir(parents=True)
    copy.write_bytes(path.read_bytes())
    restored = EmbeddedStore(tmp_path / "restored", clock=embedded.clock)
    assert await restored.read(CID, PRIVATE) == DOCUMENT
    await restored.close()
