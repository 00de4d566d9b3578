"""PostgreSQL specifics: conflicting transactions, and servers that stop and restart."""

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest
from tests.adapters.stores.conftest import World
from tests.adapters.stores.databases import PostgresqlServer, SqliteFile, open_any
from tests.postgresql import Server
from tests.stores import open_postgresql_stores

from imprint.adapters.database.postgresql import pool as postgresql_pool
from imprint.adapters.database.postgresql.database import prepare
from imprint.adapters.database.postgresql.schema import migrate
from imprint.adapters.database.schema import Migration, NewerSchema, NoCatalog, known_migrations
from imprint.adapters.database.transaction import Unstorable
from imprint.domain.drafts.files import Action
from imprint.domain.errors import CannotStart, Code, Unavailable
from imprint.domain.installation import Access
from imprint.domain.posts.indexed_posts import PublicList

AT = datetime(2026, 1, 1, tzinfo=UTC)
BEAT = "UPDATE counters SET value = value + 1 WHERE name = 'heartbeat' RETURNING value"
OTHER = "INSERT INTO leases VALUES ('other', 'one', 1)"


@pytest.fixture
def kind():
    return "postgresql"


async def show(tx, setting):
    return (await tx.fetchone(f"SHOW {setting}"))[setting]


async def test_transactions_are_durable_unless_specified_otherwise(world):
    assert await world.stores.database.transact((), show, "synchronous_commit") == "on"
    assert (
        await world.stores.database.transact((), show, "synchronous_commit", durable=False) == "off"
    )
    assert await world.stores.database.transact((), show, "synchronous_commit") == "on"


async def test_writes_are_durable_even_if_the_server_default_is_not(database, server):
    await server.execute("ALTER DATABASE catalog SET synchronous_commit = off")
    stores = open_postgresql_stores(database.address)
    try:
        assert await stores.database.transact((), show, "synchronous_commit") == "on"
    finally:
        await stores.close()
        await server.execute("ALTER DATABASE catalog RESET synchronous_commit")


async def test_transactions_that_take_locks_in_opposite_orders_never_deadlock(database, server):
    entered, both = [], asyncio.Barrier(2)

    async def cross(tx, first, second):
        entered.append(first)
        is_again = len(entered) > 2
        await tx.lock({first})
        if not is_again:
            await both.wait()
        await tx.lock({second})
        return (await tx.fetchone(BEAT))["value"]

    # With this timeout, the server would not resolve a deadlock before the test times out.
    await server.execute("ALTER DATABASE catalog SET deadlock_timeout = '1h'")
    stores = open_postgresql_stores(database.address)
    try:
        beats = await asyncio.gather(
            stores.database.transact((), cross, "a", "b"),
            stores.database.transact((), cross, "b", "a"),
        )
    finally:
        await stores.close()
        await server.execute("ALTER DATABASE catalog RESET deadlock_timeout")
    assert sorted(beats) == [1, 2]
    assert len(entered) == 3


async def test_a_repeated_constraint_violation_raises_unavailable_and_changes_nothing(
    world, database
):
    async def clash(tx):
        await tx.execute(BEAT)
        await tx.execute(OTHER)
        await tx.execute(OTHER)

    with pytest.raises(Unavailable) as refused:
        await world.stores.database.transact((), clash)
    strange = refused.value.__cause__
    assert isinstance(strange, Unstorable)
    assert isinstance(strange.__cause__, asyncpg.UniqueViolationError)
    assert await database.rows("SELECT value FROM counters") == [(0,)]


async def test_a_transaction_is_retried_after_a_constraint_violation(world, database):
    calls = []

    async def clash_once(tx):
        calls.append(await tx.fetchone(BEAT))
        if len(calls) == 1:
            await tx.execute(OTHER)
            await tx.execute(OTHER)
        return "done"

    assert await world.stores.database.transact((), clash_once) == "done"
    assert len(calls) == 2
    assert await database.rows("SELECT value FROM counters") == [(1,)]
    assert await database.rows("SELECT count(*) FROM leases") == [(0,)]


async def test_locks_are_acquired_before_the_rule_runs(world):
    # Count only exclusive locks: every connection also holds a lock that all of them share.
    held = "SELECT count(*) AS count FROM pg_locks WHERE locktype = 'advisory' AND granted"
    held += " AND mode = 'ExclusiveLock'"

    async def count(tx):
        return (await tx.fetchone(f"{held} AND pid = pg_backend_pid()"))["count"]

    assert await world.stores.database.transact({"a", "b"}, count) == 2
    assert await world.stores.database.transact((), count) == 0


async def test_a_rule_waits_for_locks_held_by_another_process(world, open_another):
    began, order = asyncio.Event(), []

    async def first(tx):
        began.set()
        await tx.execute("SELECT pg_sleep(0.1)")
        order.append("first")

    async def second(tx):
        order.append("second")

    running = asyncio.ensure_future(world.stores.database.transact({"a"}, first))
    await began.wait()
    await open_another().database.transact({"a"}, second)
    await running
    assert order == ["first", "second"]


async def test_a_transaction_rolled_back_by_the_server_is_never_reported_as_done(world, database):
    async def swallow(tx):
        await tx.execute(BEAT)
        with suppress(Unstorable):
            await tx.execute("INSERT INTO leases VALUES ('x', NULL, 1)")
        return "done"

    with pytest.raises(Unavailable):
        await world.stores.database.transact((), swallow)
    assert await database.rows("SELECT value FROM counters") == [(0,)]


async def test_a_lock_timeout_fails_one_transaction_and_others_continue(database, monkeypatch):
    monkeypatch.setitem(postgresql_pool.SESSION, "lock_timeout", "200ms")
    stores = open_postgresql_stores(database.address)
    other = await asyncpg.connect(database.address)
    await other.execute("BEGIN; UPDATE counters SET value = 7 WHERE name = 'heartbeat'")
    with pytest.raises(Unavailable) as refused:
        await stores.database.probe()
    assert refused.value.code is Code.DATABASE_UNAVAILABLE
    assert await stores.events.cursor(1) is None
    await other.execute("ROLLBACK")
    await stores.database.probe()
    await other.close()
    await stores.close()


async def test_exceeding_the_server_connection_limit_raises_unavailable(database, server):
    await server.execute(
        "DROP ROLE IF EXISTS guest; CREATE ROLE guest LOGIN CONNECTION LIMIT 2;"
        "GRANT SELECT, UPDATE, INSERT, DELETE ON ALL TABLES IN SCHEMA public TO guest",
        "catalog",
    )
    stores = open_postgresql_stores(database.address.replace("postgres:", "guest:"))

    async def slow(tx):
        await tx.execute("SELECT pg_sleep(0.2)")
        return "done"

    said = await asyncio.gather(
        *(stores.database.read(slow) for _ in range(5)), return_exceptions=True
    )
    assert {type(each) for each in said} == {str, Unavailable}
    assert await stores.database.read(slow) == "done"
    await stores.close()
    await server.execute("DROP OWNED BY guest; DROP ROLE guest", "catalog")


async def test_a_probe_succeeds_for_a_role_that_may_not_create_tables(database, server):
    await open_postgresql_stores(database.address).close()
    await server.execute(
        "DROP ROLE IF EXISTS clerk; CREATE ROLE clerk LOGIN;"
        " GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO clerk;"
        " GRANT USAGE ON SEQUENCE positions TO clerk",
        "catalog",
    )
    stores = open_postgresql_stores(database.address.replace("postgres:", "clerk:"))
    try:
        await stores.database.probe(grow=True)
    finally:
        await stores.close()
        await server.execute("DROP OWNED BY clerk; DROP ROLE clerk", "catalog")


async def test_a_closed_catalog_is_unavailable(world):
    await world.stores.close()
    with pytest.raises(Unavailable):
        await world.draft()
    with pytest.raises(Unavailable):
        await world.stores.events.cursor(1)


async def test_one_busy_owner_leaves_connections_for_others(database):
    stores = open_postgresql_stores(database.address, connections=2)

    first, released = asyncio.Event(), asyncio.Event()

    async def slow(tx):
        await tx.execute("SELECT 1")
        first.set()
        await released.wait()

    busy = [asyncio.ensure_future(stores.database.transact({"owner busy"}, slow)) for _ in range(4)]
    async with asyncio.timeout(20):
        await first.wait()
        await stores.events.cursor(1)
    released.set()
    await asyncio.gather(*busy)
    await stores.close()


@dataclass
class Load:
    """Writers that keep going despite failures and record their commits."""

    world: World
    committed: list = field(default_factory=list)
    refused: int = 0
    going: bool = True

    async def run(self):
        while self.going:
            write, version = self.world.write(Action.CREATE), self.world.version()
            try:
                intent = await self.world.begin(write, version)
                self.committed.append(
                    await self.world.stores.drafts.add_draft(write, intent, version)
                )
            except Unavailable as refused:
                if refused.code is not Code.DATABASE_UNAVAILABLE:
                    raise
                self.refused += 1
                await asyncio.sleep(0.01)

    async def check(self, database):
        kept = {row[0] for row in await database.rows("SELECT id FROM files")}
        assert {file.id for file in self.committed} <= kept


async def until(condition):
    while not condition():  # noqa: ASYNC110 - what is waited for has no event
        await asyncio.sleep(0.01)


async def recover(stores, seconds=30):
    begun = time.monotonic()
    while time.monotonic() - begun < seconds:
        try:
            await stores.database.probe()
        except Unavailable:
            await asyncio.sleep(0.05)
        else:
            return
    raise AssertionError("the catalog did not recover")


async def test_a_hundred_dropped_connections_lose_no_commit(world, database):
    load = Load(world)
    writers = [asyncio.ensure_future(load.run()) for _ in range(4)]
    cut = 0
    other = await asyncpg.connect(database.address)
    while cut < 100:
        await asyncio.sleep(0.01)
        rows = await other.fetch(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE application_name = 'imprint' AND datname = 'catalog'"
        )
        cut += len(rows)
    await other.close()
    await recover(world.stores)
    before = len(load.committed)
    await until(lambda: len(load.committed) >= before + 8)
    load.going = False
    await asyncio.gather(*writers)
    await load.check(database)


@pytest.fixture
async def empty(postgresql: Server):
    await postgresql.execute("DROP DATABASE IF EXISTS empty WITH (FORCE)")
    return await postgresql.create_database("empty")


async def test_several_processes_may_open_a_new_catalog_at_the_same_time(empty):
    opened = await asyncio.gather(
        *(asyncio.to_thread(open_postgresql_stores, empty) for _ in range(4))
    )
    for stores in opened:
        await stores.database.probe()
        await stores.close()


async def test_a_catalog_created_concurrently_by_another_process_is_opened(empty):
    def lose_the_race() -> None:
        asyncio.run(prepare(empty))
        raise CannotStart("There are documents of a catalog that is not there.")

    identity = await prepare(empty, before_creation=lose_the_race)
    assert identity == await prepare(empty)


async def test_no_catalog_is_created_if_the_check_before_creation_fails(empty):
    def refuse() -> None:
        raise CannotStart("There are documents.")

    with pytest.raises(CannotStart, match="There are documents"):
        await prepare(empty, before_creation=refuse)
    with pytest.raises(NoCatalog):
        await prepare(empty, Access.READ)


async def test_a_catalog_with_a_newer_schema_is_not_opened(empty, postgresql: Server):
    await open_postgresql_stores(empty).close()
    await postgresql.execute("INSERT INTO schema_migrations VALUES (999, 'future')", "empty")
    with pytest.raises(NewerSchema):
        open_postgresql_stores(empty)


async def test_a_failed_migration_leaves_nothing_behind(empty):
    broken = Migration(2, "broken", "CREATE TABLE two (x TEXT); INSERT INTO nowhere VALUES (1);")
    connection = await asyncpg.connect(empty)
    with pytest.raises(asyncpg.UndefinedTableError):
        await migrate(connection, (*known_migrations("postgresql"), broken))
    tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
    assert await connection.fetchval(tables) == 0
    await connection.close()


async def test_both_databases_have_the_same_number_of_migrations():
    numbers = [each.number for each in known_migrations("postgresql")]
    assert numbers == [each.number for each in known_migrations("sqlite")]


async def test_an_unreachable_server_raises_unavailable(tmp_path):
    with pytest.raises(Unavailable):
        open_postgresql_stores(f"postgresql://postgres@/x?host={tmp_path}")


async def test_both_databases_have_the_same_tables_and_columns(empty, tmp_path):
    await open_postgresql_stores(empty).close()
    server, file = PostgresqlServer(empty), SqliteFile.migrated(tmp_path / "catalog.db")
    await open_any(file.address).close()
    there = await server.rows(
        "SELECT table_name, column_name, is_nullable = 'NO', column_default IS NOT NULL"
        " FROM information_schema.columns WHERE table_schema = 'public'"
        " AND table_name IN (SELECT tablename FROM pg_tables WHERE schemaname = 'public')"
    )
    here = await file.rows(
        'SELECT t.name, c.name, c."notnull" OR c.pk > 0, c.dflt_value IS NOT NULL'
        " FROM sqlite_schema t JOIN pragma_table_info(t.name) c WHERE t.type = 'table'"
    )

    def shared(rows: list[tuple[Any, ...]]) -> set[tuple[Any, ...]]:
        # Only SQLite stores tag counts, and each database has its own tables for the search.
        return {row for row in rows if row[0] != "tags" and not row[0].startswith("post_search")}

    assert shared(there) == shared(here)


async def test_a_list_immediately_includes_commits_of_another_process(database, world):
    other = open_postgresql_stores(database.address)
    try:
        which = PublicList((), drafts_too=True)
        for number in range(1, 6):
            await world.draft()
            for _ in range(4):
                found = await asyncio.gather(
                    *(other.files.list_files(which, None, 10) for _ in range(3))
                )
                assert [len(files) for files in found] == [number] * 3
    finally:
        await other.close()
