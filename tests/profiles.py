"""Authors who sign their profiles."""

import json
import secrets
from typing import Any

import httpx2
from tests.world import ORIGIN, Wallet, World, picture

from imprint.domain.formats.addresses import keccak256

MEMBERS = [
    {"name": name, "type": "string"}
    for name in ("service", "name", "bio", "links", "avatar", "nonce")
] + [{"name": "timestamp", "type": "uint256"}]


def profile_envelope(at: int, **message: Any) -> dict[str, Any]:
    """The typed data of a profile. `message` overrides the default members of its message."""
    return {
        "domain": {"name": "Imprint", "version": "1", "chainId": 31337},
        "types": {"UpdateProfile": MEMBERS},
        "primaryType": "UpdateProfile",
        "message": {
            "service": ORIGIN,
            "name": "Ada Ink",
            "bio": "",
            "links": "",
            "avatar": "keep",
            "nonce": secrets.token_hex(16),
            "timestamp": at,
        }
        | message,
    }


def hash_of_picture(image: bytes) -> str:
    """Return the value of the member `avatar` for this image."""
    return "0x" + keccak256(image).hex()


async def send_profile(
    world: World,
    wallet: Wallet,
    image: bytes | None = None,
    fields: dict[str, str] | None = None,
    **message: Any,
) -> httpx2.Response:
    """Sign a profile and send it. If there is an image, `avatar` defaults to the image's hash."""
    if image is not None:
        message.setdefault("avatar", hash_of_picture(image))
    signed = wallet.sign_envelope(profile_envelope(world.clock.seconds, **message))
    return await post_profile(world, signed, image, fields)


async def post_profile(
    world: World,
    signed: dict[str, Any],
    image: bytes | None = None,
    fields: dict[str, str] | None = None,
) -> httpx2.Response:
    """Send a signed profile as a form."""
    parts: dict[str, Any] = {
        name: (None, json.dumps(value) if name == "salt" else value)
        for name, value in (signed | (fields or {})).items()
    }
    if image is not None:
        parts["file"] = ("me.png", image, "image/png")
    return await world.client.post("/update/profile", files=parts)


async def save_profile(
    world: World, wallet: Wallet, image: bytes | None = None, **message: Any
) -> dict[str, Any]:
    """Return the profile after an update that must succeed."""
    response = await send_profile(world, wallet, image, **message)
    assert response.status_code == 200, response.text
    profile: dict[str, Any] = response.json()["profile"]
    return profile


def portrait(size: tuple[int, int] = (40, 30), kind: str = "PNG") -> bytes:
    """Create a new picture."""
    return picture(kind, size)
