"""Nodes that lie or lag while contract wallets sign never cause a false acceptance."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

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
from tests.world import ORIGIN, Node

from imprint.devchain.chain import Chain
from imprint.devchain.deployment import deploy_marketplace


def contract_wallet(scene: Scene) -> ContractWallet:
    """A wallet with one owner on the chain of the scene."""
    owner = new_owner()
    address = deploy_on(scene.world.chain, creation("OwnedWallet", owner.address))
    return ContractWallet(owner, scene.world.clock, address)


@asynccontextmanager
async def second_node(chain: Chain) -> AsyncIterator[Node]:
    node = Node(chain)
    await node.start()
    try:
        yield node
    finally:
        await node.stop()


def accept_all(said: bytes) -> bytes:
    """Change a response as if the node accepted every signature."""
    return said.replace(b'"0x00"', b'"0x01"')


async def login(scene: Scene, wallet: ContractWallet) -> httpx2.Response:
    body = wallet.sign_login(wallet.login_message())
    return await scene.world.client.post("/auth/login", json=body)


async def test_one_lying_node_cannot_satisfy_a_quorum(tmp_path: Path):
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
        # Without a quorum the operator trusts the first node: this lie could succeed.
        assert (await login(scene, forger)).status_code == 200
        scene.world.client.base_url = both.url
        assert (await login(scene, wallet)).status_code == 200
        asked = liar.asked
        response = await login(scene, forger)
        assert (response.status_code, response.json()["code"]) == (401, "signature_invalid")
        assert liar.asked > asked


async def test_a_replaced_owner_cannot_sign_even_if_one_quorum_node_lags(
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
