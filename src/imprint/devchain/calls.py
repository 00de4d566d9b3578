"""Calls, gas estimates, and transactions that the chain fills in and signs for a client."""

from dataclasses import dataclass, replace
from typing import Any

from eth_abi.abi import decode as decode_abi
from eth_abi.exceptions import DecodingError

from imprint.devchain.chain import Chain
from imprint.devchain.evm import BLOCK_GAS_LIMIT, Message, Outcome
from imprint.devchain.transactions import ACCESS_LIST, DYNAMIC_FEE, TransactionRefused

GAS_PRICE = 10**9
"""The gas price in wei that is suggested to clients and used by default for their transactions."""

NOBODY = "0x" + "00" * 20
"""The default sender of a call."""

_ERROR_SELECTOR = bytes.fromhex("08c379a0")
"""Selector of Error(string), which precedes the reason in revert data."""

_STIPEND = 2_300
"""Extra gas that a callee gets when it receives value."""


class ExecutionReverted(Exception):
    """The code reverted. `data` is its revert data."""

    def __init__(self, data: bytes) -> None:
        reason = _read_reason(data)
        super().__init__(f"execution reverted: {reason}" if reason else "execution reverted")
        self.data = data


class ExecutionFailed(Exception):
    """The code halted without reverting: out of gas, or an invalid instruction."""


@dataclass(frozen=True, slots=True)
class Request:
    """A transaction or call as sent by a client. The chain fills in fields that are None."""

    sender: str | None = None
    to: str | None = None
    data: bytes = b""
    value: int = 0
    gas: int | None = None
    nonce: int | None = None
    gas_price: int | None = None
    max_fee: int | None = None
    max_priority_fee: int | None = None
    access_list: tuple[tuple[str, tuple[int, ...]], ...] | None = None


def to_message(request: Request) -> Message:
    """Convert a request into the input for a run. If it has no gas price, gas is free."""
    return Message(
        sender=request.sender or NOBODY,
        to=request.to,
        data=request.data,
        value=request.value,
        gas=BLOCK_GAS_LIMIT if request.gas is None else min(request.gas, BLOCK_GAS_LIMIT),
        gas_price=request.gas_price or request.max_priority_fee or 0,
        access_list=request.access_list or (),
    )


def call(chain: Chain, message: Message) -> bytes:
    """Run a message on the newest block and return its output.

    Raises `MessageRefused`, `ExecutionReverted` and `ExecutionFailed`.
    """
    return _expect_success(chain.run(message)).output


def estimate_gas(chain: Chain, message: Message) -> int:
    """Find the lowest gas limit with which a message succeeds. Raises the same errors as `call`."""
    most = min(message.gas, BLOCK_GAS_LIMIT)
    if message.gas_price > 0:
        affordable = (chain.account(message.sender).balance - message.value) // message.gas_price
        most = min(most, max(affordable, 0))
    used = _expect_success(chain.run(replace(message, gas=most))).gas_used
    least = used - 1
    # The limit must exceed the gas used, because a callee gets at most 63/64 of the gas, and
    # refunds come last. A good first guess halves the search.
    guess = min(most, (used + _STIPEND) * 64 // 63)
    while least + 1 < most:
        if chain.run(replace(message, gas=guess)).success:
            most = guess
        else:
            least = guess
        guess = (least + most) // 2
    return most


def sign_request(chain: Chain, request: Request) -> bytes:
    """Fill in a request from a development account and sign it.

    Raises `UnknownAccount` and `TransactionRefused`. Without a gas limit, also raises the
    same errors as `estimate_gas`.
    """
    if request.sender is None:
        raise TransactionRefused("unknown account")
    nonce = chain.account(request.sender).nonce if request.nonce is None else request.nonce
    gas = estimate_gas(chain, to_message(request)) if request.gas is None else request.gas
    fields: dict[str, Any] = {
        "chainId": chain.id,
        "nonce": nonce,
        "gas": gas,
        "value": request.value,
        "data": request.data,
        **_choose_fees(request),
    }
    if request.to is not None:
        fields["to"] = bytes.fromhex(request.to[2:])
    return chain.wallet.sign_transaction(request.sender, fields)


def _choose_fees(request: Request) -> dict[str, Any]:
    """Return the fields that differ between transaction types."""
    listed = [
        {"address": address, "storageKeys": [f"0x{index:064x}" for index in slots]}
        for address, slots in request.access_list or ()
    ]
    if request.gas_price is None:
        tip = GAS_PRICE if request.max_priority_fee is None else request.max_priority_fee
        fee = max(tip, GAS_PRICE) if request.max_fee is None else request.max_fee
        if request.max_priority_fee is None:
            tip = min(tip, fee)
        return {
            "type": DYNAMIC_FEE,
            "maxFeePerGas": fee,
            "maxPriorityFeePerGas": tip,
            "accessList": listed,
        }
    if request.max_fee is not None or request.max_priority_fee is not None:
        raise TransactionRefused(
            "both gasPrice and (maxFeePerGas or maxPriorityFeePerGas) specified"
        )
    if request.access_list is None:
        return {"gasPrice": request.gas_price}
    return {"type": ACCESS_LIST, "gasPrice": request.gas_price, "accessList": listed}


def _expect_success(outcome: Outcome) -> Outcome:
    if outcome.success:
        return outcome
    if outcome.halted is None:
        raise ExecutionReverted(outcome.output)
    if "OutOfGas" in outcome.halted:
        raise ExecutionFailed("out of gas")
    raise ExecutionFailed(f"execution failed: {outcome.halted}")


def _read_reason(data: bytes) -> str | None:
    if not data.startswith(_ERROR_SELECTOR):
        return None
    try:
        (reason,) = decode_abi(["string"], data[4:])
    except (DecodingError, UnicodeDecodeError):
        return None
    return str(reason)
