"""A move of a catalog to PostgreSQL is complete, resumable, and verified at the end."""

import asyncio
import os
import sqlite3
from contextlib import closing

import pytest
from click.testing import CliRunner
from tests.adapters.stores.conftest import World
from tests.adapters.stores.databases import PostgresqlServer, SqliteFile, open_any
from tests.adapters.stores.test_accounts_profiles import update as profile_update
from tests.adapters.stores.test_stores_invariants import Chaos
from tests.cli.installations import environment_of
from tests.postgresql import Server
from tests.stores import open_postgresql_stores

from imprint.adapters.database.postgresql import move
from imprint.adapters.database.postgresql.move import CannotMove, move_catalog
from imprint.adapters.database.postgresql.pool import USE_LOCK, connect
from imprint.adapters.database.postgresql.schema import Unfinished
from imprint.adapters.database.schema import INDEX_TABLES
from imprint.adapters.stores.drafts.garbage import COMPARE_USAGE
from imprint.bootstrap.adapters import open_database
from imprint.cli import main
from imprint.domain.errors import CannotStart, NonceUsed, Unavailable
from imprint.domain.posts.indexed_posts import OwnDrafts, PublicList
from imprint.settings import read_settings

LISTS = [PublicList(), PublicList(drafts_too=True), PublicList(("a", "b")), PublicList(("c",))]


def settings_with(folder, address):
    return read_settings(environment_of(folder) | {"IMPRINT_DATABASE_URL": address})


def report_nothing(done, total):
    pass


@pytest.fixture
async def source(tmp_path):
    """A catalog with a long history."""
    file = SqliteFile(tmp_path / "catalog.db")
    world = World(open_any(file.address))
    chaos = Chaos(world, 7)
    await world.draft(nonce="spent \U0001f58b \\x00")
    await chaos.create()
    for _ in range(120):
        await chaos.act()
    await world.stores.profiles.save_profile(profile_update(world), None)
    await world.stores.close()
    return file


@pytest.fixture
async def target(postgresql: Server):
    await postgresql.execute("DROP DATABASE IF EXISTS target WITH (FORCE)")
    return PostgresqlServer(await postgresql.create_database("target"))


async def everything(address):
    stores = open_any(address)
    world = World(stores)
    lists = [*LISTS, OwnDrafts(world.alice), OwnDrafts(world.bob)]
    shown = [await world.pages(which) for which in lists]
    events = (
        await stores.events.known_events(31337, 0, 10**9),
        await stores.events.report_events(100),
    )
    account = await stores.index_reader.account(world.alice)
    assert account is not None
    assert account.profile is not None
    with pytest.raises(NonceUsed):
        await stores.writing_sessions.check_nonce(world.alice, "spent \U0001f58b \\x00")
    await stores.close()
    return shown, events


async def test_every_row_is_moved(source, target):
    reported = []
    rows = await move_catalog(source.path, target.address, lambda *each: reported.append(each))
    assert reported[-1] == (rows, rows)
    assert await everything(target.address) == await everything(source.address)


async def test_the_usage_counts_of_each_signer_are_moved(source, target):
    await move_catalog(source.path, target.address, report_nothing)
    counted = "SELECT owner, used_bytes, drafts FROM owners ORDER BY owner"
    assert await target.rows(counted) == await source.rows(counted)
    assert await target.rows(COMPARE_USAGE) == []


async def test_the_numbers_of_erased_revisions_are_moved(source, target):
    with closing(sqlite3.connect(source.path)) as connection, connection:
        connection.execute("INSERT INTO counters VALUES ('revisions:bafy', 7)")
    await move_catalog(source.path, target.address, report_nothing)
    kept = "SELECT value FROM counters WHERE name = 'revisions:bafy'"
    assert await target.rows(kept) == [(7,)]


async def test_the_installation_id_and_the_fence_are_also_moved(source, target):
    stores = open_any(source.address)
    await stores.installation.note_claim()
    await stores.close()
    with closing(sqlite3.connect(source.path)) as connection, connection:
        connection.execute("UPDATE counters SET value = 7 WHERE name = 'fence'")
    # A service that was started too early has given the empty target an id.
    await open_any(target.address).close()
    await move_catalog(source.path, target.address, report_nothing)
    moved = open_any(target.address)
    assert moved.installation.identity == stores.installation.identity
    await moved.close()
    assert await target.rows("SELECT value FROM counters WHERE name = 'fence'") == [(7,)]


async def test_positions_continue_above_the_highest_moved_one(source, target):
    await move_catalog(source.path, target.address, report_nothing)
    ((highest,),) = await source.rows("SELECT value FROM counters WHERE name = 'position'")
    stores = open_any(target.address)
    world = World(stores)
    for _ in range(1000):
        world.number()
    assert (await world.draft()).position > highest
    await stores.close()


async def test_an_interrupted_move_can_be_continued(source, target, monkeypatch):
    monkeypatch.setattr(move, "_BATCH", 10)

    def stop(done, total):
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await move_catalog(source.path, target.address, stop)
    reported = []
    rows = await move_catalog(
        source.path, target.address, lambda done, total: reported.append(done)
    )
    assert reported[0] > rows / 2
    assert await everything(target.address) == await everything(source.address)


async def test_an_unfinished_target_cannot_be_opened(source, target, tmp_path):
    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await move_catalog(source.path, target.address, stop)
    with pytest.raises(Unfinished):
        open_postgresql_stores(target.address)
    with pytest.raises(CannotStart, match="being moved"):
        open_database(settings_with(tmp_path, target.address))


async def test_a_target_in_use_is_refused_and_left_unchanged(source, target):
    world = World(open_any(target.address))
    file = await world.draft()
    with pytest.raises(CannotMove, match="in use"):
        await move_catalog(source.path, target.address, report_nothing)
    assert await world.live(file.cid) == file
    await world.stores.close()


async def test_a_catalog_cannot_be_moved_twice(source, target):
    await move_catalog(source.path, target.address, report_nothing)
    with pytest.raises(CannotMove, match="in use"):
        await move_catalog(source.path, target.address, report_nothing)


@pytest.mark.parametrize(
    "damage",
    [
        "DELETE FROM nonces WHERE nonce = (SELECT min(nonce) FROM nonces)",
        "UPDATE file_groups SET hashtags = '[\"x\"]' WHERE id = (SELECT min(id) FROM file_groups)",
        "UPDATE files SET wrapped_key = 'x' WHERE id = (SELECT min(id) FROM files)",
    ],
)
async def test_a_difference_between_source_and_target_is_detected(
    source, target, postgresql: Server, monkeypatch, damage
):
    compare = move._finish

    async def spoil(reader, writer, tables):
        await writer.execute(damage)
        await compare(reader, writer, tables)

    monkeypatch.setattr(move, "_finish", spoil)
    with pytest.raises(CannotMove, match="differ"):
        await move_catalog(source.path, target.address, report_nothing)
    with pytest.raises(Unfinished):
        open_postgresql_stores(target.address)


async def test_a_missing_source_is_not_created(tmp_path, target):
    with pytest.raises(CannotMove, match="no database"):
        await move_catalog(tmp_path / "none.db", target.address, report_nothing)
    assert not (tmp_path / "none.db").exists()


def run_command(*options):
    return CliRunner().invoke(main, ["migrate-catalog", *options])


async def test_the_command_moves_a_catalog(source, target):
    # The command runs its own loop, as it does for operators.
    result = await asyncio.to_thread(run_command, "--from", source.address, "--to", target.address)
    assert result.exit_code == 0, result.output
    assert "moved and verified" in result.output
    assert await everything(target.address) == await everything(source.address)


@pytest.mark.parametrize(
    ("source", "to"),
    [
        ("postgresql://x/y", "sqlite:///z"),
        ("sqlite:///z", "sqlite:///y"),
        ("ftp://x", "sqlite:///y"),
    ],
)
def test_the_command_moves_only_from_sqlite_to_postgresql(source, to):
    result = run_command("--from", source, "--to", to)
    assert result.exit_code == 2
    assert "cannot start" not in result.output
    assert "sqlite:///" in result.output


async def test_a_source_in_use_is_refused(source, target):
    stores = open_any(source.address)
    with pytest.raises(CannotMove, match=f"in use .*{os.getpid()}.* Stop the service"):
        await move_catalog(source.path, target.address, report_nothing)
    await stores.close()
    await move_catalog(source.path, target.address, report_nothing)


async def test_a_target_with_an_open_catalog_is_refused(source, target):
    stores = open_postgresql_stores(target.address)
    await stores.database.probe()
    with pytest.raises(CannotMove, match=r"The target is in use: .* \(this machine\)"):
        await move_catalog(source.path, target.address, report_nothing)
    await stores.close()
    await move_catalog(source.path, target.address, report_nothing)


async def test_the_source_cannot_be_opened_during_a_move(source, target, tmp_path):
    refused, settings = [], settings_with(tmp_path, source.address)

    def open_it(done, total):
        with pytest.raises(CannotStart, match="are being moved by `imprint migrate-catalog`"):
            open_database(settings)
        refused.append(done)

    await move_catalog(source.path, target.address, open_it)
    assert refused
    stores = open_database(settings)
    await stores.close()


async def test_an_idle_catalog_is_unavailable_while_it_is_the_target_of_a_move(target):
    stores = open_postgresql_stores(target.address)
    moving = await connect(target.address)
    try:
        assert await moving.fetchval("SELECT pg_try_advisory_lock($1)", USE_LOCK)
        with pytest.raises(Unavailable):
            await stores.database.probe()
    finally:
        await moving.close()
    await stores.database.probe()
    await stores.close()


async def test_ended_sessions_and_writing_sessions_are_moved(source, target):
    alice = World(None).alice
    with closing(sqlite3.connect(source.path)) as connection, connection:
        connection.execute(
            "INSERT INTO ended_sessions VALUES (?, 1234567, 8), ('7-ab', ?, 9)", (alice, 2**62)
        )
        connection.execute(
            "INSERT INTO writing_sessions VALUES ('id', ?, ?, 'create,update', 1, 2, 3)",
            (alice, b"\x04" + bytes(range(64))),
        )
    await move_catalog(source.path, target.address, lambda *_: None)
    for table in ("ended_sessions", "writing_sessions"):
        statement = f"SELECT * FROM {table} ORDER BY 1"
        assert await target.rows(statement) == await source.rows(statement) != []


async def test_private_feeds_are_moved_and_the_index_is_left_empty(source, target):
    feed = f"('f', '{World(None).alice}', '{'0' * 64}', 1, NULL)"
    with closing(sqlite3.connect(source.path)) as connection, connection:
        connection.execute(f"INSERT INTO private_feeds VALUES {feed}")
        connection.execute("INSERT INTO market_days VALUES (1, 1, 1, '1')")
        connection.execute("INSERT INTO post_texts VALUES (1, 'a text', 0)")
        connection.execute("UPDATE market_totals SET posts = 5")
    # A service that was started too early has begun an index in the empty target.
    await open_any(target.address).close()
    await target.rows("INSERT INTO pending_texts VALUES (7) RETURNING place")
    reported = []
    rows = await move_catalog(source.path, target.address, lambda *each: reported.append(each))
    assert reported[-1] == (rows, rows)
    feeds = "SELECT * FROM private_feeds"
    assert await target.rows(feeds) == await source.rows(feeds) != []
    for table in INDEX_TABLES - {"market_totals"}:
        assert await target.rows(f"SELECT * FROM {table}") == [], table
    assert await target.rows("SELECT posts FROM market_totals") == [(0,)]
