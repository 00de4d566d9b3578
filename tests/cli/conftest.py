"""Fixtures: the installations shared by the command tests."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.cli.installations import fill_folder
from tests.world import World, open_world


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data folder of an installation with three files, used as a template."""
    folder = tmp_path_factory.mktemp("filled")
    asyncio.run(fill_folder(folder))
    return folder


@pytest.fixture
def here(filled: Path, tmp_path: Path) -> Path:
    """The data folder of an installation with three files."""
    return shutil.copytree(filled, tmp_path / "here")


@pytest.fixture
async def world(tmp_path) -> AsyncIterator[World]:
    """A running service with its chain."""
    async with open_world(tmp_path) as opened:
        yield opened
