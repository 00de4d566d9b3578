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
    """An address that has signed in, and its new session."""

    address: Address
    session: IssuedSession


@dataclass(frozen=True, slots=True)
class Login:
    """Issues sessions, and reads them back from requests."""

    verifier: LoginVerifier
    sessions: Sessions
    catalog: Catalog
    clock: Clock
    rate: Rate | None

    async def sign_in(self, claim: LoginClaim) -> SignedIn:
        """Issue a session to the signer of this message, once.

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
        """The session in an Authorization header. Refuses a missing, invalid or expired one."""
        return self.sessions.read(authorization, self.clock())
