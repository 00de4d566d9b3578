"""Fixtures: the content stores under test, each with a workbench."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path

import pytest
from tests.adapters.content.workbenches import (
    FIRST,
    OLDEST,
    BucketWorkbench,
    EmbeddedWorkbench,
    KuboFakeWorkbench,
    PinataWorkbench,
    SharedWorkbench,
    Workbench,
    open_bucket,
    open_embedded,
    open_kubo_fake,
    open_pinata,
    open_pinata_with_other_cids,
    open_public_pinata,
    open_shared_pinata,
)

WORKBENCHES: dict[str, Callable[[Path], AbstractAsyncContextManager[Workbench]]] = {
    "embedded": open_embedded,
    "bucket": open_bucket,
    "kubo": open_kubo_fake,
    "kubo of an installation": partial(open_kubo_fake, identity=FIRST),
    "kubo of an old installation": partial(open_kubo_fake, identity=OLDEST),
    "pinata": open_pinata,
    "pinata of an installation": partial(open_pinata, identity=FIRST),
    "pinata of an old installation": partial(open_pinata, identity=OLDEST),
    "pinata with other cids": open_pinata_with_other_cids,
    "public pinata": open_public_pinata,
    "public pinata with shared records": open_shared_pinata,
    "shared records of an installation": partial(open_shared_pinata, identity=FIRST),
}


@pytest.fixture(params=WORKBENCHES)
async def bench(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Workbench]:
    async with WORKBENCHES[request.param](tmp_path) as workbench:
        yield workbench


SHARED: dict[str, Callable[[Path], AbstractAsyncContextManager[SharedWorkbench]]] = {
    "kubo": open_kubo_fake,
    "pinata": open_pinata,
    "pinata with other cids": open_pinata_with_other_cids,
    "public pinata with shared records": open_shared_pinata,
}


@pytest.fixture(params=SHARED)
async def shared(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[SharedWorkbench]:
    """A store that any number of installations may share."""
    async with SHARED[request.param](tmp_path) as workbench:
        yield workbench


@pytest.fixture
async def embedded(tmp_path: Path) -> AsyncIterator[EmbeddedWorkbench]:
    async with open_embedded(tmp_path) as workbench:
        yield workbench


@pytest.fixture
async def bucket(tmp_path: Path) -> AsyncIterator[BucketWorkbench]:
    async with open_bucket(tmp_path) as workbench:
        yield workbench


@pytest.fixture
async def kubo(tmp_path: Path) -> AsyncIterator[KuboFakeWorkbench]:
    async with open_kubo_fake(tmp_path) as workbench:
        yield workbench


@pytest.fixture
async def pinata(tmp_path: Path) -> AsyncIterator[PinataWorkbench]:
    async with open_pinata(tmp_path) as workbench:
        yield workbench
