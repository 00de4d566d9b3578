"""Unconfirmed events take effect at once, and are undone if they are not on the chain."""

from dataclasses import replace

import pytest
from tests.services.conftest import BOB, DEPTH, Ledger, forge
from tests.services.scripted_chain import ScriptedBlock, copy_chain

from imprint.domain.drafts.files import File, State
from imprint.domain.posts.marketplace import decode_post_created, stand_in_block_hash
from imprint.domain.posts.posts import EventStatus, PostCreated

UNKNOWN = "0x" + "e" * 64


def read_event(block: ScriptedBlock) -> PostCreated:
    return decode_post_created(block.logs[0])


async def invent(ledger: Ledger, file: File, **place: object) -> PostCreated:
    """A signed but false event about a draft. The event is in no block of the chain."""
    other = await ledger.draft(file.owner)
    event = read_event(ledger.post(other, 77))
    ledger.chain.fork(1)
    lie = replace(event, spelled_cid=str(file.cid), cid=file.cid)
    return forge(lie, **{"block_hash": UNKNOWN, **place})


async def test_a_forged_event_in_an_existing_block_is_undone_in_the_next_round(
    ledger: Ledger,
) -> None:
    ledger.chain.mine(blocks=3)
    draft = await ledger.draft()
    lie = await invent(ledger, draft, block_number=2)
    await ledger.follow()
    assert await ledger.deliver(lie) == [EventStatus.ONCHAIN]
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING


async def test_a_forged_event_in_a_final_block_is_undone_in_the_next_round(ledger: Ledger) -> None:
    ledger.chain.mine(blocks=5 * DEPTH)
    draft = await ledger.draft()
    await ledger.follow()
    await ledger.deliver(await invent(ledger, draft, block_number=2))
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING


@pytest.mark.parametrize("number", [10**6, None])
async def test_a_forged_event_in_a_future_block_is_undone_within_a_minute(
    ledger: Ledger, number: int | None
) -> None:
    draft = await ledger.draft()
    await ledger.deliver(await invent(ledger, draft, block_number=number))
    await ledger.follow()
    assert await ledger.state(draft) is State.ONCHAIN
    ledger.clock.advance(40)
    ledger.chain.mine()
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING


async def test_a_forged_event_is_undone_eventually_without_new_blocks(ledger: Ledger) -> None:
    draft = await ledger.draft()
    await ledger.deliver(await invent(ledger, draft, block_number=10**6))
    ledger.clock.advance(601)
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING


async def test_a_stalled_node_does_not_refute_later_events(ledger: Ledger) -> None:
    draft = await ledger.draft()
    stopped = copy_chain(ledger.chain, 1)
    ledger.clock.advance(1)
    block = ledger.post(draft)
    await ledger.deliver_block(block)
    ledger.follower = ledger.new_follower(stopped)
    for _ in range(5):
        ledger.clock.advance(60)
        await ledger.follow()
    assert await ledger.state(draft) is State.ONCHAIN


async def test_a_genuine_event_is_kept_however_long_it_is_unconfirmed(ledger: Ledger) -> None:
    draft = await ledger.draft()
    await ledger.follow()
    block = ledger.post(draft)
    await ledger.follow()
    await ledger.deliver(forge(read_event(block), block_number=None))
    ledger.clock.advance(3600)
    await ledger.follow(2)
    assert await ledger.state(draft) is State.ONCHAIN


async def test_a_forged_log_in_a_real_block_is_undone(ledger: Ledger) -> None:
    real, draft = await ledger.draft(), await ledger.draft()
    event = read_event(ledger.post(real, 1))
    lie = replace(forge(event, log_index=1), post_id=2, spelled_cid=str(draft.cid), cid=draft.cid)
    await ledger.deliver(event, lie)
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING
    assert await ledger.post_id(real) == 1


@pytest.mark.parametrize("read_before", [True, False])
async def test_an_event_with_forged_content_for_a_real_log_is_undone(
    ledger: Ledger, read_before: bool
) -> None:
    real, draft = await ledger.draft(), await ledger.draft()
    event = read_event(ledger.post(real, 1))
    if read_before:
        await ledger.follow()
    lie = replace(event, post_id=9, spelled_cid=str(draft.cid), cid=draft.cid)
    await ledger.deliver(lie)
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING
    assert await ledger.post_id(real) == 1
    assert await ledger.holder(9) is None


async def test_a_corrected_log_is_undone_and_applied_again_by_reorgs(
    ledger: Ledger,
) -> None:
    real, draft = await ledger.draft(), await ledger.draft()
    block = ledger.post(real, 1)
    event = read_event(block)
    await ledger.deliver(replace(event, post_id=9, spelled_cid=str(draft.cid), cid=draft.cid))
    await ledger.follow()
    ledger.chain.fork(1)
    ledger.chain.mine(blocks=2)
    await ledger.follow()
    assert await ledger.state(real) is State.PENDING
    ledger.chain.fork(2)
    ledger.chain.blocks.append(block)
    await ledger.follow()
    assert await ledger.post_id(real) == 1


@pytest.mark.parametrize("number", [None, 10**6])
async def test_a_wrong_block_number_is_corrected_so_that_a_reorg_undoes_the_event(
    ledger: Ledger, number: int | None
) -> None:
    draft = await ledger.draft()
    event = read_event(ledger.post(draft, 1))
    await ledger.deliver(forge(event, block_number=number, tx_hash=None))
    await ledger.follow()
    found = await ledger.stores.files.file_by_cid(draft.cid)
    assert found is not None
    assert found.publication is not None
    assert found.publication.tx_hash == event.place.tx_hash
    ledger.chain.fork(1)
    ledger.chain.mine(blocks=2)
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING


@pytest.mark.parametrize("number", [None, 1])
async def test_a_placeholder_event_is_replaced_by_the_real_one_and_the_post_stays(
    ledger: Ledger, number: int | None
) -> None:
    draft = await ledger.draft()
    event = read_event(ledger.post(draft, 1))
    stand_in = forge(event, block_hash=stand_in_block_hash(b"a log"), block_number=number)
    assert await ledger.deliver(stand_in) == [EventStatus.ONCHAIN]
    for _ in range(4):
        await ledger.follow()
        assert await ledger.post_id(draft) == 1
        ledger.clock.advance(20)
        ledger.chain.mine()
    assert await ledger.stores.events.unconfirmed_events(31337, 10) == []
    ledger.chain.fork(5)
    ledger.chain.mine(blocks=6)
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING


async def test_a_placeholder_event_without_a_real_one_is_undone(ledger: Ledger) -> None:
    draft = await ledger.draft()
    stand_in = await invent(ledger, draft, block_hash=stand_in_block_hash(b"nothing"))
    await ledger.deliver(forge(stand_in, block_number=None))
    ledger.clock.advance(31)
    ledger.chain.mine()
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING


@pytest.mark.parametrize("final", [True, False])
async def test_a_forged_event_does_not_take_a_post_id_away_from_its_post(
    ledger: Ledger, final: bool
) -> None:
    hers, his = await ledger.draft(), await ledger.draft(BOB)
    ledger.post(hers, 1)
    ledger.chain.mine(blocks=3 * DEPTH if final else 1)
    await ledger.follow()
    lie = await invent(ledger, his, block_number=10**6)
    assert await ledger.deliver(replace(lie, post_id=1)) == [EventStatus.ALREADY_ONCHAIN]
    assert await ledger.holder(1) == hers.cid
    ledger.clock.advance(31)
    ledger.chain.mine()
    await ledger.follow()
    assert await ledger.holder(1) == hers.cid


async def test_a_forged_event_that_arrived_first_loses_the_post_id(ledger: Ledger) -> None:
    hers, his = await ledger.draft(), await ledger.draft(BOB)
    lie = await invent(ledger, his, block_number=10**6)
    await ledger.deliver(replace(lie, post_id=1))
    ledger.post(hers, 1)
    await ledger.follow()
    assert await ledger.holder(1) == hers.cid
    assert await ledger.state(his) is State.PENDING


async def test_many_forged_events_are_undone_in_one_round(
    ledger: Ledger,
) -> None:
    drafts = [await ledger.draft() for _ in range(40)]
    for number, draft in enumerate(drafts):
        lie = await invent(ledger, draft, block_hash=f"0xee{number:062x}", block_number=0)
        await ledger.deliver(replace(lie, post_id=100 + number))
    await ledger.follow()
    assert {await ledger.state(draft) for draft in drafts} == {State.PENDING}


async def test_a_post_named_by_a_forged_event_gets_the_id_of_its_real_event(
    ledger: Ledger,
) -> None:
    real, other = await ledger.draft(), await ledger.draft()
    event = read_event(ledger.post(real, 1))
    await ledger.deliver(replace(event, post_id=9, spelled_cid=str(other.cid), cid=other.cid))
    ledger.post(other, 2)
    await ledger.follow()
    assert [await ledger.post_id(file) for file in (real, other)] == [1, 2]


async def test_a_real_event_that_corrected_a_forged_one_is_undone_by_a_reorg(
    ledger: Ledger,
) -> None:
    draft = await ledger.draft()
    ledger.post(draft, 1)
    await ledger.follow()
    ledger.chain.fork(1)
    event = read_event(ledger.post(draft, 1))
    await ledger.deliver(forge(replace(event, post_id=9), block_number=None))
    await ledger.follow()
    assert await ledger.post_id(draft) == 1
    ledger.chain.fork(1)
    ledger.chain.mine(blocks=2)
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING
