"""A world shared by a module, for tests that use new accounts and do not affect each other."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.world import World, open_world

EVERY_DATABASE = [
    pytest.mark.usefixtures("records"),
    pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True, scope="module"),
]
"""Marks for a module whose tests run with every database."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def town(tmp_path_factory: pytest.TempPathFactory, records: None) -> AsyncIterator[World]:
    """A shared world. Each test uses its own wallets and files."""
    async with open_world(tmp_path_factory.mktemp("town")) as opened:
        yield opened
