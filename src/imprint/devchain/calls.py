"""Calls that change nothing: what code answers, and how much gas it needs."""

from dataclasses import dataclass, replace
from typing import Any

from eth_abi.abi import decode as decode_abi
from eth_abi.exceptions import DecodingError

from imprint.devchain.chain import Chain
from imprint.devchain.evm import BLOCK_GAS_LIMIT, Message, Outcome
from imprint.devchain.transactions import ACCESS_LIST, DYNAMIC_FEE, TransactionRefused

__all__ = ["ExecutionFailed", "ExecutionReverted", "call", "estimate_gas"]

_ERROR_SELECTOR = bytes.fromhex("08c379a0")
"""The first bytes of revert data that carries a sentence."""

_STIPEND = 2_300
"""Gas that a callee is lent with value, and that the caller must have had at hand."""


class ExecutionReverted(Exception):
    """The code undid itself, and says why in its data."""

    def __init__(self, data: bytes) -> None:
        reason = _read_reason(data)
        super().__init__(f"execution reverted: {reason}" if reason else "execution reverted")
        self.data = data


class ExecutionFailed(Exception):
    """The code ran into a wall: no gas left, or an instruction that does not exist."""


def call(chain: Chain, message: Message) -> bytes:
    """Run a message on the newest block and return its output; refuses what reverts or fails."""
    return _expect_success(chain.run(message)).output


def estimate_gas(chain: Chain, message: Message) -> int:
    """Find the least gas that a message succeeds with; refuses what reverts or fails anyway."""
    most = min(message.gas, BLOCK_GAS_LIMIT)
    if message.gas_price > 0:
        affordable = (chain.account(message.sender).balance - message.value) // message.gas_price
        most = min(most, max(affordable, 0))
    used = _expect_success(chain.run(replace(message, gas=most))).gas_used
    least = used - 1
    # A callee gets at most 63/64 of the gas, and refunds come last: a good guess halves the search.
    guess = min(most, (used + _STIPEND) * 64 // 63)
    while least + 1 < most:
        if chain.run(replace(message, gas=guess)).success:
            most = guess
        else:
            least = guess
        guess = (least + most) // 2
    return most


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


__all__ = ["GAS_PRICE", "NOBODY", "Request", "sign_request", "to_message"]

GAS_PRICE = 10**9
"""Wei per gas that is suggested to clients, and paid where they leave it open."""

NOBODY = "0x" + "00" * 20
"""Who calls where a call names nobody."""


@dataclass(frozen=True, slots=True)
class Request:
    """A transaction or call as a client asks for it; what is None is left to the chain."""

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
    """Turn a request into what the machine can run; without a price it costs nothing."""
    return Message(
        sender=request.sender or NOBODY,
        to=request.to,
        data=request.data,
        value=request.value,
        gas=BLOCK_GAS_LIMIT if request.gas is None else min(request.gas, BLOCK_GAS_LIMIT),
        gas_price=request.gas_price or request.max_priority_fee or 0,
        access_list=request.access_list or (),
    )


def sign_request(chain: Chain, request: Request) -> bytes:
    """Complete a request of a development account and sign it.

    Refuses a sender whose key is not at hand, two ways of paying at once, and, where the gas is
    left open, what reverts or fails.
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
        **_name_fees(request),
    }
    if request.to is not None:
        fields["to"] = bytes.fromhex(request.to[2:])
    return chain.wallet.sign_transaction(request.sender, fields)


def _name_fees(request: Request) -> dict[str, Any]:
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
