"""SQLite copies of a PostgreSQL catalog are complete, and consistent as of one moment."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from tests.adapters.database.postgresql.test_move import everything
from tests.adapters.stores.conftest import World
from tests.adapters.stores.databases import PostgresqlServer, SqliteFile, open_any
from tests.adapters.stores.test_accounts_profiles import update as profile_update
from tests.adapters.stores.test_stores_invariants import Chaos
from tests.postgresql import Server

from imprint.adapters.database.postgresql import catalog_copy
from imprint.adapters.database.postgresql.schema import read_tables
from imprint.adapters.database.sqlite.backup import check_copy
from imprint.adapters.stores.drafts.garbage import COMPARE_USAGE
from imprint.domain.errors import Unavailable
from imprint.ports.damage import CatalogDamaged
from imprint.services.tasks.leases import COLLECTOR_LEASE, LEASE_TIME


@pytest.fixture
async def source(postgresql: Server) -> PostgresqlServer:
    """A catalog with a long history."""
    await postgresql.execute("DROP DATABASE IF EXISTS source WITH (FORCE)")
    server = PostgresqlServer(await postgresql.create_database("source"))
    world = World(open_any(server.address))
    chaos = Chaos(world, 7)
    await world.draft(nonce="spent \U0001f58b \\x00")
    await chaos.create()
    await world.stores.profiles.save_profile(profile_update(world), None)
    for _ in range(120):
        await chaos.act()
    await world.stores.leases.take_lease(COLLECTOR_LEASE, "a process", LEASE_TIME)
    await world.stores.close()
    return server


async def copy(source: PostgresqlServer, path: Path) -> SqliteFile:
    stores = open_any(source.address)
    try:
        await stores.database.backup_to(path)
    finally:
        await stores.close()
    return SqliteFile(path)


async def test_a_copy_contains_every_record(source, tmp_path, monkeypatch):
    monkeypatch.setattr(catalog_copy, "_BATCH", 7)
    copied = await copy(source, tmp_path / "copy.db")
    check_copy(copied.path)
    assert await everything(copied.address) == await everything(source.address)
    assert await copied.rows(COMPARE_USAGE) == []
    live, counted = await copied.counted_tags()
    assert sorted(live) == sorted(counted) != []


async def test_a_copy_continues_the_ids_and_positions_of_the_catalog(source, tmp_path):
    copied = await copy(source, tmp_path / "copy.db")
    stores = open_any(source.address)
    opened = open_any(copied.address)
    assert opened.installation.identity.id == stores.installation.identity.id
    world = World(opened)
    for _ in range(1000):
        world.number()
    highest = "SELECT max(position) FROM files"
    ((before,),) = await source.rows(highest)
    assert (await world.draft()).position > before
    await stores.close()
    await opened.close()
    fence = "SELECT value FROM counters WHERE name = 'fence'"
    assert await copied.rows(fence) == await source.rows(fence)
    assert await copied.rows("SELECT * FROM leases") == []


async def test_a_copy_is_a_snapshot_of_one_moment(source, tmp_path, monkeypatch):
    """Checks that rows written after the first table was read appear in none of the other
    tables."""
    late = []
    stores = open_any(source.address)
    world = World(stores)
    for _ in range(1000):
        world.number()

    async def read_and_write(connection, without):
        tables = await read_tables(connection, without)
        late.append(await world.draft())
        return tables

    monkeypatch.setattr(catalog_copy, "read_tables", read_and_write)
    copied = await copy(source, tmp_path / "copy.db")
    await stores.close()
    assert late
    assert await copied.rows(f"SELECT id FROM files WHERE id = '{late[0].id}'") == []
    assert await copied.rows(f"SELECT * FROM file_groups WHERE id = '{late[0].group_id}'") == []


async def test_a_copy_is_private_and_overwrites_nothing(source, tmp_path):
    path = tmp_path / "copy.db"
    await copy(source, path)
    assert path.stat().st_mode & 0o077 == 0
    before = path.read_bytes()
    with pytest.raises(FileExistsError):
        await copy(source, path)
    assert path.read_bytes() == before


async def test_contradictory_rows_are_reported_as_damage(source, tmp_path, postgresql):
    await postgresql.execute("DROP INDEX files_by_name", "source")
    await postgresql.execute("UPDATE files SET name = 'the same'", "source")
    with pytest.raises(CatalogDamaged, match=r"files\.name"):
        await copy(source, tmp_path / "copy.db")


async def test_a_copy_that_cannot_be_written_raises_unavailable(source, tmp_path, monkeypatch):
    connect = sqlite3.connect

    def connect_full(path, **options):
        connection = connect(path, **options)
        connection.execute("PRAGMA max_page_count = 3")
        return connection

    monkeypatch.setattr(sqlite3, "connect", connect_full)
    with pytest.raises(Unavailable):
        await copy(source, tmp_path / "copy.db")


async def test_a_copy_of_an_empty_catalog_can_be_opened(tmp_path, postgresql):
    await postgresql.execute("DROP DATABASE IF EXISTS source WITH (FORCE)")
    server = PostgresqlServer(await postgresql.create_database("source"))
    copied = await copy(server, tmp_path / "copy.db")
    check_copy(copied.path)
    with closing(sqlite3.connect(copied.path)) as connection:
        assert connection.execute("SELECT only_row FROM market_totals").fetchall() == [(1,)]
