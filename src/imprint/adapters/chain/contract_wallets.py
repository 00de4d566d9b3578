"""Verifies contract wallets over JSON-RPC: one `eth_call` runs the compiled signature validator.

The call has no recipient, so the node runs its data as the constructor of a contract that is never
deployed (contracts/SignatureValidator.sol). The constructor returns one byte. Any other result,
including an error, is a node failure. No URL named by a contract is ever requested.
"""

import json
from collections.abc import Sequence
from functools import cache
from importlib import resources

from imprint.adapters.chain.block_calls import BlockCalls, EthCall, deadline_in
from imprint.adapters.chain.http_client import NodeFailure
from imprint.domain.formats.addresses import Address

TIMEOUT = 2.0
"""Timeout in seconds of one verification, no matter what the wallet's code does."""

GAS = 15_000_000
"""Gas limit of the call: enough for the wallet to be called twice and deployed by a factory, and
below the limit of every chain."""

CALLER = "0x" + "496d7072696e74".rjust(40, "0")
"""Sender of the call: an address without a key. Not the zero address, because some contracts trust
it."""

_VERDICTS = {b"\0": False, b"\1": True}


class JsonRpcContractWallets:
    """`ContractWallets` over JSON-RPC. `quorum` nodes must accept a signature."""

    def __init__(self, calls: BlockCalls, *, timeout: float = TIMEOUT, quorum: int = 1) -> None:
        self._calls = calls
        self._timeout = timeout
        self._quorum = quorum

    async def accepts(self, wallet: Address, digest: bytes, signature: bytes) -> bool:
        """Whether the contract at this address accepts this signature of a 32-byte digest."""
        calls = [build_validation(wallet, digest, signature)]
        deadline = deadline_in(self._timeout)
        if self._quorum == 1:
            return await self._calls.ask_one(calls, _read_verdict, deadline)
        return all(await self._calls.ask_several(calls, _read_verdict, deadline, self._quorum))


def build_validation(wallet: Address, digest: bytes, signature: bytes) -> EthCall:
    """The call that runs the validator for this signature and digest."""
    arguments = b"".join(
        (
            bytes(12) + bytes.fromhex(wallet[2:]),
            digest,
            (96).to_bytes(32),
            len(signature).to_bytes(32),
            signature + bytes(-len(signature) % 32),
        )
    )
    return {"from": CALLER, "gas": hex(GAS), "data": _validator() + arguments.hex()}


def _read_verdict(returned: Sequence[bytes]) -> bool:
    verdict = _VERDICTS.get(returned[0])
    if verdict is None:
        raise NodeFailure("the signature validator did not return a verdict")
    return verdict


@cache
def _validator() -> str:
    """The validator's creation code, as 0x-prefixed hex."""
    text = resources.files(__package__).joinpath("SignatureValidator.json").read_text("utf-8")
    code: str = json.loads(text)["bytecode"]
    return code
