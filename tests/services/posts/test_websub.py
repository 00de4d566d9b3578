"""One process notifies a WebSub hub about each new post, and retries until the hub accepts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest
from tests.indexed import fill_index
from tests.world import ORIGIN, World, open_world

from imprint.services.posts.websub import HubNotices


@dataclass
class Hub:
    """A hub that records notifications unless it is down."""

    told: list[str] = field(default_factory=list)
    is_up: bool = True
    asked: int = 0

    async def publish(self, topics: Sequence[str]) -> bool:
        self.asked += 1
        if self.is_up:
            self.told += topics
        return self.is_up

    def take(self) -> set[str]:
        told, self.told = set(self.told), []
        return told


def notices(world: World, hub: Hub) -> HubNotices:
    adapters = world.adapters
    clock = world.clock
    index = adapters.stores.index_reader
    return HubNotices(adapters.stores.leases, index, hub, ORIGIN, clock, clock.monotonic)


async def publish(world: World) -> set[str]:
    """Publish a post with a hashtag, and return the URLs of the affected feeds."""
    author = world.wallet(1)
    file = await world.create(author)
    await world.deliver_a(
        world.create_post_with(author, (file["cid"], "T", "bafkreithumbnail", "", 5, ["ink"]))
    )
    await fill_index(world)
    paths = ("posts", "tags/ink", f"authors/{author.address}")
    return {f"{ORIGIN}/feeds/{path}.{ending}" for path in paths for ending in ("atom", "json")}


async def test_the_hub_is_notified_once_about_the_feeds_of_a_new_post(world: World) -> None:
    hub = Hub()
    telling = notices(world, hub)
    await fill_index(world)
    await telling.run_once()
    assert hub.asked == 0
    feeds = await publish(world)
    await telling.run_once()
    assert hub.take() == feeds
    await telling.run_once()
    assert hub.asked == 1


async def test_the_hub_is_not_notified_during_the_initial_build_of_the_index(world: World) -> None:
    hub = Hub()
    await notices(world, hub).run_once()
    assert hub.asked == 0


async def test_the_hub_is_not_notified_of_old_posts_at_startup(world: World) -> None:
    hub = Hub()
    await publish(world)
    world.clock.advance(timedelta(hours=2).total_seconds())
    await notices(world, hub).run_once()
    assert hub.asked == 0


async def test_a_hub_that_is_down_is_retried_with_increasing_delays(world: World) -> None:
    hub = Hub(is_up=False)
    telling = notices(world, hub)
    feeds = await publish(world)
    for _ in range(20):
        await telling.run_once()
    assert hub.asked == 1
    for _ in range(100):
        world.clock.advance(5)
        await telling.run_once()
    assert hub.asked < 10
    hub.is_up = True
    world.clock.advance(300)
    await telling.run_once()
    assert hub.take() == feeds


async def test_only_one_process_at_a_time_notifies_the_hub(world: World) -> None:
    hub = Hub()
    first, second = notices(world, hub), notices(world, hub)
    await fill_index(world)
    await first.run_once()
    await second.run_once()
    await publish(world)
    await second.run_once()
    assert hub.asked == 0
    await first.run_once()
    assert hub.asked == 1


async def test_a_process_that_takes_over_notifies_about_posts_of_the_last_hour(
    world: World,
) -> None:
    hub = Hub()
    await fill_index(world)
    await notices(world, hub).run_once()
    feeds = await publish(world)
    world.clock.advance(120)
    await notices(world, hub).run_once()
    assert hub.take() == feeds


@pytest.mark.parametrize("hub", ["", "https://hub.example/"])
async def test_a_service_runs_with_and_without_a_hub(tmp_path: Path, hub: str) -> None:
    async with open_world(tmp_path, WEBSUB_HUB=hub) as world:
        assert (world.adapters.hub is not None) is bool(hub)
