"""The example client with a real `imprint dev` that is stopped, killed and restarted."""

import asyncio
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.processes import Service, free_port, running

from imprint.client import Content, Imprint, KeyWallet

EXAMPLE = Path(__file__).parents[2] / "examples" / "publish_a_post.py"
BOB = KeyWallet("0x5de4111afa1a4b94908f83103eb1f1706367c2e68ca870fc3fb9a804cdab365a")


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


def _read_as_bob(service: Service) -> Content:
    """Return the content that Bob, the buyer of the first post, can currently read."""

    async def read() -> Content:
        async with Imprint.connect(service.url) as imprint:
            await imprint.login(BOB)
            return await imprint.read_post("1")

    return asyncio.run(read())


async def test_the_facts_of_a_development_service_name_its_chain(service: Service) -> None:
    async with Imprint.connect(service.url) as imprint:
        chain_id = int(await imprint.node().request("eth_chainId"), 16)
        assert chain_id == imprint.facts.chain.id == 31337
        assert service.url.removeprefix("http://") in imprint.facts.login.domains


def test_the_post_of_the_example_survives_restarts_of_the_service(service: Service) -> None:
    lines = _run_example(service)
    assert "Bob may not read it yet: not_entitled" in lines
    assert lines[-1] == "Bob bought a token and reads: A first line, and a better second."
    before = _read_as_bob(service)
    assert before.content.endswith("A first line, and a better second.")
    assert service.stop() == 0
    service.start()
    assert _read_as_bob(service) == before
    service.kill()
    service.start()
    assert _read_as_bob(service) == before
    assert service.process.stop(how=signal.SIGINT) == 0
    assert "Traceback" not in service.tail()
