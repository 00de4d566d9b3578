"""Signed writes in every form, with types taken from the protocol and not from the service."""

import json
import re
import secrets
from dataclasses import dataclass, field
from typing import Any

import httpx2
from eth_utils.crypto import keccak
from tests.world import ORIGIN, Wallet, World, picture

FORMS = ("imprint-1", "inkdao-1", "imprint-2")
BOUND, UNBOUND = "imprint-2", ("imprint-1", "inkdao-1")
ACTIONS = ("create", "update", "publish", "delete")
DOMAIN = {"name": "Imprint", "version": "1", "chainId": 31337}

_EARLIER = "(string cid,string nonce,address address,uint256 timestamp)"
DECLARATIONS = {
    "imprint-1": {
        action: f"{action.capitalize()}File(string action,string nonce,string timestamp)"
        for action in ACTIONS
    },
    "inkdao-1": {
        "create": "CreateFile(string title,string nonce,address address,uint256 timestamp)",
        "update": f"UpdateFile{_EARLIER}",
        "publish": f"PublishFile{_EARLIER}",
        "delete": f"DeleteFile{_EARLIER}",
    },
    "imprint-2": {
        "create": "CreateDraft(string service,bytes32 contentHash,string nonce,uint256 timestamp)",
        "update": "UpdateDraft(string service,string cid,bytes32 contentHash,string nonce,"
        "uint256 timestamp)",
        "publish": "PublishDraft(string service,string cid,bytes32 thumbnailHash,string hashtags,"
        "string nonce,uint256 timestamp)",
        "delete": "DeleteDraft(string service,string cid,string nonce,uint256 timestamp)",
    },
}
"""The EIP-712 type of every action, by form."""

PATHS = {
    "create": "/create/group",
    "update": "/update/file",
    "publish": "/publish/file",
    "delete": "/delete/file",
}


@dataclass(frozen=True, slots=True)
class Request:
    """A write, as it is sent or as a signature covers it."""

    action: str
    cid: str = ""
    content: str = "Some words."
    image: bytes = field(default_factory=picture, repr=False)
    hashtags: str = ""
    service: str = ORIGIN
    title: str = "A title"


def declare(form: str, action: str) -> tuple[str, list[dict[str, str]]]:
    """The name and the members of an EIP-712 type, as declared in JSON."""
    name, members = re.fullmatch(r"(\w+)\((.*)\)", DECLARATIONS[form][action]).groups()  # type: ignore[union-attr]
    pairs = [member.split(" ") for member in members.split(",")]
    return name, [{"name": name, "type": kind} for kind, name in pairs]


def envelope(
    form: str, request: Request, address: str, nonce: str, timestamp: int, **domain: Any
) -> dict[str, Any]:
    """The typed data of a request. `domain` overrides members of the usual EIP-712 domain."""
    kind, members = declare(form, request.action)
    values = {
        "action": request.action,
        "address": address,
        "cid": request.cid,
        "contentHash": "0x" + keccak(request.content.encode()).hex(),
        "hashtags": request.hashtags,
        "nonce": nonce,
        "service": request.service,
        "thumbnailHash": "0x" + keccak(request.image).hex(),
        "timestamp": str(timestamp) if form == "imprint-1" else timestamp,
        "title": request.title,
    }
    said = {
        "domain": DOMAIN | domain,
        "types": {kind: members},
        "message": {member["name"]: values[member["name"]] for member in members},
    }
    # The legacy front end sends no `primaryType`.
    return said if form == "inkdao-1" else said | {"primaryType": kind}


def sign(
    wallet: Wallet,
    form: str,
    request: Request,
    nonce: str | None = None,
    timestamp: int | None = None,
    **domain: Any,
) -> dict[str, Any]:
    """Sign a request, and return the fields that every signed body contains."""
    at = wallet.clock.seconds if timestamp is None else timestamp
    said = envelope(form, request, wallet.address, nonce or secrets.token_hex(16), at, **domain)
    return wallet.sign_envelope(said)


async def send(
    world: World, signed: dict[str, Any], request: Request, **headers: str
) -> httpx2.Response:
    """Send a request with a signature, which may be for a different request."""
    path = PATHS[request.action]
    query = {} if request.action == "create" else {"cid": request.cid}
    if request.action == "publish":
        fields = signed | {"salt": json.dumps(signed["salt"]), "hashtags": request.hashtags}
        files = {"file": ("cover.png", request.image, "image/png")}
        return await world.client.post(
            path, params=query, data=fields, files=files, headers=headers
        )
    content = {} if request.action == "delete" else {"content": request.content}
    return await world.client.post(path, params=query, json=signed | content, headers=headers)
