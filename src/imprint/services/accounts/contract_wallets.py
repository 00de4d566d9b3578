"""Contract wallets, which are called within rate limits, for signatures that no key has made.

A node is called for every such signature, valid or not. Therefore, each client and each wallet has
a rate limit, and few calls run at once, so that invalid signatures exhaust neither the quota of a
node nor the connections that readers need. A single client cannot exhaust the rate limit of a
wallet, because a wallet's limit is higher than a client's.
"""

from dataclasses import dataclass, field
from typing import TypeVar

from imprint.auth.signatures import Unproved, invalid_signature
from imprint.domain.errors import Code, RateLimited, Unavailable
from imprint.domain.rate_limits import Budget, RateLimiter
from imprint.metrics import WALLET_CHECKS
from imprint.ports import Monotonic
from imprint.ports.accounts import ContractWallets

Proof = TypeVar("Proof")

MAX_CHECKS = 16
"""Maximum number of concurrent calls per process. One client may make a quarter of them."""

_ACCEPTED = WALLET_CHECKS.labels("accepted")
_REFUSED = WALLET_CHECKS.labels("refused")
_LIMITED = WALLET_CHECKS.labels("limited")
_UNAVAILABLE = WALLET_CHECKS.labels("unavailable")


@dataclass(frozen=True, slots=True)
class WalletProofs:
    """Checks signatures that only a contract can verify. Without `wallets`, refuses all of them."""

    wallets: ContractWallets | None
    clients: RateLimiter
    addresses: RateLimiter
    monotonic: Monotonic
    running: Budget = field(default_factory=lambda: Budget.of(MAX_CHECKS))

    async def prove(self, unproved: Unproved[Proof], client: str) -> Proof:
        """Return the proof, once the signer's contract has accepted the signature.

        Refuses with `signature_invalid` and `rate_limited`. Raises `Unavailable` if the
        chain cannot be reached, or if there are too many concurrent calls.
        """
        if self.wallets is None:
            raise invalid_signature()
        self._limit(unproved.signer, client)
        try:
            accepted = await self.wallets.accepts(
                unproved.signer, unproved.digest, unproved.signature
            )
        except Unavailable:
            _UNAVAILABLE.inc()
            raise
        finally:
            self.running.give_back(client)
        if not accepted:
            _REFUSED.inc()
            raise invalid_signature()
        _ACCEPTED.inc()
        return unproved.proof

    def _limit(self, wallet: str, client: str) -> None:
        # Take a slot first, so that a call without a free slot does not count towards the rate
        # limits.
        if not self.running.take(client):
            _LIMITED.inc()
            raise Unavailable(Code.OVERLOADED, "Too many signatures are being checked.")
        now = self.monotonic()
        try:
            self.clients.admit(client, now)
            self.addresses.admit(wallet, now)
        except RateLimited:
            self.running.give_back(client)
            _LIMITED.inc()
            raise
