"""Nodes that fail while a contract wallet is verified never cause a wrong verdict."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from tests.adapters.chain.conftest import fixed_clock
from tests.adapters.chain.faulty_node import (
    FaultyNode,
    cut_off,
    drip,
    flood,
    redirect,
    reset,
    respond_changed,
    respond_with_body,
    respond_with_status,
    stay_silent,
)

from imprint.adapters.chain.block_calls import BlockCalls
from imprint.adapters.chain.contract_wallets import (
    CALLER,
    GAS,
    JsonRpcContractWallets,
    build_validation,
)
from imprint.adapters.chain.json_rpc import JsonRpc
from imprint.domain.errors import Code, Unavailable
from imprint.domain.formats.addresses import Address

WALLET = Address("0x" + "a1" * 20)
DIGEST = bytes(range(32))
SIGNATURE = b"a signature"
LONG, SHORT = 60.0, 0.3
"""Timeouts in seconds: one that is never reached in practice, and one for a node that never
responds."""

YES, NO = "0x01", "0x00"


@dataclass
class WalletNode(FaultyNode):
    """A node that has only the validator contract and returns a preset verdict."""

    verdict: object = YES

    def result(self, method: str, params: list[Any]) -> object:
        if method != "eth_call":
            return super().result(method, params)
        question, block = params
        assert question.keys() == {"from", "gas", "data"}, question
        assert block in ("latest", {"blockHash": self.block_hash}), block
        return self.verdict

    @property
    def pins(self) -> list[object]:
        """The block parameter of each `eth_call` that the node received."""
        calls = [each for batch in self.batches for each in batch if each["method"] == "eth_call"]
        return [each["params"][1] for each in calls]


@pytest.fixture
async def node() -> AsyncIterator[WalletNode]:
    node = WalletNode()
    await node.start()
    yield node
    await node.stop()


@pytest.fixture
async def spare_node() -> AsyncIterator[WalletNode]:
    node = WalletNode()
    await node.start()
    yield node
    await node.stop()


Open = Callable[..., JsonRpcContractWallets]


@pytest.fixture
async def open_wallets() -> AsyncIterator[Open]:
    """Open contract wallets over the given nodes. Connections are closed after the test."""
    opened: list[JsonRpc] = []

    def open_some(
        *nodes: FaultyNode, quorum: int = 1, timeout: float = LONG
    ) -> JsonRpcContractWallets:
        opened.append(JsonRpc([each.address for each in nodes]))
        calls = BlockCalls(opened[-1], 31337, fixed_clock, 600)
        return JsonRpcContractWallets(calls, timeout=timeout, quorum=quorum)

    yield open_some
    for each in opened:
        await each.close()


async def fail(wallets: JsonRpcContractWallets) -> None:
    """Check that a signature gets no verdict because the chain is unavailable."""
    with pytest.raises(Unavailable) as caught:
        await wallets.accepts(WALLET, DIGEST, SIGNATURE)
    assert caught.value.code is Code.CHAIN_UNAVAILABLE


async def ask(wallets: JsonRpcContractWallets) -> bool:
    return await wallets.accepts(WALLET, DIGEST, SIGNATURE)


@pytest.mark.parametrize(("verdict", "accepted"), [(YES, True), (NO, False)])
async def test_the_verdict_is_the_single_byte_returned_by_the_node(
    node: WalletNode, open_wallets: Open, verdict: str, accepted: bool
) -> None:
    node.verdict = verdict
    assert await ask(open_wallets(node)) is accepted


async def test_the_whole_check_is_sent_in_one_batch(node: WalletNode, open_wallets: Open) -> None:
    await ask(open_wallets(node))
    ((_, _, question, _),) = node.batches
    call, block = question["params"]
    assert (question["method"], block) == ("eth_call", "latest")
    assert (call["from"], int(call["gas"], 16)) == (CALLER, GAS)
    words = WALLET[2:].rjust(64, "0") + DIGEST.hex()
    assert words in call["data"]
    assert SIGNATURE.hex() in call["data"]


@pytest.mark.parametrize(("length", "words"), [(0, 0), (1, 1), (32, 1), (33, 2), (65, 3)])
def test_a_signature_is_padded_to_whole_words(length: int, words: int) -> None:
    empty, padded = (build_validation(WALLET, DIGEST, bytes(n))["data"] for n in (0, length))
    assert len(padded) - len(empty) == 64 * words


@pytest.mark.parametrize(
    "verdict",
    [
        "0x",
        "0x02",
        "0xff",
        "0x0",
        "0x0001",
        "0x0100",
        "0x" + "00" * 31 + "01",
        "0x1626ba7e",
        "0x1626ba7e" + "00" * 28,
        "01",
        "",
        "yes",
        None,
        True,
        1,
        [],
        {},
        ["0x01"],
    ],
)
async def test_any_result_other_than_a_verdict_counts_as_a_node_failure(
    node: WalletNode, open_wallets: Open, verdict: object
) -> None:
    node.verdict = verdict
    await fail(open_wallets(node))


@pytest.mark.parametrize(
    "error",
    [
        {"code": 3, "message": "execution reverted", "data": "0x01"},
        {"code": -32000, "message": "out of gas"},
        {"code": -32005, "message": "limit exceeded"},
        {"code": -32000, "message": "max initcode size exceeded"},
    ],
)
@pytest.mark.parametrize("has_result", [False, True])
async def test_an_error_response_is_a_node_failure(
    node: WalletNode, open_wallets: Open, error: dict[str, object], has_result: bool
) -> None:
    def tamper(request: dict[str, Any], response: dict[str, Any]) -> None:
        if request["method"] == "eth_call":
            response["error"] = error
            if not has_result:
                del response["result"]

    node.tamper = tamper
    await fail(open_wallets(node))


async def test_a_node_on_another_chain_is_not_trusted(node: WalletNode, open_wallets: Open) -> None:
    node.chain_id = 1
    await fail(open_wallets(node))


async def test_a_node_with_a_stale_head_is_not_trusted(
    node: WalletNode, open_wallets: Open
) -> None:
    node.timestamp -= 601
    await fail(open_wallets(node))


@pytest.mark.parametrize(
    "fault",
    [
        respond_with_status(500),
        respond_with_status(429),
        respond_with_body("[]"),
        respond_with_body("{}"),
        respond_with_body("not JSON"),
        respond_with_body('[{"jsonrpc":"2.0","id":1,"result":"0x01"}]'),
        respond_changed(lambda responses: responses[:-1]),
        respond_changed(lambda responses: [*responses, responses[-1]]),
        respond_changed(lambda responses: [each | {"id": 1} for each in responses]),
        reset,
        cut_off,
        redirect,
        flood,
    ],
)
async def test_a_node_that_fails_gives_no_verdict(
    node: WalletNode, open_wallets: Open, fault: Any
) -> None:
    node.fault = fault
    await fail(open_wallets(node))


@pytest.mark.parametrize("fault", [stay_silent, drip])
async def test_a_node_that_does_not_respond_in_time_gives_no_verdict(
    node: WalletNode, open_wallets: Open, fault: Any
) -> None:
    node.fault = fault
    await fail(open_wallets(node, timeout=SHORT))


async def test_an_unreachable_node_gives_no_verdict(node: WalletNode, open_wallets: Open) -> None:
    wallets = open_wallets(node)
    await node.stop()
    await fail(wallets)


async def test_a_check_succeeds_again_after_a_failure(node: WalletNode, open_wallets: Open) -> None:
    wallets = open_wallets(node)
    node.fault = reset
    await fail(wallets)
    node.fault = None
    assert await ask(wallets)


# Blocks


async def test_a_check_stays_pinned_to_one_block_if_another_is_mined_during_it(
    node: WalletNode, open_wallets: Open
) -> None:
    _mine_during_the_first_batch(node)
    assert await ask(open_wallets(node))
    assert node.pins == ["latest", {"blockHash": f"0x{100:064x}"}]


async def test_the_verdict_comes_from_the_pinned_block(
    node: WalletNode, open_wallets: Open
) -> None:
    _mine_during_the_first_batch(node, then=NO)
    assert not await ask(open_wallets(node))


def _mine_during_the_first_batch(node: WalletNode, then: str = YES) -> None:
    """Mine a block during the first batch, after which the node returns the verdict `then`."""

    def tamper(request: dict[str, Any], response: dict[str, Any]) -> None:
        if len(node.batches) == 1 and request["method"] == "eth_blockNumber":
            response["result"] = hex(node.number + 1)
            node.verdict = then

    node.tamper = tamper


# Several nodes


async def test_a_failing_node_is_replaced_by_the_next(
    node: WalletNode, spare_node: WalletNode, open_wallets: Open
) -> None:
    node.fault = reset
    assert await ask(open_wallets(node, spare_node))


async def test_an_unresponsive_node_leaves_time_for_the_next(
    node: WalletNode, spare_node: WalletNode, open_wallets: Open
) -> None:
    node.fault = stay_silent
    assert await ask(open_wallets(node, spare_node))


@pytest.mark.parametrize(
    ("verdicts", "accepted"),
    [((YES, YES), True), ((YES, NO), False), ((NO, YES), False), ((NO, NO), False)],
)
async def test_all_nodes_of_a_quorum_must_accept(
    node: WalletNode,
    spare_node: WalletNode,
    open_wallets: Open,
    verdicts: tuple[str, str],
    accepted: bool,
) -> None:
    node.verdict, spare_node.verdict = verdicts
    assert await ask(open_wallets(node, spare_node, quorum=2)) is accepted


@pytest.mark.parametrize("verdict", [YES, NO])
async def test_a_quorum_with_one_node_missing_gives_no_verdict(
    node: WalletNode, spare_node: WalletNode, open_wallets: Open, verdict: str
) -> None:
    node.verdict = spare_node.verdict = verdict
    spare_node.fault = reset
    await fail(open_wallets(node, spare_node, quorum=2))


async def test_a_node_far_behind_the_others_does_not_count_towards_the_quorum(
    node: WalletNode, spare_node: WalletNode, open_wallets: Open
) -> None:
    spare_node.number -= 50
    await fail(open_wallets(node, spare_node, quorum=2))


async def test_a_cancelled_check_does_not_affect_the_next(
    node: WalletNode, open_wallets: Open
) -> None:
    wallets = open_wallets(node)
    node.fault = stay_silent
    question = asyncio.create_task(ask(wallets))
    await node.received.wait()
    question.cancel()
    with pytest.raises(asyncio.CancelledError):
        await question
    node.fault = None
    assert await ask(wallets)
