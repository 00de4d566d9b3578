"""The examination of a SQLite catalog and of its write-ahead log."""

import sqlite3
from contextlib import closing

from imprint.adapters.catalog.integrity import examine_catalog
from imprint.adapters.catalog.sqlite import open_catalog


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
