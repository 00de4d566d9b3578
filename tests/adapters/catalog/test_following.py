"""What the follower needs: blocks that leave the chain, what was read, and whose turn it is."""

from dataclasses import replace
from datetime import timedelta

from imprint.adapters.catalog.following import BlockMark
from imprint.domain.files import Action, State
from imprint.domain.paging import OwnDrafts, PublicList
from imprint.domain.posts import EventStatus

CHAIN = 31337


def block_hash(event):
    return event.place.block_hash


async def test_a_post_whose_block_left_the_chain_is_a_draft_again(world):
    draft = await world.dress(await world.draft(), "a")
    event = world.event(draft)
    await world.see(event)
    held = await world.catalog.orphan_block(CHAIN, block_hash(event))
    assert [file.cid for file in held] == [draft.cid]
    again = await world.live(draft.cid)
    assert again == replace(draft, position=again.position)
    assert await world.catalog.file_by_post_id(event.post_id) is None
    assert await world.pages(PublicList(("a",))) == []
    assert await world.pages(OwnDrafts(world.alice)) == [again]


async def test_the_event_in_another_block_publishes_it_again(world):
    draft = await world.draft()
    first = world.event(draft, post_id=1)
    await world.see(first)
    await world.catalog.orphan_block(CHAIN, block_hash(first))
    assert await world.see(world.event(draft, post_id=2)) == [EventStatus.ONCHAIN]
    assert (await world.live(draft.cid)).publication.post_id == 2


async def test_an_event_that_waited_takes_the_place_of_the_lost_one(world):
    draft = await world.draft()
    first, second = world.event(draft, post_id=1), world.event(draft, post_id=2)
    assert await world.see(first, second) == ["onchain", "already_onchain"]
    await world.catalog.orphan_block(CHAIN, block_hash(first))
    assert (await world.live(draft.cid)).publication.post_id == 2


async def test_a_claim_that_waited_for_the_post_id_gets_it(world):
    one, two = await world.draft(), await world.draft()
    high = world.event(one, post_id=5, block=10)
    await world.see(high, world.event(two, post_id=5, block=9))
    await world.catalog.orphan_block(CHAIN, block_hash(high))
    assert (await world.catalog.file_by_post_id(5)).cid == two.cid
    assert (await world.live(one.cid)).state is State.PENDING


async def test_an_old_delivery_revives_no_event_of_a_lost_block(world):
    draft = await world.draft()
    event = world.event(draft)
    await world.see(event)
    await world.catalog.orphan_block(CHAIN, block_hash(event))
    assert await world.see(event) == [EventStatus.UNKNOWN_FILE]
    assert (await world.live(draft.cid)).state is State.PENDING


async def test_the_word_of_the_chain_revives_it(world):
    draft = await world.draft()
    event = world.event(draft)
    await world.see(event)
    await world.catalog.orphan_block(CHAIN, block_hash(event))
    settled = await world.catalog.settle_canonical([event], [], world.now)
    assert settled.statuses == (EventStatus.ONCHAIN,)
    assert await world.see(event) == [EventStatus.ALREADY_ONCHAIN]


async def test_the_word_of_the_chain_beats_a_higher_claim(world):
    one, two = await world.draft(), await world.draft()
    await world.see(world.event(one, post_id=5, block=10))
    event = world.event(two, post_id=5, block=9)
    await world.catalog.settle_canonical([event], [], world.now)
    assert (await world.catalog.file_by_post_id(5)).cid == two.cid


async def test_an_event_of_a_lost_block_is_not_applied_to_a_file_that_comes_later(world):
    version = world.version()
    event = world.event(version)
    await world.see(event)
    await world.catalog.orphan_block(CHAIN, block_hash(event))
    write = world.write(Action.CREATE)
    file = await world.catalog.add_draft(write, await world.begin(write, version), version)
    assert file.state is State.PENDING


async def test_losing_an_unknown_block_changes_nothing(world):
    post = await world.post()
    assert await world.catalog.orphan_block(CHAIN, "0x" + "0" * 64) == []
    assert await world.live(post.cid) == post


async def test_blocks_with_events_are_told_from_a_height_on(world):
    low, high = (world.event(world.version(), block=number) for number in (5, 9))
    lost = world.event(world.version(), block=9)
    await world.see(low, high, lost)
    await world.catalog.orphan_block(CHAIN, block_hash(lost))
    marks = await world.catalog.blocks_with_events(CHAIN, 6)
    assert marks == [BlockMark(9, block_hash(high))]


async def test_blocks_are_remembered_forgotten_and_rewound(world):
    blocks = [BlockMark(number, f"0x{number}") for number in range(1, 6)]
    await world.catalog.note_blocks(CHAIN, blocks, forget_below=2)
    assert await world.catalog.recent_blocks(CHAIN, 10) == blocks[:0:-1]
    await world.catalog.rewind_blocks(CHAIN, 3)
    await world.catalog.note_blocks(CHAIN, [BlockMark(3, "0xother")], forget_below=0)
    assert await world.catalog.recent_blocks(CHAIN, 1) == [BlockMark(3, "0xother")]
    assert await world.catalog.recent_blocks(1, 10) == []


async def test_a_lease_has_one_holder_until_it_ends(world):
    take, minute = world.catalog.take_lease, timedelta(minutes=1)
    assert await take("follow", "one", world.now, world.now + minute)
    assert not await take("follow", "two", world.now, world.now + minute)
    assert await take("keep", "two", world.now, world.now + minute)
    assert await take("follow", "one", world.now, world.now + 2 * minute)
    assert not await take("follow", "two", world.now + minute, world.now + 3 * minute)
    later = world.now + 2 * minute
    assert await take("follow", "two", later, later + minute)


async def test_a_lease_is_given_back_only_by_its_holder(world):
    until = world.now + timedelta(minutes=1)
    await world.catalog.take_lease("follow", "one", world.now, until)
    await world.catalog.release_lease("follow", "two")
    assert not await world.catalog.take_lease("follow", "two", world.now, until)
    await world.catalog.release_lease("follow", "one")
    assert await world.catalog.take_lease("follow", "two", world.now, until)
