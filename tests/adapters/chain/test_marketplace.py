"""The marketplace over JSON-RPC returns correct values, or is unavailable if a node is faulty."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.adapters.chain import faulty_node as faults
from tests.adapters.chain.conftest import MARKET, fixed_clock
from tests.adapters.chain.faulty_node import Fault, FaultyNode

from imprint.adapters.chain.block_calls import MAX_SHARED_CALLS, BlockCalls
from imprint.adapters.chain.json_rpc import ChainMisconfigured, JsonRpc
from imprint.adapters.chain.marketplace import TIMEOUT, JsonRpcMarketplace
from imprint.domain.access import Access, decide_access
from imprint.domain.errors import Code, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import Cid
from imprint.domain.posts.posts import PostEntry, PostFacts

AUTHOR = Address("0x" + "a1" * 20)
READER = Address("0x" + "b2" * 20)
CID = Cid("bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e")
OTHER = Cid("bafkreihdwdcefgh4dqkjv67uzcmw7ojee6xedzdetojuzjevtenxquvyku")

Tampered = dict[str, Any]


@pytest.fixture(autouse=True)
def published(node: FaultyNode) -> None:
    """A paid post, and a reader who bought it."""
    node.entries[9] = (AUTHOR, CID.encode(), 5)
    node.balances[READER, 9] = 1


def tamper_result(node: FaultyNode, method: str, result: object) -> None:
    def tamper(request: Tampered, response: Tampered) -> None:
        if request["method"] == method:
            response["result"] = result

    node.tamper = tamper


def tamper_call(node: FaultyNode, selector: str, result: object) -> None:
    tamper_calls(node, selector, {"result": result})


def tamper_calls(node: FaultyNode, data: str, changes: dict[str, object]) -> None:
    """Change the response to every call whose data starts like this."""

    def tamper(request: Tampered, response: Tampered) -> None:
        if request["method"] == "eth_call" and request["params"][0]["data"].startswith(data):
            response.update(changes)

    node.tamper = tamper


async def test_post_facts_contain_the_entry_and_the_balance(market: JsonRpcMarketplace) -> None:
    facts = await market.post_facts(9, READER)
    assert facts == PostFacts(PostEntry(AUTHOR, CID, 5), 1)


async def test_the_balance_is_zero_and_not_queried_without_a_reader(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    assert (await market.post_facts(9, None)).balance == 0
    assert "00fdd58e" not in str(node.batches)


async def test_an_unknown_post_is_reported_as_nonexistent(market: JsonRpcMarketplace) -> None:
    facts = await market.post_facts(10, READER)
    assert not facts.entry.exists


async def test_the_highest_post_id_can_be_queried(market: JsonRpcMarketplace) -> None:
    assert not (await market.post_facts(2**256 - 1, READER)).entry.exists


async def test_post_facts_are_read_in_one_round_trip(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    await market.post_facts(9, READER)
    assert [call["method"] for call in node.batches[0]] == [
        "eth_chainId",
        "eth_getBlockByNumber",
        "eth_call",
        "eth_call",
        "eth_blockNumber",
    ]
    assert len(node.batches) == 1


def count_calls(batch: list[Any]) -> int:
    return sum(each["method"] == "eth_call" for each in batch)


async def test_concurrent_queries_share_a_batch(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    found = await asyncio.gather(*(market.post_facts(9, who) for who in (READER, AUTHOR, None)))
    assert [facts.balance for facts in found] == [1, 0, 0]
    assert {facts.entry for facts in found} == {PostEntry(AUTHOR, CID, 5)}
    assert [count_calls(batch) for batch in node.batches] == [5]


async def test_a_shared_batch_has_a_bound(market: JsonRpcMarketplace, node: FaultyNode) -> None:
    found = await asyncio.gather(*(market.post_facts(9, READER) for _ in range(20)))
    assert {facts.balance for facts in found} == {1}
    counts = sorted(count_calls(batch) for batch in node.batches)
    assert sum(counts) == 40
    assert counts[-1] == MAX_SHARED_CALLS


POST_7 = f"0xeba1e3b3{7:064x}"
"""The start of a call for the entry of post 7."""


@pytest.mark.parametrize("changes", [{"result": "0x"}, {"result": None}, {"error": {"code": 3}}])
async def test_a_query_that_fails_fails_for_no_other_caller(
    market: JsonRpcMarketplace, node: FaultyNode, changes: dict[str, object]
) -> None:
    tamper_calls(node, POST_7, changes)
    bad, good = await asyncio.gather(
        market.post_facts(7, READER), market.post_facts(9, READER), return_exceptions=True
    )
    assert isinstance(bad, Unavailable)
    assert good == PostFacts(PostEntry(AUTHOR, CID, 5), 1)
    # Only the query that failed was repeated.
    assert [count_calls(batch) for batch in node.batches] == [4, 2]


async def test_queries_whose_shared_batch_took_all_their_time_are_not_repeated(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    node.fault = faults.stay_silent
    found = await asyncio.gather(
        *(market.post_facts(9, READER) for _ in range(2)), return_exceptions=True
    )
    assert [type(each) for each in found] == [Unavailable] * 2
    assert len(node.batches) == 1


async def test_a_caller_who_leaves_takes_no_response_from_the_others(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    leaving, staying = (asyncio.create_task(market.post_facts(9, READER)) for _ in range(2))
    await node.received.wait()
    leaving.cancel()
    assert (await staying).balance == 1
    assert len(node.batches) == 1


async def test_calls_are_pinned_to_a_block_if_the_head_moves_between_them(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    tamper_result(node, "eth_blockNumber", hex(101))
    assert (await market.post_facts(9, READER)).balance == 1
    blocks = [call["params"][1] for call in node.batches[1] if call["method"] == "eth_call"]
    assert blocks == [{"blockHash": node.block_hash}] * 2


async def test_a_cid_is_resolved_to_its_entry(market: JsonRpcMarketplace) -> None:
    assert await market.entry_of_cid(CID) == PostEntry(AUTHOR, CID, 5)


async def test_an_unpublished_cid_has_no_entry(market: JsonRpcMarketplace) -> None:
    assert await market.entry_of_cid(OTHER) is None


@pytest.mark.parametrize("empty", ["0x", "0x00", None, "0x" + "00" * 31, "0x" + "00" * 33])
async def test_a_malformed_post_id_raises_unavailable_instead_of_reading_as_zero(
    market: JsonRpcMarketplace, node: FaultyNode, empty: object
) -> None:
    tamper_call(node, "0xe8be2748", empty)
    with pytest.raises(Unavailable):
        await market.entry_of_cid(OTHER)


@pytest.mark.parametrize("post_id", [9, 10])
async def test_an_entry_that_contradicts_the_index_raises_unavailable(
    market: JsonRpcMarketplace, node: FaultyNode, post_id: int
) -> None:
    tamper_call(node, "0xe8be2748", f"0x{post_id:064x}")
    with pytest.raises(Unavailable):
        await market.entry_of_cid(OTHER)


def reversed_ids(batch: list[Any]) -> list[Any]:
    ids = [each["id"] for each in batch][::-1]
    return [each | {"id": number} for each, number in zip(batch, ids, strict=True)]


FAULTS = {
    "status 500": faults.respond_with_status(500),
    "status 429": faults.respond_with_status(429),
    "status 204": faults.respond_with_status(204),
    "a redirect": faults.redirect,
    "silence": faults.stay_silent,
    "a drip": faults.drip,
    "a reset": faults.reset,
    "a body cut off": faults.cut_off,
    "a body without end": faults.flood,
    "HTML": faults.respond_with_body("<html><body>It works!</body></html>"),
    "nothing": faults.respond_with_body(""),
    "null": faults.respond_with_body("null"),
    "no batch": faults.respond_with_body('{"jsonrpc":"2.0","id":1,"result":"0x1"}'),
    "an error for all": faults.respond_with_body(
        '{"id":null,"error":{"code":-32005,"message":"no"}}'
    ),
    "an empty batch": faults.respond_with_body("[]"),
    "a batch of nonsense": faults.respond_with_body("[1,2,3,4,5]"),
    "bytes": faults.respond_with_body(b"\xff\xfe\x00"),
    "a deep batch": faults.respond_with_body("[" * 100_000),
    "a deep result": faults.respond_with_body('[{"id":1,"result":' + "[" * 100_000),
    "a response missing": faults.respond_changed(lambda batch: batch[:-1]),
    "a response too many": faults.respond_changed(lambda batch: [*batch, batch[0]]),
    "one response for all": faults.respond_changed(lambda batch: [batch[0]] * 5),
    "wrong ids": faults.respond_changed(lambda a: [one | {"id": one["id"] + 1} for one in a]),
    "ids that are texts": faults.respond_changed(
        lambda a: [one | {"id": str(one["id"])} for one in a]
    ),
    "swapped ids": faults.respond_changed(reversed_ids),
    "no ids": faults.respond_changed(lambda a: [{"result": one["result"]} for one in a]),
    "all 0x": faults.respond_changed(lambda a: [one | {"result": "0x"} for one in a]),
    "all null": faults.respond_changed(lambda a: [one | {"result": None} for one in a]),
    "all numbers": faults.respond_changed(lambda a: [one | {"result": 1} for one in a]),
    "an error in the last": faults.respond_changed(
        lambda a: [*a[:-1], {"id": a[-1]["id"], "error": {"code": 3, "message": "reverted"}}]
    ),
    "an error without a code": faults.respond_changed(
        lambda a: [*a[:-1], {"id": a[-1]["id"], "error": "bad"}]
    ),
}


def test_a_client_waits_at_most_two_seconds_for_the_chain() -> None:
    assert TIMEOUT < 2


@pytest.mark.parametrize("queries", [1, 2])
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
async def test_a_faulty_node_raises_unavailable_in_time(
    market: JsonRpcMarketplace, node: FaultyNode, fault: Fault, queries: int
) -> None:
    node.fault = fault
    before = time.monotonic()
    found = await asyncio.gather(
        *(market.post_facts(9, READER) for _ in range(queries)), return_exceptions=True
    )
    for refused in found:
        assert isinstance(refused, Unavailable)
        assert refused.code is Code.CHAIN_UNAVAILABLE
    assert time.monotonic() - before < 20


async def test_shuffled_responses_are_matched_to_their_requests(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    node.fault = faults.respond_changed(lambda batch: batch[::-1])
    assert await market.post_facts(9, READER) == PostFacts(PostEntry(AUTHOR, CID, 5), 1)


@pytest.mark.parametrize(
    ("selector", "result"),
    [
        pytest.param(selector, result, id=f"{name} {shown}")
        for name, selector in [("entry", "0xeba1e3b3"), ("balance", "0x00fdd58e")]
        for shown, result in [
            ("empty", "0x"),
            ("null", None),
            ("one zero", "0x0"),
            ("a number", 1),
            ("a short word", "0x" + "00" * 31),
            ("two words", "0x" + "00" * 64),
            ("white space", "0x" + " " * 64),
            ("no hex", "0x" + "zz" * 32),
            ("no prefix", "00" * 32),
            ("an offset bomb", "0x" + "00" * 31 + "20" + "ff" * 192),
        ]
    ],
)
async def test_a_malformed_return_value_raises_unavailable_and_is_never_zero(
    market: JsonRpcMarketplace, node: FaultyNode, selector: str, result: object
) -> None:
    tamper_call(node, selector, result)
    with pytest.raises(Unavailable):
        await market.post_facts(9, READER)


@pytest.mark.parametrize(
    "block", [None, "0x1", {}, {"hash": "0x1", "number": "0x64", "timestamp": "0x1"}]
)
async def test_a_malformed_head_raises_unavailable(
    market: JsonRpcMarketplace, node: FaultyNode, block: object
) -> None:
    tamper_result(node, "eth_getBlockByNumber", block)
    with pytest.raises(Unavailable):
        await market.post_facts(9, READER)


async def test_a_node_on_another_chain_never_grants_access(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    await market.probe()
    node.chain_id = 1
    with pytest.raises(Unavailable):
        await market.post_facts(9, READER)


async def test_a_lagging_node_never_grants_access(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    node.timestamp -= 601
    with pytest.raises(Unavailable):
        await market.post_facts(9, READER)


async def test_a_head_of_any_age_is_accepted_if_no_limit_is_set(node: FaultyNode) -> None:
    market = JsonRpcMarketplace(BlockCalls(JsonRpc([node.address]), 31337, fixed_clock, 0), MARKET)
    node.timestamp = 0
    facts = await market.post_facts(9, READER)
    assert decide_access(facts, READER) is Access.HOLDER
    await market.close()


async def test_a_refused_connection_raises_unavailable_immediately(node: FaultyNode) -> None:
    address = node.address
    await node.stop()
    calls = BlockCalls(JsonRpc([address]), 31337, fixed_clock)
    market = JsonRpcMarketplace(calls, MARKET, timeout=60)
    before = time.monotonic()
    with pytest.raises(Unavailable):
        await market.post_facts(9, READER)
    assert time.monotonic() - before < 20
    await market.close()


async def test_a_probe_passes_if_the_chain_and_contract_match(market: JsonRpcMarketplace) -> None:
    await market.probe()


async def test_a_probe_reports_the_chain_it_found(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    node.chain_id = 5
    with pytest.raises(ChainMisconfigured) as found:
        await market.probe()
    assert found.value.sentence == "The node is on chain 5, but chain 31337 is configured."
    assert "5" not in found.value.detail


async def test_a_probe_names_the_address_that_has_no_contract(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    node.code = "0x"
    with pytest.raises(ChainMisconfigured) as found:
        await market.probe()
    assert found.value.sentence == f"There is no contract at {MARKET} on chain 31337."


async def test_a_probe_reports_an_unresponsive_node_as_unavailable(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    node.fault = faults.stay_silent
    with pytest.raises(Unavailable) as found:
        await market.probe()
    assert not isinstance(found.value, ChainMisconfigured)


async def test_concurrent_queries_get_their_own_results(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    mine, theirs = await asyncio.gather(market.post_facts(9, READER), market.post_facts(9, AUTHOR))
    assert (mine.balance, theirs.balance) == (1, 0)


async def test_a_result_is_not_cached(market: JsonRpcMarketplace, node: FaultyNode) -> None:
    await market.post_facts(9, READER)
    node.balances.clear()
    assert (await market.post_facts(9, READER)).balance == 0


async def test_running_queries_raise_unavailable_when_the_marketplace_is_closed(
    market: JsonRpcMarketplace, node: FaultyNode
) -> None:
    node.fault = faults.stay_silent
    waiting = asyncio.create_task(market.post_facts(9, READER))
    await asyncio.sleep(0.05)
    await market.close()
    with pytest.raises(Unavailable):
        await waiting
    with pytest.raises(Unavailable):
        await market.post_facts(9, READER)


@pytest.fixture
async def market_of_quorum(
    node: FaultyNode, spare_node: FaultyNode
) -> AsyncIterator[JsonRpcMarketplace]:
    """A marketplace client with two nodes, both of which must grant access."""
    spare_node.entries = dict(node.entries)
    spare_node.balances = dict(node.balances)
    rpc = JsonRpc([node.address, spare_node.address])
    market = JsonRpcMarketplace(BlockCalls(rpc, 31337, fixed_clock), MARKET, quorum=2)
    yield market
    await market.close()


async def test_a_quorum_grants_access_if_both_nodes_grant_it(
    market_of_quorum: JsonRpcMarketplace, node: FaultyNode, spare_node: FaultyNode
) -> None:
    facts = await market_of_quorum.post_facts(9, READER)
    assert decide_access(facts, READER) is Access.HOLDER
    assert all("eth_call" in str(each.batches) for each in (node, spare_node))


@pytest.mark.parametrize("first_denies", [True, False])
@pytest.mark.parametrize("way", ["no balance", "no entry"])
async def test_a_quorum_denies_access_if_one_node_denies_it(
    market_of_quorum: JsonRpcMarketplace,
    node: FaultyNode,
    spare_node: FaultyNode,
    first_denies: bool,
    way: str,
) -> None:
    denying = node if first_denies else spare_node
    denying.balances.clear()
    if way == "no entry":
        denying.entries.clear()
    facts = await market_of_quorum.post_facts(9, READER)
    assert decide_access(facts, READER) is Access.DENIED


@pytest.mark.parametrize("fault", [faults.reset, faults.respond_with_status(503)])
async def test_too_few_nodes_for_a_quorum_raise_unavailable(
    market_of_quorum: JsonRpcMarketplace, spare_node: FaultyNode, fault: Fault
) -> None:
    spare_node.fault = fault
    for _ in range(2):
        with pytest.raises(Unavailable):
            await market_of_quorum.post_facts(9, READER)


async def test_nodes_that_disagree_about_a_post_raise_unavailable(
    market_of_quorum: JsonRpcMarketplace, spare_node: FaultyNode
) -> None:
    spare_node.entries[9] = (AUTHOR, OTHER.encode(), 5)
    with pytest.raises(Unavailable):
        await market_of_quorum.post_facts(9, READER)


async def test_the_next_node_completes_a_quorum(node: FaultyNode, spare_node: FaultyNode) -> None:
    dead = "http://127.0.0.1:1/"
    rpc = JsonRpc([dead, node.address, spare_node.address])
    spare_node.entries, spare_node.balances = dict(node.entries), dict(node.balances)
    market = JsonRpcMarketplace(BlockCalls(rpc, 31337, fixed_clock), MARKET, quorum=2)
    assert (await market.post_facts(9, READER)).balance == 1
    await market.close()
