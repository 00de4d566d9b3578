"""Measure the call that verifies a contract wallet: python -m bench.micro.contract_wallets

The development chain runs the validator for a single-key wallet, without a network.
"""

import time

from bench.wallets import Wallet, contract_wallet_code
from imprint.adapters.chain.contract_wallets import build_validation
from imprint.auth.typed_data import SigningDomain
from imprint.devchain.calls import Request, call, estimate_gas, sign_request, to_message
from imprint.devchain.chain import Chain
from imprint.domain.formats.addresses import keccak256, parse_address

ROUNDS, CALLS = 15, 200
"""Number of rounds, and number of calls per round."""


def main() -> None:
    """Print the size, gas and time of one call."""
    chain = Chain.open(None, lambda: int(time.time()))
    owner, digest = Wallet(SigningDomain("Imprint", "1", chain.id)), keccak256(b"what is signed")
    creation = Request(chain.wallet.addresses[0], data=contract_wallet_code(owner.address))
    receipt = chain.submit(sign_request(chain, creation)).receipt
    assert receipt is not None
    assert receipt.created is not None
    signature = bytes.fromhex(owner.sign_digest(digest)[2:])
    data = build_validation(parse_address(receipt.created), digest, signature)["data"]
    message = to_message(Request(data=bytes.fromhex(data[2:])))
    assert call(chain, message) == b"\1"
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(CALLS):
            call(chain, message)
        best = min(best, (time.perf_counter() - began) / CALLS)
    print(f"data        {len(message.data):8,} bytes")
    print(f"gas         {estimate_gas(chain, message):8,}")
    print(f"time        {best * 1e3:8.2f} ms, best of {ROUNDS} rounds of {CALLS}")
    chain.close()


if __name__ == "__main__":
    main()
