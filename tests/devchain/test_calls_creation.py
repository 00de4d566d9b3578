"""Calls without a receiver run their data as a constructor, without deploying a contract."""

from typing import Any

import pytest

SENDER = "0x" + "5e" * 20
WORD = "602a5f5260206000f3"
"""Code that returns the word 42."""

COUNTS = "5f54600101805f555f5260205ff3"
"""Code that adds 1 to the first storage slot and returns the result."""

COUNTS_TRANSIENTLY = "5f5c600101805f5d5f5260205ff3"
"""Code that adds 1 to a transient storage slot and returns the result."""


def call(client: Any, code: str, **fields: Any) -> str:
    return str(client.ask("eth_call", {"from": SENDER, "data": "0x" + code, **fields}, "latest"))


def test_a_constructor_returns_the_code_it_would_deploy(client: Any) -> None:
    assert call(client, WORD) == "0x" + (42).to_bytes(32).hex()


@pytest.mark.parametrize(("code", "returned"), [("5f5ff3", "0x"), ("600160005360015ff3", "0x01")])
def test_the_returned_code_may_be_empty_or_short(client: Any, code: str, returned: str) -> None:
    assert call(client, code) == returned


@pytest.mark.parametrize("code", [COUNTS, COUNTS_TRANSIENTLY])
def test_a_simulated_constructor_leaves_no_state(client: Any, bench: Any, code: str) -> None:
    contract, head = bench.deploy(code), bench.chain.head
    # Calls the contract and returns the word that it returns.
    asks = f"60205f5f5f5f73{contract[2:]}5af15060205ff3"
    assert [call(client, asks) for _ in range(3)] == ["0x" + (1).to_bytes(32).hex()] * 3
    assert bench.chain.slot(contract, 0) == 0
    assert bench.chain.head is head
    assert bench.chain.account(SENDER).nonce == 0


def test_a_reverting_constructor_returns_the_revert_reason(client: Any) -> None:
    error = client.fail("eth_call", {"data": "0x602a5f5260205ffd"}, "latest")
    assert error["data"] == "0x" + (42).to_bytes(32).hex()


def test_a_constructor_gets_the_gas_of_the_call(client: Any) -> None:
    gas = int(call(client, "5a5f5260205ff3", gas=hex(1_000_000)), 16)
    assert 900_000 < gas < 1_000_000
    error = client.fail("eth_call", {"data": "0x5b5f56", "gas": hex(1_000_000)}, "latest")
    assert error["message"] == "out of gas"


def test_the_length_of_a_constructor_is_limited(client: Any) -> None:
    longest = {"data": "0x" + "00" * 49_152}
    assert client.ask("eth_call", longest, "latest") == "0x"
    error = client.fail("eth_call", {"data": longest["data"] + "00"}, "latest")
    assert error["message"] == "max initcode size exceeded"


@pytest.mark.parametrize("code", ["60ef60005360015ff3", "6160015ff3"])
def test_returning_code_that_may_not_be_deployed_is_an_error(client: Any, code: str) -> None:
    client.fail("eth_call", {"data": "0x" + code}, "latest")
