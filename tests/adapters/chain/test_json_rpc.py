"""The JSON-RPC client: how a node is chosen, and which messages about nodes are logged."""

import asyncio
import gc
import logging
import time
import tracemalloc
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from tests.adapters.chain import faulty_node as faults
from tests.adapters.chain.conftest import MARKET, fixed_clock
from tests.adapters.chain.faulty_node import Fault, FaultyNode
from tests.world import MovableClock

from imprint.adapters.chain import json_rpc
from imprint.adapters.chain.block_calls import BlockCalls
from imprint.adapters.chain.http_client import NodeRefusal
from imprint.adapters.chain.json_rpc import (
    MAX_LAG_BLOCKS,
    MAX_LAG_SECONDS,
    MAX_RESPONSE,
    Call,
    JsonRpc,
    mask_address,
)
from imprint.adapters.chain.marketplace import JsonRpcMarketplace
from imprint.domain.drafts.files import File, State
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import document_cid
from imprint.services.access.entitlement import Entitlement

READER = Address("0x" + "b2" * 20)
CANARY = "canary-5f0c"
CID = document_cid(b"words")


def wrong_chain(node: FaultyNode) -> None:
    node.chain_id = 1


def left_behind(node: FaultyNode) -> None:
    node.timestamp -= 10_000


def with_fault(fault: Fault) -> Callable[[FaultyNode], None]:
    def spoil(node: FaultyNode) -> None:
        node.fault = fault

    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(with_fault(faults.respond_with_status(503)), id="status 503"),
        pytest.param(with_fault(faults.stay_silent), id="silence"),
        pytest.param(with_fault(faults.reset), id="reset"),
        pytest.param(with_fault(faults.respond_with_body("<html>")), id="HTML"),
        pytest.param(wrong_chain, id="another chain"),
        pytest.param(left_behind, id="left behind"),
    ],
)
async def test_the_next_node_is_used_when_one_fails(
    market_of_two: JsonRpcMarketplace,
    node: FaultyNode,
    spare_node: FaultyNode,
    spoil: Callable[[FaultyNode], None],
) -> None:
    spoil(node)
    spare_node.balances[READER, 9] = 3
    before = time.monotonic()
    assert (await market_of_two.post_facts(9, READER)).balance == 3
    assert time.monotonic() - before < 20


@pytest.fixture
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_rpc, "FIRST_PAUSE", 0.02)


@pytest.fixture
def long_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the pauses between attempts longer than any test."""
    monkeypatch.setattr(json_rpc, "FIRST_PAUSE", 200.0)
    monkeypatch.setattr(json_rpc, "LONGEST_PAUSE", 1000.0)


@pytest.mark.usefixtures("long_pause")
async def test_a_node_that_failed_is_skipped_for_a_while(
    market_of_two: JsonRpcMarketplace, node: FaultyNode, spare_node: FaultyNode
) -> None:
    node.fault = faults.respond_with_status(503)
    await market_of_two.post_facts(9, READER)
    node.fault = None
    asked = len(spare_node.batches)
    await market_of_two.post_facts(9, READER)
    assert (len(node.batches), len(spare_node.batches)) == (1, asked + 1)


@pytest.mark.usefixtures("short_pause")
async def test_the_preferred_node_is_used_again_once_it_works(
    market_of_two: JsonRpcMarketplace, node: FaultyNode, spare_node: FaultyNode
) -> None:
    node.fault = faults.respond_with_status(503)
    await market_of_two.post_facts(9, READER)
    node.fault = None
    await asyncio.sleep(0.03)
    asked = len(spare_node.batches)
    await market_of_two.post_facts(9, READER)
    assert (len(node.batches), len(spare_node.batches)) == (2, asked)


@pytest.mark.usefixtures("long_pause")
async def test_a_failed_node_is_skipped_for_a_bounded_time(
    node: FaultyNode, spare_node: FaultyNode
) -> None:
    rpc = JsonRpc([node.address, spare_node.address])
    node.fault = faults.respond_with_status(503)
    lengths = []
    for _ in range(5):
        await asyncio.gather(*(ask_chain_id(rpc) for _ in range(8)))
        until, length = rpc._pauses[0]
        assert until > asyncio.get_running_loop().time()
        lengths.append(length)
        rpc._pauses[0] = 0.0, length  # it is over
    assert lengths == [200, 400, 800, 1000, 1000]
    await rpc.close()


async def ask_chain_id(rpc: JsonRpc) -> object:
    deadline = asyncio.get_running_loop().time() + 60
    return await rpc.exchange([Call("eth_chainId")], lambda results: results[0], deadline)


async def test_skipped_nodes_are_tried_when_all_nodes_have_failed(
    market_of_two: JsonRpcMarketplace, node: FaultyNode, spare_node: FaultyNode
) -> None:
    node.fault = spare_node.fault = faults.respond_with_status(503)
    with pytest.raises(Unavailable):
        await market_of_two.post_facts(9, READER)
    spare_node.fault = None
    spare_node.balances[READER, 9] = 3
    assert (await market_of_two.post_facts(9, READER)).balance == 3


@pytest.mark.parametrize(
    "refuse",
    [
        lambda sent: [one | {"error": {"code": -32005}} for one in sent],
        lambda sent: [sent[0] | {"result": "0x" + "0" * MAX_RESPONSE}],
    ],
    ids=["an error", "too large"],
)
async def test_a_node_that_refuses_one_batch_is_not_skipped(
    node: FaultyNode, spare_node: FaultyNode, refuse: Callable[[list[Any]], object]
) -> None:
    rpc = JsonRpc([node.address, spare_node.address])
    node.fault = faults.respond_changed(refuse)
    await ask_chain_id(rpc)
    node.fault = None
    await ask_chain_id(rpc)
    assert (len(node.batches), len(spare_node.batches)) == (2, 1)
    await rpc.close()


@pytest.mark.parametrize(
    ("behind", "seconds"), [(MAX_LAG_BLOCKS + 1, 1), (1, MAX_LAG_SECONDS + 1), (50, 50)]
)
async def test_a_node_far_behind_another_is_not_trusted(
    market_of_two: JsonRpcMarketplace,
    node: FaultyNode,
    spare_node: FaultyNode,
    behind: int,
    seconds: int,
) -> None:
    node.number -= behind
    node.timestamp -= seconds
    node.balances[READER, 9] = 1
    for _ in range(3):
        assert (await market_of_two.post_facts(9, READER)).balance == 0


async def test_a_node_a_few_blocks_behind_is_trusted(
    market_of_two: JsonRpcMarketplace, node: FaultyNode, spare_node: FaultyNode
) -> None:
    node.number -= MAX_LAG_BLOCKS
    node.timestamp -= MAX_LAG_SECONDS
    node.balances[READER, 9] = 1
    assert (await market_of_two.post_facts(9, READER)).balance == 1


async def test_a_lagging_node_does_not_replace_a_failing_one(
    market_of_two: JsonRpcMarketplace, node: FaultyNode, spare_node: FaultyNode
) -> None:
    node.number -= 50
    node.balances[READER, 9] = 1
    await market_of_two.post_facts(9, READER)
    spare_node.fault = faults.reset
    with pytest.raises(Unavailable):
        await market_of_two.post_facts(9, READER)


async def test_a_chain_that_was_reset_on_every_node_is_trusted(
    market_of_two: JsonRpcMarketplace, node: FaultyNode, spare_node: FaultyNode
) -> None:
    await market_of_two.post_facts(9, READER)
    node.number = spare_node.number = 3
    node.balances[READER, 9] = spare_node.balances[READER, 9] = 1
    assert (await market_of_two.post_facts(9, READER)).balance == 1


async def test_the_head_of_a_node_on_another_chain_is_ignored(
    market_of_two: JsonRpcMarketplace, node: FaultyNode, spare_node: FaultyNode
) -> None:
    spare_node.chain_id, spare_node.number = 1, 10**9
    node.balances[READER, 9] = 1
    assert (await market_of_two.post_facts(9, READER)).balance == 1


async def test_comparing_heads_needs_no_extra_round_trip_per_read(
    market_of_two: JsonRpcMarketplace, node: FaultyNode, spare_node: FaultyNode
) -> None:
    for _ in range(20):
        await market_of_two.post_facts(9, READER)
    assert (len(node.batches), len(spare_node.batches)) == (21, 1)


FAILURES = [
    faults.respond_with_body(b" " * 2 * MAX_RESPONSE),
    faults.respond_with_body(b"[" + b" " * (MAX_RESPONSE - 10)),
    faults.respond_changed(lambda sent: [one | {"result": "0x" + "0" * 400_000} for one in sent]),
]


@pytest.mark.parametrize("fault", FAILURES, ids=["too large", "no JSON", "no head"])
async def test_failed_exchanges_free_their_memory_without_garbage_collection(
    node: FaultyNode, spare_node: FaultyNode, fault: Fault
) -> None:
    node.fault = spare_node.fault = fault
    rpc = JsonRpc([node.address, spare_node.address])
    market = JsonRpcMarketplace(BlockCalls(rpc, 31337, fixed_clock), MARKET, timeout=20)
    clock = MovableClock()
    entitlement = Entitlement(market, clock.monotonic, timedelta(seconds=5))
    file = File("id", "group", READER, "name", CID, 5, clock.now(), State.ONCHAIN, 1)

    async def fail(post_id: int) -> None:
        with pytest.raises(Unavailable):
            await entitlement.decide(file, post_id, READER)

    await fail(0)
    gc.collect()
    gc.disable()
    try:
        await asyncio.gather(*(fail(post_id) for post_id in range(1, 4)))
        kept = largest_buffers()
        await asyncio.gather(*(fail(post_id) for post_id in range(4, 40)))
        async with asyncio.timeout(30):
            while largest_buffers() > kept + MAX_RESPONSE:  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(0.05)
    finally:
        gc.enable()
    await market.close()


def largest_buffers() -> int:
    """Return the total size in bytes of large allocations, including unreachable objects."""
    snapshot = tracemalloc.take_snapshot()
    return sum(trace.size for trace in snapshot.traces if trace.size > 50_000)


@pytest.fixture(autouse=True)
def traced(request: pytest.FixtureRequest) -> Iterator[None]:
    """Run `tracemalloc` during the memory tests."""
    if "memory" not in request.node.name:
        yield
        return
    tracemalloc.start()
    yield
    tracemalloc.stop()


def respond_with_result(result: object) -> Fault:
    return faults.respond_changed(lambda sent: [one | {"result": result} for one in sent])


async def test_a_response_with_too_many_values_is_refused_before_parsing(
    node: FaultyNode,
) -> None:
    rpc, calls = JsonRpc([node.address]), [Call("eth_chainId")]
    node.fault = respond_with_result([1] * 50_000)
    with pytest.raises(NodeRefusal, match="too many values"):
        await rpc.send_raw(0, calls, MAX_RESPONSE)
    node.fault = respond_with_result(["0x" + "e" * 64] * 10_000)
    assert len(await rpc.send_raw(0, calls, MAX_RESPONSE)) == 1
    await rpc.close()


async def test_unavailable_is_raised_in_time_when_all_nodes_fail(
    market_of_two: JsonRpcMarketplace, node: FaultyNode, spare_node: FaultyNode
) -> None:
    node.fault = spare_node.fault = faults.stay_silent
    before = time.monotonic()
    with pytest.raises(Unavailable):
        await market_of_two.post_facts(9, READER)
    assert time.monotonic() - before < 20


async def test_a_broken_connection_is_reopened(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    async def break_once(
        node: FaultyNode, request: web.Request, batch: list[object]
    ) -> web.StreamResponse:
        node.fault = None
        return await faults.reset(node, request, batch)

    await market.post_facts(9, READER)
    node.fault = break_once
    node.balances[READER, 9] = 2
    assert (await market.post_facts(9, READER)).balance == 2


FAILING = [
    faults.respond_with_status(500),
    faults.respond_with_body(f"<html>{CANARY}</html>"),
    faults.respond_changed(
        lambda a: [one | {"error": {"code": -1, "message": CANARY}} for one in a]
    ),
    faults.respond_changed(lambda a: [one | {"error": {"code": CANARY}} for one in a]),
    faults.reset,
    faults.cut_off,
    faults.redirect,
    faults.stay_silent,
]


@pytest.mark.parametrize("fault", FAILING)
async def test_the_path_of_a_node_url_is_never_logged(
    node: FaultyNode, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.handler.setFormatter(
        logging.Formatter("%(message)s %(node)s %(reason)s", defaults={"node": "", "reason": ""})
    )
    secret = node.address.replace("http://", f"http://user:{CANARY}@") + f"{CANARY}?key={CANARY}"
    market = JsonRpcMarketplace(
        BlockCalls(JsonRpc([secret]), 31337, fixed_clock), MARKET, timeout=0.3
    )
    node.fault = fault
    with pytest.raises(Unavailable):
        await market.post_facts(9, READER)
    try:
        await market.probe()
    except Unavailable:
        logging.getLogger("test").exception("whatever the chain of causes says")
    await market.close()
    assert "chain node failed http://127.0.0.1 " in caplog.text
    assert "Traceback" in caplog.text
    assert CANARY not in caplog.text
    assert str(node.server.port if node.server else 0) + "/" not in caplog.text


async def test_a_node_failure_and_its_recovery_are_each_reported_once(
    market: JsonRpcMarketplace, node: FaultyNode, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="imprint")
    node.fault = faults.respond_with_status(500)
    for _ in range(3):
        with pytest.raises(Unavailable):
            await market.post_facts(9, READER)
    node.fault = None
    await market.post_facts(9, READER)
    await market.post_facts(9, READER)
    assert [record.message for record in caplog.records] == [
        "chain node failed",
        "chain node is back",
    ]


@pytest.mark.parametrize(
    "address",
    [
        "https://user:secret@node.example:8545/v2/secret?key=secret#secret",
        "https://node.example",
        "https://node.example/secret",
    ],
)
def test_a_masked_address_has_only_scheme_and_host(address: str) -> None:
    assert mask_address(address) == "https://node.example"


@pytest.mark.parametrize("address", ["", "node.example", "ftp://node.example", "http:///secret"])
def test_a_malformed_address_is_refused_without_quoting_it(address: str) -> None:
    with pytest.raises(ValueError, match="must start with http") as refused:
        JsonRpc([address])
    assert "node.example" not in str(refused.value)
    assert "secret" not in str(refused.value)


def test_at_least_one_node_address_is_required() -> None:
    with pytest.raises(ValueError, match="At least one"):
        JsonRpc([])


async def test_a_deadline_in_the_past_raises_unavailable(node: FaultyNode) -> None:
    rpc = JsonRpc([node.address])
    with pytest.raises(Unavailable):
        await rpc.exchange([Call("eth_chainId")], lambda results: results, deadline=0)
    await rpc.close()
