"""Record checksums are verified whenever a file is read, and added where they are missing."""

import sqlite3
from contextlib import closing

import asyncpg
import pytest

from imprint.domain.drafts.files import Action, Network
from imprint.domain.errors import Damaged, Unavailable
from imprint.domain.posts.indexed_posts import PublicList

EVERYTHING = PublicList((), drafts_too=True)


async def spoil(database, statement):
    """Change rows as damage would, bypassing triggers and foreign keys."""
    if database.address.startswith("sqlite"):
        with closing(sqlite3.connect(database.path, isolation_level=None)) as connection:
            for table in ("files", "file_groups"):
                connection.execute(f"DROP TRIGGER IF EXISTS {table}_without_checksum")
            connection.execute(statement)
        return
    session = await asyncpg.connect(database.address)
    try:
        await session.execute("SET session_replication_role = replica")
        await session.execute(statement)
    finally:
        await session.close()


async def change(database, statement):
    """Change rows outside the catalog, as an operator or an older version might."""
    if database.address.startswith("sqlite"):
        with closing(sqlite3.connect(database.path, isolation_level=None)) as connection:
            connection.execute(statement)
    else:
        await database.rows(statement)


async def unchecked(world):
    records = await world.stores.records.verify_records(-1, 9)
    return [record.position for record in records if record.unchecked]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE files SET name = name || 'x'",
        "UPDATE files SET size = size + 1",
        "UPDATE files SET created_at = created_at + 1",
        "UPDATE files SET group_id = id",
        "UPDATE file_groups SET hashtags = '[\"other\"]'",
        "UPDATE file_groups SET thumbnail_cid = NULL",
        "UPDATE file_groups SET hashtags = '[', checksum = NULL",
        "UPDATE files SET created_at = 9000000000000000000, checksum = NULL",
        "UPDATE files SET checksum = checksum + 1",
        "DELETE FROM file_groups",
    ],
)
async def test_a_damaged_record_is_never_returned(world, database, change):
    file = await world.draft()
    await world.prepare(file, "letters")
    await spoil(database, change)
    with pytest.raises(Damaged):
        await world.stores.files.file_by_cid(file.cid)
    with pytest.raises(Damaged):
        await world.stores.files.list_files(EVERYTHING, None, 10)
    with pytest.raises(Damaged):
        await world.update(file)
    (record,) = await world.stores.records.verify_records(-1, 9)
    assert record.file is None
    assert file.id in str(record.damage)
    assert len(world.stores.database.damage.records) == 1


async def test_an_event_for_a_damaged_draft_reports_the_damage(world, database):
    file = await world.draft()
    await spoil(database, "UPDATE files SET size = size + 1")
    with pytest.raises(Damaged):
        await world.see(world.event(file))
    assert len(world.stores.database.damage.records) == 1


async def test_a_file_with_a_damaged_state_is_reported_as_damaged(world, database):
    if not database.address.startswith("sqlite"):
        pytest.skip("A server checks the states that it is given.")
    file = await world.draft()
    with closing(sqlite3.connect(database.path, isolation_level=None)) as connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        connection.execute("UPDATE files SET state = 'pendinG'")
    with pytest.raises(Damaged):
        await world.stores.files.file_by_cid(file.cid)


async def test_a_list_by_tag_with_a_missing_record_is_reported_as_damaged(world, database):
    file = await world.post("letters")
    await world.post("letters")
    await spoil(database, f"DELETE FROM files WHERE id = '{file.id}'")
    with pytest.raises(Damaged):
        await world.stores.files.list_files(PublicList(("letters",)), None, 10)


async def test_a_thumbnail_whose_file_has_no_group_is_reported_as_damaged(world, database):
    file = await world.prepare(await world.draft())
    assert await world.stores.files.public_size(file.thumbnail_cid) is not None
    await spoil(database, "UPDATE files SET group_id = id")
    with pytest.raises(Damaged):
        await world.stores.files.public_size(file.thumbnail_cid)


async def test_a_thumbnail_is_not_public_after_deletion_or_during_an_open_write(world):
    file = await world.prepare(await world.draft())
    thumbnail = file.thumbnail_cid
    await world.delete(file)
    assert await world.stores.files.public_size(thumbnail) is None
    other = await world.draft()
    write = world.write(Action.PUBLISH)
    await world.begin_thumbnail(write, thumbnail)
    assert await world.stores.files.public_size(thumbnail) is None
    # The write is given up, and the document is destroyed.
    world.later(hours=30)
    await world.condemn()
    assert await world.stores.files.public_size(thumbnail) is None
    await world.purge(thumbnail, Network.PUBLIC)
    assert await world.stores.files.public_size(thumbnail) is None
    assert await world.live(other.cid) == other
    assert not world.stores.database.damage.found


async def test_a_change_outside_the_catalog_clears_the_checksum(world, database):
    await world.draft()
    assert await unchecked(world) == []
    await change(database, "UPDATE files SET size = size + 1")
    assert len(await unchecked(world)) == 1


async def test_missing_checksums_are_filled_in_and_then_verified(world, database):
    file = await world.draft()
    await world.prepare(file, "letters")
    await spoil(database, "UPDATE files SET checksum = NULL")
    await spoil(database, "UPDATE file_groups SET checksum = NULL")
    (record,) = await world.stores.records.verify_records(-1, 9)
    assert record.unchecked
    await world.stores.records.fill_checksums(record.file)
    assert await unchecked(world) == []
    await spoil(database, "UPDATE files SET size = size + 1")
    with pytest.raises(Damaged):
        await world.stores.files.file_by_cid(file.cid)


async def test_a_tag_without_a_file_is_detected(world, database):
    file = await world.post("letters")
    assert await world.stores.records.compare_tags() == []
    await spoil(database, "INSERT INTO file_tags VALUES ('letters', 999, 'onchain')")
    assert len(await world.stores.records.compare_tags()) >= 1
    await spoil(database, "DELETE FROM file_tags")
    (record,) = await world.stores.records.verify_records(-1, 9)
    assert record.damage == f"the tags of file {file.id!a}"


async def test_a_missing_record_raises_unavailable_while_the_database_is_damaged(world):
    file = await world.draft()
    world.stores.database.damage.note_structure("page 7 is damaged")
    assert await world.stores.files.file_by_cid(file.cid) == file
    with pytest.raises(Unavailable):
        await world.stores.files.file_by_cid("bafkreiabsent")
    with pytest.raises(Unavailable):
        await world.stores.files.file_by_post_id(77)
    with pytest.raises(Unavailable):
        await world.stores.files.public_size("bafkreiabsent")
    with pytest.raises(Unavailable):
        await world.stores.files.list_files(EVERYTHING, None, 10)
    world.stores.database.damage.note_structure(None)
    assert await world.stores.files.file_by_cid("bafkreiabsent") is None
