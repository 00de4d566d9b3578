"""Background tasks run with the application, and the adapters are closed after them."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from tests.world import World, open_world

from imprint.bootstrap.adapters import Adapters
from imprint.bootstrap.background import (
    BackgroundTasks,
    build_follower,
    build_indexer,
    build_monitors,
    build_stray_scan,
)
from imprint.ports.post_index import IndexSource
from imprint.services.access.entitlement import Entitlement
from imprint.services.content.labels import LabelUpdater

IDLE = {"JANITOR_SECONDS": "0", "CHAIN_FOLLOW_SECONDS": "0", "SCRUB_SECONDS": "0"}
ALWAYS = {
    "LabelUpdater.run",
    "LocalDiskSpace.run",
    "InstallationClaim.run",
    "ShownPosts.run",
    "watch_files",
}
CLOSED = ["images closed", "marketplace closed", "content closed", "stores closed"]


@dataclass(slots=True)
class Recorded:
    """An adapter that records when it is closed, and otherwise delegates to the wrapped one."""

    adapter: Any
    name: str
    events: list[str]

    async def close(self) -> None:
        self.events.append(f"{self.name} closed")
        await self.adapter.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.adapter, name)


def recorded(adapters: Adapters, events: list[str]) -> Adapters:
    names = ("images", "marketplace", "content", "stores")
    return replace(
        adapters, **{name: Recorded(getattr(adapters, name), name, events) for name in names}
    )


@dataclass(slots=True)
class FailedLabels(LabelUpdater):
    """A label updater that fails immediately."""

    async def run(self) -> None:
        raise LookupError("a mistake")


@dataclass(slots=True)
class SlowLabels(LabelUpdater):
    """A label updater that takes a while to end after being cancelled."""

    events: list[str] = field(default_factory=list)

    async def run(self) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            for _ in range(10):
                await asyncio.sleep(0)
            self.events.append("labels ended")


def background(
    world: World,
    adapters: Adapters | None = None,
    labels: LabelUpdater | None = None,
) -> BackgroundTasks:
    adapters = adapters or world.adapters
    entitlement = Entitlement(adapters.marketplace, adapters.monotonic, timedelta(seconds=5))
    labels = labels or LabelUpdater(adapters.stores.files, adapters.content)
    strays = build_stray_scan(world.settings, adapters)
    return BackgroundTasks(
        world.settings, adapters, entitlement, labels, adapters.claim, strays=strays
    )


@asynccontextmanager
async def started(tasks: BackgroundTasks) -> AsyncIterator[dict[str, asyncio.Task]]:
    """Yield the tasks started by the application, by the names of their coroutines."""
    before = asyncio.all_tasks()
    async with tasks.lifespan(Starlette()):
        new = asyncio.all_tasks() - before
        yield {getattr(task.get_coro(), "__qualname__", ""): task for task in new}


async def wait_until(happened: Callable[[], bool]) -> None:
    async with asyncio.timeout(30):
        while not happened():  # noqa: ASYNC110 - most of it has no event
            await asyncio.sleep(0.001)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (IDLE, ALWAYS),
        (
            IDLE | {"JANITOR_SECONDS": "60"},
            ALWAYS | {"GarbageCollector.run", "UsageRecount.run", "StrayScan.run"},
        ),
        (
            IDLE | {"CHAIN_FOLLOW_SECONDS": "60"},
            ALWAYS | {"LogStream.run", "Follower.run", "Indexer.run", "EntitlementWatcher.run"},
        ),
        (IDLE | {"SCRUB_SECONDS": "60"}, ALWAYS | {"Scrub.run", "Examination.run"}),
    ],
    ids=["idle", "collecting", "following", "scrubbing"],
)
async def test_the_settings_determine_which_tasks_run(
    tmp_path: Path, given: dict[str, str], expected: set[str]
) -> None:
    async with open_world(tmp_path, **given) as world, started(background(world)) as tasks:
        assert tasks.keys() == expected


async def test_a_shared_content_store_is_not_scanned_for_strays(tmp_path: Path) -> None:
    async with open_world(tmp_path, **IDLE | {"JANITOR_SECONDS": "60"}) as world:
        shared = replace(world.adapters, inventory=None)
        async with started(background(world, shared)) as tasks:
            assert "GarbageCollector.run" in tasks
            assert "StrayScan.run" not in tasks


async def test_the_follower_reads_the_configured_chain(tmp_path: Path) -> None:
    given = {"CHAIN_START_BLOCK": "7", "CHAIN_REORG_DEPTH": "9"}
    async with open_world(tmp_path, **given) as world:
        follower = build_follower(world.settings, world.adapters)
        assert (follower.chain_id, follower.start_block, follower.reorg_depth) == (31337, 7, 9)


async def test_the_indexer_reads_the_configured_marketplace(tmp_path: Path) -> None:
    given = {"CHAIN_START_BLOCK": "7", "CHAIN_REORG_DEPTH": "9"}
    async with open_world(tmp_path, **given) as world:
        firsts = [
            build_indexer(world.settings, world.adapters, first).source.first_block
            for first in (None, 3, 8)
        ]
        assert firsts == [7, 3, 7]
        indexer = build_indexer(world.settings, world.adapters)
        assert indexer.source == IndexSource(31337, world.settings.chain.marketplace, 7)
        assert indexer.reorg_depth == 9


async def test_an_enqueued_label_is_updated_in_the_background(tmp_path: Path) -> None:
    async with open_world(tmp_path, **IDLE) as world:
        file = await world.create(world.wallet(1))
        shown: list[str] = []

        @dataclass(slots=True)
        class Console(Recorded):
            shows_labels = True

            async def relabel(self, cid: str, network: object, label: object) -> None:
                shown.append(cid)

        console = Console(world.adapters.content, "content", [])
        labels = LabelUpdater(world.adapters.stores.files, console)
        async with started(background(world, labels=labels)):
            labels.enqueue(file["cid"])
            await wait_until(lambda: shown == [file["cid"]])


async def test_every_task_is_cancelled_at_shutdown(tmp_path: Path) -> None:
    given = {"JANITOR_SECONDS": "60", "CHAIN_FOLLOW_SECONDS": "60", "SCRUB_SECONDS": "60"}
    async with open_world(tmp_path, **given) as world:
        async with started(background(world)) as tasks:
            await asyncio.sleep(0)
        assert {name for name, task in tasks.items() if not task.cancelled()} == set()
        assert len(tasks) == 14


async def test_the_adapters_are_closed_only_after_the_last_task_ends(tmp_path: Path) -> None:
    events: list[str] = []
    async with open_world(tmp_path, **IDLE) as world:
        adapters = recorded(world.adapters, events)
        labels = SlowLabels(adapters.stores.files, adapters.content, events=events)
        async with started(background(world, adapters, labels)):
            await asyncio.sleep(0)
        assert events == ["labels ended", *CLOSED]


async def test_a_failed_task_does_not_keep_the_adapters_open(tmp_path: Path) -> None:
    events: list[str] = []
    async with open_world(tmp_path, **IDLE) as world:
        adapters = recorded(world.adapters, events)
        labels = FailedLabels(adapters.stores.files, adapters.content)
        async with started(background(world, adapters, labels)):
            await asyncio.sleep(0)
        assert events == CLOSED


async def test_a_failed_task_does_not_end_the_others(tmp_path: Path) -> None:
    async with open_world(tmp_path, **IDLE | {"CHAIN_FOLLOW_SECONDS": "60"}) as world:
        labels = FailedLabels(world.adapters.stores.files, world.adapters.content)
        async with started(background(world, labels=labels)) as tasks:
            await wait_until(tasks["FailedLabels.run"].done)
            assert not tasks["Follower.run"].done()


async def test_the_adapters_are_closed_if_the_application_fails(tmp_path: Path) -> None:
    events: list[str] = []
    async with open_world(tmp_path, **IDLE) as world:
        with pytest.raises(LookupError, match="the application"):
            async with started(background(world, recorded(world.adapters, events))):
                raise LookupError("the application")
        assert events == CLOSED


@pytest.mark.parametrize(
    ("given", "watched"),
    [
        (IDLE, set()),
        (IDLE | {"JANITOR_SECONDS": "60"}, {"collector"}),
        (IDLE | {"CHAIN_FOLLOW_SECONDS": "2"}, {"follower", "indexer"}),
    ],
    ids=["idle", "collecting", "following"],
)
async def test_disabled_tasks_are_not_monitored(
    tmp_path: Path, given: dict[str, str], watched: set[str]
) -> None:
    async with open_world(tmp_path, **given) as world:
        assert build_monitors(world.settings, world.adapters).keys() == watched


async def test_a_task_run_by_another_process_raises_no_alarm_until_it_stops(tmp_path: Path) -> None:
    async with open_world(tmp_path, **IDLE | {"CHAIN_FOLLOW_SECONDS": "2"}) as world:
        monitor = build_monitors(world.settings, world.adapters)["follower"]
        follower = build_follower(world.settings, world.adapters)
        for _ in range(20):
            assert await follower.follow_once()
            world.clock.advance(2)
            await monitor.look()
            assert monitor.is_running()
        for _ in range(20):
            world.clock.advance(2)
            await monitor.look()
        assert not monitor.is_running()
        monitor.show(True)


async def test_monitors_run_with_the_application(tmp_path: Path) -> None:
    async with open_world(tmp_path, **IDLE) as world:
        chain = replace(world.settings.chain, follow_seconds=2.0)
        monitors = build_monitors(replace(world.settings, chain=chain), world.adapters)
        tasks = replace(background(world), monitors=tuple(monitors.values()))
        async with started(tasks) as running:
            assert running.keys() == ALWAYS | {"LeaseMonitor.run"}
