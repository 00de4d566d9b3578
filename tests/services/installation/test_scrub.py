"""The scrub: damaged records and documents raise an alarm, which a repair clears."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from tests.profiles import portrait, save_profile
from tests.world import World, open_world

from imprint.domain.drafts.files import Network
from imprint.domain.errors import Unavailable
from imprint.domain.formats.cids import Cid
from imprint.ports import ContentStore
from imprint.services.installation.scrub import SCRUB_LEASE, Examination, Scrub, verify_everything

QUICK = 1e9
"""Records per second, high enough that the scrub never pauses."""


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as world:
        yield world


def scrub_of(world: World) -> Scrub:
    return Scrub(
        world.adapters.stores.records,
        world.adapters.stores.files,
        world.adapters.stores.leases,
        world.adapters.stores.database.damage,
        world.adapters.content,
        QUICK,
    )


def execute(folder: Path, statement: str) -> None:
    """Change the catalog as damage would, bypassing its triggers."""
    with closing(sqlite3.connect(folder / "imprint.db", isolation_level=None)) as connection:
        connection.execute("DROP TRIGGER IF EXISTS files_without_checksum")
        connection.execute(statement)


async def test_a_pass_over_undamaged_records_finds_nothing(world: World):
    for number in range(30):
        file = await world.create(world.wallet(1), f"Words {number}.")
    await world.publish(world.wallet(1), file["cid"], "letters")
    assert await scrub_of(world).scrub()
    assert not world.adapters.stores.database.damage.found


async def test_a_damaged_record_is_reported_until_it_is_repaired(world: World, tmp_path: Path):
    await world.create(world.wallet(1))
    execute(tmp_path, "UPDATE files SET size = size + 1")
    scrub, damage = scrub_of(world), world.adapters.stores.database.damage
    await scrub.scrub()
    assert len(damage.records) == 1
    execute(tmp_path, "UPDATE files SET size = size - 1")
    await scrub.scrub()
    assert not damage.found


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("missing", [False, True])
async def test_a_missing_or_damaged_document_is_found(
    world: World, tmp_path: Path, large: bool, missing: bool
):
    file = await world.create(world.wallet(1), "words " * (20_000 if large else 2))
    cid, content = Cid(file["cid"]), world.adapters.content
    if missing:
        await content.remove(cid, Network.PRIVATE)
    elif large:
        (tmp_path / "content" / "private" / cid[-3:-1] / cid).write_bytes(b"other bytes")
    else:
        with closing(sqlite3.connect(tmp_path / "content/private/small.db")) as connection:
            connection.execute("UPDATE documents SET document = zeroblob(9)")
            connection.commit()
    await scrub_of(world).scrub()
    (found,) = world.adapters.stores.database.damage.documents
    assert cid in found


async def test_a_damaged_page_of_small_documents_does_not_stop_the_scrub(
    world: World, tmp_path: Path
):
    cids = [(await world.create(world.wallet(1), f"Words {n}. " * 300))["cid"] for n in range(12)]
    path = tmp_path / "content" / "private" / "small.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (leaf,) = connection.execute(
            "SELECT pageno FROM dbstat WHERE name = 'documents' AND pagetype = 'leaf' LIMIT 1"
        ).fetchone()
    content = bytearray(path.read_bytes())
    content[(leaf - 1) * 8192 : leaf * 8192] = bytes(8192)
    path.write_bytes(content)
    assert await scrub_of(world).scrub()
    found = world.adapters.stores.database.damage.documents
    assert 0 < len(found) < len(cids)
    assert all(any(cid in each for cid in cids) for each in found)


async def test_a_missing_thumbnail_is_found(world: World):
    file = await world.create(world.wallet(1))
    thumbnail = await world.publish(world.wallet(1), file["cid"], "letters")
    await world.adapters.content.remove(Cid(thumbnail), Network.PUBLIC)
    await scrub_of(world).scrub()
    (found,) = world.adapters.stores.database.damage.documents
    assert thumbnail in found


async def test_documents_of_deleted_drafts_may_be_missing(world: World):
    file = await world.create(world.wallet(1))
    await world.send_delete(world.wallet(1), file["cid"])
    await world.adapters.content.remove(Cid(file["cid"]), Network.PRIVATE)
    await scrub_of(world).scrub()
    assert not world.adapters.stores.database.damage.found


async def test_missing_checksums_are_filled_in(world: World, tmp_path: Path):
    await world.create(world.wallet(1))
    execute(tmp_path, "UPDATE files SET checksum = NULL")
    await scrub_of(world).scrub()
    (record,) = await world.adapters.stores.records.verify_records(-1, 9)
    assert not record.unchecked


async def test_only_one_process_scrubs_at_a_time(world: World):
    first, second = scrub_of(world), scrub_of(world)
    stores = world.adapters.stores
    assert await stores.leases.take_lease(SCRUB_LEASE, "another", timedelta(seconds=60))
    assert not await second.scrub()
    await stores.leases.release_lease(SCRUB_LEASE, "another")
    assert await first.scrub()
    assert await second.scrub()


@dataclass(slots=True)
class Moody:
    """A content store that fails once."""

    content: ContentStore
    fails_at: str
    read_cids: list[str] = field(default_factory=list)

    async def read(self, cid: Cid, network: Network) -> bytes | None:
        self.read_cids.append(cid)
        if cid == self.fails_at:
            self.fails_at = ""
            raise Unavailable.storage()
        return await self.content.read(cid, network)


async def test_a_pass_resumes_where_the_store_was_unavailable(world: World):
    files = [await world.create(world.wallet(1), f"Words {number}.") for number in range(3)]
    content = Moody(world.adapters.content, files[1]["cid"])
    scrub = Scrub(
        world.adapters.stores.records,
        world.adapters.stores.files,
        world.adapters.stores.leases,
        world.adapters.stores.database.damage,
        content,
        QUICK,
    )
    with pytest.raises(Unavailable):
        await scrub.scrub()
    assert not world.adapters.stores.database.damage.found
    assert await scrub.scrub()
    assert content.read_cids == [files[n]["cid"] for n in (0, 1, 1, 2)]


async def test_a_full_check_lists_damaged_records_documents_and_tags(world: World, tmp_path: Path):
    stores, content = world.adapters.stores, world.adapters.content
    files = [await world.create(world.wallet(1), f"Words {number}.") for number in range(3)]
    await content.remove(Cid(files[0]["cid"]), Network.PRIVATE)
    execute(tmp_path, f"UPDATE files SET size = 1 WHERE cid = '{files[1]['cid']}'")
    execute(tmp_path, "INSERT INTO file_tags VALUES ('letters', 999, 'onchain')")
    found = [
        what
        async for _, what in verify_everything(stores.records, stores.files, content)
        if what is not None
    ]
    assert len(found) == 3
    assert files[0]["cid"] in found[0]


async def test_a_slow_examination_runs_less_often():
    now = 0.0
    examined: list[float] = []

    class Examined:
        async def examine(self) -> list[str]:
            nonlocal now
            examined.append(now)
            now += 2.0
            return []

    examination = Examination(Examined(), lambda: now)
    for _ in range(6):
        await examination.examine()
        now += 600.0
    assert examined == [0.0, 2402.0]


async def test_a_damaged_profile_and_a_lost_picture_are_found(world: World, tmp_path: Path):
    first, second = world.stranger(), world.stranger()
    await save_profile(world, first, name="Ada")
    avatar = (await save_profile(world, second, portrait()))["avatarCid"]
    assert await scrub_of(world).scrub()
    damage = world.adapters.stores.database.damage
    assert not damage.found
    execute(tmp_path, "UPDATE profiles SET name = 'Eve' WHERE name = 'Ada'")
    await world.adapters.content.remove(Cid(avatar), Network.PUBLIC)
    assert await scrub_of(world).scrub()
    assert damage.found
    stores = world.adapters.stores
    found = [
        what
        async for _, what in verify_everything(stores.records, stores.files, world.adapters.content)
        if what is not None
    ]
    assert found == sorted(
        [
            f"the profile of '{first.address}'",
            f"the public document {avatar} of the profile of {second.address}",
        ],
        key=lambda what: what.split("0x")[-1],
    )
    await save_profile(world, first, avatar="none", name="Ada")
    await save_profile(world, second, avatar="none")
    assert await scrub_of(world).scrub()
    assert not damage.found
