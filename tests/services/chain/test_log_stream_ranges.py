"""Block ranges grow to the limit of the node, and finding the limit takes few refusals."""

import pytest
from tests.services.scripted_chain import ScriptedChain, say_created
from tests.world import MovableClock

from imprint.domain.errors import Unavailable
from imprint.services.chain.log_stream import (
    FIRST_SIZE,
    LARGEST_SIZE,
    SUCCESSES_UNTIL_RETRY,
    LogRange,
    LogReader,
    LogStream,
)

AUTHOR = "0x" + "a1" * 20


@pytest.fixture
def chain() -> ScriptedChain:
    chain = ScriptedChain(MovableClock())
    for number in range(1, 31):
        chain.mine(say_created(number, AUTHOR, f"cid-{number}"), blocks=10)
    return chain


async def read_all(reader: LogReader, chain: ScriptedChain) -> list[tuple[int, int]]:
    ranges = await read_ranges(reader, chain)
    logs = [placed.log for each in ranges for placed in each.logs]
    assert logs == [log for block in chain.blocks for log in block.logs]
    return [(each.first, each.last.number) for each in ranges]


async def read_ranges(reader: LogReader, chain: ScriptedChain) -> list[LogRange]:
    return [each async for each in reader.read(0, chain.blocks[-1].ref, receipts=False)]


async def test_a_short_chain_is_read_in_one_range(chain: ScriptedChain) -> None:
    assert await read_all(LogReader(LogStream(chain)), chain) == [(0, 300)]


@pytest.mark.parametrize("most", [1, 2, 10, 64, 299])
async def test_ranges_shrink_until_the_node_accepts_them(chain: ScriptedChain, most: int) -> None:
    chain.most = most
    ranges = await read_all(LogReader(LogStream(chain)), chain)
    assert [first for first, _ in ranges] == [0, *(last + 1 for _, last in ranges[:-1])]
    assert max(last - first + 1 for first, last in ranges) <= most


async def test_the_range_size_converges_to_the_limit_of_the_node(chain: ScriptedChain) -> None:
    chain.most = 10
    reader = LogReader(LogStream(chain))
    await read_all(reader, chain)
    chain.ranges.clear()
    await read_all(reader, chain)
    assert chain.ranges == [10] * 30 + [1]


async def test_larger_ranges_are_tried_again_after_many_successes(chain: ScriptedChain) -> None:
    chain.most = 2
    reader = LogReader(LogStream(chain))
    await read_all(reader, chain)
    chain.most = 10**9
    for _ in range(3):
        await read_all(reader, chain)
    assert reader.size > 300
    assert reader.ceiling == LARGEST_SIZE


async def test_a_node_with_a_constant_limit_rarely_has_to_refuse(chain: ScriptedChain) -> None:
    chain.most = 3
    reader = LogReader(LogStream(chain))
    await read_all(reader, chain)
    chain.ranges.clear()
    for _ in range(5):
        await read_all(reader, chain)
    refused = sum(size > 3 for size in chain.ranges)
    assert refused <= 12 * len(chain.ranges) / SUCCESSES_UNTIL_RETRY


async def test_the_range_size_never_exceeds_the_maximum(chain: ScriptedChain) -> None:
    reader = LogReader(LogStream(chain))
    for _ in range(20):
        await read_all(reader, chain)
    assert reader.size == LARGEST_SIZE


async def test_a_timeout_counts_as_a_refusal(chain: ScriptedChain) -> None:
    left = [3]

    def run_out_of_time(question: str) -> None:
        left[0] -= question == "logs"
        if question == "logs" and left[0] >= 0:
            raise Unavailable.chain()

    chain.fault = run_out_of_time
    reader = LogReader(LogStream(chain))
    await read_all(reader, chain)
    assert reader.size < FIRST_SIZE


async def test_an_unavailable_node_does_not_shrink_the_range(chain: ScriptedChain) -> None:
    def be_away(question: str) -> None:
        raise Unavailable.chain()

    chain.fault = be_away
    reader = LogReader(LogStream(chain))
    with pytest.raises(Unavailable):
        await read_all(reader, chain)
    assert reader.size == FIRST_SIZE


async def test_a_missing_head_does_not_shrink_the_range(chain: ScriptedChain) -> None:
    head = chain.blocks[-1].ref
    chain.fork(2)
    chain.mine(blocks=2)
    reader = LogReader(LogStream(chain))
    with pytest.raises(Unavailable):
        [each async for each in reader.read(0, head, receipts=False)]
    assert reader.size == FIRST_SIZE


async def test_a_single_block_that_is_refused_yields_no_logs(
    chain: ScriptedChain,
) -> None:
    chain.oversized = {150}
    ranges = await read_ranges(LogReader(LogStream(chain)), chain)
    assert [each.last.number for each in ranges if each.refused] == [150]
    assert [each.first for each in ranges] == [0, *(each.last.number + 1 for each in ranges[:-1])]
    assert ranges[-1].last.number == 300


async def test_a_block_that_was_refused_on_its_own_is_not_requested_again(
    chain: ScriptedChain,
) -> None:
    chain.oversized = {150}
    reader = LogReader(LogStream(chain))
    await read_ranges(reader, chain)
    chain.ranges.clear()
    await read_ranges(reader, chain)
    assert chain.ranges == [150, 150]


async def test_a_node_that_refuses_every_range_gets_one_request_per_block(
    chain: ScriptedChain,
) -> None:
    chain.most = 0
    ranges = await read_ranges(LogReader(LogStream(chain)), chain)
    assert [(each.first, each.refused) for each in ranges] == [(n, True) for n in range(301)]
    assert len(chain.ranges) < 330
