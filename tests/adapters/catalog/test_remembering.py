"""What a SQLite catalog remembers is never older than the last commit of anybody."""

from pathlib import Path

import pytest
from tests.adapters.catalog.conftest import Opener, World

from imprint.adapters.catalog import remembering
from imprint.adapters.catalog.remembering import Memory
from imprint.adapters.catalog.sqlite import SqliteCatalog
from imprint.adapters.sqlite_connections import connect_reader, connect_writer
from imprint.domain.lists import OwnDrafts


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


def test_an_answer_is_remembered_until_somebody_commits(path: Path) -> None:
    memory = Memory(connect_reader(path))
    memory.keep(memory.refresh(), "key", "answer")
    memory.refresh()
    assert memory.recall("key", None) == "answer"
    commit(path)
    memory.refresh()
    assert memory.recall("key", None) is None


def test_an_answer_that_was_overtaken_is_not_remembered(path: Path) -> None:
    memory = Memory(connect_reader(path))
    asked = memory.refresh()
    commit(path)
    memory.refresh()
    memory.keep(asked, "key", "read before the commit")
    assert memory.recall("key", None) is None


def test_the_memory_does_not_grow(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembering, "MOST", 10)
    memory = Memory(connect_reader(path))
    version = memory.refresh()
    for number in range(100):
        memory.keep(version, number, number)
    assert sum(memory.recall(number, None) is not None for number in range(100)) <= 10
    assert memory.recall(99, None) == 99


async def test_a_page_is_read_once_between_commits(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(world.catalog, SqliteCatalog)
    which = OwnDrafts(world.alice)
    assert await world.catalog.list_files(which, None, 5) == []
    with monkeypatch.context() as patched:
        patched.setattr(world.catalog, "_read", None)
        assert await world.catalog.list_files(which, None, 5) == []
    made = await world.draft()
    assert await world.catalog.list_files(which, None, 5) == [made]


async def test_the_commit_of_another_process_is_seen_at_once(
    world: World, open_another: Opener
) -> None:
    other = open_another()
    made = await world.draft()
    assert await other.file_by_cid(made.cid) == made
    again = await world.draft()
    assert await other.file_by_cid(again.cid) == again
    assert await other.list_files(OwnDrafts(world.alice), None, 5) == [again, made]
