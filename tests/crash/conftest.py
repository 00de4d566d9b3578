"""One fork server for all tests of a module, and both databases for those that use `records`."""

from collections.abc import Iterator

import pytest
from tests.crash.fork_server import ForkServer


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    opened = ForkServer()
    yield opened
    opened.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that uses `records` is run with both databases."""
    if "records" in metafunc.fixturenames:
        metafunc.parametrize("records", ["sqlite", "postgresql"], indirect=True, scope="module")
