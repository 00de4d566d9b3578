"""JSON-RPC methods that only read."""

from typing import Any

import pytest
from eth_abi.abi import encode

from imprint.devchain.evm import keccak256
from imprint.devchain.rpc import Dispatcher

STRANGER = "0x" + "ab" * 20
COUNTER = "5f5460010180 5f55 5f5260205ff3"  # adds one to slot 0 and returns it


def selector(signature: str) -> str:
    return "0x" + keccak256(signature.encode())[:4].hex()


def test_the_chain_reports_its_network_accounts_and_version(client: Any, bench: Any) -> None:
    assert client.ask("net_version") == "31337"
    assert client.ask("eth_syncing") is False
    assert client.ask("eth_accounts") == list(bench.people)
    assert client.ask("eth_requestAccounts") == list(bench.people)
    assert isinstance(client.ask("web3_clientVersion"), str)


def test_an_account_can_be_read(client: Any, bench: Any) -> None:
    counter = bench.deploy(COUNTER)
    bench.send(to=counter)
    assert client.ask("eth_getBalance", STRANGER, "latest") == "0x0"
    assert client.ask("eth_getTransactionCount", bench.people[0], "pending") == "0x2"
    assert client.ask("eth_getCode", counter) == "0x" + COUNTER.replace(" ", "")
    assert client.ask("eth_getStorageAt", counter, "0x0", "latest") == "0x" + "1".zfill(64)


@pytest.mark.parametrize("tag", ["latest", "pending", "safe", "finalized", "0x1"])
def test_every_block_tag_refers_to_the_newest_block(client: Any, bench: Any, tag: str) -> None:
    bench.deploy(COUNTER)
    assert client.ask("eth_getBalance", STRANGER, tag) == "0x0"
    assert client.ask("eth_getBlockByNumber", tag, False)["number"] == "0x1"


def test_a_call_may_specify_the_newest_block_by_hash_or_number(client: Any, bench: Any) -> None:
    request = {"to": bench.deploy(COUNTER)}
    newest = client.ask("eth_getBlockByNumber", "latest", False)["hash"]
    for name in ({"blockHash": newest, "requireCanonical": True}, {"blockNumber": "0x1"}, "0x1"):
        assert client.ask("eth_call", request, name) == "0x" + "1".zfill(64)


def test_reading_older_state_is_refused_with_a_reason(client: Any, bench: Any) -> None:
    bench.deploy(COUNTER)
    error = client.fail("eth_call", {"to": STRANGER}, "0x0")
    assert error["code"] == -32000
    assert "state of block 0 is not kept" in error["message"]


def test_reading_state_at_an_unknown_block_is_refused(client: Any) -> None:
    assert client.fail("eth_getBalance", STRANGER, "0x5")["message"] == "header not found"
    unknown = {"blockHash": "0x" + "11" * 32}
    assert client.fail("eth_call", {"to": STRANGER}, unknown)["message"] == "header not found"


def test_an_unknown_block_or_transaction_is_returned_as_null(client: Any) -> None:
    nothing = "0x" + "11" * 32
    assert client.ask("eth_getBlockByNumber", "0x5", False) is None
    assert client.ask("eth_getBlockByHash", nothing, True) is None
    assert client.ask("eth_getTransactionByHash", nothing) is None
    assert client.ask("eth_getTransactionReceipt", nothing) is None
    assert client.ask("eth_getBlockReceipts", "0x5") is None


@pytest.mark.parametrize(
    "name", ["0x01", "1", "0xg", "0x", "newest", 1, {}, {"blockNumber": 1}, {"blockHash": "0x1"}]
)
def test_an_invalid_block_identifier_is_refused(client: Any, name: Any) -> None:
    assert client.fail("eth_getBlockByNumber", name, False)["code"] == -32602


@pytest.mark.parametrize("address", ["", "0x", "0x12", "ab" * 20, "0x" + "zz" * 20, 5, None])
def test_an_invalid_address_is_refused(client: Any, address: Any) -> None:
    assert client.fail("eth_getBalance", address, "latest")["code"] == -32602


def test_a_transaction_has_the_same_representation_everywhere(client: Any, bench: Any) -> None:
    receipt = bench.send(to=STRANGER, value=5, data=b"\x01")
    shown = client.ask("eth_getTransactionByHash", "0x" + receipt.transaction.hash.hex())
    (in_block,) = client.ask("eth_getBlockByNumber", "latest", True)["transactions"]
    assert shown == in_block
    assert (shown["from"], shown["to"]) == (bench.people[0], STRANGER)
    assert (shown["value"], shown["input"], shown["type"]) == ("0x5", "0x01", "0x2")
    assert shown["chainId"] == "0x7a69"


def test_a_receipt_names_the_created_contract(client: Any, bench: Any) -> None:
    address = bench.deploy(COUNTER)
    block = client.ask("eth_getBlockByNumber", "latest", False)
    receipt = client.ask("eth_getTransactionReceipt", block["transactions"][0])
    assert client.ask("eth_getBlockReceipts", block["hash"]) == [receipt]
    assert client.ask("eth_getBlockReceipts", "latest") == [receipt]
    assert receipt["contractAddress"] == address
    assert receipt["to"] is None
    assert (receipt["status"], receipt["logs"]) == ("0x1", [])
    assert receipt["blockHash"] == block["hash"]


def test_fee_history_covers_the_requested_blocks(client: Any, bench: Any) -> None:
    bench.send(to=STRANGER, gas_price=7)
    history = client.ask("eth_feeHistory", "0x5", "latest", [25, 75])
    assert history["oldestBlock"] == "0x0"
    assert history["baseFeePerGas"] == ["0x0", "0x0", "0x0"]
    assert history["reward"] == [["0x0", "0x0"], ["0x7", "0x7"]]
    assert len(history["gasUsedRatio"]) == 2


def test_a_call_changes_nothing(client: Any, bench: Any) -> None:
    counter = bench.deploy(COUNTER)
    for _ in range(2):
        assert client.ask("eth_call", {"to": counter}, "latest") == "0x" + "1".zfill(64)


def test_a_contract_creation_call_returns_the_code(client: Any) -> None:
    creation = "0x602a5f5260205ff3"
    assert client.ask("eth_call", {"data": creation}, "latest") == "0x" + f"{42:064x}"


def test_a_custom_error_is_returned_as_data(client: Any, marketplace: str) -> None:
    data = selector("subscribePost(uint256)") + encode(["uint256"], [9]).hex()
    error = client.fail("eth_call", {"to": marketplace, "data": data}, "latest")
    expected = selector("UnknownPost(uint256)") + encode(["uint256"], [9]).hex()
    assert error == {"code": 3, "message": "execution reverted", "data": expected}


def test_a_revert_string_is_part_of_the_error_message(client: Any, bench: Any) -> None:
    revert_data = bytes.fromhex("08c379a0") + encode(["string"], ["no ink left"])
    # Copies everything after its own ten bytes of code, and reverts with it.
    size = f"{len(revert_data):02x}"
    runtime = f"60{size}600a5f39 60{size}5ffd".replace(" ", "")
    reverting = bench.deploy(runtime + revert_data.hex())
    error = client.fail("eth_estimateGas", {"to": reverting})
    assert error["message"] == "execution reverted: no ink left"
    assert error["data"] == "0x" + revert_data.hex()


def test_invalid_code_fails_without_error_data(client: Any, bench: Any) -> None:
    broken = bench.deploy("fe")
    error = client.fail("eth_call", {"to": broken}, "latest")
    assert error["code"] == -32000
    assert "data" not in error


def test_a_call_without_enough_gas_fails_with_the_reason(client: Any, bench: Any) -> None:
    counter = bench.deploy(COUNTER)
    assert client.fail("eth_call", {"to": counter, "gas": "0x6000"})["message"] == "out of gas"
    assert client.fail("eth_call", {"to": counter, "gas": "0x1"})["message"] == (
        "intrinsic gas too low"
    )


def test_a_gas_estimate_is_exactly_sufficient(client: Any, bench: Any, marketplace: str) -> None:
    counter = bench.deploy(COUNTER)
    gas = int(client.ask("eth_estimateGas", {"from": bench.people[0], "to": counter}), 16)
    assert client.ask("eth_call", {"to": counter, "gas": hex(gas)})
    assert client.fail("eth_call", {"to": counter, "gas": hex(gas - 1)})["message"] == "out of gas"


def test_state_overrides_are_refused(client: Any) -> None:
    overrides = {STRANGER: {"balance": "0x1"}}
    assert client.fail("eth_call", {"to": STRANGER}, "latest", overrides)["code"] == -32602
    assert client.ask("eth_call", {"to": STRANGER}, "latest", {}) == "0x"


@pytest.mark.parametrize(
    "request_",
    [
        {"to": "0x1"},
        {"value": "5"},
        {"gas": "0x00"},
        {"data": "0x1"},
        {"data": "0x01", "input": "0x02"},
        {"accessList": {}},
        {"accessList": [{"address": STRANGER, "storageKeys": ["0x1"]}]},
        [],
        None,
    ],
)
def test_an_invalid_call_is_refused(client: Any, request_: Any) -> None:
    assert client.fail("eth_call", request_, "latest")["code"] == -32602


def test_the_block_range_limit_for_logs_is_enforced(bench: Any, client: Any) -> None:
    for _ in range(5):
        bench.chain.mine()
    limited = type(client)(Dispatcher(bench.chain, log_range_limit=3))
    assert limited.ask("eth_getLogs", {"fromBlock": "0x1", "toBlock": "0x3"}) == []
    error = limited.fail("eth_getLogs", {"fromBlock": "0x1", "toBlock": "0x4"})
    assert error == {"code": -32005, "message": "query exceeds max block range 3"}
