"""A real node with a marketplace on it: transactions, blocks and reorgs."""

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx2
from eth_abi.abi import encode
from eth_account import Account
from eth_account.signers.local import LocalAccount
from tests.processes import PLAIN, POLL_SECONDS, Process, free_port

from imprint.domain.formats.addresses import keccak256

Account.enable_unaudited_hdwallet_features()

CHAIN_ID = 31337
MNEMONIC = "test test test test test test test test test test test junk"
PRICE = 10**16
GAS = 5_000_000
DEPLOYMENT_GAS = 12_000_000
"""Gas that suffices for the largest contract."""
GAS_PRICE = 20 * 10**9
"""Gas price in wei, far above a new chain's initial price, which transactions may raise."""
MINING_SECONDS = 20
POST_CREATED = "0xf753f630973e9c5274697eb346810b78c35457ef0df3e0c5c7ade5841d55ca77"

Receipt = dict[str, Any]
"""A transaction receipt as returned by the node."""


class Reverted(Exception):
    """The transaction was mined but reverted."""


def find_binary() -> str:
    """Return the path of the node's binary from the npm package, or else of an installed one."""
    packaged = sorted((Path(__file__).parent / "node_modules").glob("@foundry-rs/*/bin/anvil"))
    found = str(packaged[0]) if packaged else shutil.which("anvil")
    assert found, "There is no anvil: run make test-chain, or install Foundry."
    return found


def open_account(index: int) -> LocalAccount:
    """Return one of the funded accounts of the chain."""
    account: LocalAccount = Account.from_mnemonic(MNEMONIC, account_path=f"m/44'/60'/0'/0/{index}")
    return account


def post_id_of(receipt: Receipt) -> int:
    """Return the id of the post created by a transaction."""
    (created,) = (log for log in receipt["logs"] if log["topics"][0] == POST_CREATED)
    return int(created["topics"][1], 16)


def encode_call(name: str, kinds: Sequence[str], values: Sequence[Any]) -> bytes:
    """Encode a call of a contract function."""
    return keccak256(f"{name}({','.join(kinds)})".encode())[:4] + encode(kinds, values)


@dataclass
class Anvil:
    """A node in a separate process, and the marketplace last deployed on it."""

    folder: Path
    options: Sequence[str] = ()
    port: int = field(default_factory=free_port)
    marketplace: str = ""
    abi: Sequence[Mapping[str, Any]] = ()

    @cached_property
    def process(self) -> Process:
        where = ["--host", "127.0.0.1", "--port", str(self.port), "--chain-id", str(CHAIN_ID)]
        command = [find_binary(), *where, "--silent", *self.options]
        return Process(command, self.folder / f"anvil-{self.port}.log")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        self.process.start(self._responds)

    def kill(self) -> None:
        self.process.kill()

    def rpc(self, method: str, *params: object) -> Any:
        """Call an RPC method and return its result. An error from the node fails the test."""
        asked = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        response = httpx2.post(self.url, json=asked, timeout=20, verify=PLAIN).json()
        assert "error" not in response, f"{method}: {response.get('error')}"
        return response["result"]

    @property
    def height(self) -> int:
        return int(self.rpc("eth_blockNumber"), 16)

    def mine(self, blocks: int = 1) -> None:
        self.rpc("anvil_mine", hex(blocks))

    def reorg(self, depth: int) -> None:
        """Replace the newest blocks with the same number of empty ones."""
        self.rpc("anvil_reorg", depth, [])

    def transact(
        self, sender: LocalAccount, to: str | None, data: bytes, value: int = 0, **more: Any
    ) -> Receipt:
        """Sign and send a transaction and return its receipt. Raises `Reverted`.

        `more` holds the fields of a transaction type that has no single gas price.
        """
        price = {} if "type" in more else {"gasPrice": GAS_PRICE}
        fields = {
            "chainId": CHAIN_ID,
            "nonce": self.count_transactions(sender.address),
            "gas": GAS,
            "value": value,
            "data": data,
            "to": bytes.fromhex(to[2:]) if to else b"",
        }
        signed = sender.sign_transaction(fields | price | more)
        tx_hash = self.rpc("eth_sendRawTransaction", signed.raw_transaction.to_0x_hex())
        receipt = self._await_receipt(tx_hash)
        if receipt["status"] != "0x1":
            raise Reverted
        return receipt

    def count_transactions(self, sender: str) -> int:
        """Return the nonce of the sender's next transaction."""
        return int(self.rpc("eth_getTransactionCount", sender, "pending"), 16)

    def call(self, to: str, data: bytes) -> bytes:
        """Return the result of a contract call, without a transaction."""
        asked = {"to": to, "data": "0x" + data.hex()}
        return bytes.fromhex(self.rpc("eth_call", asked, "latest")[2:])

    def give(self, address: str, amount: int = 10**18) -> None:
        """Fund an account."""
        self.rpc("anvil_setBalance", address, hex(amount))

    def has_code(self, address: str) -> bool:
        return str(self.rpc("eth_getCode", address, "latest")) != "0x"

    def create(self, artifact: Mapping[str, Any]) -> str:
        """Deploy any contract and return its address."""
        code = bytes.fromhex(artifact["bytecode"].removeprefix("0x"))
        created = self.transact(open_account(0), None, code, gas=DEPLOYMENT_GAS)
        return str(created["contractAddress"])

    def deploy(self, artifact: Mapping[str, Any]) -> str:
        """Deploy a marketplace for use by the other methods, and return its address."""
        self.abi = artifact["abi"]
        self.marketplace = self.create(artifact)
        return self.marketplace

    def create_post(
        self,
        author: LocalAccount,
        cid: str,
        thumbnail_cid: str = "bafkreithumbnail",
        price: int = PRICE,
        hashtags: Sequence[str] = (),
    ) -> Receipt:
        """Publish a CID, with hashtags if the marketplace supports them."""
        call = self.encode_post(cid, thumbnail_cid, price, hashtags)
        return self.transact(author, self.marketplace, call)

    def encode_post(
        self, cid: str, thumbnail_cid: str, price: int = PRICE, hashtags: Sequence[str] = ()
    ) -> bytes:
        """Encode the call that publishes a CID."""
        (entry,) = (one for one in self.abi if one.get("name") == "createPost")
        kinds = [part["type"] for part in entry["inputs"][0]["components"]]
        given = (cid, "A title", thumbnail_cid, "", price, list(hashtags))
        return encode_call("createPost", [f"({','.join(kinds)})"], [given[: len(kinds)]])

    def buy(self, reader: LocalAccount, post_id: int, price: int = PRICE) -> Receipt:
        return self.transact(reader, self.marketplace, self.encode_purchase(post_id), price)

    def encode_purchase(self, post_id: int) -> bytes:
        """Encode the call that buys a post."""
        return encode_call("subscribePost", ["uint256"], [post_id])

    def transfer(self, holder: LocalAccount, receiver: LocalAccount, post_id: int) -> Receipt:
        kinds = ["address", "uint256", "uint256"]
        return self._call(holder, "transfer", kinds, [receiver.address, post_id, 1])

    def _await_receipt(self, tx_hash: str) -> Receipt:
        # The node mines automatically, but responds before the block is mined.
        deadline = time.monotonic() + MINING_SECONDS
        while (receipt := self.rpc("eth_getTransactionReceipt", tx_hash)) is None:
            assert time.monotonic() < deadline, "The node does not mine."
            time.sleep(POLL_SECONDS)
        return dict(receipt)

    def _call(
        self, sender: LocalAccount, name: str, kinds: list[str], values: list[Any], value: int = 0
    ) -> Receipt:
        return self.transact(sender, self.marketplace, encode_call(name, kinds, values), value)

    def _responds(self) -> bool:
        try:
            return bool(self.rpc("eth_chainId"))
        except httpx2.TransportError:
            return False


@contextmanager
def running(node: Anvil, marketplace: Mapping[str, Any]) -> Iterator[Anvil]:
    """Run a node, with the marketplace on its chain, until the context exits."""
    node.start()
    try:
        node.deploy(marketplace)
        yield node
    finally:
        node.kill()
