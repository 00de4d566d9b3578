"""Limits on calls to contract wallets."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.world import MovableClock

from imprint.auth.signatures import Unproved
from imprint.domain.errors import Code, RateLimited, Refusal, Unavailable
from imprint.domain.formats.addresses import Address
from imprint.domain.rate_limits import Budget, Rate, RateLimiter
from imprint.metrics import WALLET_CHECKS
from imprint.services.accounts.contract_wallets import MAX_CHECKS, WalletProofs

WALLET = Address("0x" + "a1" * 20)
OTHER = Address("0x" + "b2" * 20)
CLIENT, NEIGHBOUR = "192.0.2.1", "192.0.2.2"
PER_CLIENT, PER_WALLET = Rate(3, 60), Rate(5, 60)


@dataclass
class ScriptedWallets:
    """Wallets that all return the same verdict, delayed while `gate` is closed."""

    verdict: bool | Exception = True
    asked: list[tuple[Address, bytes, bytes]] = field(default_factory=list)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    running: int = 0
    most: int = 0

    def __post_init__(self) -> None:
        self.gate.set()

    async def accepts(self, wallet: Address, digest: bytes, signature: bytes) -> bool:
        self.asked.append((wallet, digest, signature))
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.gate.wait()
        finally:
            self.running -= 1
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict


@dataclass
class Desk:
    """A signature checker with low limits, and a clock."""

    wallets: ScriptedWallets = field(default_factory=ScriptedWallets)
    clock: MovableClock = field(default_factory=MovableClock)
    per_client: Rate | None = PER_CLIENT
    per_wallet: Rate | None = PER_WALLET
    proofs: WalletProofs = field(init=False)

    def __post_init__(self) -> None:
        self.proofs = WalletProofs(
            self.wallets,
            RateLimiter(self.per_client),
            RateLimiter(self.per_wallet),
            self.clock.monotonic,
        )

    async def prove(self, client: str = CLIENT, wallet: Address = WALLET) -> str:
        unproved = Unproved("the proof", wallet, bytes(32), b"signature")
        return await self.proofs.prove(unproved, client)

    async def code(self, client: str = CLIENT, wallet: Address = WALLET) -> Code | None:
        """Return the error code of the refusal, or None if the signature was accepted."""
        try:
            assert await self.prove(client, wallet) == "the proof"
        except (Refusal, Unavailable) as problem:
            return problem.code
        return None


@pytest.fixture
def desk() -> Desk:
    return Desk()


def count(result: str) -> float:
    """The number of calls with this result, counted in this process."""
    value: float = WALLET_CHECKS.labels(result)._value.get()
    return value


async def test_a_signature_accepted_by_the_wallet_is_proof(desk: Desk) -> None:
    before = count("accepted")
    assert await desk.prove() == "the proof"
    assert desk.wallets.asked == [(WALLET, bytes(32), b"signature")]
    assert count("accepted") == before + 1


async def test_a_signature_refused_by_the_wallet_is_invalid(desk: Desk) -> None:
    desk.wallets.verdict, before = False, count("refused")
    assert await desk.code() is Code.SIGNATURE_INVALID
    assert count("refused") == before + 1


async def test_an_unreachable_chain_is_reported_as_unavailable(desk: Desk) -> None:
    desk.wallets.verdict, before = Unavailable.chain(), count("unavailable")
    assert await desk.code() is Code.CHAIN_UNAVAILABLE
    assert count("unavailable") == before + 1


async def test_contract_signatures_are_refused_when_contract_wallets_are_off(desk: Desk) -> None:
    off = replace(desk.proofs, wallets=None)
    with pytest.raises(Refusal) as caught:
        await off.prove(Unproved("the proof", WALLET, bytes(32), b""), CLIENT)
    assert caught.value.code is Code.SIGNATURE_INVALID
    assert desk.wallets.asked == []


async def test_no_verdict_is_cached(desk: Desk) -> None:
    await desk.prove()
    desk.wallets.verdict = False
    assert await desk.code() is Code.SIGNATURE_INVALID


# Rates


@pytest.mark.parametrize("verdict", [True, False, Unavailable.chain()])
async def test_a_client_is_rate_limited_regardless_of_the_verdicts(
    desk: Desk, verdict: bool | Exception
) -> None:
    desk.wallets.verdict = verdict
    codes = [await desk.code() for _ in range(5)]
    assert codes[3:] == [Code.RATE_LIMITED] * 2
    assert len(desk.wallets.asked) == 3


async def test_a_rate_limited_client_gets_the_retry_time(desk: Desk) -> None:
    for _ in range(3):
        await desk.prove()
    before = count("limited")
    with pytest.raises(RateLimited) as caught:
        await desk.prove()
    assert count("limited") == before + 1
    desk.clock.advance(caught.value.retry_after)
    assert await desk.prove() == "the proof"


async def test_another_client_is_not_limited(desk: Desk) -> None:
    for _ in range(4):
        await desk.code()
    assert await desk.prove(NEIGHBOUR) == "the proof"


async def test_one_client_cannot_lock_a_wallet_out_for_others(desk: Desk) -> None:
    desk.wallets.verdict = False
    for _ in range(600):
        await desk.code()
        desk.clock.advance(1)
    desk.wallets.verdict = True
    assert await desk.prove(NEIGHBOUR) == "the proof"


async def test_a_wallet_is_rate_limited_across_all_clients(desk: Desk) -> None:
    codes = [await desk.code(f"192.0.2.{number}") for number in range(8)]
    assert codes == [None] * 5 + [Code.RATE_LIMITED] * 3
    assert await desk.prove("192.0.2.9", OTHER) == "the proof"


@given(
    steps=st.lists(
        st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 40)), max_size=120
    )
)
async def test_the_node_is_called_no_more_often_than_the_rate_limits_allow(
    steps: list[tuple[int, int, int]],
) -> None:
    desk = Desk()
    passed = 0
    clients: set[int] = set()
    for client, wallet, seconds in steps:
        desk.clock.advance(seconds)
        passed += seconds
        clients.add(client)
        await desk.code(f"192.0.2.{client}", Address(f"0x{wallet:040x}"))
    asked = len(desk.wallets.asked)
    assert asked <= len(clients) * (PER_CLIENT.count + passed * PER_CLIENT.count / 60)
    for each in {wallet for wallet, _, _ in desk.wallets.asked}:
        of_one = sum(wallet == each for wallet, _, _ in desk.wallets.asked)
        assert of_one <= PER_WALLET.count + passed * PER_WALLET.count / 60


async def test_without_rate_limits_every_signature_is_checked() -> None:
    desk = Desk(per_client=None, per_wallet=None)
    assert [await desk.code() for _ in range(200)] == [None] * 200


# Concurrent calls


async def _hold(desk: Desk, clients: list[str]) -> list["asyncio.Task[Code | None]"]:
    """Start a check for each of these clients, and delay the verdicts."""
    desk.wallets.gate.clear()
    tasks = [asyncio.create_task(desk.code(each, OTHER)) for each in clients]
    for _ in clients:
        await asyncio.sleep(0)
    return tasks


async def _release(desk: Desk, tasks: list["asyncio.Task[Code | None]"]) -> list[Code | None]:
    desk.wallets.gate.set()
    return list(await asyncio.gather(*tasks))


async def test_the_number_of_concurrent_checks_is_bounded() -> None:
    desk = Desk(per_client=None, per_wallet=None)
    tasks = await _hold(desk, [f"192.0.2.{number}" for number in range(MAX_CHECKS + 5)])
    codes = await _release(desk, tasks)
    assert codes == [None] * MAX_CHECKS + [Code.OVERLOADED] * 5
    assert desk.wallets.most == MAX_CHECKS


async def test_one_client_can_use_a_quarter_of_the_concurrent_checks() -> None:
    desk = Desk(per_client=None, per_wallet=None)
    tasks = await _hold(desk, [CLIENT] * MAX_CHECKS)
    assert desk.wallets.running == MAX_CHECKS // 4
    (neighbour,) = await _hold(desk, [NEIGHBOUR])
    codes = await _release(desk, [*tasks, neighbour])
    assert codes.count(None) == MAX_CHECKS // 4 + 1
    assert codes[-1] is None


@pytest.mark.parametrize("verdict", [True, False, Unavailable.chain(), RuntimeError("a bug")])
async def test_a_finished_check_frees_its_slot(verdict: bool | Exception) -> None:
    desk = Desk(per_client=None, per_wallet=None)
    desk.wallets.verdict = verdict
    for _ in range(3 * MAX_CHECKS):
        try:
            assert await desk.code() is not Code.OVERLOADED
        except RuntimeError:
            assert isinstance(verdict, RuntimeError)
    assert desk.proofs.running.taken == 0


async def test_a_rate_limited_check_frees_its_slot(desk: Desk) -> None:
    for _ in range(MAX_CHECKS + PER_CLIENT.count):
        await desk.code()
    assert await desk.code() is Code.RATE_LIMITED
    assert desk.proofs.running.taken == 0


async def test_a_cancelled_check_frees_its_slot() -> None:
    desk = Desk(per_client=None, per_wallet=None)
    for task in await _hold(desk, [CLIENT] * 4):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert desk.proofs.running.taken == 0


async def test_a_check_refused_for_lack_of_slots_does_not_count_towards_the_rate(
    desk: Desk,
) -> None:
    proofs = desk.proofs = replace(desk.proofs, running=Budget(1, 1))
    (held,) = await _hold(desk, ["192.0.2.9"])
    codes = [await desk.code(CLIENT) for _ in range(10)]
    assert codes == [Code.OVERLOADED] * 10
    await _release(desk, [held])
    assert [await desk.code(CLIENT) for _ in range(3)] == [None] * 3
    assert proofs.running.taken == 0
