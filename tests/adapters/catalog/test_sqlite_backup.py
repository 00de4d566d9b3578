"""Copies of a SQLite catalog."""

import asyncio

import pytest

from imprint.adapters.catalog.sqlite import open_catalog
from imprint.domain.lists import PublicList


@pytest.fixture
def kind():
    return "sqlite"


async def test_a_backup_is_a_whole_catalog(world, tmp_path):
    post = await world.post("a")
    writing = asyncio.gather(*(world.draft() for _ in range(30)))
    await world.catalog.backup_to(tmp_path / "backup.db")
    await writing
    copy = open_catalog(tmp_path / "backup.db")
    assert await copy.list_files(PublicList(("a",)), None, 9) == [post]
    assert await copy.spend_login_nonce(world.alice, "n", world.now)
    await copy.close()


async def test_a_backup_replaces_nothing(world, tmp_path):
    target = tmp_path / "backup.db"
    target.write_text("precious")
    with pytest.raises(FileExistsError):
        await world.catalog.backup_to(target)
    assert target.read_text() == "precious"
