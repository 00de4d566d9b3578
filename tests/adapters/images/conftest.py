"""Fixtures: a recoder shared by the tests of a module."""

import asyncio
from collections.abc import Iterator

import pytest

from imprint.adapters.images.sandbox import SandboxedRecoder


@pytest.fixture(scope="module")
def recoder() -> Iterator[SandboxedRecoder]:
    opened = SandboxedRecoder()
    yield opened
    asyncio.run(opened.close())
