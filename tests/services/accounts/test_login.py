"""Login and logout without HTTP: when a session is live, and how long a logout is stored."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.stores import open_sqlite_stores
from tests.world import MovableClock

from imprint.auth.logins import LoginVerifier
from imprint.auth.sessions import SessionKeys, Sessions
from imprint.bootstrap.stores import Stores
from imprint.domain.errors import Code, Refusal, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.rate_limits import Budget, RateLimiter
from imprint.domain.sessions import LiveSession, Session
from imprint.services.accounts.contract_wallets import WalletProofs
from imprint.services.accounts.login import Login

READER = Address("0x" + "ab" * 20)
SESSIONS = Sessions(SessionKeys(b"k" * 32), "https://imprint.example", "https://imprint.example")


@dataclass
class Recorded:
    """Accepts every logout, and records how long it must be stored."""

    until: list[datetime] = field(default_factory=list)

    async def refuse_ended(self, session: Session) -> None:
        raise Unavailable.database()

    async def end(self, session: Session, until: datetime) -> None:
        self.until.append(until)

    async def end_all(self, session: Session, now: datetime, until: datetime) -> None:
        self.until.append(until)


@pytest.fixture
async def stores(tmp_path: Path) -> AsyncIterator[Stores]:
    opened = open_sqlite_stores(tmp_path / "catalog.db")
    yield opened
    await opened.close()


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture
def login(stores: Stores, clock: MovableClock) -> Login:
    wallets = WalletProofs(
        None, RateLimiter(None), RateLimiter(None), clock.monotonic, Budget.of(1)
    )
    verifier = LoginVerifier(("imprint.example",), 1)
    limits, store = stores.rate_limits, stores.sessions
    return Login(verifier, wallets, SESSIONS, limits, store, clock, None)


def header(clock: MovableClock) -> str:
    return f"Bearer {SESSIONS.issue(READER, clock.now()).token}"


async def test_a_session_is_live_until_it_is_ended(login: Login, clock: MovableClock) -> None:
    authorization = header(clock)
    session = await login.authenticate(authorization)
    assert isinstance(session, LiveSession)
    assert session.address == READER
    await login.log_out(session, everywhere=False)
    with pytest.raises(Refusal) as refused:
        await login.authenticate(authorization)
    assert refused.value.code is Code.SESSION_ENDED


async def test_recognizing_a_session_does_not_prove_that_it_is_live(
    login: Login, clock: MovableClock
) -> None:
    assert not isinstance(login.recognize(header(clock)), LiveSession)


async def test_a_session_that_cannot_be_checked_is_not_live(
    login: Login, clock: MovableClock
) -> None:
    with pytest.raises(Unavailable):
        await replace(login, store=Recorded()).authenticate(header(clock))


async def test_a_logout_is_stored_until_every_session_it_ends_has_expired(
    login: Login, clock: MovableClock
) -> None:
    recorded = Recorded()
    session = login.recognize(header(clock))
    clock.advance(600)
    service = replace(login, store=recorded)
    await service.log_out(session, everywhere=False)
    await service.log_out(session, everywhere=True)
    one, every = recorded.until
    assert one >= session.expires_at
    # Another process may have just issued a session for two hours, and its clock is ahead.
    assert every >= clock.now() + timedelta(seconds=7200 + 5)
