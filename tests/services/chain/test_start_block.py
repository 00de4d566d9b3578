"""A start block that would miss posts is refused, and shortcomings of the node are reported."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.services.conftest import Ledger
from tests.services.scripted_chain import CHAIN

from imprint.domain.errors import CannotStart, Unavailable
from imprint.services.chain import start_block
from imprint.services.chain.start_block import StartBlock


@pytest.fixture
async def ledger(tmp_path: Path) -> AsyncIterator[Ledger]:
    opened = Ledger(tmp_path)
    yield opened
    await opened.stores.close()


@dataclass(frozen=True, slots=True)
class Deployed:
    """A marketplace deployed in `block`. Without `keeps_states`, the node has no historical
    state."""

    block: int
    keeps_states: bool = True

    async def existed_at(self, number: int) -> bool:
        if not self.keeps_states:
            raise Unavailable.chain()
        return number >= self.block


def start_at(ledger: Ledger, number: int) -> StartBlock:
    return StartBlock(ledger.chain, ledger.stores.events, CHAIN, number)


async def concerns(ledger: Ledger, number: int, marketplace: Deployed | None = None) -> list[str]:
    start = start_at(ledger, number)
    found = await start.find_concerns(await start.verify(), marketplace)
    assert all(each.remedy for each in found)
    return [each.detail for each in found]


async def refuse(ledger: Ledger, number: int) -> str:
    with pytest.raises(CannotStart) as refused:
        await start_at(ledger, number).verify()
    assert "Set IMPRINT_CHAIN_START_BLOCK to the block in which" in str(refused.value)
    return str(refused.value)


async def test_a_start_block_up_to_the_newest_block_is_accepted(ledger: Ledger) -> None:
    head = ledger.chain.mine(blocks=10).ref
    assert await start_at(ledger, 0).verify() == head
    assert await start_at(ledger, head.number).verify() == head


async def test_a_start_block_in_the_future_is_refused(ledger: Ledger) -> None:
    head = ledger.chain.mine(blocks=10).ref
    said = await refuse(ledger, head.number + 1)
    assert f"the newest block of chain {CHAIN} is {head.number}" in said


async def test_a_lagging_node_is_accepted_if_the_start_block_was_already_read(
    ledger: Ledger,
) -> None:
    ledger.chain.mine(blocks=20)
    await ledger.follow()
    ledger.chain.fork(15)
    await start_at(ledger, 15).verify()


async def test_a_start_block_after_a_known_post_is_refused(ledger: Ledger) -> None:
    block = ledger.post(await ledger.draft()).ref
    ledger.chain.mine(blocks=20)
    await ledger.follow()
    await start_at(ledger, block.number).verify()
    said = await refuse(ledger, block.number + 1)
    assert f"a post of block {block.number} is known" in said


async def test_a_start_block_after_the_blocks_already_read_is_refused(ledger: Ledger) -> None:
    cursor = ledger.chain.mine(blocks=5).ref
    await ledger.follow()
    ledger.chain.mine(blocks=20)
    await start_at(ledger, cursor.number + 1).verify()
    said = await refuse(ledger, cursor.number + 2)
    assert f"read up to block {cursor.number}" in said


async def test_a_node_with_all_logs_causes_no_warning(ledger: Ledger) -> None:
    ledger.post(await ledger.draft())
    assert await concerns(ledger, 0, Deployed(0)) == []
    await ledger.follow()
    assert await concerns(ledger, 0, Deployed(0)) == []


async def test_a_marketplace_older_than_the_start_block_causes_a_warning(ledger: Ledger) -> None:
    ledger.chain.mine(blocks=10)
    assert await concerns(ledger, 7, Deployed(7)) == []
    assert await concerns(ledger, 7, Deployed(7, keeps_states=False)) == []
    assert await concerns(ledger, 8, Deployed(7)) == [
        "The marketplace existed before block 8: older posts are not found."
    ]


async def test_a_node_without_the_logs_of_the_start_block_causes_a_warning(ledger: Ledger) -> None:
    ledger.chain.mine(blocks=10)
    ledger.chain.oversized = {3}
    (said,) = await concerns(ledger, 3)
    assert "does not return the logs of block 3" in said


async def test_a_node_without_the_logs_of_known_posts_causes_a_warning(ledger: Ledger) -> None:
    block = ledger.post(await ledger.draft()).ref
    ledger.chain.mine(blocks=200)
    await ledger.follow()
    ledger.chain.hidden = {block.number}
    (said,) = await concerns(ledger, 0)
    assert f"does not return the log of a known post in block {block.number}" in said


async def test_a_node_with_a_small_block_range_limit_causes_a_warning(ledger: Ledger) -> None:
    ledger.chain.mine(blocks=200)
    ledger.chain.most = 50
    (said,) = await concerns(ledger, 0)
    assert "the logs of 100 blocks at once" in said


async def test_reading_the_chain_from_its_beginning_causes_a_warning(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(start_block, "MANY_BLOCKS", 9)
    ledger.chain.mine(blocks=10)
    assert await concerns(ledger, 0) == [
        "All 10 blocks must be read before the newest posts appear."
    ]
    assert await concerns(ledger, 1) == []


async def test_a_node_that_stops_responding_raises_unavailable(ledger: Ledger) -> None:
    start = start_at(ledger, 0)
    head = await start.verify()

    def fail(question: str) -> None:
        raise Unavailable.chain()

    ledger.chain.fault = fail
    with pytest.raises(Unavailable):
        await start.find_concerns(head)
