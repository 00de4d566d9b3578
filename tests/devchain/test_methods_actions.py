"""JSON-RPC methods that send transactions, sign, and control the chain."""

import json
from typing import Any

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data

STRANGER = "0x" + "ab" * 20
FIRST_KEY = "0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80"
TYPED_DATA = {
    "domain": {"name": "Imprint", "version": "1", "chainId": 31337},
    "primaryType": "Write",
    "types": {
        "EIP712Domain": [
            {"name": "name", "type": "string"},
            {"name": "version", "type": "string"},
            {"name": "chainId", "type": "uint256"},
        ],
        "Write": [{"name": "action", "type": "string"}],
    },
    "message": {"action": "create"},
}


def test_a_development_account_sends_without_a_signature(client: Any, bench: Any) -> None:
    request = {"from": bench.people[2], "to": STRANGER, "value": "0x9"}
    sent = client.ask("eth_sendTransaction", request)
    receipt = client.ask("eth_getTransactionReceipt", sent)
    assert (receipt["from"], receipt["status"], receipt["gasUsed"]) == (
        bench.people[2],
        "0x1",
        "0x5208",
    )
    assert client.ask("eth_getBalance", STRANGER, "latest") == "0x9"


@pytest.mark.parametrize("sender", [STRANGER, None])
def test_an_unknown_account_cannot_send_without_a_signature(
    client: Any, sender: str | None
) -> None:
    error = client.fail("eth_sendTransaction", {"from": sender, "to": STRANGER, "gas": "0x5208"})
    assert (error["code"], error["message"]) == (-32000, "unknown account")


def test_a_reverting_transaction_without_a_gas_limit_is_not_sent(client: Any, bench: Any) -> None:
    reverting = bench.deploy("5f5ffd")
    error = client.fail("eth_sendTransaction", {"from": bench.people[0], "to": reverting})
    assert (error["code"], error["data"]) == (3, "0x")
    assert client.ask("eth_blockNumber") == "0x1"


@pytest.mark.parametrize(
    ("fees", "kind"),
    [
        ({}, "0x2"),
        ({"gasPrice": "0x1"}, "0x0"),
        ({"gasPrice": "0x1", "accessList": []}, "0x1"),
        ({"maxFeePerGas": "0x9"}, "0x2"),
        ({"maxFeePerGas": "0x9", "maxPriorityFeePerGas": "0x2"}, "0x2"),
    ],
)
def test_the_fee_fields_determine_the_transaction_type(
    client: Any, bench: Any, fees: dict[str, Any], kind: str
) -> None:
    request = {"from": bench.people[0], "to": STRANGER} | fees
    sent = client.ask("eth_sendTransaction", request)
    assert client.ask("eth_getTransactionByHash", sent)["type"] == kind


def test_gas_price_together_with_max_fee_is_refused(client: Any, bench: Any) -> None:
    fees = {"gasPrice": "0x1", "maxFeePerGas": "0x1"}
    error = client.fail("eth_sendTransaction", {"from": bench.people[0], "to": STRANGER} | fees)
    assert error["message"].startswith("both gasPrice and")


def test_a_signed_transaction_is_mined_with_its_own_hash(client: Any) -> None:
    fields = {"to": bytes.fromhex(STRANGER[2:]), "value": 3, "gas": 21_000, "nonce": 0}
    fields |= {"maxFeePerGas": 2, "maxPriorityFeePerGas": 1, "chainId": 31337, "type": 2}
    signed = Account.sign_transaction(fields, FIRST_KEY)
    sent = client.ask("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex())
    assert sent == "0x" + bytes(signed.hash).hex()
    shown = client.ask("eth_getTransactionByHash", sent)
    assert (int(shown["r"], 16), int(shown["s"], 16)) == (signed.r, signed.s)
    assert int(shown["yParity"], 16) == signed.v
    assert (shown["maxFeePerGas"], shown["gasPrice"]) == ("0x2", "0x1")
    again = client.fail("eth_sendRawTransaction", "0x" + bytes(signed.raw_transaction).hex())
    assert (again["code"], again["message"]) == (-32000, "nonce too low: next nonce 1, tx nonce 0")


def test_a_personal_signature_matches_that_of_other_wallets(client: Any, bench: Any) -> None:
    expected = Account.sign_message(encode_defunct(text="hello"), FIRST_KEY).signature
    text = "0x" + b"hello".hex()
    assert client.ask("personal_sign", text, bench.people[0]) == "0x" + bytes(expected).hex()
    assert client.ask("eth_sign", bench.people[0], text) == "0x" + bytes(expected).hex()


@pytest.mark.parametrize("as_text", [True, False])
def test_a_typed_data_signature_matches_that_of_other_wallets(
    client: Any, bench: Any, as_text: bool
) -> None:
    message = encode_typed_data(full_message=TYPED_DATA)
    expected = Account.sign_message(message, FIRST_KEY).signature
    given = json.dumps(TYPED_DATA) if as_text else TYPED_DATA
    response = client.ask("eth_signTypedData_v4", bench.people[0], given)
    assert response == "0x" + bytes(expected).hex()


@pytest.mark.parametrize(
    "given", ["{", "[]", {}, 5, {"types": 1}, {**TYPED_DATA, "primaryType": "Nothing"}]
)
def test_typed_data_that_cannot_be_hashed_is_refused(client: Any, bench: Any, given: Any) -> None:
    assert client.fail("eth_signTypedData_v4", bench.people[0], given)["code"] == -32602


def test_an_unknown_account_cannot_sign(client: Any) -> None:
    assert client.fail("personal_sign", "0x00", STRANGER)["message"] == "unknown account"


def test_time_can_be_advanced(client: Any, bench: Any) -> None:
    assert client.ask("evm_increaseTime", 3_600) == "0xe10"
    client.ask("evm_mine")
    block = client.ask("eth_getBlockByNumber", "latest", False)
    assert int(block["timestamp"], 16) == bench.watch.now + 3_600


def test_a_snapshot_can_be_restored_once(client: Any) -> None:
    name = client.ask("evm_snapshot")
    client.ask("evm_mine")
    assert client.ask("evm_revert", name) is True
    assert client.ask("eth_blockNumber") == "0x0"
    assert client.ask("evm_revert", name) is False
