"""Evidence: an event is what the chain has at its place, or nothing."""

from dataclasses import replace

import pytest
from tests.services.conftest import ALICE, BOB, forge
from tests.services.scripted_chain import ScriptedChain, say_bought, say_created
from tests.world import MovableClock

from imprint.domain.marketplace import decode_post_created
from imprint.domain.posts import PostCreated
from imprint.services.chain_sync import Witness, read_events


@pytest.fixture
def chain() -> ScriptedChain:
    return ScriptedChain(MovableClock())


async def find(chain: ScriptedChain, event: PostCreated) -> PostCreated | None:
    return await Witness(chain).find(event, chain.blocks[-1].mark)


async def test_an_event_that_stands_is_told_as_the_chain_has_it(chain: ScriptedChain) -> None:
    block = chain.mine(say_bought(BOB, 1), say_created(2, ALICE, "cid"))
    event = decode_post_created(block.logs[1])
    vague = forge(event, block_number=None, tx_hash=None)
    assert await find(chain, vague) == event


@pytest.mark.parametrize(
    "lie", [{"post_id": 3}, {"author": BOB}, {"spelled_cid": "other"}], ids=str
)
async def test_an_event_that_says_something_else_there_is_none(
    chain: ScriptedChain, lie: dict[str, object]
) -> None:
    block = chain.mine(say_created(2, ALICE, "cid"))
    event = decode_post_created(block.logs[0])
    assert await find(chain, replace(event, **lie)) is None


@pytest.mark.parametrize("place", [{"log_index": 1}, {"block_hash": "0x" + "e" * 64}], ids=str)
async def test_an_event_that_stands_nowhere_is_none(
    chain: ScriptedChain, place: dict[str, object]
) -> None:
    block = chain.mine(say_created(2, ALICE, "cid"))
    assert await find(chain, forge(decode_post_created(block.logs[0]), **place)) is None


async def test_an_event_whose_block_left_is_none(chain: ScriptedChain) -> None:
    block = chain.mine(say_created(2, ALICE, "cid"))
    chain.fork(1)
    chain.mine()
    assert await find(chain, decode_post_created(block.logs[0])) is None


def test_logs_are_sorted_into_events_and_dead_letters(chain: ScriptedChain) -> None:
    said = say_bought(BOB, 1), say_created(2, ALICE, b"\xff"), say_created(3, ALICE, "cid")
    block = chain.mine(*said)
    events, dead_letters = read_events(block.logs)
    assert [event.post_id for event in events] == [3]
    assert [letter.place for letter in dead_letters] == [block.logs[1].place]
