"""Deliveries as built and signed by the providers, and as opened by the route."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from eth_abi.abi import encode

from imprint.domain.formats.addresses import Address
from imprint.domain.posts.posts import Delivery
from imprint.ports import WebhookProvider

NOW = datetime(2026, 11, 15, 12, 0, 0, tzinfo=UTC)
CHAIN_ID = 31337
SECRET = "whsec_a-secret-of-some-length-0000"
OLD_SECRET = "whsec_the-secret-before-that-one-0"
MARKET = Address("0x" + "c3" * 20)
AUTHOR = Address("0x" + "a1" * 20)
CID = "bafkreifzjut3te2nhyekklss27nh3k72ysco7y32koao5eei66wof36n5e"
TOPIC = "0xf753f630973e9c5274697eb346810b78c35457ef0df3e0c5c7ade5841d55ca77"
TRANSFER = "0x1b3d7edb2e9c0b0e7c525b20aaaef0f5940d2ed71663c7d39266ecafac728859"
POST_SUBSCRIBED = "0xc4f07abc81eeea9be4a90005faadbbbb0ddfd027f96110739619c68d7da06d24"
POST_PRICE_UPDATED = "0xad528c798f61306a244b88624c5d602fa1fa8cc73bd73c40b6ad5920ff9cc817"
BLOCK_HASH = "0x" + "d4" * 32
TX_HASH = "0x" + "e5" * 32

Json = dict[str, Any]


def event_data(cid: bytes = CID.encode()) -> str:
    types = ["bytes", "bytes", "bytes", "uint256"]
    return "0x" + encode(types, [b"A title", cid, b"thumb", 5]).hex()


def word(address: str) -> str:
    """Return an address encoded as a log topic."""
    return "0x" + "00" * 12 + address[2:]


def event_topics(post_id: int = 9) -> list[str]:
    return [TOPIC, f"0x{post_id:064x}", word(AUTHOR)]


def log_of_a(post_id: int = 9, **changes: Any) -> Json:
    """Build a log in the format of provider A."""
    log = {
        "account": {"address": MARKET},
        "topics": event_topics(post_id),
        "data": event_data(),
        "index": 3,
        "transaction": {"hash": TX_HASH, "status": 1},
    }
    return log | changes


def body_of_a(*logs: Any, block: Json | None = None, **event: Any) -> bytes:
    """Build a delivery body of provider A."""
    block = {"hash": BLOCK_HASH, "number": 77} if block is None else block
    sent = {
        "webhookId": "wh_1",
        "id": "whevt_1",
        "createdAt": "2026-11-15T12:00:00.123456789Z",
        "type": "GRAPHQL",
        "event": {
            "data": {"block": block | {"logs": list(logs)}},
            "sequenceNumber": "10000000000578619000",
            **event,
        },
    }
    return json.dumps(sent).encode()


def log_of_b(post_id: int = 9, **changes: Any) -> Json:
    """Build a log in the node's format, as sent by provider B."""
    log = {
        "address": MARKET,
        "topics": event_topics(post_id),
        "data": event_data(),
        "blockNumber": "0x4d",
        "transactionHash": TX_HASH,
        "transactionIndex": "0x0",
        "blockHash": BLOCK_HASH,
        "logIndex": "0x3",
        "removed": False,
    }
    return log | changes


def deliver(provider: WebhookProvider, headers: Mapping[str, str], body: bytes) -> Delivery:
    """Check the headers and open the delivery, as the route does."""
    provider.check_headers(headers, NOW)
    return provider.open(headers, body)


def mac(secret: str, signed: bytes) -> str:
    return hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


def headers_of_a(body: bytes, secret: str = SECRET) -> dict[str, str]:
    return {"x-alchemy-signature": mac(secret, body)}


def headers_of_b(
    body: bytes,
    secret: str = SECRET,
    nonce: str = "0b2d9c1e-5f7a-4c3b",
    timestamp: str = str(int(NOW.timestamp())),
    **more: str,
) -> dict[str, str]:
    signed = nonce.encode() + timestamp.encode() + body
    return {
        "x-qn-nonce": nonce,
        "x-qn-timestamp": timestamp,
        "x-qn-signature": mac(secret, signed),
        **more,
    }
