"""The purchase adapter on a real node: gifts, several posts at once, and hostile authors."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from eth_abi.abi import encode
from eth_account.signers.local import LocalAccount
from tests.anvil.node import (
    DEPLOYMENT_GAS,
    PRICE,
    Anvil,
    Receipt,
    Reverted,
    encode_call,
    open_account,
    post_id_of,
)

from imprint.domain.formats.addresses import keccak256
from imprint.marketplace import adapter_artifact

BOUGHT = "0x" + keccak256(b"Bought(uint256,address,address,uint256)").hex()
CALLS = 10_000
CALLS_PER_TRANSACTION = 100
STORM_GAS = 29_000_000
STORM_FUNDS = 10**19


@pytest.fixture
def adapter(anvil: Anvil) -> str:
    return _create(anvil, adapter_artifact().bytecode, ["address"], [anvil.marketplace])


def _create(
    anvil: Anvil, bytecode: str, kinds: Sequence[str], values: Sequence[Any], value: int = 0
) -> str:
    code = bytes.fromhex(bytecode.removeprefix("0x")) + encode(kinds, values)
    made = anvil.transact(open_account(0), None, code, value, gas=DEPLOYMENT_GAS)
    return str(made["contractAddress"])


def _publish(anvil: Anvil, author: LocalAccount, count: int) -> list[int]:
    return [post_id_of(anvil.create_post(author, f"cid {number}")) for number in range(count)]


def _buy_for(anvil: Anvil, adapter: str, payer: LocalAccount, post: int, receiver: str) -> Receipt:
    call = encode_call("buyFor", ["uint256", "address"], [post, receiver])
    return anvil.transact(payer, adapter, call, PRICE)


def _buy_many(
    anvil: Anvil,
    adapter: str,
    payer: LocalAccount,
    posts: Sequence[int],
    receiver: str,
    *,
    value: int,
) -> Receipt:
    call = encode_call("buyMany", ["uint256[]", "address"], [list(posts), receiver])
    return anvil.transact(payer, adapter, call, value)


def _held(anvil: Anvil, holder: str, post: int) -> int:
    call = encode_call("balanceOf", ["address", "uint256"], [holder, post])
    return int.from_bytes(anvil.call(anvil.marketplace, call), "big")


def _funds(anvil: Anvil, address: str) -> int:
    return int(anvil.rpc("eth_getBalance", address, "latest"), 16)


def _purchases(receipt: Receipt, adapter: str) -> list[tuple[int, str, str, int]]:
    """The post, payer, receiver and price of each purchase that the adapter logged."""
    return [
        (
            int(log["topics"][1], 16),
            "0x" + log["topics"][2][-40:],
            "0x" + log["topics"][3][-40:],
            int(log["data"], 16),
        )
        for log in receipt["logs"]
        if log["address"] == adapter and log["topics"][0] == BOUGHT
    ]


def test_a_gift_goes_to_its_receiver(
    anvil: Anvil, adapter: str, alice: LocalAccount, bob: LocalAccount, carol: LocalAccount
) -> None:
    (post,) = _publish(anvil, alice, 1)
    income = _funds(anvil, alice.address)
    receipt = _buy_for(anvil, adapter, bob, post, carol.address)
    assert _held(anvil, carol.address, post) == 1
    assert _held(anvil, bob.address, post) == _held(anvil, adapter, post) == 0
    assert _funds(anvil, alice.address) - income == PRICE
    expected = (post, bob.address.lower(), carol.address.lower(), PRICE)
    assert _purchases(receipt, adapter) == [expected]


def test_excess_payment_is_refunded(
    anvil: Anvil, adapter: str, alice: LocalAccount, bob: LocalAccount
) -> None:
    posts = _publish(anvil, alice, 3)
    before = _funds(anvil, bob.address)
    receipt = _buy_many(anvil, adapter, bob, posts, bob.address, value=3 * PRICE + 5)
    fee = int(receipt["gasUsed"], 16) * int(receipt["effectiveGasPrice"], 16)
    assert before - _funds(anvil, bob.address) - fee == 3 * PRICE
    assert [_held(anvil, bob.address, post) for post in posts] == [1, 1, 1]
    assert [each[0] for each in _purchases(receipt, adapter)] == posts
    assert _funds(anvil, adapter) == 0


def test_several_posts_are_bought_together_or_not_at_all(
    anvil: Anvil, adapter: str, alice: LocalAccount, bob: LocalAccount, carol: LocalAccount
) -> None:
    posts = _publish(anvil, alice, 3)
    anvil.buy(carol, posts[2])
    for refused, value in (
        (posts, 3 * PRICE),  # the receiver holds the last one
        (posts[:2], 2 * PRICE - 1),
        ([posts[0], posts[0]], 2 * PRICE),
        ([posts[0], 99], 2 * PRICE),
        ([], PRICE),
    ):
        with pytest.raises(Reverted):
            _buy_many(anvil, adapter, bob, refused, carol.address, value=value)
    assert [_held(anvil, carol.address, post) for post in posts] == [0, 0, 1]


def test_impossible_receivers_are_refused(
    anvil: Anvil, adapter: str, alice: LocalAccount, bob: LocalAccount
) -> None:
    (post,) = _publish(anvil, alice, 1)
    for receiver in (alice.address, adapter, anvil.marketplace, "0x" + 40 * "0"):
        with pytest.raises(Reverted):
            _buy_for(anvil, adapter, bob, post, receiver)


def test_a_token_sent_to_the_adapter_does_not_block_gifts(
    anvil: Anvil, adapter: str, alice: LocalAccount, bob: LocalAccount, carol: LocalAccount
) -> None:
    (post,) = _publish(anvil, alice, 1)
    anvil.buy(bob, post)
    call = encode_call("transfer", ["address", "uint256", "uint256"], [adapter, post, 1])
    anvil.transact(bob, anvil.marketplace, call)
    _buy_for(anvil, adapter, bob, post, carol.address)
    assert _held(anvil, carol.address, post) == 1
    assert _held(anvil, adapter, post) == 0


def test_the_adapter_owns_nothing_after_each_of_many_random_calls(
    anvil: Anvil, adapter: str
) -> None:
    artifact = json.loads(Path(__file__).with_name("PurchaseStorm.json").read_text())
    kinds, values = ["address", "address", "uint256"], [anvil.marketplace, adapter, 1]
    storm = _create(anvil, artifact["bytecode"], kinds, values, STORM_FUNDS)
    run = encode_call("run", ["uint256"], [CALLS_PER_TRANSACTION])
    for _ in range(CALLS // CALLS_PER_TRANSACTION):
        anvil.transact(open_account(0), storm, run, gas=STORM_GAS)

    def read(name: str) -> int:
        return int.from_bytes(anvil.call(storm, encode_call(name, [], [])), "big")

    assert read("breaches") == 0
    assert read("bought") > CALLS // 10
    assert read("refused") > CALLS // 10
    assert _funds(anvil, adapter) == 0
