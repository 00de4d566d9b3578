"""Labels in the content store follow the state of files."""

import asyncio
from dataclasses import dataclass, field

from tests.world import World

from imprint.domain.errors import Unavailable
from imprint.services.content.labels import LabelUpdater


@dataclass(slots=True)
class Console:
    """A content store's admin console: the labels it shows, and whether it is available."""

    shown: list[tuple[str, str]] = field(default_factory=list)
    away: bool = False
    refused: asyncio.Event = field(default_factory=asyncio.Event)
    shows_labels: bool = True

    async def relabel(self, cid, network, label):
        if self.away:
            self.refused.set()
            raise Unavailable.storage()
        self.shown.append((label.name, label.status))


async def test_a_post_gets_the_label_onchain(world: World) -> None:
    _, file = await world.post(world.wallet(1))
    console = Console()
    labels = LabelUpdater(world.adapters.stores.files, console)
    labels.enqueue(file["cid"])
    await labels.update_all()
    assert console.shown == [(file["name"], "onchain")]


async def test_a_replaced_file_is_not_labelled(world: World) -> None:
    alice = world.wallet(1)
    file = await world.create(alice)
    await world.update(alice, file["cid"], "Better words.")
    console = Console()
    labels = LabelUpdater(world.adapters.stores.files, console)
    labels.enqueue(file["cid"])
    await labels.update_all()
    assert console.shown == []


async def test_a_label_that_could_not_be_updated_stays_queued(world: World) -> None:
    _, file = await world.post(world.wallet(1))
    console = Console(away=True)
    labels = LabelUpdater(world.adapters.stores.files, console)
    labels.enqueue(file["cid"])
    running = asyncio.create_task(labels.run())
    await console.refused.wait()
    running.cancel()
    console.away = False
    await labels.update_all()
    assert [status for _, status in console.shown] == ["onchain"]


async def test_no_file_is_read_for_a_store_that_shows_no_labels(world: World) -> None:
    _, file = await world.post(world.wallet(1))
    console = Console(shows_labels=False)
    labels = LabelUpdater(world.adapters.stores.files, console)
    labels.enqueue(file["cid"])
    await labels.update_all()
    assert console.shown == []
    # Documents on disk have no console.
    assert not world.adapters.content.shows_labels
