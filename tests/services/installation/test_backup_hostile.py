"""Untrusted backups are refused before more data is stored than they should contain."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.hypothesis_settings import SHARED_FIXTURE
from tests.services.backup_parts import (
    DOCUMENTS,
    entries_of,
    tar_of,
    valid,
    valid_folder,
    valid_in_another_order,
    write_tar,
)
from tests.services.hostile_backups import BACKUPS
from tests.services.installations import ignore, say_nothing

from imprint.bootstrap.archives import open_backup, open_restore
from imprint.domain.drafts.files import Network
from imprint.domain.errors import CannotStart
from imprint.domain.formats.cids import Cid, document_cid
from imprint.ports import ContentStore
from imprint.services.installation.backup import MAX_MANIFEST, NotABackup

MOST_BYTES = 64 * 1024
"""Maximum total bytes of documents stored from a hostile backup before it is refused."""


@dataclass
class CountedStore:
    """A content store that records the documents stored in it."""

    store: ContentStore
    stored: dict[Cid, bytes] = field(default_factory=dict)

    async def put(self, cid: Cid, document: bytes, network: Network, fence: int = 0) -> None:
        self.stored[cid] = document
        assert sum(map(len, self.stored.values())) <= MOST_BYTES
        await self.store.put(cid, document, network)

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        return await self.store.read(cid, network)

    async def claim(self, installation: str, instead_of: str | None = None) -> str:
        return await self.store.claim(installation, instead_of)


async def restore(saved: Path, folder: Path) -> dict[Cid, bytes]:
    """Restore a backup and return the documents that were stored."""
    with open_restore(folder, say_nothing) as (service, store):
        counted = CountedStore(store)
        try:
            await replace(service, content=counted).run(open_backup(saved), ignore)
        finally:
            await store.close()
    return counted.stored


@pytest.mark.parametrize("make", [valid, valid_folder, valid_in_another_order])
async def test_a_valid_backup_is_restored(make, tmp_path):
    stored = await restore(make(tmp_path), tmp_path / "restored")
    assert stored == {document_cid(each): each for each in DOCUMENTS}


@pytest.mark.parametrize("name", BACKUPS)
async def test_a_hostile_backup_is_refused_and_leaves_nothing(name, tmp_path):
    saved = BACKUPS[name](tmp_path)
    before = sorted(tmp_path.iterdir())
    with pytest.raises((NotABackup, CannotStart)) as refusal:
        await restore(saved, tmp_path / "new" / "restored")
    assert str(refusal.value).isprintable()
    assert sorted(tmp_path.iterdir()) == before


async def test_a_catalog_whose_size_differs_from_the_manifest_is_refused(tmp_path):
    """The size is taken from the manifest, whatever the header of the member says."""
    written = []

    class Endless:
        name, size = "imprint.db", 10

        def read(self, size):
            written.append(size)
            return b"x" * min(size, 10) if len(written) == 1 else b""

    class Manifest:
        name = "backup.json"
        data = entries_of()["backup.json"]
        size = len(data)

        def read(self, size):
            return self.data

    with open_restore(tmp_path / "restored", say_nothing) as (service, store):
        try:
            with pytest.raises(NotABackup, match="its size is wrong"):
                await service.run([Manifest(), Endless()], ignore)
        finally:
            await store.close()
        assert written == []


async def test_a_growing_manifest_is_read_no_further_than_its_limit(tmp_path):
    asked = []

    class Growing:
        name, size = "backup.json", 10

        def read(self, size):
            asked.append(size)
            return b"[" * size

    with open_restore(tmp_path / "restored", say_nothing) as (service, store):
        try:
            with pytest.raises(NotABackup, match="damaged"):
                await service.run([Growing()], ignore)
        finally:
            await store.close()
    assert asked == [MAX_MANIFEST]


WHOLE = tar_of(entries_of()) + bytes(1024)
EDGES = [at for at in range(0, len(WHOLE), 512) if WHOLE[at : at + 7] in (b"imprint", b"content")]


def places() -> st.SearchStrategy[int]:
    """Positions in a backup, mostly in the small part with the headers, manifest and documents."""
    manifest = WHOLE.rindex(b"backup.json")
    near = st.builds(int.__add__, st.sampled_from([*EDGES, manifest]), st.integers(0, 1023))
    return st.one_of(near, near, st.integers(0, len(WHOLE)))


@given(st.lists(st.tuples(places(), st.integers(0, 3), st.binary(max_size=3)), min_size=1))
@settings(SHARED_FIXTURE, max_examples=40)
async def test_a_modified_backup_is_refused_or_restores_the_same_documents(
    tmp_path_factory, changes
):
    changed = bytearray(WHOLE)
    for at, length, data in changes:
        changed[at : at + length] = data
    folder = tmp_path_factory.mktemp("changed")
    saved = write_tar(folder, bytes(changed))
    try:
        stored = await restore(saved, folder / "restored")
    except (NotABackup, CannotStart):
        assert [each.name for each in folder.iterdir()] == ["saved.tar"]
        return
    assert stored == {document_cid(each): each for each in DOCUMENTS}
    assert (folder / "restored" / "content" / Network.PRIVATE).exists()


async def test_a_truncated_backup_is_refused(tmp_path):
    end = WHOLE.rindex(b"}") + 1
    for size in [*range(0, end, 4096), end - 1]:
        saved = tmp_path / "saved.tar"
        saved.write_bytes(WHOLE[:size])
        with pytest.raises((NotABackup, CannotStart)):
            await restore(saved, tmp_path / "restored")
        assert not (tmp_path / "restored").exists()
