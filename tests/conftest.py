"""Fixtures for tests of the whole service."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.world import World, open_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as opened:
        yield opened
