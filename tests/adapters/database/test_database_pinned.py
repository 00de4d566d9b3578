"""A database pinned to one snapshot, tested on SQLite and PostgreSQL."""

import asyncio

import pytest
from tests.adapters.stores.conftest import World

from imprint.adapters.database.database import PinnedDatabase
from imprint.bootstrap.stores import open_stores
from imprint.domain.errors import Unavailable


async def test_a_pinned_database_does_not_see_later_writes(world: World) -> None:
    early = await world.draft()
    database = world.stores.database
    async with database.snapshot() as snapshot:
        pinned = open_stores(PinnedDatabase(database, snapshot))
        assert await pinned.files.file_by_cid(early.cid) == early
        late = await world.draft()
        assert await pinned.files.file_by_cid(late.cid) is None
        assert await world.stores.files.file_by_cid(late.cid) == late


async def test_concurrent_reads_of_a_pinned_database_take_turns(world: World) -> None:
    file = await world.draft()
    database = world.stores.database
    async with database.snapshot() as snapshot:
        files = open_stores(PinnedDatabase(database, snapshot)).files
        found = await asyncio.gather(*(files.file_by_cid(file.cid) for _ in range(20)))
        assert found == [file] * 20


async def test_a_pinned_database_refuses_writes(world: World) -> None:
    database = world.stores.database
    async with database.snapshot() as snapshot:
        with pytest.raises(Unavailable):
            await open_stores(PinnedDatabase(database, snapshot)).database.probe()
