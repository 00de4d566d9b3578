"""Nodes that fail, lie or lag while contract wallets sign: 503 or a refusal, never a wrong yes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
from tests.contract_wallets import (
    ContractWallet,
    calldata,
    creation,
    deploy_on,
    funded_owner,
    new_owner,
    send_to,
)
from tests.faults.scene import Scene, open_scene
from tests.faults.test_clocks import opened, wait_until
from tests.world import ORIGIN, Node
from tests.writing_sessions import WritingKey, open_session, send_update

from imprint.adapters.catalog.transaction import Transaction
from imprint.devchain.chain import Chain
from imprint.devchain.deployment import deploy_marketplace

SPENT = """
SELECT (SELECT count(*) FROM nonces WHERE signer = :wallet)
     + (SELECT count(*) FROM login_nonces WHERE address = :wallet)
     + (SELECT count(*) FROM paces) AS count"""


def contract_wallet(scene: Scene) -> ContractWallet:
    """A wallet with one owner, on the chain of the scene."""
    owner = new_owner()
    address = deploy_on(scene.world.chain, creation("OwnedWallet", owner.address))
    return ContractWallet(owner, scene.world.clock, address)


async def spent(scene: Scene, wallet: ContractWallet) -> int:
    """How many nonces and rate limits the catalog has of this wallet."""

    async def read(tx: Transaction) -> int:
        (row,) = await tx.fetchall(SPENT, wallet=wallet.address)
        return int(row["count"])

    async with opened(scene) as catalog:
        return await catalog.read(read)


def requests_of(wallet: ContractWallet) -> dict[str, dict[str, Any]]:
    """One request of each kind that only the wallet's contract can prove."""
    return {
        "/auth/login": wallet.sign_login(wallet.login_message()),
        "/create/group": wallet.sign("create") | {"content": "Words of a contract."},
        "/writing/sessions": wallet.sign_envelope(WritingKey(wallet).opening()),
    }


def fail(said: bytes) -> bytes:
    return b'{"jsonrpc": "2.0", "id": 1, "error": {"code": -32000, "message": "no"}}'


def be_silent(said: bytes) -> None:
    return None


async def test_without_a_node_nothing_is_accepted_and_nothing_spent(tmp_path: Path, records: None):
    many = {"RATE_WALLET_CHECKS": "9000/60", "RATE_WALLET_CHECKS_PER_ADDRESS": "9000/60"}
    given = {"PUBLIC_URL": ORIGIN, "RATE_LIMITS": "on", "RATE_SIGNED": "9000/60", **many}
    async with open_scene(tmp_path, **given) as scene:
        world, wallet = scene.world, contract_wallet(scene)
        await scene.replica().start()
        key = await open_session(world, wallet)
        draft = await world.create(wallet)
        for fault in (fail, be_silent):
            before = await spent(scene, wallet)
            bodies = requests_of(wallet)
            world.node.fault = fault
            for response in await asyncio.gather(
                *(world.client.post(path, json=body) for path, body in bodies.items())
            ):
                assert response.status_code == 503, response.text
                assert response.json()["code"] == "chain_unavailable"
            assert await spent(scene, wallet) == before
            # Keys of accounts and of writing sessions need no node.
            await world.create(world.wallet(1))
            response = await send_update(world, key, draft["cid"])
            assert response.status_code == 200, response.text
            draft = response.json()["upload"]
            world.node.fault = None
            for path, body in bodies.items():
                await expect_accepted(scene, path, body)


async def expect_accepted(scene: Scene, path: str, body: dict[str, Any]) -> None:
    """The same request is accepted once nodes are asked again."""

    async def is_accepted() -> bool:
        response = await scene.world.client.post(path, json=body)
        assert response.status_code in (200, 201, 503), response.text
        return response.status_code != 503

    await wait_until(is_accepted)


@asynccontextmanager
async def second_node(chain: Chain) -> AsyncIterator[Node]:
    node = Node(chain)
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


def accept_all(said: bytes) -> bytes:
    """What a node says that takes every signature for valid."""
    return said.replace(b'"0x00"', b'"0x01"')


async def login(scene: Scene, wallet: ContractWallet) -> httpx2.Response:
    body = wallet.sign_login(wallet.login_message())
    return await scene.world.client.post("/auth/login", json=body)


async def test_with_a_quorum_one_node_that_lies_is_not_enough(tmp_path: Path):
    async with (
        open_scene(tmp_path, PUBLIC_URL=ORIGIN) as scene,
        second_node(scene.world.chain) as liar,
    ):
        wallet = contract_wallet(scene)
        forger = ContractWallet(new_owner(), scene.world.clock, wallet.contract)
        liar.fault = accept_all
        nodes = f"{liar.url},{scene.world.node.url}"
        alone = scene.replica(CHAIN_RPC_URL=nodes)
        both = scene.replica(CHAIN_RPC_URL=nodes, CHAIN_QUORUM="2")
        await alone.start()
        await both.start()
        # Without a quorum the operator trusts the first node: the lie is one that could succeed.
        assert (await login(scene, forger)).status_code == 200
        scene.world.client.base_url = both.url
        assert (await login(scene, wallet)).status_code == 200
        asked = liar.asked
        response = await login(scene, forger)
        assert (response.status_code, response.json()["code"]) == (401, "signature_invalid")
        assert liar.asked > asked


async def test_with_a_quorum_an_owner_who_was_replaced_cannot_sign_where_one_node_lags(
    tmp_path: Path,
):
    async with open_scene(tmp_path, PUBLIC_URL=ORIGIN) as scene:
        chain, clock = scene.world.chain, scene.world.clock
        late = Chain.open(None, lambda: clock.seconds)
        deploy_marketplace(late)
        former, later = funded_owner(3), funded_owner(4)
        code = creation("OwnedWallet", former.address)
        contract = deploy_on(chain, code)
        assert deploy_on(late, code) == contract
        old, new = (ContractWallet(each, clock, contract) for each in (former, later))
        handover = calldata("OwnedWallet", "setOwner", later.address)
        async with second_node(late) as lagging:
            nodes = f"{lagging.url},{scene.world.node.url}"
            await scene.replica(CHAIN_RPC_URL=nodes, CHAIN_QUORUM="2").start()
            assert (await login(scene, old)).status_code == 200
            send_to(chain, contract, handover, former.address.lower())
            for wallet in (old, new):
                response = await login(scene, wallet)
                assert (response.status_code, response.json()["code"]) == (401, "signature_invalid")
            send_to(late, contract, handover, former.address.lower())
            assert (await login(scene, new)).status_code == 200
            assert (await login(scene, old)).status_code == 401
        late.close()
