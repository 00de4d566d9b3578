"""A post gets the hashtags recorded on the chain if its publish request named none."""

from dataclasses import replace
from typing import Any

import pytest
from tests.adapters.stores.conftest import World
from tests.adapters.stores.market import START, WALLETS
from tests.adapters.stores.test_publication_advance import lose, read_chain

from imprint.domain.drafts.files import File, State
from imprint.domain.exports import ExportedFile
from imprint.domain.posts.indexed_posts import PublicList
from imprint.domain.posts.market_events import Origin, PostPublished, position_of
from imprint.domain.posts.posts import BlockRef, PostCreated
from imprint.ports.post_index import AppliedLog, IndexSource, IndexStep

SOURCE = IndexSource(31337, WALLETS[0], 0)


async def index(
    world: Any, event: PostCreated, *hashtags: str, undo_from: int | None = None
) -> None:
    """Let the index read the block of an event, after replacing the blocks from `undo_from` on."""
    writer = world.stores.index_writer
    if await writer.index_state() is None:
        await writer.restart_index(SOURCE)
    block = BlockRef(event.place.block_number, event.place.block_hash)
    origin = Origin(position_of(block.number, 0), block, event.place.tx_hash, START)
    spelled = event.spelled_cid.encode()
    published = PostPublished(
        origin, event.post_id, event.author, spelled, event.cid, b"", b"", 7, b"", hashtags
    )
    logs = [AppliedLog(origin.place, block.block_hash)]
    step = IndexStep(block, -1, [published], logs, undo_from, complete=True)
    await writer.advance_index(await writer.index_state(), step)


async def shown(world: Any, file: File) -> tuple[str, ...]:
    """Return a file's hashtags, checking that the lists and counts of each hashtag match them."""
    found = await world.live(file.cid)
    if found.state is State.ONCHAIN:
        for tag in ("own", "chain", "other"):
            listed = await world.pages(PublicList((tag,)))
            assert [each.cid for each in listed] == ([file.cid] if tag in found.hashtags else [])
    assert await world.stores.records.compare_tags() == []
    (record,) = [
        each
        for each in await world.stores.records.verify_records(-1, 100)
        if each.file is None or each.file.cid == file.cid
    ]
    assert record.damage is None
    return found.hashtags


@pytest.mark.parametrize("indexed_first", [True, False])
@pytest.mark.parametrize("publish", [read_chain, World.see], ids=["read", "delivered"])
async def test_a_post_without_hashtags_gets_the_hashtags_on_the_chain(
    world, publish, indexed_first
):
    file = await world.draft()
    event = world.event(file)
    for step in (index, publish) if indexed_first else (publish, index):
        await (step(world, event, "chain") if step is index else step(world, event))
    assert await shown(world, file) == ("chain",)
    assert len(await world.stores.search.pending_texts(0, 10)) == 1


@pytest.mark.parametrize("indexed_first", [True, False])
async def test_hashtags_of_the_publish_request_override_those_on_the_chain(world, indexed_first):
    file = await world.prepare(await world.draft(), "own")
    event = world.event(file)
    for step in (index, read_chain) if indexed_first else (read_chain, index):
        await (step(world, event, "chain") if step is index else step(world, event))
    assert await shown(world, file) == ("own",)
    await lose(world, event)
    assert await shown(world, file) == ("own",)


async def test_an_undone_post_loses_the_hashtags_from_the_chain(world):
    file = await world.draft()
    event = world.event(file)
    await index(world, event, "chain")
    await read_chain(world, event)
    await lose(world, event)
    assert await shown(world, file) == ()
    assert await world.pages(PublicList(("chain",), drafts_too=True)) == []


@pytest.mark.parametrize("indexed_first", [True, False])
async def test_a_post_that_is_mined_again_has_the_hashtags_of_its_new_block(world, indexed_first):
    file = await world.draft()
    event = world.event(file, block=5)
    await read_chain(world, event)
    await index(world, event, "chain")
    place = replace(event.place, block_hash="0x" + "b" * 64, block_number=6)
    again = replace(event, place=place)
    if indexed_first:
        await index(world, again, "other", undo_from=5)
        assert await shown(world, file) == ("chain",)
    await lose(world, event)
    await read_chain(world, again)
    if not indexed_first:
        assert await shown(world, file) == ()
        await index(world, again, "other", undo_from=5)
    assert await shown(world, file) == ("other",)


async def test_hashtags_that_a_node_omitted_or_invented_are_replaced(world):
    file = await world.draft()
    event = world.event(file, block=5)
    await read_chain(world, event)
    for hashtags in (("chain", "other"), (), ("other",), ("chain",)):
        undo_from = None if await world.stores.index_writer.index_state() is None else 5
        await index(world, event, *hashtags, undo_from=undo_from)
        assert await shown(world, file) == hashtags


async def test_the_index_distinguishes_chain_hashtags_from_request_hashtags(world):
    file = await world.draft()
    event = world.event(file, block=5)
    await read_chain(world, event)
    await index(world, event, "chain")
    await index(world, event, "other", undo_from=5)
    post = await world.stores.index_reader.indexed_post(event.post_id)
    assert post.hashtags == ("other",)


async def test_a_restored_version_does_not_get_the_hashtags_of_its_groups_post(world):
    first = await world.draft()
    second = await world.update(first)
    event = world.event(second)
    await index(world, event, "chain")
    await read_chain(world, event)
    await read_chain(world, world.event(first))
    restored = await world.live(first.cid)
    assert restored.hashtags == ()
    assert (await world.live(second.cid)).hashtags == ("chain",)
    assert await world.stores.records.compare_tags() == []


async def test_an_export_does_not_contain_hashtags_from_the_chain(world):
    own, untagged = await world.prepare(await world.draft(), "own"), await world.draft()
    for file in (own, untagged):
        event = world.event(file)
        await read_chain(world, event)
        await index(world, event, "chain")
    exported: dict[str, ExportedFile] = {}
    async for page in world.stores.archives.walk_files(None, 10):
        exported |= {each.file.cid: each for each in page}
    assert exported[own.cid].file.hashtags == ("own",)
    assert exported[untagged.cid].file.hashtags == ()
