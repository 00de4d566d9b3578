"""Login and logout without HTTP: when a session is live, and how long a logout is stored."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from eth_account import Account
from eth_account.messages import encode_defunct
from eth_account.signers.local import LocalAccount
from tests.stores import open_sqlite_stores
from tests.world import MovableClock

from imprint.auth.logins import LoginClaim, LoginVerifier
from imprint.auth.sessions import SessionKeys, Sessions
from imprint.bootstrap.stores import Stores
from imprint.domain.errors import Code, NonceUsed, RateLimited, Refusal, Unavailable
from imprint.domain.formats.addresses import Address, checksum_address, parse_address
from imprint.domain.rate_limits import Budget, Rate, RateLimiter
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


SIGNER: LocalAccount = Account.from_key(b"\x11" * 32)
ADDRESS = parse_address(SIGNER.address)


@dataclass
class Wallets:
    """Contract wallets that accept every signature."""

    asked: list[Address] = field(default_factory=list)

    async def accepts(self, wallet: Address, digest: bytes, signature: bytes) -> bool:
        self.asked.append(wallet)
        return True


def claim_of(clock: MovableClock, nonce: str = "a1b2c3d4e5", address: str = ADDRESS) -> LoginClaim:
    """A login as this address, which the key of `SIGNER` has signed."""
    message = (
        "imprint.example wants you to sign in with your Ethereum account:\n"
        f"{checksum_address(parse_address(address))}\n\n\n"
        "URI: https://imprint.example\nVersion: 1\nChain ID: 1\n"
        f"Nonce: {nonce}\nIssued At: {clock.now():%Y-%m-%dT%H:%M:%SZ}"
    )
    signature = SIGNER.sign_message(encode_defunct(text=message)).signature.to_0x_hex()
    return LoginClaim(message, address, signature, "192.0.2.1")


async def test_a_signed_message_opens_one_session_of_its_address(
    login: Login, clock: MovableClock
) -> None:
    signed_in = await login.sign_in(claim_of(clock))
    assert signed_in.address == ADDRESS
    session = await login.authenticate(f"Bearer {signed_in.session.token}")
    assert session.address == ADDRESS
    with pytest.raises(NonceUsed) as used:
        await login.sign_in(claim_of(clock))
    assert used.value.action == "login"


async def test_a_login_after_a_logout_everywhere_opens_a_live_session(
    login: Login, clock: MovableClock
) -> None:
    first = await login.sign_in(claim_of(clock))
    await login.log_out(login.recognize(f"Bearer {first.session.token}"), everywhere=True)
    with pytest.raises(Refusal) as refused:
        await login.authenticate(f"Bearer {first.session.token}")
    assert refused.value.code is Code.SESSION_ENDED
    second = await login.sign_in(claim_of(clock, "f6e5d4c3b2"))
    session = await login.authenticate(f"Bearer {second.session.token}")
    assert (session.address, session.expires_at) == (ADDRESS, second.session.expires_at)


async def test_a_contract_signs_in_with_a_signature_that_it_accepts(
    login: Login, clock: MovableClock
) -> None:
    wallets = Wallets()
    service = replace(login, wallets=replace(login.wallets, wallets=wallets))
    assert (await service.sign_in(claim_of(clock, address=READER))).address == READER
    assert wallets.asked == [READER]


async def test_logins_by_one_address_are_rate_limited(login: Login, clock: MovableClock) -> None:
    service = replace(login, rate=Rate(1, 60))
    await service.sign_in(claim_of(clock))
    with pytest.raises(RateLimited):
        await service.sign_in(claim_of(clock, "f6e5d4c3b2"))


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
    # Another process, whose clock may be ahead, may just have issued a session for two hours.
    assert every >= clock.now() + timedelta(seconds=7200 + 5)
