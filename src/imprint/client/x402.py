"""Imprint payment scheme for clients of the PyPI package `x402`, which is not a dependency.

scheme = ImprintSubscribeScheme(seller, partial(KeyWallet, key), rpc_url, max=10**16)
client = x402Client().register(scheme.network, scheme)
client.set_spend_controls({"allowed_assets": [{"network": scheme.network, "asset": "native"}]})
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Lock
from typing import Any, Protocol

from imprint.client.payments import (
    LimitedBuyer,
    Offer,
    Purchases,
    Seller,
    check_offer,
    sign_offer,
)
from imprint.client.transactions import Node
from imprint.client.wallet import Wallet
from imprint.interface.codec import decode_json, encode_json
from imprint.interface.payments import SCHEME, PaymentClaim

WAIT_SECONDS = 120.0
"""How long a payment waits until its purchase is in a block."""

NO_TRANSACTION = "0x" + "0" * 64
"""The hash for a purchase that this scheme did not make: the wallet already holds the token."""


class Requirements(Protocol):
    """An entry of `accepts` as the package `x402` decodes it."""

    def model_dump_json(self, *, by_alias: bool) -> str:
        """Return the entry as JSON."""


class ImprintSubscribeScheme:
    """Buys posts of one service for an x402 client.

    Each post is paid for once, even if the service asks again, and only at the seller's
    marketplace. The message that is signed proves the wallet's address for one read of that post.
    """

    scheme = SCHEME

    def __init__(
        self,
        seller: Seller,
        open_wallet: Callable[[Node], Wallet],
        rpc_url: str,
        *,
        max: int,  # noqa: A002 - as in `Imprint.read`
        seconds: float = WAIT_SECONDS,
    ) -> None:
        """Pay with the wallet that `open_wallet` returns for a node, at most `max` wei in total.

        `rpc_url` is the URL of a node. `max` does not include the chain's fees. A payment waits
        at most `seconds` seconds until its purchase is in a block.
        """
        self._seller = seller
        self._open_wallet = open_wallet
        self._rpc_url = rpc_url
        self._left = max
        self._seconds = seconds
        self._purchases: Purchases = {}
        self._lock = Lock()

    @property
    def network(self) -> str:
        """The CAIP-2 identifier of the chain, by which x402 clients name it."""
        return f"eip155:{self._seller.chain_id}"

    def create_payment_payload(self, requirements: Requirements) -> dict[str, Any]:
        """Buy the post of an offer, and sign the message with which the client reads it.

        A purchase that is still pending after a while is returned, too: the service says that it
        is pending, and the next request continues it. Raises `InvalidOffer`, `TooExpensive`,
        `Reverted` and `NodeError`.
        """
        offer = check_offer(requirements.model_dump_json(by_alias=True).encode(), self._seller)
        # The package calls this method on its event loop, and it cannot be a coroutine.
        with self._lock, ThreadPoolExecutor(1) as thread:
            claim = thread.submit(asyncio.run, self._pay(offer)).result()
        return decode_json(encode_json(claim), dict[str, Any])

    async def _pay(self, offer: Offer) -> PaymentClaim:
        async with Node(self._rpc_url) as node:
            wallet = self._open_wallet(node)
            buyer = LimitedBuyer(self._seller, wallet, node, self._left, self._purchases)
            try:
                transaction = await buyer.buy(offer)
                if transaction is not None:
                    with suppress(TimeoutError):
                        await buyer.confirm(offer, transaction, self._seconds)
            finally:
                self._left = buyer.left
            proof = await sign_offer(wallet, self._seller, offer)
        return PaymentClaim(transaction or NO_TRANSACTION, proof)
