"""A real node with a marketplace on it: transactions, blocks and reorgs."""

import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx2
from eth_abi.abi import encode
from eth_account import Account
from eth_account.signers.local import LocalAccount
from tests.processes import PLAIN, POLL_SECONDS, Process, free_port

from imprint.domain.addresses import keccak256

Account.enable_unaudited_hdwallet_features()

CHAIN_ID = 31337
MNEMONIC = "test test test test test test test test test test test junk"
PRICE = 10**16
GAS = 5_000_000
GAS_PRICE = 20 * 10**9
"""Many times what a new chain asks for; what it suggests rises with what was paid before."""
MINING_SECONDS = 20
POST_CREATED = "0xf753f630973e9c5274697eb346810b78c35457ef0df3e0c5c7ade5841d55ca77"

Receipt = dict[str, Any]
"""A transaction's receipt, as the node gives it."""


class Reverted(Exception):
    """The transaction was mined and had no effect."""


def find_binary() -> str:
    """The node of the npm package, or else the one that is installed."""
    packaged = sorted((Path(__file__).parent / "node_modules").glob("@foundry-rs/*/bin/anvil"))
    found = str(packaged[0]) if packaged else shutil.which("anvil")
    assert found, "There is no anvil: run make test-chain, or install Foundry."
    return found


def open_account(index: int) -> LocalAccount:
    """One of the accounts that the chain has given money to."""
    account: LocalAccount = Account.from_mnemonic(MNEMONIC, account_path=f"m/44'/60'/0'/0/{index}")
    return account


def post_id_of(receipt: Receipt) -> int:
    """The id of the post that a transaction created."""
    (created,) = (log for log in receipt["logs"] if log["topics"][0] == POST_CREATED)
    return int(created["topics"][1], 16)


@dataclass
class Anvil:
    """A node of its own process, and the marketplace that was deployed there last."""

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
        """The result of a call; fails if the node returns an error."""
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
        """Replace the newest blocks by as many without their transactions."""
        self.rpc("anvil_reorg", depth, [])

    def transact(
        self, sender: LocalAccount, to: str | None, data: bytes, value: int = 0
    ) -> Receipt:
        """Send a transaction that is signed here, and take its receipt. Raises `Reverted`."""
        fields = {
            "chainId": CHAIN_ID,
            "nonce": int(self.rpc("eth_getTransactionCount", sender.address, "pending"), 16),
            "gas": GAS,
            "gasPrice": GAS_PRICE,
            "value": value,
            "data": data,
            "to": bytes.fromhex(to[2:]) if to else b"",
        }
        signed = sender.sign_transaction(fields)
        tx_hash = self.rpc("eth_sendRawTransaction", signed.raw_transaction.to_0x_hex())
        receipt = self._await_receipt(tx_hash)
        if receipt["status"] != "0x1":
            raise Reverted
        return receipt

    def deploy(self, artifact: Mapping[str, Any]) -> str:
        """Deploy a marketplace, which the other methods call from now on; its address."""
        code = bytes.fromhex(artifact["bytecode"].removeprefix("0x"))
        self.abi = artifact["abi"]
        self.marketplace = self.transact(open_account(0), None, code)["contractAddress"]
        return self.marketplace

    def create_post(
        self,
        author: LocalAccount,
        cid: str,
        thumbnail_cid: str = "bafkreithumbnail",
        price: int = PRICE,
        hashtags: Sequence[str] = (),
    ) -> Receipt:
        """Publish a cid; hashtags go along where the marketplace takes them."""
        (entry,) = (one for one in self.abi if one.get("name") == "createPost")
        kinds = [part["type"] for part in entry["inputs"][0]["components"]]
        given = (cid, "A title", thumbnail_cid, "", price, list(hashtags))
        return self._call(author, "createPost", [f"({','.join(kinds)})"], [given[: len(kinds)]])

    def buy(self, reader: LocalAccount, post_id: int, price: int = PRICE) -> Receipt:
        return self._call(reader, "subscribePost", ["uint256"], [post_id], price)

    def transfer(self, holder: LocalAccount, receiver: LocalAccount, post_id: int) -> Receipt:
        kinds = ["address", "uint256", "uint256"]
        return self._call(holder, "transfer", kinds, [receiver.address, post_id, 1])

    def set_price(self, author: LocalAccount, post_id: int, price: int) -> Receipt:
        return self._call(author, "updatePostPrice", ["uint256"] * 2, [post_id, price])

    def _await_receipt(self, tx_hash: str) -> Receipt:
        # The node mines by itself, but responds before it has.
        deadline = time.monotonic() + MINING_SECONDS
        while (receipt := self.rpc("eth_getTransactionReceipt", tx_hash)) is None:
            assert time.monotonic() < deadline, "The node does not mine."
            time.sleep(POLL_SECONDS)
        return dict(receipt)

    def _call(
        self, sender: LocalAccount, name: str, kinds: list[str], values: list[Any], value: int = 0
    ) -> Receipt:
        selector = keccak256(f"{name}({','.join(kinds)})".encode())[:4]
        return self.transact(sender, self.marketplace, selector + encode(kinds, values), value)

    def _responds(self) -> bool:
        try:
            return bool(self.rpc("eth_chainId"))
        except httpx2.TransportError:
            return False
