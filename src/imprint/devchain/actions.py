"""The JSON-RPC methods that change the chain or sign with its accounts."""

import json
from collections.abc import Mapping

from imprint.devchain.answers import show_bytes, show_quantity
from imprint.devchain.blocks import Block
from imprint.devchain.chain import Chain
from imprint.devchain.parameters import (
    BadParameter,
    Parameters,
    parse_address,
    parse_bytes,
    parse_object,
    parse_quantity,
    parse_request,
)
from imprint.devchain.queries import Method
from imprint.devchain.requests import sign_request

__all__ = ["ACTIONS"]

_MAX_ADVANCE = 10**9
"""The most seconds that the clock is set ahead at once, some thirty years."""


def _send(chain: Chain, parameters: Parameters) -> str:
    request = parameters.take(0, parse_request)
    return _hash_of(chain.submit(sign_request(chain, request)))


def _send_raw(chain: Chain, parameters: Parameters) -> str:
    return _hash_of(chain.submit(parameters.take(0, parse_bytes)))


def _hash_of(block: Block) -> str:
    if block.receipt is None:
        raise RuntimeError("a transaction was mined into a block without a receipt")
    return show_bytes(block.receipt.transaction.hash)


def _sign_personal(chain: Chain, parameters: Parameters) -> str:
    text, signer = parameters.take(0, parse_bytes), parameters.take(1, parse_address)
    return show_bytes(chain.wallet.sign_text(signer, text))


def _sign(chain: Chain, parameters: Parameters) -> str:
    signer, text = parameters.take(0, parse_address), parameters.take(1, parse_bytes)
    return show_bytes(chain.wallet.sign_text(signer, text))


def _sign_typed_data(chain: Chain, parameters: Parameters) -> str:
    signer = parameters.take(0, parse_address)
    return show_bytes(chain.wallet.sign_typed_data(signer, parameters.take(1, _parse_typed_data)))


def _parse_typed_data(value: object) -> Mapping[str, object]:
    if not isinstance(value, str):
        return parse_object(value)
    try:
        return parse_object(json.loads(value))
    except (ValueError, RecursionError) as error:
        raise BadParameter("typed data is no JSON") from error


def _mine(chain: Chain, _: Parameters) -> str:
    chain.mine()
    return "0x0"


def _advance_clock(chain: Chain, parameters: Parameters) -> str:
    return show_quantity(chain.advance_clock(parameters.take(0, _parse_seconds)))


def _parse_seconds(value: object) -> int:
    # Other development chains take plain numbers here, and tools rely on it.
    seconds = value if type(value) is int else parse_quantity(value)
    if not 0 <= seconds <= _MAX_ADVANCE:
        raise BadParameter(f"expected seconds from 0 to {_MAX_ADVANCE}")
    return seconds


def _snapshot(chain: Chain, _: Parameters) -> str:
    return show_quantity(chain.snapshot())


def _restore(chain: Chain, parameters: Parameters) -> bool:
    return chain.restore(parameters.take(0, parse_quantity))


ACTIONS: Mapping[str, Method] = {
    "eth_sendTransaction": Method(_send, 1),
    "eth_sendRawTransaction": Method(_send_raw, 1),
    # Wallets ignore the password that some clients send as a third parameter.
    "personal_sign": Method(_sign_personal, 3),
    "eth_sign": Method(_sign, 2),
    "eth_signTypedData_v4": Method(_sign_typed_data, 2),
    "evm_mine": Method(_mine, 0),
    "evm_increaseTime": Method(_advance_clock, 1),
    "evm_snapshot": Method(_snapshot, 0),
    "evm_revert": Method(_restore, 1),
}
