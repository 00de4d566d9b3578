"""Strays, documents that no record names, are found, kept for the grace period, and destroyed."""

import os
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.world import World, open_world

from imprint.domain.addresses import Address
from imprint.domain.cids import Cid, document_cid
from imprint.domain.files import Action, Intent, Network, Write
from imprint.services.garbage_collector import GarbageCollector, StrayScan

AGE = timedelta(minutes=5)
GRACE = timedelta(hours=24)
STRAY = b"what power loss left"


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with open_world(tmp_path) as opened:
        yield opened


async def leave(world: World, document: bytes, network: Network = Network.PRIVATE) -> Cid:
    """Store a document that the catalog does not know."""
    cid = document_cid(document)
    await world.adapters.content.put(cid, document, network)
    return cid


async def scan(world: World) -> int:
    inventory = world.adapters.inventory
    assert inventory is not None
    return await StrayScan(world.adapters.catalog, inventory, world.clock, AGE).scan()


async def collect(world: World) -> int:
    return await GarbageCollector(
        world.adapters.catalog, world.adapters.content, world.clock, GRACE
    ).collect()


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


async def test_a_stray_is_found_once(world: World):
    await leave(world, STRAY)
    world.clock.advance(400)
    assert [await scan(world), await scan(world)] == [1, 0]


async def test_a_young_document_is_not_a_stray_yet(world: World):
    await leave(world, STRAY)
    world.clock.advance(250)
    assert await scan(world) == 0


async def test_a_document_that_a_record_names_is_not_a_stray(world: World):
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


async def test_a_document_whose_write_is_under_way_is_not_a_stray(world: World):
    cid = document_cid(STRAY)
    write = Write(Address(world.wallet(0).address), Action.CREATE, "nonce", world.clock.now())
    later = world.clock.now() + timedelta(hours=2)
    await world.adapters.catalog.begin_write(Intent("i", write, cid, 1, Network.PRIVATE, later, 1))
    await leave(world, STRAY)
    world.clock.advance(3600)
    assert await scan(world) == 0


async def test_a_document_that_was_claimed_meanwhile_is_kept(world: World):
    """A picture that was a stray, and is somebody's thumbnail when its time comes."""
    author = world.wallet(0)
    draft = await world.create(author)
    thumbnail = Cid(await world.publish(author, draft["cid"]))
    picture = await world.adapters.content.read(thumbnail, Network.PUBLIC)
    assert picture is not None
    await world.adapters.catalog.detach_strays([thumbnail], Network.PUBLIC, world.clock.now())
    world.clock.advance(GRACE.total_seconds() + 1)
    await collect(world)
    assert await world.adapters.content.read(thumbnail, Network.PUBLIC) == picture


async def test_more_strays_than_one_transaction_takes_are_all_found(world: World):
    for n in range(450):
        await leave(world, os.urandom(8) + bytes([n % 256]))
    world.clock.advance(400)
    assert await scan(world) == 450
