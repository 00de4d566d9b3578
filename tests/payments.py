"""Test clients for paid posts, which read offers and answer their challenges."""

import json
from base64 import b64decode, b64encode
from typing import Any

import httpx2
from tests.world import Wallet

from imprint.domain.formats.addresses import checksum_address, parse_address

SIGN_IN = "SIGN-IN-WITH-X"
PAYMENT = "PAYMENT-SIGNATURE"
VARY = "Authorization, SIGN-IN-WITH-X, PAYMENT-SIGNATURE"


def encode_header(value: object) -> str:
    """Return a value as JSON in base64."""
    return b64encode(json.dumps(value).encode()).decode()


def read_header(response: httpx2.Response, name: str) -> dict[str, Any]:
    """Return the JSON that a header carries in standard base64."""
    value: dict[str, Any] = json.loads(b64decode(response.headers[name], validate=True))
    return value


def read_offer(response: httpx2.Response) -> dict[str, Any]:
    """Return the offer in a response with status 402, after checking its headers."""
    assert response.status_code == 402, response.text
    assert len(response.headers["payment-required"]) <= 3_500
    assert response.headers["cache-control"] == "private, no-store"
    assert response.headers["vary"].startswith(VARY)
    return read_header(response, "payment-required")


def read_challenge(response: httpx2.Response) -> dict[str, Any]:
    """Return the fields of the proof that an offer requires, without address and signature."""
    extension = read_offer(response)["extensions"]["sign-in-with-x"]
    (chain,) = extension["supportedChains"]
    return {**extension["info"], **chain}


def write_message(fields: dict[str, Any]) -> str:
    """Return the text that a wallet signs for these fields (EIP-4361)."""
    address = checksum_address(parse_address(fields["address"]))
    chain_id = fields["chainId"].partition(":")[2]
    lines = [
        f"{fields['domain']} wants you to sign in with your Ethereum account:",
        address,
        "",
        *([fields["statement"]] if "statement" in fields else []),
        "",
        f"URI: {fields['uri']}",
        f"Version: {fields['version']}",
        f"Chain ID: {chain_id}",
        f"Nonce: {fields['nonce']}",
        f"Issued At: {fields['issuedAt']}",
    ]
    optional = {
        "Expiration Time": "expirationTime",
        "Not Before": "notBefore",
        "Request ID": "requestId",
    }
    lines += [f"{label}: {fields[name]}" for label, name in optional.items() if name in fields]
    if "resources" in fields:
        lines += ["Resources:", *(f"- {each}" for each in fields["resources"])]
    return "\n".join(lines)


def sign_challenge(wallet: Wallet, challenge: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a proof: the fields of a challenge, some of them changed, signed by a wallet."""
    fields = {**challenge, "address": wallet.sign_login("")["address"], **changes}
    fields = {name: value for name, value in fields.items() if value is not None}
    return {**fields, "signature": wallet.sign_login(write_message(fields))["signature"]}


def proof_headers(proof: object) -> dict[str, str]:
    """Return the header that carries a proof."""
    return {SIGN_IN: encode_header(proof)}


async def answer(
    client: httpx2.AsyncClient, wallet: Wallet, path: str, **changes: Any
) -> dict[str, str]:
    """Request a challenge, and return the header that answers it."""
    challenge = read_challenge(await client.get(path))
    return proof_headers(sign_challenge(wallet, challenge, **changes))
