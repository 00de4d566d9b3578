"""The installations that the tests of commands share."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.cli.installations import fill_folder
from tests.world import World, open_world


@pytest.fixture
def here(tmp_path) -> Path:
    """The data folder of an installation with three files."""
    folder = tmp_path / "here"
    folder.mkdir()
    asyncio.run(fill_folder(folder))
    return folder


@pytest.fixture
async def world(tmp_path) -> AsyncIterator[World]:
    """A running service with its chain."""
    async with open_world(tmp_path) as opened:
        yield opened
