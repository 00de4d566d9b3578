"""Writing sessions: who may open and revoke them, and when a process looks them up again."""

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from tests.world import Wallet, World
from tests.writing_sessions import WritingKey, bound_envelope, hash_of

from imprint.auth.typed_data import SigningDomain, TypedDataClaim, WriteVerifier
from imprint.auth.writing_sessions import OpeningClaim, OpeningVerifier
from imprint.domain.drafts.files import Action, new_id
from imprint.domain.errors import Code, NonceUsed, RateLimited, Refusal, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.formats.cids import document_cid
from imprint.domain.moderation import author_refused
from imprint.domain.rate_limits import Rate, RateLimiter, write_key
from imprint.domain.sessions import (
    MAX_WRITING_SESSIONS,
    OPENING,
    WRITING_ACTIONS,
    WritingSession,
)
from imprint.services.accounts import writing_sessions
from imprint.services.accounts.contract_wallets import WalletProofs
from imprint.services.accounts.writing_sessions import WritingSessions

INVALID_IDS = ["", "short", "\0" * 36, "Z" * 36, "0" * 37]


@dataclass
class CountingStore:
    """An in-memory store that counts session lookups."""

    sessions: dict[str, WritingSession] = field(default_factory=dict)
    spent: set[tuple[Address, str]] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    is_down: bool = False

    async def add_session(self, session: WritingSession, nonce: str, limit: int) -> bool:
        await self.check_nonce(session.wallet, nonce)
        self.spent.add((session.wallet, nonce))
        self.sessions[session.id] = session
        return len(self.sessions) <= limit

    async def list_sessions(self, wallet: Address, now: datetime) -> list[WritingSession]:
        return [each for each in self.sessions.values() if each.wallet == wallet]

    async def find_session(self, session_id: str) -> WritingSession | None:
        self.asked.append(session_id)
        if self.is_down:
            raise Unavailable.database()
        return self.sessions.get(session_id)

    async def check_nonce(self, wallet: Address, nonce: str) -> None:
        if (wallet, nonce) in self.spent:
            raise NonceUsed(OPENING, None)

    async def revoke_session(self, wallet: Address, session_id: str) -> bool:
        self.asked.append(session_id)
        return self.sessions.pop(session_id, None) is not None

    async def revoke_sessions(self, wallet: Address) -> None:
        self.sessions.clear()


@dataclass
class Operator:
    """An operator who refuses the writes of one author."""

    refused: str

    async def check_writer(self, author: Address) -> None:
        if author == self.refused:
            raise author_refused()


@dataclass
class Wallets:
    """Contract wallets that accept every signature."""

    asked: list[Address] = field(default_factory=list)

    async def accepts(self, wallet: Address, digest: bytes, signature: bytes) -> bool:
        self.asked.append(wallet)
        return True


def service_of(world: World, store: CountingStore) -> WritingSessions:
    domain, url = SigningDomain("Imprint", "1", 31337), world.settings.server.public_url
    wallets = WalletProofs(None, RateLimiter(None), RateLimiter(None), world.clock.monotonic)
    return WritingSessions(
        OpeningVerifier(domain, url),
        WriteVerifier(domain, url),
        wallets,
        store,
        world.adapters.stores.rate_limits,
        world.clock,
        None,
    )


def opening_of(key: WritingKey) -> OpeningClaim:
    body = key.wallet.sign_envelope(key.opening())
    return OpeningClaim(body["salt"], body["address"], body["signature"])


async def opened(service: WritingSessions, wallet: Wallet) -> WritingKey:
    key = WritingKey(wallet)
    key.id = (await service.open(opening_of(key))).id
    return key


async def prove(service: WritingSessions, key: WritingKey) -> Any:
    body = key.create_body()
    claim = TypedDataClaim(body["salt"], body["address"], body["signature"], key.id)
    return await service.prove(claim, key.id, Action.CREATE, None)


async def test_the_key_of_a_session_is_loaded_once(world: World) -> None:
    store = CountingStore()
    service = service_of(world, store)
    key = await opened(service, world.wallet(1))
    for _ in range(3):
        write = await prove(service, key)
        assert (write.signer, write.session) == (world.wallet(1).address, key.id)
    assert store.asked == [key.id]


async def test_an_unknown_session_is_looked_up_again(world: World) -> None:
    store = CountingStore()
    service = service_of(world, store)
    key = WritingKey(world.wallet(1), id=new_id())
    for _ in range(2):
        with pytest.raises(Refusal) as refusal:
            await prove(service, key)
        assert refusal.value.code is Code.WRITING_SESSION_INVALID
    assert store.asked == [key.id] * 2


@pytest.mark.parametrize("text", INVALID_IDS)
async def test_an_invalid_session_id_is_not_looked_up(world: World, text: str) -> None:
    store = CountingStore()
    with pytest.raises(Refusal) as refusal:
        await prove(service_of(world, store), WritingKey(world.wallet(1), id=text))
    assert refusal.value.code is Code.WRITING_SESSION_INVALID
    assert store.asked == []


async def test_an_unavailable_database_is_not_reported_as_a_refusal(world: World) -> None:
    store = CountingStore(is_down=True)
    with pytest.raises(Unavailable):
        await prove(service_of(world, store), WritingKey(world.wallet(1), id=new_id()))


async def test_the_number_of_cached_keys_is_bounded_and_the_oldest_is_evicted(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing_sessions, "LOADED_KEYS", 2)
    store = CountingStore()
    service = service_of(world, store)
    keys = [await opened(service, world.wallet(1)) for _ in range(3)]
    for key in keys:
        await prove(service, key)
    store.asked.clear()
    for key in (keys[2], keys[1], keys[0]):
        await prove(service, key)
    assert store.asked == [keys[0].id]


async def test_a_cached_session_expires_by_the_clock_of_the_process(world: World) -> None:
    store = CountingStore()
    service = service_of(world, store)
    key = await opened(service, world.wallet(1))
    await prove(service, key)
    world.clock.advance(timedelta(hours=1).total_seconds())
    with pytest.raises(Refusal) as refusal:
        await prove(service, key)
    assert refusal.value.code is Code.WRITING_SESSION_EXPIRED


async def test_a_session_opened_by_another_process_is_found_immediately(world: World) -> None:
    store = CountingStore()
    here, there = service_of(world, store), service_of(world, store)
    key = await opened(here, world.wallet(1))
    assert (await prove(there, key)).session == key.id


async def test_a_session_with_a_damaged_key_raises_unavailable(world: World) -> None:
    store = CountingStore()
    service = service_of(world, store)
    key = await opened(service, world.wallet(1))
    store.sessions[key.id] = replace(store.sessions[key.id], public_key=b"\x04" + bytes(64))
    with pytest.raises(Unavailable):
        await prove(service, key)


async def test_a_contract_wallet_opens_a_session_with_a_signature_that_it_accepts(
    world: World,
) -> None:
    store, wallets, author = CountingStore(), Wallets(), world.wallet(1)
    service = service_of(world, store)
    service = replace(service, wallets=replace(service.wallets, wallets=wallets))
    body = world.wallet(2).sign_envelope(WritingKey(author).opening())
    session = await service.open(OpeningClaim(body["salt"], author.address, body["signature"]))
    assert (session.wallet, wallets.asked) == (author.address, [author.address])


async def test_opening_a_session_counts_towards_the_write_rate_limit_of_its_wallet(
    world: World,
) -> None:
    rate = Rate(1, 60)
    service = replace(service_of(world, CountingStore()), rate=rate)
    await opened(service, world.wallet(1))
    with pytest.raises(RateLimited):
        await opened(service, world.wallet(1))
    with pytest.raises(RateLimited):
        await service.limits.admit(write_key(world.wallet(1).address), rate, world.clock())
    await opened(service, world.wallet(2))


async def test_replaying_an_opening_does_not_count_towards_the_rate_limit(world: World) -> None:
    service = replace(service_of(world, CountingStore()), rate=Rate(2, 60))
    claim = opening_of(WritingKey(world.wallet(1)))
    await service.open(claim)
    with pytest.raises(NonceUsed):
        await service.open(claim)
    await opened(service, world.wallet(1))


async def test_a_wallet_refused_by_the_operator_cannot_open_a_session(world: World) -> None:
    store = CountingStore()
    measures: Any = Operator(world.wallet(1).address)
    service = replace(service_of(world, store), measures=measures)
    with pytest.raises(Refusal) as refusal:
        await opened(service, world.wallet(1))
    assert refusal.value.code is Code.AUTHOR_REFUSED
    assert store.sessions == {}
    await opened(service, world.wallet(2))


async def test_a_wallet_has_at_most_a_fixed_number_of_sessions(world: World) -> None:
    service = service_of(world, CountingStore())
    for _ in range(MAX_WRITING_SESSIONS):
        await opened(service, world.wallet(1))
    with pytest.raises(Refusal) as refusal:
        await opened(service, world.wallet(1))
    assert refusal.value.code is Code.TOO_MANY_WRITING_SESSIONS


async def test_a_wallet_lists_and_revokes_its_sessions(world: World) -> None:
    store = CountingStore()
    service, wallet = service_of(world, store), Address(world.wallet(1).address)
    keys = [await opened(service, world.wallet(1)) for _ in range(3)]
    assert [each.id for each in await service.owned(wallet)] == [key.id for key in keys]
    await service.revoke(wallet, keys[0].id)
    assert [each.id for each in await service.owned(wallet)] == [key.id for key in keys[1:]]
    await service.revoke_all(wallet)
    assert await service.owned(wallet) == []


async def test_revoking_an_unknown_session_is_refused(world: World) -> None:
    service = service_of(world, CountingStore())
    with pytest.raises(Refusal) as refusal:
        await service.revoke(Address(world.wallet(1).address), "0" * 36)
    assert refusal.value.code is Code.NOT_FOUND


@pytest.mark.parametrize("text", INVALID_IDS)
async def test_revoking_an_invalid_session_id_does_not_query_the_store(
    world: World, text: str
) -> None:
    store = CountingStore()
    with pytest.raises(Refusal) as refusal:
        await service_of(world, store).revoke(Address(world.wallet(1).address), text)
    assert refusal.value.code is Code.NOT_FOUND
    assert store.asked == []


@pytest.mark.parametrize("stored", [WRITING_ACTIONS, tuple(Action)], ids=["usual", "all"])
async def test_the_key_of_a_session_cannot_sign_a_publication_whatever_actions_are_stored(
    world: World, stored: tuple[Action, ...]
) -> None:
    store = CountingStore()
    service = service_of(world, store)
    key = await opened(service, world.wallet(1))
    store.sessions[key.id] = replace(store.sessions[key.id], actions=stored)
    cid = document_cid(b"words")
    envelope = bound_envelope(
        "publish", world.clock.seconds, cid=cid, thumbnailHash=hash_of(""), hashtags=""
    )
    body = key.sign_envelope(envelope)
    claim = TypedDataClaim(body["salt"], body["address"], body["signature"], key.id)
    with pytest.raises(Refusal) as refusal:
        await service.prove(claim, key.id, Action.PUBLISH, cid)
    assert refusal.value.code is Code.WRITING_SESSION_SCOPE
