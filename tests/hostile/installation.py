"""The service as an operator runs it, with posts to read, and a node in another process."""

import asyncio
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
from coincurve import PrivateKey
from eth_abi.abi import encode
from tests.canaries import CANARIES
from tests.hostile.honest_client import Facts
from tests.hostile.registry import Attack
from tests.hostile.wallets import (
    AUTHOR_KEY,
    DOMAIN,
    FORM,
    HOLDER_KEY,
    JSON,
    LOGIN_DOMAIN,
    READER_KEY,
    Wallet,
    picture,
)
from tests.postgresql import Server
from tests.processes import PLAIN, Process, Service, free_port

from imprint.domain.formats.addresses import keccak256

PRICE = 10**16
TAG = "essay"
ON_CHAIN_SECONDS = 60.0

OPERATOR = {
    "CHAIN_ID": str(DOMAIN.chain_id),
    "LOGIN_DOMAINS": LOGIN_DOMAIN,
    "JWT_SECRET": CANARIES["JWT_SECRET"],
    "WEBHOOK_A_SECRET": CANARIES["WEBHOOK_A_SECRET"],
    "WEBHOOK_B_SECRET": CANARIES["WEBHOOK_B_SECRET"],
}
"""An operator's settings, except for the node, contract, port and folder."""

_POST = "(string,string,string,string,uint256,string[])"


@dataclass(slots=True)
class Node:
    """The node's process."""

    process: Process
    url: str

    @property
    def counts(self) -> dict[str, int]:
        counts: dict[str, int] = httpx2.get(f"{self.url}/counts", timeout=60, verify=PLAIN).json()
        return counts

    def enlarge(self, post: int, size: int) -> None:
        """Make the node respond to queries about this post with at least `size` bytes."""
        asked = {"post": post, "bytes": size}
        httpx2.post(f"{self.url}/huge", params=asked, timeout=60, verify=PLAIN)

    def transact(self, sender: str, contract: str, call: bytes, value: int = 0) -> dict[str, Any]:
        """Send a transaction and return its receipt."""
        sent = {"from": sender, "to": contract, "data": "0x" + call.hex(), "value": hex(value)}
        receipt = self._rpc("eth_getTransactionReceipt", self._rpc("eth_sendTransaction", sent))
        assert receipt["status"] == "0x1", receipt
        return dict(receipt)

    def create_post(self, author: str, contract: str, entry: Sequence[object]) -> int:
        """Create a post and return its id."""
        receipt = self.transact(author, contract, _call(f"createPost({_POST})", [_POST], [entry]))
        return int(receipt["logs"][0]["topics"][1], 16)

    def _rpc(self, method: str, *params: object) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return httpx2.post(self.url, json=body, timeout=60, verify=PLAIN).json()["result"]


@dataclass(slots=True)
class Installation:
    """A node, and data folders for services that all start with the same posts."""

    folder: Path
    node: Node
    marketplace: str
    postgresql: Server | None = None
    _filled: Path | None = None
    _facts: Facts | None = None
    _number: int = field(default=0, init=False)

    @contextmanager
    def serve(self, attack: Attack, postgresql: Server | None) -> Iterator[tuple[Service, Facts]]:
        """Run a service until the `with` block exits. Yields the service and the documents to
        read."""
        # The previous attack may have enlarged the node's responses, including those needed to
        # publish posts here.
        self.node.enlarge(0, 0)
        given, open_files = attack.settings, attack.open_files
        self._number += 1
        folder = self.folder / f"service-{self._number}"
        folder.mkdir()
        if postgresql is None:
            facts = self._fill_once()
            assert self._filled is not None
            shutil.copytree(self._filled, folder / "data")
            service = self._service(folder, given, open_files)
            service.start()
        else:
            database = asyncio.run(postgresql.create_database(f"hostile_{self._number}"))
            service = self._service(folder, {"DATABASE_URL": database, **given}, open_files)
            service.start()
            facts = fill(service.url, self.node, self.marketplace)
        try:
            publish_texts(service.url, self.node, self.marketplace, attack)
            yield service, facts
        finally:
            service.kill()
            shutil.rmtree(folder / "data", ignore_errors=True)

    def _fill_once(self) -> Facts:
        if self._facts is None:
            folder = self.folder / "filled"
            folder.mkdir()
            service = self._service(folder, {}, None)
            service.start()
            try:
                self._facts = fill(service.url, self.node, self.marketplace)
                assert service.stop() == 0, service.tail()
            finally:
                service.kill()
            self._filled = folder / "data"
        return self._facts

    def _service(self, folder: Path, given: Mapping[str, str], open_files: int | None) -> Service:
        place = {"CHAIN_RPC_URL": self.node.url, "MARKETPLACE_ADDRESS": self.marketplace}
        service = Service(folder, {**OPERATOR, **place, **given})
        if open_files is not None:
            limit = ["sh", "-c", f'ulimit -n {open_files} && exec "$@"', "sh"]
            service.process.command = [*limit, *service.process.command]
        return service


@contextmanager
def open_installation(folder: Path) -> Iterator[Installation]:
    """Run a node until the `with` block exits. No service is started yet."""
    port, log = free_port(), folder / "node.log"
    command = [sys.executable, "-m", "tests.hostile.node", str(port), str(folder / "chain.jsonl")]
    process = Process(command, log, {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)})
    process.start(lambda: log.exists() and b"marketplace" in log.read_bytes())
    try:
        said = httpx2.Response(200, content=log.read_bytes()).json()
        yield Installation(folder, Node(process, f"http://127.0.0.1:{port}"), said["marketplace"])
    finally:
        process.kill()


def fill(url: str, node: Node, marketplace: str) -> Facts:
    """Publish a free post, a post that the reader has bought, and one that nobody has bought."""
    author, reader = (
        Wallet(DOMAIN, LOGIN_DOMAIN, PrivateKey(bytes.fromhex(key)))
        for key in (AUTHOR_KEY, READER_KEY)
    )
    with httpx2.Client(base_url=url, timeout=20, verify=PLAIN) as client:
        posts, thumbnail = [], ""
        for price in (0, PRICE, PRICE):
            made = client.post("/create/group", content=author.creation("Words."), headers=JSON)
            cid = made.json()["updatedUpload"]["cid"]
            body = author.publication(picture(200), TAG)
            published = client.post(f"/publish/file?cid={cid}", content=body, headers=FORM)
            thumbnail = published.json()["thumbnailCid"]
            entry = (cid, "A title", thumbnail, "", price, [])
            posts.append(node.create_post(author.address, marketplace, entry))
        bought = _call("subscribePost(uint256)", ["uint256"], [posts[1]])
        node.transact(reader.address, marketplace, bought, PRICE)
        for post in posts:
            _wait_until_on_chain(client, post)
    free, paid, other = posts
    return Facts(free, paid, other, thumbnail, TAG)


def publish_texts(url: str, node: Node, marketplace: str, attack: Attack) -> None:
    """Publish an attack's texts without thumbnails, and wait until all of them are posts."""
    author, holder = (
        Wallet(DOMAIN, LOGIN_DOMAIN, PrivateKey(bytes.fromhex(key)))
        for key in (AUTHOR_KEY, HOLDER_KEY)
    )
    price = PRICE if attack.held else 0
    with httpx2.Client(base_url=url, timeout=60, verify=PLAIN) as client:
        posts = []
        for text in attack.texts:
            made = client.post("/create/group", content=author.creation(text), headers=JSON)
            cid = made.json()["updatedUpload"]["cid"]
            entry = (cid, "A title", "bafkreithumbnail", "", price, [])
            posts.append(node.create_post(author.address, marketplace, entry))
            if attack.held:
                bought = _call("subscribePost(uint256)", ["uint256"], posts[-1:])
                node.transact(holder.address, marketplace, bought, PRICE)
        for post in posts:
            _wait_until_on_chain(client, post)


def _wait_until_on_chain(client: httpx2.Client, post: int) -> None:
    deadline = time.monotonic() + ON_CHAIN_SECONDS
    while client.get(f"/freeFileByPostId?postId={post}").status_code == 404:
        assert time.monotonic() < deadline, "the follower did not find the post"
        time.sleep(0.1)


def _call(signature: str, kinds: list[str], values: list[Any]) -> bytes:
    return keccak256(signature.encode())[:4] + encode(kinds, values)
