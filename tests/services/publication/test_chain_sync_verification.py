"""An event is verified against the chain's log at its position."""

from dataclasses import replace

import pytest
from tests.services.conftest import ALICE, BOB, forge
from tests.services.scripted_chain import ScriptedChain, say_bought, say_created
from tests.world import MovableClock

from imprint.domain.posts.marketplace import decode_post_created
from imprint.domain.posts.posts import PostCreated
from imprint.services.publication.chain_sync import read_events, verify_event


@pytest.fixture
def chain() -> ScriptedChain:
    return ScriptedChain(MovableClock())


async def verify(chain: ScriptedChain, event: PostCreated) -> PostCreated | None:
    return await verify_event(chain, event, chain.blocks[-1].ref)


async def test_verifying_an_event_returns_the_version_on_the_chain(chain: ScriptedChain) -> None:
    block = chain.mine(say_bought(BOB, 1), say_created(2, ALICE, "cid"))
    event = decode_post_created(block.logs[1])
    vague = forge(event, block_number=None, tx_hash=None)
    assert await verify(chain, vague) == event


@pytest.mark.parametrize(
    "lie", [{"post_id": 3}, {"author": BOB}, {"spelled_cid": "other"}], ids=str
)
async def test_an_event_whose_content_differs_from_the_log_is_refuted(
    chain: ScriptedChain, lie: dict[str, object]
) -> None:
    block = chain.mine(say_created(2, ALICE, "cid"))
    event = decode_post_created(block.logs[0])
    assert await verify(chain, replace(event, **lie)) is None


@pytest.mark.parametrize("place", [{"log_index": 1}, {"block_hash": "0x" + "e" * 64}], ids=str)
async def test_an_event_at_a_position_without_a_log_is_refuted(
    chain: ScriptedChain, place: dict[str, object]
) -> None:
    block = chain.mine(say_created(2, ALICE, "cid"))
    assert await verify(chain, forge(decode_post_created(block.logs[0]), **place)) is None


async def test_an_event_whose_block_was_replaced_is_refuted(chain: ScriptedChain) -> None:
    block = chain.mine(say_created(2, ALICE, "cid"))
    chain.fork(1)
    chain.mine()
    assert await verify(chain, decode_post_created(block.logs[0])) is None


def test_logs_are_sorted_into_events_and_dead_letters(chain: ScriptedChain) -> None:
    said = say_bought(BOB, 1), say_created(2, ALICE, b"\xff"), say_created(3, ALICE, "cid")
    block = chain.mine(*said)
    events, dead_letters = read_events(block.logs)
    assert [event.post_id for event in events] == [3]
    assert [letter.place for letter in dead_letters] == [block.logs[1].place]
