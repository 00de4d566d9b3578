"""A test that uses `records` is run with both databases; the others are about SQLite or neither."""

from collections.abc import Iterator

import pytest
from tests.postgresql import Server, keeping_records_on


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "records" in metafunc.fixturenames:
        metafunc.parametrize("records", ["sqlite", "postgresql"], indirect=True, scope="module")


def pytest_itemcollected(item: pytest.Item) -> None:
    """Let all cases of this suite rotate."""
    item.add_marker("rotates")


@pytest.fixture
def own_server() -> Iterator[Server]:
    """A PostgreSQL server that a test may kill."""
    server = Server()
    server.make()
    server.start()
    with keeping_records_on(server):
        yield server
    server.stop()
