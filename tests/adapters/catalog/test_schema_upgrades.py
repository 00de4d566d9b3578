"""A process of one release keeps working after one of the next release migrated the schema."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import asyncpg
import pytest
from tests.adapters.catalog.conftest import World
from tests.adapters.catalog.databases import SQLITE, open_any
from tests.postgresql import Server

from imprint.adapters.catalog import postgresql_schema, schema
from imprint.adapters.catalog.schema import Migration, NewerSchema, known_migrations
from imprint.domain.files import State
from imprint.domain.lists import OwnDrafts, PublicList

NEXT = """
ALTER TABLE files ADD COLUMN language TEXT;
ALTER TABLE file_groups ADD COLUMN series TEXT;
ALTER TABLE events ADD COLUMN gas BIGINT;
ALTER TABLE nonces ADD COLUMN client TEXT;
CREATE TABLE series (id TEXT PRIMARY KEY, title TEXT NOT NULL);
CREATE INDEX files_by_language ON files (language, position);
"""
"""What a release may do to a schema that the one before still uses: add."""

ROUNDS = 12


@pytest.fixture
async def address(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A database of its own: what is added to it must not be there for other tests."""
    if kind == "sqlite":
        return f"{SQLITE}{tmp_path / 'catalog.db'}"
    server: Server = request.getfixturevalue("postgresql")
    await server.execute("DROP DATABASE IF EXISTS upgraded WITH (FORCE)")
    return await server.create_database("upgraded")


async def bring_forward(address: str) -> None:
    """Do what a process of the next release does when it starts."""
    if address.startswith(SQLITE):
        _bring_file_forward(address.removeprefix(SQLITE))
        return
    known = known_migrations("postgresql")
    added = Migration(len(known) + 1, "next", NEXT)
    connection = await asyncpg.connect(address)
    try:
        await postgresql_schema.migrate(connection, (*known, added))
    finally:
        await connection.close()


def _bring_file_forward(path: str) -> None:
    # STRICT tables know no BIGINT.
    added = Migration(len(known_migrations()) + 1, "next", NEXT.replace("BIGINT", "INTEGER"))
    with closing(sqlite3.connect(path, isolation_level=None, timeout=5)) as connection:
        schema.migrate(connection, (*known_migrations(), added))


async def live_a_little(world: World) -> None:
    """Everything that authors and readers do."""
    draft = await world.draft()
    updated = await world.update(draft)
    assert updated is not None
    assert await world.prepare(updated, "common", "rare")
    gone = await world.draft(world.bob)
    assert await world.delete(gone)
    post = await world.post("common", "rare", owner=world.bob)
    assert post.publication is not None
    assert await world.catalog.file_by_post_id(post.publication.post_id) == post
    for which in (PublicList(), PublicList(("common",)), PublicList(("common", "rare"))):
        assert (await world.catalog.list_files(which, None, 3))[0].state is State.ONCHAIN
    assert await world.catalog.list_files(OwnDrafts(world.alice), None, 3)
    await world.catalog.check_nonce(world.alice, "never used")
    await world.condemn(grace_hours=0)


async def test_a_process_of_the_release_before_goes_on(address: str) -> None:
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


async def test_a_process_of_the_release_before_does_not_start_any_more(address: str) -> None:
    await open_any(address).close()
    await bring_forward(address)
    with pytest.raises(NewerSchema):
        open_any(address)
