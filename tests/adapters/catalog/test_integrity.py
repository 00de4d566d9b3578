"""The examination of a SQLite catalog and of its write-ahead log."""

import sqlite3
from contextlib import closing
from random import Random

import pytest
from tests.adapters.catalog.conftest import World
from tests.adapters.catalog.market import RandomMarket
from tests.adapters.catalog.test_index_writer import build

from imprint.adapters.catalog.index_writer import CatalogIndexWriter
from imprint.adapters.catalog.integrity import examine_catalog
from imprint.adapters.catalog.sqlite import open_catalog
from imprint.domain.errors import Damaged, Unavailable
from imprint.domain.formats.cids import Cid


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


async def test_a_catalog_with_a_damaged_index_is_noticed_when_it_is_opened(tmp_path):
    path = tmp_path / "catalog.db"
    await open_catalog(path).close()
    assert not examine_catalog(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("INSERT INTO owners (owner, last_number) VALUES ('0x1', 1)")
        connection.execute("INSERT INTO file_groups VALUES ('g', '0x1', '[]', NULL, 1, 0, NULL)")
        connection.execute(
            "INSERT INTO files (position, id, group_id, owner, name, cid, size, created_at, state)"
            " VALUES (1, 'i', 'g', '0x1', 'n', 'bafkreicid', 1, 1, 'pending')"
        )
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = path.read_bytes()
    at = content.rindex(b"bafkreicid") if content.count(b"bafkreicid") > 1 else -1
    assert at > 0
    flip(path, at)
    catalog = open_catalog(path)
    assert catalog.damage.found
    assert await catalog.examine() == list(examine_catalog(path).records) != []
    await catalog.close()


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
    catalog = open_catalog(path)
    world, market = World(catalog), RandomMarket(Random(3))
    file = await world.draft()
    for _ in range(20):
        market.mine()
    await build(CatalogIndexWriter(catalog), market)
    await catalog.close()
    return world, market, file


@pytest.mark.parametrize("tree", ["posts", "posts_by_id", "holdings", "post_search_data"])
async def test_damage_in_the_index_leaves_files_readable(tmp_path, tree):
    path = tmp_path / "catalog.db"
    _, _, file = await make_catalog(path)
    break_tree(path, tree)
    catalog = open_catalog(path)
    try:
        assert (catalog.damage.structure, catalog.damage.found) == (None, True)
        assert catalog.damage.index is not None
        assert await catalog.examine() == list(examine_catalog(path).index) != []
        assert await catalog.file_by_cid(file.cid) == file
        assert await catalog.file_by_cid(Cid("nobody's")) is None
        assert await World(catalog).draft(nonce="another")
    finally:
        await catalog.close()


async def test_damage_in_a_table_of_records_makes_missing_files_unavailable(tmp_path):
    path = tmp_path / "catalog.db"
    await make_catalog(path)
    break_tree(path, "posts")
    break_tree(path, "nonces")
    catalog = open_catalog(path)
    try:
        assert catalog.damage.structure is not None
        with pytest.raises(Unavailable):
            await catalog.file_by_cid(Cid("nobody's"))
    finally:
        await catalog.close()


async def test_a_step_that_meets_damage_is_refused_and_other_writes_go_on(tmp_path):
    path = tmp_path / "catalog.db"
    _, market, _ = await make_catalog(path)
    break_tree(path, "holdings")
    catalog = open_catalog(path)
    try:
        catalog.damage.note_index(None)
        with pytest.raises(Damaged):
            await build(CatalogIndexWriter(catalog), market)
        assert (catalog.damage.structure, catalog.damage.index) == (None, "SQLITE_CORRUPT")
        assert await World(catalog).draft(nonce="another")
    finally:
        await catalog.close()
