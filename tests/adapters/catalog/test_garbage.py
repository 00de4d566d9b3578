"""Detached documents: kept for a while, condemned when nothing refers to them, purged."""

import pytest

from imprint.domain.cids import Cid
from imprint.domain.errors import NonceUsed, Unavailable
from imprint.domain.files import Action, Network

PICTURE = Cid("bafypicture")


async def test_documents_of_live_files_are_never_condemned(world):
    await world.prepare(await world.draft(), "a")
    await world.post("b")
    world.later(days=400)
    assert await world.condemn(grace_hours=0) == set()


@pytest.mark.parametrize("end", ["update", "delete"])
async def test_a_version_that_is_gone_is_condemned_after_the_grace(world, end):
    file = await world.draft()
    await getattr(world, end)(file)
    world.later(hours=24)
    assert await world.condemn() == set()
    world.later(microseconds=1)
    assert await world.condemn() == {(file.cid, "private")}


async def test_a_deleted_file_takes_its_thumbnail_along(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.delete(file)
    world.later(hours=25)
    assert await world.condemn() == {(file.cid, "private"), (PICTURE, "public")}


async def test_a_thumbnail_that_was_replaced_is_condemned(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.prepare(file)
    world.later(hours=25)
    assert await world.condemn() == {(PICTURE, "public")}


async def test_the_same_thumbnail_again_is_not_detached(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.prepare(file, thumbnail=PICTURE)
    world.later(hours=25)
    assert await world.condemn() == set()
    assert await world.catalog.public_size(PICTURE) is not None


async def test_a_thumbnail_that_another_group_shows_stays(world):
    mine = await world.prepare(await world.draft(), thumbnail=PICTURE)
    theirs = await world.prepare(await world.draft(world.bob), thumbnail=PICTURE)
    await world.delete(mine)
    world.later(hours=25)
    assert (PICTURE, "public") not in await world.condemn()
    assert await world.catalog.public_size(PICTURE) is not None
    await world.delete(theirs)
    world.later(hours=25)
    assert (PICTURE, "public") in await world.condemn()


async def test_the_same_cid_on_the_other_network_is_another_document(world):
    file = await world.draft()
    other = await world.draft()
    await world.prepare(other, thumbnail=file.cid)
    await world.delete(other)
    world.later(hours=25)
    assert (file.cid, "public") in await world.condemn()
    assert await world.live(file.cid) == file


async def test_what_is_condemned_is_listed_until_it_is_purged(world):
    file = await world.draft()
    await world.delete(file)
    world.later(hours=25)
    assert await world.condemn() == await world.condemn() == {(file.cid, "private")}
    await world.catalog.purge(file.cid, Network.PRIVATE)
    assert await world.condemn() == set()


async def test_no_more_than_the_limit_is_condemned_and_the_rest_comes_next(world):
    files = [await world.draft() for _ in range(5)]
    for file in files:
        await world.delete(file)
    world.later(hours=25)
    seen = set()
    for _ in range(3):
        some = await world.condemn(limit=2)
        assert len(some) <= 2
        seen |= some
        for cid, network in some:
            await world.catalog.purge(cid, Network(network))
    assert seen == {(file.cid, "private") for file in files}


async def test_the_document_of_an_intent_that_ran_out_is_condemned(world):
    write, version = world.write(Action.CREATE), world.version()
    await world.begin(write, version)
    world.later(minutes=10)
    assert await world.condemn() == set()
    world.later(microseconds=1)
    assert await world.condemn() == {(version.cid, "private")}


async def test_an_intent_that_ran_out_costs_no_document_that_is_used(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.begin_thumbnail(world.write(Action.PUBLISH, world.bob), PICTURE)
    world.later(hours=1)
    assert await world.condemn() == set()
    assert (await world.live(file.cid)).thumbnail_cid == PICTURE


async def test_an_intent_that_ran_out_does_not_cut_the_grace_short(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.delete(file)
    await world.begin_thumbnail(world.write(Action.PUBLISH, world.bob), PICTURE)
    world.later(hours=1)
    assert await world.condemn() == set()
    await world.see(world.event(file))
    assert (await world.live(file.cid)).thumbnail_cid == PICTURE


async def test_a_running_intent_keeps_its_document(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.delete(file)
    world.later(hours=25)
    other = await world.draft(world.bob)
    write = world.write(Action.PUBLISH, world.bob)
    intent = await world.begin_thumbnail(write, PICTURE)
    assert await world.condemn() == {(file.cid, "private")}
    assert await world.catalog.prepare_draft(write, intent, other.cid, []) is not None
    world.later(hours=25)
    assert (PICTURE, "public") not in await world.condemn()


async def test_a_write_of_a_condemned_document_waits_until_it_is_purged(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    await world.prepare(file)
    world.later(hours=25)
    await world.condemn()
    intent = world.intent(world.write(Action.PUBLISH), PICTURE, Network.PUBLIC)
    with pytest.raises(Unavailable) as refused:
        await world.catalog.begin_write(intent)
    assert refused.value.code == "storage_unavailable"
    await world.catalog.purge(PICTURE, Network.PUBLIC)
    assert await world.catalog.begin_write(intent) is None


async def test_a_slow_write_of_a_destroyed_thumbnail_is_refused(world):
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    write = world.write(Action.PUBLISH, world.bob)
    intent = await world.begin_thumbnail(write, PICTURE)
    other = await world.draft(world.bob)
    await world.prepare(file)
    world.later(hours=25)
    assert (PICTURE, "public") in await world.condemn(limit=1)
    await world.catalog.purge(PICTURE, Network.PUBLIC)
    with pytest.raises(Unavailable):
        await world.catalog.prepare_draft(write, intent, other.cid, [])


async def test_a_slow_write_is_refused_even_if_its_intent_was_not_collected_yet(world):
    held = await world.prepare(await world.draft())
    for _ in range(2):
        await world.begin_thumbnail(world.write(Action.PUBLISH), held.thumbnail_cid)
    world.later(minutes=1)
    file = await world.prepare(await world.draft(), thumbnail=PICTURE)
    write = world.write(Action.PUBLISH, world.bob)
    intent = await world.begin_thumbnail(write, PICTURE)
    other = await world.draft(world.bob)
    await world.prepare(file)
    world.later(hours=25)
    assert await world.condemn(limit=2) == {(PICTURE, "public")}
    await world.catalog.purge(PICTURE, Network.PUBLIC)
    with pytest.raises(Unavailable):
        await world.catalog.prepare_draft(write, intent, other.cid, [])


async def test_a_restored_version_is_not_condemned(world):
    file = await world.prepare(await world.draft(), "a")
    await world.delete(file)
    await world.see(world.event(file))
    world.later(hours=25)
    assert await world.condemn() == set()


async def test_a_file_restored_after_its_thumbnail_was_destroyed_has_none(world):
    earlier = Cid("aaaa")
    file = await world.prepare(await world.draft(), thumbnail=earlier)
    await world.delete(file)
    world.later(hours=25)
    assert await world.condemn(limit=1) == {(earlier, "public")}
    await world.see(world.event(file))
    assert (await world.live(file.cid)).thumbnail_cid is None
    assert await world.catalog.public_size(earlier) is None


async def test_nonces_outlive_their_documents(world):
    file = await world.draft(nonce="n")
    await world.delete(file, nonce="d")
    world.later(hours=25)
    await world.condemn()
    await world.catalog.purge(file.cid, Network.PRIVATE)
    for nonce in ("n", "d"):
        with pytest.raises(NonceUsed) as refused:
            await world.catalog.check_nonce(world.alice, nonce)
        assert refused.value.file is None


async def test_purging_what_is_not_condemned_forgets_nothing(world):
    file = await world.draft()
    await world.delete(file)
    await world.catalog.purge(file.cid, Network.PRIVATE)
    world.later(hours=25)
    assert await world.condemn() == {(file.cid, "private")}


async def test_a_document_without_any_record_is_detached_once(world):
    stray = world.cid()
    assert await world.catalog.detach_strays([stray], Network.PRIVATE, world.now) == 1
    assert await world.catalog.detach_strays([stray], Network.PRIVATE, world.now) == 0
    assert await world.condemn() == set()
    world.later(hours=25)
    assert await world.condemn() == {(stray, "private")}


async def test_versions_thumbnails_and_intents_are_no_strays(world):
    file = await world.draft()
    gone = await world.draft()
    await world.catalog.delete_draft(world.write(Action.DELETE), gone.cid)
    thumbnail, coming = world.cid(), world.cid()
    publish = world.write(Action.PUBLISH)
    intent = await world.begin_thumbnail(publish, thumbnail)
    await world.catalog.prepare_draft(publish, intent, file.cid, ())
    await world.begin_thumbnail(world.write(Action.PUBLISH), coming)
    known = [file.cid, gone.cid, thumbnail, coming]
    for network in Network:
        assert await world.catalog.detach_strays(known, network, world.now) == 0
