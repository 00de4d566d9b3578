"""One fork server for all tests of a module."""

from collections.abc import Iterator

import pytest
from tests.crash.fork_server import ForkServer


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    opened = ForkServer()
    yield opened
    opened.close()
