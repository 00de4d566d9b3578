"""The example client against a real `imprint dev`, which is stopped, cut off and started again."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from eth_account import Account
from tests.processes import Service, free_port, running
from tests.world import MNEMONIC, MovableClock, Wallet

EXAMPLE = Path(__file__).parents[2] / "examples" / "publish_a_post.py"
BOB = "m/44'/60'/0'/0/2"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder = tmp_path_factory.mktemp("dev")
    with running(Service(folder, {"DEV_RPC_PORT": str(free_port())}, "dev")) as started:
        yield started


def _run_example(service: Service) -> list[str]:
    command = [sys.executable, str(EXAMPLE), service.url]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr + service.tail()
    return done.stdout.splitlines()


def _read_as_bob(service: Service) -> Any:
    """What Bob, who bought the first post, reads of it now."""
    bob = Wallet(Account.from_mnemonic(MNEMONIC, account_path=BOB), MovableClock())
    message = bob.login_message(domain=service.url.removeprefix("http://"))
    session = httpx2.post(
        f"{service.url}/auth/login", json=bob.sign_login(message), timeout=60
    ).json()["token"]
    return httpx2.get(
        f"{service.url}/fileByPostId",
        params={"user": bob.address, "postId": "1"},
        headers={"Authorization": f"Bearer {session}"},
        timeout=60,
    )


def test_the_example_walks_from_a_draft_to_a_buyer(service: Service) -> None:
    lines = _run_example(service)
    assert "Bob may not read it yet: not_entitled" in lines
    assert lines[-1] == "Bob bought a token and reads: A first line, and a better second."


def test_the_facts_of_a_development_service_name_its_chain(service: Service) -> None:
    facts = httpx2.get(f"{service.url}/.well-known/imprint.json", timeout=60).json()
    asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []}
    response = httpx2.post(facts["chain"]["rpc_url"], json=asked, timeout=60).json()
    assert int(response["result"], 16) == facts["chain"]["id"] == 31337
    assert service.url.removeprefix("http://") in facts["login"]["domains"]


def test_a_post_outlives_the_service_that_made_it(service: Service) -> None:
    _run_example(service)
    before = _read_as_bob(service).json()
    assert before["content"].endswith("A first line, and a better second.")
    assert service.stop() == 0
    service.start()
    assert _read_as_bob(service).json() == before
    service.kill()
    service.start()
    assert _read_as_bob(service).json() == before
    assert service.process.stop(how=signal.SIGINT) == 0
    assert "Traceback" not in service.tail()
