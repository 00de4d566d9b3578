"""The SQLite query cache is never older than the last commit of any process."""

import asyncio
from pathlib import Path

import pytest
from tests.adapters.stores.conftest import Opener, World

from imprint.adapters.database.sqlite.connections import connect_reader, connect_writer
from imprint.adapters.database.sqlite.database import QueryCache, SqliteDatabase
from imprint.domain.posts.indexed_posts import OwnDrafts


@pytest.fixture
def kind() -> str:
    return "sqlite"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "some.db"
    writer = connect_writer(path)
    writer.execute("CREATE TABLE things (name TEXT)")
    writer.close()
    return path


def commit(path: Path) -> None:
    writer = connect_writer(path)
    writer.execute("INSERT INTO things VALUES ('one more')")
    writer.close()


async def test_a_result_is_cached_until_the_next_commit(path: Path) -> None:
    cache = QueryCache(connect_reader(path))
    cache.keep(cache.refresh(), "key", "result")
    await asyncio.sleep(0)
    cache.refresh()
    assert cache.find("key", None) == "result"
    commit(path)
    await asyncio.sleep(0)
    cache.refresh()
    assert cache.find("key", None) is None


async def test_requests_in_one_turn_share_a_look_at_the_database(path: Path) -> None:
    statements: list[str] = []
    connection = connect_reader(path)
    cache = QueryCache(connection)
    connection.set_trace_callback(statements.append)

    async def look() -> None:
        cache.refresh()

    await asyncio.gather(look(), look(), look())
    assert len(statements) == 1
    await look()
    assert len(statements) == 2


async def test_a_result_older_than_the_latest_commit_is_not_cached(path: Path) -> None:
    cache = QueryCache(connect_reader(path))
    version = cache.refresh()
    commit(path)
    await asyncio.sleep(0)
    cache.refresh()
    cache.keep(version, "key", "read before the commit")
    assert cache.find("key", None) is None


async def test_the_cache_size_is_bounded(path: Path) -> None:
    cache = QueryCache(connect_reader(path), size=10)
    version = cache.refresh()
    for number in range(100):
        cache.keep(version, number, number)
    assert sum(cache.find(number, None) is not None for number in range(100)) <= 10
    assert cache.find(99, None) == 99


async def test_a_page_is_read_once_between_commits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(world.stores.database, SqliteDatabase)
    which = OwnDrafts(world.alice)
    assert await world.stores.files.list_files(which, None, 5) == []
    with monkeypatch.context() as patched:
        patched.setattr(world.stores.database, "read", None)
        assert await world.stores.files.list_files(which, None, 5) == []
    made = await world.draft()
    assert await world.stores.files.list_files(which, None, 5) == [made]


async def test_a_commit_by_another_process_is_seen_immediately(
    world: World, open_another: Opener
) -> None:
    other = open_another()
    made = await world.draft()
    assert await other.files.file_by_cid(made.cid) == made
    again = await world.draft()
    assert await other.files.file_by_cid(again.cid) == again
    assert await other.files.list_files(OwnDrafts(world.alice), None, 5) == [again, made]
