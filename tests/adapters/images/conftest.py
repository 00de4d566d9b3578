"""A recoder, whose processes are started once for a file of tests."""

import asyncio
from collections.abc import Iterator

import pytest

from imprint.adapters.images.recoder import SandboxedRecoder


@pytest.fixture(scope="module")
def recoder() -> Iterator[SandboxedRecoder]:
    opened = SandboxedRecoder()
    yield opened
    asyncio.run(opened.close())
