"""Calls that change nothing: what code answers, and how much gas it needs."""

from dataclasses import replace

from eth_abi.abi import decode as decode_abi
from eth_abi.exceptions import DecodingError

from imprint.devchain.chain import Chain
from imprint.devchain.machine import BLOCK_GAS_LIMIT, Message, Outcome

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
