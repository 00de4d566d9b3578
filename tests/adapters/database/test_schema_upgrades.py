"""A process of one release keeps working after the next release migrated the schema."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest
from tests.adapters.stores.conftest import START, World
from tests.adapters.stores.databases import SQLITE, open_any
from tests.postgresql import Server

from imprint.adapters.database import schema
from imprint.adapters.database.postgresql import schema as postgresql_schema
from imprint.adapters.database.schema import Migration, NewerSchema, known_migrations
from imprint.adapters.database.transaction import Row, Transaction
from imprint.adapters.stores.drafts.drafts import USAGE
from imprint.adapters.stores.drafts.garbage import COMPARE_USAGE
from imprint.domain.drafts.files import Action, Intent, Network, Quota, State, Write
from imprint.domain.errors import Refusal
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import OwnDrafts, PublicList
from imprint.domain.posts.posts import Advance, LogPosition

NEXT = """
ALTER TABLE files ADD COLUMN language TEXT;
ALTER TABLE file_groups ADD COLUMN series TEXT;
ALTER TABLE events ADD COLUMN gas BIGINT;
ALTER TABLE nonces ADD COLUMN client TEXT;
CREATE TABLE series (id TEXT PRIMARY KEY, title TEXT NOT NULL);
CREATE INDEX files_by_language ON files (language, position);
"""
"""Sample schema changes. All are additions, as the previous release still uses the schema."""

ROUNDS = 12

Tables = dict[str, list[tuple[object, ...]]]
"""Every row of every table, by table name."""

INDEXED_POST = """
INSERT INTO posts (place, post_id, author, cid, spelled_cid, thumbnail_cid, title, description,
    hashtags, first_price, price, created_at, block_hash, tx_hash)
    VALUES (1, '1', '0xa', 'c3', {empty}, {empty}, {empty}, {empty}, '["zen", "art"]', {empty},
    {empty}, 1, '{block_hash}', '0x2')"""

FIRST_RELEASE = """
INSERT INTO owners VALUES ('0xa', 9), ('0xb', 9);
INSERT INTO file_groups VALUES ('g1', '0xa', '[]', 'picture', 1), ('g2', '0xa', '[]', NULL, 1),
    ('g3', '0xb', '[]', NULL, 1), ('g4', '0xb', '[]', NULL, 1);
INSERT INTO files (id, group_id, owner, name, cid, size, created_at, state, position, post_id,
    published_at) VALUES
    ('f1', 'g1', '0xa', 'n1', 'c1', 100, 1, 'superseded', 1, NULL, NULL),
    ('f2', 'g1', '0xa', 'n2', 'c2', 20, 2, 'pending', 2, NULL, NULL),
    ('f3', 'g2', '0xa', 'n3', 'c3', 3, 3, 'onchain', 9, '1', 3),
    ('f4', 'g3', '0xb', 'n4', 'c4', 4000, 4, 'deleted', 4, NULL, NULL),
    ('f5', 'g4', '0xb', 'n5', 'c5', 50000, 5, 'pending', 5, NULL, NULL);
INSERT INTO detached VALUES ('c1', 'private', 1, 0), ('c4', 'private', 1, 0),
    ('c5', 'private', 1, 0), ('gone', 'private', 1, 1), ('c4', 'public', 1, 0);
INSERT INTO intents VALUES ('i1', '0xa', 'n', 'create', 'c6', 'private', 9, 9),
    ('i2', '0xb', 'n', 'publish', 'c7', 'public', NULL, 9);
INSERT INTO events (chain_id, block_hash, log_index, block_number, post_id, author, spelled_cid,
    cid, status, file_id, seen_at)
    VALUES (1, '0x1', 0, 1, '1', '0xa', 'c3', 'c3', 'onchain', 'f3', 1)
"""
"""Sample data of the first release: versions in every state, garbage, and unfinished writes."""


@pytest.fixture
async def address(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """The address of a separate database, so that additions do not affect other tests."""
    if kind == "sqlite":
        return f"{SQLITE}{tmp_path / 'catalog.db'}"
    server: Server = request.getfixturevalue("postgresql")
    await server.execute("DROP DATABASE IF EXISTS upgraded WITH (FORCE)")
    return await server.create_database("upgraded")


async def bring_forward(address: str) -> None:
    """Migrate the database as the next release does at startup."""
    if address.startswith(SQLITE):
        _bring_file_forward(address.removeprefix(SQLITE))
        return
    known = known_migrations("postgresql")
    added = Migration(known[-1].number + 1, "next", NEXT)
    connection = await asyncpg.connect(address)
    try:
        await postgresql_schema.migrate(connection, (*known, added))
    finally:
        await connection.close()


def _bring_file_forward(path: str) -> None:
    # STRICT tables have no BIGINT.
    added = Migration(known_migrations()[-1].number + 1, "next", NEXT.replace("BIGINT", "INTEGER"))
    with closing(sqlite3.connect(path, isolation_level=None, timeout=5)) as connection:
        schema.migrate(connection, (*known_migrations(), added))


async def fill_first_schema(address: str) -> None:
    """Create a catalog with the first schema."""
    if address.startswith(SQLITE):
        path = address.removeprefix(SQLITE)
        with closing(sqlite3.connect(path, isolation_level=None)) as file:
            schema.migrate(file, known_migrations()[:1])
            file.execute("UPDATE counters SET value = 9 WHERE name = 'position'")
            file.executescript(FIRST_RELEASE)
        return
    connection = await asyncpg.connect(address)
    try:
        await postgresql_schema.migrate(connection, known_migrations("postgresql")[:1])
        await connection.execute("SELECT setval('positions', 9)")
        await connection.execute(FIRST_RELEASE)
    finally:
        await connection.close()


async def read_usage(tx: Transaction) -> tuple[list[tuple[object, ...]], list[Row]]:
    used = [await tx.fetchall(USAGE, owner=owner) for owner in ("0xa", "0xb")]
    return [tuple(row) for (row,) in used], await tx.fetchall(COMPARE_USAGE)


async def test_a_migration_counts_the_usage_of_each_signer(address: str) -> None:
    await fill_first_schema(address)
    stores = open_any(address)
    try:
        assert await stores.database.read(read_usage) == ([(120, 2), (54_000, 1)], [])
        write = Write(Address("0xa"), Action.PUBLISH, "n", START)
        intent = Intent("i3", write, Cid("p"), 7, Network.PUBLIC, START)
        with pytest.raises(Refusal):
            await stores.drafts.begin_write(intent, Quota(bytes=126))
        await stores.drafts.begin_write(intent, Quota(bytes=127))
        assert await stores.drafts.prepare_draft(write, intent, Cid("c2"), ["ink"])
        assert await stores.database.read(read_usage) == ([(127, 2), (54_000, 1)], [])
    finally:
        await stores.close()


async def test_a_post_older_than_the_migration_keeps_its_position_when_unpublished(
    address: str,
) -> None:
    await fill_first_schema(address)
    stores = open_any(address)
    try:
        lost = (LogPosition(1, "0x1", 1, 0, None),)
        await stores.events.advance(1, Advance(lost=lost), START)
        file = await stores.files.file_by_cid(Cid("c3"))
        assert file is not None
        assert (file.state, file.position) == (State.PENDING, 9)
        assert await stores.database.read(read_usage) == ([(123, 3), (54_000, 1)], [])
    finally:
        await stores.close()


async def live_a_little(world: World) -> None:
    """Run every operation of authors and readers."""
    draft = await world.draft()
    updated = await world.update(draft)
    assert updated is not None
    assert await world.prepare(updated, "common", "rare")
    gone = await world.draft(world.bob)
    assert await world.delete(gone)
    post = await world.post("common", "rare", owner=world.bob)
    assert post.publication is not None
    assert await world.stores.files.file_by_post_id(post.publication.post_id) == post
    for which in (PublicList(), PublicList(("common",)), PublicList(("common", "rare"))):
        assert (await world.stores.files.list_files(which, None, 3))[0].state is State.ONCHAIN
    assert await world.stores.files.list_files(OwnDrafts(world.alice), None, 3)
    await world.stores.writing_sessions.check_nonce(world.alice, "never used")
    await world.condemn(grace_hours=0)


async def test_a_running_process_of_the_previous_release_survives_a_migration(address: str) -> None:
    old = open_any(address)
    world = World(old)
    try:
        for _ in range(2):
            await live_a_little(world)
        for number in range(ROUNDS):
            living = asyncio.create_task(live_a_little(world))
            if number == ROUNDS // 2:
                await bring_forward(address)
            await living
        drafts = await world.pages(OwnDrafts(world.alice))
        posts = await world.pages(PublicList())
        assert (len(drafts), len(posts)) == (2 + ROUNDS, 2 + ROUNDS)
    finally:
        await old.close()


async def test_a_process_of_the_previous_release_does_not_start_after_a_migration(
    address: str,
) -> None:
    await open_any(address).close()
    await bring_forward(address)
    with pytest.raises(NewerSchema):
        open_any(address)


async def test_a_catalog_that_predates_the_index_keeps_every_row(address: str) -> None:
    await fill_schema(address, 5)
    before = await read_all(address)
    assert before["files"]
    await open_any(address).close()
    after = await read_all(address)
    # The table `installation` is not compared, because the first start sets its id.
    assert_kept(before, after)
    assert after.keys() - before.keys() >= {"posts", "holdings", "private_feeds"}


async def test_a_catalog_that_predates_ended_sessions_keeps_every_row(
    address: str,
) -> None:
    await fill_schema(address, 6)
    before = await read_all(address)
    await open_any(address).close()
    after = await read_all(address)
    assert_kept(before, after)
    added = after.keys() - before.keys()
    assert {name: after[name] for name in added} == {
        "disputed_blocks": [],
        "ended_sessions": [],
        "profiles": [],
        "text_facts": [],
        "measure_log": [],
        "reports": [],
        "revisions": [],
        "writing_sessions": [],
    }


@pytest.mark.parametrize(
    ("block_hash", "hashtags"), [("0x1", ("zen", "art")), ("0x3", ())], ids=["same", "other"]
)
async def test_a_migration_adds_the_hashtags_on_the_chain_to_posts_without_hashtags(
    address: str, block_hash: str, hashtags: tuple[str, ...]
) -> None:
    await fill_schema(address, 11)
    await run_script(address, INDEXED_POST.replace("{block_hash}", block_hash))
    stores = open_any(address)
    post = await stores.files.file_by_cid(Cid("c3"))
    assert post is not None
    assert post.hashtags == hashtags
    for tag in ("zen", "art"):
        listed = await stores.files.list_files(PublicList((tag,)), None, 10)
        assert listed == ([post] if hashtags else [])
    assert await stores.records.compare_tags() == []
    await stores.close()


async def run_script(address: str, script: str) -> None:
    """Run a script on a catalog."""
    if address.startswith(SQLITE):
        with closing(sqlite3.connect(address.removeprefix(SQLITE))) as file:
            file.executescript(script.replace("{empty}", "x''"))
        return
    connection = await asyncpg.connect(address)
    await connection.execute(script.replace("{empty}", "''"))
    await connection.close()


def assert_kept(before: Tables, after: Tables) -> None:
    """Check that every row is unchanged, except for values in new columns."""
    for name in before.keys() - {"schema_migrations", "installation", "counters"}:
        width = len(before[name][0]) if before[name] else 0
        assert [row[:width] for row in after[name]] == before[name], name


async def fill_schema(address: str, number: int) -> None:
    """Create a catalog with the first schema and migrate it to a later one."""
    await fill_first_schema(address)
    if address.startswith(SQLITE):
        with closing(sqlite3.connect(address.removeprefix(SQLITE), isolation_level=None)) as file:
            schema.migrate(file, known_migrations()[:number])
        return
    connection = await asyncpg.connect(address)
    try:
        await postgresql_schema.migrate(connection, known_migrations("postgresql")[:number])
    finally:
        await connection.close()


async def read_all(address: str) -> Tables:
    """Return every row of every table."""
    if address.startswith(SQLITE):
        listed = "SELECT name FROM sqlite_schema WHERE type = 'table'"
        with closing(sqlite3.connect(address.removeprefix(SQLITE))) as file:
            names = [name for (name,) in file.execute(listed)]
            return {name: sorted(file.execute(f"SELECT * FROM {name}"), key=repr) for name in names}
    listed = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
    connection = await asyncpg.connect(address)
    try:
        found: Tables = {}
        for (name,) in await connection.fetch(listed):
            rows = await connection.fetch(f"SELECT * FROM {name}")
            found[name] = sorted(map(tuple, rows), key=repr)
        return found
    finally:
        await connection.close()
