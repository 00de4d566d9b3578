"""Hostile chains: a block full of logs, a truncated chain, and nodes that lie or lag."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx2
import pytest
from eth_abi.abi import encode
from eth_account.signers.local import LocalAccount
from tests.anvil.client import Client
from tests.anvil.conftest import MakeService
from tests.anvil.lying_node import LyingNode
from tests.anvil.node import CHAIN_ID, GAS_PRICE, Anvil, open_account, running
from tests.processes import PLAIN, Service, free_port
from tests.world import problem

from imprint.domain.formats.addresses import keccak256
from imprint.services.chain.log_stream import SHRUNK_GRACE

FLOOD = Path(__file__).parent / "TransferFlood.json"
FLOODS, LOGS_EACH = 4, 3_000
OLD_LIMIT = 8 * 1024 * 1024
"""The follower once stopped for good at a block whose logs had more bytes than this."""

PROMISE = 5.0
"""Seconds within which the service must show a post as published after its block is mined."""

BUSY = 15.0
"""Additional seconds allowed on a busy machine."""

PATIENCE = 60.0


def wait_for(happened: Callable[[], bool], seconds: float = PATIENCE) -> float:
    """Wait until a condition holds and return the elapsed time."""
    began = time.monotonic()
    while not happened():
        assert time.monotonic() - began < seconds, "It did not happen in time."
        time.sleep(0.05)
    return time.monotonic() - began


def wait_for_head(service: Service, anvil: Anvil) -> None:
    """Wait until the follower has processed the newest block."""
    address, head = f"http://127.0.0.1:{service.given['METRICS_PORT']}/", anvil.height

    def is_followed() -> bool:
        lines = httpx2.get(address, timeout=20, verify=PLAIN).text.splitlines()
        return f"imprint_followed_block {float(head)}" in lines

    wait_for(is_followed)


Serve = Callable[..., tuple[Service, Client]]


@pytest.fixture
def serve(make_service: MakeService, open_client: Callable[[Service], Client]) -> Serve:
    """Start services with the given settings, each with a client."""

    def start(**settings: str) -> tuple[Service, Client]:
        service = make_service(RATE_LIMITS="off", **settings)
        service.start()
        return service, open_client(service)

    return start


@pytest.fixture
def open_liar(anvil: Anvil) -> Iterator[Callable[[], LyingNode]]:
    """Open proxies for the node. They are closed after the test."""
    with ExitStack() as opened:

        def open_one() -> LyingNode:
            proxy = LyingNode(anvil.url)
            proxy.start()
            opened.callback(proxy.stop)
            return proxy

        yield open_one


@pytest.fixture
def large_blocks(tmp_path: Path, artifact: dict[str, Any]) -> Iterator[Anvil]:
    """A chain with room for thousands of logs per block."""
    with running(Anvil(tmp_path, ["--gas-limit", "200000000"]), artifact) as node:
        yield node


def flood_block(anvil: Anvil) -> int:
    """Mine a block with thousands of empty transfers and return its number."""
    sender = open_account(5)
    code = bytes.fromhex(json.loads(FLOOD.read_text())["bytecode"][2:])
    contract = anvil.transact(sender, None, code)["contractAddress"]
    selector = keccak256(b"flood(address,uint256)")[:4]
    data = selector + encode(["address", "uint256"], [anvil.marketplace, LOGS_EACH])
    nonce = int(anvil.rpc("eth_getTransactionCount", sender.address, "latest"), 16)
    anvil.rpc("evm_setAutomine", False)
    for number in range(FLOODS):
        fields = {
            "chainId": CHAIN_ID,
            "nonce": nonce + number,
            "gas": 16_000_000,
            "gasPrice": GAS_PRICE,
            "value": 0,
            "data": data,
            "to": bytes.fromhex(contract[2:]),
        }
        raw = sender.sign_transaction(fields).raw_transaction.to_0x_hex()
        anvil.rpc("eth_sendRawTransaction", raw)
    anvil.rpc("evm_mine")
    anvil.rpc("evm_setAutomine", True)
    return anvil.height


def size_of_logs(anvil: Anvil, number: int) -> int:
    wanted = {"address": anvil.marketplace, "fromBlock": hex(number), "toBlock": hex(number)}
    asked = {"jsonrpc": "2.0", "id": 1, "method": "eth_getLogs", "params": [wanted]}
    response = httpx2.post(anvil.url, json=asked, timeout=20, verify=PLAIN)
    assert len(response.json()["result"]) == FLOODS * LOGS_EACH
    return len(response.content)


def test_a_block_full_of_logs_does_not_stop_the_service_or_reconcile(
    large_blocks: Anvil,
    serve: Serve,
    alice: LocalAccount,
) -> None:
    anvil = large_blocks
    chain = {"CHAIN_RPC_URL": anvil.url, "MARKETPLACE_ADDRESS": anvil.marketplace}
    service, client = serve(**chain, CHAIN_FOLLOW_SECONDS="2")
    first, after = client.create(alice, "First.")["cid"], client.create(alice, "After.")["cid"]
    receipt = anvil.create_post(alice, first)
    wait_for(lambda: client.status(first) == "onchain")
    number = flood_block(anvil)
    assert size_of_logs(anvil, number) > OLD_LIMIT
    anvil.create_post(alice, after)
    waited = wait_for(lambda: client.status(after) == "onchain")
    print(f"\na post after a block of {FLOODS * LOGS_EACH} logs: onchain after {waited:.2f} s")
    assert waited < PROMISE + BUSY

    forged = client.create(alice, "Forged.")["cid"]
    lie = json.loads(json.dumps(receipt).replace(receipt["blockHash"], "0x" + "ee" * 32))
    client.deliver(forge_post(lie, first, forged, 77))
    assert client.status(forged) == "onchain"
    anvil.mine()
    wait_for(lambda: client.status(forged) == "pending")

    service.kill()
    command = [*service.process.command[:-1], "reconcile", "--from-block", "0"]
    process = subprocess.run(
        command, env=dict(service.process.environ), capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    assert f"from block 0 to {anvil.height}." in process.stdout


def forge_post(receipt: dict[str, Any], cid: str, other: str, post_id: int) -> dict[str, Any]:
    """Return a post's receipt with its CID replaced by another of the same length, and a new id."""
    assert len(cid) == len(other)
    text = json.dumps(receipt).replace(cid.encode().hex(), other.encode().hex())
    forged: dict[str, Any] = json.loads(text)
    for log in forged["logs"]:
        log["topics"][1] = f"0x{post_id:064x}"
    return forged


@pytest.mark.parametrize("way", ["evm_revert", "anvil_rollback"])
def test_a_chain_reverted_to_a_shorter_one_is_followed(
    anvil: Anvil,
    serve: Serve,
    alice: LocalAccount,
    way: str,
) -> None:
    service, client = serve(CHAIN_FOLLOW_SECONDS="0.2", METRICS_PORT=str(free_port()))
    stays, gone = client.create(alice, "Stays.")["cid"], client.create(alice, "Gone.")["cid"]
    anvil.create_post(alice, stays)
    snapshot = anvil.rpc("evm_snapshot")
    anvil.create_post(alice, gone)
    anvil.mine(3)
    wait_for(lambda: client.status(gone) == "onchain")
    height = anvil.height
    # The follower must have seen the last block, or it would seem to be in the future.
    wait_for_head(service, anvil)
    if way == "evm_revert":
        anvil.rpc("evm_revert", snapshot)
    else:
        anvil.rpc("anvil_rollback", 4)
    assert anvil.height < height
    waited = wait_for(lambda: client.status(gone) == "pending")
    print(f"\na chain that became shorter was followed after {waited:.1f} s")
    assert waited > SHRUNK_GRACE.total_seconds() - 5
    assert client.status(stays) == "onchain"
    anvil.create_post(alice, gone)
    wait_for(lambda: client.status(gone) == "onchain")


def test_a_chain_that_ends_below_the_final_block_is_reported_as_degraded(
    anvil: Anvil,
    serve: Serve,
    alice: LocalAccount,
) -> None:
    given = {"CHAIN_REORG_DEPTH": "5", "METRICS_PORT": str(free_port())}
    service, client = serve(CHAIN_FOLLOW_SECONDS="0.2", **given)
    cid = client.create(alice)["cid"]
    anvil.create_post(alice, cid)
    anvil.mine(20)
    wait_for(lambda: client.status(cid) == "onchain")
    wait_for_head(service, anvil)
    assert client.http.get("/readyz").json()["status"] == "ready"
    anvil.rpc("anvil_rollback", 15)
    wait_for(lambda: client.http.get("/readyz").json()["status"] == "degraded")
    checks = client.http.get("/readyz").json()["checks"]
    assert checks["chain"] == "disagrees"
    wait_for(lambda: "the chain was reset" in service.tail(400))
    assert client.status(cid) == "onchain"


def test_a_node_that_hides_logs_does_not_unpublish_posts(
    anvil: Anvil,
    serve: Serve,
    open_liar: Callable[[], LyingNode],
    alice: LocalAccount,
) -> None:
    liar = open_liar()
    service, client = serve(CHAIN_RPC_URL=liar.url, CHAIN_FOLLOW_SECONDS="0.2")
    followed = client.create(alice, "Followed.")["cid"]
    anvil.create_post(alice, followed)
    wait_for(lambda: client.status(followed) == "onchain")
    liar.hides_logs = True
    delivered = client.create(alice, "Delivered.")["cid"]
    client.deliver(anvil.create_post(alice, delivered))
    for _ in range(5):
        anvil.mine()
        time.sleep(0.5)
    assert [client.status(cid) for cid in (followed, delivered)] == ["onchain", "onchain"]
    assert client.read_post(alice, 1).json()["content"] == "Followed."
    wait_for(lambda: "leaves out logs that receipts have" in service.tail(400))
    liar.hides_logs = False
    anvil.reorg(7)
    wait_for(lambda: client.status(followed) == "pending")


def test_a_log_hidden_until_its_block_is_final_is_indexed_later(
    anvil: Anvil,
    serve: Serve,
    open_liar: Callable[[], LyingNode],
    alice: LocalAccount,
) -> None:
    liar = open_liar()
    given = {"CHAIN_REORG_DEPTH": "5", "METRICS_PORT": str(free_port())}
    service, client = serve(CHAIN_RPC_URL=liar.url, CHAIN_FOLLOW_SECONDS="0.2", **given)

    def titles() -> int:
        return len(client.http.get("/posts").json()["posts"])

    def readiness() -> tuple[str, str]:
        shown = client.http.get("/readyz").json()
        return shown["status"], shown["checks"]["chain"]

    shown, hidden = (client.create(alice, text)["cid"] for text in ("Shown.", "Hidden."))
    anvil.create_post(alice, shown)
    wait_for(lambda: client.status(shown) == "onchain" and titles() == 1)
    liar.hides_logs = liar.hides_receipts = True
    anvil.create_post(alice, hidden)
    for _ in range(20):
        anvil.mine()
    wait_for_head(service, anvil)
    wait_for(lambda: readiness() == ("degraded", "disagrees"))
    assert (client.status(shown), client.status(hidden), titles()) == ("onchain", "pending", 1)
    liar.hides_logs = liar.hides_receipts = False
    wait_for(lambda: client.status(hidden) == "onchain" and titles() == 2)
    wait_for(lambda: readiness() == ("ready", "ok"))


@pytest.mark.parametrize("case", [(50, "1"), (10, "2")], ids=["50 behind", "a quorum"])
def test_a_lagging_preferred_node_does_not_grant_access_to_a_former_holder(
    anvil: Anvil,
    serve: Serve,
    open_liar: Callable[[], LyingNode],
    case: tuple[int, str],
) -> None:
    behind, quorum = case
    alice, bob, carol = (open_account(index) for index in (1, 2, 3))
    liar = open_liar()
    _, client = serve(
        CHAIN_RPC_URL=f"{liar.url},{anvil.url}", CHAIN_CACHE_SECONDS="0", CHAIN_QUORUM=quorum
    )
    post_id, _ = client.post(anvil, alice)
    anvil.buy(bob, post_id)
    session = client.log_in(bob)
    assert client.read_post(bob, post_id, session).status_code == 200
    liar.stops_at = anvil.height
    anvil.transfer(bob, carol, post_id)
    anvil.mine(behind - 1)
    deadline = time.monotonic() + PATIENCE
    while client.read_post(bob, post_id, session).status_code == 200:
        # The heads of all nodes are compared every few seconds even if nothing follows the chain.
        assert quorum == "1", "A quorum never lets one node decide."
        assert time.monotonic() < deadline
        time.sleep(0.2)
    assert problem(client.read_post(bob, post_id, session)) == (403, "not_entitled")
