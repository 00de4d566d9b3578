"""One nursery for all tests of a module."""

from collections.abc import Iterator

import pytest
from tests.crash.nursery import Nursery


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    opened = Nursery()
    yield opened
    opened.close()
