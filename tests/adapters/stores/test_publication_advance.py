"""Advancing the follower: events in replaced blocks, the cursor and the final block."""

from dataclasses import replace

import pytest

from imprint.domain.drafts.files import Action, State
from imprint.domain.posts.indexed_posts import OwnDrafts, PublicList
from imprint.domain.posts.posts import Advance, BlockRef, EventStatus

CHAIN = 31337


CURSOR = BlockRef(100, "0x" + "1" * 64)


async def lose(world, *events):
    lost = tuple(event.place for event in events)
    await world.stores.events.advance(CHAIN, Advance(CURSOR, lost=lost), world.now)


async def read_chain(world, *events):
    return await world.stores.events.advance(CHAIN, Advance(CURSOR, events=events), world.now)


async def test_a_post_whose_block_left_the_chain_becomes_a_draft_again(world):
    draft = await world.prepare(await world.draft(), "a")
    event = world.event(draft)
    await world.see(event)
    await lose(world, event)
    assert await world.live(draft.cid) == draft
    assert await world.stores.files.file_by_post_id(event.post_id) is None
    assert await world.pages(PublicList(("a",))) == []
    assert await world.pages(OwnDrafts(world.alice)) == [draft]


async def test_a_draft_keeps_its_restored_thumbnail_after_a_reorg(world):
    first = world.cid()
    file = await world.prepare(await world.draft(), thumbnail=first)
    await world.prepare(file)
    event = world.event(file, thumbnail=first)
    await world.see(event)
    await lose(world, event)
    draft = await world.live(file.cid)
    assert (draft.state, draft.thumbnail_cid) == (State.PENDING, first)
    assert await world.stores.garbage.recount_usage() == 0


async def test_an_unpublished_draft_returns_to_its_original_position(world):
    drafts = [await world.prepare(await world.draft(), "a") for _ in range(3)]
    lists = [OwnDrafts(world.alice), PublicList(drafts_too=True), PublicList(("a",), True)]
    expected = [await world.pages(which) for which in lists]
    for _ in range(2):
        event = world.event(drafts[1])
        await world.see(event)
        assert (await world.pages(PublicList()))[0].cid == drafts[1].cid
        await lose(world, event)
        assert [await world.pages(which) for which in lists] == expected


async def test_an_unpublished_restored_version_returns_to_its_original_position(world):
    old = await world.draft()
    other = await world.draft()
    new = await world.update(old)
    event = world.event(old)
    await world.see(event)
    await lose(world, event)
    drafts = await world.pages(OwnDrafts(world.alice))
    assert [file.cid for file in drafts] == [new.cid, other.cid, old.cid]


@pytest.mark.parametrize("which", [PublicList(drafts_too=True), PublicList(("a",), True)])
async def test_paging_returns_each_draft_once_while_posts_become_drafts_again(world, which):
    there = [await world.prepare(await world.draft(), "a") for _ in range(12)]
    posts = [await world.prepare(await world.draft(), "a") for _ in range(6)]
    events = [world.event(post) for post in posts]
    await world.see(*events)
    expected = [file.cid for file in reversed(there)]
    seen, before = [], None
    while page := await world.stores.files.list_files(which, before, 2):
        seen += [file.cid for file in page]
        before = page[-1].position
        if events:
            await lose(world, events.pop())
    assert [cid for cid in seen if cid in expected] == expected


async def test_an_event_in_another_block_publishes_the_draft_again(world):
    draft = await world.draft()
    first = world.event(draft, post_id=1)
    await world.see(first)
    await lose(world, first)
    assert await world.see(world.event(draft, post_id=2)) == [EventStatus.ONCHAIN]
    assert (await world.live(draft.cid)).publication.post_id == 2


async def test_a_later_event_for_the_same_draft_replaces_a_lost_one(world):
    draft = await world.draft()
    first, second = world.event(draft, post_id=1), world.event(draft, post_id=2)
    assert await world.see(first, second) == ["onchain", "already_onchain"]
    await lose(world, first)
    assert (await world.live(draft.cid)).publication.post_id == 2


async def test_the_next_claimant_gets_the_post_id_of_a_lost_event(world):
    one, two = await world.draft(), await world.draft()
    high = world.event(one, post_id=5, block=10)
    await world.see(high, world.event(two, post_id=5, block=9))
    await lose(world, high)
    assert (await world.stores.files.file_by_post_id(5)).cid == two.cid
    assert (await world.live(one.cid)).state is State.PENDING


async def test_a_repeated_delivery_does_not_restore_an_event_from_a_lost_block(world):
    draft = await world.draft()
    event = world.event(draft)
    await world.see(event)
    await lose(world, event)
    assert await world.see(event) == [EventStatus.UNKNOWN_FILE]
    assert (await world.live(draft.cid)).state is State.PENDING


async def test_a_lost_event_is_applied_again_when_read_from_the_chain(world):
    draft = await world.draft()
    event = world.event(draft)
    await world.see(event)
    await lose(world, event)
    applied = await read_chain(world, event)
    assert applied.statuses == (EventStatus.ONCHAIN,)
    assert await world.see(event) == [EventStatus.ALREADY_ONCHAIN]


async def test_an_event_read_from_the_chain_overrides_a_later_claim(world):
    one, two = await world.draft(), await world.draft()
    await world.see(world.event(one, post_id=5, block=10))
    event = world.event(two, post_id=5, block=9)
    await read_chain(world, event)
    assert (await world.stores.files.file_by_post_id(5)).cid == two.cid


async def test_an_event_from_a_lost_block_is_not_applied_to_a_later_file(world):
    version = world.version()
    event = world.event(version)
    await world.see(event)
    await lose(world, event)
    write = world.write(Action.CREATE)
    file = await world.stores.drafts.add_draft(write, await world.begin(write, version), version)
    assert file.state is State.PENDING


async def test_losing_an_unknown_event_changes_nothing(world):
    post = await world.post()
    await lose(world, world.event(post))
    assert await world.live(post.cid) == post


async def test_losing_one_event_of_a_block_keeps_the_others(world):
    one, two = await world.draft(), await world.draft()
    kept = world.event(one, post_id=1)
    forged = world.event(two, post_id=2)
    forged = replace(forged, place=replace(kept.place, log_index=kept.place.log_index + 1))
    await world.see(kept, forged)
    await lose(world, forged)
    assert (await world.live(one.cid)).state is State.ONCHAIN
    assert (await world.live(two.cid)).state is State.PENDING


async def test_known_events_are_listed_between_two_heights(world):
    low, high, higher = (world.event(world.version(), block=number) for number in (5, 9, 10))
    lost = world.event(world.version(), block=9)
    await world.see(low, high, higher, lost)
    await lose(world, lost)
    known = await world.stores.events.known_events(CHAIN, 6, 9)
    assert [(each.event, each.confirmed) for each in known] == [(high, False)]


async def test_newest_event_block_returns_the_newest_block_up_to_a_height(world):
    low, high, higher, delivered = (
        world.event(world.version(), block=number) for number in (5, 9, 10, 7)
    )
    await read_chain(world, low, high, higher)
    await world.see(delivered)
    await lose(world, high)
    found = [await world.stores.events.newest_event_block(CHAIN, number) for number in (4, 9, 99)]
    blocks = [BlockRef(each.place.block_number, each.place.block_hash) for each in (low, higher)]
    assert found == [None, *blocks]


async def test_a_delivered_event_is_unconfirmed_until_read_from_the_chain(world):
    draft = await world.draft()
    event = world.event(draft)
    await world.see(event)
    (unconfirmed,) = await world.stores.events.unconfirmed_events(CHAIN, 10)
    assert (unconfirmed.event, unconfirmed.seen_at) == (event, world.now)
    applied = await read_chain(world, event)
    assert applied.statuses == (EventStatus.ALREADY_ONCHAIN,)
    assert await world.stores.events.unconfirmed_events(CHAIN, 10) == []


async def test_a_lost_event_is_confirmed_when_it_is_on_the_chain_again(world):
    event = world.event(await world.draft())
    await read_chain(world, event)
    await lose(world, event)
    assert await world.stores.events.known_events(CHAIN, 0, 10**9) == []
    await read_chain(world, event)
    (known,) = await world.stores.events.known_events(CHAIN, 0, 10**9)
    assert known.confirmed


async def test_cursor_and_final_block_are_stored_for_each_chain(world):
    assert await world.stores.events.cursor(CHAIN) is None
    final = BlockRef(36, "0x" + "2" * 64)
    await world.stores.events.advance(CHAIN, Advance(CURSOR, final), world.now)
    lower = BlockRef(99, "0x" + "3" * 64)
    await world.stores.events.advance(CHAIN, Advance(lower), world.now)
    assert await world.stores.events.cursor(CHAIN) == lower
    assert await world.stores.events.final_block(CHAIN) == final
    assert await world.stores.events.cursor(1) is None


async def test_disputed_blocks_are_stored_for_each_chain(world):
    events, blocks = world.stores.events, [BlockRef(7, "0x" + "2" * 64), CURSOR]
    assert await events.disputed_blocks(CHAIN) == []
    await events.set_disputed(CHAIN, frozenset(blocks))
    await events.set_disputed(CHAIN, blocks)
    assert await events.disputed_blocks(CHAIN) == blocks
    assert await events.disputed_blocks(1) == []
    await events.set_disputed(CHAIN, blocks[1:])
    assert await events.disputed_blocks(CHAIN) == [CURSOR]
