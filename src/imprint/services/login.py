"""Login: a signed message becomes a session."""

from dataclasses import dataclass

from imprint.auth.logins import LoginClaim, LoginVerifier
from imprint.auth.sessions import IssuedSession, Session, Sessions
from imprint.domain.addresses import Address
from imprint.domain.errors import NonceUsed
from imprint.domain.rate_limits import Rate
from imprint.ports import Catalog, Clock


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who signed in, and the session that proves it from now on."""

    address: Address
    session: IssuedSession


@dataclass(frozen=True, slots=True)
class Login:
    """Signs readers in, and recognizes them afterwards."""

    verifier: LoginVerifier
    sessions: Sessions
    catalog: Catalog
    clock: Clock
    rate: Rate | None

    async def sign_in(self, claim: LoginClaim) -> SignedIn:
        """A session for whoever signed this message, once.

        Refuses a message that is malformed, meant for another service or chain, stale, signed by
        somebody else, or used before.
        """
        now = self.clock()
        login = self.verifier.verify(claim, now)
        if self.rate is not None:
            await self.catalog.admit(f"login {login.address}", self.rate, now)
        if not await self.catalog.spend_login_nonce(login.address, login.nonce, now):
            raise NonceUsed(None)
        return SignedIn(login.address, self.sessions.issue(login.address, now))

    def recognize(self, authorization: str | None) -> Session:
        """The session in an Authorization header. Refuses what is missing, invalid or expired."""
        return self.sessions.read(authorization, self.clock())
