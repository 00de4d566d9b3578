"""A world for a whole module, for tests that bring strangers and leave nothing in their way."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from tests.world import World, open_world


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def town(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A world that tests share: everybody in it uses wallets and files of their own."""
    async with open_world(tmp_path_factory.mktemp("town")) as opened:
        yield opened
