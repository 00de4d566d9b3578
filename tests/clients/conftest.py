"""Services for the clients: `imprint dev`, which learns of posts only through deliveries."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from tests.canaries import CANARIES
from tests.postgresql import records_of
from tests.processes import PLAIN, Service, free_port, running

from imprint.settings import DEVELOPMENT


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    given = {"DEV_RPC_PORT": str(free_port()), "CHAIN_FOLLOW_SECONDS": "0"}
    with running(Service(tmp_path_factory.mktemp("dev"), given, "dev")) as opened:
        yield opened


@pytest.fixture(scope="session")
def indexing_service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service that follows the chain itself and thus has an index."""
    given = {"DEV_RPC_PORT": str(free_port()), "CHAIN_FOLLOW_SECONDS": "1"}
    with running(Service(tmp_path_factory.mktemp("indexing"), given, "dev")) as opened:
        yield opened


@pytest.fixture
def scenario_service(tmp_path: Path) -> Iterator[Service]:
    """A service that follows the chain and has no posts yet, because the scenario counts posts."""
    given = {"DEV_RPC_PORT": str(free_port()), "CHAIN_FOLLOW_SECONDS": "1"}
    with running(Service(tmp_path, given, "dev")) as opened:
        yield opened


@pytest.fixture
def compatible_service(tmp_path: Path) -> Iterator[Service]:
    """A service that is compatible with the legacy front end."""
    given = {
        "DEV_RPC_PORT": str(free_port()),
        "CHAIN_FOLLOW_SECONDS": "0",
        "COMPATIBILITY": "inkdao",
    }
    with running(Service(tmp_path, given, "dev")) as opened:
        yield opened


@pytest.fixture
def replicas(tmp_path: Path, records: None) -> Iterator[tuple[Service, Service]]:
    """Two services that share records and documents. The first one runs the chain."""
    database = asyncio.run(records_of(tmp_path))
    shared = {
        "CHAIN_FOLLOW_SECONDS": "0",
        "JWT_SECRET": CANARIES["JWT_SECRET"],
        "PUBLIC_URL": f"http://127.0.0.1:{(port := free_port())}",
        **{name.removeprefix("IMPRINT_"): text for name, text in database.items()},
    }
    rpc_port = str(free_port())
    first = Service(tmp_path, {**shared, "DEV_RPC_PORT": rpc_port}, "dev", port)
    with running(first):
        facts = httpx2.get(f"{first.url}/.well-known/imprint.json", verify=PLAIN).json()
        chain = {
            "CHAIN_ID": str(facts["chain"]["id"]),
            "CHAIN_RPC_URL": facts["chain"]["rpc_url"],
            "MARKETPLACE_ADDRESS": facts["chain"]["marketplace"],
        }
        usual = {name.removeprefix("IMPRINT_"): text for name, text in DEVELOPMENT.items()}
        unused = {"WEBHOOK_A_SECRET": "", "WEBHOOK_B_SECRET": ""}
        second = Service(tmp_path, {**usual, **shared, **chain, **unused})
        with running(second):
            yield first, second
