"""Contract wallets: asked only about signatures that no key has made, and rarely enough.

A node is asked for every such signature, good or bad, so each client and each wallet has a rate
limit, and few questions run at once: bad signatures spend neither the quota of a node nor the
connections that readers need. A single client cannot use up what others may ask about one wallet,
because the rate of a wallet is above that of a client.
"""

from dataclasses import dataclass, field
from typing import TypeVar

from imprint.auth.signatures import Unproved, invalid_signature
from imprint.domain.errors import Code, RateLimited, Unavailable
from imprint.domain.rate_limits import Budget, RateLimiter
from imprint.metrics import WALLET_CHECKS
from imprint.ports import Monotonic
from imprint.ports.contract_wallets import ContractWallets

Proof = TypeVar("Proof")

MAX_CHECKS = 16
"""Questions that a process has running at once, a quarter of them for one client."""

_ACCEPTED = WALLET_CHECKS.labels("accepted")
_REFUSED = WALLET_CHECKS.labels("refused")
_LIMITED = WALLET_CHECKS.labels("limited")
_UNAVAILABLE = WALLET_CHECKS.labels("unavailable")


@dataclass(frozen=True, slots=True)
class WalletProofs:
    """Turns what a contract may still prove into a proof; without `wallets` nothing is asked."""

    wallets: ContractWallets | None
    clients: RateLimiter
    addresses: RateLimiter
    monotonic: Monotonic
    running: Budget = field(default_factory=lambda: Budget.of(MAX_CHECKS))

    async def prove(self, unproved: Unproved[Proof], client: str) -> Proof:
        """The proof, once the signer's contract has accepted the signature.

        Refuses `signature_invalid` and `rate_limited`. A chain that cannot be asked, and too many
        questions at once, are `Unavailable`.
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
        # Room first: what cannot be asked now is not counted either.
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
