"""Finding purchases over JSON-RPC. If a node is faulty, the chain counts as unavailable."""

from typing import Any

import pytest
from tests.adapters.chain import faulty_node as faults
from tests.adapters.chain.conftest import MARKET
from tests.adapters.chain.faulty_node import Fault, FaultyNode

from imprint.adapters.chain.json_rpc import MAX_LAG_BLOCKS, ChainMisconfigured
from imprint.adapters.chain.marketplace import JsonRpcMarketplace
from imprint.domain.errors import Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.posts.marketplace import POST_SUBSCRIBED
from imprint.domain.posts.posts import Purchase

BUYER = Address("0x" + "b2" * 20)
TRANSACTION = "0x" + "77" * 32
OTHER = "0x" + "78" * 32
BLOCK = "0x" + "99" * 32
TOPICS = ["0x" + POST_SUBSCRIBED.hex(), f"0x{9:064x}", "0x" + "00" * 12 + "b2" * 20]
MINED = {"blockHash": BLOCK, "blockNumber": hex(100)}
LOG = {"address": MARKET, "topics": TOPICS, "data": f"0x{5:064x}", "transactionHash": TRANSACTION}


@pytest.fixture(autouse=True)
def bought(node: FaultyNode) -> None:
    node.transactions[TRANSACTION] = MINED
    node.logs = [LOG]


async def test_a_purchase_is_found_by_its_log(market: JsonRpcMarketplace, node: FaultyNode) -> None:
    assert await market.find_purchase(TRANSACTION, 9, BUYER) == Purchase(5, is_recent=True)
    (wanted,) = [call["params"] for call in node.batches[1] if call["method"] == "eth_getLogs"]
    assert wanted == [{"address": MARKET, "topics": TOPICS, "blockHash": BLOCK}]


async def test_a_purchase_is_found_without_reading_its_receipt(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    await market.find_purchase(TRANSACTION, 9, BUYER)
    assert "eth_getTransactionReceipt" not in str(node.batches)


@pytest.mark.parametrize("found", [None, {"blockHash": None, "blockNumber": None}])
async def test_an_unknown_or_pending_transaction_is_not_a_purchase_yet(
    market: JsonRpcMarketplace, node: FaultyNode, found: object
) -> None:
    node.transactions[TRANSACTION] = found
    assert await market.find_purchase(TRANSACTION, 9, BUYER) is None
    assert len(node.batches) == 1


@pytest.mark.parametrize("logs", [[], [LOG | {"transactionHash": OTHER}]])
async def test_a_reverted_or_unrelated_transaction_is_not_a_purchase(
    market: JsonRpcMarketplace, node: FaultyNode, logs: object
) -> None:
    node.logs = logs
    assert await market.find_purchase(TRANSACTION, 9, BUYER) == Purchase(None, is_recent=True)


async def test_a_purchase_counts_as_recent_while_another_node_may_lack_its_block(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    node.number = 100 + MAX_LAG_BLOCKS
    assert await market.find_purchase(TRANSACTION, 9, BUYER) == Purchase(5, is_recent=True)
    node.number += 1
    assert await market.find_purchase(TRANSACTION, 9, BUYER) == Purchase(5, is_recent=False)


@pytest.mark.parametrize("moved", [None, MINED | {"blockHash": OTHER}, {"blockHash": None}])
async def test_a_transaction_moved_by_a_reorg_during_the_query_is_not_a_purchase_yet(
    market: JsonRpcMarketplace, node: FaultyNode, moved: object
) -> None:
    node.logs = []

    def tamper(request: dict[str, Any], response: dict[str, Any]) -> None:
        if request["method"] == "eth_getLogs":
            node.transactions[TRANSACTION] = moved

    node.tamper = tamper
    assert await market.find_purchase(TRANSACTION, 9, BUYER) is None


@pytest.mark.parametrize(
    "found",
    [
        *(7, "0x", [], {"blockHash": 7}, {"blockHash": "0x12"}, {"blockHash": BLOCK}),
        {"blockHash": BLOCK, "blockNumber": "x"},
        {"blockHash": [BLOCK], "blockNumber": hex(100)},
    ],
)
async def test_a_malformed_transaction_raises_unavailable(
    market: JsonRpcMarketplace, node: FaultyNode, found: object
) -> None:
    node.transactions[TRANSACTION] = found
    with pytest.raises(Unavailable):
        await market.find_purchase(TRANSACTION, 9, BUYER)


@pytest.mark.parametrize(
    "logs",
    [
        *(None, {}, "0x", 7, [7], [None], [{}], [[LOG]]),
        *([LOG | {name: None}] for name in LOG),
        *([LOG | {"data": data}] for data in ("0x", "0x05", "5", 5, "0x" + "zz" * 32)),
        [LOG | {"transactionHash": "0x77"}],
    ],
)
async def test_malformed_logs_raise_unavailable(
    market: JsonRpcMarketplace, node: FaultyNode, logs: object
) -> None:
    node.logs = logs
    with pytest.raises(Unavailable):
        await market.find_purchase(TRANSACTION, 9, BUYER)


@pytest.mark.parametrize(
    "changes",
    [
        {"address": "0x" + "66" * 20},
        {"topics": [TOPICS[0], f"0x{8:064x}", TOPICS[2]]},
        {"topics": [TOPICS[0], TOPICS[1], "0x" + "00" * 12 + "ee" * 20]},
        {"topics": ["0x" + "11" * 32, *TOPICS[1:]]},
        {"topics": TOPICS[:2]},
    ],
)
async def test_a_log_of_another_contract_post_or_buyer_is_not_a_purchase(
    market: JsonRpcMarketplace, node: FaultyNode, changes: dict[str, object]
) -> None:
    node.logs = [LOG | changes]
    with pytest.raises(Unavailable):
        await market.find_purchase(TRANSACTION, 9, BUYER)


@pytest.mark.parametrize("number", [None, "x", {}, 100])
async def test_a_malformed_head_raises_unavailable(
    market: JsonRpcMarketplace, node: FaultyNode, number: object
) -> None:
    def tamper(request: dict[str, Any], response: dict[str, Any]) -> None:
        if request["method"] == "eth_blockNumber":
            response["result"] = number

    node.tamper = tamper
    with pytest.raises(Unavailable):
        await market.find_purchase(TRANSACTION, 9, BUYER)


async def test_a_node_on_another_chain_confirms_no_purchase(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    node.chain_id = 1
    with pytest.raises(ChainMisconfigured):
        await market.find_purchase(TRANSACTION, 9, BUYER)


@pytest.mark.parametrize(
    "fault",
    [faults.flood, faults.reset, faults.cut_off, faults.redirect, faults.respond_with_body("[]")],
)
async def test_a_node_that_does_not_respond_properly_raises_unavailable(
    market: JsonRpcMarketplace, node: FaultyNode, fault: Fault
) -> None:
    node.fault = fault
    with pytest.raises(Unavailable):
        await market.find_purchase(TRANSACTION, 9, BUYER)


@pytest.mark.parametrize("logs", [[LOG] * 5_000, [[]] * 300_000])
async def test_too_many_logs_raise_unavailable(
    market: JsonRpcMarketplace, node: FaultyNode, logs: object
) -> None:
    node.logs = logs
    with pytest.raises(Unavailable):
        await market.find_purchase(TRANSACTION, 9, BUYER)


async def test_another_node_finds_the_purchase_if_the_first_one_fails(
    market_of_two: JsonRpcMarketplace, node: FaultyNode, spare_node: FaultyNode
) -> None:
    spare_node.transactions[TRANSACTION], spare_node.logs = MINED, [LOG]
    node.logs = 7
    assert await market_of_two.find_purchase(TRANSACTION, 9, BUYER) == Purchase(5, is_recent=True)
