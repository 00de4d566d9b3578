"""Fixtures for tests of the whole service."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from prometheus_client import REGISTRY
from tests.canaries import WATCH
from tests.postgresql import Server, keeping_records_on
from tests.shares import cases_of_other_shares
from tests.world import World, open_world

# No test depends on the speed of the machine, and the same code gets the same examples:
# `pytest --hypothesis-profile explore` draws others.
hypothesis.settings.register_profile(
    "explore", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.register_profile(
    "repeat", parent=hypothesis.settings.get_profile("explore"), derandomize=True
)
hypothesis.settings.load_profile("repeat")


BEGAN = time.monotonic()

WATCH.watch()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """Fail if a secret has leaked since the last test."""
    if nextitem is None:
        WATCH.inspect_metrics(REGISTRY.collect())
    if leaks := WATCH.take_leaks():
        pytest.fail("A secret has leaked:\n" + "\n".join(leaks), pytrace=False)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Add what a worker has inspected to what its parent has."""
    WATCH.inspected.update(getattr(node, "workeroutput", {}).get("inspected", {}))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Save how much was inspected for secrets if all tests have passed, or pass it to the parent
    process."""
    config = session.config
    if hasattr(config, "workeroutput"):
        config.workeroutput["inspected"] = dict(WATCH.inspected)
        return
    is_whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not config.option.lf
    if is_whole and not session.testsfailed:
        WATCH.save_inspected(time.monotonic() - BEGAN)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """If SHARE is set, run only that share of the rotating test cases."""
    if others := cases_of_other_shares(items, os.environ.get("SHARE", "0/1")):
        config.hook.pytest_deselected(items=others)
        left_out = set(others)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="module")
def records(request: pytest.FixtureRequest) -> Iterator[None]:
    """Select the database of test worlds. The most important modules run with every database."""
    kind = getattr(request, "param", os.environ.get("IMPRINT_TEST_DATABASE", "sqlite"))
    if kind != "postgresql":
        yield
        return
    server = request.getfixturevalue("postgresql")
    with keeping_records_on(server):
        yield
    asyncio.run(server.drop_copies())


@pytest.fixture(autouse=True)
def records_if_requested(request: pytest.FixtureRequest) -> Iterator[None]:
    """Use SQLite for tests without `records`, even after a test in the same module that has it."""
    if "records" in request.fixturenames:
        yield
        return
    with keeping_records_on(None):
        yield


@pytest.fixture
async def world(tmp_path: Path, records: None) -> AsyncIterator[World]:
    async with open_world(tmp_path) as opened:
        yield opened


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A server for all tests in this process. Each test creates or clears its own database."""
    server = Server()
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
