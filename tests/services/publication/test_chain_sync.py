"""The follower keeps the catalog consistent with the chain, whatever webhooks claim."""

from collections.abc import Collection
from datetime import timedelta

import pytest
from tests.services.conftest import ALICE, BOB, DEPTH, Ledger, forge, running, wait_until
from tests.services.scripted_chain import CHAIN, SeveralNodes, copy_chain, say_created

from imprint.domain.drafts.files import File, State
from imprint.domain.errors import Unavailable
from imprint.domain.posts.marketplace import Log, decode_post_created
from imprint.domain.posts.posts import Advance, BlockRef, EventStatus
from imprint.services.chain.log_stream import History
from imprint.services.publication.chain_sync import FOLLOWER_LEASE
from imprint.services.tasks.leases import SHORT_LEASE_TIME


async def test_posts_are_found_on_the_chain_without_any_delivery(ledger: Ledger) -> None:
    drafts = [await ledger.draft() for _ in range(5)]
    for number, draft in enumerate(drafts, 1):
        ledger.post(draft, number)
    await ledger.follow()
    assert [await ledger.post_id(draft) for draft in drafts] == [1, 2, 3, 4, 5]


async def test_publishing_another_accounts_draft_changes_nothing(ledger: Ledger) -> None:
    draft = await ledger.draft()
    ledger.chain.mine(say_created(1, BOB, draft.cid))
    await ledger.follow()
    assert await ledger.state(draft) is State.PENDING


async def test_an_event_is_applied_once_whichever_source_delivers_it_first(ledger: Ledger) -> None:
    one, two = await ledger.draft(), await ledger.draft()
    first, second = ledger.post(one, 1), ledger.post(two, 2)

    async def both() -> list[File | None]:
        return [await ledger.stores.files.file_by_cid(file.cid) for file in (one, two)]

    assert await ledger.deliver_block(first) == [EventStatus.ONCHAIN]
    await ledger.follow()
    positions = [file and file.position for file in await both()]
    assert await ledger.deliver_block(second) == [EventStatus.ALREADY_ONCHAIN]
    await ledger.follow()
    assert positions == [file and file.position for file in await both()]


async def test_only_applied_events_are_logged_as_applied_and_foreign_posts_at_level_info(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    own, taken = await ledger.draft(), await ledger.draft()
    ledger.post(own, 1)
    ledger.chain.mine(say_created(2, ALICE, "nobody's here"), say_created(3, BOB, taken.cid))
    await ledger.follow()
    assert [(each.message, each.levelname) for each in caplog.records] == [
        ("event applied", "INFO"),
        ("event not applied", "INFO"),
        ("event not applied", "WARNING"),
    ]


async def test_an_idle_chain_is_not_read_again(ledger: Ledger) -> None:
    ledger.chain.mine(blocks=3)
    await ledger.follow()
    asked = len(ledger.chain.asked)
    await ledger.follow(3)
    assert ledger.chain.asked[asked:] == ["head"] * 3


async def test_the_cursor_survives_a_restart(ledger: Ledger) -> None:
    ledger.chain.mine(blocks=100)
    await ledger.follow()
    await ledger.restart()
    draft = await ledger.draft()
    ledger.post(draft)
    ledger.chain.ranges.clear()
    await ledger.follow()
    assert await ledger.state(draft) is State.ONCHAIN
    assert ledger.chain.ranges == [DEPTH + 1]


async def test_progress_is_kept_when_a_node_fails_midway(ledger: Ledger) -> None:
    early, late = await ledger.draft(), await ledger.draft()
    ledger.post(early, 1)
    ledger.chain.mine(blocks=50)
    ledger.post(late, 2)
    ledger.follower.reader.size = ledger.follower.reader.ceiling = 20
    left = [2]

    def die(question: str) -> None:
        left[0] -= question == "logs"
        if left[0] < 0:
            raise Unavailable.chain()

    ledger.chain.fault = die
    with pytest.raises(Unavailable):
        await ledger.follow()
    assert await ledger.state(early) is State.ONCHAIN
    cursor = await ledger.stores.events.cursor(CHAIN)
    assert cursor is not None
    assert cursor.number == 39
    ledger.chain.fault = lambda question: None
    await ledger.restart()
    await ledger.follow()
    assert await ledger.state(late) is State.ONCHAIN


async def test_only_one_of_several_followers_is_active(ledger: Ledger) -> None:
    other = ledger.new_follower()
    assert await ledger.follower.follow_once()
    assert not await other.follow_once()
    assert await ledger.follower.follow_once()


async def test_another_follower_takes_over_when_the_holder_dies(ledger: Ledger) -> None:
    await ledger.follow()
    other = ledger.new_follower()
    ledger.clock.advance(SHORT_LEASE_TIME.total_seconds() - 0.1)
    assert not await other.follow_once()
    ledger.clock.advance(0.2)
    assert await other.follow_once()
    assert not await ledger.follower.follow_once()


async def test_a_stopped_follower_releases_the_lease(ledger: Ledger) -> None:
    async def has_cursor() -> bool:
        return await ledger.stores.events.cursor(CHAIN) is not None

    async with running(60, ledger.follower):
        await wait_until(has_cursor)
    assert await ledger.new_follower().follow_once()


async def test_a_follower_that_lost_its_lease_skips_no_block(ledger: Ledger) -> None:
    draft = await ledger.draft()
    ledger.post(draft)
    ledger.chain.mine(blocks=100)
    ledger.follower.reader.size = ledger.follower.reader.ceiling = 1
    forged = forge(decode_post_created(ledger.chain.blocks[1].logs[0]), log_index=9)
    await ledger.deliver(forged)

    read_logs = ledger.chain.logs

    async def lose_lease(
        first: int, last: int, topics: Collection[bytes], head: BlockRef
    ) -> list[Log]:
        ledger.chain.logs = read_logs  # type: ignore[method-assign]
        ledger.clock.advance(SHORT_LEASE_TIME.total_seconds() + 1)
        year = timedelta(days=365)
        assert await ledger.stores.leases.take_lease(FOLLOWER_LEASE, "other", year)
        return await read_logs(first, last, topics, head)

    ledger.chain.logs = lose_lease  # type: ignore[method-assign]
    await ledger.follower.follow_once()
    cursor = await ledger.stores.events.cursor(CHAIN)
    assert cursor is not None
    assert cursor.number == 0


async def test_following_continues_after_a_failed_round(
    ledger: Ledger, caplog: pytest.LogCaptureFixture
) -> None:
    draft = await ledger.draft()
    ledger.post(draft)
    faults = [Unavailable.chain(), KeyError("a mistake")]

    def fail(question: str) -> None:
        if faults:
            raise faults.pop(0)

    ledger.chain.fault = fail

    async def published() -> bool:
        return await ledger.state(draft) is State.ONCHAIN

    async with running(0.05, ledger.follower):
        await wait_until(published)
    assert [r.message for r in caplog.records] == [
        "background task put off",
        "background task failed",
    ]


async def test_undecodable_logs_become_dead_letters_once(ledger: Ledger) -> None:
    ledger.chain.mine(say_created(1, ALICE, b"\xff\xfe"), say_created(2, ALICE, "x" * 600))
    draft = await ledger.draft()
    ledger.post(draft, 3)
    for _ in range(3):
        await ledger.follow()
        ledger.chain.mine()
    report = await ledger.stores.events.report_events(10)
    assert report.counts[EventStatus.DEAD_LETTER] == 2
    assert await ledger.state(draft) is State.ONCHAIN


async def test_a_node_with_fewer_blocks_changes_nothing(ledger: Ledger) -> None:
    old, new = await ledger.draft(), await ledger.draft()
    ledger.post(old, 1)
    ledger.chain.mine(blocks=5)
    ledger.post(new, 2)
    await ledger.follow()
    for blocks in (7, 4, 1):
        ledger.follower.stream.chain = copy_chain(ledger.chain, blocks)
        await ledger.follow()
    assert [await ledger.post_id(file) for file in (old, new)] == [1, 2]


@pytest.mark.parametrize("same_chain", [True, False])
async def test_a_node_below_the_final_block_is_distinguished_from_a_wrong_chain(
    ledger: Ledger, same_chain: bool, caplog: pytest.LogCaptureFixture
) -> None:
    draft = await ledger.draft()
    ledger.post(draft)
    ledger.chain.mine(blocks=3 * DEPTH)
    await ledger.follow()
    node = copy_chain(ledger.chain, DEPTH if same_chain else 1)
    if not same_chain:
        node.mine(blocks=DEPTH)
    ledger.follower.stream.chain = node
    caplog.clear()
    await ledger.follow(2)
    assert await ledger.state(draft) is State.ONCHAIN
    assert ledger.follower.history is (History.BEHIND if same_chain else History.REPLACED)
    assert [each.levelname for each in caplog.records] == ["ERROR" if same_chain else "CRITICAL"]


@pytest.mark.parametrize("question", ["logs", "block_at", "find_log"])
async def test_a_lagging_node_undoes_nothing(ledger: Ledger, question: str) -> None:
    draft = await ledger.draft()
    block = ledger.post(draft)
    await ledger.follow()
    await ledger.deliver(forge(decode_post_created(block.logs[0]), log_index=7))
    behind = copy_chain(ledger.chain, 1)
    ledger.chain.mine()
    both = SeveralNodes([ledger.chain, behind], lambda asked: int(asked == question))
    follower = ledger.follower
    follower.stream.chain = both
    if question == "find_log":
        with pytest.raises(Unavailable):
            await follower.follow_once()
    else:
        await follower.follow_once()
    assert await ledger.state(draft) is State.ONCHAIN


async def test_a_rebuild_needs_no_lease(ledger: Ledger) -> None:
    draft = await ledger.draft()
    ledger.post(draft)
    await ledger.stores.leases.take_lease(FOLLOWER_LEASE, "other", timedelta(days=365))
    seen: list[tuple[int, int]] = []
    await ledger.follower.rebuild(0, lambda *place: seen.append(place))
    assert await ledger.state(draft) is State.ONCHAIN
    assert seen == [(1, 1)]


async def test_an_advance_without_a_cursor_keeps_the_old_cursor(ledger: Ledger) -> None:
    cursor = BlockRef(5, "0x" + "5" * 64)
    await ledger.stores.events.advance(CHAIN, Advance(cursor), ledger.clock.now())
    await ledger.stores.events.advance(CHAIN, Advance(), ledger.clock.now())
    assert await ledger.stores.events.cursor(CHAIN) == cursor
