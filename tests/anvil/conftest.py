"""Fixtures: a real node, the marketplace from `imprint contract`, and `imprint serve`."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from tests.anvil.client import LOGIN_DOMAIN, Client
from tests.anvil.node import CHAIN_ID, Anvil, open_account, running
from tests.canaries import CANARIES
from tests.processes import Service

MakeService = Callable[..., Service]


@pytest.fixture(scope="session")
def artifact() -> dict[str, Any]:
    """The marketplace artifact, as a deployer gets it."""
    command = [sys.executable, "-m", "imprint", "contract"]
    printed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return dict(json.loads(printed))


@pytest.fixture(scope="session")
def alice() -> LocalAccount:
    return open_account(1)


@pytest.fixture(scope="session")
def bob() -> LocalAccount:
    return open_account(2)


@pytest.fixture(scope="session")
def carol() -> LocalAccount:
    return open_account(3)


@pytest.fixture
def anvil(tmp_path: Path, artifact: dict[str, Any]) -> Iterator[Anvil]:
    """A new chain with the marketplace deployed."""
    with running(Anvil(tmp_path), artifact) as node:
        yield node


@pytest.fixture
def make_service(tmp_path: Path, anvil: Anvil) -> Iterator[MakeService]:
    """Create services for the node without starting them. They are stopped after the test.

    The services share a data folder and secrets. Arguments are settings, named without their
    prefix. An empty value counts as unset.
    """
    given = {
        "CHAIN_RPC_URL": anvil.url,
        "CHAIN_ID": str(CHAIN_ID),
        "MARKETPLACE_ADDRESS": anvil.marketplace,
        "CHAIN_FOLLOW_SECONDS": "0",
        "LOGIN_DOMAINS": LOGIN_DOMAIN,
        "JWT_SECRET": CANARIES["JWT_SECRET"],
        "WEBHOOK_A_SECRET": CANARIES["WEBHOOK_A_SECRET"],
        "WEBHOOK_B_SECRET": CANARIES["WEBHOOK_B_SECRET"],
    }
    with ExitStack() as made:

        def make(**more: str) -> Service:
            service = Service(tmp_path, given | more)
            made.callback(service.kill)
            return service

        yield make


@pytest.fixture
def service(make_service: MakeService) -> Service:
    """A service that learns of posts only through deliveries."""
    opened = make_service()
    opened.start()
    return opened


@pytest.fixture
def open_client() -> Iterator[Callable[[Service], Client]]:
    """Open clients of services. They are closed after the test."""
    with ExitStack() as opened:

        def open_one(service: Service) -> Client:
            given = service.given
            client = Client(service.url, given["WEBHOOK_A_SECRET"], given["WEBHOOK_B_SECRET"])
            opened.callback(client.http.close)
            return client

        yield open_one


@pytest.fixture
def client(service: Service, open_client: Callable[[Service], Client]) -> Client:
    return open_client(service)
