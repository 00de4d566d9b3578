"""Payment: which posts are offered for sale over HTTP, and one-time reads by proven addresses."""

import asyncio
from dataclasses import dataclass, field

from imprint.auth.sign_in_with_x import Challenge, Challenges, SignInClaim, SignInProof
from imprint.auth.signatures import Unproved
from imprint.domain.drafts.files import File
from imprint.domain.errors import NonceUsed, Unpaid
from imprint.domain.formats.addresses import Address
from imprint.domain.moderation import Show
from imprint.domain.posts.posts import Purchase
from imprint.domain.rate_limits import Budget, Rate
from imprint.ports import Clock, MarketplaceReader
from imprint.ports.accounts import RateLimits, SessionStore
from imprint.ports.post_index import PostIndexReader
from imprint.services.accounts.contract_wallets import WalletProofs
from imprint.services.moderation import CurrentMeasures

WAIT_SECONDS = 15.0
"""How long a read waits for the purchase transaction that it names."""

POLL_SECONDS = 0.5
"""The first pause of a waiting read between two queries to the chain, in seconds.

Each pause is 1.5 times as long as the previous one, so that a made-up transaction hash causes few
queries.
"""

MAX_WAITS = 32
"""Maximum number of waiting reads per process."""

READ = "read"
"""The action that `NonceUsed` names if the nonce of a challenge was already spent."""


@dataclass(frozen=True, slots=True)
class Payments:
    """Issues payment challenges, and admits reads by clients that signed one.

    Nothing is stored about a challenge until a read has spent its nonce. Spent nonces are shared
    by all processes.
    """

    challenges: Challenges
    wallets: WalletProofs
    limits: RateLimits
    store: SessionStore
    index: PostIndexReader | None
    measures: CurrentMeasures
    show: Show
    clock: Clock
    rate: Rate | None
    marketplace: MarketplaceReader
    waiting: Budget = field(default_factory=lambda: Budget.of(MAX_WAITS))

    async def offers(self, unpaid: Unpaid) -> bool:
        """Whether the post is offered for sale to a caller who may not read it."""
        if not unpaid.is_listed:
            return False
        if self.show is not Show.ALLOWED:
            return True
        return (await self.measures.current()).allows(unpaid.file.owner)

    async def title(self, post_id: int, file: File) -> str | None:
        """Return the title of a post, or None while the index does not have it.

        Without an index, the title is empty.
        """
        if self.index is None:
            return ""
        post = await self.index.indexed_post(post_id)
        return None if post is None or post.cid != file.cid else post.title

    def challenge(self, path: str) -> Challenge:
        """Issue a challenge for reading this path."""
        return self.challenges.issue(path, self.clock())

    async def prove(self, claim: SignInClaim, path: str) -> SignInProof:
        """Return the proven address of a client that may read this path once.

        Refuses a claim that is malformed, meant for another path, service or chain, stale, or
        signed by somebody else. Also refuses an address that makes too many claims.
        """
        now = self.clock()
        proof = self.challenges.verify(claim, path, now)
        if isinstance(proof, Unproved):
            proof = await self.wallets.prove(proof, claim.client)
        if self.rate is not None:
            await self.limits.admit(f"read {proof.address}", self.rate, now)
        return proof

    async def spend(self, proof: SignInProof) -> None:
        """Spend the nonce of a proof whose read is about to succeed. Raises `NonceUsed`."""
        now = self.clock()
        if await self.store.spend_login_nonce(proof.address, proof.nonce, now) is None:
            raise NonceUsed(READ, None)

    async def find_purchase(self, tx_hash: str, post_id: int, buyer: Address) -> Purchase | None:
        """Return the purchase in this transaction, or None if it is not in a block yet."""
        return await self.marketplace.find_purchase(tx_hash, post_id, buyer)

    async def wait_for_purchase(
        self, tx_hash: str, post_id: int, buyer: Address, client: str
    ) -> Purchase | None:
        """Wait until this transaction is in a block, and return its purchase.

        Returns None if this takes too long. If this client, or all clients together, have too many
        waiting reads, queries the chain once without waiting. Raises `Unavailable`.
        """
        if not self.waiting.take(client):
            return await self.find_purchase(tx_hash, post_id, buyer)
        pause = POLL_SECONDS
        try:
            async with asyncio.timeout(WAIT_SECONDS):
                while (found := await self.find_purchase(tx_hash, post_id, buyer)) is None:
                    await asyncio.sleep(pause)
                    pause *= 1.5
                return found
        except TimeoutError:
            return None
        finally:
            self.waiting.give_back(client)
