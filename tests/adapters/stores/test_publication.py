"""Events: each is applied once, in any order and from any source."""

from dataclasses import replace
from datetime import timedelta

import pytest

from imprint.domain.drafts.files import Action, Network, Publication, State
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.indexed_posts import OwnDrafts, PublicList
from imprint.domain.posts.posts import (
    Advance,
    BlockRef,
    DeadLetter,
    DeliveryKey,
    EventStatus,
    LogPosition,
)

ONCHAIN = EventStatus.ONCHAIN
ALREADY = EventStatus.ALREADY_ONCHAIN
UNKNOWN = EventStatus.UNKNOWN_FILE
MISMATCH = EventStatus.AUTHOR_MISMATCH


async def test_an_event_turns_a_draft_into_a_post(world):
    draft = await world.prepare(await world.draft(), "art")
    event = world.event(draft, post_id=7)
    world.later(minutes=5)
    assert await world.see(event) == [ONCHAIN]
    post = await world.live(draft.cid)
    expected = Publication(7, world.now, event.place.tx_hash)
    assert post == replace(draft, state=State.ONCHAIN, position=post.position, publication=expected)
    assert post.position > draft.position
    assert await world.stores.files.file_by_post_id(7) == post


@pytest.mark.parametrize("post_id", [0, 2**63, 2**256 - 1])
async def test_post_ids_up_to_the_highest_uint256_are_stored(world, post_id):
    draft = await world.draft()
    await world.see(world.event(draft, post_id=post_id))
    assert (await world.stores.files.file_by_post_id(post_id)).publication.post_id == post_id


async def test_nothing_is_found_for_an_unknown_post_id(world):
    await world.post()
    assert await world.stores.files.file_by_post_id(10**70) is None


async def test_a_repeated_event_changes_nothing(world):
    draft = await world.draft()
    event = world.event(draft)
    await world.see(event)
    post = await world.live(draft.cid)
    world.later(minutes=5)
    assert await world.see(event, event) == [ALREADY, ALREADY]
    assert await world.live(draft.cid) == post


async def test_a_duplicate_event_in_one_delivery_is_applied_once(world):
    event = world.event(await world.draft())
    assert await world.see(event, event) == [ONCHAIN, ALREADY]


async def test_the_case_of_a_block_hash_does_not_matter(world):
    event = world.event(await world.draft(), block_hash="0x" + "ab" * 32)
    loud = replace(event, place=replace(event.place, block_hash="0x" + "AB" * 32))
    assert await world.see(event, loud) == [ONCHAIN, ALREADY]


async def test_a_second_publication_of_a_file_does_not_change_its_post(world):
    draft = await world.draft()
    assert await world.see(world.event(draft, post_id=1), world.event(draft, post_id=2)) == [
        ONCHAIN,
        ALREADY,
    ]
    assert (await world.live(draft.cid)).publication.post_id == 1
    assert await world.stores.files.file_by_post_id(2) is None


async def test_an_event_by_another_account_does_not_affect_the_owner(world):
    draft = await world.draft()
    foreign = world.event(draft, author=world.bob)
    assert await world.see(foreign, foreign) == [MISMATCH, MISMATCH]
    assert await world.live(draft.cid) == draft
    assert await world.stores.files.file_by_post_id(foreign.post_id) is None
    assert await world.see(world.event(draft)) == [ONCHAIN]


async def test_an_event_without_a_file_is_reported_as_unknown(world):
    assert await world.see(world.event(world.version())) == [UNKNOWN]


async def test_an_event_with_an_invalid_cid_is_reported_as_unknown(world):
    event = replace(world.event(world.version()), cid=None, spelled_cid="\0\ud800 no cid")
    assert await world.see(event, event) == [UNKNOWN, UNKNOWN]


async def add(world, version):
    write = world.write(Action.CREATE, version.owner)
    return await world.stores.drafts.add_draft(write, await world.begin(write, version), version)


async def test_a_file_added_after_its_event_is_a_post_immediately(world):
    version = world.version()
    event = world.event(version, post_id=9)
    await world.see(event)
    file = await add(world, version)
    assert file.state is State.ONCHAIN
    assert file.publication == Publication(9, world.now, event.place.tx_hash)
    assert await world.stores.files.file_by_post_id(9) == file
    assert await world.see(event) == [ALREADY]


async def test_an_update_added_after_its_event_is_a_post_immediately(world):
    old = await world.prepare(await world.draft(), "art")
    write, version = world.write(Action.UPDATE), world.version(group_id=old.group_id)
    await world.see(world.event(version))
    intent = await world.begin(write, version)
    new = await world.stores.drafts.replace_draft(write, intent, old.cid, version)
    assert new.state is State.ONCHAIN
    assert await world.pages(PublicList(("art",))) == [new]
    assert await world.pages(OwnDrafts(world.alice)) == []


async def test_an_earlier_event_by_another_account_does_not_publish_a_file(world):
    version = world.version()
    await world.see(world.event(version, author=world.bob))
    assert (await add(world, version)).state is State.PENDING


async def test_the_earliest_of_several_earlier_events_by_the_owner_is_applied(world):
    version = world.version()
    await world.see(
        world.event(version, author=world.bob, post_id=1, block=10),
        world.event(version, post_id=3, block=30),
        world.event(version, post_id=2, block=20),
    )
    assert (await add(world, version)).publication.post_id == 2


async def test_an_event_restores_a_replaced_version(world):
    first = await world.prepare(await world.draft(), "art")
    second = await world.update(first)
    assert await world.see(world.event(first)) == [ONCHAIN]
    post, draft = await world.live(first.cid), await world.live(second.cid)
    assert (post.state, draft.state) == (State.ONCHAIN, State.PENDING)
    assert post.group_id == first.group_id
    assert post.hashtags == draft.hashtags == ("art",)
    assert post.thumbnail_cid == draft.thumbnail_cid == first.thumbnail_cid
    assert draft == replace(second, group_id=draft.group_id)
    assert draft.group_id != post.group_id


async def test_a_draft_split_from_its_group_has_its_own_hashtags(world):
    first = await world.prepare(await world.draft(), "art")
    second = await world.update(first)
    await world.see(world.event(first))
    await world.prepare(second, "zen")
    assert (await world.live(first.cid)).hashtags == ("art",)
    assert (await world.live(second.cid)).hashtags == ("zen",)


async def test_an_event_restores_a_deleted_version(world):
    file = await world.prepare(await world.draft(), "art")
    await world.delete(file)
    assert await world.see(world.event(file)) == [ONCHAIN]
    post = await world.live(file.cid)
    assert (post.hashtags, post.thumbnail_cid) == (("art",), file.thumbnail_cid)
    assert await world.stores.files.public_size(file.thumbnail_cid) is not None
    assert await world.pages(PublicList(("art",))) == [post]


async def test_an_event_restores_the_thumbnail_it_names(world):
    first, second = world.cid(), world.cid()
    file = await world.prepare(await world.draft(), "art", thumbnail=first)
    await world.prepare(file, "art", thumbnail=second)
    await world.see(world.event(file, thumbnail=first))
    post = await world.live(file.cid)
    assert (post.thumbnail_cid, post.hashtags) == (first, ("art",))
    world.later(hours=25)
    assert await world.condemn() == {(second, "public")}
    assert await world.stores.files.public_size(first) is not None
    assert await world.stores.garbage.recount_usage() == 0


async def test_a_deleted_version_is_restored_with_the_thumbnail_its_event_names(world):
    first = world.cid()
    file = await world.prepare(await world.draft(), thumbnail=first)
    await world.delete(await world.prepare(file))
    await world.see(world.event(file, thumbnail=first))
    assert (await world.live(file.cid)).thumbnail_cid == first
    assert await world.stores.garbage.recount_usage() == 0


async def test_an_event_cannot_set_a_thumbnail_its_author_never_had(world):
    theirs, own = world.cid(), world.cid()
    stranger = await world.prepare(await world.draft(world.bob), thumbnail=theirs)
    await world.prepare(stranger)
    file = await world.prepare(await world.draft(), thumbnail=own)
    for named in (theirs, world.cid()):
        event = world.event(file, thumbnail=named)
        await world.see(event)
        assert (await world.live(file.cid)).thumbnail_cid == own
    assert await world.stores.garbage.recount_usage() == 0


async def test_two_published_versions_of_one_group_are_split_into_two_groups(world):
    first = await world.draft()
    second = await world.update(first)
    assert await world.see(world.event(second), world.event(first)) == [ONCHAIN, ONCHAIN]
    older, newer = await world.live(first.cid), await world.live(second.cid)
    assert newer.group_id == second.group_id
    assert older.group_id != newer.group_id


async def test_an_event_by_another_account_restores_nothing(world):
    file = await world.draft()
    await world.delete(file)
    assert await world.see(world.event(file, author=world.bob)) == [MISMATCH]
    assert await world.stores.files.file_by_cid(file.cid) is None


async def test_a_version_whose_document_is_marked_for_deletion_is_not_restored(world):
    file = await world.draft()
    await world.delete(file)
    world.later(hours=25)
    await world.condemn()
    event = world.event(file)
    assert await world.see(event) == [UNKNOWN]
    await world.purge(file.cid, Network.PRIVATE)
    assert await world.see(event) == [UNKNOWN]
    assert await world.stores.files.file_by_cid(file.cid) is None


async def test_the_later_of_two_claims_to_a_post_id_wins(world):
    one, two = await world.draft(), await world.draft()
    assert await world.see(world.event(one, post_id=5, block=10)) == [ONCHAIN]
    assert await world.see(world.event(two, post_id=5, block=9)) == [ALREADY]
    assert (await world.stores.files.file_by_post_id(5)).cid == one.cid
    assert await world.see(world.event(two, post_id=5, block=10)) == [ONCHAIN]
    assert (await world.stores.files.file_by_post_id(5)).cid == two.cid
    assert await world.live(one.cid) == one


async def test_repeating_an_event_does_not_win_back_a_lost_post_id(world):
    one, two = await world.draft(), await world.draft()
    lost = world.event(one, post_id=5, block=10)
    await world.see(lost, world.event(two, post_id=5, block=10))
    assert await world.see(lost) == [UNKNOWN]
    assert (await world.stores.files.file_by_post_id(5)).cid == two.cid


KEY = DeliveryKey("provider-b", "digest-1", "nonce-1")


async def test_a_repeated_delivery_is_a_duplicate_and_changes_nothing(world):
    first, second = world.event(await world.draft()), world.event(await world.draft())
    apply = world.stores.events.apply_events
    assert not (await apply(KEY, [first], [], world.now)).duplicate
    again = await apply(KEY, [second], [], world.now)
    assert (again.duplicate, again.statuses) == (True, ())
    assert await world.see(second) == [ONCHAIN]


@pytest.mark.parametrize("change", [{"digest": "digest-2"}, {"nonce": "nonce-2"}])
async def test_a_delivery_is_recognized_by_either_digest_or_nonce(world, change):
    await world.stores.events.apply_events(KEY, [], [], world.now)
    assert (
        await world.stores.events.apply_events(replace(KEY, **change), [], [], world.now)
    ).duplicate


async def test_delivery_keys_are_separate_for_each_provider(world):
    await world.stores.events.apply_events(KEY, [], [], world.now)
    other = replace(KEY, provider="provider-a")
    assert not (await world.stores.events.apply_events(other, [], [], world.now)).duplicate


async def test_deliveries_without_a_nonce_are_distinguished_by_digest(world):
    one, two = replace(KEY, nonce=""), replace(KEY, nonce="", digest="digest-2")
    assert not (await world.stores.events.apply_events(one, [], [], world.now)).duplicate
    assert not (await world.stores.events.apply_events(two, [], [], world.now)).duplicate


async def test_pruned_deliveries_are_no_longer_recognized(world):
    await world.stores.events.apply_events(KEY, [], [], world.now)
    await world.stores.garbage.prune_replays(world.now)
    assert (await world.stores.events.apply_events(KEY, [], [], world.now)).duplicate
    await world.stores.garbage.prune_replays(world.now + timedelta(microseconds=1))
    assert not (await world.stores.events.apply_events(KEY, [], [], world.now)).duplicate


async def test_an_unstorable_event_does_not_affect_the_others(world):
    drafts = [await world.draft() for _ in range(3)]
    events = [world.event(draft) for draft in drafts]
    place = replace(events[1].place, log_index=2**64)
    events[1] = replace(events[1], place=place)
    assert await world.see(*events) == [ONCHAIN, EventStatus.DEAD_LETTER, ONCHAIN]
    assert await world.live(drafts[1].cid) == drafts[1]


async def test_malformed_and_repeated_dead_letters_are_accepted(world):
    place = LogPosition(1, "0xAB", None, 2**70, None)
    letters = [DeadLetter(place, "why", "\0\ud800"), DeadLetter(None, "", "x" * 100_000)]
    assert await world.see(letters=letters * 2) == []
    assert await world.see(letters=letters) == []


async def test_many_events_in_one_delivery_are_applied_in_order(world):
    files = [await world.draft() for _ in range(30)]
    events = [world.event(file) for file in files]
    foreign = world.event(files[0], author=Address("0x" + "c" * 40))
    assert await world.see(*events, foreign) == [ONCHAIN] * 30 + [MISMATCH]
    assert [file.cid for file in await world.pages(PublicList())] == [
        file.cid for file in reversed(files)
    ]


async def test_an_event_with_the_cid_of_a_thumbnail_is_reported_as_unknown(world):
    picture = Cid("bafypicture")
    file = await world.prepare(await world.draft(), thumbnail=picture)
    event = replace(world.event(file), cid=picture)
    assert await world.see(event) == [UNKNOWN]


async def test_a_delivery_does_not_overwrite_an_event_read_from_the_chain(world):
    draft = await world.draft()
    real = replace(world.event(draft), spelled_cid="no cid at all", cid=None)
    await world.stores.events.advance(31337, Advance(BlockRef(9, "0x9"), events=(real,)), world.now)
    forged = replace(world.event(draft), place=real.place)
    assert await world.see(forged) == [EventStatus.UNKNOWN_FILE]
    assert (await world.live(draft.cid)).state is State.PENDING


async def test_an_event_read_from_the_chain_overwrites_a_forged_delivery(world):
    draft, other = await world.draft(), await world.draft()
    forged = world.event(draft, post_id=1)
    assert await world.see(forged) == [EventStatus.ONCHAIN]
    real = replace(world.event(other, post_id=1), place=forged.place)
    await world.stores.events.advance(31337, Advance(BlockRef(9, "0x9"), events=(real,)), world.now)
    assert (await world.live(draft.cid)).state is State.PENDING
    assert (await world.stores.files.file_by_post_id(1)).cid == other.cid


async def test_a_repeated_dead_letter_is_not_counted_as_new(world):
    letter = DeadLetter(world.event(world.version()).place, "no text", "{}")
    step = Advance(BlockRef(9, "0x9"), dead_letters=(letter,))
    assert (await world.stores.events.advance(31337, step, world.now)).new_letters == 1
    assert (await world.stores.events.advance(31337, step, world.now)).new_letters == 0
