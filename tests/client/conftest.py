"""Fixtures: a running `imprint dev`, and a client that is connected to it."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from tests.postgresql import records_of
from tests.processes import Service, free_port, running

from imprint.client import Imprint


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory, records: None) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("dev")
    database = asyncio.run(records_of(folder))
    given = {
        "DEV_RPC_PORT": str(free_port()),
        "CHAIN_FOLLOW_SECONDS": "1",
        **{name.removeprefix("IMPRINT_"): text for name, text in database.items()},
    }
    with running(Service(folder, given, "dev")) as opened:
        yield opened


@pytest.fixture
async def imprint(service: Service) -> AsyncIterator[Imprint]:
    async with Imprint.connect(service.url) as opened:
        yield opened
