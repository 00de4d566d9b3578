"""The service that the clients use: `imprint dev`, which hears of posts by deliveries alone."""

from collections.abc import Iterator

import pytest
from tests.processes import Service, free_port, running


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    given = {"DEV_RPC_PORT": str(free_port()), "CHAIN_FOLLOW_SECONDS": "0"}
    with running(Service(tmp_path_factory.mktemp("dev"), given, "dev")) as opened:
        yield opened


@pytest.fixture(scope="session")
def indexing_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that reads the chain itself, so that it has an index."""
    given = {"DEV_RPC_PORT": str(free_port()), "CHAIN_FOLLOW_SECONDS": "1"}
    with running(Service(tmp_path_factory.mktemp("indexing"), given, "dev")) as opened:
        yield opened
