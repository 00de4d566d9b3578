"""A buyer that reenters the marketplace while receiving a payment."""

from typing import Any

from imprint.devchain.calls import Request, sign_request

PRICE = 10**17


def assemble_reentrant_buyer(market: Any) -> bytes:
    """Assemble a contract that forwards calls and buys again whenever it receives coins."""
    marketplace = "73" + market.address[2:]
    again = market.calldata("subscribePost", 1)
    on_call = f"365f5f37 5f5f365f34{marketplace}5af1 5000"
    on_money = f"7f{again[:32].hex()}5f52 6001600452 5f5f60245f47{marketplace}5af1 5000"
    on_money_code = bytes.fromhex(on_money)
    on_call_code = bytes.fromhex(on_call)
    start = 4  # CALLDATASIZE, PUSH1 target, JUMPI
    runtime = (
        bytes([0x36, 0x60, start + len(on_money_code), 0x57])
        + on_money_code
        + b"\x5b"
        + on_call_code
    )
    return (
        bytes([0x60, len(runtime), 0x60, 0x0A, 0x5F, 0x39, 0x60, len(runtime), 0x5F, 0xF3])
        + runtime
    )


def submit(market: Any, sender: str, **fields: Any) -> Any:
    request = Request(sender=sender, **fields)
    receipt = market.chain.submit(sign_request(market.chain, request)).receipt
    assert receipt.success
    return receipt


def test_a_reentrant_buyer_still_gets_only_one_token(market: Any) -> None:
    author, attacker = market.people[:2]
    market.publish(author, priceInNative=PRICE)
    before = market.account(author).balance
    buyer = submit(market, attacker, data=assemble_reentrant_buyer(market)).created
    data = market.calldata("subscribePost", 1)
    submit(market, attacker, to=buyer, data=data, value=3 * PRICE, gas=1_000_000)
    assert market.read("balanceOf", buyer, 1) == 1
    assert market.account(author).balance == before + PRICE
    assert market.account(buyer).balance == 2 * PRICE


def test_a_reentrant_buyer_can_buy(market: Any) -> None:
    author, attacker = market.people[:2]
    market.publish(author, priceInNative=PRICE)
    buyer = submit(market, attacker, data=assemble_reentrant_buyer(market)).created
    submit(market, attacker, to=buyer, value=PRICE, gas=1_000_000)
    assert market.read("balanceOf", buyer, 1) == 1


def test_an_author_that_rejects_payments_cannot_be_paid(market: Any) -> None:
    # Forwards every call, and reverts when coins arrive without a call.
    marketplace = "73" + market.address[2:]
    runtime = bytes.fromhex(f"36600757 5f5ffd 5b 365f5f37 5f5f365f34{marketplace}5af1 5000")
    creation = bytes([0x60, len(runtime), 0x60, 0x0A, 0x5F, 0x39, 0x60, len(runtime), 0x5F, 0xF3])
    author = submit(market, market.people[0], data=creation + runtime).created
    post = market.calldata("createPost", market.post())
    submit(market, market.people[0], to=author, data=post, gas=1_000_000)
    refused = market.refuse(market.people[1], "subscribePost", 1, value=PRICE)
    assert (refused.name, refused.values) == ("PaymentRefused", (author, PRICE))
