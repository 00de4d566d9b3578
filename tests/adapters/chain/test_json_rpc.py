"""The JSON-RPC client: which node serves, and what is logged about nodes."""

import logging
import time
from collections.abc import Callable

import pytest
from aiohttp import web
from tests.adapters.chain import faulty_node as faults
from tests.adapters.chain.conftest import MARKET, fixed_clock
from tests.adapters.chain.faulty_node import Fault, FaultyNode

from imprint.adapters.chain.json_rpc import Call, JsonRpc, mask_address
from imprint.adapters.chain.marketplace import JsonRpcMarketplace
from imprint.domain.addresses import Address
from imprint.domain.errors import Unavailable

READER = Address("0x" + "b2" * 20)
CANARY = "canary-5f0c"


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
async def test_the_next_node_serves_when_one_fails(
    market_of_two: JsonRpcMarketplace,
    node: FaultyNode,
    spare_node: FaultyNode,
    spoil: Callable[[FaultyNode], None],
) -> None:
    spoil(node)
    spare_node.balances[READER, 9] = 3
    before = time.monotonic()
    assert (await market_of_two.post_facts(9, READER)).balance == 3
    assert time.monotonic() - before < 1.5


async def test_the_node_that_served_last_is_tried_first(
    market_of_two: JsonRpcMarketplace, node: FaultyNode, spare_node: FaultyNode
) -> None:
    node.fault = faults.respond_with_status(503)
    await market_of_two.post_facts(9, READER)
    node.fault = None
    await market_of_two.post_facts(9, READER)
    assert (len(node.batches), len(spare_node.batches)) == (1, 2)


async def test_all_nodes_failing_is_unavailable_within_two_seconds(
    market_of_two: JsonRpcMarketplace, node: FaultyNode, spare_node: FaultyNode
) -> None:
    node.fault = spare_node.fault = faults.stay_silent
    before = time.monotonic()
    with pytest.raises(Unavailable):
        await market_of_two.post_facts(9, READER)
    assert time.monotonic() - before < 2


async def test_a_connection_that_breaks_once_is_opened_again(
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
async def test_no_log_and_no_error_has_the_path_of_an_address(
    node: FaultyNode, fault: Fault, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.handler.setFormatter(
        logging.Formatter("%(message)s %(node)s %(reason)s", defaults={"node": "", "reason": ""})
    )
    secret = node.address.replace("http://", f"http://user:{CANARY}@") + f"{CANARY}?key={CANARY}"
    market = JsonRpcMarketplace(JsonRpc([secret]), 31337, MARKET, fixed_clock, timeout=0.3)
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


async def test_a_failing_node_is_reported_once_and_its_return_too(
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
def test_a_masked_address_is_scheme_and_host(address: str) -> None:
    assert mask_address(address) == "https://node.example"


@pytest.mark.parametrize("address", ["", "node.example", "ftp://node.example", "http:///secret"])
def test_a_malformed_address_is_refused_without_quoting_it(address: str) -> None:
    with pytest.raises(ValueError, match="begins with http") as refused:
        JsonRpc([address])
    assert "node.example" not in str(refused.value)
    assert "secret" not in str(refused.value)


def test_at_least_one_address_is_needed() -> None:
    with pytest.raises(ValueError, match="At least one"):
        JsonRpc([])


async def test_a_deadline_that_has_passed_is_unavailable(node: FaultyNode) -> None:
    rpc = JsonRpc([node.address])
    with pytest.raises(Unavailable):
        await rpc.exchange([Call("eth_chainId")], lambda results: results, deadline=0)
    await rpc.close()
