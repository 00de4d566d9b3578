"""The integrity check of a SQLite catalog and of its write-ahead log."""

import sqlite3
from contextlib import closing
from random import Random

import pytest
from tests.adapters.stores.conftest import World
from tests.adapters.stores.market import RandomMarket
from tests.adapters.stores.posts.test_index_writer import build
from tests.stores import open_sqlite_stores

from imprint.adapters.database.sqlite.rebuild import examine_catalog
from imprint.domain.errors import Damaged, Unavailable
from imprint.domain.formats.cids import Cid


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


async def test_a_damaged_index_is_detected_when_the_catalog_is_opened(tmp_path):
    path = tmp_path / "catalog.db"
    await open_sqlite_stores(path).close()
    assert not examine_catalog(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO owners (owner, last_number) VALUES ('0x1', 1)")
        connection.execute("INSERT INTO file_groups VALUES ('g', '0x1', '[]', NULL, 1, 0, NULL, 0)")
        connection.execute(
            "INSERT INTO files (position, id, group_id, owner, name, cid, size, created_at, state)"
            " VALUES (1, 'i', 'g', '0x1', 'n', 'bafkreicid', 1, 1, 'pending')"
        )
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = path.read_bytes()
    at = content.rindex(b"bafkreicid") if content.count(b"bafkreicid") > 1 else -1
    assert at > 0
    flip(path, at)
    stores = open_sqlite_stores(path)
    assert stores.database.damage.found
    assert await stores.database.examine() == list(examine_catalog(path).records) != []
    await stores.close()


async def test_an_orphaned_page_is_detected(tmp_path):
    path = tmp_path / "catalog.db"
    await open_sqlite_stores(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("CREATE TABLE lost (x)")
        connection.execute("PRAGMA writable_schema = ON")
        connection.execute("DELETE FROM sqlite_schema WHERE name = 'lost'")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    (finding,) = examine_catalog(path).records
    assert "never used" in finding


def break_tree(path, tree):
    """Overwrite the first page of a table or an index."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (root,) = connection.execute(
            "SELECT rootpage FROM sqlite_schema WHERE name = ?", (tree,)
        ).fetchone()
    content = bytearray(path.read_bytes())
    content[(root - 1) * 4096 : root * 4096] = bytes(4096)
    path.write_bytes(content)


async def make_catalog(path):
    """A catalog with files and an index."""
    stores = open_sqlite_stores(path)
    world, market = World(stores), RandomMarket(Random(3))
    file = await world.draft()
    for _ in range(20):
        market.mine()
    await build(stores.index_writer, market)
    await stores.close()
    return world, market, file


@pytest.mark.parametrize("tree", ["posts", "posts_by_id", "holdings", "post_search_data"])
async def test_damage_in_the_index_leaves_files_readable(tmp_path, tree):
    path = tmp_path / "catalog.db"
    _, _, file = await make_catalog(path)
    break_tree(path, tree)
    stores = open_sqlite_stores(path)
    try:
        assert (stores.database.damage.structure, stores.database.damage.found) == (None, True)
        assert stores.database.damage.index is not None
        assert await stores.database.examine() == list(examine_catalog(path).index) != []
        assert await stores.files.file_by_cid(file.cid) == file
        assert await stores.files.file_by_cid(Cid("nobody's")) is None
        assert await World(stores).draft(nonce="another")
    finally:
        await stores.close()


async def test_lookups_of_unknown_files_raise_unavailable_if_their_table_is_damaged(tmp_path):
    path = tmp_path / "catalog.db"
    await make_catalog(path)
    break_tree(path, "posts")
    break_tree(path, "nonces")
    stores = open_sqlite_stores(path)
    try:
        assert stores.database.damage.structure is not None
        with pytest.raises(Unavailable):
            await stores.files.file_by_cid(Cid("nobody's"))
    finally:
        await stores.close()


async def test_an_index_step_that_hits_damage_fails_and_other_writes_continue(tmp_path):
    path = tmp_path / "catalog.db"
    _, market, _ = await make_catalog(path)
    break_tree(path, "holdings")
    stores = open_sqlite_stores(path)
    try:
        stores.database.damage.note_index(None)
        with pytest.raises(Damaged):
            await build(stores.index_writer, market)
        assert (stores.database.damage.structure, stores.database.damage.index) == (
            None,
            "SQLITE_CORRUPT",
        )
        assert await World(stores).draft(nonce="another")
    finally:
        await stores.close()
