"""Publish a post and sell it, as a client of `imprint dev`.

    python examples/publish_a_post.py [http://127.0.0.1:8000 [http://127.0.0.1:8545]]

The second address is that of the node; `imprint dev` tells its own. Alice signs in, drafts,
updates, publishes and calls `createPost()` on the marketplace; Bob is refused, buys a token and
reads. Needs `eth-account`, which the development extra installs.
"""

import json
import secrets
import struct
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from eth_abi.abi import encode
from eth_account import Account
from eth_account.messages import encode_defunct, encode_typed_data
from eth_account.signers.local import LocalAccount
from eth_utils.crypto import keccak

Account.enable_unaudited_hdwallet_features()

MNEMONIC = "test test test test test test test test test test test junk"
"""The public mnemonic of development chains: never send it anything of value."""

POST = "(string,string,string,string,uint256,string[])"
"""What `createPost` takes: cid, title, thumbnail cid, description, price in wei, hashtags."""


class Refused(Exception):
    """The service refused; programs act upon `code`."""

    def __init__(self, problem: dict[str, Any]) -> None:
        super().__init__(problem["detail"])
        self.code: str = problem["code"]


@dataclass(frozen=True)
class Service:
    """The HTTP interface, and its description of itself."""

    url: str
    facts: dict[str, Any]

    @classmethod
    def find(cls, url: str) -> "Service":
        return cls(url, fetch(f"{url}/.well-known/imprint.json"))

    def read(self, path: str, session: str | None = None, **query: str) -> Any:
        headers = {"Authorization": f"Bearer {session}"} if session else {}
        return fetch(f"{self.url}{path}?{urllib.parse.urlencode(query)}", headers=headers)

    def sign_in(self, wallet: LocalAccount) -> str:
        """A session for the wallet (EIP-4361)."""
        domain = urllib.parse.urlsplit(self.url).netloc
        message = (
            f"{domain} wants you to sign in with your Ethereum account:\n{wallet.address}\n\n"
            f"Sign in to Imprint\n\nURI: {self.url}\nVersion: 1\n"
            f"Chain ID: {self.facts['chain']['id']}\nNonce: {secrets.token_hex(8)}\n"
            f"Issued At: {datetime.now(UTC).isoformat(timespec='milliseconds')}"
        )
        signature = wallet.sign_message(encode_defunct(text=message)).signature.to_0x_hex()
        body = {"salt": message, "address": wallet.address, "signature": signature}
        token: str = post_json(f"{self.url}/auth/login", body)["token"]
        return token

    def sign_write(self, wallet: LocalAccount, kind: str) -> dict[str, Any]:
        """What every write carries: the typed data, and the wallet's signature of it (EIP-712)."""
        now = str(int(time.time()))
        members = [{"name": name, "type": "string"} for name in ("action", "nonce", "timestamp")]
        salt = {
            "domain": self.facts["signing"],
            "types": {f"{kind.capitalize()}File": members},
            "primaryType": f"{kind.capitalize()}File",
            "message": {
                "action": kind,
                "nonce": f"{wallet.address.lower()}_{now}_{secrets.token_hex(4)}",
                "timestamp": now,
            },
        }
        signed = wallet.sign_message(
            encode_typed_data(salt["domain"], salt["types"], salt["message"])
        )
        return {
            "salt": salt,
            "address": wallet.address,
            "signature": signed.signature.to_0x_hex(),
        }

    def create(self, wallet: LocalAccount, content: str) -> dict[str, Any]:
        body = self.sign_write(wallet, "create") | {"content": content}
        file: dict[str, Any] = post_json(f"{self.url}/create/group", body)["updatedUpload"]
        return file

    def update(self, wallet: LocalAccount, cid: str, content: str) -> dict[str, Any]:
        body = self.sign_write(wallet, "update") | {"content": content}
        file: dict[str, Any] = post_json(f"{self.url}/update/file?cid={cid}", body)["upload"]
        return file

    def publish(self, wallet: LocalAccount, cid: str, image: bytes, hashtags: str) -> str:
        fields = self.sign_write(wallet, "publish") | {"hashtags": hashtags}
        fields["salt"] = json.dumps(fields["salt"])
        body, content_type = multipart(fields, image)
        headers = {"Content-Type": content_type}
        response = fetch(f"{self.url}/publish/file?cid={cid}", body, headers)
        thumbnail: str = response["thumbnailCid"]
        return thumbnail


@dataclass(frozen=True)
class Marketplace:
    """The contract, called through the development node, which holds the accounts' keys."""

    rpc_url: str
    address: str

    def create_post(self, wallet: LocalAccount, *post: object) -> int:
        """Publish on the chain; the id of the new post."""
        call = keccak(text=f"createPost({POST})")[:4] + encode([POST], [post])
        receipt = self._transact(wallet, call, 0)
        topic = keccak(text="PostCreated(uint256,string,string,string,address,uint256)").hex()
        created = [log for log in receipt["logs"] if log["topics"][0] == f"0x{topic}"]
        return int(created[0]["topics"][1], 16)

    def buy(self, wallet: LocalAccount, post_id: int, price: int) -> None:
        """Buy a token of the post."""
        call = keccak(text="subscribePost(uint256)")[:4] + encode(["uint256"], [post_id])
        self._transact(wallet, call, price)

    def _transact(self, wallet: LocalAccount, call: bytes, value: int) -> Any:
        transaction = {
            "from": wallet.address,
            "to": self.address,
            "data": f"0x{call.hex()}",
            "value": hex(value),
        }
        tx_hash = self._ask("eth_sendTransaction", transaction)
        receipt = self._ask("eth_getTransactionReceipt", tx_hash)
        if receipt["status"] != "0x1":
            raise RuntimeError("The transaction was reverted.")
        return receipt

    def _ask(self, method: str, *params: object) -> Any:
        response = post_json(
            self.rpc_url, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        )
        if "error" in response:
            raise RuntimeError(response["error"]["message"])
        return response["result"]


def fetch(url: str, body: bytes | None = None, headers: dict[str, str] | None = None) -> Any:
    request = urllib.request.Request(url, body, headers or {})  # noqa: S310 - the user's own URL
    try:
        with urllib.request.urlopen(request) as response:  # noqa: S310 - the user's own URL
            return json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            raise Refused(json.load(error)) from None


def post_json(url: str, value: object) -> Any:
    return fetch(url, json.dumps(value).encode(), {"Content-Type": "application/json"})


def multipart(fields: dict[str, str], image: bytes) -> tuple[bytes, str]:
    boundary = secrets.token_hex(16)
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode()
        for name, value in fields.items()
    ]
    parts.append(
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="cover.png"\r\n'
        "Content-Type: image/png\r\n\r\n".encode()
        + image
        + f"\r\n--{boundary}--\r\n".encode()
    )
    return b"".join(parts), f"multipart/form-data; boundary={boundary}"


def draw_cover(width: int = 320, height: int = 180) -> bytes:
    """A small PNG: a gradient, different every time."""
    tint = secrets.randbelow(256)
    rows = [
        b"\0" + b"".join(bytes((tint, x * 255 // width, y * 255 // height)) for x in range(width))
        for y in range(height)
    ]

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(rows))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def wait_for_post(service: Service, cid: str, seconds: float = 15) -> dict[str, Any]:
    """The file, once the chain's event has reached the service."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        file: dict[str, Any] = service.read("/filesMetaData", cid=cid)["files"][0]
        if file["keyvalues"]["status"] == "onchain":
            return file
        time.sleep(0.1)
    raise TimeoutError("The post did not become onchain.")


def say(line: str) -> None:
    sys.stdout.write(f"{line}\n")


def main(url: str = "http://127.0.0.1:8000", node: str | None = None) -> None:
    service = Service.find(url)
    chain = service.facts["chain"]
    marketplace = Marketplace(node or chain["rpc_url"], chain["marketplace"])
    alice = Account.from_mnemonic(MNEMONIC, account_path="m/44'/60'/0'/0/1")
    bob = Account.from_mnemonic(MNEMONIC, account_path="m/44'/60'/0'/0/2")

    session = service.sign_in(alice)
    say(f"Alice signed in as {alice.address}")

    draft = service.create(alice, "# Hello\n\nA first line.")
    draft = service.update(alice, draft["cid"], "# Hello\n\nA first line, and a better second.")
    say(f"Her draft is {draft['cid']}")
    kept = service.read("/fileByCid", session, cid=draft["cid"])
    say(f"She reads it back: {kept['content'].splitlines()[-1]}")

    thumbnail = service.publish(alice, draft["cid"], draw_cover(), "essays, #Hello")
    price = 10**16
    post_id = marketplace.create_post(
        alice, draft["cid"], "Hello", thumbnail, "A greeting", price, ["essays", "hello"]
    )
    post = wait_for_post(service, draft["cid"])
    say(f"It is post {post_id} now, tagged {', '.join(post['hashtags'])}")

    session = service.sign_in(bob)
    wanted = {"user": bob.address, "postId": str(post_id)}
    try:
        service.read("/fileByPostId", session, **wanted)
    except Refused as refusal:
        say(f"Bob may not read it yet: {refusal.code}")
    else:
        raise AssertionError("Bob read a paid post without a token.")

    marketplace.buy(bob, post_id, price)
    read = service.read("/fileByPostId", session, **wanted)
    say(f"Bob bought a token and reads: {read['content'].splitlines()[-1]}")


if __name__ == "__main__":
    main(*sys.argv[1:])
