"""Reorgs: events of replaced blocks are undone, and events of the new blocks are applied."""

from datetime import timedelta

import pytest
from prometheus_client import REGISTRY
from tests.services.conftest import BOB, DEPTH, Ledger, forge
from tests.services.scripted_chain import CHAIN, say_created

from imprint.domain.drafts.files import File, State
from imprint.domain.posts.marketplace import decode_post_created
from imprint.domain.posts.posts import EventStatus
from imprint.services.publication.chain_sync import FOLLOWER_LEASE
from imprint.services.tasks.leases import SHORT_LEASE_TIME


async def test_a_post_whose_block_is_replaced_becomes_a_draft_without_a_post_id(
    ledger: Ledger,
) -> None:
    draft = await ledger.draft()
    ledger.post(draft, 1)
    await ledger.follow()
    ledger.chain.fork(1)
    ledger.chain.mine(blocks=2)
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING
    assert await ledger.holder(1) is None


async def test_an_event_in_another_block_makes_the_draft_a_post_again(ledger: Ledger) -> None:
    draft = await ledger.draft()
    ledger.post(draft, 1)
    await ledger.follow()
    ledger.chain.fork(1)
    ledger.chain.mine(blocks=2)
    await ledger.follow()
    ledger.post(draft, 1)
    await ledger.follow()
    assert await ledger.post_id(draft) == 1


@pytest.mark.parametrize("seen_between", [True, False])
async def test_a_branch_that_becomes_canonical_again_is_applied_again(
    ledger: Ledger, seen_between: bool
) -> None:
    draft = await ledger.draft()
    ledger.post(draft, 1)
    await ledger.follow()
    gone = ledger.chain.fork(1)
    ledger.chain.mine()
    if seen_between:
        await ledger.follow()
        assert await ledger.state(draft) is State.PENDING
    ledger.chain.fork(1)
    ledger.chain.blocks += gone
    await ledger.follow()
    assert await ledger.post_id(draft) == 1


@pytest.mark.parametrize("delivered", [True, False])
async def test_a_post_id_reassigned_by_a_reorg_belongs_to_its_new_author(
    ledger: Ledger, delivered: bool
) -> None:
    hers, his = await ledger.draft(), await ledger.draft(BOB)
    ledger.post(hers, 1)
    await ledger.follow()
    ledger.chain.fork(1)
    block = ledger.post(his, 1)
    if delivered:
        await ledger.deliver_block(block)
    await ledger.follow()
    assert await ledger.holder(1) == his.cid
    assert await ledger.state(hers) is State.PENDING
    ledger.post(hers, 2)
    await ledger.follow()
    assert await ledger.post_id(hers) == 2


async def test_posts_that_swap_post_ids_in_a_reorg_get_their_new_ids(
    ledger: Ledger,
) -> None:
    one, two = await ledger.draft(), await ledger.draft(BOB)
    ledger.post(one, 1)
    ledger.post(two, 2)
    await ledger.follow()
    ledger.chain.fork(2)
    ledger.post(two, 1)
    ledger.post(one, 2)
    await ledger.follow()
    assert [await ledger.post_id(file) for file in (one, two)] == [2, 1]


async def test_posts_that_swap_post_ids_get_their_new_ids_without_block_numbers(
    ledger: Ledger,
) -> None:
    one, two = await ledger.draft(), await ledger.draft(BOB)
    await ledger.deliver_block(ledger.post(one, 1))
    (log,) = ledger.post(two, 2).logs
    await ledger.deliver(forge(decode_post_created(log), block_number=None))
    ledger.chain.fork(2)
    ledger.post(two, 1)
    ledger.post(one, 2)
    await ledger.follow()
    assert [await ledger.post_id(file) for file in (one, two)] == [2, 1]


@pytest.mark.parametrize("depth", range(1, DEPTH + 1))
async def test_reorgs_of_every_depth_up_to_the_configured_one_are_followed(
    ledger: Ledger, depth: int
) -> None:
    ledger.chain.mine(blocks=5)
    posts: list[File] = []
    for number in range(1, DEPTH + 1):
        posts.append(await ledger.draft())
        ledger.post(posts[-1], number)
    await ledger.follow()
    ledger.chain.fork(depth)
    ledger.chain.mine(blocks=depth)
    await ledger.follow()
    kept = [State.ONCHAIN] * (DEPTH - depth) + [State.PENDING] * depth
    assert [await ledger.state(file) for file in posts] == kept
    assert not ledger.follower.deep_reorg


async def test_an_old_delivery_does_not_restore_an_undone_event(ledger: Ledger) -> None:
    draft = await ledger.draft()
    block = ledger.post(draft)
    await ledger.follow()
    ledger.chain.fork(1)
    ledger.chain.mine(blocks=2)
    await ledger.follow()
    assert await ledger.deliver_block(block) == [EventStatus.UNKNOWN_FILE]
    assert await ledger.state(draft) is State.PENDING


async def test_a_reorg_during_downtime_is_followed(ledger: Ledger) -> None:
    gone, stays = await ledger.draft(), await ledger.draft()
    ledger.chain.mine(blocks=20)
    ledger.post(gone, 1)
    await ledger.follow()
    ledger.chain.mine(blocks=2)
    ledger.chain.fork(DEPTH)
    ledger.chain.mine(blocks=500)
    ledger.post(stays, 1)
    await ledger.restart()
    await ledger.follow()
    assert await ledger.state(gone) is State.PENDING
    assert await ledger.holder(1) == stays.cid


async def make_deep_reorg(ledger: Ledger) -> tuple[File, File]:
    """Replace a final post in a deep reorg, and return the old and the new file."""
    old, new = await ledger.draft(), await ledger.draft(BOB)
    ledger.post(old, 1)
    ledger.chain.mine(blocks=DEPTH)
    await ledger.follow()
    ledger.chain.fork(DEPTH + 1)
    ledger.chain.mine(blocks=DEPTH)
    ledger.chain.mine(say_created(1, new.owner, new.cid))
    return old, new


async def test_a_deep_reorg_raises_an_alarm_and_changes_nothing(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    old, new = await make_deep_reorg(ledger)
    await ledger.follow()
    ledger.chain.mine(blocks=2 * DEPTH)
    await ledger.follow(3)
    assert ledger.follower.deep_reorg
    assert [record.levelname for record in caplog.records] == ["CRITICAL"]
    assert await ledger.holder(1) == old.cid
    assert await ledger.state(new) is State.PENDING


async def test_the_deep_reorg_alarm_is_raised_again_after_a_restart(ledger: Ledger) -> None:
    await make_deep_reorg(ledger)
    await ledger.follow()
    await ledger.restart()
    await ledger.follow()
    assert ledger.follower.deep_reorg


async def test_a_lagging_node_does_not_clear_the_deep_reorg_alarm(ledger: Ledger) -> None:
    await make_deep_reorg(ledger)
    await ledger.follow()
    ledger.chain.fork(DEPTH + 1)
    await ledger.follow()
    assert ledger.follower.deep_reorg


async def test_a_rebuild_clears_the_alarm_and_applies_the_new_chain(ledger: Ledger) -> None:
    old, new = await make_deep_reorg(ledger)
    await ledger.follow()
    await ledger.follower.rebuild(0, lambda reached, last: None)
    assert not ledger.follower.deep_reorg
    assert await ledger.state(old) is State.PENDING
    assert await ledger.holder(1) == new.cid
    await ledger.follow()
    assert not ledger.follower.deep_reorg


async def test_another_follower_continues_after_a_rebuild(ledger: Ledger) -> None:
    await make_deep_reorg(ledger)
    await ledger.follow()
    await ledger.new_follower().rebuild(0, lambda reached, last: None)
    later = await ledger.draft()
    ledger.post(later, 2)
    await ledger.follow()
    assert not ledger.follower.deep_reorg
    assert await ledger.post_id(later) == 2


async def test_a_delivery_cannot_take_over_a_post_id_read_from_the_chain(ledger: Ledger) -> None:
    old, new = await make_deep_reorg(ledger)
    assert await ledger.deliver_block(ledger.chain.blocks[-1]) == [EventStatus.ALREADY_ONCHAIN]
    assert await ledger.holder(1) == old.cid
    assert await ledger.state(new) is State.PENDING


async def test_the_final_block_follows_the_head(ledger: Ledger) -> None:
    for _ in range(3):
        ledger.chain.mine(blocks=DEPTH)
        await ledger.follow()
    head = ledger.chain.blocks[-1].ref.number
    final = await ledger.stores.events.final_block(CHAIN)
    assert final == ledger.chain.blocks[head - DEPTH].ref


async def test_a_process_that_lost_its_lease_clears_its_alarm(ledger: Ledger) -> None:
    await make_deep_reorg(ledger)
    await ledger.follow()
    assert REGISTRY.get_sample_value("imprint_deep_reorg") == 1
    ledger.clock.advance(2 * SHORT_LEASE_TIME.total_seconds())
    assert await ledger.stores.leases.take_lease(FOLLOWER_LEASE, "other", timedelta(minutes=1))
    assert not await ledger.follower.follow_once()
    for gauge in ("imprint_deep_reorg", "imprint_head_below_final"):
        assert REGISTRY.get_sample_value(gauge) == 0
    assert not ledger.follower.deep_reorg
