"""Tests that use `records` run with both databases. Other tests use SQLite or no database."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from tests.postgresql import Server, keeping_records_on
from tests.world import World, open_world

ALWAYS = {
    "test_delivery_commands",
    "test_dev",
    "test_example",
    "test_killed_database",
    "test_serve",
    "test_supervisor",
    "test_supervisor_bounds",
    "test_workers",
}
"""Modules that always run, because they cover how processes start, serve requests and end."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "records" in metafunc.fixturenames:
        metafunc.parametrize("records", ["sqlite", "postgresql"], indirect=True, scope="module")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark the cases of this suite as rotating, except those in `ALWAYS`."""
    if item.path.stem not in ALWAYS:
        item.add_marker("rotates")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def town(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    """A chain with wallets, shared by the tests in a module."""
    async with open_world(tmp_path_factory.mktemp("town")) as opened:
        yield opened


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A PostgreSQL server that a test may kill."""
    server = Server()
    server.make()
    server.start()
    with keeping_records_on(server):
        yield server
    server.stop()
