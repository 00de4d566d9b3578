"""The storage and readiness gauges."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client import REGISTRY
from tests.stores import open_sqlite_stores

from imprint.bootstrap.stores import Stores
from imprint.services.installation.readiness import Condition
from imprint.services.installation.usage_monitor import UsageMonitor


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Stores]:
    opened = open_sqlite_stores(tmp_path / "catalog.db")
    yield opened
    await opened.close()


def value_of(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


async def test_stored_documents_are_exported_as_metrics(stores: Stores) -> None:
    async def check() -> Condition:
        raise AssertionError("it is not asked")

    await UsageMonitor(stores.installation, check).measure()
    names = ("drafts", "posts", "stored_bytes", "detached_bytes")
    assert [value_of(f"imprint_{name}") for name in names] == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("condition", "readiness", "down"),
    [
        (Condition(True, True, True), 2, set()),
        (Condition(True, True, False), 1, {"chain"}),
        (Condition(True, True, True, history=False), 1, {"chain"}),
        (Condition(True, True, True, disk=False, records=False), 1, {"disk", "records"}),
        (Condition(False, True, True), 0, {"database"}),
    ],
)
async def test_the_result_of_the_probe_is_exported_as_metrics(
    stores: Stores, condition: Condition, readiness: int, down: set[str]
) -> None:
    async def check() -> Condition:
        return condition

    await UsageMonitor(stores.installation, check).probe()
    assert value_of("imprint_ready") == readiness
    for name in (
        "database",
        "storage",
        "chain",
        "disk",
        "follower",
        "indexer",
        "collector",
        "records",
    ):
        shown = value_of("imprint_dependency_up", dependency=name)
        assert shown == (name not in down), name
    assert value_of("imprint_dependency_up", dependency="history") is None
