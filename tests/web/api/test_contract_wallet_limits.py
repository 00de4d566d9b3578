"""Limits on calls to contract wallets, and the setting that disables contract wallets."""

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx2
import pytest
from tests.contract_wallets import ContractWallet, new_owner, open_wallet
from tests.world import ORIGIN, World, open_world, problem

from imprint.adapters.chain.contract_wallets import JsonRpcContractWallets
from imprint.bootstrap import Adapters
from imprint.services.accounts.contract_wallets import MAX_CHECKS

INVALID = (401, "signature_invalid")
LIMITED = (429, "rate_limited")
OVERLOADED = (503, "overloaded")
VERDICTS = b'"0x00"', b'"0x01"'


def client_at(world: World, address: str) -> httpx2.AsyncClient:
    """A client with this IP address."""
    transport = httpx2.ASGITransport(world.app, client=(address, 1))
    return httpx2.AsyncClient(transport=transport, base_url=ORIGIN)


async def create(client: httpx2.AsyncClient, wallet: ContractWallet) -> httpx2.Response:
    body = wallet.sign("create") | {"content": "Words."}
    return await client.post("/create/group", json=body)


def thief_of(wallet: ContractWallet) -> ContractWallet:
    """An attacker who signs on behalf of someone else's wallet."""
    return ContractWallet(new_owner(), wallet.clock, wallet.contract, wallet.enclose)


# The switch


@pytest.mark.parametrize("kind", ["deployed", "counterfactual"])
async def test_contract_wallets_can_be_switched_off(tmp_path: Path, kind: str) -> None:
    async with open_world(tmp_path, CONTRACT_WALLETS="off") as world:
        wallet, asked = open_wallet(world, kind), world.node.asked
        assert problem(await create(world.client, wallet)) == INVALID
        login = wallet.sign_login(wallet.login_message())
        assert problem(await world.client.post("/auth/login", json=login)) == INVALID
        assert world.node.asked == asked
        await world.create(world.wallet(1))


@pytest.mark.parametrize("switch", ["on", "off"])
async def test_the_facts_state_whether_contract_wallets_are_supported(
    tmp_path: Path, switch: str
) -> None:
    async with open_world(tmp_path, CONTRACT_WALLETS=switch) as world:
        facts = (await world.client.get("/.well-known/imprint.json")).json()
        assert ("contract-wallets" in facts["features"]) is (switch == "on")


# Rates


async def test_a_client_that_uses_contract_wallets_too_often_gets_retry_after(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_WALLET_CHECKS="2/60") as world:
        wallet = open_wallet(world)
        for _ in range(2):
            assert (await create(world.client, wallet)).status_code == 200
        asked = world.node.asked
        refused = await create(world.client, wallet)
        assert problem(refused) == LIMITED
        assert world.node.asked == asked
        world.clock.advance(int(refused.headers["retry-after"]))
        assert (await create(world.client, wallet)).status_code == 200


async def test_the_contract_wallet_limit_does_not_apply_to_key_signatures(
    tmp_path: Path,
) -> None:
    async with open_world(tmp_path, RATE_LIMITS="on", RATE_WALLET_CHECKS="1/60") as world:
        thief = thief_of(open_wallet(world))
        assert problem(await create(world.client, thief)) == INVALID
        assert problem(await create(world.client, thief)) == LIMITED
        await world.login(world.wallet(1))
        await world.create(world.wallet(1))


async def test_a_flood_of_bad_signatures_does_not_use_up_the_signers_rate_limit(
    tmp_path: Path,
) -> None:
    async with open_world(
        tmp_path, RATE_LIMITS="on", RATE_WRITES="1/60", RATE_LOGINS="1/300"
    ) as world:
        wallet = open_wallet(world)
        for _ in range(4):
            assert problem(await create(world.client, thief_of(wallet))) == INVALID
            body = thief_of(wallet).sign_login(wallet.login_message())
            assert problem(await world.client.post("/auth/login", json=body)) == INVALID
        assert (await create(world.client, wallet)).status_code == 200
        await world.login(wallet)


async def test_checks_of_one_wallet_are_limited_across_all_clients(tmp_path: Path) -> None:
    async with open_world(
        tmp_path, RATE_LIMITS="on", RATE_WALLET_CHECKS_PER_ADDRESS="5/60"
    ) as world:
        thief, other = thief_of(open_wallet(world)), open_wallet(world)
        asked = world.node.asked
        for number in range(10):
            async with client_at(world, f"192.0.2.{number}") as client:
                refused = problem(await create(client, thief))
                assert refused == (INVALID if number < 5 else LIMITED)
        assert world.node.asked == asked + 5
        assert (await create(world.client, other)).status_code == 200


# A node that does not respond to wallet checks


def _patient(adapters: Adapters) -> Adapters:
    """Adapters with the same connections, whose wallet checks do not time out during this test."""
    assert isinstance(adapters.wallets, JsonRpcContractWallets)
    return replace(adapters, wallets=JsonRpcContractWallets(adapters.wallets._calls, timeout=120))


def _hang_on_verdicts(said: bytes) -> bytes | None:
    return None if any(each in said for each in VERDICTS) else said


async def _wait_until_asked(world: World, count: int) -> None:
    while world.node.asked < count:  # noqa: ASYNC110 — the node has no event for this
        await asyncio.sleep(0.01)


async def test_reads_continue_while_all_signature_checks_hang(tmp_path: Path) -> None:
    async with open_world(
        tmp_path, adapt=_patient, RATE_LIMITS="on", CHAIN_CACHE_SECONDS="0"
    ) as world:
        author, reader, wallet = world.wallet(1), world.wallet(2), open_wallet(world)
        post_id, _ = await world.post(author)
        world.buy(reader, post_id)
        session = await world.login(reader)
        world.node.fault, asked = _hang_on_verdicts, world.node.asked
        addresses = [f"192.0.2.{number // 4}" for number in range(MAX_CHECKS)]
        hanging = [asyncio.create_task(_create_from(world, each, wallet)) for each in addresses]
        try:
            await _wait_until_asked(world, asked + MAX_CHECKS)
            for _ in range(20):
                before = world.node.asked
                read = await world.read_post(reader, post_id, session)
                assert read.status_code == 200
                assert world.node.asked > before
            async with client_at(world, "192.0.2.99") as late:
                assert problem(await create(late, wallet)) == OVERLOADED
            await world.create(author)
            assert not any(task.done() for task in hanging)
        finally:
            for task in hanging:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
        world.node.fault = None
        assert (await create(world.client, wallet)).status_code == 200


async def _create_from(world: World, address: str, wallet: ContractWallet) -> httpx2.Response:
    async with client_at(world, address) as client:
        return await create(client, wallet)
