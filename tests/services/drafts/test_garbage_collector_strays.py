"""Strays (documents that no record refers to) are found, kept for the grace period, and then
destroyed."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.stores import open_sqlite_stores
from tests.world import World, open_world

from imprint.domain.drafts.files import Action, Intent, Network, Write
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid, document_cid
from imprint.metrics import STRAYS_HELD
from imprint.services.drafts.garbage_collector import (
    FREE_STRAYS,
    Strays,
    StrayScan,
)

AGE = timedelta(minutes=5)
GRACE = timedelta(hours=24)
STRAY = b"what power loss left"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as opened:
        yield opened


async def leave(world: World, document: bytes, network: Network = Network.PRIVATE) -> Cid:
    """Store a document that is not in the catalog."""
    cid = document_cid(document)
    await world.adapters.content.put(cid, document, network)
    return cid


async def scan(world: World) -> int:
    inventory = world.adapters.inventory
    assert inventory is not None
    return await StrayScan(
        world.adapters.stores.garbage,
        world.adapters.stores.installation,
        inventory,
        world.clock,
        AGE,
    ).scan()


async def collect(world: World) -> int:
    return await world.collector(GRACE).collect()


async def test_strays_of_another_installation_are_left_alone(world: World):
    own, other = world.adapters.stores.installation.identity.id, "5e" * 16
    await leave(world, STRAY)
    world.clock.advance(400)
    await world.adapters.content.claim(other, own)
    assert await scan(world) == 0
    await world.adapters.content.claim(own, other)
    assert await scan(world) == 1


@pytest.mark.parametrize("network", Network)
async def test_a_stray_is_kept_for_the_grace_period_and_then_destroyed(
    world: World, network: Network
):
    cid = await leave(world, STRAY, network)
    world.clock.advance(400)
    assert await scan(world) == 1
    assert await collect(world) == 0
    assert await world.adapters.content.read(cid, network) == STRAY
    world.clock.advance(GRACE.total_seconds() + 1)
    assert await collect(world) == 1
    assert await world.adapters.content.read(cid, network) is None


async def test_a_stray_is_found_only_once(world: World):
    await leave(world, STRAY)
    world.clock.advance(400)
    assert [await scan(world), await scan(world)] == [1, 0]


async def test_a_recently_written_document_is_not_a_stray_yet(world: World):
    await leave(world, STRAY)
    world.clock.advance(250)
    assert await scan(world) == 0


async def test_a_document_referenced_by_a_record_is_not_a_stray(world: World):
    author = world.wallet(0)
    draft = await world.create(author, "First.")
    await world.publish(author, draft["cid"])
    kept = await world.update(author, draft["cid"], "Second.")
    gone = await world.create(author, "Gone.")
    await world.publish(author, gone["cid"])
    await world.send_delete(author, gone["cid"])
    await world.post(author)
    world.clock.advance(3600)
    assert await scan(world) == 0
    assert (await world.read_draft(author, kept["cid"])).json()["content"] == "Second."


async def test_a_document_whose_write_is_in_progress_is_not_a_stray(world: World):
    cid = document_cid(STRAY)
    write = Write(Address(world.wallet(0).address), Action.CREATE, "nonce", world.clock.now())
    later = world.clock.now() + timedelta(hours=2)
    await world.adapters.stores.drafts.begin_write(
        Intent("i", write, cid, 1, Network.PRIVATE, later, 1)
    )
    await leave(world, STRAY)
    world.clock.advance(3600)
    assert await scan(world) == 0


async def test_a_stray_that_became_a_thumbnail_is_kept(world: World):
    """A picture that was a stray but is a thumbnail by the time it would be destroyed."""
    author = world.wallet(0)
    draft = await world.create(author)
    thumbnail = Cid(await world.publish(author, draft["cid"]))
    picture = await world.adapters.content.read(thumbnail, Network.PUBLIC)
    assert picture is not None
    await world.adapters.stores.garbage.detach_strays(
        [thumbnail], Network.PUBLIC, world.clock.now()
    )
    world.clock.advance(GRACE.total_seconds() + 1)
    await collect(world)
    assert await world.adapters.content.read(thumbnail, Network.PUBLIC) == picture


async def leave_many(world: World, count: int, network: Network = Network.PRIVATE) -> list[Cid]:
    cids = [await leave(world, b"stray %d" % n, network) for n in range(count)]
    world.clock.advance(400)
    return cids


def scan_of(world: World) -> StrayScan:
    assert world.adapters.inventory is not None
    return StrayScan(
        world.adapters.stores.garbage,
        world.adapters.stores.installation,
        world.adapters.inventory,
        world.clock,
        AGE,
    )


async def test_a_small_number_of_strays_is_detached(world: World):
    await leave_many(world, FREE_STRAYS)
    found = scan_of(world)
    assert (await found.scan(), found.held) == (FREE_STRAYS, 0)


async def test_too_many_strays_are_held_for_an_operator_and_none_is_destroyed(
    world: World, caplog: pytest.LogCaptureFixture
):
    cids = await leave_many(world, 450)
    found = scan_of(world)
    assert (await found.scan(), found.held) == (0, 450)
    assert STRAYS_HELD._value.get() == 450
    assert "imprint gc --dry-run" in caplog.text
    world.clock.advance(GRACE.total_seconds() + 1)
    assert await collect(world) == 0
    for cid in cids:
        assert await world.adapters.content.read(cid, Network.PRIVATE) is not None


async def test_up_to_one_in_a_hundred_documents_may_be_a_stray():
    assert not Strays(10_000, 100, []).held
    assert Strays(10_000, 101, []).held
    assert Strays(21, 21, []).held


async def test_too_many_strays_on_one_network_do_not_hold_those_on_the_other(world: World):
    await leave_many(world, FREE_STRAYS + 1)
    await leave_many(world, 2, Network.PUBLIC)
    found = scan_of(world)
    assert (await found.scan(), found.held) == (2, FREE_STRAYS + 1)


async def test_the_documents_of_another_catalog_are_held_as_strays(world: World, tmp_path: Path):
    """A service with the wrong database, or with one restored from an old copy."""
    author = world.wallet(0)
    drafts = [await world.create(author) for _ in range(FREE_STRAYS + 1)]
    world.clock.advance(400)
    other = open_sqlite_stores(tmp_path / "other.db")
    await world.adapters.content.claim(
        other.installation.identity.id, world.adapters.stores.installation.identity.id
    )
    assert world.adapters.inventory is not None
    found = StrayScan(other.garbage, other.installation, world.adapters.inventory, world.clock, AGE)
    assert (await found.scan(), found.held) == (0, len(drafts))
    await other.close()


async def test_an_operator_can_destroy_strays_immediately(world: World):
    author = world.wallet(0)
    draft = await world.create(author, "Kept.")
    thumbnail = await world.publish(author, draft["cid"])
    gone = await world.create(author, "Within its grace period.")
    await world.send_delete(author, gone["cid"])
    strays = await leave_many(world, 30)
    found = scan_of(world)
    await found.scan()
    assert found.held == 30
    counts: list[int] = []
    assert await found.detach_all(counts.append) == 30
    assert (found.held, counts[-1]) == (0, 30)
    assert await collect(world) == 30
    for cid in strays:
        assert await world.adapters.content.read(cid, Network.PRIVATE) is None
    assert (await world.read_draft(author, draft["cid"])).json()["content"] == "Kept."
    assert (await world.client.get(f"/ipfs/{thumbnail}")).status_code == 200
    assert await world.adapters.content.read(Cid(gone["cid"]), Network.PRIVATE) is not None
