"""Fixtures for tests of the whole service."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.postgresql import Server
from tests.world import World, open_world


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A server for all the tests of this process; each makes or cleans a database for itself."""
    server = Server()
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
