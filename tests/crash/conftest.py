"""Fixtures: one fork server per module, and both databases for tests using `records`."""

from collections.abc import Iterator

import pytest
from tests.crash.fork_server import ForkServer


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    opened = ForkServer()
    yield opened
    opened.close()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that uses `records` with both databases."""
    if "records" in metafunc.fixturenames:
        metafunc.parametrize("records", ["sqlite", "postgresql"], indirect=True, scope="module")
