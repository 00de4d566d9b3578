"""Authors who correct their posts."""

import secrets
from typing import Any

import httpx2
from tests.world import ORIGIN, Wallet, World

from imprint.domain.formats.addresses import keccak256

MEMBERS = [
    {"name": name, "type": "bytes32" if name == "contentHash" else "string"}
    for name in ("service", "postId", "cid", "contentHash", "note", "nonce")
] + [{"name": "timestamp", "type": "uint256"}]


def content_hash(content: str) -> str:
    """The value of the member `contentHash` for this text."""
    return "0x" + keccak256(content.encode()).hex()


def revision_envelope(at: int, **message: Any) -> dict[str, Any]:
    """The typed data of a revision. `message` overrides the default members of its message."""
    return {
        "domain": {"name": "Imprint", "version": "1", "chainId": 31337},
        "types": {"RevisePost": MEMBERS},
        "primaryType": "RevisePost",
        "message": {
            "service": ORIGIN,
            "postId": "1",
            "cid": "",
            "contentHash": content_hash(""),
            "note": "A typo.",
            "nonce": secrets.token_hex(16),
            "timestamp": at,
        }
        | message,
    }


def sign_revision(
    world: World, wallet: Wallet, post: tuple[int | str, str], content: str, **message: Any
) -> dict[str, Any]:
    """Return a signed revision. `post` is a pair: the post's id and its document's CID."""
    post_id, cid = post
    given = {"postId": str(post_id), "cid": cid, "contentHash": content_hash(content), **message}
    signed = wallet.sign_envelope(revision_envelope(world.clock.seconds, **given))
    return {**signed, "content": content}


async def send_revision(
    world: World, wallet: Wallet, post: tuple[int | str, str], content: str, **message: Any
) -> httpx2.Response:
    """Sign a revision and send it."""
    body = sign_revision(world, wallet, post, content, **message)
    return await world.client.post("/revise/post", params={"postId": post[0]}, json=body)


async def revise(
    world: World, wallet: Wallet, post: tuple[int | str, str], content: str, **message: Any
) -> dict[str, Any]:
    """Send a signed revision, which must be accepted, and return it."""
    response = await send_revision(world, wallet, post, content, **message)
    assert response.status_code == 200, response.text
    revision: dict[str, Any] = response.json()["revision"]
    return revision


async def published_post(
    world: World, wallet: Wallet, content: str = "As first published.", price: int = 0
) -> tuple[int, str]:
    """Publish and index a post by this wallet. Returns its id and the CID of its document."""
    file = await world.create(wallet, content)
    thumbnail = await world.publish(wallet, file["cid"])
    entry = (file["cid"], "Title", thumbnail, "About it", price, ["revisions"])
    await world.deliver_a(world.create_post_with(wallet, entry))
    await world.index()
    metadata = await world.metadata(file["cid"])
    return int(metadata["post_id"]), str(file["cid"])
