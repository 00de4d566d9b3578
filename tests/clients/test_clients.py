"""Realistic clients, with the libraries that wallets use, against a real process."""

import asyncio
import os
import re
import subprocess
import sys

import pytest
from tests.client.test_payments import make_post
from tests.clients.suites import (
    COMPATIBILITY_SUITE,
    HERE,
    INDEX_SUITES,
    SCENARIO_SUITE,
    SESSION_SUITE,
    SUITES,
)
from tests.processes import Service

from imprint.client import Imprint

EXAMPLES = HERE.parents[1] / "examples"


def run(service: Service, *command: str, **environ: str) -> str:
    """Run a command and return its output. If it fails, fail with the whole output."""
    environ = {**os.environ, "SERVICE_URL": service.url, **environ}
    done = subprocess.run(
        command,
        cwd=HERE,
        env=environ,
        timeout=100,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        pytest.fail(f"{done.stdout}\n\nThe service said:\n{service.tail()}", pytrace=False)
    return done.stdout


@pytest.mark.parametrize("suite", SUITES)
def test_wallet_libraries_work_with_the_service(service: Service, suite: str) -> None:
    said = run(service, "node", "--test", "--test-reporter=spec", suite)
    assert "ℹ fail 0" in said
    assert "ℹ pass 0" not in said


def test_the_client_passes_the_common_client_scenario(scenario_service: Service) -> None:
    said = run(scenario_service, "node", "--test", "--test-reporter=spec", SCENARIO_SUITE)
    assert "ℹ fail 0" in said
    assert "ℹ pass 0" not in said


def test_the_client_signs_like_the_legacy_front_end(compatible_service: Service) -> None:
    said = run(compatible_service, "node", "--test", "--test-reporter=spec", COMPATIBILITY_SUITE)
    assert "ℹ fail 0" in said
    assert "ℹ pass 2" in said


@pytest.mark.parametrize("suite", INDEX_SUITES)
def test_wallet_libraries_work_with_the_index(indexing_service: Service, suite: str) -> None:
    said = run(indexing_service, "node", "--test", "--test-reporter=spec", suite)
    assert "ℹ fail 0" in said
    assert "ℹ pass 0" not in said


@pytest.mark.parametrize("records", ["sqlite", "postgresql"], indirect=True)
def test_a_browser_writes_with_a_session_on_two_replicas(
    replicas: tuple[Service, Service],
) -> None:
    first, second = replicas
    command = ("node", "--test", "--test-reporter=spec", SESSION_SUITE)
    said = run(first, *command, SECOND_URL=second.url)
    assert "ℹ fail 0" in said
    assert "ℹ pass 3" in said


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("node", str(EXAMPLES / "viem" / "walk.mjs")), id="viem"),
        pytest.param((str(EXAMPLES / "walk.sh"),), id="curl"),
    ],
)
def test_an_example_runs_from_creating_a_draft_to_reading_the_post(
    service: Service, command: tuple[str, ...]
) -> None:
    said = run(service, *command, service.url)
    assert "Bob may not read it yet: not_entitled" in said
    assert said.endswith("Bob bought a token and reads: A first line, and a better second.\n")


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("node", str(EXAMPLES / "viem" / "agent.mjs")), id="javascript"),
        pytest.param((sys.executable, str(EXAMPLES / "agent.py")), id="python"),
    ],
)
def test_an_agent_reads_paid_posts_up_to_its_spending_limit(
    service: Service, command: tuple[str, ...]
) -> None:
    async def make_posts() -> tuple[str, str]:
        async with Imprint.connect(service.url) as imprint:
            return await make_post(imprint, price=10**16), await make_post(imprint, price=10**16)

    first, second = asyncio.run(make_posts())
    lines = run(service, *command, service.url, first, second, first).splitlines()
    assert re.fullmatch(rf"Post {first} cost 0\.01\d+: Words for sale\.", lines[0])
    # The fee of the first purchase makes the second one too expensive.
    assert lines[1] == f"Post {second} costs 0.01, which is too much."
    assert lines[2] == f"Post {first} cost 0: Words for sale."
    assert re.fullmatch(r"0\.00\d+ of 0\.02 is left\.", lines[3])


def test_the_service_logged_no_server_error(service: Service) -> None:
    log = service.process.log.read_text(encoding="utf-8")
    assert "status=200" in log
    assert "status=5" not in log
    assert "Traceback" not in log
