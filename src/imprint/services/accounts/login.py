"""Login and logout: turns a signed message into a session that expires or can be ended."""

from dataclasses import dataclass
from datetime import timedelta

from imprint import failpoints
from imprint.auth.logins import LoginClaim, LoginVerifier
from imprint.auth.sessions import CLOCK_SKEW_SECONDS, IssuedSession, Sessions
from imprint.auth.signatures import Unproved
from imprint.domain.errors import NonceUsed
from imprint.domain.formats.addresses import Address
from imprint.domain.rate_limits import Rate
from imprint.domain.sessions import SESSION_SECONDS, LiveSession, Session
from imprint.ports import Clock
from imprint.ports.accounts import RateLimits, SessionStore
from imprint.services.accounts.contract_wallets import WalletProofs

LOGIN = "login"
"""The action that spends the nonce of a login message."""

CLOCK_SKEW = timedelta(seconds=CLOCK_SKEW_SECONDS)

LONGEST_SESSION = timedelta(seconds=SESSION_SECONDS)
"""Maximum lifetime of a session, including sessions issued by other processes."""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """An address that has signed in, and its new session."""

    address: Address
    session: IssuedSession


@dataclass(frozen=True, slots=True)
class Login:
    """Issues sessions, reads them back from requests, and ends them.

    Every process refuses an ended session from the next request on, so the database is queried for
    each request. Reads that query the database anyway take the result of `recognize` and check it
    in the same query. All other calls take a `LiveSession`.
    """

    verifier: LoginVerifier
    wallets: WalletProofs
    sessions: Sessions
    limits: RateLimits
    store: SessionStore
    clock: Clock
    rate: Rate | None

    async def sign_in(self, claim: LoginClaim) -> SignedIn:
        """Issue a session to the signer of this message. Each message works only once.

        Refuses a message that is malformed, meant for another service or chain, stale,
        signed by somebody else, or already used.
        """
        now = self.clock()
        login = self.verifier.verify(claim, now)
        if isinstance(login, Unproved):
            login = await self.wallets.prove(login, claim.client)
        if self.rate is not None:
            await self.limits.admit(f"login {login.address}", self.rate, now)
        generation = await self.store.spend_login_nonce(login.address, login.nonce, now)
        if generation is None:
            raise NonceUsed(LOGIN, None)
        return SignedIn(login.address, self.sessions.issue(login.address, now, generation))

    def recognize(self, authorization: str | None) -> Session:
        """Return the session in an Authorization header. Refuses a missing, invalid or expired one.

        The session may have been ended, so only services that check this in their own query may
        accept it.
        """
        return self.sessions.read(authorization, self.clock())

    async def authenticate(self, authorization: str | None) -> LiveSession:
        """Return the session in an Authorization header.

        Refuses the same headers as `recognize`, and also a session that has been ended.
        """
        session = self.recognize(authorization)
        await self.store.refuse_ended(session)
        return LiveSession(session.address, session.expires_at, session.id, session.generation)

    async def log_out(self, session: Session, *, everywhere: bool) -> None:
        """End this session or, with `everywhere`, all sessions of its address.

        Refuses a session that has already been ended.
        """
        if everywhere:
            now = self.clock()
            await self.store.end_all(session, now, now + LONGEST_SESSION + CLOCK_SKEW)
        else:
            await self.store.end(session, session.expires_at + CLOCK_SKEW)
        failpoints.reach("after_commit")
